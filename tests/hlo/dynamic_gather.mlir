module @dyn {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]> : tensor<4x5xi64>
    %x1 = stablehlo.constant dense<[[0], [9], [2]]> : tensor<3x1xi64>
    %x2 = stablehlo.constant dense<[1, 5]> : tensor<2xi64>
    %r = "stablehlo.dynamic_gather"(%x0, %x1, %x2) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<4x5xi64>, tensor<3x1xi64>, tensor<2xi64>) -> tensor<3x5xi64>
    %e0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [15, 16, 17, 18, 19], [10, 11, 12, 13, 14]]> : tensor<3x5xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x5xi64>, tensor<3x5xi64>) -> ()
    return
  }
}
