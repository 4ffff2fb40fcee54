/* test_engine_kernels.c - products, convolutions and composites of the engine against plain sums in double, at every
 * instruction set that the processor has. Shapes, layouts and paddings are random around tile edges. TT_FUZZ, TT_SEED as in test.h. */
#include "engine/fast_gemm.h"
#include "engine/isa.h"
#include "test.h"
#include <math.h>

tt_status eng_fast_dot_general(eng_run *, const hlo_graph *, const hlo_node *, const eng_tensor *, eng_tensor *);
tt_status eng_fast_convolution(eng_run *, const hlo_graph *, const hlo_node *, const eng_tensor *, eng_tensor *);

static uint64_t state = TEST_SEED;
static uint32_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}
static int64_t below(int64_t n) { return (int64_t)(next() % (uint64_t)n); }
static int64_t pick(int n, const int64_t *of) { return of[below(n)]; }
static double uniform(void) { return (double)next() / 2147483648.0 - 1; }

static const tt_dtype types[] = {TT_F32, TT_BF16, TT_F16, TT_F64};
static double rounding(tt_dtype t) { /* relative error of one rounding, with room for the sums before it */
    return t == TT_F32 ? 1e-6 : t == TT_BF16 ? 4.5e-3 : t == TT_F16 ? 7e-4 : 1e-14;
}

/* How far a sum of terms, given with that of their squares, may be off: the rounding of the result, and six standard deviations of the
 * walk of one term added after the other in any order, each step rounded: E sum of S_j^2 = terms (squares / 2 + sum^2 / 3). What it is
 * held against was walked in f64, and each of its products was rounded to f64. */
static double rounding_of_sum(tt_dtype t, double terms, double sum, double squares) {
    const double unit = t == TT_F64 ? 0x1p-53 : 0x1p-24, result = t == TT_BF16 ? 0x1p-8 : t == TT_F16 ? 0x1p-11 : unit;
    const double walked = terms * (squares / 2 + sum * sum / 3);
    return 1.01 * result * fabs(sum) + 6 * (unit * sqrt(walked / 3) + 0x1p-53 * sqrt((walked + squares) / 3)) + (t == TT_F16 ? 0x1p-25 : 0);
}

/* ---- arrays: malloc'd to their end, so that a sanitizer sees what reads beyond ---- */
typedef struct array { eng_tensor t; int64_t n; } array;
static array array_of(tt_dtype dtype, int rank, const int64_t *dims) {
    array a = {.t.type = hlo_type_make(dtype, rank, dims)};
    a.n = hlo_type_elements(&a.t.type);
    a.t.data = tt_malloc((size_t)hlo_type_bytes(&a.t.type) + (a.n == 0));
    return a;
}
static double get(const array *a, int64_t i) { return tt_element_get(a->t.type.dtype, (char *)a->t.data + i * tt_dtype_size(a->t.type.dtype)); }
static void set(array *a, int64_t i, double v) { tt_element_set(a->t.type.dtype, (char *)a->t.data + i * tt_dtype_size(a->t.type.dtype), v); }
static array filled(tt_dtype dtype, int rank, const int64_t *dims) {
    array a = array_of(dtype, rank, dims);
    for (int64_t i = 0; i < a.n; i++)
        set(&a, i, uniform());
    return a;
}
#define DIMS(...) ((int64_t[]){__VA_ARGS__})

/* All elements as doubles: what the plain sums add up, millions of times, also where each access is watched or emulated. */
static double *doubles(const array *a) {
    double *v = tt_malloc((size_t)a->n * sizeof *v + 1);
    for (int64_t i = 0; i < a->n; i++)
        v[i] = get(a, i);
    return v;
}

/* Runs the statements once per level of the processor. */
#define EACH_LEVEL(...)                                                                                               \
    do {                                                                                                              \
        for (int level = ENG_ISA_PORTABLE; level <= ENG_ISA_AVX512_BF16; level++)                                     \
            if (eng_isa_limit((eng_isa)level) == (eng_isa)level) {                                                    \
                __VA_ARGS__                                                                                           \
            }                                                                                                         \
        eng_isa_limit(ENG_ISA_AVX512_BF16);                                                                           \
    } while (0)

/* ---- products ---- */
static bool one_product(int64_t batch, int64_t m, int64_t n, int64_t k, tt_dtype dtype, tt_dtype c_dtype, bool ta, bool tb) {
    const int64_t pads[] = {0, 0, 1, 3, 8};
    const int64_t lda = (ta ? m : k) + pick(5, pads), ldb = (tb ? k : n) + pick(5, pads), ldc = n + pick(5, pads);
    array a = filled(dtype, 3, DIMS(batch, ta ? k : m, lda)), b = filled(dtype, 3, DIMS(batch, tb ? n : k, ldb));
    array c = array_of(c_dtype, 3, DIMS(batch, m, ldc));
    for (int64_t i = 0; i < a.n; i++) /* padding must not be used */
        if (i % lda >= (ta ? m : k))
            set(&a, i, NAN);
    for (int64_t i = 0; i < b.n; i++)
        if (i % ldb >= (tb ? k : n))
            set(&b, i, NAN);
    for (int64_t i = 0; i < c.n; i++)
        set(&c, i, 7);
    const eng_gemm_args args = {.dtype = dtype, .c_dtype = c_dtype, .batch = batch, .m = m, .n = n, .k = k, .lda = lda,
                                .ldb = ldb, .ldc = ldc, .stride_a = a.n / batch, .stride_b = b.n / batch,
                                .stride_c = c.n / batch, .a_transposed = ta, .b_transposed = tb, .a = a.t.data,
                                .b = b.t.data, .c = c.t.data};
    bool right = eng_gemm(&args);
    double *va = doubles(&a), *vb = doubles(&b);
    for (int64_t s = 0; s < batch; s++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < ldc; j++) {
                double sum = 0, size = 1e-4;
                for (int64_t q = 0; q < k && j < n; q++) {
                    const double term = va[s * args.stride_a + (ta ? q * lda + i : i * lda + q)] *
                                        vb[s * args.stride_b + (tb ? j * ldb + q : q * ldb + j)];
                    sum += term;
                    size += fabs(term);
                }
                const double have = get(&c, s * args.stride_c + i * ldc + j);
                right = right && (j < n ? fabs(have - sum) <= rounding(c_dtype) * size : have == 7);
            }
    free(va);
    free(vb);
    free(a.t.data);
    free(b.t.data);
    free(c.t.data);
    return right;
}

