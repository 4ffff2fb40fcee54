/* loss.c - losses that PyTorch has as ops of their own, and their gradients. Reductions: 0 none, 1 mean, 2
 * sum.
 *
 * f16 and bf16 are computed and summed in f32 and rounded once. */
#include "aten/pieces.h"

typedef struct pair {
    hlo_ref x, y;
    hlo_type type;
    tt_dtype out;
} pair; /* input and target in the wide type, broadcast together */

static tt_status read_pair(tt_lower *L, int x_arg, int y_arg, pair *p) {
    const tt_tensor *t[2] = {lower_tensor(L, x_arg), lower_tensor(L, y_arg)};
    if (!t[0] || !t[1])
        return TT_ERROR(INTERNAL, "a loss without its tensors");
    p->out = lower_result_type(L, 2, t);
    TT_CHECK(tt_is_float(p->out), UNIMPLEMENTED, "loss of %s", tt_dtype_name(p->out));
    hlo_type a = hlo_type_make(t[0]->dtype, t[0]->rank, t[0]->dims),
             b = hlo_type_make(t[1]->dtype, t[1]->rank, t[1]->dims);
    const hlo_type *both[2] = {&a, &b};
    TT_TRY(lower_broadcast_shape(2, both, &p->type));
    p->type.dtype = lower_accumulate_dtype(p->out);
    p->x = lower_cast_broadcast(L, lower_value(L, x_arg), p->type.dtype, &p->type);
    p->y = lower_cast_broadcast(L, lower_value(L, y_arg), p->type.dtype, &p->type);
    return TT_OK;
}

static hlo_ref number(tt_lower *L, const pair *p, double v) {
    return hlo_splat(L->g, &p->type, v);
}

/* grad_output, a scalar unless the reduction is none, over the pair's shape, divided by the count for means.
 */
static hlo_ref spread_grad(tt_lower *L, const pair *p, int arg, int64_t reduction) {
    hlo_ref g = lower_cast_broadcast(L, lower_value(L, arg), p->type.dtype, &p->type);
    if (reduction == PIECE_MEAN)
        g = hlo_div(L->g, g, number(L, p, (double)hlo_type_elements(&p->type)));
    return g;
}

static void finish(tt_lower *L, const pair *p, hlo_ref v, int64_t reduction) {
    lower_out(L, piece_reduce_all(L, v, reduction, p->out));
}

/* mse_loss(self, target, reduction): (x - y)^2 */
LOWER(lower_mse_loss) {
    pair p;
    TT_TRY(read_pair(L, 0, 1, &p));
    hlo_ref d = hlo_sub(L->g, p.x, p.y);
    finish(L, &p, hlo_mul(L->g, d, d), lower_int(L, 2, PIECE_MEAN));
    return TT_OK;
}

/* mse_loss_backward(grad_output, self, target, reduction): 2 (x - y) g */
LOWER(lower_mse_loss_backward) {
    pair p;
    TT_TRY(read_pair(L, 1, 2, &p));
    hlo_ref d = hlo_mul(L->g, hlo_sub(L->g, p.x, p.y), number(L, &p, 2));
    lower_out(L,
              hlo_convert(L->g, hlo_mul(L->g, d, spread_grad(L, &p, 0, lower_int(L, 3, PIECE_MEAN))), p.out));
    return TT_OK;
}

/* smooth_l1_loss(self, target, reduction, beta): z = |x - y|; z < beta ? z^2 / (2 beta) : z - beta / 2.
 * huber_loss(.., delta), param 1: the same times delta. */
LOWER(lower_smooth_l1) {
    pair p;
    hlo_graph *g = L->g;
    TT_TRY(read_pair(L, 0, 1, &p));
    double beta = lower_double(L, 3, 1);
    bool huber = L->row->param;
    TT_CHECK(huber ? beta > 0 : beta >= 0, INVALID_ARGUMENT,
             huber ? "huber_loss does not support non-positive values for delta."
                   : "smooth_l1_loss does not support negative values for beta.");
    hlo_ref z = hlo_unary(g, HLO_ABS, hlo_sub(g, p.x, p.y)), half = number(L, &p, 0.5),
            b = number(L, &p, beta), v;
    hlo_ref square = hlo_mul(g, hlo_mul(g, half, z), z);
    if (huber)
        v = hlo_select(g, hlo_compare(g, "LE", z, b), square,
                       hlo_mul(g, b, hlo_sub(g, z, hlo_mul(g, half, b))));
    else if (beta == 0)
        v = z;
    else
        v = hlo_select(g, hlo_compare(g, "LT", z, b), hlo_div(g, square, b),
                       hlo_sub(g, z, hlo_mul(g, half, b)));
    finish(L, &p, v, lower_int(L, 2, PIECE_MEAN));
    return TT_OK;
}

