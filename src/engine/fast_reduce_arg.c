/* fast_reduce_arg.c - the arg-reductions that hlo_reduce_arg builds: the extreme value of one dim and where it first is, NaN first of all.
 *
 * The region and its starting values are recognised as written there; any other pair of reductions is left to the reference kernel. */
#include "engine/fast.h"
#include "engine/kernels.h"
#include <stdio.h>
#include <string.h>

#pragma GCC optimize("O3,no-trapping-math")

typedef struct job {
    bool maximum;
    tt_dtype dtype, index_dtype;
    const char *x;
    char *value, *index;
    int64_t n, inner;  /* length of the reduced dim; elements from one of its steps to the next */
    int size, index_size;
} job;

static bool recognised(const hlo_graph *g, const hlo_node *node, tt_dtype dtype, bool *out_maximum) {
    const hlo_block *b = node->regions[0];
    char value[256], index[256], take[160], want[256];
    if (b->n_params != 4 || b->n_results != 2 || !fast_region_text(g, b, b->results[0], value, sizeof value) ||
        !fast_region_text(g, b, b->results[1], index, sizeof index))
        return false;
    for (int m = 0; m < 2; m++) {
        const char *order = m ? "GT" : "LT";
        if (tt_is_float(dtype))
            snprintf(take, sizeof take, "or(or(%s(p0,p2),and(NE(p0,p0),not(NE(p2,p2)))),and(or(EQ(p0,p2),and(NE(p0,p0),NE(p2,p2))),LT(p1,p3)))", order);
        else
            snprintf(take, sizeof take, "or(%s(p0,p2),and(EQ(p0,p2),LT(p1,p3)))", order);
        snprintf(want, sizeof want, "select(%s,p0,p2)", take);
        if (strcmp(value, want))
            continue;
        snprintf(want, sizeof want, "select(%s,p1,p3)", take);
        *out_maximum = m;
        return !strcmp(index, want);
    }
    return false;
}

/* The first best of x[0, n), s apart. */
#define FIND(name, T, S, get)                                                                     \
    static int64_t name(const job *j, const void *data, int64_t n, int64_t s) {                   \
        const S *p = data;                                                                        \
        T best = get(p[0]);                                                                       \
        int64_t at = 0;                                                                           \
        if (best != best)                                                                         \
            return 0;                                                                             \
        for (int64_t i = 1; i < n; i++) {                                                         \
            T v = get(p[i * s]);                                                                  \
            if (v != v)                                                                           \
                return i;                                                                         \
            if (j->maximum ? v > best : v < best) {                                               \
                best = v;                                                                         \
                at = i;                                                                           \
            }                                                                                     \
        }                                                                                         \
        return at;                                                                                \
    }
/* Columns side by side: best[] and at[] over w of them. */
#define COLUMNS(name, T, S, get)                                                                  \
    static FAST_CLONES void name(bool maximum, const void *data, int64_t n, int64_t s, int64_t w, int32_t *restrict at) { \
        const S *p = data;                                                                        \
        T best[256];                                                                              \
        for (int64_t k = 0; k < w; k++)                                                           \
            best[k] = get(p[k]), at[k] = 0;                                                       \
        for (int64_t i = 1; i < n; i++) {                                                         \
            const S *q = p + i * s;                                                               \
            for (int64_t k = 0; k < w; k++) {                                                     \
                T v = get(q[k]);                                                                  \
                bool better = (maximum ? v > best[k] : v < best[k]) | ((v != v) & (best[k] == best[k])); \
                best[k] = better ? v : best[k];                                                   \
                at[k] = better ? (int32_t)i : at[k];                                              \
            }                                                                                     \
        }                                                                                         \
    }
