module @mulhi_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[64, -64, 127, -128]> : tensor<4xi8>
    %x1 = stablehlo.constant dense<[4, 4, 127, -128]> : tensor<4xi8>
    %r = "chlo.mulhi"(%x0, %x1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
    %e0 = stablehlo.constant dense<[1, -1, 63, 64]> : tensor<4xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
    return
  }
}

// -----

module @mulhi_u64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[9223372036854775808, 18446744073709551615]> : tensor<2xui64>
    %x1 = stablehlo.constant dense<[6, 18446744073709551615]> : tensor<2xui64>
    %r = "chlo.mulhi"(%x0, %x1) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %e0 = stablehlo.constant dense<[3, 18446744073709551614]> : tensor<2xui64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    return
  }
}
