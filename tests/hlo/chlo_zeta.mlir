module @zeta_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.5, 2.0, 3.0, 5.5]> : tensor<4xf64>
    %x1 = stablehlo.constant dense<[0.5, 1.0, 2.5, 10.0]> : tensor<4xf64>
    %r = "chlo.zeta"(%x0, %x1) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %e0 = stablehlo.constant dense<[4.776537947554834, 1.6449340668482266, 0.11810202582086368, 8.752204611642284e-06]> : tensor<4xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<4xf64>, tensor<4xf64>) -> ()
    return
  }
}
