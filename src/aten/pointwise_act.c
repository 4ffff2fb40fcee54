/* pointwise_act.c - activations and their gradients.
 *
 * Formulas are those of PyTorch's CPU kernels; f16 and bf16 are computed in f32 and rounded once. */
#include "aten/elem.h"
#include <math.h>
#include <string.h>

enum { ACT = ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING };

static hlo_ref zero(const elem *e) { return elem_number(e, 0); }
static hlo_ref one(const elem *e) { return elem_number(e, 1); }
static hlo_ref times(const elem *e, hlo_ref x, double k) { return hlo_mul(e->g, x, elem_number(e, k)); }
static hlo_ref plus(const elem *e, hlo_ref x, double k) { return hlo_add(e->g, x, elem_number(e, k)); }
static hlo_ref both(const elem *e, hlo_ref a, hlo_ref b) { return hlo_binary(e->g, HLO_AND, a, b); }

/* relu: max(x, 0); NaN stays */
LOWER_FN(lower_act_relu) {
    elem e;
    TT_CHECK(lower_tensor(L, 0)->dtype != TT_PRED, INVALID_ARGUMENT, "Boolean inputs not supported for relu");
    TT_TRY(elem_begin1(L, &e, ELEM_REAL));
    return elem_end(&e, hlo_binary(e.g, HLO_MAXIMUM, e.v[0], zero(&e)));
}

/* threshold(self, threshold, value): self <= threshold ? value : self */
LOWER_FN(lower_act_threshold) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_REAL | ELEM_NO_PRED));
    hlo_ref low = hlo_compare(e.g, "LE", e.v[0], elem_scalar(&e, 1));
    return elem_end(&e, hlo_select(e.g, low, elem_scalar(&e, 2), e.v[0]));
}

/* threshold_backward(grad, self, threshold): self <= threshold ? 0 : grad */
LOWER_FN(lower_act_threshold_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_REAL | ELEM_NO_PRED));
    hlo_ref low = hlo_compare(e.g, "LE", e.v[1], elem_scalar(&e, 2));
    return elem_end(&e, hlo_select(e.g, low, zero(&e), e.v[0]));
}

/* hardtanh(self, min, max) */
LOWER_FN(lower_act_hardtanh) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_REAL | ELEM_NO_PRED));
    TT_TRY(lower_scalar_fits(L, 1, e.common));
    TT_TRY(lower_scalar_fits(L, 2, e.common));
    hlo_ref low = lower_has(L, 1) ? elem_scalar(&e, 1) : elem_number(&e, -1);
    hlo_ref high = lower_has(L, 2) ? elem_scalar(&e, 2) : one(&e);
    return elem_end(&e, hlo_binary(e.g, HLO_MINIMUM, hlo_binary(e.g, HLO_MAXIMUM, e.v[0], low), high));
}

/* hardtanh_backward(grad, self, min, max): self <= min or self >= max ? 0 : grad */
LOWER_FN(lower_act_hardtanh_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_REAL | ELEM_NO_PRED));
    hlo_ref out = hlo_binary(e.g, HLO_OR, hlo_compare(e.g, "LE", e.v[1], elem_scalar(&e, 2)),
                             hlo_compare(e.g, "GE", e.v[1], elem_scalar(&e, 3)));
    return elem_end(&e, hlo_select(e.g, out, zero(&e), e.v[0]));
}

static hlo_ref relu6_of_plus3(const elem *e, hlo_ref x) {
    hlo_ref y = hlo_binary(e->g, HLO_MAXIMUM, plus(e, x, 3), zero(e));
    return hlo_binary(e->g, HLO_MINIMUM, y, elem_number(e, 6));
}

/* hardsigmoid: relu6(x + 3) / 6; hardswish (param 1): x * relu6(x + 3) / 6 */
LOWER_FN(lower_act_hardsigmoid) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    hlo_ref y = relu6_of_plus3(&e, e.v[0]);
    if (L->row->param)
        y = hlo_mul(e.g, e.v[0], y);
    return elem_end(&e, hlo_div(e.g, y, elem_number(&e, 6)));
}

