module @sra_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3, -3, -3, -3, -3, -3]> : tensor<6xi8>
    %x1 = stablehlo.constant dense<[0, 1, 4, 7, 8, -1]> : tensor<6xi8>
    %r = "stablehlo.shift_right_arithmetic"(%x0, %x1) : (tensor<6xi8>, tensor<6xi8>) -> tensor<6xi8>
    %e0 = stablehlo.constant dense<[-3, -2, -1, -1, -1, -1]> : tensor<6xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xi8>, tensor<6xi8>) -> ()
    return
  }
}

// -----

module @sra_u32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[2147483648, 5, 5]> : tensor<3xui32>
    %x1 = stablehlo.constant dense<[31, 1, 40]> : tensor<3xui32>
    %r = "stablehlo.shift_right_arithmetic"(%x0, %x1) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %e0 = stablehlo.constant dense<[4294967295, 2, 0]> : tensor<3xui32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui32>, tensor<3xui32>) -> ()
    return
  }
}

// -----

module @sra_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-8, 7]> : tensor<2xi64>
    %x1 = stablehlo.constant dense<[63, 64]> : tensor<2xi64>
    %r = "stablehlo.shift_right_arithmetic"(%x0, %x1) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %e0 = stablehlo.constant dense<[-1, 0]> : tensor<2xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi64>, tensor<2xi64>) -> ()
    return
  }
}
