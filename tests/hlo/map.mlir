module @map {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
    %x1 = stablehlo.constant dense<[[4.0, 5.0], [6.0, 7.0]]> : tensor<2x2xf32>
    %r = "stablehlo.map"(%x0, %x1) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %m = stablehlo.multiply %a, %b : tensor<f32>
        %s = stablehlo.add %m, %a : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %e0 = stablehlo.constant dense<[[0.0, 6.0], [14.0, 24.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}
