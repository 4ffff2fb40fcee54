// rows by index; out of range indices are clamped
module @rows {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0, 9.0], [10.0, 11.0, 12.0, 13.0, 14.0], [15.0, 16.0, 17.0, 18.0, 19.0]]> : tensor<4x5xf32>
    %x1 = stablehlo.constant dense<[2, 0, 7, -1]> : tensor<4xi32>
    %r = "stablehlo.gather"(%x0, %x1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>, indices_are_sorted = false} : (tensor<4x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>
    %e0 = stablehlo.constant dense<[[10.0, 11.0, 12.0, 13.0, 14.0], [0.0, 1.0, 2.0, 3.0, 4.0], [15.0, 16.0, 17.0, 18.0, 19.0], [0.0, 1.0, 2.0, 3.0, 4.0]]> : tensor<4x5xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x5xf32>, tensor<4x5xf32>) -> ()
    return
  }
}

// -----

module @windows {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]> : tensor<4x5xi64>
    %x1 = stablehlo.constant dense<[[0, 1], [3, 4]]> : tensor<2x2xi64>
    %r = "stablehlo.gather"(%x0, %x1) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 2>} : (tensor<4x5xi64>, tensor<2x2xi64>) -> tensor<2x2x2xi64>
    %e0 = stablehlo.constant dense<[[[1, 2], [6, 7]], [[13, 14], [18, 19]]]> : tensor<2x2x2xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2x2xi64>, tensor<2x2x2xi64>) -> ()
    return
  }
}

// -----

// take_along_axis with batching dimensions
module @batching {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
    %x1 = stablehlo.constant dense<[[3, 0], [1, 1], [2, 9]]> : tensor<3x2xi32>
    %r = "stablehlo.gather"(%x0, %x1) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>} : (tensor<3x4xi32>, tensor<3x2xi32>) -> tensor<3x2xi32>
    %e0 = stablehlo.constant dense<[[3, 0], [5, 5], [10, 11]]> : tensor<3x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xi32>, tensor<3x2xi32>) -> ()
    return
  }
}
