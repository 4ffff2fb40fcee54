module @dyn {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-1.01, 0.11, -1.59, -0.27]]]> : tensor<1x1x4xf32>
    %x1 = stablehlo.constant dense<[[[-0.28, 0.1, 1.75]]]> : tensor<1x1x3xf32>
    %x2 = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi64>
    %r = "stablehlo.dynamic_conv"(%x0, %x1, %x2) {window_strides = array<i64: 1>, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>, tensor<1x2xi64>) -> tensor<1x1x4xf32>
    %e0 = stablehlo.constant dense<[[[0.0915, -2.4887002, -0.66230005, 0.41820002]]]> : tensor<1x1x4xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> ()
    return
  }
}