/* smooth_l1_loss_backward(grad_output, self, target, reduction, beta): |d| < beta ? d / beta : sign(d); huber
 * times delta. */
LOWER(lower_smooth_l1_backward) {
    pair p;
    hlo_graph *g = L->g;
    TT_TRY(read_pair(L, 1, 2, &p));
    double beta = lower_double(L, 4, 1);
    bool huber = L->row->param;
    hlo_ref d = hlo_sub(g, p.x, p.y), b = number(L, &p, beta), size = hlo_unary(g, HLO_ABS, d),
            sign = hlo_unary(g, HLO_SIGN, d), v;
    if (huber)
        v = hlo_select(g, hlo_compare(g, "LE", size, b), d, hlo_mul(g, sign, b));
    else if (beta == 0)
        v = sign;
    else
        v = hlo_select(g, hlo_compare(g, "LT", size, b), hlo_div(g, d, b), sign);
    lower_out(L, hlo_convert(g, hlo_mul(g, v, spread_grad(L, &p, 0, lower_int(L, 3, PIECE_MEAN))), p.out));
    return TT_OK;
}

/* log x, not below -100: PyTorch's guard against infinities. */
static hlo_ref guarded_log(tt_lower *L, const pair *p, hlo_ref log) {
    return hlo_binary(L->g, HLO_MAXIMUM, log, number(L, p, -100));
}

/* binary_cross_entropy(self, target, weight, reduction): (y - 1) log(1 - x) - y log x, times weight */
LOWER(lower_bce) {
    pair p;
    hlo_graph *g = L->g;
    TT_TRY(read_pair(L, 0, 1, &p));
    hlo_ref one = number(L, &p, 1);
    hlo_ref log_x = guarded_log(L, &p, hlo_unary(g, HLO_LOG, p.x)),
            log_rest = guarded_log(L, &p, hlo_unary(g, HLO_LOG1P, hlo_unary(g, HLO_NEGATE, p.x)));
    hlo_ref v = hlo_sub(g, hlo_mul(g, hlo_sub(g, p.y, one), log_rest), hlo_mul(g, p.y, log_x));
    if (lower_has(L, 2))
        v = hlo_mul(g, v, lower_cast_broadcast(L, lower_value(L, 2), p.type.dtype, &p.type));
    finish(L, &p, v, lower_int(L, 3, PIECE_MEAN));
    return TT_OK;
}

/* binary_cross_entropy_backward(grad_output, self, target, weight, reduction): g (x - y) / max(x (1 - x),
 * 1e-12), times weight */
LOWER(lower_bce_backward) {
    pair p;
    hlo_graph *g = L->g;
    TT_TRY(read_pair(L, 1, 2, &p));
    hlo_ref curve =
        hlo_binary(g, HLO_MAXIMUM, hlo_mul(g, hlo_sub(g, number(L, &p, 1), p.x), p.x), number(L, &p, 1e-12));
    hlo_ref v = hlo_div(
        g, hlo_mul(g, spread_grad(L, &p, 0, lower_int(L, 4, PIECE_MEAN)), hlo_sub(g, p.x, p.y)), curve);
    if (lower_has(L, 3))
        v = hlo_mul(g, v, lower_cast_broadcast(L, lower_value(L, 3), p.type.dtype, &p.type));
    lower_out(L, hlo_convert(g, v, p.out));
    return TT_OK;
}

/* ---- negative log likelihood ---- */

/* x [N, C, rest...] (or [C]) as [N, C, M], target as [N, M]; without M when it is 1. */
typedef struct nll {
    int64_t n, c, m;
    hlo_type x, target;
    hlo_ref valid, weight;
    tt_dtype wide;
    hlo_type flat, full;
} nll;

/* The class of each element compared with the class index: a one-hot mask of x. The gradient is dense anyway,
 * so this costs nothing more, and it fuses where a scatter would not. */
