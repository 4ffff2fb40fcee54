module @logistic_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, 0.0, 1.0, 2.5, 0x7F800000, 0xFF800000]> : tensor<7xf32>
    %r = "stablehlo.logistic"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[4.539787e-05, 0.37754068, 0.5, 0.7310586, 0.9241418, 1.0, 0.0]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @logistic_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, 0.0, 1.0, 2.5, 0x7FF0000000000000, 0xFFF0000000000000]> : tensor<7xf64>
    %r = "stablehlo.logistic"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[4.5397868702434395e-05, 0.3775406687981454, 0.5, 0.7310585786300049, 0.9241418199787566, 1.0, 0.0]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @logistic_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, 0.0, 1.0, 2.5, 0x7C00, 0xFC00]> : tensor<7xf16>
    %r = "stablehlo.logistic"(%x0) : (tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[4.541874e-05, 0.37744140625, 0.5, 0.73095703125, 0.92431640625, 1.0, 0.0]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @logistic_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -0.5, 0.0, 1.0, 2.5, 0x7F80, 0xFF80]> : tensor<7xbf16>
    %r = "stablehlo.logistic"(%x0) : (tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[4.529953e-05, 0.376953125, 0.5, 0.73046875, 0.92578125, 1.0, 0.0]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}

// -----

module @logistic_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.logistic"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.6805662, 0.32883528), (0.17945303, 0.0372448), (1.1541476, -0.02545268), (0.31072372, -0.11035149), (0.7310586, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @logistic_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.logistic"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.6805661698086823, 0.32883527469514817), (0.17945302632447246, 0.037244801392614484), (1.1541476496139678, -0.02545268116361431), (0.31072373502641987, -0.1103514883691212), (0.7310585786300049, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
