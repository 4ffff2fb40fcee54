module @erfc_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0]> : tensor<7xf32>
    %r = "chlo.erfc"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[1.999978, 1.5204998, 1.0, 0.47950011, 0.1572992, 0.004677735, 2.1519737e-17]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @erfc_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0]> : tensor<7xf64>
    %r = "chlo.erfc"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[1.9999779095030015, 1.5204998778130465, 1.0, 0.4795001221869535, 0.15729920705028516, 0.004677734981047266, 2.1519736712498913e-17]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}
