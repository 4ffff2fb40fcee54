/* composite.c - which composites have a kernel, and their dispatch. The contract with the lowerings (aten/)
 * is here: names, operands, attributes. A composite that does not fit is refused by eng_composite_known,
 * before it would run, and its decomposition is inlined instead.
 *
 * tt.softmax(x) {log, dim}                               -> y; over the last dimension if none is given
 * tt.softmax_backward(grad, y) {log, dim}                -> dx
 * tt.layer_norm(x[.., n], weight[n]?, bias[n]?) {eps, has_weight, has_bias} -> y, mean[..], rstd[..]
 * tt.layer_norm_backward(grad, x, mean, rstd, weight?) {has_weight}         -> dx, dweight[n], dbias[n]
 * tt.rms_norm(x[.., n], weight[n]?) {eps, has_weight}    -> y, rstd[..]
 * tt.sdpa(q[B,H,L,E], k[B,Hk,S,E], v[B,Hk,S,Ev], mask?) {scale, causal, has_mask} -> out, lse[B,H,L]
 *   the mask: [B|1,H|1,L|1,S] or fewer leading dimensions; q's type or f32 is added, i1 keeps where true
 * tt.sdpa_backward(grad, q, k, v, mask?, out, lse) {the same}               -> dq, dk, dv
 * tt.integer_product(a[.., m, k], b[.., k, n]) -> [.., m, n]; i64, the leading dimensions are the same
 * tt.embedding_bag(table[V, D], index[n], offsets[B]) {mean, checked} -> y[B, D], bag[n], count[B]; the integers are i64; a checked index
 *   out of the table is an error
 * tt.nll_loss(x[N, C], target[N]) {ignored, mean, checked} -> loss, total: the sum of -x[i, target[i]], over those whose target is not
 *   the ignored one, and their number, by which a mean divides; target: i64; a checked one that is no class is an error
 * tt.cross_entropy: the same of the logarithm of x's softmax; no lowering says so, program_fold.c finds it
 * tt.sum_rows(rows[n, D], index[n]) -> table[V, D]; index: i64, the row of the table that each is added to, in order; one outside it is
 *   dropped; the sums are f32
 * tt.max_pool(x[B, H, W]) {k0, k1, s0, s1, p0, p1, d0, d1} -> maxima[B, h, w], index[B, h, w]: i64, of the first (of NaNs the last)
 *   in the plane; windows of k elements d apart, s apart, the first p before the plane;
 *   an index that nobody reads has no data
 * tt.adaptive_max_pool(x[B, H, W]) -> the same; window i of n over m elements goes from i m / n, rounded down, to (i + 1) m / n, rounded up
 * tt.running_extreme(x) {dim, least} -> y, index: i64 along dim, the last of equal elements, and of NaNs
 * tt.search(sorted[R, m], values[R, n]) {right} -> how many of a row come before each value[R, n]: i32; those below it, right: not above it
 * tt.resample(x[B, H, W], at[k, h], weight[k, h], at[l, w], weight[l, w]) -> y[B, h, w]; rows and columns of y are sums of weighted
 *   rows and columns of x; at: i32, negative for nothing
 * tt.pick(x[B, C, P], at[B, k, Q], weight[B, k, Q]) -> y[B, C, Q]; y[b, c, q] is the sum over k of weight[b, k, q] x[b, c, at[b, k, q]]
 * tt.max_pool_backward(grad[B, ..], index[B, ..]) -> dx[B, ..]; index: i64, the place in dx's plane that each grad goes to */
#include "engine/composite.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes ---- */
static const char *find_attr(const char *attributes, const char *name) {
    const size_t length = strlen(name);
    for (const char *p = attributes; p && (p = strstr(p, name)); p += length) {
        const bool starts = p == attributes || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
        const char *rest = p + length;
        while (*rest == ' ' || *rest == '"')
            rest++;
        if (!starts || *rest != '=')
            continue;
        for (rest++; *rest == ' ';)
            rest++;
        return rest;
    }
    return NULL;
}

