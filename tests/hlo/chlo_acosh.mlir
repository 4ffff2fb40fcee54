module @acosh_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 1.5, 2.0, 100.0, 0.5]> : tensor<5xf32>
    %r = "chlo.acosh"(%x0) : (tensor<5xf32>) -> tensor<5xf32>
    %e0 = stablehlo.constant dense<[0.0, 0.9624236, 1.316958, 5.298292, 0xFFC00000]> : tensor<5xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf32>, tensor<5xf32>) -> ()
    return
  }
}

// -----

module @acosh_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 1.5, 2.0, 100.0, 0.5]> : tensor<5xf64>
    %r = "chlo.acosh"(%x0) : (tensor<5xf64>) -> tensor<5xf64>
    %e0 = stablehlo.constant dense<[0.0, 0.9624236501192069, 1.3169578969248168, 5.298292365610485, 0xFFF8000000000000]> : tensor<5xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf64>, tensor<5xf64>) -> ()
    return
  }
}

// -----

module @acosh_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.acosh"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.0855765577207785, 1.262814955222778), (0.9937304660372428, 2.925421937341255), (1.9833870299165355, -1.0001435424737972), (0.6063349998873513, -2.2530002923783288), (0.0, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
