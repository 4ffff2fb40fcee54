// starts are clamped so that the window fits
module @clamped {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]> : tensor<4x5xi64>
    %x1 = stablehlo.constant dense<3> : tensor<i64>
    %x2 = stablehlo.constant dense<-1> : tensor<i64>
    %r = stablehlo.dynamic_slice %x0, %x1, %x2, sizes = [2, 3] : (tensor<4x5xi64>, tensor<i64>, tensor<i64>) -> tensor<2x3xi64>
    %e0 = stablehlo.constant dense<[[10, 11, 12], [15, 16, 17]]> : tensor<2x3xi64>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<2x3xi64>, tensor<2x3xi64>) -> ()
    return
  }
}
