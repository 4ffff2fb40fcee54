// a composite that nobody knows is its decomposition
module @decomposition {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
    %r = stablehlo.composite "some.square" %x0 {decomposition = @square} : (tensor<2xf32>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
  func.func private @square(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = stablehlo.multiply %x, %x : tensor<2xf32>
    return %y : tensor<2xf32>
  }
}
