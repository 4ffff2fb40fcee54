module @tan_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 1.25]> : tensor<5xf32>
    %r = "stablehlo.tan"(%x0) : (tensor<5xf32>) -> tensor<5xf32>
    %e0 = stablehlo.constant dense<[-1.1578213, -0.5463025, 0.0, 1.5574077, 3.0095696]> : tensor<5xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf32>, tensor<5xf32>) -> ()
    return
  }
}

// -----

module @tan_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 1.25]> : tensor<5xf64>
    %r = "stablehlo.tan"(%x0) : (tensor<5xf64>) -> tensor<5xf64>
    %e0 = stablehlo.constant dense<[-1.1578212823495775, -0.5463024898437905, 0.0, 1.5574077246549023, 3.0095696738628313]> : tensor<5xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf64>, tensor<5xf64>) -> ()
    return
  }
}

// -----

module @tan_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 1.25]> : tensor<5xf16>
    %r = "stablehlo.tan"(%x0) : (tensor<5xf16>) -> tensor<5xf16>
    %e0 = stablehlo.constant dense<[-1.158203125, -0.54638671875, 0.0, 1.5576171875, 3.009765625]> : tensor<5xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf16>, tensor<5xf16>) -> ()
    return
  }
}

// -----

module @tan_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 1.25]> : tensor<5xbf16>
    %r = "stablehlo.tan"(%x0) : (tensor<5xbf16>) -> tensor<5xbf16>
    %e0 = stablehlo.constant dense<[-1.15625, -0.546875, 0.0, 1.5546875, 3.015625]> : tensor<5xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xbf16>, tensor<5xbf16>) -> ()
    return
  }
}

// -----

module @tan_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.tan"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.12610857, 0.9067248), (-1.0253321, 3.786109), (-0.0037640256, -1.0032387), (-0.6180964, -0.7282118), (1.5574077, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @tan_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.tan"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.1261085664842344, 0.9067248043194311), (-1.0253320612293393, 3.7861089368147747), (-0.0037640256415042484, -1.0032386273536096), (-0.618096394806202, -0.7282118012804722), (1.557407724654902, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
