/* optim.c - fused optimizers and the gradient scaler: one program for all parameters of a group.
 *
 * The rows mutate: their first results are the new values of the mutated lists in schema order; a list that
 * does not change gives none. Each parameter is computed in f32 (f64 for f64) whatever its dtype, and rounded
 * once, as PyTorch's fused CPU kernels do. */
#include "aten/pieces.h"
#include <math.h>

enum { MAX_LISTS = 5 };

/* What all fused optimizers share. lists: 0 params, 1 grads, then the states; steps: the step tensors. */
typedef struct group {
    int n, n_lists;
    tt_tensor *const *lists[MAX_LISTS], *const *steps;
    hlo_ref scale, skip; /* grad_scale and found_inf == 1, or HLO_NONE */
    bool maximize;
} group;

static tt_status read_lists(tt_lower *L, int n_lists, int steps_arg, group *s) {
    memset(s, 0, sizeof *s);
    s->n_lists = n_lists;
    s->n = lower_tensors(L, 0, &s->lists[0]);
    for (int k = 1; k < n_lists; k++) {
        int n = lower_tensors(L, k, &s->lists[k]);
        TT_CHECK(n == s->n || n == 0, INVALID_ARGUMENT, "%s: list %d has %d tensors, expected %d",
                 L->row->inplace, k, n, s->n);
        if (n == 0)
            s->lists[k] = NULL;
    }
    if (steps_arg >= 0) {
        int n = lower_tensors(L, steps_arg, &s->steps);
        TT_CHECK(n == s->n, INVALID_ARGUMENT, "%s: state_steps has %d tensors, expected %d", L->row->inplace,
                 n, s->n);
    }
    for (int k = 0; k < n_lists; k++)
        for (int i = 0; s->lists[k] && i < s->n; i++) {
            TT_CHECK(s->lists[k][i], UNIMPLEMENTED, "%s with an undefined tensor", L->row->inplace);
            TT_CHECK(tt_is_float(s->lists[k][i]->dtype), UNIMPLEMENTED, "%s of %s", L->row->inplace,
                     tt_dtype_name(s->lists[k][i]->dtype));
        }
    return TT_OK;
}

static void read_scaling(tt_lower *L, int scale_arg, group *s) {
    if (lower_has(L, scale_arg))
        s->scale = hlo_reshape(L->g, lower_value(L, scale_arg), 0, NULL);
    if (lower_has(L, scale_arg + 1)) {
        hlo_ref found = hlo_convert(L->g, hlo_reshape(L->g, lower_value(L, scale_arg + 1), 0, NULL), TT_F32);
        s->skip = piece_compare(L, "EQ", found, 1);
    }
}

static hlo_ref scalar(tt_lower *L, hlo_ref rank0, const hlo_type *t) {
    return piece_fill(L, hlo_convert(L->g, rank0, t->dtype), t);
}

static hlo_ref number(tt_lower *L, const hlo_type *t, double v) {
    return hlo_splat(L->g, t, v);
}

/* The learning rate, a float argument (tensor_lr: a tensor), as a rank-0 f64: what is derived from it is
 * rounded once, as on the CPU. */
static hlo_ref learning_rate(tt_lower *L, int arg) {
    if (L->args[arg].tag == TT_ARG_TENSOR)
        return hlo_convert(L->g, hlo_reshape(L->g, lower_value(L, arg), 0, NULL), TT_F64);
    return lower_scalar(L, arg, TT_F64);
}

/* The gradient, unscaled and signed; *out_unscaled is what grads[i] becomes (HLO_NONE: stays). */
static hlo_ref gradient(tt_lower *L, const group *s, int i, const hlo_type *t, hlo_ref *out_unscaled) {
    hlo_ref g = hlo_convert(L->g, s->lists[1][i]->value, t->dtype);
    *out_unscaled = HLO_NONE;
    if (s->scale)
        *out_unscaled = g = hlo_div(L->g, g, scalar(L, s->scale, t));
    return s->maximize ? hlo_unary(L->g, HLO_NEGATE, g) : g;
}

