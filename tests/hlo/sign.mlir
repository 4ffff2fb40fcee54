module @sign_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.0, 0.0, 2.5, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<7xf32>
    %r = "stablehlo.sign"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[-1.0, -0.0, 0.0, 1.0, 1.0, -1.0, 0x7FC00000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @sign_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.0, 0.0, 2.5, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000]> : tensor<7xf64>
    %r = "stablehlo.sign"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[-1.0, -0.0, 0.0, 1.0, 1.0, -1.0, 0x7FF8000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @sign_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.0, 0.0, 2.5, 0x7C00, 0xFC00, 0x7E00]> : tensor<7xf16>
    %r = "stablehlo.sign"(%x0) : (tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[-1.0, -0.0, 0.0, 1.0, 1.0, -1.0, 0x7E00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @sign_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.0, 0.0, 2.5, 0x7F80, 0xFF80, 0x7FC0]> : tensor<7xbf16>
    %r = "stablehlo.sign"(%x0) : (tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[-1.0, -0.0, 0.0, 1.0, 1.0, -1.0, 0x7FC0]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}

// -----

module @sign_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-9223372036854775808, -1, 0, 5]> : tensor<4xi64>
    %r = "stablehlo.sign"(%x0) : (tensor<4xi64>) -> tensor<4xi64>
    %e0 = stablehlo.constant dense<[-1, -1, 0, 1]> : tensor<4xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi64>, tensor<4xi64>) -> ()
    return
  }
}

// -----

module @sign_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(3.0, 4.0), (0.0, 0.0), (-2.0, 0.0)]> : tensor<3xcomplex<f32>>
    %r = "stablehlo.sign"(%x0) : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.6, 0.8), (0.0, 0.0), (-1.0, 0.0)]> : tensor<3xcomplex<f32>>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> ()
    return
  }
}
