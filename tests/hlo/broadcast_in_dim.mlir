module @stretch {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
    %r = stablehlo.broadcast_in_dim %x0, dims = [2, 0] : (tensor<2x1xf32>) -> tensor<4x3x2xf32>
    %e0 = stablehlo.constant dense<[[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]]> : tensor<4x3x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> ()
    return
  }
}

// -----

module @scalar {
  func.func @main() {
    %x0 = stablehlo.constant dense<7> : tensor<i8>
    %r = stablehlo.broadcast_in_dim %x0, dims = [] : (tensor<i8>) -> tensor<2x2xi8>
    %e0 = stablehlo.constant dense<[[7, 7], [7, 7]]> : tensor<2x2xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xi8>, tensor<2x2xi8>) -> ()
    return
  }
}

// -----

module @empty {
  func.func @main() {
    %x0 = stablehlo.constant dense<> : tensor<0xf32>
    %r = stablehlo.broadcast_in_dim %x0, dims = [1] : (tensor<0xf32>) -> tensor<2x0xf32>
    %e0 = stablehlo.constant dense<> : tensor<2x0xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x0xf32>, tensor<2x0xf32>) -> ()
    return
  }
}
