module @clamp_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 0.0, 0.0, 0.0]> : tensor<4xf32>
    %x1 = stablehlo.constant dense<[-1.0, 0.5, 7.0, 0x7FC00000]> : tensor<4xf32>
    %x2 = stablehlo.constant dense<[1.0, 1.0, 1.0, 1.0]> : tensor<4xf32>
    %r = "stablehlo.clamp"(%x0, %x1, %x2) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 0x7FC00000]> : tensor<4xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()
    return
  }
}

// -----

module @clamp_scalars_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<-3> : tensor<i32>
    %x1 = stablehlo.constant dense<[-9, 0, 9]> : tensor<3xi32>
    %x2 = stablehlo.constant dense<5> : tensor<i32>
    %r = "stablehlo.clamp"(%x0, %x1, %x2) : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %e0 = stablehlo.constant dense<[-3, 0, 5]> : tensor<3xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi32>, tensor<3xi32>) -> ()
    return
  }
}

// -----

module @clamp_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<0.0> : tensor<bf16>
    %x1 = stablehlo.constant dense<[-9.0, 0.5, 9.0]> : tensor<3xbf16>
    %x2 = stablehlo.constant dense<6.0> : tensor<bf16>
    %r = "stablehlo.clamp"(%x0, %x1, %x2) : (tensor<bf16>, tensor<3xbf16>, tensor<bf16>) -> tensor<3xbf16>
    %e0 = stablehlo.constant dense<[0.0, 0.5, 6.0]> : tensor<3xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xbf16>, tensor<3xbf16>) -> ()
    return
  }
}
