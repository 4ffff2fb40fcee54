/* loop_avx512.c - the tile kernels for AVX-512 (F, BW, VL, DQ). See loop_kernels.h. */
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx2,fma,f16c,bmi,bmi2,prefer-vector-width=512")
#define LOOP_ISA 512
#define LOOP_FIND loop_find_avx512
#include "engine/loop_kernels.h"
#else
#include "engine/loop.h"
loop_kernel loop_find_avx512(int op, tt_dtype in, tt_dtype out, int direction) {
    return loop_find_base(op, in, out, direction);
}
#endif
