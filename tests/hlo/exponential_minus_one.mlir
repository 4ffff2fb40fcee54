module @exponential_minus_one_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.001, 0.0, 1.0, 2.5, 0xFF800000, 0x7F800000]> : tensor<8xf32>
    %r = "stablehlo.exponential_minus_one"(%x0) : (tensor<8xf32>) -> tensor<8xf32>
    %e0 = stablehlo.constant dense<[-1.0, -0.39346933, -0.0009995002, 0.0, 1.7182819, 11.182494, -1.0, 0x7F800000]> : tensor<8xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<8xf32>, tensor<8xf32>) -> ()
    return
  }
}

// -----

module @exponential_minus_one_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.001, 0.0, 1.0, 2.5, 0xFFF0000000000000, 0x7FF0000000000000]> : tensor<8xf64>
    %r = "stablehlo.exponential_minus_one"(%x0) : (tensor<8xf64>) -> tensor<8xf64>
    %e0 = stablehlo.constant dense<[-0.9999999979388464, -0.3934693402873666, -0.0009995001666250085, 0.0, 1.7182818284590453, 11.182493960703473, -1.0, 0x7FF0000000000000]> : tensor<8xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<8xf64>, tensor<8xf64>) -> ()
    return
  }
}

// -----

module @exponential_minus_one_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.0010004043579101562, 0.0, 1.0, 2.5, 0xFC00, 0x7C00]> : tensor<8xf16>
    %r = "stablehlo.exponential_minus_one"(%x0) : (tensor<8xf16>) -> tensor<8xf16>
    %e0 = stablehlo.constant dense<[-1.0, -0.3935546875, -0.00099945068359375, 0.0, 1.71875, 11.1796875, -1.0, 0x7C00]> : tensor<8xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<8xf16>, tensor<8xf16>) -> ()
    return
  }
}

// -----

module @exponential_minus_one_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.00099945068359375, 0.0, 1.0, 2.5, 0xFF80, 0x7F80]> : tensor<8xbf16>
    %r = "stablehlo.exponential_minus_one"(%x0) : (tensor<8xbf16>) -> tensor<8xbf16>
    %e0 = stablehlo.constant dense<[-1.0, -0.392578125, -0.00099945068359375, 0.0, 1.71875, 11.1875, -1.0, 0x7F80]> : tensor<8xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<8xbf16>, tensor<8xbf16>) -> ()
    return
  }
}

// -----

module @exponential_minus_one_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.exponential_minus_one"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(-0.4801213, 1.5646111), (-0.78380644, 0.055203285), (-8.31511, -1.0427437), (-0.58545935, -0.22646458), (1.7182819, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @exponential_minus_one_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.exponential_minus_one"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(-0.48012131399150626, 1.5646111274988195), (-0.7838064161739009, 0.05520328504981731), (-8.315110094901103, -1.0427436562359045), (-0.5854593504942165, -0.22646458896647162), (1.718281828459045, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
