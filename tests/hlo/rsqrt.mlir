module @rsqrt_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.25, 1.0, 2.0, 4.0, 100.0, 0x7F800000, 0.0]> : tensor<7xf32>
    %r = "stablehlo.rsqrt"(%x0) : (tensor<7xf32>) -> tensor<7xf32>
    %e0 = stablehlo.constant dense<[2.0, 1.0, 0.70710677, 0.5, 0.1, 0.0, 0x7F800000]> : tensor<7xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf32>, tensor<7xf32>) -> ()
    return
  }
}

// -----

module @rsqrt_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.25, 1.0, 2.0, 4.0, 100.0, 0x7FF0000000000000, 0.0]> : tensor<7xf64>
    %r = "stablehlo.rsqrt"(%x0) : (tensor<7xf64>) -> tensor<7xf64>
    %e0 = stablehlo.constant dense<[2.0, 1.0, 0.7071067811865475, 0.5, 0.1, 0.0, 0x7FF0000000000000]> : tensor<7xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf64>, tensor<7xf64>) -> ()
    return
  }
}

// -----

module @rsqrt_f16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.25, 1.0, 2.0, 4.0, 100.0, 0x7C00, 0.0]> : tensor<7xf16>
    %r = "stablehlo.rsqrt"(%x0) : (tensor<7xf16>) -> tensor<7xf16>
    %e0 = stablehlo.constant dense<[2.0, 1.0, 0.70703125, 0.5, 0.0999755859375, 0.0, 0x7C00]> : tensor<7xf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xf16>, tensor<7xf16>) -> ()
    return
  }
}

// -----

module @rsqrt_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[0.25, 1.0, 2.0, 4.0, 100.0, 0x7F80, 0.0]> : tensor<7xbf16>
    %r = "stablehlo.rsqrt"(%x0) : (tensor<7xbf16>) -> tensor<7xbf16>
    %e0 = stablehlo.constant dense<[2.0, 1.0, 0.70703125, 0.5, 0.10009765625, 0.0, 0x7F80]> : tensor<7xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<7xbf16>, tensor<7xbf16>) -> ()
    return
  }
}

// -----

module @rsqrt_c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    %r = "stablehlo.rsqrt"(%x0) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(0.7136678, -0.48317662), (0.06688535, -0.8081598), (0.46432546, 0.24849944), (0.30522406, 1.0080867), (1.0, 0.0)]> : tensor<5xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f32>>, tensor<5xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @rsqrt_c128 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[(0.5, 1.25), (-1.5, 0.25), (2.0, -3.0), (-0.75, -0.5), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    %r = "stablehlo.rsqrt"(%x0) : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    %e0 = stablehlo.constant dense<[(0.7136677874451546, -0.4831766156089769), (0.06688535180732966, -0.8081598226434169), (0.464325452650815, 0.24849944091130335), (0.30522407291491205, 1.0080866320727055), (1.0, 0.0)]> : tensor<5xcomplex<f64>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<5xcomplex<f64>>, tensor<5xcomplex<f64>>) -> ()
    return
  }
}
