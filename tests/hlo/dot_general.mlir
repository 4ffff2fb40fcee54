module @batch {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-0.43, 1.76, -1.15, 1.25], [-0.39, 0.35, -1.26, 1.25], [0.32, -0.21, 1.19, 0.18]], [[-0.33, -1.92, 0.74, -0.05], [-1.12, 0.2, 0.09, -0.05], [-0.95, 0.11, 1.94, 0.49]]]> : tensor<2x3x4xf32>
    %x1 = stablehlo.constant dense<[[[0.52, 1.64, 1.85, 0.34, -1.34], [-0.43, 1.78, -0.63, 0.82, -0.15], [-0.45, 0.11, 1.29, 0.55, 1.45], [0.55, 2.0, 0.07, -0.69, -1.6]], [[0.27, -1.14, -1.95, -0.8, -1.84], [1.9, 0.21, -1.71, -0.64, -1.03], [-1.57, 1.08, -0.6, -1.25, 1.65], [1.44, -0.4, 0.19, -0.2, 0.77]]]> : tensor<2x4x5xf32>
    %r = stablehlo.dot_general %x0, %x1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %e0 = stablehlo.constant dense<[[[0.22459999, 4.8011, -3.3003, -0.19800003, -3.3553], [0.9012, 2.3448, -2.4799, -1.4011, -3.3569], [-0.17980002, 0.6419, 2.272, 0.46690005, 1.0402001]], [[-4.9709, 0.7922001, 3.4732, 0.5778, 3.7673], [-0.13570003, 1.436, 1.7785001, 0.6655, 1.9648], [-2.3877, 3.0053, 0.59349996, -1.8334001, 5.2130003]]]> : tensor<2x3x5xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> ()
    return
  }
}

// -----

module @transposed {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[-1.14, -0.7, 0.96], [-1.27, 0.78, 0.11], [-1.21, 0.6, 0.04], [0.76, 0.29, 1.08]]> : tensor<4x3xf32>
    %x1 = stablehlo.constant dense<[[-0.43, 1.83, 1.91, -1.17], [-0.1, 1.16, -1.49, 1.31], [-1.05, 1.76, 1.28, -1.79], [-1.99, -1.29, 0.15, 0.15], [0.05, -1.03, -1.98, 0.97]]> : tensor<5x4xf32>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [0] x [1] : (tensor<4x3xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
    %e0 = stablehlo.constant dense<[[-5.0342, 1.4393001, -3.9474, 3.8393998, 4.3841], [2.5351, 0.4606999, 2.3567, 0.52030003, -1.7451], [-1.3987, 1.3868, -2.6964, -1.8843, 0.9031001]]> : tensor<3x5xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
    return
  }
}

// -----

module @two_contracting {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-0.2, 1.5, -0.45, -1.98], [-1.41, -1.85, -0.91, -0.95]], [[0.44, -1.41, -1.17, 0.89], [-0.93, -1.26, 1.24, -1.64]], [[-1.48, 0.72, -0.2, -0.44], [0.65, -1.96, -0.95, 1.01]]]> : tensor<3x2x4xf32>
    %x1 = stablehlo.constant dense<[[[1.75, 0.7], [-0.01, 1.1], [0.26, -0.78], [-0.08, -0.74]], [[-1.85, 0.28], [1.94, -0.51], [0.72, -1.51], [-1.63, 0.53]]]> : tensor<2x4x2xf32>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [1, 2] x [0, 1] : (tensor<3x2x4xf32>, tensor<2x4x2xf32>) -> tensor<3x2xf32>
    %e0 = stablehlo.constant dense<[[-0.41080025, 4.7455], [3.2508, -3.3484], [-9.949201, 3.389]]> : tensor<3x2xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3x2xf32>, tensor<3x2xf32>) -> ()
    return
  }
}

// -----

