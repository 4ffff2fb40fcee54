module @branch_0 {
  func.func @main() {
    %x0 = stablehlo.constant dense<0> : tensor<i32>
    %x1 = stablehlo.constant dense<10> : tensor<i32>
    %x2 = stablehlo.constant dense<20> : tensor<i32>
    %x3 = stablehlo.constant dense<30> : tensor<i32>
    %r = "stablehlo.case"(%x0) ({
        stablehlo.return %x1 : tensor<i32>
    }, {
        stablehlo.return %x2 : tensor<i32>
    }, {
        %z = stablehlo.add %x1, %x2 : tensor<i32>
        stablehlo.return %z : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<10> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}

// -----

module @branch_1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<1> : tensor<i32>
    %x1 = stablehlo.constant dense<10> : tensor<i32>
    %x2 = stablehlo.constant dense<20> : tensor<i32>
    %x3 = stablehlo.constant dense<30> : tensor<i32>
    %r = "stablehlo.case"(%x0) ({
        stablehlo.return %x1 : tensor<i32>
    }, {
        stablehlo.return %x2 : tensor<i32>
    }, {
        %z = stablehlo.add %x1, %x2 : tensor<i32>
        stablehlo.return %z : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<20> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}

// -----

module @branch_2 {
  func.func @main() {
    %x0 = stablehlo.constant dense<2> : tensor<i32>
    %x1 = stablehlo.constant dense<10> : tensor<i32>
    %x2 = stablehlo.constant dense<20> : tensor<i32>
    %x3 = stablehlo.constant dense<30> : tensor<i32>
    %r = "stablehlo.case"(%x0) ({
        stablehlo.return %x1 : tensor<i32>
    }, {
        stablehlo.return %x2 : tensor<i32>
    }, {
        %z = stablehlo.add %x1, %x2 : tensor<i32>
        stablehlo.return %z : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<30> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}

// -----

module @branch_7 {
  func.func @main() {
    %x0 = stablehlo.constant dense<7> : tensor<i32>
    %x1 = stablehlo.constant dense<10> : tensor<i32>
    %x2 = stablehlo.constant dense<20> : tensor<i32>
    %x3 = stablehlo.constant dense<30> : tensor<i32>
    %r = "stablehlo.case"(%x0) ({
        stablehlo.return %x1 : tensor<i32>
    }, {
        stablehlo.return %x2 : tensor<i32>
    }, {
        %z = stablehlo.add %x1, %x2 : tensor<i32>
        stablehlo.return %z : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<30> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}

// -----

module @branch_minus1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<-1> : tensor<i32>
    %x1 = stablehlo.constant dense<10> : tensor<i32>
    %x2 = stablehlo.constant dense<20> : tensor<i32>
    %x3 = stablehlo.constant dense<30> : tensor<i32>
    %r = "stablehlo.case"(%x0) ({
        stablehlo.return %x1 : tensor<i32>
    }, {
        stablehlo.return %x2 : tensor<i32>
    }, {
        %z = stablehlo.add %x1, %x2 : tensor<i32>
        stablehlo.return %z : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %e0 = stablehlo.constant dense<30> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r, %e0) {has_side_effect = true} : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}
