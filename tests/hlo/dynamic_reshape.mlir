module @dyn {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %x1 = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
    %r = stablehlo.dynamic_reshape %x0, %x1 : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
    %e0 = stablehlo.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> : tensor<3x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xf32>, tensor<3x2xf32>) -> ()
    return
  }
}
