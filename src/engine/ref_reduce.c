/* ref_reduce.c - reference kernels of reduce, reduce_window, select_and_scatter and map.
 *
 * All results are computed side by side: the accumulators are one array, and each step combines them with the next element of
 * every result. Elements are taken in the specification's order, each step rounds to the element type; only a plain sum of floats
 * by reduce is different: it adds up in double and rounds once. Windows are short, and there each step rounds. */
#include "engine/ref.h"

enum { BLOCK = 1024 };

static bool is_float_sum(hlo_op op, tt_dtype t) {
    return op == HLO_ADD && tt_is_float(t);
}

/* The running values of a reduction over n results: what `steps` calls of accumulate leave is written by finish. */
typedef struct reduction {
    ref_region *region;
    hlo_op op;
    int n_values;
    int64_t n;
    eng_tensor *out;
    char *other[HLO_MAX_RANK]; /* regions write here, then it changes places with current */
    char *current[HLO_MAX_RANK];
    double *sum, *block;
} reduction;

static void reduction_deinit(reduction *r) {
    ref_region_destroy(r->region);
    for (int k = 0; k < r->n_values; k++) {
        ref_free(&r->other[k]);
        ref_free(&r->current[k]);
    }
    ref_free(&r->sum);
    ref_free(&r->block);
}

static tt_status reduction_init(reduction *r, eng_run *run, const hlo_graph *g, const hlo_block *block, int n_values, bool wide_sums,
                                const eng_tensor *init, eng_tensor *out) {
    *r = (reduction){.n_values = n_values, .out = out, .n = ref_count(out), .op = ref_region_op(g, block)};
    TT_CHECK(block->n_params == 2 * n_values && block->n_results == n_values, INVALID_ARGUMENT, "a reduction's region of %d parameters",
             block->n_params);
    tt_dtype t = out->type.dtype;
    bool same = hlo_type_of(g, block->params[0])->dtype == t && init->type.dtype == t;
    TT_TRY(ref_region_create(run, g, block, &r->region));
    if (wide_sums && n_values == 1 && same && is_float_sum(r->op, t)) {
        TT_TRY(ref_alloc(r->n, sizeof(double), &r->sum));
        TT_TRY(ref_alloc(BLOCK, sizeof(double), &r->block));
        double first;
        ref_to_f64(t, &first, init->data, 1);
        for (int64_t i = 0; i < r->n; i++)
            r->sum[i] = first;
        return TT_OK;
    }
    for (int k = 0; k < n_values; k++) {
        TT_CHECK(init[k].type.dtype == out[k].type.dtype, INVALID_ARGUMENT, "a reduction from %s to %s",
                 tt_dtype_name(init[k].type.dtype), tt_dtype_name(out[k].type.dtype));
        TT_TRY(ref_alloc(r->n, ref_size(out + k), &r->current[k]));
        TT_TRY(ref_alloc(r->n, ref_size(out + k), &r->other[k]));
        ref_fill(ref_size(out + k), r->current[k], init[k].data, r->n);
    }
    return TT_OK;
}

/* x[k]: `rows` rows of n elements each, combined one row after the other. */
static tt_status accumulate(reduction *r, int64_t rows, const char *const *x) {
    tt_dtype t = r->out->type.dtype;
    if (r->sum) {
        int64_t total = rows * r->n, column = 0;
        for (int64_t i = 0, m; i < total; i += m) {
            m = total - i < BLOCK ? total - i : BLOCK;
            ref_to_f64(t, r->block, x[0] + i * tt_dtype_size(t), m);
            for (int64_t j = 0; j < m; j++) {
                r->sum[column] += r->block[j];
                column = column + 1 == r->n ? 0 : column + 1;
            }
        }
        return TT_OK;
    }
    for (int64_t row = 0; row < rows; row++) {
        const void *in[2 * HLO_MAX_RANK];
        void *out[HLO_MAX_RANK];
        for (int k = 0; k < r->n_values; k++) {
            in[k] = r->current[k];
            in[r->n_values + k] = x[k] + row * r->n * ref_size(r->out + k);
            out[k] = r->other[k];
        }
        TT_TRY(ref_region_run(r->region, r->n, in, out));
        for (int k = 0; k < r->n_values; k++) {
            char *swap = r->current[k];
            r->current[k] = r->other[k];
            r->other[k] = swap;
        }
    }
    return TT_OK;
}

