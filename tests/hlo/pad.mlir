module @edges_and_interior {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    %x1 = stablehlo.constant dense<-1.0> : tensor<f32>
    %r = stablehlo.pad %x0, %x1, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x7xf32>
    %e0 = stablehlo.constant dense<[[-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0], [0.0, -1.0, 1.0, -1.0, 2.0, -1.0, -1.0], [3.0, -1.0, 4.0, -1.0, 5.0, -1.0, -1.0]]> : tensor<3x7xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x7xf32>, tensor<3x7xf32>) -> ()
    return
  }
}

// -----

// negative edges cut what the interior padding made
module @negative {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
    %x1 = stablehlo.constant dense<9> : tensor<i32>
    %r = stablehlo.pad %x0, %x1, low = [-1], high = [-2], interior = [1] : (tensor<6xi32>, tensor<i32>) -> tensor<8xi32>
    %e0 = stablehlo.constant dense<[9, 1, 9, 2, 9, 3, 9, 4]> : tensor<8xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xi32>, tensor<8xi32>) -> ()
    return
  }
}