/* The results: list k of parameter i, old where the step is skipped. HLO_NONE: unchanged. */
static void emit(tt_lower *L, const group *s, hlo_ref *const *results) {
    for (int k = 0; k < s->n_lists; k++)
        for (int i = 0; s->lists[k] && i < s->n; i++) {
            hlo_ref v = results[k] ? results[k][i] : HLO_NONE;
            if (!v) {
                lower_out_none(L);
                continue;
            }
            const tt_tensor *old = s->lists[k][i];
            v = hlo_convert(L->g, v, old->dtype);
            if (s->skip) {
                hlo_type t = piece_type(L, v), pt = hlo_type_with(&t, TT_PRED);
                v = hlo_select(L->g, piece_fill(L, s->skip, &pt), old->value, v);
            }
            lower_out_like(L, v, old);
        }
}

/* 1 - beta^step: -expm1(step log beta) keeps its digits when beta^step is near 1. */
static hlo_ref bias_correction(tt_lower *L, hlo_ref step, double beta) {
    if (beta == 0)
        return hlo_splat_like(L->g, step, 1);
    hlo_ref x = hlo_mul(L->g, step, hlo_splat_like(L->g, step, log(beta)));
    return hlo_unary(L->g, HLO_NEGATE, hlo_unary(L->g, HLO_EXPM1, x));
}

typedef struct adam {
    double beta1, beta2, decay, eps;
    bool amsgrad, decoupled;
    hlo_ref lr;
    hlo_ref size[2], small[2]; /* of all parameters: lr sqrt(c2) / c1 and eps sqrt(c2), in f32 and f64 */
} adam;

/* What depends on the steps alone, of all parameters at once: a small loop for each would cost as much as a small parameter. */
static void adam_numbers(tt_lower *L, const group *s, adam *a) {
    hlo_graph *g = L->g;
    hlo_ref *steps = TT_NEW_N(L->arena, hlo_ref, s->n + 1);
    for (int wide = 0; wide < 2 && s->n; wide++) {
        const tt_dtype dtype = wide ? TT_F64 : TT_F32;
        for (int i = 0; i < s->n; i++)
            steps[i] = hlo_convert(g, hlo_reshape(g, s->steps[i]->value, 1, (const int64_t[]){1}), dtype);
        hlo_ref step = s->n > 1 ? hlo_concatenate(g, s->n, steps, 0) : steps[0];
        hlo_type t = piece_type(L, step), t64 = hlo_type_with(&t, TT_F64);
        hlo_ref c1 = bias_correction(L, step, a->beta1), root = hlo_unary(g, HLO_SQRT, bias_correction(L, step, a->beta2));
        hlo_ref size = hlo_div(g, hlo_mul(g, piece_fill(L, a->lr, &t64), hlo_convert(g, root, TT_F64)), hlo_convert(g, c1, TT_F64));
        a->size[wide] = hlo_convert(g, size, dtype);
        a->small[wide] = hlo_mul(g, root, hlo_splat(g, &t, a->eps));
    }
}

static hlo_ref number_of(tt_lower *L, hlo_ref numbers, int i, const hlo_type *t) {
    return scalar(L, hlo_reshape(L->g, hlo_slice_dim(L->g, numbers, 0, i, i + 1, 1), 0, NULL), t);
}

/* m += (1 - beta1)(g - m); v = beta2 v + (1 - beta2) g g; p -= lr / c1 * m / (sqrt(v) / sqrt(c2) + eps), c =
 * 1 - beta^step, with sqrt(c2) taken out of the fraction: an element is divided once. AdamW shrinks p by 1 - lr decay first, Adam
 * adds decay p to g. */
