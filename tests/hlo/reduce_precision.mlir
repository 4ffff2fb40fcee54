module @e5m10 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0004883, 65519.0, 65520.0, 1.0e-08, 6.2e-05, 0x7FC00000, 0xFF800000]> : tensor<7xf32>
    %r = stablehlo.reduce_precision %x0, format = e5m10 : tensor<7xf32>
    %e0 = stablehlo.constant dense<[1.0, 65504.0, 0x7F800000, 0.0, 6.198883e-05, 0x7FC00000, 0xFF800000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @e8m7 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0039062, 1.0117188, -3.14159]> : tensor<3xf32>
    %r = stablehlo.reduce_precision %x0, format = e8m7 : tensor<3xf32>
    %e0 = stablehlo.constant dense<[1.0, 1.015625, -3.140625]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}

// -----

module @f64_e8m23 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.1, 1.0e+300, -1.0e-300]> : tensor<3xf64>
    %r = stablehlo.reduce_precision %x0, format = e8m23 : tensor<3xf64>
    %e0 = stablehlo.constant dense<[1.100000023841858, 0x7FF0000000000000, -0.0]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    return
  }
}
