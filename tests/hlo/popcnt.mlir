module @popcnt_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, -1, 5, 1099511627776]> : tensor<4xi64>
    %r = "stablehlo.popcnt"(%x0) : (tensor<4xi64>) -> tensor<4xi64>
    %e0 = stablehlo.constant dense<[0, 64, 2, 1]> : tensor<4xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi64>, tensor<4xi64>) -> ()
    return
  }
}

// -----

module @popcnt_i8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, -1, 5, -128]> : tensor<4xi8>
    %r = "stablehlo.popcnt"(%x0) : (tensor<4xi8>) -> tensor<4xi8>
    %e0 = stablehlo.constant dense<[0, 8, 2, 1]> : tensor<4xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi8>, tensor<4xi8>) -> ()
    return
  }
}

// -----

module @popcnt_i4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, -1, 5, -8]> : tensor<4xi4>
    %r = "stablehlo.popcnt"(%x0) : (tensor<4xi4>) -> tensor<4xi4>
    %e0 = stablehlo.constant dense<[0, 4, 2, 1]> : tensor<4xi4>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi4>, tensor<4xi4>) -> ()
    return
  }
}