#define plain(x) (x)
#define BOTH(type, T, S, get) FIND(find_##type, T, S, get) COLUMNS(columns_##type, T, S, get)
BOTH(F32, float, float, plain)
BOTH(F64, double, double, plain)
BOTH(I8, int8_t, int8_t, plain)
BOTH(I16, int16_t, int16_t, plain)
BOTH(I32, int32_t, int32_t, plain)
BOTH(I64, int64_t, int64_t, plain)
BOTH(U8, uint8_t, uint8_t, plain)
BOTH(U16, uint16_t, uint16_t, plain)
BOTH(U32, uint32_t, uint32_t, plain)
BOTH(U64, uint64_t, uint64_t, plain)

/* 16-bit floats are widened a row at a time. */
static void columns_half(const job *j, const char *x, int64_t s, int64_t w, int32_t *at) {
    loop_kernel widen = loop_find(HLO_CONVERT, j->dtype, TT_F32, 0);
    float best[256], v[256];
    widen(best, x, NULL, NULL, w);
    memset(at, 0, sizeof *at * (size_t)w);
    for (int64_t i = 1; i < j->n; i++) {
        widen(v, x + i * s * 2, NULL, NULL, w);
        for (int64_t k = 0; k < w; k++) {
            bool better = (j->maximum ? v[k] > best[k] : v[k] < best[k]) | ((v[k] != v[k]) & (best[k] == best[k]));
            best[k] = better ? v[k] : best[k];
            at[k] = better ? (int32_t)i : at[k];
        }
    }
}

enum { WIDTH = 256 };
static void columns(const job *j, const char *x, int64_t s, int64_t w, int32_t *at) {
    switch ((int)j->dtype) {
#define CASE(type) case TT_##type: columns_##type(j->maximum, x, j->n, s, w, at); break;
        CASE(F32) CASE(F64) CASE(I8) CASE(I16) CASE(I32) CASE(I64) CASE(U8) CASE(U16) CASE(U32) CASE(U64)
#undef CASE
    default: columns_half(j, x, s, w, at);
    }
}

/* A long row of floats: the extreme by vectors first, then where it is. */
static int64_t find_row(const job *j, const char *x) {
    bool half = j->dtype == TT_BF16 || j->dtype == TT_F16;
    if (half) {
        float *wide = eng_scratch_need(FAST_SCRATCH, sizeof(float) * (size_t)j->n);
        loop_find(HLO_CONVERT, j->dtype, TT_F32, 0)(wide, x, NULL, NULL, j->n);
        x = (const char *)wide;
    }
    if (half && j->n < 64)
        return find_F32(j, x, j->n, 1);
    if ((half || j->dtype == TT_F32) && j->n >= 64) {
        const float *p = (const float *)(const void *)x;
        float best;
        loop_find((j->maximum ? HLO_MAXIMUM : HLO_MINIMUM) + LOOP_ROW, TT_F32, TT_F32, 0)(&best, p, NULL, NULL, j->n);
        for (int64_t i = 0; i < j->n; i += 64) {
            int hit = 0;
            int64_t m = loop_min(64, j->n - i);
            for (int64_t k = 0; k < m; k++)
                hit |= (p[i + k] == best) | (p[i + k] != p[i + k]);
            for (int64_t k = 0; hit && k < m; k++)
                if (p[i + k] == best || p[i + k] != p[i + k])
                    if (best == best || p[i + k] != p[i + k])
                        return i + k;
        }
    }
    switch ((int)j->dtype) {
#define CASE(type) case TT_##type: return find_##type(j, x, j->n, 1);
        CASE(F32) CASE(F64) CASE(I8) CASE(I16) CASE(I32) CASE(I64) CASE(U8) CASE(U16) CASE(U32) CASE(U64)
#undef CASE
    }
    return 0;
}

static void put(const job *j, int64_t out, int64_t at, const char *x) {
    const char *best = x + at * j->inner * j->size;
    char *value = j->value + out * j->size;
    if (j->size == 4) /* a length that is known */
        memcpy(value, best, 4);
    else
        memcpy(value, best, (size_t)j->size);
    if (j->index_dtype == TT_I64)
        ((int64_t *)(void *)j->index)[out] = at;
    else
        tt_element_set_int(j->index_dtype, j->index + out * j->index_size, at);
}

