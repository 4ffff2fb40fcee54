/* infer_window.c - result types and constraints of reductions, windows, scatter, sort, products, convolution,
 * FFT. */
#include "base/checked.h"
#include "hlo/internal.h"
#include <string.h>

bool hlo_window_count(int64_t size, int64_t low, int64_t high, int64_t base_dilation, int64_t window,
                      int64_t dilation, int64_t stride, int64_t *out_count) {
    int64_t padded, reach;
    if (window < 1 || dilation < 1 || stride < 1 || base_dilation < 1 || size < 0)
        return false;
    if (!tt_mul_i64(size ? size - 1 : 0, base_dilation, &padded) ||
        !tt_add_i64(padded, size ? 1 : 0, &padded) || !tt_add_i64(padded, low, &padded) ||
        !tt_add_i64(padded, high, &padded) || !tt_mul_i64(window - 1, dilation, &reach) || reach == INT64_MAX)
        return false;
    if (padded < 0)
        return false;
    *out_count = padded == 0 || padded < reach + 1 ? 0 : (padded - reach - 1) / stride + 1;
    return true;
}

tt_status hlo_check_region(const hlo_graph *g, const hlo_node *n, int region, int n_params,
                           const hlo_type *params, int n_results, const hlo_type *results) {
    HLO_NEED(region < n->n_regions, "has %d regions, needs %d", n->n_regions, region + 1);
    const hlo_block *b = n->regions[region];
    HLO_NEED(b->n_params == n_params, "region %d takes %d values, must take %d", region, b->n_params,
             n_params);
    HLO_NEED(b->n_results == n_results, "region %d returns %d values, must return %d", region, b->n_results,
             n_results);
    for (int i = 0; i < n_params; i++)
        HLO_NEED(hlo_type_equal(hlo_type_of(g, b->params[i]), &params[i]),
                 "region %d takes %s at %d, must take %s", region,
                 hlo_type_print(g->arena, hlo_type_of(g, b->params[i])), i,
                 hlo_type_print(g->arena, &params[i]));
    for (int i = 0; i < n_results; i++) {
        const hlo_type *t = b->results[i] < g->n_nodes ? hlo_type_of(g, b->results[i]) : NULL;
        HLO_NEED(t && hlo_type_equal(t, &results[i]), "region %d returns %s at %d, must return %s", region,
                 t ? hlo_type_print(g->arena, t) : "nothing", i, hlo_type_print(g->arena, &results[i]));
    }
    return TT_OK;
}

/* The region of reduce and its kin: 2n scalars to n scalars, of the accumulators' types. */
static tt_status check_combiner(const hlo_graph *g, const hlo_node *n, int count,
                                const hlo_type *accumulators) {
    hlo_type *types = TT_NEW_N(g->arena, hlo_type, 2 * count);
    for (int i = 0; i < count; i++)
        types[i] = types[count + i] = hlo_type_make(accumulators[i].dtype, 0, NULL);
    return hlo_check_region(g, n, 0, 2 * count, types, count, types);
}

/* Operands are count inputs of one shape, then count scalars. Gives the scalars' types. */
static tt_status check_inputs_inits(const hlo_graph *g, const hlo_node *n, int *out_count,
                                    hlo_type **out_inits) {
    int count = (int)(n->n_operands / 2);
    HLO_NEED(count > 0 && n->n_operands % 2 == 0, "has %u operands, needs inputs and as many init values",
             n->n_operands);
    HLO_NEED(n->n_results == count, "has %d results for %d inputs", n->n_results, count);
    *out_inits = TT_NEW_N(g->arena, hlo_type, count);
    for (int i = 0; i < count; i++) {
        HLO_NEED(hlo_dims_equal(HLO_OPERAND(0), HLO_OPERAND(i)), "inputs %s and %s have different shapes",
                 HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(i));
        HLO_NEED(HLO_OPERAND(count + i)->rank == 0, "init value %d is %s, not a scalar", i,
                 HLO_OPERAND_TEXT(count + i));
        (*out_inits)[i] = *HLO_OPERAND(count + i);
    }
    *out_count = count;
    return TT_OK;
}

