module @atan_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFF800000, -1.0, -0.5, 0.0, 0.25, 10.0]> : tensor<6xf32>
    %r = "chlo.atan"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[-1.5707964, -0.7853982, -0.4636476, 0.0, 0.24497867, 1.4711276]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @atan_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0xFFF0000000000000, -1.0, -0.5, 0.0, 0.25, 10.0]> : tensor<6xf64>
    %r = "chlo.atan"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[-1.5707963267948966, -0.7853981633974483, -0.4636476090008061, 0.0, 0.24497866312686414, 1.4711276743037347]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @atan_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.atan"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.1265564408348223, 0.708303336014054), (-0.9916033841961419, 0.07605284360074788), (1.4099210495965755, -0.22907268296853875), (-0.7232206661240675, -0.3104282830771958), (0.7853981633974483, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
