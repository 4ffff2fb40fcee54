/* norm_batch.c - batch normalisation, its gradient, and the update of the running statistics. Computed in f32
 * (f64 for f64). */
#include "aten/pieces.h"

/* All dims but the channels (dim 1). */
static int reduced_dims(int rank, int64_t *dims) {
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (i != 1)
            dims[n++] = i;
    return n;
}

static hlo_ref divide(tt_lower *L, hlo_ref x, double by) {
    return hlo_div(L->g, x, hlo_splat_like(L->g, x, by));
}

static hlo_ref channel_sum(tt_lower *L, hlo_ref x) {
    int64_t dims[HLO_MAX_RANK];
    int n = reduced_dims(piece_type(L, x).rank, dims);
    return hlo_reduce(L->g, HLO_ADD, x, HLO_NONE, n, dims);
}

static hlo_ref inverse_root(tt_lower *L, hlo_ref variance, double eps) {
    return hlo_unary(L->g, HLO_RSQRT, hlo_add(L->g, variance, hlo_splat_like(L->g, variance, eps)));
}

/* running <- (1 - momentum) running + momentum value, in running's dtype */
static hlo_ref update_running(tt_lower *L, int arg, hlo_ref value, double momentum) {
    hlo_ref old = lower_value(L, arg);
    tt_dtype d = piece_type(L, old).dtype, wide = lower_accumulate_dtype(d);
    hlo_ref x = hlo_convert(L->g, old, wide), v = hlo_convert(L->g, value, wide);
    hlo_ref y = hlo_add(L->g, hlo_mul(L->g, x, hlo_splat_like(L->g, x, 1 - momentum)),
                        hlo_mul(L->g, v, hlo_splat_like(L->g, v, momentum)));
    return hlo_convert(L->g, y, d);
}

/* In what the statistics of a batch are saved: the input's dtype, f32 where a parameter is. */
static tt_dtype saved_dtype(tt_lower *L, tt_dtype input, int n_params) {
    if (lower_accumulate_dtype(input) == input)
        return input;
    for (int i = 1; i <= n_params; i++)
        if (lower_has(L, i) && lower_tensor(L, i)->dtype == TT_F32)
            return TT_F32;
    return input;
}

/* native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) -> (out,
 * save_mean, save_invstd), then the running statistics. param 1: the form without them (their two arguments
 * are missing); 2: _native_batch_norm_legit_no_training (no training argument); 3: _batch_norm_with_update;
 * 4: _batch_norm_no_update (both give an empty reserve too). Without training nothing is saved. */
LOWER(lower_batch_norm) {
    hlo_graph *g = L->g;
    int form = L->row->param, at = form == 1 ? 3 : 5;
    bool has_running = form != 1 && lower_has(L, 3) && lower_has(L, 4);
    bool training = form == 3 || (form < 2 && lower_bool(L, at, false));
    int scalars = form >= 2 ? at : at + 1;
    double momentum = lower_double(L, scalars, 0.1), eps = lower_double(L, scalars + 1, 1e-5);
    const tt_tensor *input = lower_tensor(L, 0);
    hlo_type t = piece_type(L, lower_value(L, 0));
    TT_CHECK(tt_is_float(t.dtype) && t.rank >= 2, UNIMPLEMENTED, "batch_norm of %s with %d dimensions",
             tt_dtype_name(t.dtype), t.rank);
    TT_CHECK(training || has_running, INVALID_ARGUMENT,
             "Expected running_mean and running_var to be defined when training=False");
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    hlo_type wt = hlo_type_with(&t, wide);
    double count = (double)hlo_type_elements(&t) / (double)(t.dims[1] ? t.dims[1] : 1);
    hlo_ref x = hlo_convert(g, lower_value(L, 0), wide), mean, variance;
    if (training) {
        mean = divide(L, channel_sum(L, x), count);
        hlo_ref d = hlo_sub(g, x, piece_along(L, mean, &wt, 1));
        variance = divide(L, channel_sum(L, hlo_mul(g, d, d)), count);
    } else {
        mean = hlo_convert(g, lower_value(L, 3), wide);
        variance = hlo_convert(g, lower_value(L, 4), wide);
    }
    hlo_ref invstd = inverse_root(L, variance, eps);
    hlo_ref y = hlo_mul(g, hlo_sub(g, x, piece_along(L, mean, &wt, 1)), piece_along(L, invstd, &wt, 1));
    if (lower_has(L, 1))
        y = hlo_mul(g, y, piece_along(L, hlo_convert(g, lower_value(L, 1), wide), &wt, 1));
    if (lower_has(L, 2))
        y = hlo_add(g, y, piece_along(L, hlo_convert(g, lower_value(L, 2), wide), &wt, 1));
    lower_out_like(L, hlo_convert(g, y, t.dtype), input);
    static const int64_t nothing[1] = {0};
    tt_dtype saved = saved_dtype(L, t.dtype, form == 1 ? 2 : 4);
    lower_out(L, training ? hlo_convert(g, mean, saved) : piece_zeros(L, lower_tensor(L, 3)->dtype, 1, nothing));
    lower_out(L, training ? hlo_convert(g, invstd, saved) : piece_zeros(L, lower_tensor(L, 3)->dtype, 1, nothing));
    if (form >= 3)
        lower_out(L, piece_zeros(L, TT_U8, 1, nothing));
    if (form != 0 && form != 3)
        return TT_OK;
    bool updates = training && has_running;
    piece_out_if(L, updates, updates ? update_running(L, 3, mean, momentum) : HLO_NONE);
    hlo_ref unbiased = hlo_mul(
        g, variance, hlo_splat_like(g, variance, count > 1 ? count / (count - 1) : __builtin_nan("")));
    piece_out_if(L, updates, updates ? update_running(L, 4, unbiased, momentum) : HLO_NONE);
    return TT_OK;
}

