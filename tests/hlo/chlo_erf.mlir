module @erf_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, -0.001, 0.0, 0.5, 1.0, 2.0, 6.0]> : tensor<8xf32>
    %r = "chlo.erf"(%x0) : (tensor<8xf32>) -> tensor<8xf32>
    %e0 = stablehlo.constant dense<[-0.9999779, -0.5204999, -0.0011283788, 0.0, 0.5204999, 0.8427008, 0.9953223, 1.0]> : tensor<8xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<8xf32>, tensor<8xf32>) -> ()
    return
  }
}

// -----

module @erf_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, -0.001, 0.0, 0.5, 1.0, 2.0, 6.0]> : tensor<8xf64>
    %r = "chlo.erf"(%x0) : (tensor<8xf64>) -> tensor<8xf64>
    %e0 = stablehlo.constant dense<[-0.9999779095030014, -0.5204998778130465, -0.0011283787909692363, 0.0, 0.5204998778130465, 0.8427007929497148, 0.9953222650189527, 1.0]> : tensor<8xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<8xf64>, tensor<8xf64>) -> ()
    return
  }
}