TEST(products_of_every_shape) {
    const int64_t edges[] = {1, 2, 5, 13, 14, 15, 16, 29, 31, 32, 33, 64, 65, 100};
    const int rounds = test_rounds(60, &state);
    EACH_LEVEL({
        for (int i = 0; i < rounds; i++) {
            const tt_dtype t = types[below(4)], c = t != TT_F64 && below(2) ? TT_F32 : t;
            const int64_t m = pick(14, edges), n = pick(14, edges), k = pick(14, edges);
            const bool ta = below(2);
            const bool tb = below(2);
            const bool right = one_product(1 + below(3), m, n, k, t, c, ta, tb);
            CHECK(right);
            if (!right)
                fprintf(stderr, "  %s: %lldx%lldx%lld %s %d %d\n", eng_isa_name((eng_isa)level), (long long)m,
                        (long long)n, (long long)k, tt_dtype_name(t), ta, tb);
        }
        for (int i = 0; i < 20; i++) { /* few rows: dot products and streaming, more than one group of rows and of columns */
            const tt_dtype t = types[below(3)];
            const int64_t m = 1 + below(28), n = 64 + below(100), k = 64 + below(100);
            const bool ta = below(2), tb = below(2);
            CHECK(one_product(1, m, n, k, t, below(2) ? TT_F32 : t, ta, tb));
        }
        /* one for each path: dot products, streaming, several blocks of k, tiles */
        for (int t = 0; t < 3; t++) {
            CHECK(one_product(1, 5, 64, 4099, types[t], TT_F32, false, true));
            CHECK(one_product(1, 1, 300, 257, types[t], types[t], false, true));
            CHECK(one_product(1, 3, 700, 100, types[t], types[t], false, false));
            CHECK(one_product(1, 21, 300, 301, types[t], types[t], false, false));
            CHECK(one_product(1, 11, 130, 70, types[t], TT_F32, false, true));
            CHECK(one_product(1, 70, 90, 1100, types[t], types[t], true, false));
            CHECK(one_product(1, 200, 1, 40, types[t], types[t], false, false));
            CHECK(one_product(2, 30, 70, 34, types[t], types[t], false, true)); /* whole tiles and a part of one */
        }
    });
}

TEST(products_carry_nan_and_infinity) {
    EACH_LEVEL({
        for (int t = 0; t < 4; t++) {
            array a = filled(types[t], 2, DIMS(20, 9));
            array b = filled(types[t], 2, DIMS(9, 40));
            array c = array_of(types[t], 2, DIMS(20, 40));
            for (int64_t i = 0; i < b.n; i++)
                set(&b, i, 1);
            set(&a, 3 * 9 + 4, INFINITY);
            set(&a, 5 * 9 + 8, NAN);
            const eng_gemm_args args = {.dtype = types[t], .c_dtype = types[t], .batch = 1, .m = 20, .n = 40, .k = 9, .lda = 9,
                                        .ldb = 40, .ldc = 40, .a = a.t.data, .b = b.t.data, .c = c.t.data};
            CHECK(eng_gemm(&args));
            for (int64_t j = 0; j < 40; j++) {
                CHECK(get(&c, 3 * 40 + j) == INFINITY);
                CHECK(isnan(get(&c, 5 * 40 + j)));
                CHECK(isfinite(get(&c, 4 * 40 + j)));
            }
            free(a.t.data);
            free(b.t.data);
            free(c.t.data);
        }
    });
}

TEST(transposes_stay_in_their_place) {
    EACH_LEVEL({
        for (int round = 0; round < 400; round++) {
            const tt_dtype t = types[below(4)];
            const int bytes = tt_dtype_size(t);
            const int64_t n = 1 + below(100);
            const int64_t count = 1 + below(50);
            const int64_t ld = count + below(4);
            const int64_t ldd = n + (below(2) ? 0 : below(20));
            array a = filled(t, 2, DIMS(n, ld));
            array b = array_of(t, 2, DIMS(count, ldd));
            for (int64_t i = 0; i < b.n; i++)
                set(&b, i, 7);
            eng_kernels_get()->transpose(bytes, b.t.data, ldd, a.t.data, ld, n, count);
            bool right = true;
            for (int64_t k = 0; k < count; k++)
                for (int64_t i = 0; i < n; i++)
                    right = right && get(&b, k * ldd + i) == get(&a, i * ld + k);
            CHECK(right);
            free(a.t.data);
            free(b.t.data);
        }
    });
}

