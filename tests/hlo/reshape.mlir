module @reshape {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %r = stablehlo.reshape %x0 : (tensor<2x3xf32>) -> tensor<3x2x1xf32>
    %e0 = stablehlo.constant dense<[[[0.0], [1.0]], [[2.0], [3.0]], [[4.0], [5.0]]]> : tensor<3x2x1xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2x1xf32>, tensor<3x2x1xf32>) -> ()
    return
  }
}
