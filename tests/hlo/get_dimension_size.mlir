module @size {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %r = stablehlo.get_dimension_size %x0, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<3> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}