static void adam_step(tt_lower *L, const group *s, const adam *a, int i, hlo_ref *const *results) {
    hlo_graph *g = L->g;
    const tt_tensor *param = s->lists[0][i];
    tt_dtype wide = lower_accumulate_dtype(param->dtype);
    hlo_type t = hlo_type_make(wide, param->rank, param->dims);
    hlo_ref p = hlo_convert(g, param->value, wide), m = hlo_convert(g, s->lists[2][i]->value, wide),
            v = hlo_convert(g, s->lists[3][i]->value, wide);
    hlo_ref grad = gradient(L, s, i, &t, &results[1][i]);
    if (a->decay != 0 && a->decoupled) {
        hlo_ref shrink =
            hlo_sub(g, hlo_scalar(g, TT_F64, 1), hlo_mul(g, a->lr, hlo_scalar(g, TT_F64, a->decay)));
        p = hlo_mul(g, p, scalar(L, shrink, &t));
    } else if (a->decay != 0) {
        grad = hlo_add(g, grad, hlo_mul(g, p, number(L, &t, a->decay)));
    }
    double w = 1 - a->beta1;
    hlo_ref d = hlo_sub(g, grad, m);
    m = w < 0.5 ? hlo_add(g, m, hlo_mul(g, number(L, &t, w), d))
                : hlo_sub(g, grad, hlo_mul(g, d, number(L, &t, 1 - w)));
    v = hlo_add(g, hlo_mul(g, v, number(L, &t, a->beta2)),
                hlo_mul(g, hlo_mul(g, number(L, &t, 1 - a->beta2), grad), grad));
    hlo_ref top = v;
    if (a->amsgrad) {
        top = hlo_binary(g, HLO_MAXIMUM, hlo_convert(g, s->lists[4][i]->value, wide), v);
        results[4][i] = top;
    }
    hlo_ref denominator = hlo_add(g, hlo_unary(g, HLO_SQRT, top), number_of(L, a->small[wide == TT_F64], i, &t));
    p = hlo_sub(g, p, hlo_div(g, hlo_mul(g, number_of(L, a->size[wide == TT_F64], i, &t), m), denominator));
    results[0][i] = p;
    results[2][i] = m;
    results[3][i] = v;
}

/* _fused_adam_, _fused_adamw_ (param 1): (self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
 * lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, grad_scale, found_inf) */
LOWER(lower_fused_adam) {
    group s;
    TT_TRY(read_lists(L, 5, 5, &s));
    read_scaling(L, 13, &s);
    adam a = {
        .beta1 = lower_double(L, 7, 0.9),
        .beta2 = lower_double(L, 8, 0.999),
        .decay = lower_double(L, 9, 0),
        .eps = lower_double(L, 10, 1e-8),
        .amsgrad = lower_bool(L, 11, false),
        .decoupled = L->row->param != 0,
        .lr = learning_rate(L, 6),
    };
    s.maximize = lower_bool(L, 12, false);
    TT_CHECK(!a.amsgrad || s.lists[4], INVALID_ARGUMENT, "%s: amsgrad needs max_exp_avg_sqs",
             L->row->inplace);
    TT_CHECK(s.lists[1] && s.lists[2] && s.lists[3], INVALID_ARGUMENT,
             "%s: gradients and states must be as many as parameters", L->row->inplace);
    hlo_ref *results[MAX_LISTS];
    for (int k = 0; k < MAX_LISTS; k++)
        results[k] = TT_NEW_N(L->arena, hlo_ref, s.n + 1);
    adam_numbers(L, &s, &a);
    for (int i = 0; i < s.n; i++)
        adam_step(L, &s, &a, i, results);
    emit(L, &s, results);
    return TT_OK;
}

/* _fused_sgd_(self, grads, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov, maximize,
 * is_first_step, grad_scale, found_inf) */
