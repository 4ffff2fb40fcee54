module @log_plus_one_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.001, 0.0, 1.0, 2.5, 100.0, 0x7F800000, -2.0]> : tensor<9xf32>
    %r = "stablehlo.log_plus_one"(%x0) : (tensor<9xf32>) -> tensor<9xf32>
    %e0 = stablehlo.constant dense<[0xFF800000, -0.6931472, 0.0009995004, 0.0, 0.6931472, 1.2527629, 4.6151204, 0x7F800000, 0xFFC00000]> : tensor<9xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf32>, tensor<9xf32>) -> ()
    return
  }
}

// -----

module @log_plus_one_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.001, 0.0, 1.0, 2.5, 100.0, 0x7FF0000000000000, -2.0]> : tensor<9xf64>
    %r = "stablehlo.log_plus_one"(%x0) : (tensor<9xf64>) -> tensor<9xf64>
    %e0 = stablehlo.constant dense<[0xFFF0000000000000, -0.6931471805599453, 0.0009995003330835331, 0.0, 0.6931471805599453, 1.252762968495368, 4.61512051684126, 0x7FF0000000000000, 0xFFF8000000000000]> : tensor<9xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf64>, tensor<9xf64>) -> ()
    return
  }
}

// -----

module @log_plus_one_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.0010004043579101562, 0.0, 1.0, 2.5, 100.0, 0x7C00, -2.0]> : tensor<9xf16>
    %r = "stablehlo.log_plus_one"(%x0) : (tensor<9xf16>) -> tensor<9xf16>
    %e0 = stablehlo.constant dense<[0xFC00, -0.693359375, 0.00099945068359375, 0.0, 0.693359375, 1.2529296875, 4.61328125, 0x7C00, 0xFE00]> : tensor<9xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf16>, tensor<9xf16>) -> ()
    return
  }
}

// -----

module @log_plus_one_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.5, 0.00099945068359375, 0.0, 1.0, 2.5, 100.0, 0x7F80, -2.0]> : tensor<9xbf16>
    %r = "stablehlo.log_plus_one"(%x0) : (tensor<9xbf16>) -> tensor<9xbf16>
    %e0 = stablehlo.constant dense<[0xFF80, -0.69140625, 0.00099945068359375, 0.0, 0.69140625, 1.25, 4.625, 0x7F80, 0xFFC0]> : tensor<9xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xbf16>, tensor<9xbf16>) -> ()
    return
  }
}

// -----

module @log_plus_one_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.log_plus_one"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.66914254, 0.69473827), (-0.5815754, 2.6779451), (1.4451859, -0.7853982), (-0.5815754, -1.1071488), (0.6931472, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @log_plus_one_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.log_plus_one"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.669142570966765, 0.6947382761967031), (-0.5815754049028404, 2.677945044588987), (1.4451858789480823, -0.7853981633974483), (-0.5815754049028404, -1.1071487177940904), (0.6931471805599453, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
