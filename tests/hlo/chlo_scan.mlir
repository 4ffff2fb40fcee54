module @running_sums {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %i = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
    %r:2 = chlo.scan(%x0) inits(%i) dimension=1 {
    ^bb0(%x: tensor<2xf32>, %carry: tensor<2xf32>):
      %s = stablehlo.add %x, %carry : tensor<2xf32>
      %t = stablehlo.negate %s : tensor<2xf32>
      stablehlo.return %t, %s : tensor<2xf32>, tensor<2xf32>
    } : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
    %e0 = stablehlo.constant dense<[[-11.0, -13.0, -16.0], [-24.0, -29.0, -35.0]]> : tensor<2x3xf32>
    %e1 = stablehlo.constant dense<[16.0, 35.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}

// -----

module @from_the_end_without_outputs {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %r = "chlo.scan"(%x0, %i) ({
    ^bb0(%x: tensor<i32>, %carry: tensor<i32>):
      %two = stablehlo.constant dense<2> : tensor<i32>
      %d = stablehlo.multiply %carry, %two : tensor<i32>
      %s = stablehlo.add %d, %x : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) {dimension = 0 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>} : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<17> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}
