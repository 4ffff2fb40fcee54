/* loss_ctc.c - the connectionist temporal classification loss (Graves et al. 2006) and its gradient, and multilabel_margin_loss.
 *
 * Lengths are lists, hence part of the signature. The recurrences over time run in while loops; all of it in logarithms. */
#include "aten/pieces.h"
#include <math.h>

enum { MAX_CELLS = 1 << 26 };

/* T times, N rows, C classes; each row's labels with blanks between them: L = 2 S + 1 of them, S the longest row's. */
typedef struct ctc {
    int64_t t, n, c, s, l, blank;
    hlo_ints input, target;
    hlo_type row, all;             /* [N, L], [T, N, L] */
    tt_dtype dtype;
    hlo_ref labels, values, skip;  /* i32 [N, L]; their log probabilities [T, N, L]; whether s may follow s - 2 */
} ctc;

static tt_status read_labels(tt_lower *L, int arg, ctc *m) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, lower_value(L, arg));
    int64_t total = 0, column[2] = {m->n * m->l, 1}, k = hlo_type_elements(&t), dims[2] = {m->n, m->l};
    static const int64_t zero[1] = {0}, one[1] = {1};
    TT_CHECK(tt_is_int(t.dtype) && (t.rank == 1 || (t.rank == 2 && t.dims[0] == m->n && t.dims[1] >= m->s)), INVALID_ARGUMENT,
             "ctc_loss: Expected targets to be concatenated, or [N, S] with S at least %lld", (long long)m->s);
    int32_t *at = TT_NEW_N(L->arena, int32_t, m->n * m->l);
    for (int64_t i = 0; i < m->n; i++) { /* position k holds the blank */
        for (int64_t j = 0; j < m->l; j++)
            at[i * m->l + j] = (int32_t)(j % 2 && j / 2 < m->target.v[i] ? (t.rank == 2 ? i * t.dims[1] : total) + j / 2 : k);
        total += m->target.v[i];
    }
    TT_CHECK(t.rank == 2 || total == k, INVALID_ARGUMENT, "Expected target_lengths to sum to the number of targets");
    int64_t size[1] = {k}, low[1] = {0}, high[1] = {1};
    hlo_ref list = hlo_pad(g, hlo_reshape(g, hlo_convert(g, lower_value(L, arg), TT_I32), 1, size), hlo_scalar_int(g, TT_I32, m->blank), low, high, NULL);
    hlo_type it = hlo_type_make(TT_I32, 2, column);
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    m->labels = hlo_reshape(g, hlo_gather(g, list, hlo_constant(g, &it, at), &d, one, NULL), 2, dims);
    return TT_OK;
}

/* x moved by `by` along the last dim of [N, L]; -inf comes in. */
static hlo_ref moved(hlo_graph *g, hlo_ref x, int64_t by) {
    int64_t low[2] = {0, by}, high[2] = {0, -by};
    const hlo_type *t = hlo_type_of(g, x);
    return t ? hlo_pad(g, x, hlo_scalar(g, t->dtype, -INFINITY), low, high, NULL) : HLO_NONE;
}

static hlo_ref log_sum(hlo_graph *g, hlo_ref a, hlo_ref b) {
    hlo_ref most = hlo_binary(g, HLO_MAXIMUM, a, b), far = hlo_unary(g, HLO_NEGATE, hlo_unary(g, HLO_ABS, hlo_sub(g, a, b)));
    hlo_ref none = hlo_compare(g, "EQ", most, hlo_splat_like(g, most, -INFINITY));
    return hlo_select(g, none, most, hlo_add(g, most, hlo_unary(g, HLO_LOG1P, hlo_unary(g, HLO_EXP, far))));
}

