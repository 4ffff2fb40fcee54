module @atanh_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.0, 0.25, 1.0]> : tensor<5xf32>
    %r = "chlo.atanh"(%x0) : (tensor<5xf32>) -> tensor<5xf32>
    %e0 = stablehlo.constant dense<[0xFF800000, -0.54930615, 0.0, 0.25541282, 0x7F800000]> : tensor<5xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf32>, tensor<5xf32>) -> ()
    return
  }
}

// -----

module @atanh_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.0, 0.25, 1.0]> : tensor<5xf64>
    %r = "chlo.atanh"(%x0) : (tensor<5xf64>) -> tensor<5xf64>
    %e0 = stablehlo.constant dense<[0xFFF0000000000000, -0.5493061443340549, 0.0, 0.25541281188299536, 0x7FF0000000000000]> : tensor<5xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf64>, tensor<5xf64>) -> ()
    return
  }
}

// -----

module @atanh_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.atanh"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.1858945085467093, 0.9425141129396175), (-0.7514206511017898, 1.3888068485400746), (0.14694666622552977, -1.3389725222944935), (-0.5902135002795054, -0.6927241883996009), (0x7FF0000000000000, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
