module @atan2_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -1.0, 0.0, -0.0, 2.0, 0x7F800000]> : tensor<6xf32>
    %x1 = stablehlo.constant dense<[1.0, -1.0, -1.0, -1.0, 0.0, 1.0]> : tensor<6xf32>
    %r = "stablehlo.atan2"(%x0, %x1) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[0.7853981, -2.3561945, 3.1415927, -3.1415927, 1.5707964, 1.5707964]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @atan2_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -1.0, 0.0, -0.0, 2.0, 0x7FF0000000000000]> : tensor<6xf64>
    %x1 = stablehlo.constant dense<[1.0, -1.0, -1.0, -1.0, 0.0, 1.0]> : tensor<6xf64>
    %r = "stablehlo.atan2"(%x0, %x1) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[0.7853981633974483, -2.356194490192345, 3.141592653589793, -3.141592653589793, 1.5707963267948966, 1.5707963267948966]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}
