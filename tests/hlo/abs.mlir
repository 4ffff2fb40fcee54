module @abs_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFF800000, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.75, 100.0, 0x7F800000, 0x7FC00000]> : tensor<14xf32>
    %r = "stablehlo.abs"(%x0) : (tensor<14xf32>) -> tensor<14xf32>
    %e0 = stablehlo.constant dense<[0x7F800000, 2.5, 1.0, 0.5, 0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 3.75, 100.0, 0x7F800000, 0x7FC00000]> : tensor<14xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<14xf32>, tensor<14xf32>) -> ()
    return
  }
}

// -----

module @abs_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-5, 0, 7, -2147483648]> : tensor<4xi32>
    %r = "stablehlo.abs"(%x0) : (tensor<4xi32>) -> tensor<4xi32>
    %e0 = stablehlo.constant dense<[5, 0, 7, -2147483648]> : tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return
  }
}

// -----

module @abs_i4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-8, -7, 3]> : tensor<3xi4>
    %r = "stablehlo.abs"(%x0) : (tensor<3xi4>) -> tensor<3xi4>
    %e0 = stablehlo.constant dense<[-8, 7, 3]> : tensor<3xi4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi4>, tensor<3xi4>) -> ()
    return
  }
}

// -----

module @abs_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(3.0, 4.0), (-5.0, -12.0), (0.0, 0.0)]> : tensor<3xcomplex<f32>>
    %r = "stablehlo.abs"(%x0) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    %e0 = stablehlo.constant dense<[5.0, 13.0, 0.0]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}