static hlo_ref one_hot(tt_lower *L, const nll *s, hlo_ref target) {
    int64_t map[2] = {0, 2};
    hlo_type it = hlo_type_with(&s->full, TT_I32);
    return hlo_compare(L->g, "EQ", hlo_iota(L->g, &it, 1),
                       piece_broadcast(L, hlo_convert(L->g, target, TT_I32), &it, s->flat.rank, map));
}

/* Which elements count, and their weight without classes' weights: ignored ones have none. */
static void mark_valid(tt_lower *L, nll *s, hlo_ref target, int64_t ignored) {
    hlo_type t = piece_type(L, target);
    s->valid = hlo_compare(L->g, "NE", target, hlo_splat_int(L->g, &t, ignored));
    s->weight = hlo_select(L->g, s->valid, hlo_splat(L->g, &s->flat, 1), hlo_splat(L->g, &s->flat, 0));
}

static tt_status read_nll(tt_lower *L, int x_arg, nll *s, hlo_ref *out_target) {
    hlo_graph *g = L->g;
    s->x = piece_type(L, lower_value(L, x_arg));
    s->target = piece_type(L, lower_value(L, x_arg + 1));
    TT_CHECK(tt_is_float(s->x.dtype), UNIMPLEMENTED, "nll_loss of %s", tt_dtype_name(s->x.dtype));
    TT_CHECK(tt_is_int(s->target.dtype), INVALID_ARGUMENT, "expected scalar type Long but found %s",
             tt_dtype_name(s->target.dtype));
    TT_CHECK(s->x.rank >= 1, INVALID_ARGUMENT, "input tensor should be 1D or 2D");
    bool single = s->x.rank == 1;
    s->n = single ? 1 : s->x.dims[0];
    s->c = s->x.dims[single ? 0 : 1];
    s->m = single ? 1 : piece_product(s->x.dims, 2, s->x.rank);
    TT_CHECK(hlo_type_elements(&s->target) == s->n * s->m, INVALID_ARGUMENT,
             "size mismatch (got input: %lld x %lld x %lld, target: %lld elements)", (long long)s->n,
             (long long)s->c, (long long)s->m, (long long)hlo_type_elements(&s->target));
    if (lower_has(L, x_arg + 2)) {
        const tt_tensor *weight = lower_tensor(L, x_arg + 2);
        int64_t n = weight->rank ? weight->dims[0] : 1;
        TT_CHECK(weight->rank == 1 && n == s->c, INVALID_ARGUMENT,
                 "weight tensor should be defined either for all %lld classes or no classes but got weight "
                 "tensor of shape: [%lld]",
                 (long long)s->c, (long long)n);
    }
    s->wide = lower_accumulate_dtype(s->x.dtype);
    int64_t flat[2] = {s->n, s->m}, full[3] = {s->n, s->c, s->m};
    s->flat = hlo_type_make(s->wide, s->m == 1 ? 1 : 2, flat);
    s->full = hlo_type_make(s->wide, s->m == 1 ? 2 : 3, full);
    hlo_ref target = hlo_reshape(g, hlo_convert(g, lower_value(L, x_arg + 1), TT_I64), s->flat.rank, flat);
    mark_valid(L, s, target, lower_int(L, x_arg + 4, -100));
    *out_target = target;
    return TT_OK;
}

/* The weight of each of n targets' class, [n], or HLO_NONE where there are none. Checks classes at run time on an engine that knows
 * tt.bounds: a gather over the classes that nothing else needs would be dropped, so the weights are read through it. Without class
 * weights they are ones. */
static hlo_ref class_weights(tt_lower *L, int arg, tt_dtype wide, int64_t classes, int64_t n, hlo_ref target, const char *name) {
    hlo_graph *g = L->g;
    if (!lower_has(L, arg) && !L->check_bounds)
        return HLO_NONE;
    int64_t column[2] = {n, 1};
    static const int64_t zero[1] = {0}, one[1] = {1};
    hlo_type ct = hlo_type_make(wide, 1, &classes);
    hlo_ref weights = lower_has(L, arg) ? hlo_convert(g, lower_value(L, arg), wide) : hlo_splat(g, &ct, 1);
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    return hlo_gather(g, weights, hlo_reshape(g, target, 2, column), &d, one, L->check_bounds ? name : NULL);
}