/* ---- dot_general: lhs [b0, m0, k0, b1, m1, k1] in a random order, and so on ---- */
static void shuffle(int n, int *order) {
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)below(i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

TEST(dot_general_in_any_order) {
    enum { B0, B1, M0, M1, N0, N1, K0, K1, LABELS };
    tt_arena *arena = tt_arena_create();
    eng_run run = {.arena = arena};
    for (int round = 0, rounds = test_rounds(200, &state); round < rounds; round++) {
        int64_t size[LABELS];
        for (int i = 0; i < LABELS; i++)
            size[i] = pick(5, DIMS(1, 2, 3, 5, 17));
        int order[2][6] = {{B0, B1, M0, M1, K0, K1}, {B0, B1, N0, N1, K0, K1}};
        int64_t dims[2][6], at[2][LABELS] = {{0}}, strides[2][LABELS] = {{0}}, out_dims[6] = {size[B0], size[B1]};
        int n_out = 2;
        for (int o = 0; o < 2; o++) {
            if (round % 4)
                shuffle(6, order[o]);
            int64_t stride = 1;
            for (int d = 5; d >= 0; d--) {
                dims[o][d] = size[order[o][d]];
                at[o][order[o][d]] = d;
                strides[o][order[o][d]] = stride;
                stride *= dims[o][d];
            }
        }
        int frees[4], n_free = 0;
        for (int o = 0; o < 2; o++)
            for (int d = 0; d < 6; d++)
                if (order[o][d] >= M0 && order[o][d] <= N1) {
                    frees[n_free++] = order[o][d];
                    out_dims[n_out++] = size[order[o][d]];
                }
        const tt_dtype t = types[below(4)];
        array a = filled(t, 6, dims[0]), b = filled(t, 6, dims[1]), c = array_of(t, 6, out_dims);
        const int64_t lb[2] = {at[0][B0], at[0][B1]}, rb[2] = {at[1][B0], at[1][B1]};
        const int64_t lc[2] = {at[0][K0], at[0][K1]}, rc[2] = {at[1][K0], at[1][K1]};
        const hlo_dims numbers = {.kind = HLO_DIMS_DOT, .a = {2, lb}, .b = {2, rb}, .c = {2, lc}, .d = {2, rc}};
        const hlo_attr attr = {.name = HLO_A_DOT_DIMENSION_NUMBERS, .kind = HLO_K_DIMS, .dims = &numbers};
        const hlo_node node = {.op = HLO_DOT_GENERAL, .n_results = 1, .n_attrs = 1, .n_operands = 2, .attrs = &attr};
        const eng_tensor in[2] = {a.t, b.t};
        CHECK_OK(eng_fast_dot_general(&run, NULL, &node, in, &c.t));
        bool right = true;
        double *va = doubles(&a), *vb = doubles(&b);
        for (int64_t i = 0; i < c.n; i++) {
            int64_t rest = i, from[2] = {0, 0};
            for (int d = 5; d >= 0; d--) {
                const int label = d < 2 ? d : frees[d - 2];
                for (int o = 0; o < 2; o++)
                    from[o] += rest % out_dims[d] * strides[o][label];
                rest /= out_dims[d];
            }
            double sum = 0;
            for (int64_t k0 = 0; k0 < size[K0]; k0++)
                for (int64_t k1 = 0; k1 < size[K1]; k1++)
                    sum += va[from[0] + k0 * strides[0][K0] + k1 * strides[0][K1]] * vb[from[1] + k0 * strides[1][K0] + k1 * strides[1][K1]];
            right = right && fabs(get(&c, i) - sum) <= rounding(t) * (double)(1 + size[K0] * size[K1]);
        }
        CHECK(right);
        free(va);
        free(vb);
        free(a.t.data);
        free(b.t.data);
        free(c.t.data);
        tt_arena_reset(arena);
    }
    tt_arena_destroy(arena);
}

TEST(products_of_one_row_and_of_bytes) {
    EACH_LEVEL({
        for (int i = 0; i < 8; i++) {
            const int64_t n = 1 + below(700), k = 1 + below(150);
            CHECK(one_product(1, 1, n, k, TT_F64, TT_F64, below(2), below(2)));
            CHECK(one_product(1, n, 1, k, TT_F64, TT_F64, below(2), below(2)));
        }
        for (int i = 0; i < 8; i++) {
            const int64_t m = 1 + below(40), n = i == 2 ? 700 : 1 + below(40), k = i ? 1 + below(90) : 2100, batch = 1 + below(2);
            const bool ta = below(2);
            const bool tb = below(2);
            int8_t *a = malloc((size_t)(batch * m * k)), *b = malloc((size_t)(batch * n * k));
            int32_t *c = malloc((size_t)(batch * m * n) * sizeof *c);
            for (int64_t q = 0; q < batch * m * k; q++)
                a[q] = (int8_t)(i < 2 ? -128 : below(256) - 128);
            for (int64_t q = 0; q < batch * n * k; q++)
                b[q] = (int8_t)(i < 2 ? -128 + (i & (int)q) : below(256) - 128);
            const eng_gemm_args args = {.dtype = TT_I8, .c_dtype = TT_I32, .batch = batch, .m = m, .n = n, .k = k, .lda = ta ? m : k,
                                        .ldb = tb ? k : n, .ldc = n, .stride_a = m * k, .stride_b = n * k, .stride_c = m * n,
                                        .a_transposed = ta, .b_transposed = tb, .a = a, .b = b, .c = c};
            bool right = eng_gemm(&args);
            for (int64_t q = 0; q < batch * m * n; q++) {
                const int64_t s = q / n / m, row = q / n % m, column = q % n;
                int64_t sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += a[s * m * k + (ta ? l * m + row : row * k + l)] * b[s * n * k + (tb ? column * k + l : l * n + column)];
                right = right && c[q] == sum;
            }
            CHECK(right);
            free(a), free(b), free(c);
        }
    });
}

/* ---- convolution, against the definition ---- */
typedef struct conv_case {
    int64_t n, c, o, x[2], k[2], y[2], stride[2], low[2], high[2], base[2], dilation[2], reversed[2], groups, batch_groups;
    bool odd; /* numbers that are none, in the last image, and a row of huge weights */
    bool wide; /* 16-bit floats give f32 */
} conv_case;

static void layout(const int order[4], const int64_t canonical[4], int64_t dims[4], int64_t places[4], int64_t strides[4]) {
    for (int i = 0; i < 4; i++) {
        dims[i] = canonical[order[i]];
        places[order[i]] = i;
    }
    for (int i = 0; i < 4; i++) {
        strides[i] = 1;
        for (int j = (int)places[i] + 1; j < 4; j++)
            strides[i] *= dims[j];
    }
}

/* What the definition gives for each element of y, and how far it may be off. */
typedef struct conv_sums { double *sum, *room; } conv_sums;

/* Where the terms of one place of y lie: a number of x within its image and channel, a weight within its channel and out. */
static int64_t conv_taps(const conv_case *s, const int64_t p[2], int64_t strides[3][4], int64_t (*taps)[2]) {
    int64_t n = 0;
    for (int64_t k0 = 0; k0 < s->k[0]; k0++)
        for (int64_t k1 = 0; k1 < s->k[1]; k1++) {
            const int64_t k[2] = {k0, k1};
            int64_t from = 0, weight = 0;
            bool inside = true;
            for (int d = 0; d < 2; d++) {
                const int64_t at = p[d] * s->stride[d] + k[d] * s->dilation[d] - s->low[d];
                inside = inside && at >= 0 && at % s->base[d] == 0 && at / s->base[d] < s->x[d];
                from += at / s->base[d] * strides[0][2 + d];
                weight += (s->reversed[d] ? s->k[d] - 1 - k[d] : k[d]) * strides[1][2 + d];
            }
            taps[n][0] = from;
            taps[n][1] = weight;
            n += inside;
        }
    return n;
}

static void conv_sum(const conv_case *s, tt_dtype t, tt_dtype result, int64_t strides[3][4], const double *x, const double *w, conv_sums *out) {
    const int64_t groups = s->groups * s->batch_groups, outs = s->o / groups, channels = s->c / s->groups, images = s->n / s->batch_groups;
    /* fewer products add up all of a window, with what lies outside */
    const bool last = strides[0][1] == 1 && strides[2][1] == 1, near = s->stride[0] * s->stride[1] == 1 || (last && s->stride[0] * s->stride[1] == 4);
    const bool windows = t == TT_F32 && s->k[0] == 3 && s->k[1] == 3 && near && outs >= 16 && channels >= 16;
    int64_t(*taps)[2] = tt_malloc((size_t)(s->k[0] * s->k[1]) * sizeof *taps);
    for (int64_t q = 0; q < s->y[0] * s->y[1]; q++) {
        const int64_t p[2] = {q / s->y[1], q % s->y[1]}, n_taps = conv_taps(s, p, strides, taps);
        const double terms = (double)(channels * (windows ? s->k[0] * s->k[1] : n_taps));
        for (int64_t i = 0; i < images * s->o; i++) {
            const int64_t n = i / s->o, o = i % s->o, image = n + (s->batch_groups > 1 ? o / outs * images : 0);
            const int64_t first = s->groups > 1 ? o / outs * channels : 0;
            double sum = 0, squares = 0;
            for (int64_t c = 0; c < channels; c++) {
                const double *from = x + image * strides[0][0] + (first + c) * strides[0][1], *weight = w + c * strides[1][0] + o * strides[1][1];
                for (int64_t k = 0; k < n_taps; k++) {
                    const double term = from[taps[k][0]] * weight[taps[k][1]];
                    sum += term;
                    squares += term * term;
                }
            }
            const int64_t at = n * strides[2][0] + o * strides[2][1] + p[0] * strides[2][2] + p[1] * strides[2][3];
            out->sum[at] = sum;
            out->room[at] = rounding_of_sum(result, terms, sum, squares);
        }
    }
    free(taps);
}

/* At every level of the processor. Returns one that was wrong, or -1. */
static int one_conv(eng_run *run, const conv_case *s, tt_dtype t, int orders[3][4]) {
    const int64_t shapes[3][4] = {{s->n, s->c, s->x[0], s->x[1]}, {s->c / s->groups, s->o, s->k[0], s->k[1]},
                                  {s->n / s->batch_groups, s->o, s->y[0], s->y[1]}};
    int64_t dims[3][4], places[3][4], strides[3][4];
    for (int i = 0; i < 3; i++)
        layout(orders[i], shapes[i], dims[i], places[i], strides[i]);
    const tt_dtype result = s->wide && (t == TT_BF16 || t == TT_F16) ? TT_F32 : t;
    array x = filled(t, 4, dims[0]), w = filled(t, 4, dims[1]), y = array_of(result, 4, dims[2]);
    if (s->odd) {
        set(&x, (s->n - 1) * strides[0][0], NAN);
        set(&x, (s->n - 1) * strides[0][0] + (s->c - 1) * strides[0][1] + s->x[1] / 2 * strides[0][3], INFINITY);
        set(&w, (s->o - 1) * strides[1][1], 1e30);
    }
    const int64_t padding[4] = {s->low[0], s->high[0], s->low[1], s->high[1]};
    const hlo_dims numbers = {.kind = HLO_DIMS_CONV, .a = {4, places[0]}, .b = {4, places[1]}, .c = {4, places[2]}};
    const hlo_attr attrs[] = {
        {.name = HLO_A_DIMENSION_NUMBERS, .kind = HLO_K_DIMS, .dims = &numbers},
        {.name = HLO_A_WINDOW_STRIDES, .kind = HLO_K_INTS, .n = 2, .ints = s->stride},
        {.name = HLO_A_PADDING, .kind = HLO_K_INTS2D, .n = 4, .rows = 2, .ints = padding},
        {.name = HLO_A_LHS_DILATION, .kind = HLO_K_INTS, .n = 2, .ints = s->base},
        {.name = HLO_A_RHS_DILATION, .kind = HLO_K_INTS, .n = 2, .ints = s->dilation},
        {.name = HLO_A_WINDOW_REVERSAL, .kind = HLO_K_INTS, .n = 2, .ints = s->reversed},
        {.name = HLO_A_FEATURE_GROUP_COUNT, .kind = HLO_K_INT, .n = 1, .one = s->groups},
        {.name = HLO_A_BATCH_GROUP_COUNT, .kind = HLO_K_INT, .n = 1, .one = s->batch_groups}};
    const hlo_node node = {.op = HLO_CONVOLUTION, .n_results = 1, .n_attrs = 8, .n_operands = 2, .attrs = attrs};
    const eng_tensor in[2] = {x.t, w.t};
    double *vx = doubles(&x), *vw = doubles(&w);
    conv_sums want = {tt_malloc((size_t)y.n * 8 + 1), tt_malloc((size_t)y.n * 8 + 1)};
    conv_sum(s, t, result, strides, vx, vw, &want);
    int wrong = -1;
    EACH_LEVEL({
        memset(y.t.data, 0x55, (size_t)hlo_type_bytes(&y.t.type));
        CHECK_OK(eng_fast_convolution(run, NULL, &node, in, &y.t));
        for (int64_t i = 0; i < y.n; i++) {
            const double have = get(&y, i), sum = want.sum[i];
            if (!(isfinite(sum) ? fabs(have - sum) <= want.room[i] : have == sum || (isnan(have) && isnan(sum))))
                wrong = level;
        }
    });
    double *heap[] = {vx, vw, want.sum, want.room};
    for (int i = 0; i < 4; i++)
        free(heap[i]);
    free(x.t.data);
    free(w.t.data);
    free(y.t.data);
    return wrong;
}

static void conv_print(const conv_case *s, tt_dtype t, int orders[3][4], eng_isa level) {
    fprintf(stderr, "  %s, %s: n %lld c %lld o %lld groups %lld, %lld; layouts", tt_dtype_name(t), eng_isa_name(level), (long long)s->n, (long long)s->c,
            (long long)s->o, (long long)s->groups, (long long)s->batch_groups);
    for (int i = 0; i < 3; i++)
        fprintf(stderr, " %d%d%d%d", orders[i][0], orders[i][1], orders[i][2], orders[i][3]);
    for (int d = 0; d < 2; d++)
        fprintf(stderr, "; x %lld k %lld step %lld padding %lld, %lld holes %lld, %lld%s", (long long)s->x[d], (long long)s->k[d], (long long)s->stride[d],
                (long long)s->low[d], (long long)s->high[d], (long long)s->base[d], (long long)s->dilation[d], s->reversed[d] ? " reversed" : "");
    fprintf(stderr, "%s%s\n", s->odd ? "; odd" : "", s->wide ? "; wide" : "");
}

static bool random_case(conv_case *s) {
    const int64_t groups = pick(4, DIMS(1, 1, 2, 5)), batch_groups = groups == 1 ? pick(4, DIMS(1, 1, 2, 4)) : 1;
    s->groups = groups;
    s->batch_groups = batch_groups;
    s->wide = below(4) == 0;
    s->n = batch_groups * (1 + below(3));
    s->c = groups * pick(6, DIMS(1, 1, 3, 9, 17, 40));
    s->o = groups * batch_groups * pick(6, DIMS(1, 2, 3, 15, 33, 48));
    const bool square = below(4) == 0;
    for (int d = 0; d < 2; d++) {
        s->x[d] = 1 + below(21);
        s->k[d] = square ? 3 : pick(6, DIMS(1, 1, 2, 3, 5, 1 + below(18)));
        s->stride[d] = pick(4, DIMS(1, 1, 2, 3));
        s->base[d] = pick(4, DIMS(1, 1, 2, 3));
        s->dilation[d] = pick(3, DIMS(1, 1, 2));
        s->reversed[d] = below(2);
        s->low[d] = below(4) - 1;
        s->high[d] = below(4) - 1;
        const int64_t room = (s->x[d] - 1) * s->base[d] + 1 + s->low[d] + s->high[d] - (s->k[d] - 1) * s->dilation[d] - 1;
        if (room < 0)
            return false;
        s->y[d] = room / s->stride[d] + 1;
    }
    return true;
}

TEST(convolutions_of_every_kind) {
    tt_arena *arena = tt_arena_create();
    eng_run run = {.arena = arena};
    static const int layouts[5][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {1, 0, 2, 3}, {2, 3, 0, 1}, {3, 1, 0, 2}};
    for (int i = 0, n = test_rounds(250, &state); i < n && !test_failures; i++) {
        conv_case s = {0};
        if (!random_case(&s))
            continue;
        int orders[3][4];
        for (int o = 0; o < 3; o++)
            memcpy(orders[o], layouts[below(5)], sizeof orders[o]);
        const tt_dtype t = types[below(4)];
        s.odd = t == TT_F32 && below(4) == 0;
        const int wrong = one_conv(&run, &s, t, orders);
        CHECK(wrong < 0);
        if (wrong >= 0)
            conv_print(&s, t, orders, (eng_isa)wrong);
        tt_arena_reset(arena);
    }
    tt_arena_destroy(arena);
}

/* Channels innermost: of images, or of gradients of weights, whose channels are what images are elsewhere. Depthwise ones, windows of three by
 * three with steps and holes (gradients of steps), and any other. */
static bool case_of_channels_last(conv_case *s, bool of_weights) {
    if (!random_case(s))
        return false;
    const int kind = (int)below(4);
    const bool depthwise = kind == 0;
    s->groups = s->batch_groups = 1;
    if (depthwise && of_weights) {
        s->n = s->o = s->batch_groups = pick(5, DIMS(4, 16, 19, 40, 70));
        s->c = 1 + below(3);
    } else if (depthwise) {
        s->c = s->o = s->groups = pick(5, DIMS(4, 16, 19, 40, 70));
        s->n = 1 + below(3);
    } else if (of_weights) {
        s->n = pick(5, DIMS(1, 9, 16, 33, 48));
    } else {
        s->groups = pick(3, DIMS(1, 1, 2));
        s->c = s->groups * pick(5, DIMS(3, 16, 17, 33, 64));
        s->o = s->groups * pick(5, DIMS(2, 16, 20, 40, 70));
    }
    const bool window = !of_weights && kind < 3, even = below(3) > 0;
    const int64_t step = pick(3, DIMS(1, 2, 2)), base = step == 1 ? pick(2, DIMS(1, 2)) : 1;
    for (int d = 0; d < 2; d++) {
        if (of_weights && depthwise)
            s->k[d] = 1 + below(19);
        if (window)
            s->k[d] = depthwise && even ? 5 : 3;
        if (window && even) {
            s->stride[d] = step;
            s->base[d] = base;
            s->dilation[d] = 1;
        }
        const int64_t room = (s->x[d] - 1) * s->base[d] + 1 + s->low[d] + s->high[d] - (s->k[d] - 1) * s->dilation[d] - 1;
        if (room < 0)
            return false;
        s->y[d] = room / s->stride[d] + 1;
    }
    return true;
}

TEST(convolutions_of_channels_last) {
    tt_arena *arena = tt_arena_create();
    eng_run run = {.arena = arena};
    for (int i = 0, n = test_rounds(250, &state); i < n && !test_failures; i++) {
        conv_case s = {0};
        const bool of_weights = below(3) == 0;
        if (!case_of_channels_last(&s, of_weights))
            continue;
        int orders[2][3][4] = {{{0, 2, 3, 1}, {1, 2, 3, 0}, {0, 2, 3, 1}}, {{1, 2, 3, 0}, {0, 2, 3, 1}, {1, 2, 3, 0}}};
        if (below(2))
            memcpy(orders[0][1], (int[4]){0, 2, 3, 1}, sizeof orders[0][1]); /* as the gradient of x reads the kernel */
        const tt_dtype t = types[below(6) % 4];
        s.odd = t == TT_F32 && below(4) == 0;
        const int wrong = one_conv(&run, &s, t, orders[of_weights]);
        CHECK(wrong < 0);
        if (wrong >= 0)
            conv_print(&s, t, orders[of_weights], (eng_isa)wrong);
        tt_arena_reset(arena);
    }
    tt_arena_destroy(arena);
}

/* One for each way: several blocks of k over few and over many columns, padded images, windows over groups, gradients of weights. */
TEST(convolutions_by_size) {
    static const struct {
        int64_t n, c, o, x[2], k[2], stride, low, dilation, groups;
    } cases[] = {
        {2, 70, 40, {7, 7}, {3, 3}, 1, 1, 1, 1},   {1, 130, 9, {5, 6}, {3, 3}, 1, 1, 1, 1},  {5, 40, 20, {14, 14}, {3, 3}, 1, 1, 1, 1},
        {3, 48, 44, {14, 9}, {3, 4}, 2, 1, 1, 1},  {2, 3, 16, {35, 40}, {5, 5}, 2, 2, 1, 1}, {2, 3, 16, {36, 39}, {4, 7}, 2, 3, 1, 1},
        {2, 20, 8, {9, 70}, {1, 3}, 1, 0, 2, 1},   {1, 12, 12, {20, 37}, {3, 3}, 1, 1, 1, 6}, {2, 5, 5, {12, 33}, {7, 7}, 1, 3, 1, 5},
        {2, 6, 12, {15, 15}, {5, 5}, 2, 2, 1, 6},  {1, 8, 8, {17, 9}, {3, 3}, 2, 0, 1, 2},   {33, 3, 20, {16, 16}, {14, 14}, 1, 0, 1, 1},
        {40, 2, 17, {6, 6}, {6, 6}, 1, 0, 1, 1},   {40, 3, 17, {7, 7}, {4, 4}, 1, 0, 2, 1},  {3, 2, 30, {31, 33}, {14, 14}, 1, 2, 2, 1},
        {17, 2, 9, {9, 9}, {9, 9}, 1, 1, 1, 1},    {4, 30, 15, {1, 50}, {1, 48}, 1, 1, 1, 1},
        /* images side by side and in blocks, bands of rows, rows split by their step, lanes that are y's, passes over long sums */
        {8, 70, 30, {2, 2}, {3, 3}, 1, 1, 1, 1},   {35, 5, 20, {3, 3}, {2, 2}, 1, 0, 1, 1},  {9, 12, 18, {9, 7}, {3, 3}, 2, 1, 1, 1},
        {3, 9, 16, {10, 32}, {3, 3}, 1, 1, 1, 1},  {2, 6, 33, {40, 17}, {3, 3}, 1, 1, 1, 3}, {48, 40, 16, {18, 18}, {16, 16}, 1, 0, 1, 1},
        {33, 66, 14, {9, 10}, {8, 8}, 1, 0, 1, 2},
        /* Winograd's: rows and planes cut by panels, odd sizes, dilations, padding of no, one and two pieces, groups */
        {3, 32, 40, {13, 18}, {3, 3}, 1, 1, 1, 1},   {2, 33, 24, {17, 21}, {3, 3}, 1, 2, 2, 1},  {2, 24, 26, {19, 30}, {3, 3}, 1, 4, 4, 1},
        {1, 25, 50, {9, 80}, {3, 3}, 1, 0, 1, 1},    {9, 64, 64, {12, 12}, {3, 3}, 1, 1, 1, 2},  {1, 40, 30, {30, 31}, {3, 3}, 1, 2, 1, 1},
        {1, 64, 16, {4, 400}, {3, 3}, 1, 1, 1, 1},   {1, 70, 16, {5, 260}, {3, 3}, 1, 2, 2, 1},
        /* weight gradients of a few channels: lines of y as rows, outs as lanes */
        {3, 5, 40, {22, 29}, {18, 19}, 1, 1, 1, 1},  {2, 3, 33, {20, 21}, {18, 19}, 1, 1, 1, 1}, {3, 2, 24, {38, 41}, {18, 19}, 1, 1, 2, 1},
        {4, 2, 20, {18, 18}, {16, 16}, 1, 0, 1, 2},
        /* of one position: as dot products of few rows, and in spans */
        {40, 3, 3, {9, 11}, {9, 11}, 1, 0, 1, 1},    {70, 2, 8, {8, 9}, {8, 9}, 1, 0, 1, 1},     {17, 4, 6, {8, 9}, {8, 9}, 1, 0, 1, 2},
        {33, 5, 20, {30, 31}, {30, 31}, 1, 0, 1, 1}, {20, 9, 34, {28, 30}, {28, 30}, 2, 0, 1, 1},
        /* the same by Winograd's: halves of panels, several blocks, spans and chunks, odd sizes, dilations (here steps), groups */
        {16, 3, 16, {13, 18}, {13, 18}, 1, 1, 1, 1}, {33, 2, 30, {17, 16}, {15, 14}, 1, 0, 1, 1}, {80, 2, 75, {14, 15}, {14, 15}, 1, 1, 1, 1},
        {20, 2, 24, {19, 26}, {19, 26}, 2, 2, 1, 1}, {18, 1, 17, {33, 35}, {37, 39}, 1, 3, 1, 1}, {17, 8, 32, {12, 16}, {12, 16}, 1, 1, 1, 2},
        {40, 1, 16, {5, 400}, {5, 400}, 1, 1, 1, 1}, {16, 1, 34, {24, 25}, {16, 17}, 4, 0, 1, 1}, {16, 9, 20, {24, 25}, {26, 27}, 3, 4, 1, 1}};
    tt_arena *arena = tt_arena_create();
    eng_run run = {.arena = arena};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int t = 0; t < 4; t++) {
            conv_case s = {.n = cases[i].n, .c = cases[i].c, .o = cases[i].o, .groups = cases[i].groups, .batch_groups = 1};
            int orders[3][4] = {{0, 1, 2, 3}, {1, 0, 2, 3}, {0, 1, 2, 3}}; /* the kernel as [out, in] or as [in, out] */
            if (below(2))
                memcpy(orders[1], (int[4]){0, 1, 2, 3}, sizeof orders[1]);
            if (below(4) == 0) { /* channels innermost */
                memcpy(orders[0], (int[4]){0, 2, 3, 1}, sizeof orders[0]);
                memcpy(orders[1], (int[4]){1, 2, 3, 0}, sizeof orders[1]);
            } else if (below(4) == 0) { /* of weights: the same, channels are what images are elsewhere */
                memcpy(orders[0], (int[4]){1, 2, 3, 0}, sizeof orders[0]);
                memcpy(orders[1], (int[4]){0, 2, 3, 1}, sizeof orders[1]);
                memcpy(orders[2], (int[4]){1, 2, 3, 0}, sizeof orders[2]);
            } else if (below(2)) {
                memcpy(orders[0], (int[4]){1, 0, 2, 3}, sizeof orders[0]);
                memcpy(orders[2], (int[4]){1, 0, 2, 3}, sizeof orders[2]);
            }
            s.odd = types[t] == TT_F32 && below(2);
            for (int d = 0; d < 2; d++) {
                s.x[d] = cases[i].x[d];
                s.k[d] = cases[i].k[d];
                s.stride[d] = cases[i].stride;
                s.low[d] = s.high[d] = cases[i].low;
                s.base[d] = 1;
                s.dilation[d] = s.k[d] > 1 ? cases[i].dilation : 1;
                s.reversed[d] = below(2);
                s.y[d] = (s.x[d] + 2 * s.low[d] - (s.k[d] - 1) * s.dilation[d] - 1) / s.stride[d] + 1;
            }
            const int wrong = one_conv(&run, &s, types[t], orders);
            CHECK(wrong < 0);
            if (wrong >= 0)
                fprintf(stderr, "  case %zu, %s, %s\n", i, tt_dtype_name(types[t]), eng_isa_name((eng_isa)wrong));
            tt_arena_reset(arena);
        }
    tt_arena_destroy(arena);
}

