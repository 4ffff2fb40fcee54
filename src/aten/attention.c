/* attention.c - scaled dot product attention and its gradient as the composites tt.sdpa and tt.sdpa_backward.
 *
 * q [B,H,L,E], k [B,Hk,S,E], v [B,Hk,S,Ev]; H is a multiple of Hk (grouped queries): the H/Hk heads of one
 * group are folded into the rows of one product, so k and v are never expanded and their gradients sum by
 * contraction. The scale is applied to q, not to the scores: libtpu turns softmax(q k^T) v into its own
 * kernel only when nothing stands between the product and the softmax. */
#include "aten/pieces.h"
#include <math.h>

typedef struct sdpa {
    int64_t b, h, hk, l, s, e, ev;
    tt_dtype dtype, wide;
    double scale;
    bool causal, has_mask;
} sdpa;

static tt_status read_sdpa(tt_lower *L, int q_arg, int mask_arg, int causal_arg, int scale_arg, sdpa *out) {
    hlo_type q = piece_type(L, lower_value(L, q_arg)), k = piece_type(L, lower_value(L, q_arg + 1)),
             v = piece_type(L, lower_value(L, q_arg + 2));
    TT_CHECK(q.rank == 4 && k.rank == 4 && v.rank == 4, UNIMPLEMENTED, "attention of %d-dimensional tensors",
             q.rank);
    TT_CHECK(tt_is_float(q.dtype) && q.dtype == k.dtype && q.dtype == v.dtype, UNIMPLEMENTED,
             "attention of %s, %s and %s", tt_dtype_name(q.dtype), tt_dtype_name(k.dtype),
             tt_dtype_name(v.dtype));
    sdpa a = {q.dims[0], q.dims[1], k.dims[1],
              q.dims[2], k.dims[2], q.dims[3],
              v.dims[3], q.dtype,   lower_accumulate_dtype(q.dtype),
              0,         false,     false};
    bool fits = k.dims[0] == a.b && v.dims[0] == a.b && v.dims[1] == a.hk && a.hk > 0 && a.h % a.hk == 0 &&
                k.dims[3] == a.e && v.dims[2] == a.s;
    TT_CHECK(fits, UNIMPLEMENTED, "attention: query, key and value do not fit together");
    TT_CHECK(a.b * a.h * a.l * a.s * a.e * a.ev > 0, UNIMPLEMENTED, "attention of empty tensors");
    a.causal = lower_bool(L, causal_arg, false);
    a.has_mask = lower_has(L, mask_arg);
    a.scale = lower_has(L, scale_arg) ? lower_double(L, scale_arg, 1) : 1 / sqrt((double)a.e);
    *out = a;
    return TT_OK;
}

static const char *attributes(tt_lower *L, const sdpa *a) {
    return tt_arena_printf(L->arena, "causal = %s, has_mask = %s, scale = %.17e : f64",
                           a->causal ? "true" : "false", a->has_mask ? "true" : "false", a->scale);
}

/* [B,H,L,X] as [B,Hk,(H/Hk) L,X] and back */
static hlo_ref fold(tt_lower *L, const sdpa *a, hlo_ref x, int64_t width) {
    int64_t dims[4] = {a->b, a->hk, a->h / a->hk * a->l, width};
    return hlo_reshape(L->g, x, 4, dims);
}

static hlo_ref unfold(tt_lower *L, const sdpa *a, hlo_ref x, int64_t width) {
    int64_t dims[4] = {a->b, a->h, a->l, width};
    return hlo_reshape(L->g, x, 4, dims);
}

/* Batched over B and Hk: contracts dim ca of x with dim cb of y. Wide result, or the operands' dtype. */
static hlo_ref contract(tt_lower *L, hlo_ref x, int64_t ca, hlo_ref y, int64_t cb, tt_dtype out) {
    static const int64_t batch[2] = {0, 1};
    hlo_dims d = {.kind = HLO_DIMS_DOT, .a = {2, batch}, .b = {2, batch}, .c = {1, &ca}, .d = {1, &cb}};
    return hlo_dot_general(L->g, x, y, &d, out, piece_precision(L, piece_type(L, x).dtype));
}

static hlo_ref scaled_query(tt_lower *L, const sdpa *a, hlo_ref q) {
    hlo_ref x = hlo_convert(L->g, q, a->wide);
    x = hlo_mul(L->g, x, hlo_splat_like(L->g, x, a->scale));
    return fold(L, a, hlo_convert(L->g, x, a->dtype), a->e);
}

/* Masks on [B,Hk,rows,S] scores: causal keeps column <= row (both from the start), a bool mask keeps true,
 * any other is added. */
