module @sum_to_ten {
  func.func @main() {
    %x0 = stablehlo.constant dense<0> : tensor<i32>
    %x1 = stablehlo.constant dense<[0, 0]> : tensor<2xi32>
    %x2 = stablehlo.constant dense<10> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %x0, %s = %x1) : tensor<i32>, tensor<2xi32>
     cond {
      %c = stablehlo.compare LT, %i, %x2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<2xi32>
      %t = stablehlo.add %s, %b : tensor<2xi32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %t : tensor<i32>, tensor<2xi32>
    }
    %e0 = stablehlo.constant dense<10> : tensor<i32>
    %e1 = stablehlo.constant dense<[45, 45]> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    return
  }
}

// -----

// carried values change places
module @swap {
  func.func @main() {
    %x0 = stablehlo.constant dense<0> : tensor<i32>
    %x1 = stablehlo.constant dense<1> : tensor<i64>
    %x2 = stablehlo.constant dense<2> : tensor<i64>
    %x3 = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:3 = stablehlo.while(%i = %x0, %a = %x1, %b = %x2) : tensor<i32>, tensor<i64>, tensor<i64>
     cond {
      %c = stablehlo.compare LT, %i, %x3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %b, %a : tensor<i32>, tensor<i64>, tensor<i64>
    }
    %e0 = stablehlo.constant dense<3> : tensor<i32>
    %e1 = stablehlo.constant dense<2> : tensor<i64>
    %e2 = stablehlo.constant dense<1> : tensor<i64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<i64>, tensor<i64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#2, %e2) {has_side_effect = true} : (tensor<i64>, tensor<i64>) -> ()
    return
  }
}
