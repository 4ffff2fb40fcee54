module @log_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 2.5, 100.0, 0x7F800000, -1.0]> : tensor<7xf32>
    %r = "stablehlo.log"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[0xFF800000, -0.6931472, 0.0, 0.91629076, 4.6051702, 0x7F800000, 0xFFC00000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @log_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 2.5, 100.0, 0x7FF0000000000000, -1.0]> : tensor<7xf64>
    %r = "stablehlo.log"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[0xFFF0000000000000, -0.6931471805599453, 0.0, 0.9162907318741551, 4.605170185988092, 0x7FF0000000000000, 0xFFF8000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @log_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 2.5, 100.0, 0x7C00, -1.0]> : tensor<7xf16>
    %r = "stablehlo.log"(%x0) : (tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[0xFC00, -0.693359375, 0.0, 0.91650390625, 4.60546875, 0x7C00, 0xFE00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @log_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 2.5, 100.0, 0x7F80, -1.0]> : tensor<7xbf16>
    %r = "stablehlo.log"(%x0) : (tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[0xFF80, -0.69140625, 0.0, 0.91796875, 4.59375, 0x7F80, 0xFFC0]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}

// -----

module @log_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.log"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.29735357, 1.19029), (0.4191646, 2.976444), (1.2824746, -0.98279375), (-0.10381968, -2.55359), (0.0, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @log_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.log"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.2973535538733464, 1.1902899496825317), (0.4191645952022216, 2.976443976175166), (1.2824746787307684, -0.982793723247329), (-0.10381968238912226, -2.5535900500422257), (0.0, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
