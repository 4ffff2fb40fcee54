module @negate_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFF800000, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.75, 100.0, 0x7F800000, 0x7FC00000]> : tensor<14xf32>
    %r = "stablehlo.negate"(%x0) : (tensor<14xf32>) -> tensor<14xf32>
    %e0 = stablehlo.constant dense<[0x7F800000, 2.5, 1.0, 0.5, 0.0, -0.0, -0.25, -0.5, -1.0, -1.5, -3.75, -100.0, 0xFF800000, 0xFFC00000]> : tensor<14xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<14xf32>, tensor<14xf32>) -> ()
    return
  }
}

// -----

module @negate_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-128, -1, 0, 127]> : tensor<4xi8>
    %r = "stablehlo.negate"(%x0) : (tensor<4xi8>) -> tensor<4xi8>
    %e0 = stablehlo.constant dense<[-128, 1, 0, -127]> : tensor<4xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
    return
  }
}

// -----

module @negate_u16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 65535]> : tensor<3xui16>
    %r = "stablehlo.negate"(%x0) : (tensor<3xui16>) -> tensor<3xui16>
    %e0 = stablehlo.constant dense<[0, 65535, 1]> : tensor<3xui16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui16>, tensor<3xui16>) -> ()
    return
  }
}

// -----

module @negate_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(1.0, -2.0), (0.0, 3.0)]> : tensor<2xcomplex<f64>>
    %r = "stablehlo.negate"(%x0) : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(-1.0, 2.0), (-0.0, -3.0)]> : tensor<2xcomplex<f64>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> ()
    return
  }
}