/* hardsigmoid_backward(grad, self): -3 < self < 3 ? grad / 6 : 0 */
LOWER_FN(lower_act_hardsigmoid_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_ref in = both(&e, elem_compare(&e, "GT", e.v[1], -3), elem_compare(&e, "LT", e.v[1], 3));
    return elem_end(&e, hlo_select(e.g, in, times(&e, e.v[0], 1.0 / 6), zero(&e)));
}

/* hardswish_backward(grad, self): self <= -3 ? 0 : self < 3 ? grad * (self / 3 + 0.5) : grad */
LOWER_FN(lower_act_hardswish_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_ref slope = plus(&e, hlo_div(e.g, e.v[1], elem_number(&e, 3)), 0.5);
    hlo_ref r = hlo_select(e.g, elem_compare(&e, "LT", e.v[1], 3), hlo_mul(e.g, e.v[0], slope), e.v[0]);
    return elem_end(&e, hlo_select(e.g, elem_compare(&e, "LE", e.v[1], -3), zero(&e), r));
}

/* leaky_relu(self, slope): self > 0 ? self : self * slope */
LOWER_FN(lower_act_leaky_relu) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    hlo_ref slope = lower_has(L, 1) ? elem_scalar(&e, 1) : elem_number(&e, 0.01);
    hlo_ref low = hlo_mul(e.g, e.v[0], slope);
    return elem_end(&e, hlo_select(e.g, elem_compare(&e, "GT", e.v[0], 0), e.v[0], low));
}

/* leaky_relu_backward(grad, self, slope, is_result) */
LOWER_FN(lower_act_leaky_relu_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_ref low = hlo_mul(e.g, e.v[0], elem_scalar(&e, 2));
    return elem_end(&e, hlo_select(e.g, elem_compare(&e, "GT", e.v[1], 0), e.v[0], low));
}

/* elu(self, alpha, scale, input_scale) */
LOWER_FN(lower_act_elu) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    hlo_ref x = e.v[0];
    hlo_ref alpha = lower_has(L, 1) ? elem_scalar(&e, 1) : one(&e);
    hlo_ref scale = lower_has(L, 2) ? elem_scalar(&e, 2) : one(&e);
    hlo_ref input = lower_has(L, 3) ? elem_scalar(&e, 3) : one(&e);
    hlo_ref low = hlo_mul(e.g, hlo_unary(e.g, HLO_EXPM1, hlo_mul(e.g, x, input)), hlo_mul(e.g, alpha, scale));
    return elem_end(&e, hlo_select(e.g, elem_compare(&e, "LE", x, 0), low, hlo_mul(e.g, x, scale)));
}

/* elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result) */
LOWER_FN(lower_act_elu_backward) {
    elem e;
    bool is_result = lower_bool(L, 4, false);
    TT_TRY(elem_begin(L, &e, 2, (const int[]){0, 5}, ACT));
    hlo_graph *g = e.g;
    hlo_ref grad = e.v[0], x = e.v[1], scale = elem_scalar(&e, 2), input = elem_scalar(&e, 3);
    hlo_ref negative = hlo_mul(g, elem_scalar(&e, 1), scale);
    hlo_ref low;
    if (is_result)
        low = hlo_mul(g, hlo_mul(g, grad, input), hlo_add(g, x, negative));
    else
        low = hlo_mul(g, hlo_mul(g, hlo_mul(g, grad, input), negative), hlo_unary(g, HLO_EXP, hlo_mul(g, x, input)));
    return elem_end(&e, hlo_select(g, elem_compare(&e, "LE", x, 0), low, hlo_mul(g, grad, scale)));
}

static const double inv_sqrt2 = 0.70710678118654752440, two_over_sqrtpi = 1.12837916709551257390;
static const double sqrt_two_over_pi = 1.41421356237309504880 * 1.12837916709551257390 * 0.5;

