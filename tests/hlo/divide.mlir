module @divide_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7F800000, 3.0, 1.0e+30, 0x7FC00000]> : tensor<7xf32>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFF800000, 0.0, 1.0e+30, 1.0]> : tensor<7xf32>
    %r = "stablehlo.divide"(%x0, %x1) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[0.6666667, -0.5, 0xFFC00000, 0xFFC00000, 0x7F800000, 1.0, 0x7FC00000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @divide_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7FF0000000000000, 3.0, 1.0000000150474662e+30, 0x7FF8000000000000]> : tensor<7xf64>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFFF0000000000000, 0.0, 1.0000000150474662e+30, 1.0]> : tensor<7xf64>
    %r = "stablehlo.divide"(%x0, %x1) : (tensor<7xf64>, tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[0.6666666666666666, -0.5, 0xFFF8000000000000, 0xFFF8000000000000, 0x7FF0000000000000, 1.0, 0x7FF8000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @divide_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7C00, 3.0, 0x7C00, 0x7E00]> : tensor<7xf16>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFC00, 0.0, 0x7C00, 1.0]> : tensor<7xf16>
    %r = "stablehlo.divide"(%x0, %x1) : (tensor<7xf16>, tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[0.66650390625, -0.5, 0xFE00, 0xFE00, 0x7C00, 0xFE00, 0x7E00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @divide_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7F80, 3.0, 1.00025555e+30, 0x7FC0]> : tensor<7xbf16>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFF80, 0.0, 1.00025555e+30, 1.0]> : tensor<7xbf16>
    %r = "stablehlo.divide"(%x0, %x1) : (tensor<7xbf16>, tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[0.66796875, -0.5, 0xFFC0, 0xFFC0, 0x7F80, 1.0, 0x7FC0]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}

// -----

module @divide_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %x1 = stablehlo.constant dense<[(1.0, 0.0), (-0.75, -0.5), (2.0, -3.0), (-1.5, 0.25), (0.5, 1.25)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.divide"(%x0, %x1) : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.5, 1.25), (1.2307692, -1.153846), (1.0, -0.0), (0.43243247, 0.40540543), (0.27586207, -0.6896551)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

// by zero: all bits set
module @divide_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[7, -7, 7, -7, 5, -2147483648, 0]> : tensor<7xi32>
    %x1 = stablehlo.constant dense<[2, 2, -2, -2, 0, -1, 0]> : tensor<7xi32>
    %r = "stablehlo.divide"(%x0, %x1) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %e0 = stablehlo.constant dense<[3, -3, -3, 3, -1, -2147483648, -1]> : tensor<7xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xi32>, tensor<7xi32>) -> ()
    return
  }
}

// -----

module @divide_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[7, 255, 5]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 16, 0]> : tensor<3xui8>
    %r = "stablehlo.divide"(%x0, %x1) : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
    %e0 = stablehlo.constant dense<[3, 15, 255]> : tensor<3xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui8>, tensor<3xui8>) -> ()
    return
  }
}