tt_status hlo_rule_REDUCE(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    int count;
    hlo_type *inits;
    TT_TRY(check_inputs_inits(g, n, &count, &inits));
    const hlo_type *x = HLO_OPERAND(0);
    hlo_ints dims = hlo_attr_ints(n, HLO_A_DIMENSIONS);
    HLO_NEED(hlo_dims_distinct(dims, x->rank), "dimensions repeat or are outside rank %d", x->rank);
    for (int i = 0; i < count; i++) {
        out[i] = (hlo_type){.dtype = inits[i].dtype};
        for (int k = 0; k < x->rank; k++)
            if (!hlo_ints_contain(dims, k))
                out[i].dims[out[i].rank++] = x->dims[k];
    }
    return check_combiner(g, n, count, inits);
}

/* The window attributes applied to x: the size of the result. Absent lists are ones (zeros for padding). */
static tt_status window_shape(const hlo_graph *g, const hlo_node *n, const hlo_type *x, hlo_type *out) {
    hlo_ints size = hlo_attr_ints(n, HLO_A_WINDOW_DIMENSIONS),
             stride = hlo_attr_ints(n, HLO_A_WINDOW_STRIDES), base = hlo_attr_ints(n, HLO_A_BASE_DILATIONS),
             dilation = hlo_attr_ints(n, HLO_A_WINDOW_DILATIONS), padding = hlo_attr_ints(n, HLO_A_PADDING);
    int r = x->rank;
    HLO_NEED(size.n == r || (n->op == HLO_SELECT_AND_SCATTER && !size.n),
             "window_dimensions does not have rank %d", r);
    HLO_NEED((!stride.n || stride.n == r) && (!base.n || base.n == r) && (!dilation.n || dilation.n == r) &&
                 (!padding.n || padding.n == 2 * r),
             "window attributes do not have rank %d", r);
    *out = *x;
    for (int i = 0; i < r; i++) {
        int64_t low = padding.n ? padding.v[2 * i] : 0, high = padding.n ? padding.v[2 * i + 1] : 0;
        HLO_NEED(hlo_window_count(x->dims[i], low, high, base.n ? base.v[i] : 1, size.n ? size.v[i] : 1,
                                  dilation.n ? dilation.v[i] : 1, stride.n ? stride.v[i] : 1, &out->dims[i]),
                 "window of dimension %d does not fit %s", i, hlo_type_print(g->arena, x));
    }
    return TT_OK;
}

tt_status hlo_rule_REDUCE_WINDOW(const hlo_graph *g, const hlo_node *n, const hlo_type *given,
                                 hlo_type *out) {
    (void)given;
    int count;
    hlo_type *inits;
    TT_TRY(check_inputs_inits(g, n, &count, &inits));
    for (int i = 0; i < count; i++) {
        TT_TRY(window_shape(g, n, HLO_OPERAND(0), &out[i]));
        out[i].dtype = inits[i].dtype;
    }
    return check_combiner(g, n, count, inits);
}

tt_status hlo_check_window_op(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(0), *source = HLO_OPERAND(1), *init = HLO_OPERAND(2);
    TT_TRY(window_shape(g, n, x, out));
    HLO_NEED(hlo_dims_equal(out, source) && source->dtype == x->dtype, "source is %s, its windows need %s",
             HLO_OPERAND_TEXT(1), hlo_type_print(g->arena, out));
    HLO_NEED(init->rank == 0 && init->dtype == x->dtype, "init value %s does not fit %s", HLO_OPERAND_TEXT(2),
             HLO_OPERAND_TEXT(0));
    hlo_type scalar = hlo_type_make(x->dtype, 0, NULL), pred = hlo_type_make(TT_PRED, 0, NULL),
             two[2] = {scalar, scalar};
    TT_TRY(hlo_check_region(g, n, 0, 2, two, 1, &pred));
    return hlo_check_region(g, n, 1, 2, two, 1, &scalar);
}

