module @select_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %x1 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %x2 = stablehlo.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32>
    %r = "stablehlo.select"(%x0, %x1, %x2) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %e0 = stablehlo.constant dense<[1.0, 5.0, 3.0]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}

// -----

module @select_scalar_pred_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<false> : tensor<i1>
    %x1 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
    %x2 = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi64>
    %r = "stablehlo.select"(%x0, %x1, %x2) : (tensor<i1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    %e0 = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi64>, tensor<3xi64>) -> ()
    return
  }
}

// -----

module @select_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %x1 = stablehlo.constant dense<[(0.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f64>>
    %x2 = stablehlo.constant dense<[(4.0, 0.0), (0.0, 5.0)]> : tensor<2xcomplex<f64>>
    %r = "stablehlo.select"(%x0, %x1, %x2) : (tensor<2xi1>, tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.0, 1.0), (0.0, 5.0)]> : tensor<2xcomplex<f64>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> ()
    return
  }
}
