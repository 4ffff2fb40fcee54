module @add_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-1.69, 1.12, -0.25, 0.89, 1.91], [0.15, 0.0, -1.71, -0.93, -0.0], [0.72, 1.21, -0.48, -1.74, -0.85], [1.64, -1.15, -0.19, 1.72, -1.9]], [[0.4, 1.8, -1.08, 0.19, 1.64], [-1.47, 0.09, 1.0, 0.68, -0.13], [-1.18, -0.04, -0.51, -0.09, -0.54], [1.35, 1.07, -0.74, 0.29, -0.9]], [[-0.19, -0.59, 0.63, -0.52, -0.16], [0.88, -0.35, 1.63, -1.28, 0.96], [-0.31, -0.29, 0.54, 0.09, -0.34], [-1.99, -1.63, 0.84, 0.1, 0.78]]]> : tensor<3x4x5xf32>
    %x1 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.add across dimensions = [1] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<3x5xf32>
    %e0 = stablehlo.constant dense<[[0.81999993, 1.1800001, -2.63, -0.060000002, -0.84000003], [-0.9, 2.92, -1.33, 1.0699999, 0.06999999], [-1.61, -2.86, 3.6399999, -1.6099999, 1.24]]> : tensor<3x5xf32>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
    return
  }
}

// -----

module @add_all_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-1.690000057220459, 1.1200000047683716, -0.25, 0.8899999856948853, 1.909999966621399], [0.15000000596046448, 0.0, -1.7100000381469727, -0.9300000071525574, -0.0], [0.7200000286102295, 1.2100000381469727, -0.47999998927116394, -1.7400000095367432, -0.8500000238418579], [1.6399999856948853, -1.149999976158142, -0.1899999976158142, 1.7200000286102295, -1.899999976158142]], [[0.4000000059604645, 1.7999999523162842, -1.0800000429153442, 0.1899999976158142, 1.6399999856948853], [-1.4700000286102295, 0.09000000357627869, 1.0, 0.6800000071525574, -0.12999999523162842], [-1.1799999475479126, -0.03999999910593033, -0.5099999904632568, -0.09000000357627869, -0.5400000214576721], [1.350000023841858, 1.0700000524520874, -0.7400000095367432, 0.28999999165534973, -0.8999999761581421]], [[-0.1899999976158142, -0.5899999737739563, 0.6299999952316284, -0.5199999809265137, -0.1599999964237213], [0.8799999952316284, -0.3499999940395355, 1.6299999952316284, -1.2799999713897705, 0.9599999785423279], [-0.3100000023841858, -0.28999999165534973, 0.5400000214576721, 0.09000000357627869, -0.3400000035762787], [-1.9900000095367432, -1.6299999952316284, 0.8399999737739563, 0.10000000149011612, 0.7799999713897705]]]> : tensor<3x4x5xf64>
    %x1 = stablehlo.constant dense<1.0> : tensor<f64>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<3x4x5xf64>, tensor<f64>) -> tensor<f64>
    %e0 = stablehlo.constant dense<0.09999999403953552> : tensor<f64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<f64>, tensor<f64>) -> ()
    return
  }
}

// -----

module @max_f32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-1.69, 1.12, -0.25, 0.89, 1.91], [0.15, 0.0, -1.71, -0.93, -0.0], [0.72, 1.21, -0.48, -1.74, -0.85], [1.64, -1.15, -0.19, 1.72, -1.9]], [[0.4, 1.8, -1.08, 0.19, 1.64], [-1.47, 0.09, 1.0, 0.68, -0.13], [-1.18, -0.04, -0.51, -0.09, -0.54], [1.35, 1.07, -0.74, 0.29, -0.9]], [[-0.19, -0.59, 0.63, -0.52, -0.16], [0.88, -0.35, 1.63, -1.28, 0.96], [-0.31, -0.29, 0.54, 0.09, -0.34], [-1.99, -1.63, 0.84, 0.1, 0.78]]]> : tensor<3x4x5xf32>
    %x1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
    %e0 = stablehlo.constant dense<[1.91, 1.63, 1.21, 1.72]> : tensor<4xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()
    return
  }
}

// -----