/* Dimension numbers against operand, indices and updates (all updates have updates' shape). */
static tt_status check_scatter(const hlo_graph *g, const hlo_node *n, const hlo_dims *d, const hlo_type *x,
                               const hlo_type *indices, const hlo_type *updates) {
    int64_t depth = d->index_vector_dim < indices->rank ? indices->dims[d->index_vector_dim] : 1;
    HLO_NEED(d->e.n == depth, "scatter_dims_to_operand_dims has %d entries for %lld index components", d->e.n,
             (long long)depth);
    HLO_NEED(hlo_dims_distinct(d->a, updates->rank) && hlo_dims_distinct(d->b, x->rank) &&
                 hlo_dims_distinct(d->c, x->rank) && hlo_dims_distinct(d->e, x->rank) &&
                 hlo_dims_distinct(d->d, indices->rank) && d->c.n == d->d.n,
             "dimension numbers repeat or are out of range");
    HLO_NEED(d->a.n + d->b.n + d->c.n == x->rank,
             "window, inserted and batching dims do not add up to rank %d", x->rank);
    HLO_NEED(updates->rank == indices->rank - (d->index_vector_dim < indices->rank) + d->a.n,
             "updates %s do not have the rank that the indices need", hlo_type_print(g->arena, updates));
    for (int i = 0; i < d->c.n; i++)
        HLO_NEED(!hlo_ints_contain(d->b, d->c.v[i]) && !hlo_ints_contain(d->e, d->c.v[i]) &&
                     !(d->d.v[i] == d->index_vector_dim) && x->dims[d->c.v[i]] == indices->dims[d->d.v[i]],
                 "batching dims do not match");
    int in_window = 0, in_indices = 0;
    for (int i = 0; i < updates->rank; i++) {
        if (hlo_ints_contain(d->a, i)) {
            HLO_NEED(i == d->a.v[0] || in_window, "update_window_dims are not increasing");
            while (hlo_ints_contain(d->b, in_window) || hlo_ints_contain(d->c, in_window))
                in_window++;
            HLO_NEED(updates->dims[i] <= x->dims[in_window], "update window %s is larger than operand %s",
                     hlo_type_print(g->arena, updates), hlo_type_print(g->arena, x));
            in_window++;
        } else {
            in_indices += in_indices == d->index_vector_dim;
            HLO_NEED(updates->dims[i] == indices->dims[in_indices], "updates %s do not match indices %s",
                     hlo_type_print(g->arena, updates), hlo_type_print(g->arena, indices));
            in_indices++;
        }
    }
    return TT_OK;
}

tt_status hlo_rule_SCATTER(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    int count = (int)n->n_operands / 2;
    HLO_NEED(n->n_operands % 2 == 1 && count > 0 && n->n_results == count, "has %u operands and %d results",
             n->n_operands, n->n_results);
    const hlo_attr *a = hlo_attr_find(n, HLO_A_SCATTER_DIMENSION_NUMBERS);
    HLO_NEED(a && a->kind == HLO_K_DIMS && a->dims->kind == HLO_DIMS_SCATTER,
             "needs scatter_dimension_numbers");
    const hlo_type *indices = HLO_OPERAND(count);
    HLO_NEED(tt_is_int(indices->dtype), "indices are %s", HLO_OPERAND_TEXT(count));
    HLO_NEED(a->dims->index_vector_dim >= 0 && a->dims->index_vector_dim <= indices->rank,
             "index_vector_dim %lld is outside %s", (long long)a->dims->index_vector_dim,
             HLO_OPERAND_TEXT(count));
    for (int i = 0; i < count; i++) {
        const hlo_type *x = HLO_OPERAND(i), *u = HLO_OPERAND(count + 1 + i);
        HLO_NEED(hlo_dims_equal(x, HLO_OPERAND(0)) && hlo_dims_equal(u, HLO_OPERAND(count + 1)),
                 "operands have different shapes");
        HLO_NEED(x->dtype == u->dtype, "updates %s do not fit operand %s", HLO_OPERAND_TEXT(count + 1 + i),
                 HLO_OPERAND_TEXT(i));
        out[i] = *x;
    }
    TT_TRY(check_scatter(g, n, a->dims, HLO_OPERAND(0), indices, HLO_OPERAND(count + 1)));
    return check_combiner(g, n, count, out);
}

tt_status hlo_rule_SORT(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    int count = (int)n->n_operands;
    HLO_NEED(count > 0 && n->n_results == count, "has %d results for %d inputs", n->n_results, count);
    int64_t dim = hlo_attr_int(n, HLO_A_DIMENSION, -1);
    HLO_NEED(dim >= -HLO_OPERAND(0)->rank && dim < HLO_OPERAND(0)->rank, "dimension %lld is outside %s",
             (long long)dim, HLO_OPERAND_TEXT(0));
    hlo_type *params = TT_NEW_N(g->arena, hlo_type, 2 * count), pred = hlo_type_make(TT_PRED, 0, NULL);
    for (int i = 0; i < count; i++) {
        HLO_NEED(hlo_dims_equal(HLO_OPERAND(0), HLO_OPERAND(i)), "inputs %s and %s have different shapes",
                 HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(i));
        out[i] = *HLO_OPERAND(i);
        params[2 * i] = params[2 * i + 1] = hlo_type_make(out[i].dtype, 0, NULL);
    }
    return hlo_check_region(g, n, 0, 2 * count, params, 1, &pred);
}