static tt_status gelu_mode(tt_lower *L, int arg, bool *out_tanh) {
    const char *mode = lower_string(L, arg, "none");
    *out_tanh = !strcmp(mode, "tanh");
    TT_CHECK(*out_tanh || !strcmp(mode, "none"), INVALID_ARGUMENT, "approximate argument must be either none or tanh.");
    return TT_OK;
}

/* sqrt(2/pi) * (x + 0.044715 x^3) */
static hlo_ref gelu_inner(const elem *e, hlo_ref x) {
    hlo_ref cube = hlo_mul(e->g, hlo_mul(e->g, x, x), x);
    return times(e, hlo_add(e->g, x, times(e, cube, 0.044715)), sqrt_two_over_pi);
}

/* gelu(self, *, str approximate): x/2 * (1 + erf(x / sqrt 2)), or with tanh(gelu_inner(x)) for erf */
LOWER_FN(lower_act_gelu) {
    elem e;
    bool by_tanh;
    TT_TRY(gelu_mode(L, 1, &by_tanh));
    TT_TRY(elem_begin1(L, &e, ACT));
    hlo_ref x = e.v[0];
    hlo_ref t = by_tanh ? hlo_unary(e.g, HLO_TANH, gelu_inner(&e, x))
                        : hlo_unary(e.g, HLO_CHLO_ERF, times(&e, x, inv_sqrt2));
    return elem_end(&e, hlo_mul(e.g, times(&e, x, 0.5), plus(&e, t, 1)));
}

/* gelu_backward(grad, self, *, str approximate) */
LOWER_FN(lower_act_gelu_backward) {
    elem e;
    bool by_tanh;
    TT_TRY(gelu_mode(L, 2, &by_tanh));
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_graph *g = e.g;
    hlo_ref grad = e.v[0], x = e.v[1];
    if (!by_tanh) { /* grad * (cdf + x * pdf) */
        hlo_ref cdf = times(&e, plus(&e, hlo_unary(g, HLO_CHLO_ERF, times(&e, x, inv_sqrt2)), 1), 0.5);
        hlo_ref pdf = times(&e, hlo_unary(g, HLO_EXP, times(&e, hlo_mul(g, x, x), -0.5)), two_over_sqrtpi * inv_sqrt2 * 0.5);
        return elem_end(&e, hlo_mul(g, grad, hlo_add(g, cdf, hlo_mul(g, x, pdf))));
    }
    hlo_ref t = hlo_unary(g, HLO_TANH, gelu_inner(&e, x));
    hlo_ref left = times(&e, x, 0.5), right = plus(&e, t, 1);
    hlo_ref slope = hlo_sub(g, one(&e), hlo_mul(g, t, t));
    hlo_ref inner = times(&e, plus(&e, times(&e, hlo_mul(g, x, x), 3 * 0.044715), 1), sqrt_two_over_pi);
    hlo_ref r = hlo_add(g, times(&e, right, 0.5), hlo_mul(g, hlo_mul(g, left, slope), inner));
    return elem_end(&e, hlo_mul(g, grad, r));
}

/* silu: x / (1 + exp(-x)) */
LOWER_FN(lower_act_silu) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    return elem_end(&e, hlo_mul(e.g, e.v[0], elem_logistic(&e, e.v[0])));
}

/* silu_backward(grad, self): grad * s * (1 + x * (1 - s)) */
LOWER_FN(lower_act_silu_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_graph *g = e.g;
    hlo_ref s = elem_logistic(&e, e.v[1]);
    hlo_ref k = hlo_add(g, one(&e), hlo_mul(g, e.v[1], hlo_sub(g, one(&e), s)));
    return elem_end(&e, hlo_mul(g, hlo_mul(g, e.v[0], s), k));
}

static hlo_ref softplus_plain(const elem *e, hlo_ref x) {
    /* log1p(exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)) */
    hlo_ref small = hlo_unary(e->g, HLO_EXP, hlo_unary(e->g, HLO_NEGATE, hlo_unary(e->g, HLO_ABS, x)));
    return hlo_add(e->g, hlo_binary(e->g, HLO_MAXIMUM, x, zero(e)), hlo_unary(e->g, HLO_LOG1P, small));
}