/* Short rows are turned, so that they are gone over side by side. */
enum { SHORT_ROW = 200, FEW_ROWS = 16 };
static void short_rows(const job *j, int64_t from, int64_t to) {
    int32_t at[WIDTH];
    char *block = eng_scratch_need(FAST_SCRATCH, (size_t)(WIDTH * j->n * j->size));
    for (int64_t w; from < to; from += w) {
        w = loop_min(loop_min(WIDTH, 16384 / j->n), to - from);
        const char *x = j->x + from * j->n * j->size;
        eng_kernels_get()->transpose(j->size, block, w, x, j->n, w, j->n);
        columns(j, block, w, w, at);
        for (int64_t k = 0; k < w; k++)
            put(j, from + k, at[k], x + k * j->n * j->size);
    }
}

static void rows_range(void *context, int64_t from, int64_t to) {
    const job *j = context;
    if (j->n <= SHORT_ROW && to - from >= FEW_ROWS && (j->size == 2 || j->size == 4 || j->size == 8)) {
        short_rows(j, from, to);
        return;
    }
    for (int64_t r = from; r < to; r++) {
        const char *x = j->x + r * j->n * j->size;
        put(j, r, find_row(j, x), x);
    }
}

static void columns_range(void *context, int64_t from, int64_t to) {
    const job *j = context;
    int32_t at[WIDTH];
    int64_t blocks = (j->inner + WIDTH - 1) / WIDTH;
    for (int64_t i = from; i < to; i++) {
        int64_t outer = i / blocks, first = i % blocks * WIDTH, w = loop_min(WIDTH, j->inner - first);
        const char *x = j->x + (outer * j->n * j->inner + first) * j->size;
        columns(j, x, j->inner, w, at);
        for (int64_t k = 0; k < w; k++)
            put(j, outer * j->inner + first + k, at[k], x + k * j->size);
    }
}

tt_status eng_fast_reduce_arg(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    hlo_ints dims = hlo_attr_ints(node, HLO_A_DIMENSIONS);
    const hlo_node *indices = hlo_node_at(g, node->operands[1]);
    job j = {.dtype = in->type.dtype, .index_dtype = in[1].type.dtype, .x = in->data, .value = out[0].data, .index = out[1].data, .inner = 1};
    char worst[16];
    (void)run;
    if (node->n_regions != 1 || node->n_results != 2 || dims.n != 1 || indices->op != HLO_IOTA || !tt_is_int(j.index_dtype) ||
        hlo_attr_int(indices, HLO_A_IOTA_DIMENSION, -1) != dims.v[0] || (!tt_is_int(j.dtype) && !loop_find(HLO_EXP, j.dtype, j.dtype, 0)) ||
        !loop_find(HLO_ADD, j.dtype, j.dtype, 0) || !recognised(g, node, j.dtype, &j.maximum))
        return eng_not_mine;
    j.size = tt_dtype_size(j.dtype);
    j.index_size = tt_dtype_size(j.index_dtype);
    fast_identity(j.maximum ? HLO_MAXIMUM : HLO_MINIMUM, j.dtype, worst);
    if (memcmp(worst, in[2].data, (size_t)j.size) || tt_element_get_int(j.index_dtype, in[3].data))
        return eng_not_mine;
    int dim = (int)dims.v[0];
    j.n = in->type.dims[dim];
    for (int d = dim + 1; d < in->type.rank; d++)
        j.inner *= in->type.dims[d];
    int64_t n_out = hlo_type_elements(&out->type);
    if (!j.n || j.n > INT32_MAX || !n_out)
        return n_out ? eng_not_mine : TT_OK;
    if (j.inner == 1) {
        fast_ranges(n_out, (1 << 15) / j.n, rows_range, &j);
    } else {
        int64_t blocks = (j.inner + 255) / 256;
        fast_ranges(n_out / j.inner * blocks, (1 << 15) / loop_min(j.n * loop_min(j.inner, 256), 1 << 15), columns_range, &j);
    }
    return TT_OK;
}