/* ---- composites ---- */
static bool composite(const char *name, const char *attributes, int n_in, const array *in, int n_out, array *out) {
    hlo_graph g = {0};
    hlo_node nodes[16] = {{0}};
    hlo_ref operands[8];
    eng_tensor tensors[8], results[3];
    g.nodes = nodes;
    for (int i = 0; i < n_in; i++) {
        tensors[i] = in[i].t;
        operands[i] = (hlo_ref)(1 + i);
        nodes[1 + i] = (hlo_node){.op = HLO_PARAM, .n_results = 1, .type = &tensors[i].type};
    }
    const hlo_attr attrs[2] = {{.name = HLO_A_COMPOSITE_NAME, .kind = HLO_K_STRING, .text = name},
                               {.name = HLO_A_COMPOSITE_ATTRIBUTES, .kind = HLO_K_RAW, .text = attributes}};
    for (int i = 0; i < n_out; i++) {
        results[i] = out[i].t;
        nodes[11 + i] = (hlo_node){.op = HLO_RESULT, .n_results = 1, .type = &results[i].type};
    }
    nodes[10] = (hlo_node){.op = HLO_COMPOSITE, .n_results = (uint16_t)n_out, .n_attrs = 2, .attrs = attrs,
                           .n_operands = (uint32_t)n_in, .operands = operands, .type = &results[0].type};
    const bool known = eng_composite_known(&g, &nodes[10]);
    const char *body;
    if (known)
        CHECK_OK(eng_composite_find(&nodes[10], &body)(body, tensors, results));
    return known;
}

