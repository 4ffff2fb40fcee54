module @clamped {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]> : tensor<4x5xi64>
    %x1 = stablehlo.constant dense<[[-1, -1], [-1, -1]]> : tensor<2x2xi64>
    %x2 = stablehlo.constant dense<1> : tensor<i32>
    %x3 = stablehlo.constant dense<9> : tensor<i32>
    %r = stablehlo.dynamic_update_slice %x0, %x1, %x2, %x3 : (tensor<4x5xi64>, tensor<2x2xi64>, tensor<i32>, tensor<i32>) -> tensor<4x5xi64>
    %e0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, -1, -1], [10, 11, 12, -1, -1], [15, 16, 17, 18, 19]]> : tensor<4x5xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<4x5xi64>, tensor<4x5xi64>) -> ()
    return
  }
}
