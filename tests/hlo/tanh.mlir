module @tanh_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, -0.0, 0.0, 0.001, 1.0, 2.5, 0x7F800000, 0x7FC00000]> : tensor<9xf32>
    %r = "stablehlo.tanh"(%x0) : (tensor<9xf32>) -> tensor<9xf32>
    %e0 = stablehlo.constant dense<[-1.0, -0.46211717, -0.0, 0.0, 0.0009999997, 0.7615942, 0.9866143, 1.0, 0x7FC00000]> : tensor<9xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf32>, tensor<9xf32>) -> ()
    return
  }
}

// -----

module @tanh_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, -0.0, 0.0, 0.001, 1.0, 2.5, 0x7FF0000000000000, 0x7FF8000000000000]> : tensor<9xf64>
    %r = "stablehlo.tanh"(%x0) : (tensor<9xf64>) -> tensor<9xf64>
    %e0 = stablehlo.constant dense<[-0.9999999958776927, -0.46211715726000974, -0.0, 0.0, 0.0009999996666668, 0.7615941559557649, 0.9866142981514303, 1.0, 0x7FF8000000000000]> : tensor<9xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf64>, tensor<9xf64>) -> ()
    return
  }
}

// -----

module @tanh_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, -0.0, 0.0, 0.0010004043579101562, 1.0, 2.5, 0x7C00, 0x7E00]> : tensor<9xf16>
    %r = "stablehlo.tanh"(%x0) : (tensor<9xf16>) -> tensor<9xf16>
    %e0 = stablehlo.constant dense<[-1.0, -0.462158203125, -0.0, 0.0, 0.0010004043579101562, 0.76171875, 0.98681640625, 1.0, 0x7E00]> : tensor<9xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf16>, tensor<9xf16>) -> ()
    return
  }
}

// -----

module @tanh_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, -0.0, 0.0, 0.00099945068359375, 1.0, 2.5, 0x7F80, 0x7FC0]> : tensor<9xbf16>
    %r = "stablehlo.tanh"(%x0) : (tensor<9xbf16>) -> tensor<9xbf16>
    %e0 = stablehlo.constant dense<[-1.0, -0.462890625, -0.0, 0.0, 0.00099945068359375, 0.76171875, 0.98828125, 1.0, 0x7FC0]> : tensor<9xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xbf16>, tensor<9xbf16>) -> ()
    return
  }
}

// -----

module @tanh_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.tanh"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(1.5839635, 0.8066347), (-0.91527194, 0.043802176), (0.96538585, 0.009884375), (-0.73608416, -0.29089347), (0.7615942, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @tanh_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.tanh"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.5839635482844237, 0.8066346988510736), (-0.9152719132613141, 0.04380217692516719), (0.965385879022133, 0.009884375038322492), (-0.7360841705511909, -0.29089346182961806), (0.7615941559557649, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