tt_status hlo_rule_DOT_GENERAL(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_attr *attr = hlo_attr_find(n, HLO_A_DOT_DIMENSION_NUMBERS);
    HLO_NEED(attr && attr->kind == HLO_K_DIMS && attr->dims->kind == HLO_DIMS_DOT,
             "needs dot_dimension_numbers");
    const hlo_dims *d = attr->dims;
    const hlo_type *x = HLO_OPERAND(0), *y = HLO_OPERAND(1);
    HLO_NEED(d->a.n == d->b.n && d->c.n == d->d.n, "batching or contracting dims do not pair up");
    HLO_NEED(hlo_dims_distinct(d->a, x->rank) && hlo_dims_distinct(d->c, x->rank) &&
                 hlo_dims_distinct(d->b, y->rank) && hlo_dims_distinct(d->d, y->rank),
             "dimension numbers repeat or are out of range");
    *out = (hlo_type){.dtype = x->dtype};
    for (int i = 0; i < d->a.n; i++)
        HLO_NEED(x->dims[d->a.v[i]] == y->dims[d->b.v[i]] && !hlo_ints_contain(d->c, d->a.v[i]) &&
                     !hlo_ints_contain(d->d, d->b.v[i]),
                 "batch dims of %s and %s do not match", HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(1));
    for (int i = 0; i < d->c.n; i++)
        HLO_NEED(x->dims[d->c.v[i]] == y->dims[d->d.v[i]], "contracting dims of %s and %s do not match",
                 HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(1));
    HLO_NEED(x->rank + y->rank - d->a.n - 2 * d->c.n <= HLO_MAX_RANK, "result rank is over %d", HLO_MAX_RANK);
    for (int i = 0; i < d->a.n; i++)
        out->dims[out->rank++] = x->dims[d->a.v[i]];
    for (int i = 0; i < x->rank; i++)
        if (!hlo_ints_contain(d->a, i) && !hlo_ints_contain(d->c, i))
            out->dims[out->rank++] = x->dims[i];
    for (int i = 0; i < y->rank; i++)
        if (!hlo_ints_contain(d->b, i) && !hlo_ints_contain(d->d, i))
            out->dims[out->rank++] = y->dims[i];
    return TT_OK;
}

static tt_status check_conv_dims(const hlo_graph *g, const hlo_node *n, const hlo_dims *d) {
    int r = HLO_OPERAND(0)->rank;
    HLO_NEED(r >= 2 && HLO_OPERAND(1)->rank == r, "operands %s and %s need one rank of at least 2",
             HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(1));
    HLO_NEED(d->a.n == r && d->b.n == r && d->c.n == r && hlo_dims_distinct(d->a, r) &&
                 hlo_dims_distinct(d->b, r) && hlo_dims_distinct(d->c, r),
             "dimension_numbers are none of rank %d", r);
    return TT_OK;
}

