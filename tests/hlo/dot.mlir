module @matrix_vector {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.6399999856948853, -1.059999942779541, 0.7900000214576721, -1.0499999523162842], [-1.9500000476837158, -1.7400000095367432, 1.409999966621399, 0.5099999904632568], [1.8799999952316284, 0.07000000029802322, -0.25999999046325684, 1.4800000190734863]]> : tensor<3x4xf64>
    %x1 = stablehlo.constant dense<[1.0, -1.559999942779541, 0.7799999713897705, 1.559999942779541]> : tensor<4xf64>
    %r = stablehlo.dot %x0, %x1 : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3xf64>
    %e0 = stablehlo.constant dense<[2.271799964380264, 2.65979975719452, 3.8767999587178217]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    return
  }
}

// -----

module @vectors {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1.0, -1.559999942779541, 0.7799999713897705, 1.559999942779541]> : tensor<4xf64>
    %x1 = stablehlo.constant dense<[1.0, -1.559999942779541, 0.7799999713897705, 1.559999942779541]> : tensor<4xf64>
    %r = stablehlo.dot %x0, %x1 : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
    %e0 = stablehlo.constant dense<6.475599598312385> : tensor<f64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<f64>, tensor<f64>) -> ()
    return
  }
}

// -----

module @matrices {
  func.func @main() {
    %x0 = stablehlo.constant dense<[[1.6399999856948853, -1.059999942779541, 0.7900000214576721, -1.0499999523162842], [-1.9500000476837158, -1.7400000095367432, 1.409999966621399, 0.5099999904632568], [1.8799999952316284, 0.07000000029802322, -0.25999999046325684, 1.4800000190734863]]> : tensor<3x4xf64>
    %x1 = stablehlo.constant dense<[[1.6399999856948853, -1.9500000476837158, 1.8799999952316284], [-1.059999942779541, -1.7400000095367432, 0.07000000029802322], [0.7900000214576721, 1.409999966621399, -0.25999999046325684], [-1.0499999523162842, 0.5099999904632568, 1.4800000190734863]]> : tensor<4x3xf64>
    %r = stablehlo.dot %x0, %x1 : (tensor<3x4xf64>, tensor<4x3xf64>) -> tensor<3x3xf64>
    %e0 = stablehlo.constant dense<[[5.5397997655391755, -0.7752001015424739, 1.2496000214755547], [-0.7752001015424739, 9.078300115299228, -3.3996000637948516], [1.2496000214755547, -3.3996000637948516, 5.79730003361106]]> : tensor<3x3xf64>
    stablehlo.custom_call @check.expect_close(%r, %e0) {has_side_effect = true} : (tensor<3x3xf64>, tensor<3x3xf64>) -> ()
    return
  }
}