static tt_status read_ctc(tt_lower *L, int first, int blank_arg, ctc *m) {
    hlo_graph *g = L->g;
    hlo_type x = piece_type(L, lower_value(L, first));
    *m = (ctc){.input = lower_ints(L, first + 2), .target = lower_ints(L, first + 3), .blank = lower_int(L, blank_arg, 0), .dtype = x.dtype};
    TT_CHECK(x.rank == 3 && (x.dtype == TT_F32 || x.dtype == TT_F64), UNIMPLEMENTED, "ctc_loss of %d-dimensional %s", x.rank, tt_dtype_name(x.dtype));
    m->t = x.dims[0], m->n = x.dims[1], m->c = x.dims[2];
    TT_CHECK(m->blank >= 0 && m->blank < m->c, INVALID_ARGUMENT, "blank must be in label range");
    TT_CHECK(m->input.n == m->n && m->target.n == m->n, INVALID_ARGUMENT, "input_lengths and target_lengths must be of size batch_size");
    for (int64_t i = 0; i < m->n; i++) {
        TT_CHECK(m->input.v[i] >= 0 && m->input.v[i] <= m->t, INVALID_ARGUMENT, "Expected input_lengths to have value at most %lld, but got value %lld",
                 (long long)m->t, (long long)m->input.v[i]);
        TT_CHECK(m->target.v[i] >= 0, INVALID_ARGUMENT, "Expected target_lengths to have value at least 0");
        TT_CHECK(m->input.v[i] > 0, UNIMPLEMENTED, "ctc_loss of an input of length 0");
        m->s = m->target.v[i] > m->s ? m->target.v[i] : m->s;
    }
    m->l = 2 * m->s + 1;
    TT_CHECK(m->t * m->n > 0 && (double)m->t * (double)m->n * (double)m->l <= MAX_CELLS && m->t * m->n * m->c < INT32_MAX, UNIMPLEMENTED, "ctc_loss of this size");
    TT_TRY(read_labels(L, first + 1, m));
    static const int64_t zero[1] = {0}, one[1] = {1}, map[2] = {1, 2};
    int64_t row[2] = {m->n, m->l}, all[3] = {m->t, m->n, m->l}, column[4] = {m->t, m->n, m->l, 1}, flat[1] = {m->t * m->n * m->c};
    m->row = hlo_type_make(x.dtype, 2, row);
    m->all = hlo_type_make(x.dtype, 3, all);
    hlo_type it = hlo_type_with(&m->all, TT_I32), rt = hlo_type_with(&m->row, TT_I32);
    hlo_ref at = hlo_add(g, hlo_mul(g, hlo_iota(g, &it, 0), hlo_splat_int(g, &it, m->n)), hlo_iota(g, &it, 1));
    at = hlo_add(g, hlo_mul(g, at, hlo_splat_int(g, &it, m->c)), piece_broadcast(L, m->labels, &it, 2, map));
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 3};
    m->values = hlo_gather(g, hlo_reshape(g, lower_value(L, first), 1, flat), hlo_reshape(g, at, 4, column), &d, one, L->check_bounds ? "ctc_loss" : NULL);
    int64_t low[2] = {0, 2}, high[2] = {0, -2};
    hlo_ref before = hlo_pad(g, m->labels, hlo_scalar_int(g, TT_I32, -1), low, high, NULL);
    m->skip = hlo_binary(g, HLO_AND, hlo_compare(g, "NE", m->labels, before), hlo_compare(g, "GE", hlo_iota(g, &rt, 1), hlo_splat_int(g, &rt, 2)));
    return TT_OK;
}

/* ---- the loop ---- */

enum { STEP, STATE, STORED, VALUES, SKIP, START, LAST, N_VALUES };
typedef struct loop { const ctc *m; bool backward; } loop;

static void loop_more(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const loop *c = context;
    *out = c->backward ? hlo_compare(g, "GE", p[STEP], hlo_splat_like(g, p[STEP], 0)) : hlo_compare(g, "LT", p[STEP], hlo_splat_like(g, p[STEP], (double)c->m->t));
}

static void loop_step(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    const loop *c = context;
    const ctc *m = c->m;
    hlo_type it = hlo_type_with(&m->row, TT_I32);
    hlo_ref zero = hlo_scalar_int(g, TT_I32, 0), at[3] = {p[STEP], zero, zero}, none = hlo_splat(g, &m->row, -INFINITY);
    int64_t sizes[3] = {1, m->n, m->l}, sign = c->backward ? -1 : 1;
    hlo_ref lp = hlo_reshape(g, hlo_dynamic_slice(g, p[VALUES], at, sizes), 2, m->row.dims);
    hlo_ref far = hlo_select(g, p[SKIP], moved(g, p[STATE], 2 * sign), none);
    hlo_ref next = hlo_add(g, log_sum(g, log_sum(g, p[STATE], moved(g, p[STATE], sign)), far), lp);
    hlo_ref now = hlo_broadcast_in_dim(g, p[STEP], 2, it.dims, NULL);
    next = hlo_select(g, hlo_compare(g, "EQ", now, p[LAST]), hlo_add(g, p[START], lp), next);
    if (c->backward)
        next = hlo_select(g, hlo_compare(g, "GT", now, p[LAST]), none, next);
    for (int i = 0; i < N_VALUES; i++)
        out[i] = p[i];
    out[STEP] = hlo_add(g, p[STEP], hlo_scalar_int(g, TT_I32, sign));
    out[STATE] = next;
    out[STORED] = hlo_dynamic_update_slice(g, p[STORED], hlo_reshape(g, next, 3, sizes), at);
}

