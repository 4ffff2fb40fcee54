module @is_inf_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
    %r = "chlo.is_inf"(%x0) : (tensor<4xf32>) -> tensor<4xi1>
    %e0 = stablehlo.constant dense<[false, true, true, false]> : tensor<4xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi1>, tensor<4xi1>) -> ()
    return
  }
}
