module @square_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, 0.5, 10000000000.0]> : tensor<3xf32>
    %r = "chlo.square"(%x0) : (tensor<3xf32>) -> tensor<3xf32>
    %e0 = stablehlo.constant dense<[9.0, 0.25, 1.0e+20]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}

// -----

module @square_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, 0.5, 10000000000.0]> : tensor<3xf64>
    %r = "chlo.square"(%x0) : (tensor<3xf64>) -> tensor<3xf64>
    %e0 = stablehlo.constant dense<[9.0, 0.25, 1.0e+20]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    return
  }
}

// -----

module @square_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.square"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(-1.3125, 1.25), (2.1875, -0.75), (-5.0, -12.0), (0.3125, 0.75), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
