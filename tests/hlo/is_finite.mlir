module @is_finite_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFF800000, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.75, 100.0, 0x7F800000, 0x7FC00000]> : tensor<14xf32>
    %r = "stablehlo.is_finite"(%x0) : (tensor<14xf32>) -> tensor<14xi1>
    %e0 = stablehlo.constant dense<[false, true, true, true, true, true, true, true, true, true, true, true, false, false]> : tensor<14xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<14xi1>, tensor<14xi1>) -> ()
    return
  }
}

// -----

module @is_finite_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFF80, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.75, 100.0, 0x7F80, 0x7FC0]> : tensor<14xbf16>
    %r = "stablehlo.is_finite"(%x0) : (tensor<14xbf16>) -> tensor<14xi1>
    %e0 = stablehlo.constant dense<[false, true, true, true, true, true, true, true, true, true, true, true, false, false]> : tensor<14xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<14xi1>, tensor<14xi1>) -> ()
    return
  }
}

// -----

module @is_finite_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFFF0000000000000, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.75, 100.0, 0x7FF0000000000000, 0x7FF8000000000000]> : tensor<14xf64>
    %r = "stablehlo.is_finite"(%x0) : (tensor<14xf64>) -> tensor<14xi1>
    %e0 = stablehlo.constant dense<[false, true, true, true, true, true, true, true, true, true, true, true, false, false]> : tensor<14xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<14xi1>, tensor<14xi1>) -> ()
    return
  }
}
