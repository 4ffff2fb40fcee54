/* test_engine_loops.c - vector math against libm in double, and fused loops against the same ops run one by one.
 *
 * Random graphs of elementwise and shape ops are grouped by eng_fuse, compiled and run; every value that leaves a group must have the bits
 * that the plain evaluation below gives, on every instruction set, compiled or not. */
#include "test.h"
#include "base/env.h"
#include "engine/isa.h"
#include "engine/loop_plan.h"
#include "engine/loop_view.h"
#include "engine/ref.h"
#include "hlo/build.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define BASE_HAS_FMA 0
#else
#define BASE_HAS_FMA 1
#endif

static uint64_t seed = 88172645463325252ull;
static uint32_t rnd(uint32_t n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 11) % n;
}

/* ---- vector math ---- */
static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double rsqrt(double x) { return 1 / sqrt(x); }

static double ulps(float have, double want) {
    float w = (float)want;
    if (isnan(want))
        return isnan(have) ? 0 : INFINITY;
    if (isinf(w) || isinf(have))
        return w == have || (isinf(have) && fabs(want) > 3.3e38) ? 0 : INFINITY;
    if (w == 0 && have == 0)
        return !!signbit(have) == !!signbit(w) ? 0 : INFINITY;
    int e;
    frexp(want, &e);
    return fabs((double)have - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

TEST(vector_math) {
    static const struct { hlo_op op; double (*f)(double); double most; } functions[] = {
        {HLO_EXP, exp, 1.1}, {HLO_EXPM1, expm1, 2}, {HLO_LOG, log, 1}, {HLO_LOG1P, log1p, 2}, {HLO_TANH, tanh, 1.5}, {HLO_CHLO_ERF, erf, 1.3}, {HLO_TAN, tan, 3}, {HLO_CHLO_SINH, sinh, 4}, {HLO_CHLO_COSH, cosh, 4},
        {HLO_CHLO_ASIN, asin, 3}, {HLO_CHLO_ACOS, acos, 3}, {HLO_CHLO_ATAN, atan, 2},
        {HLO_LOGISTIC, logistic, 2.5}, {HLO_SINE, sin, 2}, {HLO_COSINE, cos, 2}, {HLO_RSQRT, rsqrt, 1.6}, {HLO_SQRT, sqrt, 0.5},
        {HLO_CHLO_ERF_INV, ref_erf_inv, 3.5}, {HLO_CHLO_ERFC, erfc, 4.5}, {HLO_CHLO_ASINH, asinh, 4}, {HLO_CHLO_ACOSH, acosh, 4}, {HLO_CHLO_ATANH, atanh, 4},
        {HLO_CHLO_LGAMMA, ref_lgamma, 1}, {HLO_CHLO_DIGAMMA, ref_digamma, 1}, {HLO_FLOOR, floor, 0}, {HLO_CEIL, ceil, 0}, {HLO_ROUND_EVEN, rint, 0}, {HLO_ROUND_AFZ, round, 0}, {HLO_ABS, fabs, 0}};
    static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 2, -2, 3, -3, 8, 10.05f, -20.5f, 1e10f, 0.75f, 1.9999999f, 0.99999994f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 1e-45f, -1e-45f, 88.7f, 88.73f,
                                    -103.97f, -104, 3.4e38f, 8388607.5f, 8388609, 0.49999997f, -0.49999997f};
    for (int isa = ENG_ISA_PORTABLE; isa <= ENG_ISA_AVX512; isa++) {
        eng_isa_limit((eng_isa)isa);
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            loop_kernel kernel = loop_find(functions[k].op, TT_F32, TT_F32, 0);
            double worst = 0;
            float x[1001], y[1001];
            memcpy(x, special, sizeof special);
            int n = (int)(sizeof special / sizeof *special);
            for (uint64_t u = 0; u < 1ull << 32; u += 9973) { /* all over the floats */
                uint32_t w = (uint32_t)u;
                memcpy(&x[n++], &w, 4);
                if (n < 1001)
                    continue;
                kernel(y, x, NULL, NULL, n);
                for (int i = 0; i < n; i++)
                    worst = fmax(worst, ulps(y[i], functions[k].f((double)x[i])));
                n = 0;
            }
            if (worst > functions[k].most)
                fprintf(stderr, "%s: %g ulp at level %d\n", hlo_op_text(functions[k].op), worst, isa);
            CHECK(worst <= functions[k].most);
        }
    }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
}

