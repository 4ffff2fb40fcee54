// duplicates add up; out of range rows are dropped
module @add_rows {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]> : tensor<4x2xf32>
    %x1 = stablehlo.constant dense<[[1], [3], [1], [4], [-1]]> : tensor<5x1xi32>
    %x2 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]> : tensor<5x2xf32>
    %r = "stablehlo.scatter"(%x0, %x1, %x2) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false} : (tensor<4x2xf32>, tensor<5x1xi32>, tensor<5x2xf32>) -> tensor<4x2xf32>
    %e0 = stablehlo.constant dense<[[0.0, 0.0], [6.0, 8.0], [0.0, 0.0], [3.0, 4.0]]> : tensor<4x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> ()
    return
  }
}

// -----

module @maximum {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2, 2], [2, 2], [2, 2], [2, 2]]> : tensor<4x2xi32>
    %x1 = stablehlo.constant dense<[[1], [3], [1], [4], [-1]]> : tensor<5x1xi32>
    %x2 = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]> : tensor<5x2xi32>
    %r = "stablehlo.scatter"(%x0, %x1, %x2) ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %s = stablehlo.maximum %p, %q : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x2xi32>, tensor<5x1xi32>, tensor<5x2xi32>) -> tensor<4x2xi32>
    %e0 = stablehlo.constant dense<[[2, 2], [5, 6], [2, 2], [3, 4]]> : tensor<4x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x2xi32>, tensor<4x2xi32>) -> ()
    return
  }
}

// -----

module @minimum {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2, 2], [2, 2], [2, 2], [2, 2]]> : tensor<4x2xi32>
    %x1 = stablehlo.constant dense<[[1], [3], [1], [4], [-1]]> : tensor<5x1xi32>
    %x2 = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]> : tensor<5x2xi32>
    %r = "stablehlo.scatter"(%x0, %x1, %x2) ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %s = stablehlo.minimum %p, %q : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x2xi32>, tensor<5x1xi32>, tensor<5x2xi32>) -> tensor<4x2xi32>
    %e0 = stablehlo.constant dense<[[2, 2], [1, 2], [2, 2], [2, 2]]> : tensor<4x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x2xi32>, tensor<4x2xi32>) -> ()
    return
  }
}

// -----

module @multiply {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2, 2], [2, 2], [2, 2], [2, 2]]> : tensor<4x2xi32>
    %x1 = stablehlo.constant dense<[[1], [3], [1], [4], [-1]]> : tensor<5x1xi32>
    %x2 = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]> : tensor<5x2xi32>
    %r = "stablehlo.scatter"(%x0, %x1, %x2) ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %s = stablehlo.multiply %p, %q : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4x2xi32>, tensor<5x1xi32>, tensor<5x2xi32>) -> tensor<4x2xi32>
    %e0 = stablehlo.constant dense<[[2, 2], [10, 24], [2, 2], [6, 8]]> : tensor<4x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x2xi32>, tensor<4x2xi32>) -> ()
    return
  }
}

// -----

module @set {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi32>
    %x1 = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi64>
    %x2 = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi32>
    %r = "stablehlo.scatter"(%x0, %x1, %x2) ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        stablehlo.return %q : tensor<i32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<4x2xi32>, tensor<2x1xi64>, tensor<2x2xi32>) -> tensor<4x2xi32>
    %e0 = stablehlo.constant dense<[[7, 8], [0, 0], [5, 6], [0, 0]]> : tensor<4x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x2xi32>, tensor<4x2xi32>) -> ()
    return
  }
}

// -----

module @two_operands {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 0, 0]> : tensor<3xi32>
    %x1 = stablehlo.constant dense<[1.0, 1.0, 1.0]> : tensor<3xf32>
    %x2 = stablehlo.constant dense<[[0], [2], [0]]> : tensor<3x1xi32>
    %x3 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %x4 = stablehlo.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
    %r:2 = "stablehlo.scatter"(%x0, %x1, %x2, %x3, %x4) ({
      ^bb0(%p: tensor<i32>, %q: tensor<f32>, %u: tensor<i32>, %v: tensor<f32>):
        %s = stablehlo.add %p, %u : tensor<i32>
        %t = stablehlo.multiply %q, %v : tensor<f32>
        stablehlo.return %s, %t : tensor<i32>, tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xi32>, tensor<3xf32>, tensor<3x1xi32>, tensor<3xi32>, tensor<3xf32>) -> (tensor<3xi32>, tensor<3xf32>)
    %e0 = stablehlo.constant dense<[4, 0, 2]> : tensor<3xi32>
    %e1 = stablehlo.constant dense<[8.0, 1.0, 3.0]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<3xi32>, tensor<3xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}