static hlo_ref masked(tt_lower *L, const sdpa *a, hlo_ref scores, hlo_ref mask) {
    hlo_graph *g = L->g;
    hlo_type folded = piece_type(L, scores);
    int64_t dims[4] = {a->b, a->h, a->l, a->s};
    hlo_type t = hlo_type_make(a->wide, 4, dims), square = hlo_type_make(TT_I32, 2, dims + 2);
    if (!a->causal && !a->has_mask)
        return scores;
    hlo_ref x = hlo_reshape(g, scores, 4, dims), low = hlo_splat(g, &t, -INFINITY);
    if (a->causal) {
        int64_t map[2] = {2, 3};
        hlo_ref keep = hlo_compare(g, "GE", hlo_iota(g, &square, 0), hlo_iota(g, &square, 1));
        x = hlo_select(g, piece_broadcast(L, keep, &t, 2, map), x, low);
    }
    if (a->has_mask) {
        hlo_type m = piece_type(L, mask);
        if (m.dtype == TT_PRED)
            x = hlo_select(g, hlo_broadcast_to(g, mask, 4, dims), x, low);
        else
            x = hlo_add(g, x, hlo_broadcast_to(g, hlo_convert(g, mask, a->wide), 4, dims));
    }
    return hlo_reshape(g, x, 4, folded.dims);
}

static hlo_ref spread(tt_lower *L, hlo_ref x, const hlo_type *like) {
    return hlo_broadcast_to(L->g, x, like->rank, like->dims);
}

/* out = softmax(scale q k^T + mask) v; logsumexp [B,H,L]. A row that the mask hides altogether gives zeros
 * and -inf. */
static void forward(tt_lower *L, const sdpa *a, const hlo_ref *in, hlo_ref *out) {
    hlo_graph *g = L->g;
    hlo_ref p[4], results[2];
    static const int64_t last[1] = {3};
    hlo_composite c = hlo_composite_begin(g, "tt.sdpa", attributes(L, a), a->has_mask ? 4 : 3, in, p);
    hlo_ref scores = contract(L, scaled_query(L, a, p[0]), 3, p[1], 3, a->wide);
    scores = masked(L, a, scores, a->has_mask ? p[3] : HLO_NONE);
    hlo_type t = piece_type(L, scores);
    hlo_ref top = hlo_reduce_keep(g, HLO_MAXIMUM, scores, HLO_NONE, 1, last);
    if (a->has_mask)
        top = hlo_select(g, piece_compare(L, "EQ", top, -INFINITY), hlo_splat_like(g, top, 0), top);
    hlo_ref e = hlo_unary(g, HLO_EXP, hlo_sub(g, scores, spread(L, top, &t)));
    hlo_ref sum = hlo_reduce_keep(g, HLO_ADD, e, HLO_NONE, 1, last), divisor = sum;
    if (a->has_mask)
        divisor = hlo_select(g, piece_compare(L, "EQ", sum, 0), hlo_splat_like(g, sum, 1), sum);
    hlo_ref weights = hlo_convert(g, hlo_div(g, e, spread(L, divisor, &t)), a->dtype);
    int64_t rows[3] = {a->b, a->h, a->l};
    results[0] = unfold(L, a, contract(L, weights, 3, p[2], 2, TT_DTYPE_NONE), a->ev);
    results[1] = hlo_reshape(g, hlo_add(g, top, hlo_unary(g, HLO_LOG, sum)), 3, rows);
    hlo_composite_end(g, &c, 2, results, out);
}

/* With p = exp(scores - logsumexp), dp = dout v^T, ds = p (dp - sum(dout out)): dv = p^T dout, dq = scale ds
 * k, dk = scale ds^T q. in: grad_out q k v [mask] out logsumexp. out_ds (may be NULL): ds [B,H,L,S], the
 * gradient of an added mask before its broadcast. */
static void gradients(tt_lower *L, const sdpa *a, const hlo_ref *in, hlo_ref *out, hlo_ref *out_ds) {
    hlo_graph *g = L->g;
    static const int64_t last[1] = {3};
    int after = a->has_mask ? 5 : 4;
    int64_t rows[4] = {a->b, a->hk, a->h / a->hk * a->l, 1};
    hlo_ref q = scaled_query(L, a, in[1]), dout = fold(L, a, in[0], a->ev), o = fold(L, a, in[after], a->ev);
    hlo_ref scores = masked(L, a, contract(L, q, 3, in[2], 3, a->wide), a->has_mask ? in[4] : HLO_NONE);
    hlo_type t = piece_type(L, scores);
    hlo_ref lse = hlo_reshape(g, hlo_convert(g, in[after + 1], a->wide), 4, rows);
    if (a->has_mask)
        lse = hlo_select(g, piece_compare(L, "EQ", lse, -INFINITY), hlo_splat_like(g, lse, 0), lse);
    hlo_ref p = hlo_unary(g, HLO_EXP, hlo_sub(g, scores, spread(L, lse, &t)));
    hlo_ref delta = hlo_reduce_keep(
        g, HLO_ADD, hlo_mul(g, hlo_convert(g, dout, a->wide), hlo_convert(g, o, a->wide)), HLO_NONE, 1, last);
    hlo_ref ds = hlo_mul(g, p, hlo_sub(g, contract(L, dout, 3, in[3], 3, a->wide), spread(L, delta, &t)));
    hlo_ref small = hlo_convert(g, ds, a->dtype);
    hlo_ref dq = contract(L, small, 3, in[2], 2, a->wide);
    dq = hlo_mul(g, dq, hlo_splat_like(g, dq, a->scale));
    out[0] = unfold(L, a, hlo_convert(g, dq, a->dtype), a->e);
    out[1] = contract(L, small, 2, q, 2, TT_DTYPE_NONE);
    out[2] = contract(L, hlo_convert(g, p, a->dtype), 2, dout, 2, TT_DTYPE_NONE);
    int64_t full[4] = {a->b, a->h, a->l, a->s};
    if (out_ds)
        *out_ds = hlo_reshape(g, ds, 4, full);
}

