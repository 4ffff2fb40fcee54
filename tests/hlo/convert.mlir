// truncates, saturates, NaN becomes 0
module @f32_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.9, -1.9, 3000000000.0, -3000000000.0, 0x7FC00000, 0x7F800000]> : tensor<6xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<6xf32>) -> tensor<6xi32>
    %e0 = stablehlo.constant dense<[1, -1, 2147483647, -2147483648, 0, 2147483647]> : tensor<6xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xi32>, tensor<6xi32>) -> ()
    return
  }
}

// -----

module @f32_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.9, -1.9, 300.0, 0x7FC00000]> : tensor<4xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<4xf32>) -> tensor<4xui8>
    %e0 = stablehlo.constant dense<[1, 0, 255, 0]> : tensor<4xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui8>, tensor<4xui8>) -> ()
    return
  }
}

// -----

module @f64_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0e+18, -1.0e+18, 1.0e+30, -1.0e+30]> : tensor<4xf64>
    %r = "stablehlo.convert"(%x0) : (tensor<4xf64>) -> tensor<4xi64>
    %e0 = stablehlo.constant dense<[1000000000000000000, -1000000000000000000, 9223372036854775807, -9223372036854775808]> : tensor<4xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi64>, tensor<4xi64>) -> ()
    return
  }
}

// -----

module @f64_u64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5e+19, -1.0, 1.0e+30]> : tensor<3xf64>
    %r = "stablehlo.convert"(%x0) : (tensor<3xf64>) -> tensor<3xui64>
    %e0 = stablehlo.constant dense<[15000000000000000000, 0, 18446744073709551615]> : tensor<3xui64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui64>, tensor<3xui64>) -> ()
    return
  }
}

// -----

module @f32_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, -0.0, 0.1, 0x7FC00000]> : tensor<4xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<4xf32>) -> tensor<4xi1>
    %e0 = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi1>, tensor<4xi1>) -> ()
    return
  }
}

// -----

module @i32_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 2, -1]> : tensor<3xi32>
    %r = "stablehlo.convert"(%x0) : (tensor<3xi32>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @i1_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %r = "stablehlo.convert"(%x0) : (tensor<2xi1>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}

// -----

// integers wrap
module @i32_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[127, 128, -129, 256]> : tensor<4xi32>
    %r = "stablehlo.convert"(%x0) : (tensor<4xi32>) -> tensor<4xi8>
    %e0 = stablehlo.constant dense<[127, -128, 127, 0]> : tensor<4xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
    return
  }
}

// -----

module @i64_u32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1, 8589934597]> : tensor<2xi64>
    %r = "stablehlo.convert"(%x0) : (tensor<2xi64>) -> tensor<2xui32>
    %e0 = stablehlo.constant dense<[4294967295, 5]> : tensor<2xui32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xui32>, tensor<2xui32>) -> ()
    return
  }
}

// -----

module @u64_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18446744073709551615]> : tensor<1xui64>
    %r = "stablehlo.convert"(%x0) : (tensor<1xui64>) -> tensor<1xf64>
    %e0 = stablehlo.constant dense<[1.8446744073709552e+19]> : tensor<1xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<1xf64>, tensor<1xf64>) -> ()
    return
  }
}

// -----

module @i64_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[9007199254740993, -7]> : tensor<2xi64>
    %r = "stablehlo.convert"(%x0) : (tensor<2xi64>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[9007199000000000.0, -7.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}

// -----

// to nearest, ties to even
module @f32_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0039062, 1.0117188, 3.4e+38, 1.0e-40, 0x7FC00000]> : tensor<5xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<5xf32>) -> tensor<5xbf16>
    %e0 = stablehlo.constant dense<[1.0, 1.015625, 0x7F80, 9.1835e-41, 0x7FC0]> : tensor<5xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xbf16>, tensor<5xbf16>) -> ()
    return
  }
}

// -----

module @f32_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0004883, 65519.0, 65520.0, 1.0e-08, 6.0e-08, -2.5e-05]> : tensor<6xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<6xf32>) -> tensor<6xf16>
    %e0 = stablehlo.constant dense<[1.0, 65504.0, 0x7C00, 0.0, 5.9604645e-08, -2.4974346e-05]> : tensor<6xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xf16>, tensor<6xf16>) -> ()
    return
  }
}

// -----

module @bf16_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -3.0]> : tensor<2xbf16>
    %r = "stablehlo.convert"(%x0) : (tensor<2xbf16>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[1.5, -3.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}

// -----

module @f16_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, 5.9604645e-08, 0x7C00]> : tensor<3xf16>
    %r = "stablehlo.convert"(%x0) : (tensor<3xf16>) -> tensor<3xf64>
    %e0 = stablehlo.constant dense<[1.5, 5.960464477539063e-08, 0x7FF0000000000000]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    return
  }
}

// -----

module @f32_f8E5M2 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.1, 300.0, 70000.0, 1.0e-06]> : tensor<4xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<4xf32>) -> tensor<4xf8E5M2>
    %e0 = stablehlo.constant dense<[1.0, 320.0, 0x7C, 0.0]> : tensor<4xf8E5M2>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xf8E5M2>, tensor<4xf8E5M2>) -> ()
    return
  }
}

// -----

module @f32_f8E4M3FN {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.1, 300.0, 448.0, 0.001]> : tensor<4xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
    %e0 = stablehlo.constant dense<[1.125, 288.0, 448.0, 0.001953125]> : tensor<4xf8E4M3FN>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> ()
    return
  }
}

// -----

module @f8E4M3FN_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.125, -448.0, 0.001953125]> : tensor<3xf8E4M3FN>
    %r = "stablehlo.convert"(%x0) : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
    %e0 = stablehlo.constant dense<[1.125, -448.0, 0.001953125]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}

// -----

module @c64_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(1.0, 2.0), (-0.0, -3.0)]> : tensor<2xcomplex<f32>>
    %r = "stablehlo.convert"(%x0) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[1.0, -0.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}

// -----

module @f32_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5]> : tensor<1xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<1xf32>) -> tensor<1xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.5, 0.0)]> : tensor<1xcomplex<f64>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>) -> ()
    return
  }
}

// -----

module @c64_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
    %r = "stablehlo.convert"(%x0) : (tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>) -> ()
    return
  }
}

// -----

module @i32_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[3]> : tensor<1xi32>
    %r = "stablehlo.convert"(%x0) : (tensor<1xi32>) -> tensor<1xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(3.0, 0.0)]> : tensor<1xcomplex<f32>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<1xcomplex<f32>>, tensor<1xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @i8_i4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[7, 8, -9]> : tensor<3xi8>
    %r = "stablehlo.convert"(%x0) : (tensor<3xi8>) -> tensor<3xi4>
    %e0 = stablehlo.constant dense<[7, -8, 7]> : tensor<3xi4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi4>, tensor<3xi4>) -> ()
    return
  }
}

// -----

module @f32_i4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[7.5, 100.0, -100.0]> : tensor<3xf32>
    %r = "stablehlo.convert"(%x0) : (tensor<3xf32>) -> tensor<3xi4>
    %e0 = stablehlo.constant dense<[7, 7, -8]> : tensor<3xi4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi4>, tensor<3xi4>) -> ()
    return
  }
}

// -----

module @i4_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %r = "stablehlo.convert"(%x0) : (tensor<2xi4>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[-8.0, 7.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}