/* native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd,
 * train, eps, output_mask). train: dx = weight invstd (g - mean(g) - xhat mean(g xhat)), else weight invstd
 * g. */
LOWER(lower_batch_norm_backward) {
    hlo_graph *g = L->g;
    hlo_type t = piece_type(L, lower_value(L, 1));
    TT_CHECK(tt_is_float(t.dtype) && t.rank >= 2, UNIMPLEMENTED, "batch_norm of %s with %d dimensions",
             tt_dtype_name(t.dtype), t.rank);
    bool train = lower_bool(L, 7, true);
    TT_CHECK(train ? lower_has(L, 5) && lower_has(L, 6) : lower_has(L, 3) && lower_has(L, 4), UNIMPLEMENTED,
             "batch_norm backward without statistics");
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    hlo_type wt = hlo_type_with(&t, wide);
    double count = (double)hlo_type_elements(&t) / (double)(t.dims[1] ? t.dims[1] : 1);
    hlo_ref dy = hlo_convert(g, lower_value(L, 0), wide), x = hlo_convert(g, lower_value(L, 1), wide);
    hlo_ref mean = hlo_convert(g, lower_value(L, train ? 5 : 3), wide);
    hlo_ref invstd = train
                         ? hlo_convert(g, lower_value(L, 6), wide)
                         : inverse_root(L, hlo_convert(g, lower_value(L, 4), wide), lower_double(L, 8, 1e-5));
    hlo_ref wide_invstd = piece_along(L, invstd, &wt, 1);
    hlo_ref xhat = hlo_mul(g, hlo_sub(g, x, piece_along(L, mean, &wt, 1)), wide_invstd);
    hlo_ref sum = channel_sum(L, dy), along = channel_sum(L, hlo_mul(g, dy, xhat));
    tt_dtype small = lower_has(L, 2) ? piece_type(L, lower_value(L, 2)).dtype : wide;
    if (piece_mask(L, 9, 0)) {
        hlo_ref d = dy;
        if (train) {
            d = hlo_sub(g, d, piece_along(L, divide(L, sum, count), &wt, 1));
            d = hlo_sub(g, d, hlo_mul(g, xhat, piece_along(L, divide(L, along, count), &wt, 1)));
        }
        hlo_ref scale = invstd;
        if (lower_has(L, 2))
            scale = hlo_mul(g, scale, hlo_convert(g, lower_value(L, 2), wide));
        lower_out_like(L, hlo_convert(g, hlo_mul(g, d, piece_along(L, scale, &wt, 1)), t.dtype),
                       lower_tensor(L, 1));
    } else {
        lower_out_none(L);
    }
    piece_out_if(L, piece_mask(L, 9, 1), hlo_convert(g, along, small));
    piece_out_if(L, piece_mask(L, 9, 2), hlo_convert(g, sum, small));
    return TT_OK;
}
