module @dyn {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %x1 = stablehlo.constant dense<0> : tensor<i32>
    %x2 = stablehlo.constant dense<[1]> : tensor<1xi64>
    %x3 = stablehlo.constant dense<[2]> : tensor<1xi64>
    %x4 = stablehlo.constant dense<[1]> : tensor<1xi64>
    %r = stablehlo.dynamic_pad %x0, %x1, %x2, %x3, %x4 : (tensor<3xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xi32>
    %e0 = stablehlo.constant dense<[0, 1, 0, 2, 0, 3, 0, 0]> : tensor<8xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xi32>, tensor<8xi32>) -> ()
    return
  }
}