/* mish: x * tanh(softplus(x)) */
LOWER_FN(lower_act_mish) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    return elem_end(&e, hlo_mul(e.g, e.v[0], hlo_unary(e.g, HLO_TANH, softplus_plain(&e, e.v[0]))));
}

/* mish_backward(grad, self): grad * (t + x * s * (1 - t^2)), t = tanh(softplus(x)), s = sigmoid(x) */
LOWER_FN(lower_act_mish_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_graph *g = e.g;
    hlo_ref x = e.v[1], t = hlo_unary(g, HLO_TANH, softplus_plain(&e, x));
    hlo_ref k = hlo_sub(g, one(&e), hlo_mul(g, t, t));
    k = hlo_add(g, t, hlo_mul(g, hlo_mul(g, x, elem_logistic(&e, x)), k));
    return elem_end(&e, hlo_mul(g, e.v[0], k));
}

/* softplus(self, beta, threshold): self * beta > threshold ? self : log1p(exp(self * beta)) / beta */
LOWER_FN(lower_act_softplus) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    hlo_ref beta = lower_has(L, 1) ? elem_scalar(&e, 1) : one(&e);
    hlo_ref limit = lower_has(L, 2) ? elem_scalar(&e, 2) : elem_number(&e, 20);
    hlo_ref x = hlo_mul(e.g, e.v[0], beta);
    hlo_ref soft = hlo_div(e.g, softplus_plain(&e, x), beta);
    return elem_end(&e, hlo_select(e.g, hlo_compare(e.g, "GT", x, limit), e.v[0], soft));
}

/* softplus_backward(grad, self, beta, threshold): grad * z / (z + 1), z = exp(self * beta) */
LOWER_FN(lower_act_softplus_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_ref x = hlo_mul(e.g, e.v[1], elem_scalar(&e, 2));
    hlo_ref soft = hlo_mul(e.g, e.v[0], elem_logistic(&e, x));
    return elem_end(&e, hlo_select(e.g, hlo_compare(e.g, "GT", x, elem_scalar(&e, 3)), e.v[0], soft));
}

/* hardshrink(self, lambd): -lambd <= self <= lambd ? 0 : self */
LOWER_FN(lower_act_hardshrink) {
    elem e;
    bool backward = L->row->param; /* hardshrink_backward(grad, self, lambd), softshrink_backward: the same test */
    TT_TRY(backward ? elem_begin2(L, &e, ACT) : elem_begin1(L, &e, ACT));
    int arg = backward ? 2 : 1;
    hlo_ref x = e.v[backward ? 1 : 0], lambd = lower_has(L, arg) ? elem_scalar(&e, arg) : elem_number(&e, 0.5);
    hlo_ref in = both(&e, hlo_compare(e.g, "GE", x, hlo_unary(e.g, HLO_NEGATE, lambd)), hlo_compare(e.g, "LE", x, lambd));
    return elem_end(&e, hlo_select(e.g, in, zero(&e), e.v[0]));
}

/* softshrink(self, lambd): self > lambd ? self - lambd : self < -lambd ? self + lambd : 0; NaN stays */
LOWER_FN(lower_act_softshrink) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    static const struct { tt_dtype dtype; const char *name, *most; } types[] = {
        {TT_F64, "Double", "1.79769e+308"}, {TT_F16, "Half", "65504"}, {TT_BF16, "BFloat16", "3.38953e+38"}, {TT_F32, "Float", "3.40282e+38"}};
    double number = lower_double(L, 1, 0.5);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        TT_CHECK(number >= 0 || types[i].dtype != e.out, INVALID_ARGUMENT, "lambda must be in range [0, %s] for input dtype %s, but found %g",
                 types[i].most, types[i].name, number);
    hlo_graph *g = e.g;
    hlo_ref x = e.v[0], lambd = lower_has(L, 1) ? elem_scalar(&e, 1) : elem_number(&e, 0.5);
    hlo_ref low = hlo_compare(g, "LT", x, hlo_unary(g, HLO_NEGATE, lambd));
    hlo_ref r = hlo_select(g, low, hlo_add(g, x, lambd), hlo_select(g, elem_nan(&e, x), x, zero(&e)));
    return elem_end(&e, hlo_select(g, hlo_compare(g, "GT", x, lambd), hlo_sub(g, x, lambd), r));
}

