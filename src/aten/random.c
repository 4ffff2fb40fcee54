/* random.c - distributions over a counter-based generator.
 *
 * The generator is {seed, offset}: Philox-4x32 keyed by the seed, counting from the offset, four 32-bit words a step. An op
 * that draws n words moves the offset by ceil(n / 4) (rng_used), so no two ops share a word. The k-th element in
 * row-major order gets the k-th word, whatever the shape. Engine and XLA give the same words. */
#include "aten/elem.h"
#include "aten/pieces.h"
#include "aten/random.h"
#include <float.h>
#include <math.h>

/* n words of 32 or 64 bits as [dims]. */
hlo_ref random_words(tt_lower *L, tt_dtype bits, int rank, const int64_t *dims) {
    int64_t n = piece_product(dims, 0, rank);
    hlo_type flat = hlo_type_make(bits, 1, &n), shaped = hlo_type_make(bits, rank, dims);
    if (n == 0)
        return hlo_splat_int(L->g, &shaped, 0);
    hlo_ref state, out;
    hlo_ref from = L->rng;
    if (L->rng_used) { /* a second draw of one op starts where the first ended */
        hlo_type t = hlo_type_make(TT_U64, 1, (const int64_t[]){2});
        uint64_t step[2] = {0, L->rng_used};
        from = hlo_add(L->g, from, hlo_constant(L->g, &t, step));
    }
    hlo_rng_bits(L->g, from, "PHILOX", &flat, &state, &out);
    int64_t per_step = bits == TT_U64 ? 2 : 4;
    L->rng_used += (uint64_t)((n + per_step - 1) / per_step);
    return hlo_reshape(L->g, out, rank, dims);
}

static hlo_ref shifted(tt_lower *L, hlo_ref bits, int by) {
    if (bits == HLO_NONE)
        return bits;
    hlo_type t = piece_type(L, bits);
    return hlo_binary(L->g, HLO_SHIFT_RIGHT_LOGICAL, bits, hlo_splat_int(L->g, &t, by));
}

/* k / 2^digits, k of `digits` random bits: in [0, 1), exact in f32 (up to 24) or f64 (up to 53). */
hlo_ref random_uniform(tt_lower *L, tt_dtype in, int digits, int rank, const int64_t *dims) {
    bool wide = in == TT_F64;
    hlo_ref k = shifted(L, random_words(L, wide ? TT_U64 : TT_U32, rank, dims), (wide ? 64 : 32) - digits);
    /* to a signed type first: the conversion from unsigned is slower everywhere */
    k = hlo_convert(L->g, hlo_convert(L->g, k, wide ? TT_I64 : TT_I32), in);
    return k == HLO_NONE ? k : hlo_mul(L->g, k, hlo_splat_like(L->g, k, ldexp(1, -digits)));
}

/* (2k + 1) / 2^(digits + 1): in (0, 1), both ends open, exact. */
hlo_ref random_open(tt_lower *L, tt_dtype in, int rank, const int64_t *dims) {
    int digits = in == TT_F64 ? 52 : 23;
    hlo_ref u = random_uniform(L, in, digits, rank, dims);
    return u == HLO_NONE ? u : hlo_add(L->g, u, hlo_splat_like(L->g, u, ldexp(1, -digits - 1)));
}

