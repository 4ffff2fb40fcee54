module @left_lower_no_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, -1.4900000095367432], [1.649999976158142, -0.30000001192092896], [-0.2199999988079071, 1.75]]> : tensor<3x2xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
    %e0 = stablehlo.constant dense<[[0.6449999809265137, -0.7450000047683716], [0.3349999984105428, 0.14833333094914752], [0.0643749957283338, 0.23270833243926367]]> : tensor<3x2xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xf64>, tensor<3x2xf64>) -> ()
    return
  }
}

// -----

module @left_lower_no_transpose_unit {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, -1.4900000095367432], [1.649999976158142, -0.30000001192092896], [-0.2199999988079071, 1.75]]> : tensor<3x2xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
    %e0 = stablehlo.constant dense<[[1.2899999618530273, -1.4900000095367432], [0.36000001430511475, 1.1899999976158142], [0.8899999558925629, -0.33500000834465027]]> : tensor<3x2xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xf64>, tensor<3x2xf64>) -> ()
    return
  }
}

// -----

module @left_lower_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, -1.4900000095367432], [1.649999976158142, -0.30000001192092896], [-0.2199999988079071, 1.75]]> : tensor<3x2xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
    %e0 = stablehlo.constant dense<[[0.3379166517406702, -0.4397916694482168], [0.5591666586697102, -0.17291667064030963], [-0.054999999701976776, 0.4375]]> : tensor<3x2xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xf64>, tensor<3x2xf64>) -> ()
    return
  }
}

// -----

module @left_lower_adjoint {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(1.0, 1.0), (3.0, 0.0), (0.0, 0.0)], [(-1.0, 1.0), (0.5, 1.0), (4.0, 0.0)]]> : tensor<3x3xcomplex<f64>>
    %x1 = stablehlo.constant dense<[[(1.2899999618530273, 0.0), (-1.4900000095367432, 0.0)], [(1.649999976158142, 0.0), (-0.30000001192092896, 0.0)], [(-0.2199999988079071, 0.0), (1.75, 0.0)]]> : tensor<3x2xcomplex<f64>>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<3x3xcomplex<f64>>, tensor<3x2xcomplex<f64>>) -> tensor<3x2xcomplex<f64>>
    %e0 = stablehlo.constant dense<[[(0.3470833183576663, 0.2612499961008628), (-0.5127083361148834, 0.059374998013178526)], [(0.5591666586697102, -0.018333333233992256), (-0.17291667064030963, 0.14583333333333331)], [(-0.054999999701976776, 0.0), (0.4375, 0.0)]]> : tensor<3x2xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xcomplex<f64>>, tensor<3x2xcomplex<f64>>) -> ()
    return
  }
}

// -----

module @left_upper_no_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 1.0, -1.0], [0.0, 3.0, 0.5], [0.0, 0.0, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, -1.4900000095367432], [1.649999976158142, -0.30000001192092896], [-0.2199999988079071, 1.75]]> : tensor<3x2xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
    %e0 = stablehlo.constant dense<[[0.3379166517406702, -0.4397916694482168], [0.5591666586697102, -0.17291667064030963], [-0.054999999701976776, 0.4375]]> : tensor<3x2xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xf64>, tensor<3x2xf64>) -> ()
    return
  }
}

// -----

module @left_upper_no_transpose_unit {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 1.0, -1.0], [0.0, 3.0, 0.5], [0.0, 0.0, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, -1.4900000095367432], [1.649999976158142, -0.30000001192092896], [-0.2199999988079071, 1.75]]> : tensor<3x2xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
    %e0 = stablehlo.constant dense<[[-0.6900000125169754, 1.4350000023841858], [1.7599999755620956, -1.175000011920929], [-0.2199999988079071, 1.75]]> : tensor<3x2xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xf64>, tensor<3x2xf64>) -> ()
    return
  }
}

// -----

module @left_upper_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 1.0, -1.0], [0.0, 3.0, 0.5], [0.0, 0.0, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, -1.4900000095367432], [1.649999976158142, -0.30000001192092896], [-0.2199999988079071, 1.75]]> : tensor<3x2xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
    %e0 = stablehlo.constant dense<[[0.6449999809265137, -0.7450000047683716], [0.3349999984105428, 0.14833333094914752], [0.0643749957283338, 0.23270833243926367]]> : tensor<3x2xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xf64>, tensor<3x2xf64>) -> ()
    return
  }
}

// -----

module @left_upper_adjoint {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(2.0, 0.0), (1.0, 1.0), (-1.0, 1.0)], [(0.0, 0.0), (3.0, 0.0), (0.5, 1.0)], [(0.0, 0.0), (0.0, 0.0), (4.0, 0.0)]]> : tensor<3x3xcomplex<f64>>
    %x1 = stablehlo.constant dense<[[(1.2899999618530273, 0.0), (-1.4900000095367432, 0.0)], [(1.649999976158142, 0.0), (-0.30000001192092896, 0.0)], [(-0.2199999988079071, 0.0), (1.75, 0.0)]]> : tensor<3x2xcomplex<f64>>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<3x3xcomplex<f64>>, tensor<3x2xcomplex<f64>>) -> tensor<3x2xcomplex<f64>>
    %e0 = stablehlo.constant dense<[[(0.6449999809265137, 0.0), (-0.7450000047683716, 0.0)], [(0.3349999984105428, 0.2149999936421712), (0.14833333094914752, -0.24833333492279053)], [(0.010624997317790999, 0.2181249956289927), (0.29479166616996133, -0.11812500158945718)]]> : tensor<3x2xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xcomplex<f64>>, tensor<3x2xcomplex<f64>>) -> ()
    return
  }
}