static bool near(const array *a, int64_t i, double want, double room) {
    return fabs(get(a, i) - want) <= rounding(a->t.type.dtype) * (room + fabs(want));
}

TEST(softmax_and_norms) {
    const int64_t widths[] = {1, 5, 16, 33, 129, 1000};
    EACH_LEVEL({
        for (int round = 0; round < 18; round++) {
            const tt_dtype t = types[round % 3];
            const int64_t n = widths[round / 3];
            const int64_t rows = 3;
            array in[3] = {filled(t, 2, DIMS(rows, n)), filled(t, 1, DIMS(n)), filled(t, 1, DIMS(n))};
            array y[3] = {array_of(t, 2, DIMS(rows, n)), array_of(TT_F32, 1, DIMS(rows)), array_of(TT_F32, 1, DIMS(rows))};
            CHECK(composite("tt.softmax", "{log = false}", 1, in, 1, y));
            for (int64_t r = 0; r < rows; r++) {
                double sum = 0;
                for (int64_t i = 0; i < n; i++)
                    sum += exp(get(&in[0], r * n + i));
                for (int64_t i = 0; i < n; i++)
                    CHECK(near(&y[0], r * n + i, exp(get(&in[0], r * n + i)) / sum, .01));
            }
            CHECK(composite("tt.layer_norm", "{eps = 1.0e-05 : f64, has_weight = true, has_bias = true}", 3, in, 3, y));
            for (int64_t r = 0; r < rows; r++) {
                double mean = 0;
                double square = 0;
                for (int64_t i = 0; i < n; i++)
                    mean += get(&in[0], r * n + i) / (double)n;
                for (int64_t i = 0; i < n; i++)
                    square += pow(get(&in[0], r * n + i) - mean, 2) / (double)n;
                CHECK(near(&y[1], r, mean, 1));
                CHECK(near(&y[2], r, 1 / sqrt(square + 1e-5), 1));
                for (int64_t i = 0; i < n; i++)
                    CHECK(near(&y[0], r * n + i,
                               (get(&in[0], r * n + i) - mean) / sqrt(square + 1e-5) * get(&in[1], i) + get(&in[2], i), 2));
            }
            for (int i = 0; i < 3; i++) {
                free(in[i].t.data);
                free(y[i].t.data);
            }
        }
    });
    array wide = filled(TT_F64, 1, DIMS(4));
    CHECK(!composite("tt.softmax", "{log = false}", 1, &wide, 1, &wide)); /* f64 stays with its decomposition */
    free(wide.t.data);
}

