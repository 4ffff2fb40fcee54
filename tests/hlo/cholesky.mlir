module @lower_batch {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[4.392400031185151, 1.1219999878406526, 1.564000036478042], [1.1219999878406526, 8.614000040054322, -1.5481998723030088], [1.564000036478042, -1.5481998723030088, 10.193699846315386]], [[8.816300129842762, 1.8193000198125802, -2.6739999834299084], [1.8193000198125802, 6.667699780273441, -1.586999942541123], [-2.6739999834299084, -1.586999942541123, 6.823199948596955]]]> : tensor<2x3x3xf64>
    %r = stablehlo.cholesky %x0, lower = true : tensor<2x3x3xf64>
    %e0 = stablehlo.constant dense<[[[2.0958053419115887, 0.0, 0.0], [0.5353550567903763, 2.885722613700647, 0.0], [0.7462525288973231, -0.6749470403162057, 3.0300583331345505]], [[2.969225510102384, 0.0, 0.0], [0.612718708505858, 2.508440863269524, 0.0], [-0.9005715377063779, -0.4126877887371217, 2.4169939269881064]]]> : tensor<2x3x3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> ()
    return
  }
}

// -----

module @upper {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[4.3924003, 1.122, 1.564], [1.122, 8.614, -1.5481999], [1.564, -1.5481999, 10.1937]]> : tensor<3x3xf32>
    %r = stablehlo.cholesky %x0 : tensor<3x3xf32>
    %e0 = stablehlo.constant dense<[[2.0958054, 0.53535503, 0.74625254], [0.0, 2.8857226, -0.674947], [0.0, 0.0, 3.0300584]]> : tensor<3x3xf32>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x3xf32>, tensor<3x3xf32>) -> ()
    return
  }
}

// -----

module @hermitian {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(4.0, 0.0), (1.0, -1.0), (0.0, 0.5)], [(1.0, 1.0), (5.0, 0.0), (1.0, 0.0)], [(-0.0, -0.5), (1.0, 0.0), (3.0, 0.0)]]> : tensor<3x3xcomplex<f64>>
    %r = stablehlo.cholesky %x0, lower = true : tensor<3x3xcomplex<f64>>
    %e0 = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.5, 0.5), (2.1213203435596424, 0.0), (0.0, 0.0)], [(-0.0, -0.25), (0.5303300858899107, 0.05892556509887897), (1.6287350238076719, 0.0)]]> : tensor<3x3xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<3x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>) -> ()
    return
  }
}
