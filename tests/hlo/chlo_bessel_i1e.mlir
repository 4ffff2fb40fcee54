module @bessel_i1e_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -1.0, -0.001, 0.0, 0.5, 3.0, 8.0, 50.0, 1000.0]> : tensor<9xf32>
    %r = "chlo.bessel_i1e"(%x0) : (tensor<9xf32>) -> tensor<9xf32>
    %e0 = stablehlo.constant dense<[-0.121262684, -0.20791042, -0.0004995003, 0.0, 0.1564208, 0.19682671, 0.13414249, 0.055993125, 0.01261093]> : tensor<9xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf32>, tensor<9xf32>) -> ()
    return
  }
}

// -----

module @bessel_i1e_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-10.0, -1.0, -0.001, 0.0, 0.5, 3.0, 8.0, 50.0, 1000.0]> : tensor<9xf64>
    %r = "chlo.bessel_i1e"(%x0) : (tensor<9xf64>) -> tensor<9xf64>
    %e0 = stablehlo.constant dense<[-0.1212626813844555, -0.2079104153497085, -0.0004995003123542213, 0.0, 0.15642080318487173, 0.19682671329730084, 0.13414249329269812, 0.055993123892895395, 0.01261093025692863]> : tensor<9xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<9xf64>, tensor<9xf64>) -> ()
    return
  }
}
