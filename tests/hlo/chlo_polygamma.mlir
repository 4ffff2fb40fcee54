module @polygamma_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.0, 1.0, 2.0, 5.0]> : tensor<4xf64>
    %x1 = stablehlo.constant dense<[1.5, 0.5, 2.5, 10.0]> : tensor<4xf64>
    %r = "chlo.polygamma"(%x0, %x1) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %e0 = stablehlo.constant dense<[0.03648997397857652, 4.93480220054468, -0.23620405164172736, 0.0003059451621172682]> : tensor<4xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<4xf64>, tensor<4xf64>) -> ()
    return
  }
}
