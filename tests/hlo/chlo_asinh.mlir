module @asinh_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, 0.0, 0.001, 2.0, 100.0]> : tensor<6xf32>
    %r = "chlo.asinh"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[-2.998223, -0.4812118, 0.0, 0.0009999999, 1.4436355, 5.298342]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @asinh_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, 0.0, 0.001, 2.0, 100.0]> : tensor<6xf64>
    %r = "chlo.asinh"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[-2.99822295029797, -0.48121182505960347, 0.0, 0.0009999998333334083, 1.4436354751788103, 5.298342365610589]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @asinh_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.asinh"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.8988936293694826, 1.0611857724687426), (-1.202745551643968, 0.13819517113326382), (1.9686379257930964, -0.9646585044076028), (-0.7433204263252785, -0.39827787353830835), (0.8813735870195429, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
