module @reverse {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %r = stablehlo.reverse %x0, dims = [1] : tensor<2x3xf32>
    %e0 = stablehlo.constant dense<[[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]> : tensor<2x3xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
    return
  }
}

// -----

module @both {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %r = stablehlo.reverse %x0, dims = [0, 1] : tensor<2x3xf32>
    %e0 = stablehlo.constant dense<[[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]]> : tensor<2x3xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
    return
  }
}
