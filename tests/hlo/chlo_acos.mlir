module @acos_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.0, 0.25, 1.0, 2.0]> : tensor<6xf32>
    %r = "chlo.acos"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[3.1415927, 2.0943952, 1.5707964, 1.3181161, 0.0, 0xFFC00000]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @acos_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.0, 0.25, 1.0, 2.0]> : tensor<6xf64>
    %r = "chlo.acos"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[3.141592653589793, 2.0943951023931957, 1.5707963267948966, 1.318116071652818, 0.0, 0xFFF8000000000000]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @acos_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.acos"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.262814955222778, -1.0855765577207785), (2.925421937341255, -0.9937304660372428), (1.0001435424737972, 1.9833870299165355), (2.2530002923783288, 0.6063349998873513), (0.0, -0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
