module @sqrt_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.25, 1.0, 2.0, 4.0, 100.0, 0x7F800000, -1.0, -0.0]> : tensor<9xf32>
    %r = "stablehlo.sqrt"(%x0) : (tensor<9xf32>) -> tensor<9xf32>
    %e0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 1.4142135, 2.0, 10.0, 0x7F800000, 0xFFC00000, -0.0]> : tensor<9xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf32>, tensor<9xf32>) -> ()
    return
  }
}

// -----

module @sqrt_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.25, 1.0, 2.0, 4.0, 100.0, 0x7FF0000000000000, -1.0, -0.0]> : tensor<9xf64>
    %r = "stablehlo.sqrt"(%x0) : (tensor<9xf64>) -> tensor<9xf64>
    %e0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 1.4142135623730951, 2.0, 10.0, 0x7FF0000000000000, 0xFFF8000000000000, -0.0]> : tensor<9xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf64>, tensor<9xf64>) -> ()
    return
  }
}

// -----

module @sqrt_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.25, 1.0, 2.0, 4.0, 100.0, 0x7C00, -1.0, -0.0]> : tensor<9xf16>
    %r = "stablehlo.sqrt"(%x0) : (tensor<9xf16>) -> tensor<9xf16>
    %e0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 1.4140625, 2.0, 10.0, 0x7C00, 0xFE00, -0.0]> : tensor<9xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf16>, tensor<9xf16>) -> ()
    return
  }
}

// -----

module @sqrt_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.25, 1.0, 2.0, 4.0, 100.0, 0x7F80, -1.0, -0.0]> : tensor<9xbf16>
    %r = "stablehlo.sqrt"(%x0) : (tensor<9xbf16>) -> tensor<9xbf16>
    %e0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 1.4140625, 2.0, 10.0, 0x7F80, 0xFFC0, -0.0]> : tensor<9xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xbf16>, tensor<9xbf16>) -> ()
    return
  }
}

// -----

module @sqrt_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.sqrt"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.96080464, 0.6504964), (0.10171193, 1.2289611), (1.6741493, -0.8959775), (0.27512527, -0.908677), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @sqrt_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.sqrt"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.9608046632337985, 0.6504964265019547), (0.10171192794985977, 1.2289610719169575), (1.6741492280355401, -0.8959774761298381), (0.27512526135016874, -0.9086770105119854), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
