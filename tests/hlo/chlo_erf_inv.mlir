module @erf_inv_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.999, -0.5, -0.001, 0.0, 0.5, 0.9, 0.99999, 1.0]> : tensor<9xf32>
    %r = "chlo.erf_inv"(%x0) : (tensor<9xf32>) -> tensor<9xf32>
    %e0 = stablehlo.constant dense<[0xFF800000, -2.3267562, -0.47693628, -0.0008862272, 0.0, 0.47693628, 1.1630871, 3.1232057, 0x7F800000]> : tensor<9xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf32>, tensor<9xf32>) -> ()
    return
  }
}

// -----

module @erf_inv_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-1.0, -0.999, -0.5, -0.001, 0.0, 0.5, 0.9, 0.99999, 1.0]> : tensor<9xf64>
    %r = "chlo.erf_inv"(%x0) : (tensor<9xf64>) -> tensor<9xf64>
    %e0 = stablehlo.constant dense<[0xFFF0000000000000, -2.326753765513524, -0.4769362762044699, -0.000886227157466552, 0.0, 0.4769362762044699, 1.1630871536766743, 3.123413274341571, 0x7FF0000000000000]> : tensor<9xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf64>, tensor<9xf64>) -> ()
    return
  }
}
