module @round_nearest_afz_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.5, 1.5, 2.5, 2.25]> : tensor<8xf32>
    %r = "stablehlo.round_nearest_afz"(%x0) : (tensor<8xf32>) -> tensor<8xf32>
    %e0 = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 1.0, 2.0, 3.0, 2.0]> : tensor<8xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xf32>, tensor<8xf32>) -> ()
    return
  }
}

// -----

module @round_nearest_afz_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.5, 1.5, 2.5, 2.25]> : tensor<8xf64>
    %r = "stablehlo.round_nearest_afz"(%x0) : (tensor<8xf64>) -> tensor<8xf64>
    %e0 = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 1.0, 2.0, 3.0, 2.0]> : tensor<8xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xf64>, tensor<8xf64>) -> ()
    return
  }
}

// -----

module @round_nearest_afz_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.5, 1.5, 2.5, 2.25]> : tensor<8xf16>
    %r = "stablehlo.round_nearest_afz"(%x0) : (tensor<8xf16>) -> tensor<8xf16>
    %e0 = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 1.0, 2.0, 3.0, 2.0]> : tensor<8xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xf16>, tensor<8xf16>) -> ()
    return
  }
}

// -----

module @round_nearest_afz_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.5, 1.5, 2.5, 2.25]> : tensor<8xbf16>
    %r = "stablehlo.round_nearest_afz"(%x0) : (tensor<8xbf16>) -> tensor<8xbf16>
    %e0 = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 1.0, 2.0, 3.0, 2.0]> : tensor<8xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xbf16>, tensor<8xbf16>) -> ()
    return
  }
}