LOWER(lower_fused_sgd) {
    group s;
    hlo_graph *g = L->g;
    TT_TRY(read_lists(L, 3, -1, &s));
    read_scaling(L, 10, &s);
    double decay = lower_double(L, 3, 0), momentum = lower_double(L, 4, 0), dampening = lower_double(L, 6, 0);
    bool nesterov = lower_bool(L, 7, false), first = lower_bool(L, 9, false);
    s.maximize = lower_bool(L, 8, false);
    hlo_ref lr = learning_rate(L, 5), *results[MAX_LISTS] = {NULL};
    TT_CHECK(s.lists[1] && (momentum == 0 || s.lists[2]), INVALID_ARGUMENT,
             "%s: gradients and momentum buffers must be as many as parameters", L->row->inplace);
    for (int k = 0; k < 3; k++)
        results[k] = TT_NEW_N(L->arena, hlo_ref, s.n + 1);
    for (int i = 0; i < s.n; i++) {
        const tt_tensor *param = s.lists[0][i];
        hlo_type t = hlo_type_make(lower_accumulate_dtype(param->dtype), param->rank, param->dims);
        hlo_ref p = hlo_convert(g, param->value, t.dtype), grad = gradient(L, &s, i, &t, &results[1][i]);
        if (decay != 0)
            grad = hlo_add(g, grad, hlo_mul(g, p, number(L, &t, decay)));
        if (momentum != 0) {
            hlo_ref m = grad;
            if (!first)
                m = hlo_add(
                    g, hlo_mul(g, hlo_convert(g, s.lists[2][i]->value, t.dtype), number(L, &t, momentum)),
                    hlo_mul(g, grad, number(L, &t, 1 - dampening)));
            results[2][i] = m;
            grad = nesterov ? hlo_add(g, grad, hlo_mul(g, m, number(L, &t, momentum))) : m;
        }
        results[0][i] = hlo_sub(g, p, hlo_mul(g, scalar(L, lr, &t), grad));
    }
    emit(L, &s, results);
    return TT_OK;
}

/* _fused_adagrad_(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize,
 * grad_scale, found_inf) */
LOWER(lower_fused_adagrad) {
    group s;
    hlo_graph *g = L->g;
    TT_TRY(read_lists(L, 3, 3, &s));
    read_scaling(L, 9, &s);
    double lr_decay = lower_double(L, 5, 0), decay = lower_double(L, 6, 0), eps = lower_double(L, 7, 1e-10);
    s.maximize = lower_bool(L, 8, false);
    hlo_ref lr = learning_rate(L, 4), *results[MAX_LISTS] = {NULL};
    TT_CHECK(s.lists[1] && s.lists[2], INVALID_ARGUMENT,
             "%s: gradients and states must be as many as parameters", L->row->inplace);
    for (int k = 0; k < 3; k++)
        results[k] = TT_NEW_N(L->arena, hlo_ref, s.n + 1);
    for (int i = 0; i < s.n; i++) {
        const tt_tensor *param = s.lists[0][i];
        hlo_type t = hlo_type_make(lower_accumulate_dtype(param->dtype), param->rank, param->dims);
        hlo_ref p = hlo_convert(g, param->value, t.dtype), grad = gradient(L, &s, i, &t, &results[1][i]);
        if (decay != 0)
            grad = hlo_add(g, grad, hlo_mul(g, p, number(L, &t, decay)));
        hlo_ref step = hlo_convert(g, hlo_reshape(g, s.steps[i]->value, 0, NULL), TT_F64),
                one = hlo_scalar(g, TT_F64, 1);
        hlo_ref rate = hlo_div(
            g, lr, hlo_add(g, one, hlo_mul(g, hlo_sub(g, step, one), hlo_scalar(g, TT_F64, lr_decay))));
        hlo_ref sum = hlo_add(g, hlo_convert(g, s.lists[2][i]->value, t.dtype), hlo_mul(g, grad, grad));
        hlo_ref denominator = hlo_add(g, hlo_unary(g, HLO_SQRT, sum), number(L, &t, eps));
        results[0][i] = hlo_sub(g, p, hlo_div(g, hlo_mul(g, scalar(L, rate, &t), grad), denominator));
        results[2][i] = sum;
    }
    emit(L, &s, results);
    for (int i = 0; L->row->param == 0 && i < s.n; i++)
        lower_out_none(L); /* state_steps are listed as mutated, but the optimizer counts them itself */
    return TT_OK;
}

