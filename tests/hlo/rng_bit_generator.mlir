module @three_fry_uint32_8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %e0 = stablehlo.constant dense<[1, 6]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[43444564, 2150618427, 3979645651, 3745730563, 1672743891, 4240503393, 2109414752, 618976052]> : tensor<8xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui32>, tensor<8xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui64>)
    %e0 = stablehlo.constant dense<[1, 10]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[9236835810183407956, 16087790271692313299, 18212823393184779219, 2658481902456610144, 16424712389986402477, 16122702161355102743, 16513473339851961296, 13401158119780177765]> : tensor<8xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui64>, tensor<8xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_3 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %e0 = stablehlo.constant dense<[1, 4]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[43444564, 2150618427, 3979645651]> : tensor<3xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui32>, tensor<3xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_3 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
    %e0 = stablehlo.constant dense<[1, 5]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[9236835810183407956, 16087790271692313299, 18212823393184779219]> : tensor<3xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui64>, tensor<3xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
    %e0 = stablehlo.constant dense<[1, 11]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[43444564, 2150618427, 3979645651, 3745730563, 1672743891], [2109414752, 618976052, 2534981805, 3824176357, 2868795927], [2915202000, 3844842626, 3159807845, 3120200270, 299673330]]> : tensor<3x5xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui32>, tensor<3x5xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui64>)
    %e0 = stablehlo.constant dense<[1, 17]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[9236835810183407956, 16087790271692313299, 18212823393184779219, 2658481902456610144, 16424712389986402477], [16122702161355102743, 16513473339851961296, 13401158119780177765, 14554201658727638770, 7288330543630982713], [853546183039212516, 3116677314375671452, 5893929251593275775, 17607315122293360763, 6225994315530189186]]> : tensor<3x5xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui64>, tensor<3x5xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint8_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui8>)
    %e0 = stablehlo.constant dense<[1, 11]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[84, 59, 211, 3, 211], [96, 52, 173, 229, 23], [208, 130, 101, 78, 242]]> : tensor<3x5xui8>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui8>, tensor<3x5xui8>) -> ()
    return
  }
}

// -----

module @three_fry_uint16_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui16>)
    %e0 = stablehlo.constant dense<[1, 11]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[59732, 54587, 37587, 20483, 3027], [7520, 54068, 49325, 19685, 23063], [29648, 42114, 55141, 31310, 42738]]> : tensor<3x5xui16>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui16>, tensor<3x5xui16>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_3x4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>)
    %e0 = stablehlo.constant dense<[1, 8]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[43444564, 2150618427, 3979645651, 3745730563], [1672743891, 4240503393, 2109414752, 618976052], [2534981805, 3824176357, 2868795927, 3753859121]]> : tensor<3x4xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui32>, tensor<3x4xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_3x4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui64>)
    %e0 = stablehlo.constant dense<[1, 14]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[9236835810183407956, 16087790271692313299, 18212823393184779219, 2658481902456610144], [16424712389986402477, 16122702161355102743, 16513473339851961296, 13401158119780177765], [14554201658727638770, 7288330543630982713, 853546183039212516, 3116677314375671452]]> : tensor<3x4xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui64>, tensor<3x4xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_scalar {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
    %e0 = stablehlo.constant dense<[1, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<43444564> : tensor<ui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui32>, tensor<ui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_scalar {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
    %e0 = stablehlo.constant dense<[1, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<9236835810183407956> : tensor<ui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui64>, tensor<ui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_5x1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui32>)
    %e0 = stablehlo.constant dense<[1, 5]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[43444564], [2150618427], [3979645651], [3745730563], [1672743891]]> : tensor<5x1xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui32>, tensor<5x1xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_5x1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui64>)
    %e0 = stablehlo.constant dense<[1, 7]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[9236835810183407956], [16087790271692313299], [18212823393184779219], [2658481902456610144], [16424712389986402477]]> : tensor<5x1xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui64>, tensor<5x1xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_8_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1423963181, 577319480, 647836383, 608998394, 2744317137, 2084375472, 2061892362, 3299535148]> : tensor<8xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui32>, tensor<8xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_8_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 7]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[2479568287367689261, 2615628186194359007, 8952324487568880849, 14171395554724412170, 16525317546065722195, 2540761470723056872, 17239318569550839180, 13700685675660674798]> : tensor<8xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui64>, tensor<8xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_3_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 1]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1423963181, 577319480, 647836383]> : tensor<3xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui32>, tensor<3xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_3_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 2]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[2479568287367689261, 2615628186194359007, 8952324487568880849]> : tensor<3xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui64>, tensor<3xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 8]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1423963181, 577319480, 647836383, 608998394, 2744317137], [2061892362, 3299535148, 3586587475, 3847600320, 2574410984], [3017768332, 4013841638, 1560905454, 3189939464, 1869864853]]> : tensor<3x5xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui32>, tensor<3x5xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 14]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[2479568287367689261, 2615628186194359007, 8952324487568880849, 14171395554724412170, 16525317546065722195], [2540761470723056872, 17239318569550839180, 13700685675660674798, 12299652762600464277, 16116945232508347618], [7545088321153596825, 6093844975506676676, 663474702913731376, 17069316760337441801, 6987509656504537987]]> : tensor<3x5xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui64>, tensor<3x5xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint8_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui8>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 8]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[45, 56, 223, 250, 209], [10, 44, 83, 192, 232], [140, 230, 238, 8, 149]]> : tensor<3x5xui8>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui8>, tensor<3x5xui8>) -> ()
    return
  }
}

