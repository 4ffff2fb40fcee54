module @two {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %x1 = stablehlo.constant dense<3> : tensor<i32>
    %r:2 = stablehlo.optimization_barrier %x0, %x1 : tensor<2xf32>, tensor<i32>
    %e0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %e1 = stablehlo.constant dense<3> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}
