module @compare_EQ_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, -0.0]> : tensor<5xf32>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0, 0x7FC00000, 0.0]> : tensor<5xf32>
    %r = stablehlo.compare EQ, %x0, %x1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %e0 = stablehlo.constant dense<[false, true, false, false, true]> : tensor<5xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xi1>, tensor<5xi1>) -> ()
    return
  }
}

// -----

module @compare_EQ_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, -3]> : tensor<3xi8>
    %x1 = stablehlo.constant dense<[2, 2, 1]> : tensor<3xi8>
    %r = stablehlo.compare EQ, %x0, %x1 : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_EQ_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[200, 2, 3]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 2, 5]> : tensor<3xui8>
    %r = stablehlo.compare EQ, %x0, %x1 : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_EQ_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 0x7FC0]> : tensor<3xbf16>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0]> : tensor<3xbf16>
    %r = stablehlo.compare EQ, %x0, %x1 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_EQ_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    %x1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    %r = stablehlo.compare EQ, %x0, %x1 : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_NE_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, -0.0]> : tensor<5xf32>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0, 0x7FC00000, 0.0]> : tensor<5xf32>
    %r = stablehlo.compare NE, %x0, %x1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %e0 = stablehlo.constant dense<[true, false, true, true, false]> : tensor<5xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xi1>, tensor<5xi1>) -> ()
    return
  }
}

// -----

module @compare_NE_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, -3]> : tensor<3xi8>
    %x1 = stablehlo.constant dense<[2, 2, 1]> : tensor<3xi8>
    %r = stablehlo.compare NE, %x0, %x1 : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_NE_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[200, 2, 3]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 2, 5]> : tensor<3xui8>
    %r = stablehlo.compare NE, %x0, %x1 : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_NE_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 0x7FC0]> : tensor<3xbf16>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0]> : tensor<3xbf16>
    %r = stablehlo.compare NE, %x0, %x1 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_NE_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    %x1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    %r = stablehlo.compare NE, %x0, %x1 : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LT_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, -0.0]> : tensor<5xf32>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0, 0x7FC00000, 0.0]> : tensor<5xf32>
    %r = stablehlo.compare LT, %x0, %x1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %e0 = stablehlo.constant dense<[true, false, false, false, false]> : tensor<5xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xi1>, tensor<5xi1>) -> ()
    return
  }
}

// -----

module @compare_LT_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, -3]> : tensor<3xi8>
    %x1 = stablehlo.constant dense<[2, 2, 1]> : tensor<3xi8>
    %r = stablehlo.compare LT, %x0, %x1 : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LT_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[200, 2, 3]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 2, 5]> : tensor<3xui8>
    %r = stablehlo.compare LT, %x0, %x1 : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LT_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 0x7FC0]> : tensor<3xbf16>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0]> : tensor<3xbf16>
    %r = stablehlo.compare LT, %x0, %x1 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LT_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    %x1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    %r = stablehlo.compare LT, %x0, %x1 : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LE_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, -0.0]> : tensor<5xf32>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0, 0x7FC00000, 0.0]> : tensor<5xf32>
    %r = stablehlo.compare LE, %x0, %x1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %e0 = stablehlo.constant dense<[true, true, false, false, true]> : tensor<5xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xi1>, tensor<5xi1>) -> ()
    return
  }
}

// -----

module @compare_LE_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, -3]> : tensor<3xi8>
    %x1 = stablehlo.constant dense<[2, 2, 1]> : tensor<3xi8>
    %r = stablehlo.compare LE, %x0, %x1 : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, true, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LE_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[200, 2, 3]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 2, 5]> : tensor<3xui8>
    %r = stablehlo.compare LE, %x0, %x1 : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LE_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 0x7FC0]> : tensor<3xbf16>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0]> : tensor<3xbf16>
    %r = stablehlo.compare LE, %x0, %x1 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_LE_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    %x1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    %r = stablehlo.compare LE, %x0, %x1 : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GT_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, -0.0]> : tensor<5xf32>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0, 0x7FC00000, 0.0]> : tensor<5xf32>
    %r = stablehlo.compare GT, %x0, %x1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %e0 = stablehlo.constant dense<[false, false, true, false, false]> : tensor<5xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xi1>, tensor<5xi1>) -> ()
    return
  }
}