// -----

module @three_fry_uint16_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui16>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 8]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[62509, 12856, 13023, 37882, 62673], [64266, 59692, 64339, 47296, 25832], [32140, 23782, 34542, 40200, 57237]]> : tensor<3x5xui16>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui16>, tensor<3x5xui16>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_3x4_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 5]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1423963181, 577319480, 647836383, 608998394], [2744317137, 2084375472, 2061892362, 3299535148], [3586587475, 3847600320, 2574410984, 591567128]]> : tensor<3x4xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui32>, tensor<3x4xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_3x4_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 11]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[2479568287367689261, 2615628186194359007, 8952324487568880849, 14171395554724412170], [16525317546065722195, 2540761470723056872, 17239318569550839180, 13700685675660674798], [12299652762600464277, 16116945232508347618, 7545088321153596825, 6093844975506676676]]> : tensor<3x4xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui64>, tensor<3x4xui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_scalar_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 0]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<1423963181> : tensor<ui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui32>, tensor<ui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_scalar_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 0]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<2479568287367689261> : tensor<ui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui64>, tensor<ui64>) -> ()
    return
  }
}

// -----

module @three_fry_uint32_5x1_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 2]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1423963181], [577319480], [647836383], [608998394], [2744317137]]> : tensor<5x1xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui32>, tensor<5x1xui32>) -> ()
    return
  }
}

// -----

module @three_fry_uint64_5x1_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 4]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[2479568287367689261], [2615628186194359007], [8952324487568880849], [14171395554724412170], [16525317546065722195]]> : tensor<5x1xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui64>, tensor<5x1xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %e0 = stablehlo.constant dense<[1, 4]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[2100602697, 2847456232, 2074354647, 800269529, 1828267006, 3135207875, 3972719319, 2171987788]> : tensor<8xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui32>, tensor<8xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui64>)
    %e0 = stablehlo.constant dense<[1, 6]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[12229731395331991369, 3437131457114678231, 13465615291114923006, 9328616520744100567, 10786996542579945571, 14491549444881034529, 11286196318046670563, 5724011709439120292]> : tensor<8xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui64>, tensor<8xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_3 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %e0 = stablehlo.constant dense<[1, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[2100602697, 2847456232, 2074354647]> : tensor<3xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui32>, tensor<3xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_3 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
    %e0 = stablehlo.constant dense<[1, 4]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[12229731395331991369, 3437131457114678231, 13465615291114923006]> : tensor<3xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui64>, tensor<3xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
    %e0 = stablehlo.constant dense<[1, 6]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[2100602697, 2847456232, 2074354647, 800269529, 1828267006], [3135207875, 3972719319, 2171987788, 433598563, 2511543348], [3408178465, 3374076784, 578703075, 2627772353, 2538312612]]> : tensor<3x5xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui32>, tensor<3x5xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui64>)
    %e0 = stablehlo.constant dense<[1, 10]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[12229731395331991369, 3437131457114678231, 13465615291114923006, 9328616520744100567, 10786996542579945571], [14491549444881034529, 11286196318046670563, 5724011709439120292, 411073547657390924, 8519712135953034949], [14310214831341330501, 6250537654016691130, 18278310617901171541, 14862372754723619264, 15052432425317157709]]> : tensor<3x5xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui64>, tensor<3x5xui64>) -> ()
    return
  }
}

