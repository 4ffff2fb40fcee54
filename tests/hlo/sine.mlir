module @sine_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7FC00000]> : tensor<6xf32>
    %r = "stablehlo.sine"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[0.7568025, -0.47942555, 0.0, 0.84147096, 0.5984721, 0x7FC00000]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @sine_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7FF8000000000000]> : tensor<6xf64>
    %r = "stablehlo.sine"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[0.7568024953079282, -0.479425538604203, 0.0, 0.8414709848078965, 0.5984721441039565, 0x7FF8000000000000]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @sine_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7E00]> : tensor<6xf16>
    %r = "stablehlo.sine"(%x0) : (tensor<6xf16>) -> tensor<6xf16>
    %e0 = stablehlo.constant dense<[0.7568359375, -0.4794921875, 0.0, 0.84130859375, 0.5986328125, 0x7E00]> : tensor<6xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf16>, tensor<6xf16>) -> ()
    return
  }
}

// -----

module @sine_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7FC0]> : tensor<6xbf16>
    %r = "stablehlo.sine"(%x0) : (tensor<6xbf16>) -> tensor<6xbf16>
    %e0 = stablehlo.constant dense<[0.7578125, -0.478515625, 0.0, 0.83984375, 0.59765625, 0x7FC0]> : tensor<6xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xbf16>, tensor<6xbf16>) -> ()
    return
  }
}

// -----

module @sine_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.sine"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.9053586, 1.4058162), (-1.0288295, 0.017869089), (9.154499, 4.168907), (-0.76863354, -0.38127965), (0.84147096, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @sine_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.sine"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.9053586344209573, 1.4058162504314684), (-1.0288293962476212, 0.017869088397805058), (9.15449914691143, 4.168906959966565), (-0.7686335646933926, -0.3812796346521782), (0.8414709848078965, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