module @min_bf16 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-1.6875, 1.1171875, -0.25, 0.890625, 1.90625], [0.150390625, 0.0, -1.7109375, -0.9296875, -0.0], [0.71875, 1.2109375, -0.48046875, -1.7421875, -0.8515625], [1.640625, -1.1484375, -0.1904296875, 1.71875, -1.8984375]], [[0.400390625, 1.796875, -1.078125, 0.1904296875, 1.640625], [-1.46875, 0.08984375, 1.0, 0.6796875, -0.1298828125], [-1.1796875, -0.0400390625, -0.51171875, -0.08984375, -0.5390625], [1.3515625, 1.0703125, -0.73828125, 0.2890625, -0.8984375]], [[-0.1904296875, -0.58984375, 0.62890625, -0.51953125, -0.16015625], [0.87890625, -0.349609375, 1.6328125, -1.28125, 0.9609375], [-0.310546875, -0.2890625, 0.5390625, 0.08984375, -0.33984375], [-1.9921875, -1.6328125, 0.83984375, 0.10009765625, 0.78125]]]> : tensor<3x4x5xbf16>
    %x1 = stablehlo.constant dense<0x7F80> : tensor<bf16>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.minimum across dimensions = [2] : (tensor<3x4x5xbf16>, tensor<bf16>) -> tensor<3x4xbf16>
    %e0 = stablehlo.constant dense<[[-1.6875, -1.7109375, -1.7421875, -1.8984375], [-1.078125, -1.46875, -1.1796875, -0.8984375], [-0.58984375, -1.28125, -0.33984375, -1.9921875]]> : tensor<3x4xbf16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3x4xbf16>, tensor<3x4xbf16>) -> ()
    return
  }
}

// -----

module @mul_f64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[[-1.690000057220459, 1.1200000047683716, -0.25, 0.8899999856948853, 1.909999966621399], [0.15000000596046448, 0.0, -1.7100000381469727, -0.9300000071525574, -0.0], [0.7200000286102295, 1.2100000381469727, -0.47999998927116394, -1.7400000095367432, -0.8500000238418579], [1.6399999856948853, -1.149999976158142, -0.1899999976158142, 1.7200000286102295, -1.899999976158142]], [[0.4000000059604645, 1.7999999523162842, -1.0800000429153442, 0.1899999976158142, 1.6399999856948853], [-1.4700000286102295, 0.09000000357627869, 1.0, 0.6800000071525574, -0.12999999523162842], [-1.1799999475479126, -0.03999999910593033, -0.5099999904632568, -0.09000000357627869, -0.5400000214576721], [1.350000023841858, 1.0700000524520874, -0.7400000095367432, 0.28999999165534973, -0.8999999761581421]], [[-0.1899999976158142, -0.5899999737739563, 0.6299999952316284, -0.5199999809265137, -0.1599999964237213], [0.8799999952316284, -0.3499999940395355, 1.6299999952316284, -1.2799999713897705, 0.9599999785423279], [-0.3100000023841858, -0.28999999165534973, 0.5400000214576721, 0.09000000357627869, -0.3400000035762787], [-1.9900000095367432, -1.6299999952316284, 0.8399999737739563, 0.10000000149011612, 0.7799999713897705]]]> : tensor<3x4x5xf64>
    %x1 = stablehlo.constant dense<1.0> : tensor<f64>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.multiply across dimensions = [2] : (tensor<3x4x5xf64>, tensor<f64>) -> tensor<3x4xf64>
    %e0 = stablehlo.constant dense<[[0.8043926836735515, -0.0, -0.6184823549884509, -1.1710550755964948], [-0.24230016166597335, 0.01169532038638829, -0.0011698991929463233, 0.27899073678035563], [0.005875832873749147, 0.6169067087687999, -0.0014855077023627524, 0.21252721313281384]]> : tensor<3x4xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3x4xf64>, tensor<3x4xf64>) -> ()
    return
  }
}

// -----

module @add_i64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[24, -80, -47, 43, -41, -65], [-52, -96, -57, -46, -57, 78], [-61, 31, 57, 40, -21, -71], [36, -46, 66, 17, 98, 49]]> : tensor<4x6xi64>
    %x1 = stablehlo.constant dense<0> : tensor<i64>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.add across dimensions = [0] : (tensor<4x6xi64>, tensor<i64>) -> tensor<6xi64>
    %e0 = stablehlo.constant dense<[-53, -191, 19, 54, -21, -9]> : tensor<6xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<6xi64>, tensor<6xi64>) -> ()
    return
  }
}

// -----