/* All alphas, or all betas, [T, N, L]; start: 0 where a path may begin, else -inf; begins: i32 [N, L], the time of it. */
static hlo_ref run_loop(tt_lower *L, const ctc *m, bool backward, hlo_ref skip, const int32_t *begins, const double *start) {
    hlo_graph *g = L->g;
    loop c = {m, backward};
    hlo_type it = hlo_type_with(&m->row, TT_I32), ft = hlo_type_with(&m->row, TT_F64);
    hlo_ref in[N_VALUES] = {hlo_scalar_int(g, TT_I32, backward ? m->t - 1 : 0), hlo_splat(g, &m->row, -INFINITY), hlo_splat(g, &m->all, -INFINITY), m->values, skip,
                            hlo_convert(g, hlo_constant(g, &ft, start), m->dtype), hlo_constant(g, &it, begins)}, out[N_VALUES] = {0};
    hlo_while(g, N_VALUES, in, loop_more, loop_step, &c, out);
    return out[STORED];
}

/* Where paths begin: forward the first blank and label at time 0, backward the last ones at the row's last time. */
static hlo_ref run(tt_lower *L, const ctc *m, bool backward) {
    int64_t cells = m->n * m->l;
    int32_t *begins = TT_NEW_N(L->arena, int32_t, cells);
    double *start = TT_NEW_N(L->arena, double, cells);
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t j = 0; j < m->l; j++) {
            int64_t end = 2 * m->target.v[i];
            bool here = backward ? j == end || j == end - 1 : j == 0 || (j == 1 && end > 0);
            start[i * m->l + j] = here ? 0 : -INFINITY;
            begins[i * m->l + j] = backward ? (int32_t)m->input.v[i] - 1 : 0;
        }
    hlo_ref skip = m->skip;
    if (backward) { /* from s to s + 2: what s + 2 says */
        int64_t low[2] = {0, -2}, high[2] = {0, 2};
        skip = m->l > 2 ? hlo_pad(L->g, skip, hlo_scalar_int(L->g, TT_PRED, 0), low, high, NULL) : skip;
    }
    return run_loop(L, m, backward, skip, begins, start);
}

/* _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) -> (negative log likelihood [N], alphas [N, T, L]) */
LOWER(lower_ctc_loss) {
    ctc m;
    hlo_graph *g = L->g;
    TT_TRY(read_ctc(L, 0, 4, &m));
    static const int64_t batch_first[3] = {1, 0, 2}, zero[1] = {0};
    hlo_ref alphas = run(L, &m, false);
    int64_t flat[1] = {m.t * m.n * m.l}, column[2] = {2 * m.n, 1}, count[1] = {m.n};
    int32_t *at = TT_NEW_N(L->arena, int32_t, 2 * m.n);
    bool *empty = TT_NEW_N(L->arena, bool, m.n + 1);
    for (int64_t i = 0; i < m.n; i++) {
        int64_t end = ((m.input.v[i] - 1) * m.n + i) * m.l + 2 * m.target.v[i];
        empty[i] = m.target.v[i] == 0;
        at[i] = (int32_t)end, at[m.n + i] = (int32_t)(empty[i] ? end : end - 1);
    }
    static const int64_t one[1] = {1};
    hlo_type it = hlo_type_make(TT_I32, 2, column), et = hlo_type_make(TT_PRED, 1, count);
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref ends = hlo_gather(g, hlo_reshape(g, alphas, 1, flat), hlo_constant(g, &it, at), &d, one, NULL);
    hlo_ref a = hlo_slice_dim(g, ends, 0, 0, m.n, 1), b = hlo_slice_dim(g, ends, 0, m.n, 2 * m.n, 1);
    hlo_ref sum = hlo_select(g, hlo_constant(g, &et, empty), a, log_sum(g, a, b));
    lower_out(L, hlo_unary(g, HLO_NEGATE, sum));
    lower_out(L, hlo_transpose(g, alphas, batch_first));
    return TT_OK;
}

/* _ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank, zero_infinity):
 * exp(log_probs) less the posterior of each class at each time, which is the sum over its labels of exp(alpha + beta - log p + nll) */
