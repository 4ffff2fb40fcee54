module @asin_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.0, 0.25, 1.0, 2.0]> : tensor<6xf32>
    %r = "chlo.asin"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[-1.5707964, -0.5235988, 0.0, 0.25268024, 1.5707964, 0xFFC00000]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @asin_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.0, 0.25, 1.0, 2.0]> : tensor<6xf64>
    %r = "chlo.asin"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[-1.5707963267948966, -0.5235987755982989, 0.0, 0.25268025514207865, 1.5707963267948966, 0xFFF8000000000000]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @asin_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.asin"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.30798137157211863, 1.0855765577207785), (-1.3546256105463583, 0.9937304660372428), (0.5706527843210994, -1.9833870299165355), (-0.6822039655834323, -0.6063349998873513), (1.5707963267948966, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
