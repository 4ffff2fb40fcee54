module @to_itself {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %r = "stablehlo.collective_permute"(%x0) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %e0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}

// -----

module @from_nobody {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %r = "stablehlo.collective_permute"(%x0) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %e0 = stablehlo.constant dense<[[0.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}
