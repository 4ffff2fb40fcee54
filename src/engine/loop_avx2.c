/* loop_avx2.c - the tile kernels for AVX2, FMA and F16C. See loop_kernels.h. */
/* O1 with the vectoriser: as fast as O3 here, and compiled in three fifths of the time. */
#pragma GCC optimize("O1,tree-vectorize,vect-cost-model=dynamic,schedule-insns2,strict-aliasing,no-trapping-math,no-math-errno")
#if defined(__x86_64__)
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#define LOOP_ISA 256
#define LOOP_FIND loop_find_avx2
#include "engine/loop_kernels.h"
#else
#include "engine/loop.h"
loop_kernel loop_find_avx2(int op, tt_dtype in, tt_dtype out, int direction) {
    return loop_find_base(op, in, out, direction);
}
#endif