tt_status hlo_rule_CONVOLUTION(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_attr *attr = hlo_attr_find(n, HLO_A_DIMENSION_NUMBERS);
    HLO_NEED(attr && attr->kind == HLO_K_DIMS && attr->dims->kind == HLO_DIMS_CONV,
             "needs dimension_numbers");
    const hlo_dims *d = attr->dims;
    TT_TRY(check_conv_dims(g, n, d));
    const hlo_type *x = HLO_OPERAND(0), *w = HLO_OPERAND(1);
    hlo_ints stride = hlo_attr_ints(n, HLO_A_WINDOW_STRIDES), padding = hlo_attr_ints(n, HLO_A_PADDING),
             lhs = hlo_attr_ints(n, HLO_A_LHS_DILATION), rhs = hlo_attr_ints(n, HLO_A_RHS_DILATION),
             reversal = hlo_attr_ints(n, HLO_A_WINDOW_REVERSAL);
    int s = x->rank - 2;
    HLO_NEED((!stride.n || stride.n == s) && (!lhs.n || lhs.n == s) && (!rhs.n || rhs.n == s) &&
                 (!reversal.n || reversal.n == s) && (!padding.n || padding.n == 2 * s),
             "window attributes do not have %d spatial dims", s);
    int64_t groups = hlo_attr_int(n, HLO_A_FEATURE_GROUP_COUNT, 1),
            batches = hlo_attr_int(n, HLO_A_BATCH_GROUP_COUNT, 1);
    int64_t x_batch = x->dims[d->a.v[0]], x_feature = x->dims[d->a.v[1]], w_in = w->dims[d->b.v[0]],
            w_out = w->dims[d->b.v[1]];
    HLO_NEED(groups >= 1 && batches >= 1 && (groups == 1 || batches == 1),
             "feature and batch groups exclude each other");
    HLO_NEED(x_feature % groups == 0 && w_in == x_feature / groups && w_out % groups == 0 &&
                 w_out % batches == 0 && x_batch % batches == 0,
             "%s and %s do not fit with %lld feature and %lld batch groups", HLO_OPERAND_TEXT(0),
             HLO_OPERAND_TEXT(1), (long long)groups, (long long)batches);
    *out = (hlo_type){.dtype = x->dtype, .rank = x->rank};
    out->dims[d->c.v[0]] = x_batch / batches;
    out->dims[d->c.v[1]] = w_out;
    for (int i = 0; i < s; i++)
        HLO_NEED(hlo_window_count(x->dims[d->a.v[i + 2]], padding.n ? padding.v[2 * i] : 0,
                                  padding.n ? padding.v[2 * i + 1] : 0, lhs.n ? lhs.v[i] : 1,
                                  w->dims[d->b.v[i + 2]], rhs.n ? rhs.v[i] : 1, stride.n ? stride.v[i] : 1,
                                  &out->dims[d->c.v[i + 2]]),
                 "window of spatial dimension %d does not fit", i);
    return TT_OK;
}

tt_status hlo_rule_FFT(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(0);
    hlo_ints length = hlo_attr_ints(n, HLO_A_FFT_LENGTH);
    const char *type = hlo_attr_text(n, HLO_A_FFT_TYPE, "");
    HLO_NEED(length.n >= 1 && length.n <= 3 && length.n <= x->rank, "fft_length has %d entries for rank %d",
             length.n, x->rank);
    *out = *x;
    int last = x->rank - 1;
    bool real_in = !strcmp(type, "RFFT"), real_out = !strcmp(type, "IRFFT");
    HLO_NEED(real_in || real_out || !strcmp(type, "FFT") || !strcmp(type, "IFFT"), "fft_type '%s'", type);
    HLO_NEED(real_in ? x->dtype == TT_F32 || x->dtype == TT_F64 : tt_is_complex(x->dtype), "%s of %s", type,
             HLO_OPERAND_TEXT(0));
    for (int i = 0; i < length.n; i++) {
        int64_t have = x->dims[x->rank - length.n + i], want = length.v[i];
        HLO_NEED(want >= 0, "negative fft_length");
        if (real_out && i == length.n - 1)
            want = want ? want / 2 + 1 : 0;
        HLO_NEED(have == want, "%s of %s with fft_length %lld at %d", type, HLO_OPERAND_TEXT(0),
                 (long long)length.v[i], i);
    }
    if (real_in) {
        out->dtype = x->dtype == TT_F32 ? TT_C64 : TT_C128;
        out->dims[last] = x->dims[last] ? x->dims[last] / 2 + 1 : 0;
    } else if (real_out) {
        out->dtype = tt_dtype_real(x->dtype);
        out->dims[last] = length.v[length.n - 1];
    }
    return TT_OK;
}

tt_status hlo_rule_TOP_K(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(0);
    int64_t k = hlo_attr_int(n, HLO_A_K, -1);
    HLO_NEED(n->n_results == 2, "has %d results, gives 2", n->n_results);
    HLO_NEED(x->rank >= 1 && k >= 0 && k <= x->dims[x->rank - 1], "k = %lld does not fit %s", (long long)k,
             HLO_OPERAND_TEXT(0));
    out[0] = *x;
    out[0].dims[x->rank - 1] = k;
    out[1] = hlo_type_with(&out[0], TT_I32);
    return TT_OK;
}
