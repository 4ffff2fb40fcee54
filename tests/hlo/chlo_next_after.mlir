module @next_after_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 1.0, 1.0, -1.0, 2.5, 0x7F800000, 0.0, 0x7FC00000]> : tensor<8xf32>
    %x1 = stablehlo.constant dense<[1.0, 2.0, 0.0, 0.0, 2.5, 0.0, -1.0, 1.0]> : tensor<8xf32>
    %r = "chlo.next_after"(%x0, %x1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %e0 = stablehlo.constant dense<[1.0e-45, 1.0000001, 0.99999994, -0.99999994, 2.5, 3.4028235e+38, -1.0e-45, 0x7FC00000]> : tensor<8xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xf32>, tensor<8xf32>) -> ()
    return
  }
}

// -----

module @next_after_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 1.0, 1.0, -1.0, 2.5, 0x7FF0000000000000, 0.0, 0x7FF8000000000000]> : tensor<8xf64>
    %x1 = stablehlo.constant dense<[1.0, 2.0, 0.0, 0.0, 2.5, 0.0, -1.0, 1.0]> : tensor<8xf64>
    %r = "chlo.next_after"(%x0, %x1) : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
    %e0 = stablehlo.constant dense<[5.0e-324, 1.0000000000000002, 0.9999999999999999, -0.9999999999999999, 2.5, 1.7976931348623157e+308, -5.0e-324, 0x7FF8000000000000]> : tensor<8xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xf64>, tensor<8xf64>) -> ()
    return
  }
}

// -----

module @next_after_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 1.0, 1.0, -1.0, 2.5, 0x7C00, 0.0, 0x7E00]> : tensor<8xf16>
    %x1 = stablehlo.constant dense<[1.0, 2.0, 0.0, 0.0, 2.5, 0.0, -1.0, 1.0]> : tensor<8xf16>
    %r = "chlo.next_after"(%x0, %x1) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    %e0 = stablehlo.constant dense<[5.9604645e-08, 1.0009765625, 0.99951171875, -0.99951171875, 2.5, 65504.0, -5.9604645e-08, 0x7E00]> : tensor<8xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xf16>, tensor<8xf16>) -> ()
    return
  }
}