static void finish(reduction *r) {
    if (r->sum)
        ref_from_f64(r->out->type.dtype, r->out->data, r->sum, r->n);
    for (int k = 0; k < r->n_values && !r->sum; k++)
        ref_memcpy(r->out[k].data, r->current[k], r->n * ref_size(r->out + k));
}

/* ---- reduce ---- */
/* x with its reduced dims first, dense; *out_copy owns it, or is NULL when x is laid out so already. */
static tt_status reduced_first(const eng_tensor *x, hlo_ints dims, char **out_copy, const char **out_data) {
    int64_t strides[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK];
    bool reduced[HLO_MAX_RANK] = {false}, identity = true;
    for (int i = 0; i < dims.n; i++) {
        TT_CHECK(dims.v[i] >= 0 && dims.v[i] < x->type.rank && !reduced[dims.v[i]], INVALID_ARGUMENT, "reduce over dimension %lld",
                 (long long)dims.v[i]);
        reduced[dims.v[i]] = true;
    }
    hlo_type t = x->type;
    ref_strides(&x->type, strides);
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < x->type.rank; d++)
            if (reduced[d] == !pass) {
                identity = identity && n == d;
                from[n] = strides[d];
                t.dims[n++] = x->type.dims[d];
            }
    *out_data = x->data;
    if (identity)
        return TT_OK;
    TT_TRY(ref_alloc(ref_count(x), ref_size(x), out_copy));
    ref_strides(&t, to);
    ref_copy(t.rank, t.dims, ref_size(x), *out_copy, to, x->data, from);
    *out_data = *out_copy;
    return TT_OK;
}

static tt_status reduce_run(reduction *r, eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out,
                            char **copies) {
    int n = (int)node->n_operands / 2;
    hlo_ints dims = hlo_attr_ints(node, HLO_A_DIMENSIONS);
    const char *x[HLO_MAX_RANK];
    TT_TRY(reduction_init(r, run, g, node->regions[0], n, true, in + n, out));
    for (int k = 0; k < n; k++) {
        TT_CHECK(hlo_dims_equal(&in[k].type, &in[0].type), INVALID_ARGUMENT, "reduce: operands of different shapes");
        TT_CHECK(in[k].type.dtype == out[k].type.dtype, UNIMPLEMENTED, "reduce from %s to %s", tt_dtype_name(in[k].type.dtype),
                 tt_dtype_name(out[k].type.dtype));
        TT_TRY(reduced_first(in + k, dims, &copies[k], &x[k]));
    }
    int64_t rows = r->n ? ref_count(in) / r->n : 0;
    if (r->n)
        TT_TRY(accumulate(r, rows, x));
    finish(r);
    return TT_OK;
}

REF_KERNEL(reduce) {
    int n = (int)node->n_operands / 2;
    TT_CHECK(node->n_regions == 1 && n >= 1 && n <= HLO_MAX_RANK && (int)node->n_operands == 2 * n && node->n_results == n, INVALID_ARGUMENT,
             "reduce of %u operands", node->n_operands);
    reduction r = {0};
    char *copies[HLO_MAX_RANK] = {NULL};
    tt_status error = reduce_run(&r, run, g, node, in, out, copies);
    reduction_deinit(&r);
    for (int k = 0; k < n; k++)
        ref_free(&copies[k]);
    return error;
}

/* ---- windows ---- */
typedef struct window {
    int64_t size[HLO_MAX_RANK], stride[HLO_MAX_RANK], base[HLO_MAX_RANK], dilation[HLO_MAX_RANK], low[HLO_MAX_RANK];
} window;

