module @strided {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]> : tensor<4x5xi64>
    %r = stablehlo.slice %x0 [1:4:2, 0:5:3] : (tensor<4x5xi64>) -> tensor<2x2xi64>
    %e0 = stablehlo.constant dense<[[5, 8], [15, 18]]> : tensor<2x2xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xi64>, tensor<2x2xi64>) -> ()
    return
  }
}

// -----

module @empty {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]> : tensor<4x5xi64>
    %r = stablehlo.slice %x0 [2:2, 0:5] : (tensor<4x5xi64>) -> tensor<0x5xi64>
    %e0 = stablehlo.constant dense<> : tensor<0x5xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<0x5xi64>, tensor<0x5xi64>) -> ()
    return
  }
}
