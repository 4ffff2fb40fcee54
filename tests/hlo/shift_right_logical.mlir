module @srl_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3, -3, -3, -3, -3, -3]> : tensor<6xi8>
    %x1 = stablehlo.constant dense<[0, 1, 4, 7, 8, -1]> : tensor<6xi8>
    %r = "stablehlo.shift_right_logical"(%x0, %x1) : (tensor<6xi8>, tensor<6xi8>) -> tensor<6xi8>
    %e0 = stablehlo.constant dense<[-3, 126, 15, 1, 0, 0]> : tensor<6xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xi8>, tensor<6xi8>) -> ()
    return
  }
}

// -----

module @srl_u32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[2147483648, 5, 5]> : tensor<3xui32>
    %x1 = stablehlo.constant dense<[31, 1, 40]> : tensor<3xui32>
    %r = "stablehlo.shift_right_logical"(%x0, %x1) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
    %e0 = stablehlo.constant dense<[1, 2, 0]> : tensor<3xui32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui32>, tensor<3xui32>) -> ()
    return
  }
}

// -----

module @srl_i4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %x1 = stablehlo.constant dense<[1, 1]> : tensor<2xi4>
    %r = "stablehlo.shift_right_logical"(%x0, %x1) : (tensor<2xi4>, tensor<2xi4>) -> tensor<2xi4>
    %e0 = stablehlo.constant dense<[4, 3]> : tensor<2xi4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi4>, tensor<2xi4>) -> ()
    return
  }
}