/* log_sigmoid_forward(self) -> (output, buffer): min(0, x) - log1p(buffer), buffer = exp(-|x|) */
LOWER_FN(lower_act_log_sigmoid) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ACT));
    hlo_graph *g = e.g;
    hlo_ref x = e.v[0];
    hlo_ref z = hlo_unary(g, HLO_EXP, hlo_unary(g, HLO_NEGATE, hlo_unary(g, HLO_ABS, x)));
    hlo_ref r = hlo_sub(g, hlo_binary(g, HLO_MINIMUM, zero(&e), x), hlo_unary(g, HLO_LOG1P, z));
    elem_out(&e, r, e.out);
    elem_out(&e, z, e.out);
    return hlo_graph_take_error(g);
}

/* log_sigmoid_backward(grad, self, buffer): grad * sigmoid(-self); computed from self, which is as exact */
LOWER_FN(lower_act_log_sigmoid_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    return elem_end(&e, hlo_mul(e.g, e.v[0], elem_logistic(&e, hlo_unary(e.g, HLO_NEGATE, e.v[1]))));
}

static hlo_ref conj_of(const elem *e, hlo_ref x) {
    if (!tt_is_complex(e->type.dtype))
        return x;
    return hlo_complex(e->g, hlo_unary(e->g, HLO_REAL, x), hlo_unary(e->g, HLO_NEGATE, hlo_unary(e->g, HLO_IMAG, x)));
}

/* sigmoid_backward(grad, output): grad * conj((1 - y) * y) */
LOWER_FN(lower_act_sigmoid_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_NO_PRED));
    hlo_graph *g = e.g;
    hlo_ref k = hlo_mul(g, hlo_sub(g, one(&e), e.v[1]), e.v[1]);
    return elem_end(&e, hlo_mul(g, e.v[0], conj_of(&e, k)));
}

/* tanh_backward(grad, output): grad * conj(1 - y * y) */
LOWER_FN(lower_act_tanh_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_NO_PRED));
    hlo_graph *g = e.g;
    hlo_ref k = hlo_sub(g, one(&e), hlo_mul(g, e.v[1], e.v[1]));
    return elem_end(&e, hlo_mul(g, e.v[0], conj_of(&e, k)));
}

/* logit(self, float? eps): log(x / (1 - x)), x first clamped to [eps, 1 - eps] */
LOWER_FN(lower_act_logit) {
    elem e;
    TT_TRY(elem_begin1(L, &e, ELEM_FLOAT | ELEM_UPCAST | ELEM_REAL));
    hlo_graph *g = e.g;
    hlo_ref x = e.v[0];
    if (lower_has(L, 1) && lower_double(L, 1, -1) >= 0) {
        hlo_ref low = elem_scalar(&e, 1), high = hlo_sub(g, one(&e), low);
        x = hlo_select(g, hlo_compare(g, "LT", x, low), low, hlo_select(g, hlo_compare(g, "GT", x, high), high, x));
    }
    return elem_end(&e, hlo_unary(g, HLO_LOG, hlo_div(g, x, hlo_sub(g, one(&e), x))));
}

/* logit_backward(grad, self, float? eps): grad / (x * (1 - x)); outside [eps, 1 - eps] 0, without eps NaN outside [0, 1] */
LOWER_FN(lower_act_logit_backward) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_graph *g = e.g;
    hlo_ref grad = e.v[0], x = e.v[1];
    bool eps = lower_has(L, 2) && lower_double(L, 2, -1) >= 0;
    hlo_ref low = eps ? elem_scalar(&e, 2) : zero(&e), high = hlo_sub(g, one(&e), low);
    hlo_ref out = hlo_binary(g, HLO_OR, hlo_compare(g, "LT", x, low), hlo_compare(g, "GT", x, high));
    hlo_ref r = hlo_div(g, grad, hlo_mul(g, x, hlo_sub(g, one(&e), x)));
    if (!eps) {
        hlo_ref edge = hlo_binary(g, HLO_OR, elem_compare(&e, "EQ", x, 0), elem_compare(&e, "EQ", x, 1));
        r = hlo_select(g, edge, hlo_mul(g, grad, elem_number(&e, INFINITY)), r);
    }
    return elem_end(&e, hlo_select(g, out, elem_number(&e, eps ? 0.0 : NAN), r));
}

