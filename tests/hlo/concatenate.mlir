module @dim1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %x1 = stablehlo.constant dense<[[10.0], [13.0]]> : tensor<2x1xf32>
    %r = stablehlo.concatenate %x0, %x1, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %e0 = stablehlo.constant dense<[[0.0, 1.0, 2.0, 10.0], [3.0, 4.0, 5.0, 13.0]]> : tensor<2x4xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
    return
  }
}

// -----

module @dim0_with_empty {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %x1 = stablehlo.constant dense<> : tensor<0xi64>
    %x2 = stablehlo.constant dense<[3]> : tensor<1xi64>
    %r = stablehlo.concatenate %x0, %x1, %x2, dim = 0 : (tensor<2xi64>, tensor<0xi64>, tensor<1xi64>) -> tensor<3xi64>
    %e0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi64>, tensor<3xi64>) -> ()
    return
  }
}