/* Times the weights of the targets' classes. */
static hlo_ref weighted(tt_lower *L, const nll *s, int arg, hlo_ref target) {
    hlo_graph *g = L->g;
    hlo_type tt = piece_type(L, target);
    hlo_ref at = hlo_select(g, s->valid, target, hlo_splat_int(g, &tt, 0));
    hlo_ref w = class_weights(L, arg, s->wide, s->c, s->n * s->m, at, "nll_loss");
    return w ? hlo_mul(g, hlo_reshape(g, w, s->flat.rank, s->flat.dims), s->weight) : s->weight;
}

/* x[n, target[n, m], m], by flat position. */
static hlo_ref chosen_values(tt_lower *L, const nll *s, hlo_ref x, hlo_ref target) {
    hlo_graph *g = L->g;
    static const int64_t zero[1] = {0}, one[1] = {1};
    int64_t all[1] = {s->n * s->c * s->m}, column[2] = {s->n * s->m, 1};
    hlo_type tt = piece_type(L, target);
    hlo_ref at = hlo_add(g, hlo_mul(g, hlo_iota(g, &tt, 0), hlo_splat_int(g, &tt, s->c)),
                         hlo_select(g, s->valid, target, hlo_splat_int(g, &tt, 0)));
    if (s->m > 1)
        at = hlo_add(g, hlo_mul(g, at, hlo_splat_int(g, &tt, s->m)), hlo_iota(g, &tt, 1));
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    x = hlo_gather(g, hlo_reshape(g, x, 1, all), hlo_reshape(g, at, 2, column), &d, one, NULL);
    return hlo_convert(g, hlo_reshape(g, x, s->flat.rank, s->flat.dims), s->wide);
}

/* An ignored row contributes 0 whatever x holds (-inf included). */
static hlo_ref losses(tt_lower *L, const nll *s, hlo_ref w, hlo_ref x, hlo_ref target) {
    hlo_ref loss = hlo_unary(L->g, HLO_NEGATE, hlo_mul(L->g, w, chosen_values(L, s, x, target)));
    return hlo_select(L->g, s->valid, loss, hlo_splat(L->g, &s->flat, 0));
}

static void sum_losses(tt_lower *L, const nll *s, bool mean, hlo_ref loss, hlo_ref w, hlo_ref out[2]) {
    static const int64_t all[2] = {0, 1};
    hlo_ref total = hlo_reduce(L->g, HLO_ADD, w, HLO_NONE, s->flat.rank, all), sum = hlo_reduce(L->g, HLO_ADD, loss, HLO_NONE, s->flat.rank, all);
    out[0] = hlo_convert(L->g, mean ? hlo_div(L->g, sum, total) : sum, s->x.dtype);
    out[1] = hlo_convert(L->g, total, s->x.dtype);
}

/* Rows without classes' weights: the composite tt.nll_loss. */
static void plain_losses(tt_lower *L, nll *s, bool mean, hlo_ref target, hlo_ref out[2]) {
    hlo_ref in[2] = {lower_value(L, 0), target}, p[2], results[2];
    const int64_t ignored = lower_int(L, 4, -100);
    const char *attributes = tt_arena_printf(L->arena, "checked = %s, ignored = %lld, mean = %s", L->check_bounds ? "true" : "false",
                                             (long long)ignored, mean ? "true" : "false");
    hlo_composite c = hlo_composite_begin(L->g, "tt.nll_loss", attributes, 2, in, p);
    mark_valid(L, s, p[1], ignored);
    hlo_ref w = weighted(L, s, 2, p[1]);
    sum_losses(L, s, mean, losses(L, s, w, p[0], p[1]), w, results);
    hlo_composite_end(L->g, &c, 2, results, out);
}

/* nll_loss_forward(self, target, weight, reduction, ignore_index) -> (output, total_weight);
 * nll_loss2d_forward: the same with more dims. loss = -weight[t] x[t]; the mean divides by the sum of the
 * weights. */