module @add_u8_wraps {
  func.func @main() {
    %x0 = stablehlo.constant dense<[200, 100]> : tensor<2xui8>
    %x1 = stablehlo.constant dense<0> : tensor<ui8>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.add across dimensions = [0] : (tensor<2xui8>, tensor<ui8>) -> tensor<ui8>
    %e0 = stablehlo.constant dense<44> : tensor<ui8>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<ui8>, tensor<ui8>) -> ()
    return
  }
}

// -----

module @and_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[true, true], [true, false]]> : tensor<2x2xi1>
    %x1 = stablehlo.constant dense<true> : tensor<i1>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.and across dimensions = [1] : (tensor<2x2xi1>, tensor<i1>) -> tensor<2xi1>
    %e0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi1>, tensor<2xi1>) -> ()
    return
  }
}

// -----

module @or_i1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[false, true], [false, false]]> : tensor<2x2xi1>
    %x1 = stablehlo.constant dense<false> : tensor<i1>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.or across dimensions = [1] : (tensor<2x2xi1>, tensor<i1>) -> tensor<2xi1>
    %e0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi1>, tensor<2xi1>) -> ()
    return
  }
}

// -----

module @xor_i32 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[24, -80, -47, 43, -41, -65], [-52, -96, -57, -46, -57, 78], [-61, 31, 57, 40, -21, -71], [36, -46, 66, 17, 98, 49]]> : tensor<4x6xi32>
    %x1 = stablehlo.constant dense<0> : tensor<i32>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.xor across dimensions = [1] : (tensor<4x6xi32>, tensor<i32>) -> tensor<4xi32>
    %e0 = stablehlo.constant dense<[58, -16, -97, -10]> : tensor<4xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()
    return
  }
}

// -----

module @empty {
  func.func @main() {
    %x0 = stablehlo.constant dense<> : tensor<0x3xf32>
    %x1 = stablehlo.constant dense<5.0> : tensor<f32>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
    %e0 = stablehlo.constant dense<[5.0, 5.0, 5.0]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    return
  }
}

// -----

module @c64 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[(1.0, 2.0), (0.0, 3.0)], [(4.0, 0.0), (-0.0, -1.0)]]> : tensor<2x2xcomplex<f32>>
    %x1 = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.add across dimensions = [0] : (tensor<2x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
    %e0 = stablehlo.constant dense<[(5.0, 2.0), (0.0, 2.0)]> : tensor<2xcomplex<f32>>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()
    return
  }
}

// -----

module @max_nan {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
    %x1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.maximum across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %e0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
    return
  }
}

// -----

// two operands, a region of several ops
module @argmax {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[3.0, 9.0, 9.0], [5.0, 2.0, 1.0]]> : tensor<2x3xf32>
    %x1 = stablehlo.constant dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
    %x2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %x3 = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.reduce(%x0 init: %x2), (%x1 init: %x3) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %gt = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %eq = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %lt = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %tie = stablehlo.and %eq, %lt : tensor<i1>
      %first = stablehlo.or %gt, %tie : tensor<i1>
      %v = stablehlo.select %first, %a, %c : tensor<i1>, tensor<f32>
      %i = stablehlo.select %first, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %v, %i : tensor<f32>, tensor<i32>
    }
    %e0 = stablehlo.constant dense<[9.0, 5.0]> : tensor<2xf32>
    %e1 = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    return
  }
}

// -----

// a region that uses a value from outside
module @outer_value {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %x1 = stablehlo.constant dense<0> : tensor<i32>
    %x2 = stablehlo.constant dense<10> : tensor<i32>
    %r = "stablehlo.reduce"(%x0, %x1) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %m = stablehlo.multiply %b, %x2 : tensor<i32>
        %s = stablehlo.add %a, %m : tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<60> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}

// -----

// a region that is run element by element
module @region_with_control_flow {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[5, -2], [3, 7]]> : tensor<2x2xi32>
    %x1 = stablehlo.constant dense<0> : tensor<i32>
    %x2 = stablehlo.constant dense<3> : tensor<i32>
    %r = "stablehlo.reduce"(%x0, %x1) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %s = "stablehlo.if"(%p) ({
          %t = stablehlo.multiply %b, %x2 : tensor<i32>
          stablehlo.return %t : tensor<i32>
        }, {
          %t = stablehlo.add %a, %x2 : tensor<i32>
          stablehlo.return %t : tensor<i32>
        }) : (tensor<i1>) -> tensor<i32>
        stablehlo.return %s : tensor<i32>
    }) {dimensions = array<i64: 1>} : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %e0 = stablehlo.constant dense<[18, 12]> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    return
  }
}
