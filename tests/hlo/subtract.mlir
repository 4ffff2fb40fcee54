module @subtract_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7F800000, 3.0, 1.0e+30, 0x7FC00000]> : tensor<7xf32>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFF800000, 0.0, 1.0e+30, 1.0]> : tensor<7xf32>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[-0.75, -6.0, 0.0, 0x7F800000, 3.0, 0.0, 0x7FC00000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @subtract_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7FF0000000000000, 3.0, 1.0000000150474662e+30, 0x7FF8000000000000]> : tensor<7xf64>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFFF0000000000000, 0.0, 1.0000000150474662e+30, 1.0]> : tensor<7xf64>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<7xf64>, tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[-0.75, -6.0, 0.0, 0x7FF0000000000000, 3.0, 0.0, 0x7FF8000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @subtract_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7C00, 3.0, 0x7C00, 0x7E00]> : tensor<7xf16>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFC00, 0.0, 0x7C00, 1.0]> : tensor<7xf16>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<7xf16>, tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[-0.75, -6.0, 0.0, 0x7C00, 3.0, 0xFE00, 0x7E00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @subtract_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7F80, 3.0, 1.00025555e+30, 0x7FC0]> : tensor<7xbf16>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFF80, 0.0, 1.00025555e+30, 1.0]> : tensor<7xbf16>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<7xbf16>, tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[-0.75, -6.0, 0.0, 0x7F80, 3.0, 0.0, 0x7FC0]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}

// -----

module @subtract_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %x1 = stablehlo.constant dense<[(1.0, 0.0), (-0.75, -0.5), (2.0, -3.0), (-1.5, 0.25), (0.5, 1.25)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(-0.5, 1.25), (-0.75, 0.75), (0.0, 0.0), (0.75, -0.75), (0.5, -1.25)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @subtract_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-128, 127, 5, 127]> : tensor<4xi8>
    %x1 = stablehlo.constant dense<[127, 1, 3, 127]> : tensor<4xi8>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
    %e0 = stablehlo.constant dense<[1, 126, 2, 0]> : tensor<4xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
    return
  }
}

// -----

module @subtract_i16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-32768, 32767, 5, 32767]> : tensor<4xi16>
    %x1 = stablehlo.constant dense<[32767, 1, 3, 32767]> : tensor<4xi16>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi16>
    %e0 = stablehlo.constant dense<[1, 32766, 2, 0]> : tensor<4xi16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi16>, tensor<4xi16>) -> ()
    return
  }
}

// -----

module @subtract_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2147483648, 2147483647, 5, 2147483647]> : tensor<4xi32>
    %x1 = stablehlo.constant dense<[2147483647, 1, 3, 2147483647]> : tensor<4xi32>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %e0 = stablehlo.constant dense<[1, 2147483646, 2, 0]> : tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return
  }
}

// -----

module @subtract_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 5, 9223372036854775807]> : tensor<4xi64>
    %x1 = stablehlo.constant dense<[9223372036854775807, 1, 3, 9223372036854775807]> : tensor<4xi64>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    %e0 = stablehlo.constant dense<[1, 9223372036854775806, 2, 0]> : tensor<4xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi64>, tensor<4xi64>) -> ()
    return
  }
}

// -----

module @subtract_ui8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 255, 5, 255]> : tensor<4xui8>
    %x1 = stablehlo.constant dense<[255, 1, 3, 255]> : tensor<4xui8>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    %e0 = stablehlo.constant dense<[1, 254, 2, 0]> : tensor<4xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui8>, tensor<4xui8>) -> ()
    return
  }
}

// -----

module @subtract_ui16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 65535, 5, 65535]> : tensor<4xui16>
    %x1 = stablehlo.constant dense<[65535, 1, 3, 65535]> : tensor<4xui16>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xui16>, tensor<4xui16>) -> tensor<4xui16>
    %e0 = stablehlo.constant dense<[1, 65534, 2, 0]> : tensor<4xui16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui16>, tensor<4xui16>) -> ()
    return
  }
}

// -----

module @subtract_ui32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 4294967295, 5, 4294967295]> : tensor<4xui32>
    %x1 = stablehlo.constant dense<[4294967295, 1, 3, 4294967295]> : tensor<4xui32>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %e0 = stablehlo.constant dense<[1, 4294967294, 2, 0]> : tensor<4xui32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui32>, tensor<4xui32>) -> ()
    return
  }
}

// -----

module @subtract_ui64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 18446744073709551615, 5, 18446744073709551615]> : tensor<4xui64>
    %x1 = stablehlo.constant dense<[18446744073709551615, 1, 3, 18446744073709551615]> : tensor<4xui64>
    %r = "stablehlo.subtract"(%x0, %x1) : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xui64>
    %e0 = stablehlo.constant dense<[1, 18446744073709551614, 2, 0]> : tensor<4xui64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui64>, tensor<4xui64>) -> ()
    return
  }
}