LOWER(lower_ctc_loss_backward) {
    ctc m;
    hlo_graph *g = L->g;
    TT_TRY(read_ctc(L, 1, 7, &m));
    static const int64_t time_first[3] = {1, 0, 2}, row_of_all[1] = {1}, labels_map[2] = {0, 1};
    hlo_ref alphas = hlo_transpose(g, lower_value(L, 6), time_first), betas = run(L, &m, true), nll = lower_value(L, 5), x = lower_value(L, 1);
    hlo_type at = piece_type(L, alphas), t = piece_type(L, x);
    TT_CHECK(hlo_dims_equal(&at, &m.all), INVALID_ARGUMENT, "ctc_loss backward: log_alpha of another call");
    hlo_ref posterior = hlo_add(g, hlo_sub(g, hlo_add(g, alphas, betas), m.values), hlo_broadcast_in_dim(g, nll, 3, m.all.dims, row_of_all));
    /* A label that the row does not have keeps -inf; so does one of probability 0. */
    hlo_ref dead = hlo_binary(g, HLO_OR, piece_compare(L, "EQ", betas, -INFINITY), piece_compare(L, "EQ", alphas, -INFINITY));
    posterior = hlo_select(g, dead, hlo_splat(g, &m.all, 0), hlo_unary(g, HLO_EXP, posterior));
    int64_t classes[3] = {m.n, m.l, m.c};
    hlo_type ct = hlo_type_make(TT_I32, 3, classes);
    hlo_ref one_hot = hlo_convert(g, hlo_compare(g, "EQ", hlo_iota(g, &ct, 2), piece_broadcast(L, m.labels, &ct, 2, labels_map)), m.dtype);
    hlo_ref by_class = hlo_matmul(g, hlo_transpose(g, posterior, time_first), one_hot, 1, TT_DTYPE_NONE, "HIGHEST"); /* [N, T, C] */
    hlo_ref r = hlo_sub(g, hlo_unary(g, HLO_EXP, x), hlo_transpose(g, by_class, time_first));
    r = hlo_mul(g, r, hlo_broadcast_in_dim(g, lower_value(L, 0), 3, t.dims, row_of_all));
    int64_t count[1] = {m.n};
    hlo_type it = hlo_type_make(TT_I64, 1, count), tt = hlo_type_with(&t, TT_I64);
    hlo_ref ends = hlo_broadcast_in_dim(g, hlo_constant(g, &it, m.input.v), 3, t.dims, row_of_all), zero = hlo_splat(g, &t, 0);
    r = hlo_select(g, hlo_compare(g, "LT", hlo_iota(g, &tt, 0), ends), r, zero);
    hlo_ref impossible = hlo_broadcast_in_dim(g, piece_compare(L, "EQ", nll, INFINITY), 3, t.dims, row_of_all);
    lower_out(L, hlo_select(g, impossible, lower_bool(L, 8, false) ? zero : hlo_splat(g, &t, NAN), r));
    return TT_OK;
}

/* ---- multilabel margin ---- */

/* self [N, C], [C] or a number; target of the same shape, classes until the first -1. Over [N, C targets, C classes]: */
typedef struct multilabel { int64_t n, c; hlo_type x, target, full, flat; hlo_ref one_hot, is_target, excess; } multilabel;