TEST(integer_products) {
    enum { B = 3, M = 5, K = 7, N = 4 };
    array in[2] = {array_of(TT_I64, 3, DIMS(B, M, K)), array_of(TT_I64, 3, DIMS(B, K, N))}, out = array_of(TT_I64, 3, DIMS(B, M, N));
    uint64_t *a = in[0].t.data, *b = in[1].t.data, *c = out.t.data, bits = 1;
    for (int i = 0; i < B * M * K; i++)
        a[i] = bits = bits * 6364136223846793005u + 1442695040888963407u;
    for (int i = 0; i < B * K * N; i++)
        b[i] = bits = bits * 6364136223846793005u + 1442695040888963407u;
    CHECK(composite("tt.integer_product", NULL, 2, in, 1, &out));
    for (int i = 0; i < B * M * N; i++) {
        uint64_t sum = 0; /* wraps */
        for (int k = 0; k < K; k++)
            sum += a[i / N * K + k] * b[(i / (M * N) * K + k) * N + i % N];
        CHECK(c[i] == sum);
    }
    array narrow = array_of(TT_I32, 3, DIMS(B, K, N)), bad[2] = {in[0], narrow};
    CHECK(!composite("tt.integer_product", NULL, 2, bad, 1, &out));
    CHECK(!composite("tt.integer_product", NULL, 2, (array[]){in[1], in[0]}, 1, &out));
    free(narrow.t.data), free(in[0].t.data), free(in[1].t.data), free(out.t.data);
}

