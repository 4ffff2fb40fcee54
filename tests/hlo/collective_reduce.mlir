module @the_first_of_the_group_gets_it {
  func.func @sum(%x: tensor<2xf32>) -> tensor<2xf32> {
    %r = "stablehlo.collective_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %x1 = stablehlo.constant dense<[30.0, 40.0]> : tensor<2xf32>
    %e0 = stablehlo.constant dense<[0.0, 0.0]> : tensor<2xf32>
    %e1 = stablehlo.constant dense<[31.0, 42.0]> : tensor<2xf32>
    %r:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@sum], [@sum]]} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return
  }
}
