module @floor_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.2, 1.0, 2.7, 0xFF800000]> : tensor<7xf32>
    %r = "stablehlo.floor"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[-3.0, -1.0, -0.0, 0.0, 1.0, 2.0, 0xFF800000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @floor_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.2, 1.0, 2.7, 0xFFF0000000000000]> : tensor<7xf64>
    %r = "stablehlo.floor"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[-3.0, -1.0, -0.0, 0.0, 1.0, 2.0, 0xFFF0000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @floor_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.199951171875, 1.0, 2.69921875, 0xFC00]> : tensor<7xf16>
    %r = "stablehlo.floor"(%x0) : (tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[-3.0, -1.0, -0.0, 0.0, 1.0, 2.0, 0xFC00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @floor_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.2001953125, 1.0, 2.703125, 0xFF80]> : tensor<7xbf16>
    %r = "stablehlo.floor"(%x0) : (tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[-3.0, -1.0, -0.0, 0.0, 1.0, 2.0, 0xFF80]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}
