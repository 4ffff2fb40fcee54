module @call_twice {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %a = func.call @double(%x0) : (tensor<2xf32>) -> tensor<2xf32>
    %r = func.call @double(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[4.0, 8.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
  func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = stablehlo.add %x, %x : tensor<2xf32>
    return %y : tensor<2xf32>
  }
}
