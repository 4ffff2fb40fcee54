module @dyn {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
    %x1 = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %r = stablehlo.dynamic_broadcast_in_dim %x0, %x1, dims = [0, 1] : (tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xi32>
    %e0 = stablehlo.constant dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xi32>, tensor<2x3xi32>) -> ()
    return
  }
}
