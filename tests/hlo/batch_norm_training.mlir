module @training {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[0.71, 1.88], [1.76, -0.95], [1.41, 0.47]], [[0.66, 1.36], [-0.46, 1.37], [1.27, -1.5]]]> : tensor<2x3x2xf32>
    %x1 = stablehlo.constant dense<[0.32, -0.26, 1.43]> : tensor<3xf32>
    %x2 = stablehlo.constant dense<[-0.94, -1.34, -0.73]> : tensor<3xf32>
    %r:3 = "stablehlo.batch_norm_training"(%x0, %x1, %x2) {epsilon = 1.0e-03 : f32, feature_index = 1 : i64} : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
    %e0 = stablehlo.constant dense<[[[-1.2211447, -0.4777792], [-1.638921, -1.0298414], [0.49820855, -0.659201]], [[-1.2529124, -0.8081638], [-1.1399702, -1.5512675], [0.3258284, -3.084836]]]> : tensor<2x3x2xf32>
    %e1 = stablehlo.constant dense<[1.1525, 0.43, 0.4125]> : tensor<3xf32>
    %e2 = stablehlo.constant dense<[0.25266874, 1.33725, 1.3478187]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> ()
    stablehlo.custom_call @check.expect_almost_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    stablehlo.custom_call @check.expect_almost_eq(%r#2, %e2) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}
