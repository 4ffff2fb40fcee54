/* loop_base.c - the tile kernels for the instruction set the build is for: any CPU runs it. See loop_kernels.h. */
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#define LOOP_ISA 0
#define LOOP_FIND loop_find_base
#include "engine/loop_kernels.h"