/* sqrt(2) erfinv(s), s = (2k + 1) / 2^24 - 1 an odd multiple of 2^-24 in (-1, 1): exact, and never infinite */
hlo_ref random_standard(tt_lower *L, tt_dtype in, int rank, const int64_t *dims) {
    bool wide = in == TT_F64;
    int digits = wide ? 53 : 24;
    hlo_graph *g = L->g;
    hlo_ref k = shifted(L, random_words(L, wide ? TT_U64 : TT_U32, rank, dims), (wide ? 64 : 32) - digits);
    k = hlo_convert(g, k, wide ? TT_I64 : TT_I32);
    if (k == HLO_NONE)
        return k;
    hlo_type t = piece_type(L, k);
    k = hlo_sub(g, hlo_add(g, k, k), hlo_splat_int(g, &t, (INT64_C(1) << digits) - 1));
    hlo_ref s = hlo_convert(g, k, in);
    s = s == HLO_NONE ? s : hlo_mul(g, s, hlo_splat_like(g, s, ldexp(1, -digits)));
    s = hlo_unary(g, HLO_CHLO_ERF_INV, s);
    return s == HLO_NONE ? s : hlo_mul(g, s, hlo_splat_like(g, s, 1.41421356237309504880));
}

static int digits_of(tt_dtype d) { return d == TT_F64 ? 53 : d == TT_F16 ? 11 : d == TT_BF16 ? 8 : 24; }

static hlo_ref fill(tt_lower *L, int arg, hlo_ref like) { return lower_scalar_like(L, arg, like); }

static tt_status float_self(tt_lower *L, const tt_tensor **out) {
    *out = lower_tensor(L, 0);
    if (!tt_is_float((*out)->dtype) || tt_dtype_size((*out)->dtype) < 2)
        LOWER_UNSUPPORTED(L, "for floating point only");
    return TT_OK;
}

static tt_status out_self(tt_lower *L, hlo_ref v, const tt_tensor *self) {
    lower_out_like(L, hlo_convert(L->g, v, self->dtype), self);
    return hlo_graph_take_error(L->g);
}

/* The check is a division of one by the smallest truth value; its result, one, goes into x so that it is not dropped. */
hlo_ref random_checked(tt_lower *L, hlo_ref x, hlo_ref holds, const char *message) {
    hlo_graph *g = L->g;
    if (!L->check_bounds || x == HLO_NONE || holds == HLO_NONE)
        return x;
    hlo_type t = piece_type(L, holds), to = piece_type(L, x);
    int64_t all[HLO_MAX_RANK];
    for (int i = 0; i < t.rank; i++)
        all[i] = i;
    hlo_ref every = t.rank ? hlo_reduce(g, HLO_AND, holds, HLO_NONE, t.rank, all) : holds;
    hlo_ref one = hlo_binary_checked(g, HLO_DIVIDE, hlo_scalar_int(g, TT_I32, 1), hlo_convert(g, every, TT_I32), message);
    return hlo_binary(g, to.dtype == TT_PRED ? HLO_AND : HLO_MULTIPLY, x, hlo_broadcast_to(g, hlo_convert(g, one, to.dtype), to.rank, to.dims));
}

static hlo_ref between(tt_lower *L, hlo_ref x, double low, double high) {
    hlo_graph *g = L->g;
    return hlo_binary(g, HLO_AND, hlo_compare(g, "GE", x, hlo_splat_like(g, x, low)), hlo_compare(g, "LE", x, hlo_splat_like(g, x, high)));
}

