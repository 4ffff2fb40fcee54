// the sign of the dividend; by zero: the dividend
module @remainder_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[7, -7, 7, -7, 5, -2147483648]> : tensor<6xi32>
    %x1 = stablehlo.constant dense<[2, 2, -2, -2, 0, -1]> : tensor<6xi32>
    %r = "stablehlo.remainder"(%x0, %x1) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %e0 = stablehlo.constant dense<[1, -1, 1, -1, 5, 0]> : tensor<6xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xi32>, tensor<6xi32>) -> ()
    return
  }
}

// -----

module @remainder_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[7, 255, 5]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[2, 16, 0]> : tensor<3xui8>
    %r = "stablehlo.remainder"(%x0, %x1) : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
    %e0 = stablehlo.constant dense<[1, 15, 5]> : tensor<3xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui8>, tensor<3xui8>) -> ()
    return
  }
}

// -----

module @remainder_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[5.5, -5.5, 5.5, 1.0, 0x7F800000, 2.0]> : tensor<6xf32>
    %x1 = stablehlo.constant dense<[2.0, 2.0, -2.0, 0.0, 1.0, 0x7F800000]> : tensor<6xf32>
    %r = "stablehlo.remainder"(%x0, %x1) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[1.5, -1.5, 1.5, 0xFFC00000, 0xFFC00000, 2.0]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @remainder_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[5.5, -5.5, 5.5, 1.0, 0x7FF0000000000000, 2.0]> : tensor<6xf64>
    %x1 = stablehlo.constant dense<[2.0, 2.0, -2.0, 0.0, 1.0, 0x7FF0000000000000]> : tensor<6xf64>
    %r = "stablehlo.remainder"(%x0, %x1) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[1.5, -1.5, 1.5, 0xFFF8000000000000, 0xFFF8000000000000, 2.0]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}