LOWER(lower_nll_loss) {
    nll s;
    hlo_ref target;
    hlo_graph *g = L->g;
    TT_TRY(read_nll(L, 0, &s, &target));
    int64_t reduction = lower_int(L, 3, PIECE_MEAN), dims[HLO_MAX_RANK];
    hlo_ref out[2];
    if (reduction != PIECE_NONE && s.x.rank == 2 && !lower_has(L, 2)) {
        plain_losses(L, &s, reduction == PIECE_MEAN, target, out);
    } else {
        hlo_ref w = weighted(L, &s, 2, target), loss = losses(L, &s, w, lower_value(L, 0), target);
        if (reduction == PIECE_NONE) {
            memcpy(dims, s.target.dims, sizeof dims);
            lower_out(L, hlo_convert(g, hlo_reshape(g, loss, s.target.rank, dims), s.x.dtype));
            /* PyTorch's CPU kernel sets the total of a single row all the same. */
            lower_out(L, s.x.rank == 1 ? hlo_convert(g, hlo_reshape(g, w, 0, NULL), s.x.dtype) : hlo_scalar(g, s.x.dtype, 0));
            return TT_OK;
        }
        sum_losses(L, &s, reduction == PIECE_MEAN, loss, w, out);
    }
    lower_out(L, out[0]);
    lower_out(L, out[1]);
    return TT_OK;
}

/* nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight): -weight[t] g
 * at t, divided by total_weight for the mean. */
LOWER(lower_nll_loss_backward) {
    nll s;
    hlo_ref target;
    hlo_graph *g = L->g;
    TT_TRY(read_nll(L, 1, &s, &target));
    int64_t reduction = lower_int(L, 4, PIECE_MEAN), map[2] = {0, 2};
    hlo_ref grad = hlo_convert(g, lower_value(L, 0), s.wide);
    if (reduction == PIECE_MEAN)
        grad = hlo_div(g, grad, hlo_convert(g, hlo_reshape(g, lower_value(L, 6), 0, NULL), s.wide));
    grad = reduction == PIECE_NONE ? hlo_reshape(g, grad, s.flat.rank, s.flat.dims)
                                   : hlo_broadcast_to(g, grad, s.flat.rank, s.flat.dims);
    hlo_ref v = hlo_unary(g, HLO_NEGATE, hlo_mul(g, weighted(L, &s, 3, target), grad));
    v = hlo_select(g, s.valid, v, hlo_splat(g, &s.flat, 0));
    hlo_ref dx = hlo_select(g, one_hot(L, &s, target), piece_broadcast(L, v, &s.full, s.flat.rank, map),
                            hlo_splat(g, &s.full, 0));
    lower_out(L, hlo_reshape(g, hlo_convert(g, dx, s.x.dtype), s.x.rank, s.x.dims));
    return TT_OK;
}

/* ---- multi-class margin ---- */

typedef struct margin {
    int64_t n, c;
    hlo_type x, wide, row;
    hlo_ref values, here, chosen, weight;
    double p, margin;
} margin;

/* self [N, C] or [C], target [N]; here marks each row's target, chosen is its value, weight the class weight
 * of the target over the row. */
static tt_status read_margin(tt_lower *L, int at, margin *m) {
    hlo_graph *g = L->g;
    m->x = piece_type(L, lower_value(L, at));
    hlo_type tt = piece_type(L, lower_value(L, at + 1));
    TT_CHECK(tt_is_float(m->x.dtype) && m->x.rank <= 2, UNIMPLEMENTED,
             "multi_margin_loss of %d-dimensional %s", m->x.rank, tt_dtype_name(m->x.dtype));
    m->n = m->x.rank == 2 ? m->x.dims[0] : 1;
    m->c = m->x.rank ? m->x.dims[m->x.rank - 1] : 1;
    TT_CHECK(m->n > 0 && m->c > 0 && tt.rank <= 1 && hlo_type_elements(&tt) == m->n, INVALID_ARGUMENT,
             "inconsistent target size, expected %lld", (long long)m->n);
    m->p = lower_double(L, at + 2, 1);
    m->margin = lower_double(L, at + 3, 1);
    TT_CHECK(tt.dtype == TT_I64, INVALID_ARGUMENT, "expected scalar type Long but found %s", tt.dtype == TT_F32 ? "Float" : tt_dtype_name(tt.dtype));
    TT_CHECK(m->p == 1 || m->p == 2, INVALID_ARGUMENT, "only p == 1 and p == 2 supported");
    int64_t dims[2] = {m->n, m->c}, one[1] = {1};
    m->wide = hlo_type_make(lower_accumulate_dtype(m->x.dtype), 2, dims);
    m->row = hlo_type_make(m->wide.dtype, 1, dims);
    hlo_type it = hlo_type_make(TT_I64, 2, dims);
    m->values = hlo_convert(g, hlo_reshape(g, lower_value(L, at), 2, dims), m->wide.dtype);
    hlo_ref target = hlo_reshape(g, hlo_convert(g, lower_value(L, at + 1), TT_I64), 1, dims);
    m->here = hlo_compare(g, "EQ", hlo_iota(g, &it, 1), piece_along(L, target, &it, 0));
    hlo_ref zero = hlo_splat(g, &m->wide, 0);
    m->chosen = hlo_reduce(g, HLO_ADD, hlo_select(g, m->here, m->values, zero), HLO_NONE, 1, one);
    m->weight = class_weights(L, at + 4, m->wide.dtype, m->c, m->n, target, "multi_margin_loss");
    return TT_OK;
}