static double ulps_of_double(double have, long double want) {
    const double w = (double)want;
    if (isnan(w) || isnan(have))
        return isnan(w) && isnan(have) ? 0 : INFINITY;
    if (isinf(w) || isinf(have))
        return w == have || (isinf(have) && fabsl(want) > 1.797e308L) ? 0 : INFINITY;
    if (w == 0 && have == 0)
        return !!signbit(have) == !!signbit(w) ? 0 : INFINITY;
    int e;
    frexpl(want, &e);
    return (double)(fabsl((long double)have - want) / ldexpl(1, (e < -1021 ? -1021 : e) - 53));
}
static long double logistic_long(long double x) { return expl(-x) > 1.7976931348623158e308L ? 0 : 1 / (1 + expl(-x)); } /* as PyTorch's */
static long double power_of_two(long double x) { return exp2l(x); }

/* Numbers of all sizes, every second one near 1, and at the ends of what functions do themselves. */
TEST(vector_math_of_doubles) {
    static const struct { hlo_op op; long double (*f)(long double); double most; } functions[] = {
        {HLO_EXP, expl, 1.2}, {HLO_EXPM1, expm1l, 2}, {HLO_LOG, logl, 1}, {HLO_LOG1P, log1pl, 1.5}, {HLO_TANH, tanhl, 3}, {HLO_TAN, tanl, 3},
        {HLO_CHLO_SINH, sinhl, 3}, {HLO_CHLO_COSH, coshl, 2}, {HLO_CHLO_ASIN, asinl, 2}, {HLO_CHLO_ACOS, acosl, 2}, {HLO_CHLO_ATAN, atanl, 2},
        {HLO_LOGISTIC, logistic_long, 2.5}, {HLO_SINE, sinl, 1.5}, {HLO_COSINE, cosl, 1.5}, {HLO_CHLO_ERF, erfl, 1.5}, {HLO_CHLO_ERFC, erfcl, 4},
        {HLO_POWER, power_of_two, 1.2}};
    static const double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, -0.5, 2, 6, -6, 26.6, 28, 709, 709.7, 709.8, 710, -708.4, -740, -745.2, -746,
                                     1023.5, 1024, -1074, -1075.5, 1e6, 1e22, 1.5707963267948966, -3.141592653589793, 710004.9396999999, 5e-324, -1e-310, 1e-300,
                                     1.7e308, 22, -37.5, 0.34657, 0.99999999999999989, -0.99999999999999989, 2251799813685249.5};
    for (int isa = ENG_ISA_PORTABLE; isa <= ENG_ISA_AVX512; isa++) {
        eng_isa_limit((eng_isa)isa);
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            loop_kernel kernel = loop_find(functions[k].op, TT_F64, TT_F64, 0);
            double worst = 0, at = 0, x[1001], y[1001], two[1001];
            for (int round = 0; round < 40; round++) {
                memcpy(x, special, sizeof special);
                for (int i = round ? 0 : (int)(sizeof special / sizeof *special); i < 1001; i++) {
                    const double part = (double)rnd(UINT32_MAX) / 4294967296.0 + (double)rnd(UINT32_MAX) / 0x1p64;
                    x[i] = ldexp(part + 0.5, i % 2 ? (int)rnd(4) - 3 : i % 5 ? (int)rnd(14) - 4 : (int)rnd(2100) - 1060) * (rnd(2) ? 1 : -1);
                }
                for (int i = 0; i < 1001; i++)
                    two[i] = 2;
                kernel(y, functions[k].op == HLO_POWER ? two : x, functions[k].op == HLO_POWER ? x : NULL, NULL, 1001);
                for (int i = 0; i < 1001; i++) {
                    const double u = ulps_of_double(y[i], functions[k].f((long double)x[i]));
                    at = u > worst ? x[i] : at;
                    worst = fmax(worst, u);
                }
            }
            if (worst > functions[k].most)
                fprintf(stderr, "%s: %g ulp of %.17g at level %d\n", hlo_op_text(functions[k].op), worst, at, isa);
            CHECK(worst <= functions[k].most);
        }
    }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
}

