module @check_ops {
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0, 0x7FC00000]> : tensor<3xf32>
    %y = stablehlo.constant dense<[1.00000012, 2.0, 0x7FC00000]> : tensor<3xf32>
    check.expect_eq %x, %x : tensor<3xf32>
    check.expect_close %x, %y : tensor<3xf32>, tensor<3xf32>
    check.expect_almost_eq %x, %y : tensor<3xf32>
    check.expect_eq_const %x, dense<[1.0, 2.0, 0x7FC00000]> : tensor<3xf32>
    check.expect_almost_eq_const %x, dense<[1.00001, 2.0, 0x7FC00000]> : tensor<3xf32>
    return
  }
}