/* uniform(self, from, to, generator): from + u (to - from), never `to` itself */
LOWER_FN(lower_random_uniform) {
    const tt_tensor *self;
    TT_TRY(float_self(L, &self));
    hlo_graph *g = L->g;
    tt_dtype in = lower_accumulate_dtype(self->dtype);
    hlo_ref u = random_uniform(L, in, digits_of(self->dtype), self->rank, self->dims);
    double low = lower_double(L, 1, 0), high = lower_double(L, 2, 1);
    TT_CHECK(low <= high, INVALID_ARGUMENT, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", low, high);
    bool standard = (!lower_has(L, 1) || lower_double(L, 1, 0) == 0) && (!lower_has(L, 2) || lower_double(L, 2, 1) == 1);
    if (standard || u == HLO_NONE)
        return out_self(L, u, self);
    hlo_ref from = fill(L, 1, u), to = lower_has(L, 2) ? fill(L, 2, u) : hlo_splat_like(g, u, 1);
    hlo_ref r = hlo_add(g, hlo_mul(g, u, hlo_sub(g, to, from)), from);
    /* rounding, which no excess precision may leave out, may reach `to` */
    hlo_ref rounded = hlo_convert(g, r, self->dtype);
    rounded = hlo_make(g, HLO_OPTIMIZATION_BARRIER, 1, &rounded, 0, NULL, 0, NULL, 1, hlo_type_of(g, rounded));
    r = hlo_convert(g, rounded, in);
    return out_self(L, hlo_select(g, hlo_compare(g, "GE", r, to), from, r), self);
}

/* normal_functional, log_normal (param 1) (self, mean, std, generator) */
LOWER_FN(lower_random_normal) {
    const tt_tensor *self;
    TT_TRY(float_self(L, &self));
    bool log = L->row->param;
    double mean = lower_double(L, 1, log), std = lower_double(L, 2, log ? 2 : 1);
    TT_CHECK(log ? std > 0 : std >= 0, INVALID_ARGUMENT, log ? "log_normal_ expects std > 0.0, but found std=%g"
                                                             : "normal expects std >= 0.0, but found std %g", std);
    hlo_ref z = random_standard(L, lower_accumulate_dtype(self->dtype), self->rank, self->dims);
    if (z == HLO_NONE)
        return hlo_graph_take_error(L->g);
    if (std != 1)
        z = hlo_mul(L->g, z, hlo_splat_like(L->g, z, std));
    if (mean != 0)
        z = hlo_add(L->g, z, hlo_splat_like(L->g, z, mean));
    return out_self(L, log ? hlo_unary(L->g, HLO_EXP, z) : z, self);
}

/* normal.Tensor_float, normal.float_Tensor, normal.Tensor_Tensor (mean, std, generator): the type of the first tensor */
LOWER_FN(lower_random_normal_tensors) {
    elem e;
    TT_TRY(elem_begin2(L, &e, ELEM_UPCAST | ELEM_REAL | ELEM_FLOATING));
    e.out = e.in[0] ? e.in[0]->dtype : e.in[1]->dtype;
    hlo_ref z = random_standard(L, e.type.dtype, e.type.rank, e.type.dims);
    if (e.in[1])
        z = random_checked(L, z, elem_compare(&e, "GE", e.v[1], 0), "normal expects all elements of std >= 0.0");
    return elem_end(&e, hlo_add(e.g, hlo_mul(e.g, z, e.v[1]), e.v[0]));
}

/* exponential(self, lambd): -log(u) / lambd, u in (0, 1) */
LOWER_FN(lower_random_exponential) {
    const tt_tensor *self;
    TT_TRY(float_self(L, &self));
    double lambd = lower_double(L, 1, 1);
    TT_CHECK(lambd > 0, INVALID_ARGUMENT, "exponential_ expects lambda > 0.0, but found lambda=%g", lambd);
    hlo_ref u = random_open(L, lower_accumulate_dtype(self->dtype), self->rank, self->dims);
    hlo_ref r = hlo_unary(L->g, HLO_LOG, u);
    return out_self(L, r == HLO_NONE ? r : hlo_mul(L->g, r, hlo_splat_like(L->g, r, -1 / lambd)), self);
}

/* geometric(self, p): ceil(log(u) / log(1 - p)) */
LOWER_FN(lower_random_geometric) {
    const tt_tensor *self = lower_tensor(L, 0);
    double p = lower_double(L, 1, 0.5);
    TT_CHECK(p > 0 && p < 1, INVALID_ARGUMENT, "geometric_ expects p to be in (0, 1), but got p=%g", p);
    if (tt_is_complex(self->dtype) || self->dtype == TT_PRED)
        LOWER_UNSUPPORTED(L, "not for bool and complex");
    hlo_ref u = random_open(L, self->dtype == TT_F64 ? TT_F64 : TT_F32, self->rank, self->dims);
    hlo_ref r = hlo_unary(L->g, HLO_LOG, u);
    if (r != HLO_NONE)
        r = hlo_unary(L->g, HLO_CEIL, hlo_mul(L->g, r, hlo_splat_like(L->g, r, 1 / log1p(-p))));
    return out_self(L, r, self);
}

/* cauchy(self, median, sigma): median + sigma tan(pi (u - 1/2)) */
LOWER_FN(lower_random_cauchy) {
    const tt_tensor *self;
    TT_TRY(float_self(L, &self));
    double median = lower_double(L, 1, 0), sigma = lower_double(L, 2, 1);
    TT_CHECK(sigma > 0, INVALID_ARGUMENT, "cauchy_ expects sigma > 0.0, but found sigma=%g", sigma);
    hlo_graph *g = L->g;
    hlo_ref u = random_open(L, lower_accumulate_dtype(self->dtype), self->rank, self->dims);
    if (u == HLO_NONE)
        return hlo_graph_take_error(g);
    hlo_ref t = hlo_mul(g, hlo_sub(g, u, hlo_splat_like(g, u, 0.5)), hlo_splat_like(g, u, 3.14159265358979323846));
    t = hlo_mul(g, hlo_unary(g, HLO_TAN, t), hlo_splat_like(g, u, sigma));
    return out_self(L, hlo_add(g, t, hlo_splat_like(g, u, median)), self);
}

/* ---- bernoulli and dropout ---- */

static tt_status probability(tt_lower *L, int arg, double *out) {
    *out = lower_double(L, arg, 0.5);
    TT_CHECK(*out >= 0 && *out <= 1, INVALID_ARGUMENT, "bernoulli_ expects p to be in [0, 1], but got p=%g", *out);
    return TT_OK;
}

/* u < p as bool; p = 1 is always, p = 0 never. */
static hlo_ref happens(tt_lower *L, double p, int rank, const int64_t *dims) {
    hlo_ref u = random_uniform(L, TT_F32, 24, rank, dims);
    return u == HLO_NONE ? u : hlo_compare(L->g, "LT", u, hlo_splat_like(L->g, u, p));
}

/* bernoulli.p(self, p, generator) */
LOWER_FN(lower_random_bernoulli) {
    const tt_tensor *self = lower_tensor(L, 0);
    double p;
    TT_TRY(probability(L, 1, &p));
    return out_self(L, happens(L, p, self->rank, self->dims), self);
}

/* bernoulli(self): p = self; bernoulli.Tensor(self, p, generator) (param 1) */
LOWER_FN(lower_random_bernoulli_tensor) {
    const tt_tensor *self = lower_tensor(L, 0), *p = lower_tensor(L, L->row->param ? 1 : 0);
    if (tt_is_complex(p->dtype) || (!tt_is_float(p->dtype) && !L->row->param))
        LOWER_UNSUPPORTED(L, "this element type of p");
    tt_dtype in = p->dtype == TT_F64 ? TT_F64 : TT_F32;
    hlo_type t = hlo_type_make(in, self->rank, self->dims), pt = hlo_type_make(in, p->rank, p->dims), joint;
    const hlo_type *both[2] = {&t, &pt};
    TT_TRY(lower_broadcast_shape(2, both, &joint));
    TT_CHECK(hlo_dims_equal(&joint, &t), INVALID_ARGUMENT, "bernoulli: p does not broadcast to self");
    hlo_ref u = random_uniform(L, in, in == TT_F64 ? 53 : 24, self->rank, self->dims);
    hlo_ref chance = lower_cast_broadcast(L, p->value, in, &t);
    if (chance == HLO_NONE)
        return hlo_graph_take_error(L->g);
    hlo_ref happens = random_checked(L, hlo_compare(L->g, "LT", u, chance), between(L, chance, 0, 1), "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
    lower_out(L, hlo_convert(L->g, happens, self->dtype));
    return hlo_graph_take_error(L->g);
}

static hlo_ref scaled_mask(tt_lower *L, hlo_ref x, hlo_ref mask, double scale, tt_dtype out) {
    tt_dtype acc = lower_accumulate_dtype(out);
    hlo_ref v = hlo_mul(L->g, hlo_convert(L->g, x, acc), hlo_convert(L->g, mask, acc));
    return v == HLO_NONE ? v : hlo_convert(L->g, hlo_mul(L->g, v, hlo_splat_like(L->g, v, scale)), out);
}

/* native_dropout(input, p, train) -> (output, mask); _fused_dropout(self, keep, generator) (param 1), its mask u8 */
LOWER_FN(lower_random_dropout) {
    const tt_tensor *x = lower_tensor(L, 0);
    bool fused = L->row->param, train = fused || lower_bool(L, 2, true);
    double p = lower_double(L, 1, 0.5), keep = fused ? p : 1 - p;
    TT_CHECK(p >= 0 && p <= 1, INVALID_ARGUMENT, "dropout probability has to be between 0 and 1, but got %g", p);
    if (!tt_is_float(x->dtype) || tt_dtype_size(x->dtype) < 2)
        LOWER_UNSUPPORTED(L, "for floating point only");
    hlo_ref mask, out = x->value;
    if (train) {
        mask = happens(L, keep, x->rank, x->dims);
        out = scaled_mask(L, out, mask, keep > 0 ? 1 / keep : 0, x->dtype);
    } else {
        hlo_type t = hlo_type_make(TT_PRED, x->rank, x->dims);
        mask = hlo_splat_int(L->g, &t, 1);
    }
    lower_out_like(L, out, x);
    lower_out_like(L, fused ? hlo_convert(L->g, mask, TT_U8) : mask, x);
    return hlo_graph_take_error(L->g);
}

/* native_dropout_backward(grad, mask, scale), _masked_scale(self, mask, scale) */
LOWER_FN(lower_random_dropout_backward) {
    const tt_tensor *grad = lower_tensor(L, 0);
    tt_dtype out = tt_is_float(grad->dtype) ? grad->dtype : lower_default_float();
    if (tt_is_complex(grad->dtype))
        LOWER_UNSUPPORTED(L, "for complex numbers");
    lower_out_like(L, scaled_mask(L, grad->value, lower_value(L, 1), lower_double(L, 2, 1), out), grad);
    return hlo_graph_take_error(L->g);
}

/* rrelu_with_noise(self, noise, lower, upper, training, generator): the new noise, then the result.
 * Training: the slope of a negative element is drawn from [lower, upper); noise keeps it (1 elsewhere). */
LOWER_FN(lower_random_rrelu) {
    const tt_tensor *x, *noise = lower_tensor(L, 1);
    TT_TRY(float_self(L, &x));
    hlo_graph *g = L->g;
    tt_dtype in = lower_accumulate_dtype(x->dtype);
    double low = lower_double(L, 2, 1.0 / 8), high = lower_double(L, 3, 1.0 / 3);
    hlo_ref v = hlo_convert(g, x->value, in);
    if (v == HLO_NONE)
        return hlo_graph_take_error(g);
    hlo_ref slope = hlo_splat_like(g, v, (low + high) / 2), kept = noise->value;
    if (lower_bool(L, 4, false)) {
        hlo_ref u = random_uniform(L, in, digits_of(x->dtype), x->rank, x->dims);
        slope = hlo_add(g, hlo_mul(g, u, hlo_splat_like(g, v, high - low)), hlo_splat_like(g, v, low));
        hlo_ref below = hlo_compare(g, "LE", v, hlo_splat_like(g, v, 0));
        slope = hlo_select(g, below, slope, hlo_splat_like(g, v, 1));
        kept = hlo_convert(g, slope, noise->dtype);
    }
    hlo_ref negative = hlo_compare(g, "LE", v, hlo_splat_like(g, v, 0));
    lower_out_like(L, kept, noise);
    return out_self(L, hlo_select(g, negative, hlo_mul(g, v, slope), v), x);
}

/* ---- integers ---- */

static uint64_t largest_of(tt_dtype d) {
    switch (d) {
    case TT_I8: return INT8_MAX;
    case TT_U8: return UINT8_MAX;
    case TT_I16: return INT16_MAX;
    case TT_I32: return INT32_MAX;
    case TT_I64: return INT64_MAX;
    case TT_PRED: return 1;
    default: return UINT64_C(1) << digits_of(d); /* floats: the last integer before gaps */
    }
}

/* random(self), random.to(self, to), random.from(self, from, to): from + word % (to - from); param: 0, 1, 2 */
LOWER_FN(lower_random_int) {
    const tt_tensor *self = lower_tensor(L, 0);
    int form = L->row->param;
    if (tt_is_complex(self->dtype) || self->dtype == TT_U16 || self->dtype == TT_U32 || self->dtype == TT_U64)
        LOWER_UNSUPPORTED(L, "this element type");
    int64_t from = form == 2 ? lower_int(L, 1, 0) : 0;
    uint64_t range = largest_of(self->dtype) - (uint64_t)from + 1; /* 2^64 wraps to 0: every word counts */
    if (form && lower_has(L, form)) {
        int64_t to = lower_int(L, form, 0);
        TT_CHECK(from < to, INVALID_ARGUMENT, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                 (long long)from, (long long)to);
        range = (uint64_t)to - (uint64_t)from;
    }
    bool wide = range == 0 || range > UINT32_MAX;
    hlo_ref w = random_words(L, wide ? TT_U64 : TT_U32, self->rank, self->dims);
    if (w == HLO_NONE)
        return hlo_graph_take_error(L->g);
    hlo_type t = piece_type(L, w), st = hlo_type_with(&t, TT_I64);
    if (range)
        w = hlo_binary(L->g, HLO_REMAINDER, w, hlo_splat_int(L->g, &t, (int64_t)range));
    w = hlo_convert(L->g, w, TT_I64);
    if (from)
        w = hlo_add(L->g, w, hlo_splat_int(L->g, &st, from));
    return out_self(L, w, self);
}

/* randperm(n, dtype ...), randperm.generator(n, generator, dtype ...) (param 1): positions sorted by 64-bit random keys */
LOWER_FN(lower_random_perm) {
    int64_t n = lower_int(L, 0, 0);
    TT_CHECK(n >= 0, INVALID_ARGUMENT, "n must be non-negative, got%lld", (long long)n);
    tt_dtype dtype = lower_dtype(L, L->row->param ? 2 : 1, TT_I64);
    bool wide = n > INT32_MAX;
    hlo_type t = hlo_type_make(wide ? TT_I64 : TT_I32, 1, &n);
    hlo_ref in[2] = {random_words(L, TT_U64, 1, &n), hlo_iota(L->g, &t, 0)}, out[2] = {HLO_NONE, in[1]};
    if (n > 1)
        hlo_sort(L->g, 2, in, 0, false, true, out);
    lower_out(L, hlo_convert(L->g, out[1], dtype));
    return hlo_graph_take_error(L->g);
}

/* With replacement: the first category whose running sum exceeds u * total. u of 23 bits keeps u * total < total. */
static tt_status sample_again(tt_lower *L, hlo_ref p, int64_t rows, int64_t n, int64_t samples, hlo_ref *out) {
    if ((double)rows * (double)n * (double)samples > 1e8)
        LOWER_UNSUPPORTED(L, "too many samples times categories");
    hlo_graph *g = L->g;
    const int64_t size[2] = {1, n}, low[2] = {0, n - 1}, high[2] = {0, 0}, last = 2;
    hlo_window w = {.size = size, .padding_low = low, .padding_high = high};
    hlo_ref sums = n > 1 ? hlo_reduce_window(g, HLO_ADD, p, HLO_NONE, &w) : p;
    hlo_ref total = hlo_slice_dim(g, sums, 1, n - 1, n, 1);
    const int64_t drawn[2] = {rows, samples}, cube[3] = {rows, samples, n}, from_sum[2] = {0, 2}, from_draw[2] = {0, 1};
    hlo_ref u = random_uniform(L, TT_F32, 23, 2, drawn);
    hlo_ref goal = hlo_mul(g, u, hlo_broadcast_to(g, total, 2, drawn));
    hlo_ref past = hlo_compare(g, "LE", hlo_broadcast_in_dim(g, sums, 3, cube, from_sum),
                               hlo_broadcast_in_dim(g, goal, 3, cube, from_draw));
    *out = hlo_reduce(g, HLO_ADD, hlo_convert(g, past, TT_I32), HLO_NONE, 1, &last);
    return TT_OK;
}

/* multinomial(self, num_samples, replacement, generator). Without replacement: the largest of p / q, q exponential. */
LOWER_FN(lower_random_multinomial) {
    const tt_tensor *self;
    TT_TRY(float_self(L, &self));
    int64_t samples = lower_int(L, 1, 1);
    bool again = lower_bool(L, 2, false);
    TT_CHECK(self->rank == 1 || self->rank == 2, INVALID_ARGUMENT, "prob_dist must be 1 or 2 dim");
    int64_t n = self->dims[self->rank - 1], rows = self->rank == 2 ? self->dims[0] : 1;
    TT_CHECK(samples > 0, INVALID_ARGUMENT, "cannot sample n_sample <= 0 samples");
    TT_CHECK(again || samples <= n, INVALID_ARGUMENT,
             "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    TT_CHECK(n > 0, INVALID_ARGUMENT, "multinomial: no categories");
    TT_CHECK(n <= 1 << 24, INVALID_ARGUMENT, "number of categories cannot exceed 2^24");
    hlo_graph *g = L->g;
    const int64_t dims[2] = {rows, n};
    hlo_ref p = hlo_reshape(g, hlo_convert(g, self->value, TT_F32), 2, dims), at = HLO_NONE, best;
    if (again && samples > 1) {
        TT_TRY(sample_again(L, p, rows, n, samples, &at));
    } else {
        hlo_ref q = hlo_unary(g, HLO_NEGATE, hlo_unary(g, HLO_LOG, random_open(L, TT_F32, 2, dims)));
        hlo_ref race = hlo_div(g, p, q);
        if (samples == 1)
            hlo_reduce_arg(g, HLO_MAXIMUM, race, 1, TT_I32, &best, &at);
        else
            hlo_top_k(g, race, samples, &best, &at);
    }
    const int64_t out[2] = {rows, samples}, last = 1;
    if (again && samples > 1) { /* PyTorch's kernel for this says which it is */
        at = random_checked(L, at, between(L, p, 0, INFINITY), "invalid multinomial distribution (encountering probability entry < 0)");
        at = random_checked(L, at, between(L, p, -INFINITY, FLT_MAX), "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
    }
    at = random_checked(L, at, between(L, p, 0, FLT_MAX), "probability tensor contains either `inf`, `nan` or element < 0");
    hlo_ref sums = hlo_reduce(g, HLO_ADD, p, HLO_NONE, 1, &last);
    if (sums != HLO_NONE)
        at = random_checked(L, at, hlo_compare(g, "GT", sums, hlo_splat_like(g, sums, 0)), "invalid multinomial distribution (sum of probabilities <= 0)");
    lower_out(L, hlo_convert(g, hlo_reshape(g, at, self->rank, self->rank == 2 ? out : out + 1), TT_I64));
    return hlo_graph_take_error(g);
}
