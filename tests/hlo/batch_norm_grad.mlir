module @grad {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[0.71, 1.88], [1.76, -0.95], [1.41, 0.47]], [[0.66, 1.36], [-0.46, 1.37], [1.27, -1.5]]]> : tensor<2x3x2xf32>
    %x1 = stablehlo.constant dense<[0.32, -0.26, 1.43]> : tensor<3xf32>
    %x2 = stablehlo.constant dense<[1.87, -1.44, 1.15]> : tensor<3xf32>
    %x3 = stablehlo.constant dense<[1.73, 1.65, 1.96]> : tensor<3xf32>
    %x4 = stablehlo.constant dense<[[[0.39, -1.25], [-1.12, 0.23], [-0.89, -0.23]], [[1.35, -0.07], [-1.57, 0.13], [1.86, 1.22]]]> : tensor<2x3x2xf32>
    %r:3 = "stablehlo.batch_norm_grad"(%x0, %x1, %x2, %x3, %x4) {epsilon = 1.0e-03 : f32, feature_index = 1 : i64} : (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
    %e0 = stablehlo.constant dense<[[[-0.014732099, -0.32884017], [-0.34663567, -0.2341409], [-1.3047976, -1.0083246]], [[0.21513742, -0.07951679], [0.06035344, -0.5440696], [1.4471915, -0.31877]]]> : tensor<2x3x2xf32>
    %e1 = stablehlo.constant dense<[-1.5677887, -3.614721, -2.2028668]> : tensor<3xf32>
    %e2 = stablehlo.constant dense<[0.42000002, -2.3300002, 1.96]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> ()
    stablehlo.custom_call @check.expect_almost_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    stablehlo.custom_call @check.expect_almost_eq(%r#2, %e2) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}
