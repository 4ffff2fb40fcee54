module @ceil_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.2, 1.0, 2.7, 0x7F800000]> : tensor<7xf32>
    %r = "stablehlo.ceil"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[-2.0, -0.0, -0.0, 1.0, 1.0, 3.0, 0x7F800000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @ceil_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.2, 1.0, 2.7, 0x7FF0000000000000]> : tensor<7xf64>
    %r = "stablehlo.ceil"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[-2.0, -0.0, -0.0, 1.0, 1.0, 3.0, 0x7FF0000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @ceil_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.199951171875, 1.0, 2.69921875, 0x7C00]> : tensor<7xf16>
    %r = "stablehlo.ceil"(%x0) : (tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[-2.0, -0.0, -0.0, 1.0, 1.0, 3.0, 0x7C00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @ceil_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.2001953125, 1.0, 2.703125, 0x7F80]> : tensor<7xbf16>
    %r = "stablehlo.ceil"(%x0) : (tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[-2.0, -0.0, -0.0, 1.0, 1.0, 3.0, 0x7F80]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}