/* z = margin - x[target] + x, where positive and off the target. */
static hlo_ref margin_excess(tt_lower *L, const margin *m) {
    hlo_graph *g = L->g;
    hlo_ref z = hlo_add(g,
                        hlo_sub(g, hlo_splat(g, &m->wide, m->margin), piece_along(L, m->chosen, &m->wide, 0)),
                        m->values),
            zero = hlo_splat(g, &m->wide, 0);
    return hlo_select(g, m->here, zero, hlo_binary(g, HLO_MAXIMUM, z, zero));
}

/* multi_margin_loss(self, target, p, margin, weight, reduction): sum over other classes of max(0, z)^p weight
 * / C */
LOWER(lower_multi_margin_loss) {
    margin m;
    hlo_graph *g = L->g;
    TT_TRY(read_margin(L, 0, &m));
    int64_t one[1] = {1};
    hlo_ref z = margin_excess(L, &m);
    if (m.p == 2)
        z = hlo_mul(g, z, z);
    if (m.weight)
        z = hlo_mul(g, z, piece_along(L, m.weight, &m.wide, 0));
    hlo_ref loss = hlo_div(g, hlo_reduce(g, HLO_ADD, z, HLO_NONE, 1, one), hlo_splat(g, &m.row, (double)m.c));
    int64_t reduction = lower_int(L, 5, PIECE_MEAN);
    if (reduction == PIECE_NONE) {
        hlo_type tt = piece_type(L, lower_value(L, 1));
        lower_out(L, hlo_convert(g, hlo_reshape(g, loss, tt.rank, tt.dims), m.x.dtype));
    } else {
        lower_out(L, piece_reduce_all(L, loss, reduction, m.x.dtype));
    }
    return TT_OK;
}

/* multi_margin_loss_backward(grad_output, self, target, p, margin, weight, reduction) */
LOWER(lower_multi_margin_loss_backward) {
    margin m;
    hlo_graph *g = L->g;
    TT_TRY(read_margin(L, 1, &m));
    int64_t one[1] = {1}, reduction = lower_int(L, 6, PIECE_MEAN);
    hlo_ref z = margin_excess(L, &m), zero = hlo_splat(g, &m.wide, 0),
            grad = hlo_convert(g, lower_value(L, 0), m.wide.dtype);
    hlo_ref slope = m.p == 1 ? hlo_select(g, hlo_compare(g, "GT", z, zero), hlo_splat(g, &m.wide, 1), zero)
                             : hlo_mul(g, z, hlo_splat(g, &m.wide, 2));
    slope = hlo_mul(g, slope,
                    hlo_splat(g, &m.wide, 1 / ((double)m.c * (reduction == PIECE_MEAN ? (double)m.n : 1))));
    if (m.weight)
        slope = hlo_mul(g, slope, piece_along(L, m.weight, &m.wide, 0));
    hlo_ref sum = hlo_reduce(g, HLO_ADD, slope, HLO_NONE, 1, one);
    hlo_ref dx = hlo_select(g, m.here, hlo_unary(g, HLO_NEGATE, piece_along(L, sum, &m.wide, 0)), slope);
    hlo_type gt = piece_type(L, grad);
    grad = gt.rank == 0 || hlo_type_elements(&gt) == 1 ? piece_fill(L, hlo_reshape(g, grad, 0, NULL), &m.wide)
                                                       : piece_along(L, grad, &m.wide, 0);
    lower_out(L, hlo_reshape(g, hlo_convert(g, hlo_mul(g, dx, grad), m.x.dtype), m.x.rank, m.x.dims));
    return TT_OK;
}