static tt_status read_multilabel(tt_lower *L, int at, multilabel *m) {
    hlo_graph *g = L->g;
    m->x = piece_type(L, lower_value(L, at));
    m->target = piece_type(L, lower_value(L, at + 1));
    TT_CHECK(tt_is_float(m->x.dtype) && m->x.rank <= 2, UNIMPLEMENTED, "multilabel_margin_loss of %d-dimensional %s", m->x.rank, tt_dtype_name(m->x.dtype));
    TT_CHECK(hlo_type_elements(&m->x) == hlo_type_elements(&m->target), INVALID_ARGUMENT, "inconsistent target size for multi_margin_loss");
    m->n = m->x.rank == 2 ? m->x.dims[0] : 1, m->c = m->x.rank ? m->x.dims[m->x.rank - 1] : 1;
    TT_CHECK(m->n * m->c > 0 && (double)m->n * (double)m->c * (double)m->c <= MAX_CELLS, UNIMPLEMENTED, "multilabel_margin_loss of this size");
    int64_t dims[2] = {m->n, m->c}, full[3] = {m->n, m->c, m->c};
    static const int64_t to_targets[2] = {0, 1}, to_classes[2] = {0, 2}, over[1] = {1}, classes[1] = {2}, rows[1] = {0};
    m->flat = hlo_type_make(lower_accumulate_dtype(m->x.dtype), 2, dims);
    m->full = hlo_type_make(m->flat.dtype, 3, full);
    hlo_type it = hlo_type_make(TT_I64, 2, dims), ft = hlo_type_make(TT_I64, 3, full), pt = hlo_type_with(&m->full, TT_PRED);
    hlo_ref x = hlo_reshape(g, hlo_convert(g, lower_value(L, at), m->flat.dtype), 2, dims), target = hlo_reshape(g, hlo_convert(g, lower_value(L, at + 1), TT_I64), 2, dims);
    hlo_ref place = hlo_iota(g, &it, 1), ends = hlo_select(g, piece_compare(L, "LT", target, 0), place, hlo_splat_int(g, &it, m->c));
    ends = hlo_reduce(g, HLO_MINIMUM, ends, HLO_NONE, 1, over);
    hlo_ref valid = hlo_compare(g, "LT", place, hlo_broadcast_in_dim(g, ends, 2, dims, rows));
    hlo_ref wide_valid = piece_broadcast(L, valid, &pt, 2, to_targets);
    m->one_hot = hlo_binary(g, HLO_AND, wide_valid, hlo_compare(g, "EQ", hlo_iota(g, &ft, 2), piece_broadcast(L, target, &ft, 2, to_targets)));
    m->is_target = hlo_reduce(g, HLO_OR, m->one_hot, HLO_NONE, 1, over);
    hlo_ref wide_x = piece_broadcast(L, x, &m->full, 2, to_classes), zero = hlo_splat(g, &m->full, 0);
    hlo_ref chosen = hlo_reduce(g, HLO_ADD, hlo_select(g, m->one_hot, wide_x, zero), HLO_NONE, 1, classes);
    hlo_ref z = hlo_add(g, hlo_sub(g, hlo_splat(g, &m->full, 1), piece_broadcast(L, chosen, &m->full, 2, to_targets)), wide_x);
    hlo_ref counts = hlo_binary(g, HLO_AND, wide_valid, hlo_unary(g, HLO_NOT, piece_broadcast(L, m->is_target, &pt, 2, to_classes)));
    m->excess = hlo_select(g, counts, hlo_binary(g, HLO_MAXIMUM, z, zero), zero);
    return TT_OK;
}

/* multilabel_margin_loss_forward(self, target, reduction) -> (output, is_target) */
LOWER(lower_multilabel_margin) {
    multilabel m;
    hlo_graph *g = L->g;
    TT_TRY(read_multilabel(L, 0, &m));
    int64_t over[2] = {1, 2}, reduction = lower_int(L, 2, PIECE_MEAN);
    hlo_ref loss = hlo_reduce(g, HLO_ADD, m.excess, HLO_NONE, 2, over);
    loss = hlo_div(g, loss, hlo_splat_like(g, loss, (double)m.c));
    if (reduction != PIECE_NONE)
        lower_out(L, piece_reduce_all(L, loss, reduction, m.x.dtype));
    else
        lower_out(L, hlo_convert(g, m.x.rank == 2 ? loss : hlo_reshape(g, loss, 0, NULL), m.x.dtype));
    lower_out(L, hlo_reshape(g, hlo_convert(g, m.is_target, m.x.dtype), m.target.rank, m.target.dims));
    return TT_OK;
}

/* multilabel_margin_loss_backward(grad_output, self, target, reduction, is_target) */
LOWER(lower_multilabel_margin_backward) {
    multilabel m;
    hlo_graph *g = L->g;
    TT_TRY(read_multilabel(L, 1, &m));
    static const int64_t targets[1] = {1}, classes[1] = {2}, to_targets[2] = {0, 1}, rows[1] = {0};
    bool mean = lower_int(L, 3, PIECE_MEAN) == PIECE_MEAN;
    hlo_ref zero = hlo_splat(g, &m.full, 0), on = hlo_select(g, hlo_compare(g, "GT", m.excess, zero), hlo_splat(g, &m.full, 1), zero);
    hlo_ref up = hlo_reduce(g, HLO_ADD, on, HLO_NONE, 1, targets), total = hlo_reduce(g, HLO_ADD, on, HLO_NONE, 1, classes);
    hlo_ref down = hlo_select(g, m.one_hot, piece_broadcast(L, total, &m.full, 2, to_targets), zero);
    hlo_ref d = hlo_sub(g, up, hlo_reduce(g, HLO_ADD, down, HLO_NONE, 1, targets));
    d = hlo_div(g, d, hlo_splat_like(g, d, (double)m.c * (mean ? (double)m.n : 1)));
    hlo_ref grad = hlo_convert(g, lower_value(L, 0), m.flat.dtype);
    hlo_type gt = piece_type(L, grad);
    grad = gt.rank == 0 ? piece_fill(L, grad, &m.flat) : hlo_broadcast_in_dim(g, grad, 2, m.flat.dims, rows);
    lower_out(L, hlo_reshape(g, hlo_convert(g, hlo_mul(g, grad, d), m.x.dtype), m.x.rank, m.x.dims));
    return TT_OK;
}