TEST(power_and_remainder) {
    static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 2, -2, 0.5f, 3, -3, 1e-40f, 1e38f, 2.5f, -2.5f, 8388609, 16777216};
    for (int isa = ENG_ISA_PORTABLE; isa <= ENG_ISA_AVX512; isa++) {
        eng_isa_limit((eng_isa)isa);
        loop_kernel power = loop_find(HLO_POWER, TT_F32, TT_F32, 0), remainder = loop_find(HLO_REMAINDER, TT_F32, TT_F32, 0);
        double worst = 0;
        int wrong = 0;
        for (int round = 0; round < 4000; round++) {
            float x[50], y[50], p[50], r[50];
            for (int i = 0; i < 50; i++) {
                uint32_t u = rnd(UINT32_MAX), v = rnd(UINT32_MAX);
                x[i] = ((float)(u % 20001) - 10000) / 1000, y[i] = v % 3 ? ((float)(v % 2001) - 1000) / 100 : (float)(v % 41) - 20;
                if (round & 1)
                    memcpy(&x[i], &u, 4), memcpy(&y[i], &v, 4);
                x[i] = u % 11 ? x[i] : special[v % 18];
                y[i] = v % 13 ? y[i] : special[u % 18];
            }
            power(p, x, y, NULL, 50);
            remainder(r, x, y, NULL, 50);
            for (int i = 0; i < 50; i++) {
                float want = fmodf(x[i], y[i]);
                worst = fmax(worst, ulps(p[i], pow((double)x[i], (double)y[i])));
                wrong += isnan(want) ? !isnan(r[i]) : want != r[i] || !signbit(want) != !signbit(r[i]);
            }
        }
        CHECK(worst < 1);
        CHECK(wrong == 0);
    }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
}

/* ---- random graphs ---- */
enum { MOST = 400 };
typedef struct program {
    tt_arena *arena;
    hlo_graph *g;
    hlo_block *block;
    hlo_ref values[MOST], results[4];
    int n, n_results, rank;
    int64_t dims[4];
    void **plain, **fused; /* by ref */
} program;

static const tt_dtype dtypes[] = {TT_F32, TT_BF16, TT_F16, TT_F64, TT_I32, TT_I64, TT_I8, TT_U8, TT_PRED};

static void fill(tt_dtype d, char *p, int64_t n) {
    for (int64_t i = 0; i < n; i++, p += tt_dtype_size(d)) {
        static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-40};
        if (d == TT_PRED)
            *p = (char)rnd(2);
        else if (tt_is_int(d))
            tt_element_set_int(d, p, rnd(10) ? (int)rnd(20) - 10 : (int64_t)((uint64_t)rnd(1u << 31) << 33 | rnd(1u << 31)));
        else
            tt_element_set(d, p, rnd(9) ? ((double)rnd(2000) - 1000) / 250 : odd[rnd(5)]);
    }
}

static hlo_ref random_elementwise(program *p, hlo_ref a, hlo_ref b) {
    static const hlo_op unary[] = {HLO_EXP, HLO_TANH, HLO_NEGATE, HLO_ABS, HLO_LOGISTIC, HLO_SQRT, HLO_FLOOR, HLO_LOG, HLO_CHLO_ERF, HLO_RSQRT,
                                   HLO_CEIL, HLO_ROUND_EVEN, HLO_SIGN, HLO_CHLO_SQUARE, HLO_IS_FINITE};
    static const hlo_op binary[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_MAXIMUM, HLO_MINIMUM, HLO_DIVIDE};
    static const char *const directions[] = {"LT", "GE", "EQ", "NE", "GT", "LE"};
    hlo_graph *g = p->g;
    const hlo_type *x = hlo_type_of(g, a), *y = hlo_type_of(g, b);
    switch (rnd(8)) {
    case 0: case 1: case 2:
        if (!hlo_dims_equal(x, y))
            return HLO_NONE;
        return hlo_binary(g, x->dtype == TT_PRED ? HLO_AND : binary[rnd(6)], a, hlo_convert(g, b, x->dtype));
    case 3: case 4: return tt_is_float(x->dtype) ? hlo_unary(g, unary[rnd(15)], a) : HLO_NONE;
    case 5: return hlo_convert(g, a, dtypes[rnd(8)]);
    case 6: return hlo_type_equal(x, y) ? hlo_compare(g, directions[rnd(6)], a, b) : HLO_NONE;
    default:
        for (int i = 0; i < 20; i++) {
            hlo_ref c = p->values[rnd((uint32_t)p->n)];
            const hlo_type *t = hlo_type_of(g, c);
            if (t->dtype == TT_PRED && hlo_type_equal(x, y) && (hlo_dims_equal(t, x) || t->rank == 0))
                return hlo_select(g, c, a, b);
        }
        return HLO_NONE;
    }
}