// -----

module @philox_uint8_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui8>)
    %e0 = stablehlo.constant dense<[1, 6]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[73, 232, 215, 217, 254], [195, 215, 76, 99, 52], [33, 112, 227, 193, 164]]> : tensor<3x5xui8>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui8>, tensor<3x5xui8>) -> ()
    return
  }
}

// -----

module @philox_uint16_3x5 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui16>)
    %e0 = stablehlo.constant dense<[1, 6]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[42825, 48104, 9175, 9433, 9214], [31171, 58071, 59212, 12387, 7220], [44321, 21360, 20195, 40897, 37796]]> : tensor<3x5xui16>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui16>, tensor<3x5xui16>) -> ()
    return
  }
}

// -----

module @philox_uint32_3x4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>)
    %e0 = stablehlo.constant dense<[1, 5]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[2100602697, 2847456232, 2074354647, 800269529], [1828267006, 3135207875, 3972719319, 2171987788], [433598563, 2511543348, 3408178465, 3374076784]]> : tensor<3x4xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui32>, tensor<3x4xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_3x4 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui64>)
    %e0 = stablehlo.constant dense<[1, 8]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[12229731395331991369, 3437131457114678231, 13465615291114923006, 9328616520744100567], [10786996542579945571, 14491549444881034529, 11286196318046670563, 5724011709439120292], [411073547657390924, 8519712135953034949, 14310214831341330501, 6250537654016691130]]> : tensor<3x4xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui64>, tensor<3x4xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_scalar {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
    %e0 = stablehlo.constant dense<[1, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<2100602697> : tensor<ui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui32>, tensor<ui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_scalar {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
    %e0 = stablehlo.constant dense<[1, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<12229731395331991369> : tensor<ui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui64>, tensor<ui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_5x1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui32>)
    %e0 = stablehlo.constant dense<[1, 4]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[2100602697], [2847456232], [2074354647], [800269529], [1828267006]]> : tensor<5x1xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui32>, tensor<5x1xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_5x1 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui64>)
    %e0 = stablehlo.constant dense<[1, 5]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[12229731395331991369], [3437131457114678231], [13465615291114923006], [9328616520744100567], [10786996542579945571]]> : tensor<5x1xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui64>, tensor<5x1xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_8_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 1]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1255621808, 366553483, 610783278, 3130296365, 2823062625, 1434603854, 2523396390, 1915049723]> : tensor<8xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui32>, tensor<8xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_8_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1574335222975513776, 13444520515073462318, 6161576638468621409, 8225075933022255398, 3423925308121324310, 14279226479372402454, 6504267309553873659, 280095390703565822]> : tensor<8xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui64>, tensor<8xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_3_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 0]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1255621808, 366553483, 610783278]> : tensor<3xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui32>, tensor<3xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_3_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 1]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1574335222975513776, 13444520515073462318, 6161576638468621409]> : tensor<3xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3xui64>, tensor<3xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1255621808, 366553483, 610783278, 3130296365, 2823062625], [1434603854, 2523396390, 1915049723, 1342872342, 797194733], [307756822, 3324641492, 774173435, 1514392744, 438057982]]> : tensor<3x5xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui32>, tensor<3x5xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 7]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1574335222975513776, 13444520515073462318, 6161576638468621409, 8225075933022255398, 3423925308121324310], [14279226479372402454, 6504267309553873659, 280095390703565822, 1867403656944490368, 9651950256829329300], [10081339497265376040, 7892037964151243571, 15310538052843659690, 1675047378572075613, 14177178903474213890]]> : tensor<3x5xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui64>, tensor<3x5xui64>) -> ()
    return
  }
}