/* _prelu_kernel(self, weight): self > 0 ? self : weight * self */
LOWER_FN(lower_act_prelu) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ACT));
    hlo_ref low = hlo_mul(e.g, e.v[1], e.v[0]);
    return elem_end(&e, hlo_select(e.g, elem_compare(&e, "GT", e.v[0], 0), e.v[0], low));
}

/* _prelu_kernel_backward(grad, self, weight) -> (grad_self, grad_weight) */
LOWER_FN(lower_act_prelu_backward) {
    elem e;
    TT_TRY(elem_begin(L, &e, 3, (const int[]){0, 1, 2}, ACT));
    hlo_ref positive = elem_compare(&e, "GT", e.v[1], 0);
    elem_out(&e, hlo_select(e.g, positive, e.v[0], hlo_mul(e.g, e.v[2], e.v[0])), e.out);
    elem_out(&e, hlo_select(e.g, positive, zero(&e), hlo_mul(e.g, e.v[1], e.v[0])), e.out);
    return hlo_graph_take_error(e.g);
}

/* ---- glu: halves along a dim ---- */

static tt_status glu_halves(tt_lower *L, int arg, int dim_arg, elem *e, int *out_dim, hlo_ref *out_a, hlo_ref *out_b) {
    const tt_tensor *x = lower_tensor(L, arg);
    TT_CHECK(x->rank > 0, INVALID_ARGUMENT, "glu does not support 0-dimensional tensors");
    int dim = lower_dim(L, lower_int(L, dim_arg, -1), x->rank);
    TT_TRY(elem_begin(L, e, 1, &arg, ACT));
    int64_t n = x->dims[dim];
    TT_CHECK(n % 2 == 0, INVALID_ARGUMENT, "Halving dimension must be even, but dimension %d is size %lld", dim, (long long)n);
    *out_a = hlo_slice_dim(e->g, e->v[0], dim, 0, n / 2, 1);
    *out_b = hlo_slice_dim(e->g, e->v[0], dim, n / 2, n, 1);
    *out_dim = dim;
    return TT_OK;
}

/* glu(self, dim): a * sigmoid(b) */
LOWER_FN(lower_act_glu) {
    elem e;
    int dim;
    hlo_ref a, b;
    TT_TRY(glu_halves(L, 0, 1, &e, &dim, &a, &b));
    lower_out_like(L, hlo_convert(e.g, hlo_mul(e.g, a, elem_logistic(&e, b)), e.out), lower_tensor(L, 0));
    return hlo_graph_take_error(e.g);
}

/* glu_backward(grad, self, dim): d a = grad * s; d b = grad * a * s * (1 - s) */
LOWER_FN(lower_act_glu_backward) {
    elem e;
    int dim;
    hlo_ref a, b;
    TT_TRY(glu_halves(L, 1, 2, &e, &dim, &a, &b));
    hlo_ref grad = hlo_convert(e.g, lower_value(L, 0), e.type.dtype);
    hlo_ref s = elem_logistic(&e, b);
    hlo_ref d[2] = {hlo_mul(e.g, grad, s), HLO_NONE};
    hlo_ref ones = s == HLO_NONE ? s : hlo_splat_like(e.g, s, 1);
    d[1] = hlo_mul(e.g, hlo_mul(e.g, hlo_mul(e.g, hlo_sub(e.g, ones, s), s), grad), a);
    lower_out(L, hlo_convert(e.g, hlo_concatenate(e.g, 2, d, dim), e.out));
    return hlo_graph_take_error(e.g);
}