static hlo_ref random_shape(program *p, hlo_ref a) {
    hlo_graph *g = p->g;
    hlo_type t = *hlo_type_of(g, a);
    int64_t v[3][HLO_MAX_RANK], n = hlo_type_elements(&t);
    int k = 0;
    switch (rnd(8)) {
    case 0:
        for (int d = 0; d < t.rank; d++)
            if (t.rank > p->rank || (t.dims[t.rank - 1 - d] != p->dims[p->rank - 1 - d] && t.dims[t.rank - 1 - d] != 1))
                return HLO_NONE;
        return hlo_broadcast_to(g, a, p->rank, p->dims);
    case 1:
        for (int d = 0; d < t.rank; d++)
            v[0][d] = d;
        for (int d = t.rank - 1; d > 0; d--) {
            uint32_t j = rnd((uint32_t)d + 1);
            int64_t swap = v[0][d];
            v[0][d] = v[0][j], v[0][j] = swap;
        }
        return hlo_transpose(g, a, v[0]);
    case 2:
        for (int64_t f; n > 1 && k < 2 && (f = 1 + rnd(8), n % f == 0); n /= f)
            v[0][k++] = f;
        v[0][k++] = n;
        return hlo_reshape(g, a, k, v[0]);
    case 3:
        for (int d = 0; d < t.rank; d++) {
            v[0][d] = rnd(2) ? 0 : rnd((uint32_t)t.dims[d]);
            v[1][d] = v[0][d] + 1 + rnd((uint32_t)(t.dims[d] - v[0][d]));
            v[2][d] = 1 + rnd(3);
        }
        return hlo_slice(g, a, v[0], v[1], v[2]);
    case 4: v[0][0] = t.rank ? rnd((uint32_t)t.rank) : 0; return t.rank ? hlo_reverse(g, a, 1, v[0]) : HLO_NONE;
    case 5: return t.dtype != TT_PRED ? hlo_splat(g, &t, (double)rnd(5)) : HLO_NONE;
    case 6: return t.rank && t.dtype != TT_PRED ? hlo_iota(g, &t, (int)rnd((uint32_t)t.rank)) : HLO_NONE;
    default: {
        char data[512];
        if (n * tt_dtype_size(t.dtype) > (int64_t)sizeof data)
            return HLO_NONE;
        fill(t.dtype, data, n);
        return hlo_constant(g, &t, data);
    }
    }
}

/* kinds: of dtypes[], how many parameters have; 0: all are bf16 */
static void build(program *p, int kinds) {
    p->arena = tt_arena_create();
    p->g = hlo_graph_create(p->arena, "m");
    hlo_func_begin(p->g, "main", true);
    p->rank = (int)rnd(4);
    for (int d = 0; d < p->rank; d++)
        p->dims[d] = rnd(8) == 0 ? 1 : rnd(4) == 0 ? 1 + rnd(200) : 1 + rnd(9);
    for (int i = 3 + (int)rnd(4); i > 0; i--) {
        hlo_type t = hlo_type_make(kinds ? dtypes[rnd((uint32_t)kinds)] : TT_BF16, p->rank, p->dims);
        if (rnd(3) == 0)
            t.rank = 0;
        else if (rnd(3) == 0 && p->rank)
            t = hlo_type_make(t.dtype, 1, p->dims + p->rank - 1);
        p->values[p->n++] = hlo_param(p->g, &t);
    }
    for (int i = 5 + (int)rnd(40); i > 0; i--) {
        hlo_ref a = p->values[rnd((uint32_t)p->n)], b = p->values[rnd((uint32_t)p->n)];
        hlo_ref r = rnd(2) ? random_elementwise(p, a, b) : random_shape(p, a);
        if (r && r != a)
            p->values[p->n++] = r;
    }
    p->n_results = 1 + (int)rnd(4);
    for (int i = 0; i < p->n_results; i++)
        p->results[i] = p->values[p->n - 1 - (int)rnd(p->n < 6 ? (uint32_t)p->n : 6)];
    hlo_return(p->g, p->n_results, p->results);
    CHECK_OK(hlo_graph_take_error(p->g));
    p->block = p->g->funcs[0]->body;
}

