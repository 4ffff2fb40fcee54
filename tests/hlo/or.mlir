module @or_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
    %x1 = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
    %r = "stablehlo.or"(%x0, %x1) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    %e0 = stablehlo.constant dense<[false, true, true, true]> : tensor<4xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi1>, tensor<4xi1>) -> ()
    return
  }
}

// -----

module @or_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[12, 100, 0]> : tensor<3xi32>
    %x1 = stablehlo.constant dense<[10, 25, 7]> : tensor<3xi32>
    %r = "stablehlo.or"(%x0, %x1) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
    %e0 = stablehlo.constant dense<[14, 125, 7]> : tensor<3xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi32>, tensor<3xi32>) -> ()
    return
  }
}

// -----

module @or_ui8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[12, 100, 0]> : tensor<3xui8>
    %x1 = stablehlo.constant dense<[10, 25, 7]> : tensor<3xui8>
    %r = "stablehlo.or"(%x0, %x1) : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
    %e0 = stablehlo.constant dense<[14, 125, 7]> : tensor<3xui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xui8>, tensor<3xui8>) -> ()
    return
  }
}

// -----

module @or_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[12, 100, 0]> : tensor<3xi64>
    %x1 = stablehlo.constant dense<[10, 25, 7]> : tensor<3xi64>
    %r = "stablehlo.or"(%x0, %x1) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    %e0 = stablehlo.constant dense<[14, 125, 7]> : tensor<3xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xi64>, tensor<3xi64>) -> ()
    return
  }
}
