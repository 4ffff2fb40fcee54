/* rnn.c - the fused cells that PyTorch picks for LSTM and GRU layers on devices, and their gradients.
 * Computed in f32 (f64 for f64), each result rounded once. */
#include "aten/pieces.h"

/* arg as wide [B, n * H] plus bias (or nothing). */
static hlo_ref gates(tt_lower *L, int arg, int bias, tt_dtype wide) {
    hlo_ref x = hlo_convert(L->g, lower_value(L, arg), wide);
    hlo_type t = piece_type(L, x);
    return lower_has(L, bias)
               ? hlo_add(L->g, x, piece_along(L, hlo_convert(L->g, lower_value(L, bias), wide), &t, 1))
               : x;
}

static hlo_ref chunk(tt_lower *L, hlo_ref x, int k, int64_t width) {
    return hlo_slice_dim(L->g, x, 1, k * width, (k + 1) * width, 1);
}

static hlo_ref logistic(tt_lower *L, hlo_ref x) {
    return hlo_unary(L->g, HLO_LOGISTIC, x);
}

static hlo_ref one_minus(tt_lower *L, hlo_ref x) {
    return hlo_sub(L->g, hlo_splat_like(L->g, x, 1), x);
}

static tt_status check_cell(tt_lower *L, int arg) {
    hlo_type t = piece_type(L, lower_value(L, arg));
    TT_CHECK(t.rank == 2 && tt_is_float(t.dtype), UNIMPLEMENTED, "%s of %d-dimensional %s", L->row->name,
             t.rank, tt_dtype_name(t.dtype));
    return TT_OK;
}

/* _thnn_fused_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias) -> (hy, cy, workspace): gates
 * i f g o in a row, cy = f cx + i g, hy = o tanh(cy); the workspace keeps the activated gates. */
LOWER(lower_lstm_cell) {
    hlo_graph *g = L->g;
    TT_TRY(check_cell(L, 0));
    hlo_type t = piece_type(L, lower_value(L, 2));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t h = t.dims[1];
    hlo_ref x = hlo_add(g, gates(L, 0, 3, wide), gates(L, 1, 4, wide)), part[4];
    for (int k = 0; k < 4; k++)
        part[k] = k == 2 ? hlo_unary(g, HLO_TANH, chunk(L, x, k, h)) : logistic(L, chunk(L, x, k, h));
    hlo_ref cy = hlo_add(g, hlo_mul(g, part[1], hlo_convert(g, lower_value(L, 2), wide)),
                         hlo_mul(g, part[0], part[2]));
    hlo_ref hy = hlo_mul(g, part[3], hlo_unary(g, HLO_TANH, cy));
    lower_out(L, hlo_convert(g, hy, t.dtype));
    lower_out(L, hlo_convert(g, cy, t.dtype));
    lower_out(L, hlo_convert(g, hlo_concatenate(g, 4, part, 1), t.dtype));
    return TT_OK;
}

/* _thnn_fused_lstm_cell_backward_impl(grad_hy, grad_cy, cx, cy, workspace, has_bias) -> (grad_gates, grad_cx,
 * grad_bias) */
LOWER(lower_lstm_cell_backward) {
    hlo_graph *g = L->g;
    TT_TRY(check_cell(L, 4));
    hlo_type t = piece_type(L, lower_value(L, 2));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t h = t.dims[1], rows[1] = {0};
    hlo_ref saved = hlo_convert(g, lower_value(L, 4), wide), cx = hlo_convert(g, lower_value(L, 2), wide),
            part[4], d[4];
    for (int k = 0; k < 4; k++)
        part[k] = chunk(L, saved, k, h);
    hlo_ref curve = hlo_unary(g, HLO_TANH, hlo_convert(g, lower_value(L, 3), wide)),
            none = hlo_splat_like(g, cx, 0);
    hlo_ref dhy = lower_has(L, 0) ? hlo_convert(g, lower_value(L, 0), wide) : none,
            dcy = lower_has(L, 1) ? hlo_convert(g, lower_value(L, 1), wide) : none;
    hlo_ref dc =
        hlo_add(g, hlo_mul(g, hlo_mul(g, dhy, part[3]), one_minus(L, hlo_mul(g, curve, curve))), dcy);
    d[0] = hlo_mul(g, hlo_mul(g, dc, part[2]), hlo_mul(g, part[0], one_minus(L, part[0])));
    d[1] = hlo_mul(g, hlo_mul(g, dc, cx), hlo_mul(g, part[1], one_minus(L, part[1])));
    d[2] = hlo_mul(g, hlo_mul(g, dc, part[0]), one_minus(L, hlo_mul(g, part[2], part[2])));
    d[3] = hlo_mul(g, hlo_mul(g, dhy, curve), hlo_mul(g, part[3], one_minus(L, part[3])));
    hlo_ref dgates = hlo_concatenate(g, 4, d, 1);
    lower_out(L, hlo_convert(g, dgates, t.dtype));
    lower_out(L, hlo_convert(g, hlo_mul(g, dc, part[1]), t.dtype));
    bool bias = lower_bool(L, 5, false);
    piece_out_if(L, bias, hlo_convert(g, hlo_reduce(g, HLO_ADD, dgates, HLO_NONE, 1, rows), t.dtype));
    return TT_OK;
}