/* ---- plain evaluation ---- */
static void plain_shape(const program *p, const hlo_node *n, char *out) {
    const hlo_type *t = n->type, *from = n->n_operands ? hlo_type_of(p->g, n->operands[0]) : t;
    int size = tt_dtype_size(t->dtype);
    int64_t at[HLO_MAX_RANK] = {0}, j[HLO_MAX_RANK];
    hlo_ints map = hlo_attr_ints(n, n->op == HLO_TRANSPOSE ? HLO_A_PERMUTATION : n->op == HLO_REVERSE ? HLO_A_DIMENSIONS : HLO_A_BROADCAST_DIMENSIONS);
    hlo_ints start = hlo_attr_ints(n, HLO_A_START_INDICES), step = hlo_attr_ints(n, HLO_A_STRIDES);
    for (int64_t i = 0; i < hlo_type_elements(t); i++, out += size) {
        int64_t linear = 0, rest = i;
        for (int d = t->rank - 1; d >= 0; d--) {
            at[d] = j[d] = rest % t->dims[d];
            rest /= t->dims[d];
        }
        if (n->op == HLO_IOTA) {
            int64_t v = at[hlo_attr_int(n, HLO_A_IOTA_DIMENSION, 0)];
            if (tt_is_int(t->dtype))
                tt_element_set_int(t->dtype, out, v);
            else
                tt_element_set(t->dtype, out, (double)v);
            continue;
        }
        if (n->op == HLO_CONSTANT) {
            const hlo_attr *a = hlo_attr_find(n, HLO_A_VALUE);
            memcpy(out, (const char *)a->data + (a->splat ? 0 : i * size), (size_t)size);
            continue;
        }
        for (int k = 0; k < map.n && n->op == HLO_BROADCAST_IN_DIM; k++)
            j[k] = from->dims[k] == 1 ? 0 : at[map.v[k]];
        for (int k = 0; k < map.n && n->op == HLO_TRANSPOSE; k++)
            j[map.v[k]] = at[k];
        for (int k = 0; k < map.n && n->op == HLO_REVERSE; k++)
            j[map.v[k]] = from->dims[map.v[k]] - 1 - at[map.v[k]];
        for (int k = 0; k < start.n; k++)
            j[k] = start.v[k] + at[k] * (step.n ? step.v[k] : 1);
        for (int k = 0; k < from->rank && n->op != HLO_RESHAPE; k++)
            linear = linear * from->dims[k] + j[k];
        memcpy(out, (const char *)p->plain[n->operands[0]] + (n->op == HLO_RESHAPE ? i : linear) * size, (size_t)size);
    }
}

static void plain_run(const program *p) {
    for (int i = 0; i < p->block->n_nodes; i++) {
        hlo_ref r = p->block->nodes[i];
        const hlo_node *n = hlo_node_at(p->g, r);
        loop_kernel kernel = loop_find_node(p->g, n);
        int64_t count = hlo_type_elements(n->type);
        char *spread[3] = {NULL};
        const void *in[3] = {NULL};
        if (!kernel) {
            plain_shape(p, n, p->plain[r]);
            continue;
        }
        for (uint32_t k = 0; k < n->n_operands; k++) {
            const hlo_type *t = hlo_type_of(p->g, n->operands[k]);
            int size = tt_dtype_size(t->dtype);
            in[k] = p->plain[n->operands[k]];
            if (t->rank || count == 1)
                continue;
            in[k] = spread[k] = malloc((size_t)(count * size));
            for (int64_t j = 0; j < count; j++)
                memcpy(spread[k] + j * size, p->plain[n->operands[k]], (size_t)size);
        }
        kernel(p->plain[r], in[0], in[1], in[2], count);
        for (int k = 0; k < 3; k++)
            free(spread[k]);
    }
}

/* ---- fused ---- */
static bool same(const hlo_type *t, const char *a, const char *b) { /* any NaN is any other */
    int size = tt_dtype_size(t->dtype);
    for (int64_t i = 0; i < hlo_type_elements(t); i++, a += size, b += size)
        if (memcmp(a, b, (size_t)size) && !(tt_is_float(t->dtype) && isnan(tt_element_get(t->dtype, a)) && isnan(tt_element_get(t->dtype, b))))
            return false;
    return true;
}

static bool read_outside(const program *p, const int *group, int mine, hlo_ref r) {
    for (int i = 0; i < p->n_results; i++)
        if (p->results[i] == r)
            return true;
    for (int i = 0; i < p->block->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(p->g, p->block->nodes[i]);
        for (uint32_t k = 0; group[i] != mine && k < n->n_operands; k++)
            if (n->operands[k] == r)
                return true;
    }
    return false;
}

static int n_loops, n_refused, n_compiled, n_looked_through;