static tt_status window_read(const hlo_node *node, int rank, window *w) {
    int64_t padding[2 * HLO_MAX_RANK];
    TT_TRY(ref_ints(node, HLO_A_WINDOW_DIMENSIONS, rank, 1, w->size));
    TT_TRY(ref_ints(node, HLO_A_WINDOW_STRIDES, rank, 1, w->stride));
    TT_TRY(ref_ints(node, HLO_A_BASE_DILATIONS, rank, 1, w->base));
    TT_TRY(ref_ints(node, HLO_A_WINDOW_DILATIONS, rank, 1, w->dilation));
    TT_TRY(ref_ints(node, HLO_A_PADDING, 2 * rank, 0, padding));
    for (int d = 0; d < rank; d++) {
        w->low[d] = padding[2 * d];
        TT_CHECK(w->size[d] > 0 && w->stride[d] > 0 && w->base[d] > 0 && w->dilation[d] > 0, INVALID_ARGUMENT, "%s: window of dimension %d",
                 hlo_op_text((hlo_op)node->op), d);
    }
    return TT_OK;
}

/* The operand's index that result index o sees at window position k in dimension d; -1: padding, or a hole of the base dilation. */
static int64_t window_index(const window *w, int d, int64_t size, int64_t o, int64_t k) {
    int64_t at = o * w->stride[d] + k * w->dilation[d] - w->low[d];
    if (at < 0 || at % w->base[d] || at / w->base[d] >= size)
        return -1;
    return at / w->base[d];
}

/* For every result element what its window holds at position k; init outside the operand. maps: scratch of sum(out dims). */
static void window_take(const eng_tensor *x, const window *w, const int64_t *k, const hlo_type *out, const void *init, int64_t *maps, char *dst) {
    int rank = x->type.rank, size = ref_size(x);
    int64_t strides[HLO_MAX_RANK], at[HLO_MAX_RANK] = {0}, *map[HLO_MAX_RANK];
    ref_strides(&x->type, strides);
    for (int d = 0; d < rank; d++) {
        map[d] = maps;
        maps += out->dims[d];
        for (int64_t o = 0; o < out->dims[d]; o++) {
            int64_t i = window_index(w, d, x->type.dims[d], o, k[d]);
            map[d][o] = i < 0 ? -1 : i * strides[d];
        }
    }
    int64_t inner = rank ? out->dims[rank - 1] : 1;
    do {
        int64_t base = 0;
        for (int d = 0; d < rank - 1 && base >= 0; d++)
            base = map[d][at[d]] < 0 ? -1 : base + map[d][at[d]];
        for (int64_t o = 0; o < inner; o++, dst += size) {
            int64_t last = rank ? map[rank - 1][o] : 0;
            memcpy(dst, base < 0 || last < 0 ? init : (const char *)x->data + base + last, (size_t)size);
        }
    } while (ref_next(rank - 1, out->dims, at));
}

static tt_status reduce_window_run(reduction *r, eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                                   eng_tensor *out, char **taken) {
    int n = (int)node->n_operands / 2, rank = in->type.rank;
    window w;
    int64_t k[HLO_MAX_RANK] = {0}, maps_size = 1;
    TT_TRY(window_read(node, rank, &w));
    TT_TRY(reduction_init(r, run, g, node->regions[0], n, false, in + n, out));
    for (int d = 0; d < rank; d++)
        maps_size += out->type.dims[d];
    REF_AUTO(int64_t) maps = NULL;
    TT_TRY(ref_alloc(maps_size, sizeof *maps, &maps));
    for (int i = 0; i < n; i++) {
        TT_CHECK(hlo_dims_equal(&in[i].type, &in[0].type) && in[i].type.rank == out[i].type.rank, INVALID_ARGUMENT,
                 "reduce_window: operands of different shapes");
        TT_CHECK(in[i].type.dtype == out[i].type.dtype, UNIMPLEMENTED, "reduce_window from %s to %s", tt_dtype_name(in[i].type.dtype),
                 tt_dtype_name(out[i].type.dtype));
        TT_TRY(ref_alloc(r->n, ref_size(in + i), &taken[i]));
    }
    if (r->n == 0)
        return TT_OK;
    do {
        for (int i = 0; i < n; i++)
            window_take(in + i, &w, k, &out->type, in[n + i].data, maps, taken[i]);
        TT_TRY(accumulate(r, 1, (const char *const *)taken));
    } while (ref_next(rank, w.size, k));
    finish(r);
    return TT_OK;
}

