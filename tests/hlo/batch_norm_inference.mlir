module @inference {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[0.71, 1.88], [1.76, -0.95], [1.41, 0.47]], [[0.66, 1.36], [-0.46, 1.37], [1.27, -1.5]]]> : tensor<2x3x2xf32>
    %x1 = stablehlo.constant dense<[0.32, -0.26, 1.43]> : tensor<3xf32>
    %x2 = stablehlo.constant dense<[-0.94, -1.34, -0.73]> : tensor<3xf32>
    %x3 = stablehlo.constant dense<[1.87, -1.44, 1.15]> : tensor<3xf32>
    %x4 = stablehlo.constant dense<[1.73, 1.65, 1.96]> : tensor<3xf32>
    %r = "stablehlo.batch_norm_inference"(%x0, %x1, %x2, %x3, %x4) {epsilon = 1.0e-03 : f32, feature_index = 1 : i64} : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2xf32>
    %e0 = stablehlo.constant dense<[[[-1.2221366, -0.9375678], [-1.987515, -1.4391508], [-0.46449634, -1.4243942]], [[-1.2342976, -1.0640428], [-1.5383015, -1.9085991], [-0.60745984, -3.4360952]]]> : tensor<2x3x2xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> ()
    return
  }
}