/* With excess precision code and tile kernels give the same, and without 16-bit floats there is none. */
static void run_with_excess_precision(program *p, int n, const hlo_ref *members, int n_out, const hlo_ref *outputs) {
    void *in[MOST], *out[2][MOST];
    int n_in;
    const hlo_ref *inputs;
    eng_loop *l = eng_loop_create(p->arena, p->g, true, n, members, n_out, outputs, &n_in, &inputs);
    bool any_half = false;
    CHECK(l);
    for (int i = 0; l && i < n_in; i++) {
        in[i] = p->fused[inputs[i]];
        any_half |= hlo_type_of(p->g, inputs[i])->dtype == TT_BF16 || hlo_type_of(p->g, inputs[i])->dtype == TT_F16;
    }
    for (int i = 0; i < n; i++)
        any_half |= hlo_type_of(p->g, members[i])->dtype == TT_BF16 || hlo_type_of(p->g, members[i])->dtype == TT_F16;
    for (int k = 0; l && k < 2; k++) {
        for (int i = 0; i < n_out; i++)
            out[k][i] = tt_arena_alloc(p->arena, (size_t)hlo_type_bytes(hlo_type_of(p->g, outputs[i])) + 1);
        eng_loop_run(l, in, out[k]);
        l->code = NULL;
        for (int i = 0; i < l->n_sources; i++)
            l->sources[i].uniform = false;
    }
    for (int i = 0; l && i < n_out; i++) {
        const hlo_type *t = hlo_type_of(p->g, outputs[i]);
        CHECK(same(t, out[0][i], out[1][i]) && (any_half || same(t, out[0][i], p->plain[outputs[i]])));
    }
}

/* The loop of group `mine`, whose last member is at `last`. */
static void run_group(program *p, const int *group, int mine, int last, bool *defined) {
    hlo_ref members[MOST], outputs[MOST];
    void *in[MOST], *out[MOST];
    int n = 0, n_out = 0, n_in;
    const hlo_ref *inputs;
    for (int i = 0; i <= last; i++)
        if (group[i] == mine)
            members[n++] = p->block->nodes[i];
    for (int i = 0; i < n; i++)
        if (read_outside(p, group, mine, members[i]))
            outputs[n_out++] = members[i];
    if (!n_out)
        return;
    eng_loop *l = eng_loop_create(p->arena, p->g, false, n, members, n_out, outputs, &n_in, &inputs);
    n_loops++;
    n_refused += !l;
    for (int i = 0; i < n_out && !l; i++) { /* the dims of its reads do not nest: rare, and then members run singly */
        memcpy(p->fused[outputs[i]], p->plain[outputs[i]], (size_t)hlo_type_bytes(hlo_type_of(p->g, outputs[i])));
        defined[outputs[i]] = true;
    }
    if (!l)
        return;
    n_compiled += l->code != NULL;
    for (int i = 0; i < n_in; i++) {
        CHECK(defined[inputs[i]]);
        in[i] = p->fused[inputs[i]];
    }
    for (int i = 0; i < n_out; i++) {
        out[i] = p->fused[outputs[i]];
        defined[outputs[i]] = true;
    }
    eng_loop_run(l, in, out);
    for (int i = 0; i < n_out; i++)
        CHECK(same(hlo_type_of(p->g, outputs[i]), p->fused[outputs[i]], p->plain[outputs[i]]));
    run_with_excess_precision(p, n, members, n_out, outputs);
}

static void fused_run(program *p) {
    int n = p->block->n_nodes, n_groups, *group = TT_NEW_N(p->arena, int, n + 1);
    bool *is_result = TT_NEW_N(p->arena, bool, n + 1), *defined = TT_NEW_N(p->arena, bool, p->g->n_nodes);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < p->n_results; k++)
            is_result[i] |= p->block->nodes[i] == p->results[k];
    eng_fuse(p->arena, p->g, p->block, is_result, group, &n_groups);
    for (int i = 0; i < p->block->n_params; i++)
        defined[p->block->params[i]] = true;
    for (int i = 0; i < n; i++) {
        const hlo_node *node = hlo_node_at(p->g, p->block->nodes[i]);
        bool last = true;
        for (int k = i + 1; k < n; k++)
            last &= group[k] != group[i];
        if (group[i] == ENG_LOOKED_THROUGH) {
            n_looked_through++;
        } else if (group[i] >= 0 && last) {
            run_group(p, group, group[i], i, defined);
        } else if (group[i] < 0) {
            for (uint32_t k = 0; k < node->n_operands; k++)
                CHECK(defined[node->operands[k]]);
            defined[p->block->nodes[i]] = true;
            memcpy(p->fused[p->block->nodes[i]], p->plain[p->block->nodes[i]], (size_t)hlo_type_bytes(node->type));
        }
    }
    for (int i = 0; i < p->n_results; i++)
        CHECK(same(hlo_type_of(p->g, p->results[i]), p->fused[p->results[i]], p->plain[p->results[i]]));
}

