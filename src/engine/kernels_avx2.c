/* kernels_avx2.c - the kernels for AVX2 with FMA and F16C. Called only where isa.c found them. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#define SIMD 256
#include "engine/kernel_all.h"

const eng_kernels eng_kernels_avx2 = {
    .f32 = FLAVOR_WIDENED(f32, 4, DIRECT_F32),
    .bf16 = FLAVOR_WIDENED(bf16, 2, {{NULL}}),
    .f16 = FLAVOR_WIDENED(f16, 2, {{NULL}}),
    .f64 = FLAVOR_F64,
    .attend = attend_rows,
    .narrow_rows = narrow_rows,
    KERNELS_SHARED,
};
#endif