double eng_composite_attr_double(const char *attributes, const char *name, double fallback) {
    const char *text = find_attr(attributes, name);
    if (!text)
        return fallback;
    if (strncmp(text, "0x", 2) == 0) { /* MLIR prints the bits of what has no decimal form */
        const uint64_t bits = strtoull(text, NULL, 16);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    char *end;
    const double value = strtod(text, &end);
    return end == text ? fallback : value;
}

bool eng_composite_attr_bool(const char *attributes, const char *name, bool fallback) {
    const char *text = find_attr(attributes, name);
    return text ? strncmp(text, "true", 4) == 0 : fallback;
}

/* ---- checks: ranks, shapes and types that the kernels rely on ---- */
typedef struct signature {
    int n_in, n_out;
    const hlo_type *in[8], *out[3];
    const char *attributes;
} signature;

static bool has(const signature *s, const char *name) {
    return eng_composite_attr_bool(s->attributes, name, false);
}
static bool small_float(tt_dtype t) {
    return t == TT_F32 || t == TT_BF16 || t == TT_F16;
}

static bool vector_of(const hlo_type *t, tt_dtype dtype, int64_t n) {
    return t->dtype == dtype && hlo_type_elements(t) == n;
}

static bool fits_softmax_dim(const signature *s) {
    const double dim = eng_composite_attr_double(s->attributes, "dim", s->in[0]->rank - 1);
    return s->n_out == 1 && s->in[0]->rank > 0 && hlo_type_equal(s->in[0], s->out[0]) &&
           (dim == s->in[0]->rank - 1 || (dim >= 0 && dim < s->in[0]->rank && s->in[0]->dims[(int)dim] <= 4096 && eng_flavor_of(s->in[0]->dtype) &&
                                          s->in[0]->dtype != TT_F64));
}
static bool fits_softmax(const signature *s) {
    return s->n_in == 1 && fits_softmax_dim(s);
}
static bool fits_softmax_backward(const signature *s) {
    return s->n_in == 2 && hlo_type_equal(s->in[0], s->in[1]) && fits_softmax_dim(s);
}

/* x[.., n] with its row count; mean and rstd have one f32 a row. */
static bool rows_of(const hlo_type *x, int64_t *out_rows, int64_t *out_n) {
    if (x->rank < 1)
        return false;
    *out_n = x->dims[x->rank - 1];
    *out_rows = 1;
    for (int i = 0; i < x->rank - 1; i++)
        *out_rows *= x->dims[i];
    return true;
}

static bool fits_layer_norm(const signature *s) {
    int64_t rows, n;
    const int extra = has(s, "has_weight") + has(s, "has_bias");
    if (s->n_in != 1 + extra || s->n_out != 3 || !rows_of(s->in[0], &rows, &n) ||
        !hlo_type_equal(s->in[0], s->out[0]))
        return false;
    for (int i = 1; i <= extra; i++)
        if (!vector_of(s->in[i], s->in[0]->dtype, n))
            return false;
    return vector_of(s->out[1], TT_F32, rows) && vector_of(s->out[2], TT_F32, rows);
}
static bool fits_rms_norm(const signature *s) {
    int64_t rows, n;
    const int extra = has(s, "has_weight");
    return s->n_in == 1 + extra && s->n_out == 2 && rows_of(s->in[0], &rows, &n) &&
           hlo_type_equal(s->in[0], s->out[0]) && (!extra || vector_of(s->in[1], s->in[0]->dtype, n)) &&
           vector_of(s->out[1], TT_F32, rows);
}
static bool fits_layer_norm_backward(const signature *s) {
    int64_t rows, n;
    const int extra = has(s, "has_weight");
    if (s->n_in != 4 + extra || s->n_out != 3 || !rows_of(s->in[0], &rows, &n) ||
        !hlo_type_equal(s->in[0], s->in[1]) || !hlo_type_equal(s->in[0], s->out[0]))
        return false;
    const tt_dtype t = s->in[0]->dtype;
    return vector_of(s->in[2], TT_F32, rows) && vector_of(s->in[3], TT_F32, rows) &&
           (!extra || vector_of(s->in[4], t, n)) && vector_of(s->out[1], t, n) && vector_of(s->out[2], t, n);
}

/* q k v from in[first] on, the mask after them. */
static bool fits_attention(const signature *s, int first) {
    const hlo_type *q = s->in[first], *k = s->in[first + 1], *v = s->in[first + 2];
    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || k->dtype != q->dtype || v->dtype != q->dtype)
        return false;
    const int64_t *qd = q->dims, *kd = k->dims, *vd = v->dims;
    if (kd[0] != qd[0] || vd[0] != qd[0] || kd[1] != vd[1] || kd[1] == 0 || qd[1] % kd[1] != 0 ||
        kd[2] != vd[2] || kd[3] != qd[3])
        return false;
    if (!has(s, "has_mask"))
        return true;
    const hlo_type *m = s->in[first + 3];
    const int64_t scores[4] = {qd[0], qd[1], qd[2], kd[2]};
    if (m->rank < 1 || m->rank > 4 || (m->dtype != q->dtype && m->dtype != TT_F32 && m->dtype != TT_PRED))
        return false;
    for (int i = 0; i < m->rank; i++) {
        const int64_t size = m->dims[m->rank - 1 - i], full = scores[3 - i];
        if (size != full && (size != 1 || i == 0))
            return false;
    }
    return true;
}
static bool fits_sdpa(const signature *s) {
    if (s->n_in != 3 + has(s, "has_mask") || s->n_out != 2 || !fits_attention(s, 0))
        return false;
    const int64_t *q = s->in[0]->dims;
    return s->out[0]->dtype == s->in[0]->dtype && s->out[0]->rank == 4 &&
           s->out[0]->dims[3] == s->in[2]->dims[3] && vector_of(s->out[1], TT_F32, q[0] * q[1] * q[2]);
}
static bool fits_sdpa_backward(const signature *s) {
    const int mask = has(s, "has_mask");
    if (s->n_in != 6 + mask || s->n_out != 3 || !fits_attention(s, 1))
        return false;
    const int64_t *q = s->in[1]->dims;
    return s->in[0]->dtype == s->in[1]->dtype && hlo_type_equal(s->in[0], s->in[4 + mask]) &&
           vector_of(s->in[5 + mask], TT_F32, q[0] * q[1] * q[2]) && hlo_type_equal(s->in[1], s->out[0]) &&
           hlo_type_equal(s->in[2], s->out[1]) && hlo_type_equal(s->in[3], s->out[2]);
}