// -----

module @philox_uint8_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui8>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[176, 139, 46, 45, 97], [78, 38, 251, 22, 237], [22, 212, 251, 168, 254]]> : tensor<3x5xui8>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui8>, tensor<3x5xui8>) -> ()
    return
  }
}

// -----

module @philox_uint16_3x5_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui16>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[17584, 10635, 53294, 34861, 33889], [20814, 63782, 22267, 39702, 14829], [65302, 212, 62203, 52392, 15358]]> : tensor<3x5xui16>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x5xui16>, tensor<3x5xui16>) -> ()
    return
  }
}

// -----

module @philox_uint32_3x4_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 2]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1255621808, 366553483, 610783278, 3130296365], [2823062625, 1434603854, 2523396390, 1915049723], [1342872342, 797194733, 307756822, 3324641492]]> : tensor<3x4xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui32>, tensor<3x4xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_3x4_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 5]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1574335222975513776, 13444520515073462318, 6161576638468621409, 8225075933022255398], [3423925308121324310, 14279226479372402454, 6504267309553873659, 280095390703565822], [1867403656944490368, 9651950256829329300, 10081339497265376040, 7892037964151243571]]> : tensor<3x4xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<3x4xui64>, tensor<3x4xui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_scalar_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 0]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<1255621808> : tensor<ui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui32>, tensor<ui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_scalar_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 0]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<1574335222975513776> : tensor<ui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<ui64>, tensor<ui64>) -> ()
    return
  }
}

// -----

module @philox_uint32_5x1_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 1]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1255621808], [366553483], [610783278], [3130296365], [2823062625]]> : tensor<5x1xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui32>, tensor<5x1xui32>) -> ()
    return
  }
}

// -----

module @philox_uint64_5x1_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5x1xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 2]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[[1574335222975513776], [13444520515073462318], [6161576638468621409], [8225075933022255398], [3423925308121324310]]> : tensor<5x1xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<5x1xui64>, tensor<5x1xui64>) -> ()
    return
  }
}

// -----

module @default_uint32_8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %e0 = stablehlo.constant dense<[1, 4]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[2100602697, 2847456232, 2074354647, 800269529, 1828267006, 3135207875, 3972719319, 2171987788]> : tensor<8xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui32>, tensor<8xui32>) -> ()
    return
  }
}

// -----

module @default_uint64_8 {
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui64>)
    %e0 = stablehlo.constant dense<[1, 6]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[12229731395331991369, 3437131457114678231, 13465615291114923006, 9328616520744100567, 10786996542579945571, 14491549444881034529, 11286196318046670563, 5724011709439120292]> : tensor<8xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui64>, tensor<8xui64>) -> ()
    return
  }
}

// -----

module @default_uint32_8_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 1]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1255621808, 366553483, 610783278, 3130296365, 2823062625, 1434603854, 2523396390, 1915049723]> : tensor<8xui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui32>, tensor<8xui32>) -> ()
    return
  }
}

// -----

module @default_uint64_8_wide {
  func.func @main() {
    %x0 = stablehlo.constant dense<[18364758544493064720, 18446744073709551615]> : tensor<2xui64>
    %r:2 = "stablehlo.rng_bit_generator"(%x0) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui64>)
    %e0 = stablehlo.constant dense<[18364758544493064720, 3]> : tensor<2xui64>
    %e1 = stablehlo.constant dense<[1574335222975513776, 13444520515073462318, 6161576638468621409, 8225075933022255398, 3423925308121324310, 14279226479372402454, 6504267309553873659, 280095390703565822]> : tensor<8xui64>
    stablehlo.custom_call @check.expect_eq(%r#0, %e0) {has_side_effect = true} : (tensor<2xui64>, tensor<2xui64>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %e1) {has_side_effect = true} : (tensor<8xui64>, tensor<8xui64>) -> ()
    return
  }
}
