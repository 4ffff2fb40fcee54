module @real_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.real"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
    %e0 = stablehlo.constant dense<[0.5, -1.5, 2.0, -0.75, 1.0]> : tensor<5xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xf32>, tensor<5xf32>) -> ()
    return
  }
}

// -----

module @real_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.real"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xf64>
    %e0 = stablehlo.constant dense<[0.5, -1.5, 2.0, -0.75, 1.0]> : tensor<5xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xf64>, tensor<5xf64>) -> ()
    return
  }
}

// -----

module @real_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xf32>
    %r = "stablehlo.real"(%x0) : (tensor<2xf32>) -> tensor<2xf32>
    %e0 = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}
