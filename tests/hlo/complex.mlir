module @complex_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %x1 = stablehlo.constant dense<[3.0, -4.0]> : tensor<2xf32>
    %r = "stablehlo.complex"(%x0, %x1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(1.0, 3.0), (2.0, -4.0)]> : tensor<2xcomplex<f32>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @complex_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
    %x1 = stablehlo.constant dense<[3.0, -4.0]> : tensor<2xf64>
    %r = "stablehlo.complex"(%x0, %x1) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.0, 3.0), (2.0, -4.0)]> : tensor<2xcomplex<f64>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> ()
    return
  }
}
