/* loop_base.c - the tile kernels for the instruction set the build is for: any CPU runs it. See loop_kernels.h. */
#if defined(__x86_64__) /* for old machines only: see loop_avx2.c */
#pragma GCC optimize("O1,tree-vectorize,vect-cost-model=dynamic,schedule-insns2,strict-aliasing,no-trapping-math,no-math-errno")
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#define LOOP_ISA 0
#define LOOP_FIND loop_find_base
#include "engine/loop_kernels.h"
