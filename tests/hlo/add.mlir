module @add_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7F800000, 3.0, 1.0e+30, 0x7FC00000]> : tensor<7xf32>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFF800000, 0.0, 1.0e+30, 1.0]> : tensor<7xf32>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[3.75, 2.0, 0.0, 0xFFC00000, 3.0, 2.0e+30, 0x7FC00000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @add_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7FF0000000000000, 3.0, 1.0000000150474662e+30, 0x7FF8000000000000]> : tensor<7xf64>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFFF0000000000000, 0.0, 1.0000000150474662e+30, 1.0]> : tensor<7xf64>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<7xf64>, tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[3.75, 2.0, 0.0, 0xFFF8000000000000, 3.0, 2.0000000300949324e+30, 0x7FF8000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @add_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7C00, 3.0, 0x7C00, 0x7E00]> : tensor<7xf16>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFC00, 0.0, 0x7C00, 1.0]> : tensor<7xf16>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<7xf16>, tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[3.75, 2.0, 0.0, 0xFE00, 3.0, 0x7C00, 0x7E00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @add_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0, 0.0, 0x7F80, 3.0, 1.00025555e+30, 0x7FC0]> : tensor<7xbf16>
    %x1 = stablehlo.constant dense<[2.25, 4.0, -0.0, 0xFF80, 0.0, 1.00025555e+30, 1.0]> : tensor<7xbf16>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<7xbf16>, tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[3.75, 2.0, 0.0, 0xFFC0, 3.0, 2.0005111e+30, 0x7FC0]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}

// -----

module @add_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %x1 = stablehlo.constant dense<[(1.0, 0.0), (-0.75, -0.5), (2.0, -3.0), (-1.5, 0.25), (0.5, 1.25)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(1.5, 1.25), (-2.25, -0.25), (4.0, -6.0), (-2.25, -0.25), (1.5, 1.25)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

// on i1 addition is or
module @add_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
    %x1 = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %e0 = stablehlo.constant dense<[false, true, true, true]> : tensor<4xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi1>, tensor<4xi1>) -> ()
    return
  }
}

// -----

module @add_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-128, 127, 5, 127]> : tensor<4xi8>
    %x1 = stablehlo.constant dense<[127, 1, 3, 127]> : tensor<4xi8>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
    %e0 = stablehlo.constant dense<[-1, -128, 8, -2]> : tensor<4xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
    return
  }
}

// -----

module @add_i16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-32768, 32767, 5, 32767]> : tensor<4xi16>
    %x1 = stablehlo.constant dense<[32767, 1, 3, 32767]> : tensor<4xi16>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xi16>, tensor<4xi16>) -> tensor<4xi16>
    %e0 = stablehlo.constant dense<[-1, -32768, 8, -2]> : tensor<4xi16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi16>, tensor<4xi16>) -> ()
    return
  }
}

// -----

module @add_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2147483648, 2147483647, 5, 2147483647]> : tensor<4xi32>
    %x1 = stablehlo.constant dense<[2147483647, 1, 3, 2147483647]> : tensor<4xi32>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %e0 = stablehlo.constant dense<[-1, -2147483648, 8, -2]> : tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return
  }
}

// -----

module @add_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807, 5, 9223372036854775807]> : tensor<4xi64>
    %x1 = stablehlo.constant dense<[9223372036854775807, 1, 3, 9223372036854775807]> : tensor<4xi64>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    %e0 = stablehlo.constant dense<[-1, -9223372036854775808, 8, -2]> : tensor<4xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi64>, tensor<4xi64>) -> ()
    return
  }
}

// -----

module @add_ui8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 255, 5, 255]> : tensor<4xui8>
    %x1 = stablehlo.constant dense<[255, 1, 3, 255]> : tensor<4xui8>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    %e0 = stablehlo.constant dense<[255, 0, 8, 254]> : tensor<4xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui8>, tensor<4xui8>) -> ()
    return
  }
}

// -----

module @add_ui16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 65535, 5, 65535]> : tensor<4xui16>
    %x1 = stablehlo.constant dense<[65535, 1, 3, 65535]> : tensor<4xui16>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xui16>, tensor<4xui16>) -> tensor<4xui16>
    %e0 = stablehlo.constant dense<[65535, 0, 8, 65534]> : tensor<4xui16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui16>, tensor<4xui16>) -> ()
    return
  }
}

// -----

module @add_ui32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 4294967295, 5, 4294967295]> : tensor<4xui32>
    %x1 = stablehlo.constant dense<[4294967295, 1, 3, 4294967295]> : tensor<4xui32>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
    %e0 = stablehlo.constant dense<[4294967295, 0, 8, 4294967294]> : tensor<4xui32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui32>, tensor<4xui32>) -> ()
    return
  }
}

// -----

module @add_ui64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 18446744073709551615, 5, 18446744073709551615]> : tensor<4xui64>
    %x1 = stablehlo.constant dense<[18446744073709551615, 1, 3, 18446744073709551615]> : tensor<4xui64>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xui64>
    %e0 = stablehlo.constant dense<[18446744073709551615, 0, 8, 18446744073709551614]> : tensor<4xui64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui64>, tensor<4xui64>) -> ()
    return
  }
}

// -----

module @add_i4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
    %x1 = stablehlo.constant dense<[1, -1, 2]> : tensor<3xi4>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<3xi4>, tensor<3xi4>) -> tensor<3xi4>
    %e0 = stablehlo.constant dense<[-8, 7, 5]> : tensor<3xi4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi4>, tensor<3xi4>) -> ()
    return
  }
}

// -----

module @add_f8E5M2 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 1.5, -0.25]> : tensor<3xf8E5M2>
    %x1 = stablehlo.constant dense<[0.25, 0.5, 4.0]> : tensor<3xf8E5M2>
    %r = "stablehlo.add"(%x0, %x1) : (tensor<3xf8E5M2>, tensor<3xf8E5M2>) -> tensor<3xf8E5M2>
    %e0 = stablehlo.constant dense<[1.25, 2.0, 4.0]> : tensor<3xf8E5M2>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xf8E5M2>, tensor<3xf8E5M2>) -> ()
    return
  }
}
