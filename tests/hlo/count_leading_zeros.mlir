module @clz_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, -1, 256]> : tensor<4xi32>
    %r = "stablehlo.count_leading_zeros"(%x0) : (tensor<4xi32>) -> tensor<4xi32>
    %e0 = stablehlo.constant dense<[32, 31, 0, 23]> : tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return
  }
}

// -----

module @clz_u8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, 255, 16]> : tensor<4xui8>
    %r = "stablehlo.count_leading_zeros"(%x0) : (tensor<4xui8>) -> tensor<4xui8>
    %e0 = stablehlo.constant dense<[8, 7, 0, 3]> : tensor<4xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xui8>, tensor<4xui8>) -> ()
    return
  }
}

// -----

module @clz_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, -1, 1099511627776]> : tensor<4xi64>
    %r = "stablehlo.count_leading_zeros"(%x0) : (tensor<4xi64>) -> tensor<4xi64>
    %e0 = stablehlo.constant dense<[64, 63, 0, 23]> : tensor<4xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi64>, tensor<4xi64>) -> ()
    return
  }
}

// -----

module @clz_i4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1, -1, 2]> : tensor<4xi4>
    %r = "stablehlo.count_leading_zeros"(%x0) : (tensor<4xi4>) -> tensor<4xi4>
    %e0 = stablehlo.constant dense<[4, 3, 0, 2]> : tensor<4xi4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi4>, tensor<4xi4>) -> ()
    return
  }
}
