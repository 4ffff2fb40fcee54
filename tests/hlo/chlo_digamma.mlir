module @digamma_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.5, 1.0, 2.5, 10.0, 100.0, -0.5, -2.25]> : tensor<7xf32>
    %r = "chlo.digamma"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[-1.96351, -0.5772157, 0.70315665, 2.2517526, 4.600162, 0.036489975, 4.1585836]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @digamma_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.5, 1.0, 2.5, 10.0, 100.0, -0.5, -2.25]> : tensor<7xf64>
    %r = "chlo.digamma"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[-1.9635100260214235, -0.5772156649015329, 0.7031566406452432, 2.251752589066721, 4.600161852738088, 0.03648997397857651, 4.158583564657972]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}
