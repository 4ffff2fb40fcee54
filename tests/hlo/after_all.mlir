module @tokens {
  func.func @main() {
    %a = stablehlo.after_all : !stablehlo.token
    %b = stablehlo.after_all %a, %a : !stablehlo.token
    return
  }
}
