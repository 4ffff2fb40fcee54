// NaN wins
module @maximum_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0, 0x7FC00000, 3.0, 0x7F800000]> : tensor<5xf32>
    %x1 = stablehlo.constant dense<[2.0, -3.0, 1.0, 0x7FC00000, 0xFF800000]> : tensor<5xf32>
    %r = "stablehlo.maximum"(%x0, %x1) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %e0 = stablehlo.constant dense<[2.0, -2.0, 0x7FC00000, 0x7FC00000, 0x7F800000]> : tensor<5xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xf32>, tensor<5xf32>) -> ()
    return
  }
}

// -----

// NaN wins
module @maximum_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0, 0x7FF8000000000000, 3.0, 0x7FF0000000000000]> : tensor<5xf64>
    %x1 = stablehlo.constant dense<[2.0, -3.0, 1.0, 0x7FF8000000000000, 0xFFF0000000000000]> : tensor<5xf64>
    %r = "stablehlo.maximum"(%x0, %x1) : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    %e0 = stablehlo.constant dense<[2.0, -2.0, 0x7FF8000000000000, 0x7FF8000000000000, 0x7FF0000000000000]> : tensor<5xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xf64>, tensor<5xf64>) -> ()
    return
  }
}

// -----

// NaN wins
module @maximum_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0, 0x7FC0, 3.0, 0x7F80]> : tensor<5xbf16>
    %x1 = stablehlo.constant dense<[2.0, -3.0, 1.0, 0x7FC0, 0xFF80]> : tensor<5xbf16>
    %r = "stablehlo.maximum"(%x0, %x1) : (tensor<5xbf16>, tensor<5xbf16>) -> tensor<5xbf16>
    %e0 = stablehlo.constant dense<[2.0, -2.0, 0x7FC0, 0x7FC0, 0x7F80]> : tensor<5xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xbf16>, tensor<5xbf16>) -> ()
    return
  }
}

// -----

module @maximum_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-128, 5]> : tensor<2xi8>
    %x1 = stablehlo.constant dense<[127, -5]> : tensor<2xi8>
    %r = "stablehlo.maximum"(%x0, %x1) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
    %e0 = stablehlo.constant dense<[127, 5]> : tensor<2xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi8>, tensor<2xi8>) -> ()
    return
  }
}

// -----

module @maximum_u64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18446744073709551615, 5]> : tensor<2xui64>
    %x1 = stablehlo.constant dense<[1, 7]> : tensor<2xui64>
    %r = "stablehlo.maximum"(%x0, %x1) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %e0 = stablehlo.constant dense<[18446744073709551615, 7]> : tensor<2xui64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    return
  }
}

// -----

module @maximum_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
    %x1 = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
    %r = "stablehlo.maximum"(%x0, %x1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %e0 = stablehlo.constant dense<[false, true, true, true]> : tensor<4xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi1>, tensor<4xi1>) -> ()
    return
  }
}
