module @uniform_range {
  func.func @main() {
    %x0 = stablehlo.constant dense<2.0> : tensor<f32>
    %x1 = stablehlo.constant dense<3.0> : tensor<f32>
    %x2 = stablehlo.constant dense<[1000]> : tensor<1xi64>
    %u = "stablehlo.rng"(%x0, %x1, %x2) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1000xf32>
    %lo = stablehlo.reduce(%u init: %x1) applies stablehlo.minimum across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
    %hi = stablehlo.reduce(%u init: %x0) applies stablehlo.maximum across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
    %a = stablehlo.compare GE, %lo, %x0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b = stablehlo.compare LT, %hi, %x1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = stablehlo.compare NE, %lo, %hi : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %d = stablehlo.and %a, %b : tensor<i1>
    %r = stablehlo.and %c, %d : tensor<i1>
    %e0 = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i1>, tensor<i1>) -> ()
    return
  }
}
