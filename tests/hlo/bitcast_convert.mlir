module @f32_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0, 0.0]> : tensor<3xf32>
    %r = stablehlo.bitcast_convert %x0 : (tensor<3xf32>) -> tensor<3xi32>
    %e0 = stablehlo.constant dense<[1065353216, -1073741824, 0]> : tensor<3xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi32>, tensor<3xi32>) -> ()
    return
  }
}

// -----

// a narrower type adds a dimension, the lowest byte first
module @f32_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
    %r = stablehlo.bitcast_convert %x0 : (tensor<2xf32>) -> tensor<2x4xui8>
    %e0 = stablehlo.constant dense<[[0, 0, 128, 63], [0, 0, 0, 192]]> : tensor<2x4xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x4xui8>, tensor<2x4xui8>) -> ()
    return
  }
}

// -----

module @u16_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 0, 0, 16368], [1, 0, 0, 16384]]> : tensor<2x4xui16>
    %r = stablehlo.bitcast_convert %x0 : (tensor<2x4xui16>) -> tensor<2xf64>
    %e0 = stablehlo.constant dense<[1.0, 2.0000000000000004]> : tensor<2xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf64>, tensor<2xf64>) -> ()
    return
  }
}

// -----

module @bf16_u16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xbf16>
    %r = stablehlo.bitcast_convert %x0 : (tensor<2xbf16>) -> tensor<2xui16>
    %e0 = stablehlo.constant dense<[16256, 49152]> : tensor<2xui16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xui16>, tensor<2xui16>) -> ()
    return
  }
}

// -----

module @u8_u4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[33, 243]> : tensor<2xui8>
    %r = stablehlo.bitcast_convert %x0 : (tensor<2xui8>) -> tensor<2x2xui4>
    %e0 = stablehlo.constant dense<[[1, 2], [3, 15]]> : tensor<2x2xui4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xui4>, tensor<2x2xui4>) -> ()
    return
  }
}