static bool fits_max_pool_backward(const signature *s) {
    return s->n_in == 2 && s->n_out == 1 && s->in[0]->dtype == TT_F32 && s->in[1]->dtype == TT_I64 && s->out[0]->dtype == TT_F32 &&
           s->in[0]->rank >= 1 && s->out[0]->rank >= 1 && hlo_dims_equal(s->in[0], s->in[1]) && s->out[0]->dims[0] == s->in[0]->dims[0];
}

static bool fits_embedding_bag(const signature *s) {
    if (s->n_in != 3 || s->n_out != 3 || s->in[0]->rank != 2 || s->in[1]->rank != 1 || s->in[2]->rank != 1 || s->out[0]->rank != 2)
        return false;
    const int64_t rows = s->in[0]->dims[0], width = s->in[0]->dims[1], n = s->in[1]->dims[0], n_bags = s->in[2]->dims[0];
    return s->in[0]->dtype != TT_F16 && s->out[0]->dtype == s->in[0]->dtype && rows > 0 && n > 0 && n_bags > 0 && s->in[1]->dtype == TT_I64 &&
           s->in[2]->dtype == TT_I64 && s->out[0]->dims[0] == n_bags && s->out[0]->dims[1] == width && vector_of(s->out[1], TT_I64, n) &&
           vector_of(s->out[2], TT_I64, n_bags);
}

static bool fits_nll_loss(const signature *s) {
    return s->n_in == 2 && s->n_out == 2 && s->in[0]->rank == 2 && hlo_type_elements(s->in[0]) > 0 && vector_of(s->in[1], TT_I64, s->in[0]->dims[0]) &&
           vector_of(s->out[0], s->in[0]->dtype, 1) && vector_of(s->out[1], s->in[0]->dtype, 1);
}

