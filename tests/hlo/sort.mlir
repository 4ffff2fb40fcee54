module @ascending_with_values {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[3.0, 1.0, 2.0, 3.0], [0.0, -1.0, 5.0, 5.0]]> : tensor<2x4xf32>
    %x1 = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi32>
    %r:2 = "stablehlo.sort"(%x0, %x1) ({
      ^bb0(%a0: tensor<f32>, %b0: tensor<f32>, %a1: tensor<i32>, %b1: tensor<i32>):
        %c = stablehlo.compare LT, %a0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) {dimension = 1 : i64, is_stable = true} : (tensor<2x4xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
    %e0 = stablehlo.constant dense<[[1.0, 2.0, 3.0, 3.0], [-1.0, 0.0, 5.0, 5.0]]> : tensor<2x4xf32>
    %e1 = stablehlo.constant dense<[[1, 2, 0, 3], [5, 4, 6, 7]]> : tensor<2x4xi32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<2x4xi32>, tensor<2x4xi32>) -> ()
    return
  }
}

// -----

module @descending_stable {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[3.0, 1.0, 2.0, 3.0], [0.0, -1.0, 5.0, 5.0]]> : tensor<2x4xf32>
    %x1 = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi32>
    %r:2 = "stablehlo.sort"(%x0, %x1) ({
      ^bb0(%a0: tensor<f32>, %b0: tensor<f32>, %a1: tensor<i32>, %b1: tensor<i32>):
        %c = stablehlo.compare GT, %a0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) {dimension = 1 : i64, is_stable = true} : (tensor<2x4xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
    %e0 = stablehlo.constant dense<[[3.0, 3.0, 2.0, 1.0], [5.0, 5.0, 0.0, -1.0]]> : tensor<2x4xf32>
    %e1 = stablehlo.constant dense<[[0, 3, 2, 1], [6, 7, 4, 5]]> : tensor<2x4xi32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<2x4xi32>, tensor<2x4xi32>) -> ()
    return
  }
}

// -----

module @dim0 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[-6, 41, -43], [31, 19, 2], [-9, -21, -24], [14, 12, 36], [48, -38, -44], [-16, 9, 43], [-33, -45, 29]]> : tensor<7x3xi16>
    %r = "stablehlo.sort"(%x0) ({
      ^bb0(%a0: tensor<i16>, %b0: tensor<i16>):
        %c = stablehlo.compare LT, %a0, %b0 : (tensor<i16>, tensor<i16>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<7x3xi16>) -> tensor<7x3xi16>
    %e0 = stablehlo.constant dense<[[-33, -45, -44], [-16, -38, -43], [-9, -21, -24], [-6, 9, 2], [14, 12, 29], [31, 19, 36], [48, 41, 43]]> : tensor<7x3xi16>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<7x3xi16>, tensor<7x3xi16>) -> ()
    return
  }
}

// -----

module @odd_length {
  func.func @main() {
    %x0 = stablehlo.constant dense<[49, 438, 332, 617, 988, 182, 687, 421, 969, 599, 661, 260, 475, 588, 233, 331, 774, 888, 225, 469, 85, 670, 875, 476, 824, 819, 247, 183, 633, 908, 76, 877, 932]> : tensor<33xi64>
    %r = "stablehlo.sort"(%x0) ({
      ^bb0(%a0: tensor<i64>, %b0: tensor<i64>):
        %c = stablehlo.compare LT, %a0, %b0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<33xi64>) -> tensor<33xi64>
    %e0 = stablehlo.constant dense<[49, 76, 85, 182, 183, 225, 233, 247, 260, 331, 332, 421, 438, 469, 475, 476, 588, 599, 617, 633, 661, 670, 687, 774, 819, 824, 875, 877, 888, 908, 932, 969, 988]> : tensor<33xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<33xi64>, tensor<33xi64>) -> ()
    return
  }
}