module @bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[-0.87890625, -0.91015625, 1.5625, -1.1875], [-0.83984375, 0.1904296875, 0.87109375, 0.06982421875], [0.9296875, -1.7578125, 0.33984375, 0.330078125]]> : tensor<3x4xbf16>
    %x1 = stablehlo.constant dense<[[0.51171875, 0.859375], [-1.03125, 0.8984375], [1.8828125, -0.490234375], [-1.3203125, -0.578125]]> : tensor<4x2xbf16>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<3x4xbf16>, tensor<4x2xbf16>) -> tensor<3x2xbf16>
    %e0 = stablehlo.constant dense<[[5.0, -1.65625], [0.921875, -1.015625], [2.5, -1.140625]]> : tensor<3x2xbf16>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3x2xbf16>, tensor<3x2xbf16>) -> ()
    return
  }
}

// -----

module @bf16_to_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[-0.87890625, -0.91015625, 1.5625, -1.1875], [-0.83984375, 0.1904296875, 0.87109375, 0.06982421875], [0.9296875, -1.7578125, 0.33984375, 0.330078125]]> : tensor<3x4xbf16>
    %x1 = stablehlo.constant dense<[[0.51171875, 0.859375], [-1.03125, 0.8984375], [1.8828125, -0.490234375], [-1.3203125, -0.578125]]> : tensor<4x2xbf16>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x4xbf16>, tensor<4x2xbf16>) -> tensor<3x2xf32>
    %e0 = stablehlo.constant dense<[[4.9986115, -1.6524963], [0.921772, -1.0180588], [2.4925385, -1.137764]]> : tensor<3x2xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3x2xf32>, tensor<3x2xf32>) -> ()
    return
  }
}

// -----

module @i8_to_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[-26, -55, -23, -87], [-92, 40, -116, -30], [36, -42, 69, -69]]> : tensor<3x4xi8>
    %x1 = stablehlo.constant dense<[[-49, 3], [37, -14], [-42, 46], [-114, 100]]> : tensor<4x2xi8>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<3x4xi8>, tensor<4x2xi8>) -> tensor<3x2xi32>
    %e0 = stablehlo.constant dense<[[10123, -9066], [14280, -9172], [1650, -3030]]> : tensor<3x2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xi32>, tensor<3x2xi32>) -> ()
    return
  }
}

// -----

module @i8_wraps {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[-26, -55, -23, -87], [-92, 40, -116, -30], [36, -42, 69, -69]]> : tensor<3x4xi8>
    %x1 = stablehlo.constant dense<[[-49, 3], [37, -14], [-42, 46], [-114, 100]]> : tensor<4x2xi8>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<3x4xi8>, tensor<4x2xi8>) -> tensor<3x2xi8>
    %e0 = stablehlo.constant dense<[[-117, -106], [-56, 44], [114, 42]]> : tensor<3x2xi8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x2xi8>, tensor<3x2xi8>) -> ()
    return
  }
}

// -----

module @c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(0.4, 1.72), (-1.11, -0.82), (-1.19, 0.7)], [(1.71, 0.87), (1.35, 0.76), (-0.35, -0.94)]]> : tensor<2x3xcomplex<f32>>
    %x1 = stablehlo.constant dense<[[(1.53, -1.21), (-0.91, -1.73)], [(-0.9, 0.55), (1.37, 1.85)], [(1.96, 1.85), (0.77, -0.44)]]> : tensor<3x2xcomplex<f32>>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<2x3xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
    %e0 = stablehlo.constant dense<[[(0.51579994, 1.4455998), (1.9995999, -4.3715)], [(3.0890002, -3.1694002), (-0.29060006, -0.78110003)]]> : tensor<2x2xcomplex<f32>>
    stablehlo.custom_call @check.expect_almost_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @empty_contraction {
  func.func @main() {
    %x0 = stablehlo.constant dense<> : tensor<2x0xf32>
    %x1 = stablehlo.constant dense<> : tensor<0x2xf32>
    %r = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x2xf32>) -> tensor<2x2xf32>
    %e0 = stablehlo.constant dense<[[0.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}
