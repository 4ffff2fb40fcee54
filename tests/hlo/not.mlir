module @not_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %r = "stablehlo.not"(%x0) : (tensor<2xi1>) -> tensor<2xi1>
    %e0 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi1>, tensor<2xi1>) -> ()
    return
  }
}

// -----

module @not_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, -1, 5]> : tensor<3xi32>
    %r = "stablehlo.not"(%x0) : (tensor<3xi32>) -> tensor<3xi32>
    %e0 = stablehlo.constant dense<[-1, 0, -6]> : tensor<3xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi32>, tensor<3xi32>) -> ()
    return
  }
}

// -----

module @not_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 255, 15]> : tensor<3xui8>
    %r = "stablehlo.not"(%x0) : (tensor<3xui8>) -> tensor<3xui8>
    %e0 = stablehlo.constant dense<[255, 0, 240]> : tensor<3xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui8>, tensor<3xui8>) -> ()
    return
  }
}
