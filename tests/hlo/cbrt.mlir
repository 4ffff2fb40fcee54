module @cbrt_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-27.0, -0.5, 0.0, 1.0, 8.0, 1000.0]> : tensor<6xf32>
    %r = "stablehlo.cbrt"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[-3.0, -0.7937005, 0.0, 1.0, 2.0, 10.0]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @cbrt_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-27.0, -0.5, 0.0, 1.0, 8.0, 1000.0]> : tensor<6xf64>
    %r = "stablehlo.cbrt"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[-3.0, -0.7937005259840998, 0.0, 1.0, 2.0, 10.0]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @cbrt_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-27.0, -0.5, 0.0, 1.0, 8.0, 1000.0]> : tensor<6xf16>
    %r = "stablehlo.cbrt"(%x0) : (tensor<6xf16>) -> tensor<6xf16>
    %e0 = stablehlo.constant dense<[-3.0, -0.79345703125, 0.0, 1.0, 2.0, 10.0]> : tensor<6xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf16>, tensor<6xf16>) -> ()
    return
  }
}

// -----

module @cbrt_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-27.0, -0.5, 0.0, 1.0, 8.0, 1000.0]> : tensor<6xbf16>
    %r = "stablehlo.cbrt"(%x0) : (tensor<6xbf16>) -> tensor<6xbf16>
    %e0 = stablehlo.constant dense<[-3.0, -0.79296875, 0.0, 1.0, 2.0, 10.0]> : tensor<6xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xbf16>, tensor<6xbf16>) -> ()
    return
  }
}
