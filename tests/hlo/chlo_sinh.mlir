module @sinh_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.001, 1.0, 2.0]> : tensor<6xf32>
    %r = "chlo.sinh"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[-10.017875, -0.5210953, 0.0, 0.0010000002, 1.1752012, 3.6268604]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @sinh_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.001, 1.0, 2.0]> : tensor<6xf64>
    %r = "chlo.sinh"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[-10.017874927409903, -0.5210953054937474, 0.0, 0.001000000166666675, 1.1752011936438014, 3.6268604078470186]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @sinh_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.sinh"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.16431300276137265, 1.0700996973668526), (-2.0630853133346414, 0.5819954525995883), (-3.59056458998578, -0.5309210862485197), (-0.7216508242975646, -0.6207042310780551), (1.1752011936438014, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
