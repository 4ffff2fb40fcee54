module @dyn {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<10xi32>
    %x1 = stablehlo.constant dense<[2]> : tensor<1xi64>
    %x2 = stablehlo.constant dense<[9]> : tensor<1xi64>
    %x3 = stablehlo.constant dense<[3]> : tensor<1xi64>
    %r = stablehlo.real_dynamic_slice %x0, %x1, %x2, %x3 : (tensor<10xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi32>
    %e0 = stablehlo.constant dense<[2, 5, 8]> : tensor<3xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi32>, tensor<3xi32>) -> ()
    return
  }
}