static bool fits_sum_rows(const signature *s) {
    return s->n_in == 2 && s->n_out == 1 && s->in[0]->dtype == TT_F32 && s->in[0]->rank == 2 && s->in[1]->dtype == TT_I64 &&
           s->in[1]->rank == 1 && s->in[1]->dims[0] == s->in[0]->dims[0] && s->out[0]->rank == 2 && small_float(s->out[0]->dtype) &&
           s->out[0]->dims[1] == s->in[0]->dims[1] && s->out[0]->dims[0] <= INT32_MAX && s->in[0]->dims[0] < INT32_MAX;
}

static bool fits_integer_product(const signature *s) {
    if (s->n_in != 2 || s->n_out != 1)
        return false;
    const hlo_type *a = s->in[0], *b = s->in[1], *c = s->out[0];
    const int r = a->rank;
    if (r < 2 || b->rank != r || c->rank != r || b->dtype != TT_I64 || c->dtype != TT_I64)
        return false;
    for (int i = 0; i < r - 2; i++)
        if (a->dims[i] != b->dims[i] || a->dims[i] != c->dims[i])
            return false;
    return a->dims[r - 1] == b->dims[r - 2] && c->dims[r - 2] == a->dims[r - 2] && c->dims[r - 1] == b->dims[r - 1];
}

static bool fits_planes(const signature *s) {
    return s->n_in == 1 && s->n_out == 2 && small_float(s->in[0]->dtype) && s->out[0]->dtype == s->in[0]->dtype && s->out[1]->dtype == TT_I64 &&
           s->in[0]->rank == 3 && s->out[0]->rank == 3 && hlo_dims_equal(s->out[0], s->out[1]) && s->in[0]->dims[0] == s->out[0]->dims[0] &&
           hlo_type_elements(s->in[0]) > 0;
}

static bool fits_running_extreme(const signature *s) {
    if (s->n_in != 1 || s->n_out != 2)
        return false;
    const hlo_type *x = s->in[0];
    const double dim = eng_composite_attr_double(s->attributes, "dim", -1);
    return (x->dtype == TT_F32 || x->dtype == TT_F64 || x->dtype == TT_I32 || x->dtype == TT_I64) && hlo_type_equal(x, s->out[0]) &&
           s->out[1]->dtype == TT_I64 && hlo_dims_equal(x, s->out[1]) && dim >= 0 && dim < x->rank && x->dims[(int)dim] < INT32_MAX;
}

static bool fits_search(const signature *s) {
    if (s->n_in != 2 || s->n_out != 1)
        return false;
    const hlo_type *x = s->in[0], *v = s->in[1];
    return (x->dtype == TT_F32 || x->dtype == TT_F64 || x->dtype == TT_I32 || x->dtype == TT_I64) && v->dtype == x->dtype && x->rank == 2 && v->rank == 2 &&
           x->dims[0] == v->dims[0] && x->dims[1] > 0 && x->dims[1] < INT32_MAX && hlo_dims_equal(v, s->out[0]) && s->out[0]->dtype == TT_I32;
}

static bool fits_max_pool(const signature *s) {
    static const char *const names[] = {"k0", "k1", "s0", "s1", "p0", "p1", "d0", "d1"};
    for (int i = 0; i < 8; i++) {
        const double v = eng_composite_attr_double(s->attributes, names[i], -1);
        if (!(v >= (i == 4 || i == 5 ? 0 : 1)) || v > (i < 2 ? 64 : 1 << 20)) /* fast_pool.c: most taps of a dim */
            return false;
    }
    return fits_planes(s);
}

static bool fits_axis(const hlo_type *at, const hlo_type *weight, int64_t out) {
    return at->rank == 2 && at->dtype == TT_I32 && weight->dtype == TT_F32 && hlo_dims_equal(at, weight) && at->dims[0] > 0 &&
           at->dims[1] == out;
}
static bool fits_resample(const signature *s) {
    const hlo_type *x = s->in[0], *y = s->out[0];
    return s->n_in == 5 && s->n_out == 1 && x->rank == 3 && y->rank == 3 && x->dtype == y->dtype && x->dims[0] == y->dims[0] &&
           fits_axis(s->in[1], s->in[2], y->dims[1]) && fits_axis(s->in[3], s->in[4], y->dims[2]);
}

