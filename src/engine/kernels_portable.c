/* kernels_portable.c - the kernels for any processor, with 16-byte GCC vectors. */
#define SIMD 128
#include "engine/kernel_all.h"

const eng_kernels eng_kernels_portable = {
    .f32 = FLAVOR_WIDENED(f32, 4, DIRECT_F32),
    .bf16 = FLAVOR_WIDENED(bf16, 2, {{NULL}}),
    .f16 = FLAVOR_WIDENED(f16, 2, {{NULL}}),
    .f64 = FLAVOR_F64,
    .attend = attend_rows,
    .narrow_rows = narrow_rows,
    KERNELS_SHARED,
};
