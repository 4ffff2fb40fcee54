module @iota_i32 {
  func.func @main() {
    %r = stablehlo.iota dim = 1 : tensor<2x3x2xi32>
    %e0 = stablehlo.constant dense<[[[0, 0], [1, 1], [2, 2]], [[0, 0], [1, 1], [2, 2]]]> : tensor<2x3x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xi32>, tensor<2x3x2xi32>) -> ()
    return
  }
}

// -----

module @iota_f32 {
  func.func @main() {
    %r = stablehlo.iota dim = 1 : tensor<2x3x2xf32>
    %e0 = stablehlo.constant dense<[[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]]> : tensor<2x3x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> ()
    return
  }
}

// -----

module @iota_bf16 {
  func.func @main() {
    %r = stablehlo.iota dim = 1 : tensor<2x3x2xbf16>
    %e0 = stablehlo.constant dense<[[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]]> : tensor<2x3x2xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xbf16>, tensor<2x3x2xbf16>) -> ()
    return
  }
}

// -----

module @iota_ui8 {
  func.func @main() {
    %r = stablehlo.iota dim = 1 : tensor<2x3x2xui8>
    %e0 = stablehlo.constant dense<[[[0, 0], [1, 1], [2, 2]], [[0, 0], [1, 1], [2, 2]]]> : tensor<2x3x2xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xui8>, tensor<2x3x2xui8>) -> ()
    return
  }
}

// -----

module @iota_c64 {
  func.func @main() {
    %r = stablehlo.iota dim = 1 : tensor<2x3x2xcomplex<f32>>
    %e0 = stablehlo.constant dense<[[[(0.0, 0.0), (0.0, 0.0)], [(1.0, 0.0), (1.0, 0.0)], [(2.0, 0.0), (2.0, 0.0)]], [[(0.0, 0.0), (0.0, 0.0)], [(1.0, 0.0), (1.0, 0.0)], [(2.0, 0.0), (2.0, 0.0)]]]> : tensor<2x3x2xcomplex<f32>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xcomplex<f32>>, tensor<2x3x2xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @iota_f64 {
  func.func @main() {
    %r = stablehlo.iota dim = 1 : tensor<2x3x2xf64>
    %e0 = stablehlo.constant dense<[[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]]> : tensor<2x3x2xf64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x2xf64>, tensor<2x3x2xf64>) -> ()
    return
  }
}

// -----

module @iota_0 {
  func.func @main() {
    %r = stablehlo.iota dim = 0 : tensor<5xi64>
    %e0 = stablehlo.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<5xi64>, tensor<5xi64>) -> ()
    return
  }
}
