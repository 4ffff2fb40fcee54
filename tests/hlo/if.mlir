module @if_true {
  func.func @main() {
    %x0 = stablehlo.constant dense<true> : tensor<i1>
    %x1 = stablehlo.constant dense<1.0> : tensor<f32>
    %x2 = stablehlo.constant dense<2.0> : tensor<f32>
    %r = "stablehlo.if"(%x0) ({
        %z = stablehlo.add %x1, %x2 : tensor<f32>
        stablehlo.return %z : tensor<f32>
    }, {
        %z = stablehlo.subtract %x1, %x2 : tensor<f32>
        stablehlo.return %z : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %e0 = stablehlo.constant dense<3.0> : tensor<f32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
    return
  }
}

// -----

module @if_false {
  func.func @main() {
    %x0 = stablehlo.constant dense<false> : tensor<i1>
    %x1 = stablehlo.constant dense<1.0> : tensor<f32>
    %x2 = stablehlo.constant dense<2.0> : tensor<f32>
    %r = "stablehlo.if"(%x0) ({
        %z = stablehlo.add %x1, %x2 : tensor<f32>
        stablehlo.return %z : tensor<f32>
    }, {
        %z = stablehlo.subtract %x1, %x2 : tensor<f32>
        stablehlo.return %z : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %e0 = stablehlo.constant dense<-1.0> : tensor<f32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
    return
  }
}
