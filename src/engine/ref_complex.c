/* ref_complex.c - reference kernels of elementwise ops on complex numbers.
 *
 * Below ref_elem.c's dispatch. Functions are computed one precision up (double, long double) and rounded once. */
#include "engine/ref.h"
#include <complex.h>
#include <math.h>

#define T float
#define W double
#define R(name) name
#define C(name) name
#define NAME(x) c64_##x
#include "ref_complex.inc"
#undef T
#undef W
#undef R
#undef C
#undef NAME
#define T double
#define W long double
#define R(name) name##l
#define C(name) name##l
#define NAME(x) c128_##x
#include "ref_complex.inc"

bool ref_complex_unary(hlo_op op, tt_dtype t, void *dst, const void *src, int64_t n) {
    return t == TT_C64 ? c64_unary(op, dst, src, n) : c128_unary(op, dst, src, n);
}

bool ref_complex_binary(hlo_op op, tt_dtype t, void *dst, const void *a, const void *b, int64_t n) {
    return t == TT_C64 ? c64_binary(op, dst, a, b, n) : c128_binary(op, dst, a, b, n);
}
