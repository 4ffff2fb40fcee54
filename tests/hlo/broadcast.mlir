module @broadcast {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %r = "stablehlo.broadcast"(%x0) {broadcast_sizes = array<i64: 2, 3>} : (tensor<2xi32>) -> tensor<2x3x2xi32>
    %e0 = stablehlo.constant dense<[[[1, 2], [1, 2], [1, 2]], [[1, 2], [1, 2], [1, 2]]]> : tensor<2x3x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xi32>, tensor<2x3x2xi32>) -> ()
    return
  }
}