/* Sums x [B,H,L,S] over the dims along which a mask of type m was broadcast. */
static hlo_ref sum_to(tt_lower *L, hlo_ref x, const hlo_type *m) {
    hlo_type t = piece_type(L, x);
    int64_t dims[4];
    int n = 0;
    for (int i = 0; i < 4; i++)
        if (i < 4 - m->rank || (m->dims[i - (4 - m->rank)] == 1 && t.dims[i] != 1))
            dims[n++] = i;
    hlo_ref r = n ? hlo_reduce(L->g, HLO_ADD, x, HLO_NONE, n, dims) : x;
    return hlo_convert(L->g, hlo_reshape(L->g, r, m->rank, m->dims), m->dtype);
}

static tt_status check_mask(tt_lower *L, const sdpa *a, int arg) {
    if (!a->has_mask)
        return TT_OK;
    hlo_type m = piece_type(L, lower_value(L, arg));
    int64_t full[4] = {a->b, a->h, a->l, a->s};
    TT_CHECK(m.rank <= 4 && (m.dtype == TT_PRED || tt_is_float(m.dtype)), UNIMPLEMENTED,
             "attention with a mask of %s", tt_dtype_name(m.dtype));
    for (int i = 0; i < m.rank; i++)
        TT_CHECK(m.dims[i] == 1 || m.dims[i] == full[4 - m.rank + i], INVALID_ARGUMENT,
                 "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
                 "dimension %d",
                 (long long)full[4 - m.rank + i], (long long)m.dims[i], 4 - m.rank + i);
    return TT_OK;
}

/* _scaled_dot_product_fused_attention_overrideable(query, key, value, attn_bias, dropout_p, is_causal,
 * return_debug_mask, scale)
 * -> (output, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, philox_seed, philox_offset, debug_attn_mask) */
LOWER(lower_sdpa) {
    sdpa a;
    TT_TRY(read_sdpa(L, 0, 3, 5, 7, &a));
    TT_CHECK(lower_double(L, 4, 0) == 0, UNIMPLEMENTED, "attention with dropout");
    TT_TRY(check_mask(L, &a, 3));
    hlo_ref in[4] = {lower_value(L, 0), lower_value(L, 1), lower_value(L, 2),
                     a.has_mask ? lower_value(L, 3) : HLO_NONE},
            out[2];
    forward(L, &a, in, out);
    lower_out_like(L, out[0], lower_tensor(L, 0));
    lower_out(L, out[1]);
    lower_out_none(L);
    lower_out_none(L);
    lower_out_int(L, a.l);
    lower_out_int(L, a.s);
    lower_out(L, hlo_scalar_int(L->g, TT_I64, 0));
    lower_out(L, hlo_scalar_int(L->g, TT_I64, 0));
    lower_out_none(L);
    return TT_OK;
}

/* _scaled_dot_product_fused_attention_overrideable_backward(grad_out, query, key, value, attn_bias,
 * grad_input_mask, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, philox_seed,
 * philox_offset, scale) -> (dq, dk, dv, dbias) */
LOWER(lower_sdpa_backward) {
    sdpa a;
    TT_TRY(read_sdpa(L, 1, 4, 13, 16, &a));
    TT_CHECK(lower_double(L, 12, 0) == 0, UNIMPLEMENTED, "attention with dropout");
    TT_TRY(check_mask(L, &a, 4));
    hlo_ref in[7] = {hlo_convert(L->g, lower_value(L, 0), a.dtype), lower_value(L, 1), lower_value(L, 2),
                     lower_value(L, 3)};
    int n = 4;
    if (a.has_mask)
        in[n++] = lower_value(L, 4);
    in[n++] = lower_value(L, 6);
    in[n++] = lower_value(L, 7);
    hlo_ref out[3], ds = HLO_NONE;
    bool bias = a.has_mask && piece_mask(L, 5, 3) && piece_type(L, in[4]).dtype != TT_PRED;
    if (bias) {
        gradients(L, &a, in, out, &ds);
    } else {
        hlo_ref p[7], results[3];
        hlo_composite c = hlo_composite_begin(L->g, "tt.sdpa_backward", attributes(L, &a), n, in, p);
        gradients(L, &a, p, results, NULL);
        hlo_composite_end(L->g, &c, 3, results, out);
    }
    for (int i = 0; i < 3; i++) {
        if (piece_mask(L, 5, i))
            lower_out_like(L, out[i], lower_tensor(L, 1 + i));
        else
            lower_out_none(L);
    }
    hlo_type m = bias ? piece_type(L, in[4]) : (hlo_type){0};
    piece_out_if(L, bias, bias ? sum_to(L, ds, &m) : HLO_NONE);
    return TT_OK;
}
