module @top_k {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[3.0, 1.0, 2.0, 3.0], [0.0, -1.0, 5.0, 5.0]]> : tensor<2x4xf32>
    %r:2 = "chlo.top_k"(%x0) {k = 2 : i64} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %e0 = stablehlo.constant dense<[[3.0, 3.0], [5.0, 5.0]]> : tensor<2x2xf32>
    %e1 = stablehlo.constant dense<[[0, 3], [2, 3]]> : tensor<2x2xi32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<2x2xi32>, tensor<2x2xi32>) -> ()
    return
  }
}