static void one_graph(int kinds) {
    program *p = calloc(1, sizeof *p);
    build(p, kinds);
    p->plain = calloc(p->g->n_nodes, sizeof *p->plain);
    p->fused = calloc(p->g->n_nodes, sizeof *p->fused);
    for (uint32_t r = 1; r < p->g->n_nodes; r++)
        if (hlo_type_of(p->g, r)) {
            size_t bytes = (size_t)hlo_type_bytes(hlo_type_of(p->g, r)) + 1;
            p->plain[r] = malloc(bytes);
            p->fused[r] = malloc(bytes);
        }
    for (int i = 0; i < p->block->n_params; i++) {
        hlo_ref r = p->block->params[i];
        const hlo_type *t = hlo_type_of(p->g, r);
        fill(t->dtype, p->plain[r], hlo_type_elements(t));
        memcpy(p->fused[r], p->plain[r], (size_t)hlo_type_bytes(t));
    }
    plain_run(p);
    fused_run(p);
    for (uint32_t r = 1; r < p->g->n_nodes; r++) {
        free(p->plain[r]);
        free(p->fused[r]);
    }
    free(p->plain);
    free(p->fused);
    tt_arena_destroy(p->arena);
    free(p);
}

TEST(fused_graphs) {
    int compiled[ENG_ISA_AVX512_BF16 + 1] = {0};
    for (int round = 0, n = test_rounds(6000, &seed); round < n && !test_failures; round++) {
        eng_isa level = eng_isa_limit((eng_isa)(round % 4));
        n_compiled = 0;
        one_graph((const int[]){9, 3, 0}[round / 4 % 3]);
        compiled[level] += n_compiled;
    }
    CHECK(n_loops > 1000 && n_looked_through > 50 && n_refused <= n_loops / 10000);
    for (int level = ENG_ISA_AVX2; level <= ENG_ISA_AVX512_BF16; level++)
        if (eng_isa_limit((eng_isa)level) == (eng_isa)level)
            CHECK(compiled[level] > 100);
    CHECK(compiled[ENG_ISA_PORTABLE] == 0);
    eng_isa_limit(ENG_ISA_AVX512_BF16);
}

/* Arrays that no cache holds are written past it, where they are aligned and not read: the same values, and none beside them. */
TEST(large_loops) {
    static const tt_dtype types[] = {TT_F32, TT_BF16};
    for (int k = 0; k < 8; k++) {
        tt_arena *arena = tt_arena_create();
        hlo_graph *g = hlo_graph_create(arena, "m");
        hlo_type t = hlo_type_make(types[k / 2 % 2], 1, (int64_t[]){(12 << 20) / tt_dtype_size(types[k / 2 % 2]) + 77});
        size_t bytes = (size_t)hlo_type_bytes(&t);
        hlo_func_begin(g, "main", true);
        hlo_ref x = hlo_param(g, &t), y = hlo_param(g, &t), product = hlo_mul(g, x, y), sum = hlo_add(g, product, hlo_splat_like(g, x, 3));
        char *in[2], *out[2], *memory[4];
        for (int i = 0; i < 4; i++)
            memory[i] = aligned_alloc(64, (bytes + 255) & ~(size_t)63);
        for (int i = 0; i < 2; i++) {
            in[i] = memory[i];
            out[i] = memory[2 + i] + k % 2 * tt_dtype_size(t.dtype); /* aligned or not */
            memset(memory[2 + i], 0x5a, bytes + 128);
            fill(t.dtype, in[i], hlo_type_elements(&t));
        }
        int n_in;
        const hlo_ref *inputs;
        for (int i = 0; i < 2; i++) {
            eng_loop *l = eng_loop_create(arena, g, false, k < 4 ? 2 : 1, (hlo_ref[]){product, sum}, 1, k < 4 ? &sum : &product, &n_in, &inputs);
            CHECK(l && (!l->code || eng_isa_level() < ENG_ISA_AVX512 || l->streams));
            if (i)
                l->code = l->streams = NULL;
            eng_loop_run(l, (void *[]){in[inputs[0] != x], in[inputs[0] == x]}, (void *[]){out[i]});
        }
        CHECK(same(&t, out[0], out[1]) && out[0][bytes] == 0x5a);
        for (int i = 0; i < 4; i++)
            free(memory[i]);
        tt_arena_destroy(arena);
    }
}