/* Attention and its gradient by the formulas, one head. */
typedef struct heads { int64_t l, s, e; bool causal, masked; double scale; } heads;

static void attention(const heads *h, double *const *in, int64_t q, int64_t k, double *p, double *out, double *lse) {
    for (int64_t i = 0; i < h->l; i++) {
        double sum = 0;
        for (int64_t j = 0; j < h->s; j++) {
            double score = 0;
            for (int64_t d = 0; d < h->e; d++)
                score += in[0][q + i * h->e + d] * in[1][k + j * h->e + d];
            const bool hidden = (h->causal && j > i) || (h->masked && in[3][i * h->s + j] == 0);
            p[i * h->s + j] = hidden ? 0 : exp(score * h->scale);
            sum += p[i * h->s + j];
        }
        lse[i] = sum == 0 ? 0 : log(sum);
        for (int64_t j = 0; j < h->s; j++)
            p[i * h->s + j] /= sum == 0 ? 1 : sum;
        for (int64_t d = 0; d < h->e; d++) {
            out[i * h->e + d] = 0;
            for (int64_t j = 0; j < h->s; j++)
                out[i * h->e + d] += p[i * h->s + j] * in[2][k + j * h->e + d];
        }
    }
}

static void one_attention(heads h, tt_dtype t) {
    enum { HEADS = 4 };
    const int64_t key_heads = h.l == 1 ? HEADS : 2; /* one query at all, or more */
    const int64_t l = h.l, s = h.s, e = h.e;
    const double steep = fmax(1, h.scale); /* powers make that much of a score's error */
    char attributes[96];
    snprintf(attributes, sizeof attributes, "{causal = %s, has_mask = %s, scale = %.1f : f64}", h.causal ? "true" : "false",
             h.masked ? "true" : "false", h.scale);
    array in[4] = {filled(t, 4, DIMS(1, HEADS, l, e)), filled(t, 4, DIMS(1, key_heads, s, e)),
                   filled(t, 4, DIMS(1, key_heads, s, e)), array_of(TT_PRED, 2, DIMS(l, s))};
    for (int64_t i = 0; i < in[3].n; i++)
        set(&in[3], i, i / s != 1 && below(8) > 0); /* row 1 sees nothing */
    array out[2] = {array_of(t, 4, DIMS(1, HEADS, l, e)), array_of(TT_F32, 3, DIMS(1, HEADS, l))};
    array grad[3] = {array_of(t, 4, DIMS(1, HEADS, l, e)), array_of(t, 4, DIMS(1, key_heads, s, e)),
                     array_of(t, 4, DIMS(1, key_heads, s, e))};
    array g = filled(t, 4, DIMS(1, HEADS, l, e));
    CHECK(composite("tt.sdpa", attributes, 3 + h.masked, in, 2, out));
    array all[7] = {g, in[0], in[1], in[2], in[3], out[0], out[1]};
    memmove(&all[4 + h.masked], &all[5], 2 * sizeof *all);
    CHECK(composite("tt.sdpa_backward", attributes, 6 + h.masked, all, 3, grad));
    double *p = tt_calloc((size_t)(l * s), 8), *o = tt_calloc((size_t)(l * e), 8), *lse = tt_calloc((size_t)l, 8);
    double *want = tt_calloc((size_t)(key_heads * s * e * 2), 8);
    double *v[4], *vg = doubles(&g);
    for (int i = 0; i < 4; i++)
        v[i] = doubles(&in[i]);
    bool right = true;
    for (int64_t head = 0; head < HEADS; head++) {
        const int64_t q = head * l * e, k = head / (HEADS / key_heads) * s * e;
        attention(&h, v, q, k, p, o, lse);
        for (int64_t i = 0; i < l; i++) {
            right = right && near(&out[1], head * l + i, lse[i], steep);
            double delta = 0, dq[128] = {0};
            for (int64_t d = 0; d < e; d++) {
                right = right && near(&out[0], q + i * e + d, o[i * e + d], steep);
                delta += vg[q + i * e + d] * o[i * e + d];
            }
            for (int64_t j = 0; j < s; j++) {
                double dp = 0;
                for (int64_t d = 0; d < e; d++)
                    dp += vg[q + i * e + d] * v[2][k + j * e + d];
                const double ds = p[i * s + j] * (dp - delta) * h.scale;
                for (int64_t d = 0; d < e; d++) {
                    dq[d] += ds * v[1][k + j * e + d];
                    want[k + j * e + d] += ds * v[0][q + i * e + d];
                    want[key_heads * s * e + k + j * e + d] += p[i * s + j] * vg[q + i * e + d];
                }
            }
            for (int64_t d = 0; d < e; d++)
                right = right && near(&grad[0], q + i * e + d, dq[d], 4 * steep);
        }
    }
    for (int64_t i = 0; i < key_heads * s * e; i++)
        right = right && near(&grad[1], i, want[i], 8 * steep) && near(&grad[2], i, want[key_heads * s * e + i], 8 * steep);
    CHECK(right);
    double *heap[] = {p, o, lse, want};
    for (int i = 0; i < 4; i++) {
        free(heap[i]);
        free(v[i]);
        free(in[i].t.data);
    }
    for (int i = 0; i < 3; i++)
        free(grad[i].t.data);
    free(out[0].t.data);
    free(out[1].t.data);
    free(g.t.data);
    free(vg);
}

