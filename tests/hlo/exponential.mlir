module @exponential_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.0, 0.0, 1.0, 2.5, 0xFF800000, 0x7F800000, 0x7FC00000]> : tensor<9xf32>
    %r = "stablehlo.exponential"(%x0) : (tensor<9xf32>) -> tensor<9xf32>
    %e0 = stablehlo.constant dense<[2.0611537e-09, 0.60653067, 1.0, 1.0, 2.7182817, 12.182494, 0.0, 0x7F800000, 0x7FC00000]> : tensor<9xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf32>, tensor<9xf32>) -> ()
    return
  }
}

// -----

module @exponential_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.0, 0.0, 1.0, 2.5, 0xFFF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000]> : tensor<9xf64>
    %r = "stablehlo.exponential"(%x0) : (tensor<9xf64>) -> tensor<9xf64>
    %e0 = stablehlo.constant dense<[2.061153622438558e-09, 0.6065306597126334, 1.0, 1.0, 2.718281828459045, 12.182493960703473, 0.0, 0x7FF0000000000000, 0x7FF8000000000000]> : tensor<9xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf64>, tensor<9xf64>) -> ()
    return
  }
}

// -----

module @exponential_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.0, 0.0, 1.0, 2.5, 0xFC00, 0x7C00, 0x7E00]> : tensor<9xf16>
    %r = "stablehlo.exponential"(%x0) : (tensor<9xf16>) -> tensor<9xf16>
    %e0 = stablehlo.constant dense<[0.0, 0.6064453125, 1.0, 1.0, 2.71875, 12.1796875, 0.0, 0x7C00, 0x7E00]> : tensor<9xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf16>, tensor<9xf16>) -> ()
    return
  }
}

// -----

module @exponential_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-20.0, -0.5, -0.0, 0.0, 1.0, 2.5, 0xFF80, 0x7F80, 0x7FC0]> : tensor<9xbf16>
    %r = "stablehlo.exponential"(%x0) : (tensor<9xbf16>) -> tensor<9xbf16>
    %e0 = stablehlo.constant dense<[2.066372e-09, 0.60546875, 1.0, 1.0, 2.71875, 12.1875, 0.0, 0x7F80, 0x7FC0]> : tensor<9xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xbf16>, tensor<9xbf16>) -> ()
    return
  }
}

// -----

module @exponential_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.exponential"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.5198787, 1.5646111), (0.21619359, 0.055203285), (-7.31511, -1.0427437), (0.41454065, -0.22646458), (2.7182817, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @exponential_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.exponential"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.5198786860084937, 1.5646111274988195), (0.21619358382609913, 0.05520328504981731), (-7.315110094901103, -1.0427436562359045), (0.41454064950578356, -0.22646458896647162), (2.718281828459045, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