/* _thnn_fused_gru_cell(input_gates, hidden_gates, hx, input_bias, hidden_bias) -> (hy, workspace): r = s(ir +
 * hr), z = s(iz + hz), n = tanh(in + r hn), hy = n + z (hx - n); the workspace keeps r, z, n, hx, hn. */
LOWER(lower_gru_cell) {
    hlo_graph *g = L->g;
    TT_TRY(check_cell(L, 0));
    hlo_type t = piece_type(L, lower_value(L, 2));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t h = t.dims[1];
    hlo_ref i = gates(L, 0, 3, wide), hidden = gates(L, 1, 4, wide),
            hx = hlo_convert(g, lower_value(L, 2), wide);
    hlo_ref r = logistic(L, hlo_add(g, chunk(L, i, 0, h), chunk(L, hidden, 0, h))),
            z = logistic(L, hlo_add(g, chunk(L, i, 1, h), chunk(L, hidden, 1, h)));
    hlo_ref hn = chunk(L, hidden, 2, h),
            n = hlo_unary(g, HLO_TANH, hlo_add(g, chunk(L, i, 2, h), hlo_mul(g, r, hn)));
    hlo_ref hy = hlo_add(g, n, hlo_mul(g, z, hlo_sub(g, hx, n))), saved[5] = {r, z, n, hx, hn};
    lower_out(L, hlo_convert(g, hy, t.dtype));
    lower_out(L, hlo_convert(g, hlo_concatenate(g, 5, saved, 1), t.dtype));
    return TT_OK;
}

/* _thnn_fused_gru_cell_backward(grad_hy, workspace, has_bias) -> (grad_input_gates, grad_hidden_gates,
 * grad_hx, grad_input_bias, grad_hidden_bias) */
LOWER(lower_gru_cell_backward) {
    hlo_graph *g = L->g;
    TT_TRY(check_cell(L, 0));
    hlo_type t = piece_type(L, lower_value(L, 0));
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    int64_t h = t.dims[1], rows[1] = {0};
    hlo_ref dy = hlo_convert(g, lower_value(L, 0), wide), saved = hlo_convert(g, lower_value(L, 1), wide),
            s[5];
    for (int k = 0; k < 5; k++)
        s[k] = chunk(L, saved, k, h);
    hlo_ref r = s[0], z = s[1], n = s[2], hx = s[3], hn = s[4];
    hlo_ref dz = hlo_mul(g, hlo_mul(g, dy, hlo_sub(g, hx, n)), hlo_mul(g, z, one_minus(L, z)));
    hlo_ref dn = hlo_mul(g, hlo_mul(g, dy, one_minus(L, z)), one_minus(L, hlo_mul(g, n, n)));
    hlo_ref dr = hlo_mul(g, hlo_mul(g, dn, hn), hlo_mul(g, r, one_minus(L, r))), di[3] = {dr, dz, dn},
            dh[3] = {dr, dz, hlo_mul(g, dn, r)};
    hlo_ref input = hlo_concatenate(g, 3, di, 1), hidden = hlo_concatenate(g, 3, dh, 1);
    lower_out(L, hlo_convert(g, input, t.dtype));
    lower_out(L, hlo_convert(g, hidden, t.dtype));
    lower_out(L, hlo_convert(g, hlo_mul(g, dy, z), t.dtype));
    bool bias = lower_bool(L, 2, false);
    piece_out_if(L, bias, hlo_convert(g, hlo_reduce(g, HLO_ADD, input, HLO_NONE, 1, rows), t.dtype));
    piece_out_if(L, bias, hlo_convert(g, hlo_reduce(g, HLO_ADD, hidden, HLO_NONE, 1, rows), t.dtype));
    return TT_OK;
}
