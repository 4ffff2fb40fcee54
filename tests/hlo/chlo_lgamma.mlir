module @lgamma_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.5, 1.5, 2.5, 10.0, 100.0, -0.5, -2.5]> : tensor<7xf32>
    %r = "chlo.lgamma"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[0.5723649, -0.12078224, 0.28468287, 12.801827, 359.13422, 1.2655121, -0.056243718]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @lgamma_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.5, 1.5, 2.5, 10.0, 100.0, -0.5, -2.5]> : tensor<7xf64>
    %r = "chlo.lgamma"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[0.5723649429247, -0.12078223763524526, 0.2846828704729192, 12.801827480081469, 359.1342053695754, 1.2655121234846454, -0.05624371649767401]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}
