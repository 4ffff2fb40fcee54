module @power_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[2.0, -2.0, 0.0, 4.0, -8.0, 9.0, 0x7F800000]> : tensor<7xf32>
    %x1 = stablehlo.constant dense<[3.0, 2.0, 0.0, 0.5, -1.0, -0.5, -1.0]> : tensor<7xf32>
    %r = "stablehlo.power"(%x0, %x1) : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[8.0, 4.0, 1.0, 2.0, -0.125, 0.33333334, 0.0]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @power_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[2.0, -2.0, 0.0, 4.0, -8.0, 9.0, 0x7FF0000000000000]> : tensor<7xf64>
    %x1 = stablehlo.constant dense<[3.0, 2.0, 0.0, 0.5, -1.0, -0.5, -1.0]> : tensor<7xf64>
    %r = "stablehlo.power"(%x0, %x1) : (tensor<7xf64>, tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[8.0, 4.0, 1.0, 2.0, -0.125, 0.3333333333333333, 0.0]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @power_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[2, -3, -1, -1, 1, 0, 5, 3]> : tensor<8xi32>
    %x1 = stablehlo.constant dense<[10, 3, -3, -2, -5, 0, -1, 21]> : tensor<8xi32>
    %r = "stablehlo.power"(%x0, %x1) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %e0 = stablehlo.constant dense<[1024, -27, -1, 1, 1, 1, 0, 1870418611]> : tensor<8xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<8xi32>, tensor<8xi32>) -> ()
    return
  }
}

// -----

module @power_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(1.5, 2.5), (0.0, 2.0)]> : tensor<2xcomplex<f64>>
    %x1 = stablehlo.constant dense<[(2.5, 1.5), (2.0, 0.0)]> : tensor<2xcomplex<f64>>
    %r = "stablehlo.power"(%x0, %x1) : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(-1.5679313814305016, -2.6674775446623613), (-4.0, 0.0)]> : tensor<2xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> ()
    return
  }
}
