module @constant_forms {
  func.func @main() {
    %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %b = stablehlo.constant dense<10> : tensor<2x2xi32>
    %r = stablehlo.add %a, %b : tensor<2x2xi32>
    %e0 = stablehlo.constant dense<[[11, 12], [13, 14]]> : tensor<2x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xi32>, tensor<2x2xi32>) -> ()
    return
  }
}

// -----

module @constant_hex {
  func.func @main() {
    %r = stablehlo.constant dense<"0x0000803F000000C0"> : tensor<2xf32>
    %e0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}