/* A system that maps no memory for execution: loops run their tile kernels, with the same results. */
static bool refuse_code(void) {
#if defined(__x86_64__)
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
#else
    return true; /* nothing is compiled there */
#endif
}

TEST(code_refused) {
    if (test_argc < 2) { /* in a process of its own, before any loop has been compiled */
        char command[600];
        const char *wrapper = getenv("MESON_EXE_WRAPPER");
        snprintf(command, sizeof command, "%s %s code_refused > /dev/null", wrapper ? wrapper : "", test_argv[0]);
        CHECK(system(command) == 0);
        snprintf(command, sizeof command, "TORCH_TPU_JIT=0 %s %s code_refused > /dev/null", wrapper ? wrapper : "", test_argv[0]);
        CHECK(system(command) == 0);
        return;
    }
    bool refused = tt_env_int(TT_ENV_JIT) == 0 || refuse_code();
    for (int round = 0; round < 300 && !test_failures; round++)
        one_graph(round % 2 ? 3 : 9);
    CHECK(n_loops > 100);
    CHECK(!refused || n_compiled == 0);
}

/* ---- the same at every level that has fused multiply-add ---- */
static uint64_t bits_of(hlo_op op, tt_dtype d) {
    loop_kernel kernel = loop_find(op, d, d, 0);
    uint64_t h = 0;
    enum { N = 1000 };
    char x[3][N * 8], y[N * 8];
    int size = tt_dtype_size(d);
    for (int round = 0; round < 60; round++) {
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < N; i++) {
                uint32_t u = rnd(UINT32_MAX);
                float f = ((float)(u % 40001) - 20000) / 500;
                if (round % 3 == 0)
                    memcpy(&f, &u, 4);
                if ((op == HLO_SINE || op == HLO_COSINE) && !(fabsf(f) < 30000))
                    f = 3; /* beyond lies the C library's */
                tt_element_set(d, x[k] + i * size, (double)f);
            }
        kernel(y, x[0], x[1], x[2], N);
        for (int i = 0; i < N; i++) {
            uint32_t w = 0x7fc00000;
            if (!isnan(tt_element_get(d, y + i * size)))
                memcpy(&w, y + i * size, (size_t)size);
            h = (h ^ w) * 0x100000001b3ull;
        }
    }
    return h;
}

TEST(same_bits_at_every_level) {
    static const hlo_op ops[] = {HLO_EXP, HLO_EXPM1, HLO_LOG, HLO_LOG1P, HLO_TANH, HLO_CHLO_ERF, HLO_LOGISTIC, HLO_SINE, HLO_COSINE, HLO_RSQRT, HLO_SQRT,
                                 HLO_CHLO_ERF_INV, HLO_FLOOR, HLO_CEIL, HLO_ROUND_EVEN, HLO_ROUND_AFZ, HLO_ABS, HLO_SIGN, HLO_NEGATE, HLO_ADD,
                                 HLO_SUBTRACT, HLO_MULTIPLY, HLO_DIVIDE, HLO_MAXIMUM, HLO_MINIMUM, HLO_CLAMP};
    static const tt_dtype types[] = {TT_F32, TT_BF16, TT_F16};
    uint64_t total = 0;
    bool any_level = false;
    seed = 88172645463325252ull;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int t = 0; t < 3; t++) {
            uint64_t all = 0, one, first = seed;
            for (int level = BASE_HAS_FMA ? ENG_ISA_PORTABLE : ENG_ISA_AVX2; level <= ENG_ISA_AVX512; level++) {
                if (eng_isa_limit((eng_isa)level) != (eng_isa)level)
                    continue;
                seed = first;
                one = bits_of(ops[i], types[t]);
                if (all && all != one)
                    fprintf(stderr, "%s of %s differs at level %d\n", hlo_op_text(ops[i]), tt_dtype_name(types[t]), level);
                CHECK(!all || all == one);
                all = one;
                any_level = true;
            }
            total = (total ^ all) * 0x100000001b3ull;
            if (getenv("TT_SHOW"))
                printf("%s %s %016llx\n", hlo_op_text(ops[i]), tt_dtype_name(types[t]), (unsigned long long)all);
        }
    if (getenv("TT_SHOW"))
        printf("%016llx\n", (unsigned long long)total);
    CHECK(!any_level || total == 0x4c5688e5e3f9def7ull); /* so it is on x86-64 and on ARM */
    eng_isa_limit(ENG_ISA_AVX512_BF16);
}