REF_KERNEL(reduce_window) {
    int n = (int)node->n_operands / 2;
    TT_CHECK(node->n_regions == 1 && n >= 1 && n <= HLO_MAX_RANK && (int)node->n_operands == 2 * n && node->n_results == n, INVALID_ARGUMENT,
             "reduce_window of %u operands", node->n_operands);
    reduction r = {0};
    char *taken[HLO_MAX_RANK] = {NULL};
    tt_status error = reduce_window_run(&r, run, g, node, in, out, taken);
    reduction_deinit(&r);
    for (int k = 0; k < n; k++)
        ref_free(&taken[k]);
    return error;
}

/* ---- select_and_scatter ---- */
/* The place (in bytes from the operand's start) that select picks in the window of source index `at`; -1: the window is all padding. */
static tt_status pick(ref_region *select, const eng_tensor *x, const window *w, const int64_t *at, int64_t *out_place) {
    int64_t k[HLO_MAX_RANK] = {0}, strides[HLO_MAX_RANK], best = -1;
    ref_strides(&x->type, strides);
    do {
        int64_t place = 0;
        for (int d = 0; d < x->type.rank && place >= 0; d++) {
            int64_t i = window_index(w, d, x->type.dims[d], at[d], k[d]);
            place = i < 0 ? -1 : place + i * strides[d];
        }
        if (place < 0)
            continue;
        uint8_t keep = 0;
        if (best >= 0)
            TT_TRY(ref_region_run(select, 1, (const void *const[]){(char *)x->data + best, (char *)x->data + place}, (void *const[]){&keep}));
        if (!keep)
            best = place;
    } while (ref_next(x->type.rank, w->size, k));
    *out_place = best;
    return TT_OK;
}

static tt_status select_and_scatter(ref_region *select, ref_region *combine, const window *w, const eng_tensor *in, eng_tensor *out) {
    int64_t at[HLO_MAX_RANK] = {0}, place;
    int size = ref_size(out);
    const eng_tensor *source = in + 1;
    const char *s = source->data;
    char result[16];
    ref_fill(size, out->data, in[2].data, ref_count(out));
    if (ref_count(source) == 0)
        return TT_OK;
    do {
        TT_TRY(pick(select, in, w, at, &place));
        if (place >= 0) {
            char *o = (char *)out->data + place;
            TT_TRY(ref_region_run(combine, 1, (const void *const[]){o, s}, (void *const[]){result}));
            memcpy(o, result, (size_t)size);
        }
        s += size;
    } while (ref_next(source->type.rank, source->type.dims, at));
    return TT_OK;
}

REF_KERNEL(select_and_scatter) {
    window w;
    TT_CHECK(node->n_regions == 2 && in[1].type.rank == in->type.rank && in[1].type.dtype == in->type.dtype, INVALID_ARGUMENT,
             "malformed select_and_scatter");
    TT_TRY(window_read(node, in->type.rank, &w));
    ref_region *select = NULL, *combine = NULL;
    tt_status error = ref_region_create(run, g, node->regions[0], &select);
    if (!error)
        error = ref_region_create(run, g, node->regions[1], &combine);
    if (!error)
        error = select_and_scatter(select, combine, &w, in, out);
    ref_region_destroy(select);
    ref_region_destroy(combine);
    return error;
}

/* ---- map ---- */
REF_KERNEL(map) {
    const void *arrays[HLO_MAX_RANK];
    TT_CHECK(node->n_regions == 1 && node->n_operands <= HLO_MAX_RANK, INVALID_ARGUMENT, "map of %u operands", node->n_operands);
    for (uint32_t i = 0; i < node->n_operands; i++)
        arrays[i] = in[i].data;
    ref_region *region = NULL;
    TT_TRY(ref_region_create(run, g, node->regions[0], &region));
    tt_status error = ref_region_run(region, ref_count(out), arrays, (void *const[]){out->data});
    ref_region_destroy(region);
    return error;
}
