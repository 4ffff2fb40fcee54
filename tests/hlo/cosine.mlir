module @cosine_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7FC00000]> : tensor<6xf32>
    %r = "stablehlo.cosine"(%x0) : (tensor<6xf32>) -> tensor<6xf32>
    %e0 = stablehlo.constant dense<[-0.6536436, 0.87758255, 1.0, 0.5403023, -0.8011436, 0x7FC00000]> : tensor<6xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf32>, tensor<6xf32>) -> ()
    return
  }
}

// -----

module @cosine_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7FF8000000000000]> : tensor<6xf64>
    %r = "stablehlo.cosine"(%x0) : (tensor<6xf64>) -> tensor<6xf64>
    %e0 = stablehlo.constant dense<[-0.6536436208636119, 0.8775825618903728, 1.0, 0.5403023058681398, -0.8011436155469337, 0x7FF8000000000000]> : tensor<6xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf64>, tensor<6xf64>) -> ()
    return
  }
}

// -----

module @cosine_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7E00]> : tensor<6xf16>
    %r = "stablehlo.cosine"(%x0) : (tensor<6xf16>) -> tensor<6xf16>
    %e0 = stablehlo.constant dense<[-0.65380859375, 0.87744140625, 1.0, 0.54052734375, -0.80126953125, 0x7E00]> : tensor<6xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xf16>, tensor<6xf16>) -> ()
    return
  }
}

// -----

module @cosine_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-4.0, -0.5, 0.0, 1.0, 2.5, 0x7FC0]> : tensor<6xbf16>
    %r = "stablehlo.cosine"(%x0) : (tensor<6xbf16>) -> tensor<6xbf16>
    %e0 = stablehlo.constant dense<[-0.65234375, 0.87890625, 1.0, 0.5390625, -0.80078125, 0x7FC0]> : tensor<6xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<6xbf16>, tensor<6xbf16>) -> ()
    return
  }
}

// -----

module @cosine_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.cosine"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(1.6572479, -0.7680009), (0.072959274, 0.25197953), (-4.1896257, 9.109228), (0.8250714, -0.35519877), (0.5403023, -0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @cosine_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.cosine"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(1.6572478640539148, -0.7680009178735728), (0.07295927644889197, 0.251979519570583), (-4.189625690968807, 9.109227893755337), (0.8250713669946073, -0.35519875789073846), (0.5403023058681398, -0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