/* Scores of 0 but for some keys': all rows' weights are the mean of either. */
TEST(attention_of_rows_that_differ) {
    enum { L = 28, S = 1024, E = 2, FROM = 600, NOT = 4, HIGH = 12 };
    static const double heights[] = {16, 96, 192, 352, 368, 512, 4096, 1e30}; /* powers of some are beyond numbers, by little and by much */
    EACH_LEVEL({
        for (int t = 0; t < 2; t++)
            for (int i = 0; i < 16; i++) {
                array in[3] = {array_of(types[t], 4, DIMS(1, 1, L, E)), array_of(types[t], 4, DIMS(1, 1, S, E)),
                               array_of(types[t], 4, DIMS(1, 1, S, E))};
                array out[2] = {array_of(types[t], 4, DIMS(1, 1, L, E)), array_of(TT_F32, 3, DIMS(1, 1, L))};
                for (int64_t k = 0; k < in[0].n; k++)
                    set(&in[0], k, k / E == NOT && i >= 8 ? NAN : k / E == HIGH && k % E == 0);
                for (int64_t k = 0; k < in[1].n; k++) {
                    set(&in[1], k, k / E >= FROM && k % E == 0 ? heights[i % 8] : 0);
                    set(&in[2], k, k / E >= FROM ? 1 : -1);
                }
                CHECK(composite("tt.sdpa", "{causal = false, has_mask = false, scale = 1.0 : f64}", 3, in, 2, out));
                bool right = true;
                for (int64_t k = 0; k < out[0].n; k++)
                    if (k / E == NOT && i >= 8)
                        right = right && isnan(get(&out[0], k));
                    else
                        right = right && fabs(get(&out[0], k) - (k / E == HIGH ? 1 : 1 - 2. * FROM / S)) < 2e-3;
                CHECK(right);
                for (int k = 0; k < 3; k++)
                    free(in[k].t.data);
                free(out[0].t.data), free(out[1].t.data);
            }
    });
}

TEST(attention_and_its_gradient) {
    EACH_LEVEL({
        for (int t = 0; t < 3; t++) {
            one_attention((heads){1, 50, 33, false, true, .4}, types[t]);
            one_attention((heads){1, 301, 64, false, false, .4}, types[t]);
            one_attention((heads){1, 17, 128, false, true, .2}, types[t]);
            one_attention((heads){1, 530, 70, true, false, .4}, types[t]);
            one_attention((heads){3, 50, 33, false, true, .4}, types[t]);
            one_attention((heads){2, 301, 33, false, true, .4}, types[t]);
            one_attention((heads){70, 140, 17, false, true, .4}, types[t]);
            one_attention((heads){70, 66, 64, true, true, .4}, types[t]);
            one_attention((heads){57, 1030, 18, false, true, .4}, types[t]); /* more keys than pass at once */
            one_attention((heads){530, 530, 5, true, true, .4}, types[t]);
            one_attention((heads){60, 77, 33, false, false, .4}, types[t]);
            one_attention((heads){31, 1100, 20, false, false, 4}, types[t]); /* powers leave the range of small scores */
            one_attention((heads){530, 530, 6, true, false, 8}, types[t]);
            one_attention((heads){261, 271, 36, true, false, .4}, types[t]);
        }
    });
}
