module @tan_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 1.0]> : tensor<4xf32>
    %r = "chlo.tan"(%x0) : (tensor<4xf32>) -> tensor<4xf32>
    %e0 = stablehlo.constant dense<[0.14254655, -0.5463025, 0.0, 1.5574077]> : tensor<4xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()
    return
  }
}

// -----

module @tan_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 1.0]> : tensor<4xf64>
    %r = "chlo.tan"(%x0) : (tensor<4xf64>) -> tensor<4xf64>
    %e0 = stablehlo.constant dense<[0.1425465430742778, -0.5463024898437905, 0.0, 1.5574077246549023]> : tensor<4xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<4xf64>, tensor<4xf64>) -> ()
    return
  }
}
