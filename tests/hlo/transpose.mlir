module @perm {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]]]> : tensor<2x3x4xi16>
    %r = stablehlo.transpose %x0, dims = [2, 0, 1] : (tensor<2x3x4xi16>) -> tensor<4x2x3xi16>
    %e0 = stablehlo.constant dense<[[[0, 4, 8], [12, 16, 20]], [[1, 5, 9], [13, 17, 21]], [[2, 6, 10], [14, 18, 22]], [[3, 7, 11], [15, 19, 23]]]> : tensor<4x2x3xi16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x2x3xi16>, tensor<4x2x3xi16>) -> ()
    return
  }
}

// -----

module @c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(0.0, 1.0), (2.0, 0.0)], [(3.0, 0.0), (0.0, 4.0)]]> : tensor<2x2xcomplex<f64>>
    %r = stablehlo.transpose %x0, dims = [1, 0] : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
    %e0 = stablehlo.constant dense<[[(0.0, 1.0), (3.0, 0.0)], [(2.0, 0.0), (0.0, 4.0)]]> : tensor<2x2xcomplex<f64>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>) -> ()
    return
  }
}
