module @cosh_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 1.0, 2.0]> : tensor<5xf32>
    %r = "chlo.cosh"(%x0) : (tensor<5xf32>) -> tensor<5xf32>
    %e0 = stablehlo.constant dense<[10.067662, 1.127626, 1.0, 1.5430807, 3.7621956]> : tensor<5xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf32>, tensor<5xf32>) -> ()
    return
  }
}

// -----

module @cosh_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[-3.0, -0.5, 0.0, 1.0, 2.0]> : tensor<5xf64>
    %r = "chlo.cosh"(%x0) : (tensor<5xf64>) -> tensor<5xf64>
    %e0 = stablehlo.constant dense<[10.067661995777765, 1.1276259652063807, 1.0, 1.5430806348152437, 3.7621956910836314]> : tensor<5xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<5xf64>, tensor<5xf64>) -> ()
    return
  }
}

// -----

module @cosh_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "chlo.cosh"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.355565683247121, 0.49451143013196674), (2.2792788971607405, -0.526792167549771), (-3.7245455049153224, -0.5118225699873846), (1.1361914738033483, 0.3942396421115833), (1.5430806348152437, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
