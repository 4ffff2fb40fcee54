module @dyn {
  func.func @main() {
    %x0 = stablehlo.constant dense<[4]> : tensor<1xi64>
    %r = stablehlo.dynamic_iota %x0, dim = 0 : (tensor<1xi64>) -> tensor<4xi32>
    %e0 = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return
  }
}