/* _amp_foreach_non_finite_check_and_unscale_(self[], found_inf, inv_scale): self *= inv_scale; found_inf is 1
 * where any was not finite. */
LOWER(lower_amp_unscale) {
    hlo_graph *g = L->g;
    tt_tensor *const *list;
    int n = lower_tensors(L, 0, &list);
    hlo_ref found = lower_value(L, 1), scale = hlo_reshape(g, lower_value(L, 2), 0, NULL), any = HLO_NONE;
    hlo_type ft = piece_type(L, found);
    for (int i = 0; i < n; i++) {
        hlo_type t = hlo_type_make(lower_accumulate_dtype(list[i]->dtype), list[i]->rank, list[i]->dims);
        TT_CHECK(tt_is_float(t.dtype), UNIMPLEMENTED, "_amp_foreach_non_finite_check_and_unscale_ of %s",
                 tt_dtype_name(t.dtype));
        int64_t dims[HLO_MAX_RANK];
        piece_identity(dims, t.rank);
        hlo_ref x = hlo_convert(g, list[i]->value, t.dtype);
        hlo_ref bad = hlo_reduce(g, HLO_OR, hlo_unary(g, HLO_NOT, hlo_unary(g, HLO_IS_FINITE, x)), HLO_NONE,
                                 t.rank, dims);
        any = any ? hlo_binary(g, HLO_OR, any, bad) : bad;
        lower_out_like(L, hlo_convert(g, hlo_mul(g, x, scalar(L, scale, &t)), list[i]->dtype), list[i]);
    }
    if (!any) {
        lower_out_none(L);
        return TT_OK;
    }
    hlo_type pt = hlo_type_with(&ft, TT_PRED);
    lower_out(L, hlo_select(g, piece_fill(L, any, &pt), hlo_splat(g, &ft, 1), found));
    return TT_OK;
}

/* _amp_update_scale_(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor,
 * growth_interval): after an overflow the scale shrinks and the count restarts; after growth_interval good
 * steps it grows, if it stays finite. */
LOWER(lower_amp_update_scale) {
    hlo_graph *g = L->g;
    hlo_ref scale = lower_value(L, 0), tracker = lower_value(L, 1), found = lower_value(L, 2);
    hlo_type st = piece_type(L, scale), tt = piece_type(L, tracker);
    hlo_ref bad = hlo_reshape(g, piece_compare(L, "NE", found, 0), 0, NULL);
    hlo_type sp = hlo_type_with(&st, TT_PRED), tp = hlo_type_with(&tt, TT_PRED);
    hlo_ref count = hlo_add(g, tracker, hlo_splat_int(g, &tt, 1));
    hlo_ref due = hlo_compare(g, "EQ", count, hlo_splat_int(g, &tt, lower_int(L, 5, 2000)));
    hlo_ref grown = hlo_mul(g, scale, piece_fill(L, lower_scalar(L, 3, st.dtype), &st));
    grown = hlo_select(g, hlo_unary(g, HLO_IS_FINITE, grown), grown, scale);
    hlo_ref good =
        hlo_select(g, hlo_broadcast_to(g, hlo_reshape(g, due, 0, NULL), st.rank, st.dims), grown, scale);
    hlo_ref backed = hlo_mul(g, scale, piece_fill(L, lower_scalar(L, 4, st.dtype), &st));
    lower_out(L, hlo_select(g, piece_fill(L, bad, &sp), backed, good));
    hlo_ref zero = hlo_splat_int(g, &tt, 0);
    lower_out(L, hlo_select(g, hlo_binary(g, HLO_OR, piece_fill(L, bad, &tp), due), zero, count));
    return TT_OK;
}