// -----

module @compare_GT_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, -3]> : tensor<3xi8>
    %x1 = stablehlo.constant dense<[2, 2, 1]> : tensor<3xi8>
    %r = stablehlo.compare GT, %x0, %x1 : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, false, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GT_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[200, 2, 3]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 2, 5]> : tensor<3xui8>
    %r = stablehlo.compare GT, %x0, %x1 : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GT_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 0x7FC0]> : tensor<3xbf16>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0]> : tensor<3xbf16>
    %r = stablehlo.compare GT, %x0, %x1 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, false, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GT_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    %x1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    %r = stablehlo.compare GT, %x0, %x1 : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GE_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 0x7FC00000, -0.0]> : tensor<5xf32>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0, 0x7FC00000, 0.0]> : tensor<5xf32>
    %r = stablehlo.compare GE, %x0, %x1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %e0 = stablehlo.constant dense<[false, true, true, false, true]> : tensor<5xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xi1>, tensor<5xi1>) -> ()
    return
  }
}

// -----

module @compare_GE_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, -3]> : tensor<3xi8>
    %x1 = stablehlo.constant dense<[2, 2, 1]> : tensor<3xi8>
    %r = stablehlo.compare GE, %x0, %x1 : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GE_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[200, 2, 3]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 2, 5]> : tensor<3xui8>
    %r = stablehlo.compare GE, %x0, %x1 : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GE_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 0x7FC0]> : tensor<3xbf16>
    %x1 = stablehlo.constant dense<[2.0, 2.0, 1.0]> : tensor<3xbf16>
    %r = stablehlo.compare GE, %x0, %x1 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_GE_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    %x1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
    %r = stablehlo.compare GE, %x0, %x1 : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
    %e0 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi1>, tensor<3xi1>) -> ()
    return
  }
}

// -----

module @compare_total_order {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFFC00000, 0xFF800000, -1.0, -0.0, 0.0, 1.0, 0x7F800000]> : tensor<7xf32>
    %x1 = stablehlo.constant dense<[0xFF800000, -1.0, -0.0, 0.0, 1.0, 0x7F800000, 0x7FC00000]> : tensor<7xf32>
    %r = stablehlo.compare LT, %x0, %x1, TOTALORDER : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
    %e0 = stablehlo.constant dense<[true, true, true, true, true, true, true]> : tensor<7xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xi1>, tensor<7xi1>) -> ()
    return
  }
}

// -----

module @compare_total_order_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFFF8000000000000, 0xFFF0000000000000, -1.0, -0.0, 0.0, 1.0, 0x7FF0000000000000]> : tensor<7xf64>
    %x1 = stablehlo.constant dense<[0xFFF0000000000000, -1.0, -0.0, 0.0, 1.0, 0x7FF0000000000000, 0x7FF8000000000000]> : tensor<7xf64>
    %r = stablehlo.compare LT, %x0, %x1, TOTALORDER : (tensor<7xf64>, tensor<7xf64>) -> tensor<7xi1>
    %e0 = stablehlo.constant dense<[true, true, true, true, true, true, true]> : tensor<7xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xi1>, tensor<7xi1>) -> ()
    return
  }
}

// -----

module @compare_EQ_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(1.0, 2.0), (1.0, 3.0)]> : tensor<2xcomplex<f32>>
    %x1 = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0)]> : tensor<2xcomplex<f32>>
    %r = stablehlo.compare EQ, %x0, %x1 : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
    %e0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi1>, tensor<2xi1>) -> ()
    return
  }
}