static bool fits_pick(const signature *s) {
    const hlo_type *x = s->in[0], *at = s->in[1], *y = s->out[0];
    return s->n_in == 3 && s->n_out == 1 && x->rank == 3 && at->rank == 3 && y->rank == 3 && x->dtype == TT_F32 && at->dtype == TT_I32 &&
           s->in[2]->dtype == TT_F32 && hlo_dims_equal(at, s->in[2]) && y->dtype == TT_F32 && at->dims[0] == x->dims[0] && at->dims[1] > 0 &&
           x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1] && y->dims[2] == at->dims[2];
}

static const struct {
    const char *name;
    bool (*fits)(const signature *);
    eng_composite_fn run;
} composites[] = {
    {"tt.softmax", fits_softmax, eng_softmax},
    {"tt.softmax_backward", fits_softmax_backward, eng_softmax_backward},
    {"tt.layer_norm", fits_layer_norm, eng_layer_norm},
    {"tt.layer_norm_backward", fits_layer_norm_backward, eng_layer_norm_backward},
    {"tt.rms_norm", fits_rms_norm, eng_rms_norm},
    {"tt.sdpa", fits_sdpa, eng_sdpa},
    {"tt.sdpa_backward", fits_sdpa_backward, eng_sdpa_backward},
    {"tt.integer_product", fits_integer_product, eng_integer_product},
    {"tt.embedding_bag", fits_embedding_bag, eng_embedding_bag},
    {"tt.nll_loss", fits_nll_loss, eng_nll_loss},
    {"tt.cross_entropy", fits_nll_loss, eng_cross_entropy},
    {"tt.sum_rows", fits_sum_rows, eng_sum_rows},
    {"tt.max_pool", fits_max_pool, eng_max_pool},
    {"tt.adaptive_max_pool", fits_planes, eng_adaptive_max_pool},
    {"tt.running_extreme", fits_running_extreme, eng_running_extreme},
    {"tt.search", fits_search, eng_search},
    {"tt.resample", fits_resample, eng_resample},
    {"tt.pick", fits_pick, eng_pick},
    {"tt.max_pool_backward", fits_max_pool_backward, eng_max_pool_backward},
};

static int find(const hlo_node *composite) {
    const char *name = hlo_attr_text(composite, HLO_A_COMPOSITE_NAME, "");
    for (int i = 0; i < (int)(sizeof composites / sizeof *composites); i++)
        if (strcmp(name, composites[i].name) == 0)
            return i;
    return -1;
}

bool eng_composite_known(const hlo_graph *g, const hlo_node *composite) {
    const int which = find(composite);
    signature s = {.n_in = (int)composite->n_operands,
                   .n_out = composite->n_results,
                   .attributes = hlo_attr_text(composite, HLO_A_COMPOSITE_ATTRIBUTES, NULL)};
    if (which < 0 || s.n_in < 1 || s.n_in > 8 || s.n_out < 1 || s.n_out > 3)
        return false;
    for (int i = 0; i < s.n_in; i++)
        s.in[i] = hlo_type_of(g, composite->operands[i]);
    for (int i = 0; i < s.n_out; i++) /* several results are the nodes that follow */
        s.out[i] = s.n_out == 1 ? composite->type : composite[1 + i].type;
    const bool integers = composites[which].run == eng_integer_product, any = composites[which].run == eng_search;
    return (any || (integers ? s.in[0]->dtype == TT_I64 : small_float(s.in[0]->dtype))) && composites[which].fits(&s);
}

bool eng_composite_may_skip(const hlo_node *composite, int result) {
    const int which = find(composite);
    return which >= 0 && ((composites[which].run == eng_max_pool && result == 1) || (composites[which].run == eng_embedding_bag && result > 0));
}

eng_composite_fn eng_composite_find(const hlo_node *composite, const char **out_attributes) {
    const int which = find(composite);
    *out_attributes = hlo_attr_text(composite, HLO_A_COMPOSITE_ATTRIBUTES, NULL);
    return which < 0 ? NULL : composites[which].run;
}
