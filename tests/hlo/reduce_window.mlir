module @max_2x2 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]> : tensor<4x4xf32>
    %x1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = "stablehlo.reduce_window"(%x0, %x1) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.maximum %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x2xf32>
    %e0 = stablehlo.constant dense<[[6.0, 8.0], [14.0, 16.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}

// -----

module @sum_padded {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]> : tensor<4x4xf32>
    %x1 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce_window"(%x0, %x1) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x2xf32>
    %e0 = stablehlo.constant dense<[[14.0, 30.0], [57.0, 99.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}

// -----

module @dilated {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %x1 = stablehlo.constant dense<0> : tensor<i32>
    %r = "stablehlo.reduce_window"(%x0, %x1) ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %s = stablehlo.add %p, %q : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 2>, window_dilations = array<i64: 3>} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %e0 = stablehlo.constant dense<[1, 3, 2, 4]> : tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return
  }
}

// -----

module @cumsum {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>
    %x1 = stablehlo.constant dense<0.0> : tensor<f64>
    %r = "stablehlo.reduce_window"(%x0, %x1) ({
      ^bb0(%p: tensor<f64>, %q: tensor<f64>):
        %s = stablehlo.add %p, %q : tensor<f64>
        stablehlo.return %s : tensor<f64>
    }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
    %e0 = stablehlo.constant dense<[1.0, 3.0, 6.0, 10.0]> : tensor<4xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xf64>, tensor<4xf64>) -> ()
    return
  }
}