// -----

module @right_lower_no_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, 1.649999976158142, -0.2199999988079071], [-1.4900000095367432, -0.30000001192092896, 1.75]]> : tensor<2x3xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %e0 = stablehlo.constant dense<[[0.3379166517406702, 0.5591666586697102, -0.054999999701976776], [-0.4397916694482168, -0.17291667064030963, 0.4375]]> : tensor<2x3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf64>, tensor<2x3xf64>) -> ()
    return
  }
}

// -----

module @right_lower_no_transpose_unit {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, 1.649999976158142, -0.2199999988079071], [-1.4900000095367432, -0.30000001192092896, 1.75]]> : tensor<2x3xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %e0 = stablehlo.constant dense<[[-0.6900000125169754, 1.7599999755620956, -0.2199999988079071], [1.4350000023841858, -1.175000011920929, 1.75]]> : tensor<2x3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf64>, tensor<2x3xf64>) -> ()
    return
  }
}

// -----

module @right_lower_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, 1.649999976158142, -0.2199999988079071], [-1.4900000095367432, -0.30000001192092896, 1.75]]> : tensor<2x3xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %e0 = stablehlo.constant dense<[[0.6449999809265137, 0.3349999984105428, 0.0643749957283338], [-0.7450000047683716, 0.14833333094914752, 0.23270833243926367]]> : tensor<2x3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf64>, tensor<2x3xf64>) -> ()
    return
  }
}

// -----

module @right_lower_adjoint {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(1.0, 1.0), (3.0, 0.0), (0.0, 0.0)], [(-1.0, 1.0), (0.5, 1.0), (4.0, 0.0)]]> : tensor<3x3xcomplex<f64>>
    %x1 = stablehlo.constant dense<[[(1.2899999618530273, 0.0), (1.649999976158142, 0.0), (-0.2199999988079071, 0.0)], [(-1.4900000095367432, 0.0), (-0.30000001192092896, 0.0), (1.75, 0.0)]]> : tensor<2x3xcomplex<f64>>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<3x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>) -> tensor<2x3xcomplex<f64>>
    %e0 = stablehlo.constant dense<[[(0.6449999809265137, 0.0), (0.3349999984105428, 0.2149999936421712), (0.010624997317790999, 0.2181249956289927)], [(-0.7450000047683716, 0.0), (0.14833333094914752, -0.24833333492279053), (0.29479166616996133, -0.11812500158945718)]]> : tensor<2x3xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>) -> ()
    return
  }
}

// -----

module @right_upper_no_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 1.0, -1.0], [0.0, 3.0, 0.5], [0.0, 0.0, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, 1.649999976158142, -0.2199999988079071], [-1.4900000095367432, -0.30000001192092896, 1.75]]> : tensor<2x3xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %e0 = stablehlo.constant dense<[[0.6449999809265137, 0.3349999984105428, 0.0643749957283338], [-0.7450000047683716, 0.14833333094914752, 0.23270833243926367]]> : tensor<2x3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf64>, tensor<2x3xf64>) -> ()
    return
  }
}

// -----

module @right_upper_no_transpose_unit {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 1.0, -1.0], [0.0, 3.0, 0.5], [0.0, 0.0, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, 1.649999976158142, -0.2199999988079071], [-1.4900000095367432, -0.30000001192092896, 1.75]]> : tensor<2x3xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %e0 = stablehlo.constant dense<[[1.2899999618530273, 0.36000001430511475, 0.8899999558925629], [-1.4900000095367432, 1.1899999976158142, -0.33500000834465027]]> : tensor<2x3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf64>, tensor<2x3xf64>) -> ()
    return
  }
}

// -----

module @right_upper_transpose {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[2.0, 1.0, -1.0], [0.0, 3.0, 0.5], [0.0, 0.0, 4.0]]> : tensor<3x3xf64>
    %x1 = stablehlo.constant dense<[[1.2899999618530273, 1.649999976158142, -0.2199999988079071], [-1.4900000095367432, -0.30000001192092896, 1.75]]> : tensor<2x3xf64>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %e0 = stablehlo.constant dense<[[0.3379166517406702, 0.5591666586697102, -0.054999999701976776], [-0.4397916694482168, -0.17291667064030963, 0.4375]]> : tensor<2x3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xf64>, tensor<2x3xf64>) -> ()
    return
  }
}

// -----

module @right_upper_adjoint {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(2.0, 0.0), (1.0, 1.0), (-1.0, 1.0)], [(0.0, 0.0), (3.0, 0.0), (0.5, 1.0)], [(0.0, 0.0), (0.0, 0.0), (4.0, 0.0)]]> : tensor<3x3xcomplex<f64>>
    %x1 = stablehlo.constant dense<[[(1.2899999618530273, 0.0), (1.649999976158142, 0.0), (-0.2199999988079071, 0.0)], [(-1.4900000095367432, 0.0), (-0.30000001192092896, 0.0), (1.75, 0.0)]]> : tensor<2x3xcomplex<f64>>
    %r = "stablehlo.triangular_solve"(%x0, %x1) {left_side = false, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<3x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>) -> tensor<2x3xcomplex<f64>>
    %e0 = stablehlo.constant dense<[[(0.3470833183576663, 0.2612499961008628), (0.5591666586697102, -0.018333333233992256), (-0.054999999701976776, 0.0)], [(-0.5127083361148834, 0.059374998013178526), (-0.17291667064030963, 0.14583333333333331), (0.4375, 0.0)]]> : tensor<2x3xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>) -> ()
    return
  }
}
