/* test_engine_ops.c - every elementwise op in every dtype, and every composite with a kernel of its own, as programs of one op: all that is
 * fast against the reference kernels, with NaN, infinities, zeros of both signs, denormals, empty and size-1 dims.
 *
 * A composite's reference is a decomposition written here in f64. TT_FUZZ: how many programs; TT_SEED: where the random numbers start. */
#include "engine_random.h"

static hlo_type random_type(tt_dtype d, int rank, int big) {
    hlo_type t = {.dtype = d, .rank = rank};
    for (int i = 0; i < rank; i++)
        t.dims[i] = rnd(25) == 0 ? 0 : rnd(5) == 0 ? 1 : 1 + rnd((uint32_t)(rnd(3) ? 9 : big));
    return t;
}

/* ---- elementwise ---- */

/* Units in the last place that an op may differ by, in a dtype; the rest is exact. */
static int ulps_of(hlo_op op, tt_dtype d) {
    switch ((int)op) {
    case HLO_ABS: return tt_is_complex(d) ? 2 : 0;
    case HLO_CEIL: case HLO_CLZ: case HLO_FLOOR: case HLO_IMAG: case HLO_IS_FINITE: case HLO_NEGATE: case HLO_NOT: case HLO_POPCNT: case HLO_REAL:
    case HLO_REDUCE_PRECISION: case HLO_ROUND_AFZ: case HLO_ROUND_EVEN: case HLO_CONVERT: case HLO_CHLO_CONJ: case HLO_CHLO_IS_INF: case HLO_ADD:
    case HLO_AND: case HLO_COMPARE: case HLO_COMPLEX: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_OR: case HLO_SHIFT_LEFT:
    case HLO_SHIFT_RIGHT_ARITH: case HLO_SHIFT_RIGHT_LOGICAL: case HLO_SUBTRACT: case HLO_XOR: case HLO_CHLO_MULHI: case HLO_CHLO_NEXT_AFTER:
    case HLO_CLAMP: case HLO_SELECT: return 0;
    case HLO_SIGN: case HLO_SQRT: case HLO_DIVIDE: case HLO_MULTIPLY: case HLO_REMAINDER: case HLO_CHLO_SQUARE: return tt_is_complex(d) ? 4 : 0;
    default: return tt_is_int(d) ? 0 : d == TT_BF16 || d == TT_F16 ? 1 : 4;
    }
}

static double ulp(tt_dtype d, double x) {
    int e, bits = d == TT_F64 ? 53 : d == TT_F32 ? 24 : d == TT_F16 ? 11 : 8, least = d == TT_F64 ? -1021 : d == TT_F16 ? -13 : -125;
    frexp(x, &e);
    return ldexp(1, (e < least ? least : e) - bits);
}

static bool within(tt_dtype d, const char *a, const char *b, int n) {
    tt_dtype part = tt_dtype_real(d);
    int size = tt_dtype_size(part), parts = tt_dtype_size(d) / size;
    if (!memcmp(a, b, (size_t)tt_dtype_size(d)))
        return true;
    if (!tt_is_float(part))
        return false;
    double large = 0;
    for (int i = 0; i < parts; i++)
        if (isfinite(tt_element_get(part, b + i * size)))
            large = fmax(large, fabs(tt_element_get(part, b + i * size)));
    for (int i = 0; i < parts; i++) {
        double x = tt_element_get(part, a + i * size), y = tt_element_get(part, b + i * size);
        if (isnan(x) && isnan(y))
            continue;
        if (isnan(x) != isnan(y) || (n == 0 && (x != y || !signbit(x) != !signbit(y))))
            return false;
        if (x != y && !(fabs(x - y) <= n * ulp(part, parts > 1 ? large : y)))
            return false;
    }
    return true;
}

static const tt_dtype dtypes[] = {TT_F32, TT_BF16, TT_F16, TT_F64, TT_I8, TT_I16, TT_I32, TT_I64, TT_U8, TT_U16, TT_U32, TT_U64, TT_PRED, TT_C64, TT_C128};
enum { N_DTYPES = 15 };

/* The op on parameters, HLO_NONE where its rules refuse the dtypes. */
static hlo_ref make_elementwise(hlo_graph *g, hlo_op op, hlo_type t, data *kind) {
    static const char *const directions[] = {"LT", "GE", "EQ", "NE", "GT", "LE"};
    hlo_type pred = hlo_type_with(&t, TT_PRED), to = hlo_type_with(&t, dtypes[rnd(N_DTYPES)]);
    hlo_ref x = op == HLO_SELECT ? HLO_NONE : hlo_param(g, &t);
    switch ((int)op) {
    case HLO_COMPARE: return hlo_compare(g, directions[rnd(6)], x, hlo_param(g, &t));
    case HLO_COMPLEX: return hlo_complex(g, x, hlo_param(g, &t));
    case HLO_SELECT: {
        hlo_type scalar = {.dtype = TT_PRED};
        hlo_ref p = hlo_param(g, rnd(3) ? &pred : &scalar), a = hlo_param(g, &t);
        return hlo_select(g, p, a, hlo_param(g, &t));
    }
    case HLO_CLAMP: {
        hlo_type s = {.dtype = t.dtype};
        hlo_ref low = hlo_param(g, rnd(2) ? &t : &s);
        return hlo_clamp(g, low, x, hlo_param(g, rnd(2) ? &t : &s));
    }
    case HLO_CONVERT:
        if (tt_is_float(tt_dtype_real(t.dtype)) && tt_is_int(to.dtype)) { /* out of range: whatever the processor gives */
            *kind = PLAIN;
            x = tt_dtype_class(to.dtype) == TT_CLASS_UINT && tt_is_float(t.dtype) ? hlo_unary(g, HLO_ABS, x) : x;
        }
        if (tt_is_complex(t.dtype) && tt_dtype_class(to.dtype) == TT_CLASS_UINT)
            return HLO_NONE;
        return hlo_convert(g, x, to.dtype);
    case HLO_REDUCE_PRECISION: {
        hlo_attr attrs[2] = {hlo_attr_make_int(HLO_A_EXPONENT_BITS, 2 + rnd(10)), hlo_attr_make_int(HLO_A_MANTISSA_BITS, rnd(30))};
        return tt_is_float(t.dtype) ? hlo_make(g, op, 1, &x, 2, attrs, 0, NULL, 1, &t) : HLO_NONE;
    }
    case HLO_UNIFORM_QUANTIZE: case HLO_UNIFORM_DEQUANTIZE: return HLO_NONE;
    }
    return hlo_op_operands(op) == 1 ? hlo_unary(g, op, x) : hlo_binary(g, op, x, hlo_param(g, &t));
}

static int one_elementwise(hlo_op op, tt_dtype d) {
    tt_arena *arena = tt_arena_create();
    hlo_graph *g = hlo_graph_create(arena, "m");
    data kind = ODD;
    int ran = 0;
    hlo_func_begin(g, "main", true);
    hlo_ref r = make_elementwise(g, op, random_type(d, (int)rnd(4), 60), &kind);
    tt_status refused = hlo_graph_take_error(g);
    if (r && !refused) {
        hlo_return(g, 1, &r);
        tt_str text = {0};
        hlo_print(g, &text);
        const hlo_block *body = g->funcs[0]->body;
        void *arguments[4];
        for (int i = 0; i < body->n_params; i++) {
            const hlo_type *t = hlo_type_of(g, body->params[i]);
            arguments[i] = malloc((size_t)hlo_type_bytes(t) + 1);
            fill(t->dtype, arguments[i], hlo_type_elements(t), kind == ODD && rnd(3) == 0 ? BITS : kind);
        }
        outcome want = run_program(&text, true, arguments), have = run_program(&text, false, arguments);
        bool right = !want.error == !have.error;
        const hlo_type *t = hlo_type_of(g, r);
        int size = tt_dtype_size(t->dtype), ulps = ulps_of(op, d);
        for (int64_t i = 0; right && !want.error && i < hlo_type_elements(t); i++) {
            const char *a = (char *)have.results[0].data + i * size, *b = (char *)want.results[0].data + i * size;
            tt_dtype part = tt_dtype_real(t->dtype);
            right = within(t->dtype, a, b, ulps);
            if (!right) {
                fprintf(stderr, "%s of %s, level %s, element %lld: %.9g, expected %.9g; operands", hlo_op_text(op), tt_dtype_name(d),
                        eng_isa_name(eng_isa_level()), (long long)i, tt_element_get(part, a), tt_element_get(part, b));
                for (int k = 0; k < body->n_params; k++) {
                    const hlo_type *p = hlo_type_of(g, body->params[k]);
                    fprintf(stderr, " %.9g", tt_element_get(tt_dtype_real(p->dtype), (char *)arguments[k] + (p->rank ? i : 0) * tt_dtype_size(p->dtype)));
                }
                fprintf(stderr, "\n");
            }
        }
        CHECK(right);
        ran = !want.error;
        outcome_free(&want);
        outcome_free(&have);
        for (int i = 0; i < body->n_params; i++)
            free(arguments[i]);
        tt_str_deinit(&text);
    }
    tt_status_free(refused);
    tt_arena_destroy(arena);
    return ran;
}

TEST(elementwise) {
    int n = rounds(6), ran = 0;
    for (int op = 1; op < HLO_N_OPS; op++)
        for (int k = 0; k < N_DTYPES && hlo_op_flags((hlo_op)op) & HLO_F_ELEM; k++)
            for (int i = 0, before = test_failures; i < n && test_failures == before; i++) {
                eng_isa_limit((eng_isa)(i % 4));
                ran += one_elementwise((hlo_op)op, dtypes[k]);
            }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
    CHECK(ran > 300 * n);
}

/* ---- composites ---- */
static hlo_ref wide(hlo_graph *g, hlo_ref x) { return hlo_convert(g, x, TT_F64); }
static hlo_ref number(hlo_graph *g, hlo_ref like, double v) { return hlo_splat_like(g, like, v); }
static hlo_ref over_dim(hlo_graph *g, hlo_op op, hlo_ref x, int64_t dim) { /* spread along it */
    hlo_type t = *hlo_type_of(g, x);
    return hlo_broadcast_to(g, hlo_reduce_keep(g, op, x, HLO_NONE, 1, &dim), t.rank, t.dims);
}
static hlo_ref over_last(hlo_graph *g, hlo_op op, hlo_ref x, bool spread) {
    hlo_type t = *hlo_type_of(g, x);
    int64_t last = t.rank - 1;
    return spread ? over_dim(g, op, x, last) : hlo_reduce_keep(g, op, x, HLO_NONE, 1, &last);
}
static hlo_ref mean_of(hlo_graph *g, hlo_ref x) { /* spread over the row */
    hlo_type t = *hlo_type_of(g, x);
    hlo_ref sum = over_last(g, HLO_ADD, x, true);
    return hlo_div(g, sum, number(g, sum, (double)t.dims[t.rank - 1]));
}
static hlo_ref drop_last(hlo_graph *g, hlo_ref x) { /* the first of each row */
    hlo_type t = *hlo_type_of(g, x);
    return hlo_reshape(g, hlo_slice_dim(g, x, t.rank - 1, 0, 1, 1), t.rank - 1, t.dims);
}
static hlo_ref rowwise(hlo_graph *g, hlo_ref x, const hlo_type *t) { /* a value per row, spread */
    int64_t map[HLO_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        map[i] = i;
    return hlo_broadcast_in_dim(g, x, t->rank, t->dims, map);
}
static hlo_ref over_rows(hlo_graph *g, hlo_ref x) {
    int64_t dims[HLO_MAX_RANK];
    int n = hlo_type_of(g, x)->rank - 1;
    for (int i = 0; i < n; i++)
        dims[i] = i;
    return hlo_reduce(g, HLO_ADD, x, HLO_NONE, n, dims);
}

/* How large programs are, and what they may differ by: one tolerance per result. */
typedef struct scale { bool large; double tolerance[3]; data kind; int n_results, donated; hlo_ref results[3]; } scale; /* donated: the first parameter, if 1 */
static void tolerances(scale *s, tt_dtype t, double f32, double bf16, double f16) {
    for (int i = 0; i < 3; i++)
        s->tolerance[i] = t == TT_F32 ? f32 : t == TT_BF16 ? bf16 : f16;
}
static const tt_dtype reals[] = {TT_F32, TT_BF16, TT_F16};

static hlo_type rows_type(const scale *s, tt_dtype d) {
    hlo_type t = random_type(d, 1 + (int)rnd(3), s->large ? 60 : 20);
    int64_t *n = &t.dims[t.rank - 1];
    *n = s->large ? 1 + rnd(1500) : rnd(3) ? *n + (*n == 0) : 1 + rnd(200);
    return t;
}

static hlo_ref softmax_of(hlo_graph *g, hlo_ref x, bool log, int dim) {
    hlo_ref d = hlo_sub(g, x, over_dim(g, HLO_MAXIMUM, x, dim)), e = hlo_unary(g, HLO_EXP, d), sum = over_dim(g, HLO_ADD, e, dim);
    return log ? hlo_sub(g, d, hlo_unary(g, HLO_LOG, sum)) : hlo_div(g, e, sum);
}

static void make_softmax(hlo_graph *g, scale *s) {
    hlo_type t = rows_type(s, reals[rnd(3)]);
    bool log = rnd(2), backward = rnd(2);
    const int dim = rnd(2) && hlo_type_elements(&t) ? (int)rnd((uint32_t)t.rank) : t.rank - 1;
    hlo_ref in[2] = {hlo_param(g, &t), HLO_NONE}, p[2], y;
    if (backward) /* logarithms of weights are not above 0 */
        in[1] = hlo_unary(g, HLO_NEGATE, hlo_unary(g, HLO_ABS, hlo_param(g, &t)));
    hlo_composite c = hlo_composite_begin(g, backward ? "tt.softmax_backward" : "tt.softmax",
                                          tt_arena_printf(g->arena, "log = %s, dim = %d", log ? "true" : "false", dim), 1 + backward, in, p);
    hlo_ref x = wide(g, p[0]);
    if (backward) {
        hlo_ref v = wide(g, p[1]), all = over_dim(g, HLO_ADD, log ? x : hlo_mul(g, x, v), dim);
        y = log ? hlo_sub(g, x, hlo_mul(g, hlo_unary(g, HLO_EXP, v), all)) : hlo_mul(g, v, hlo_sub(g, x, all));
    } else {
        y = softmax_of(g, x, log, dim);
    }
    y = hlo_convert(g, y, t.dtype);
    hlo_composite_end(g, &c, 1, &y, s->results);
    s->n_results = 1;
    double grow = backward ? 4 * sqrt((double)t.dims[dim]) : 1; /* of a sum of that many that is then multiplied */
    tolerances(s, t.dtype, 2e-6 * grow, 4e-3 * (backward ? 2 : 1), 6e-4 * (backward ? 2 : 1));
    s->kind = rnd(3) ? PLAIN : ODD;
}

static void make_norm(hlo_graph *g, scale *s) {
    hlo_type t = rows_type(s, reals[rnd(3)]), n = {.dtype = t.dtype, .rank = 1, .dims = {t.dims[t.rank - 1]}};
    bool rms = rnd(2), weight = rnd(2), bias = !rms && rnd(2);
    hlo_ref in[3] = {hlo_param(g, &t)}, p[3], results[3];
    int k = 1;
    if (weight)
        in[k++] = hlo_param(g, &n);
    if (bias)
        in[k++] = hlo_param(g, &n);
    char *attributes = tt_arena_printf(g->arena, "eps = 1.0e-03 : f64, has_weight = %s, has_bias = %s", weight ? "true" : "false", bias ? "true" : "false");
    hlo_composite c = hlo_composite_begin(g, rms ? "tt.rms_norm" : "tt.layer_norm", attributes, k, in, p);
    hlo_ref x = wide(g, p[0]), mean = mean_of(g, x), d = rms ? x : hlo_sub(g, x, mean);
    hlo_ref square = mean_of(g, hlo_mul(g, d, d)), rstd = hlo_unary(g, HLO_RSQRT, hlo_add(g, square, number(g, square, 1e-3)));
    hlo_ref y = hlo_mul(g, d, rstd);
    if (weight)
        y = hlo_mul(g, y, hlo_broadcast_to(g, wide(g, p[1]), t.rank, t.dims));
    if (bias)
        y = hlo_add(g, y, hlo_broadcast_to(g, wide(g, p[k - 1]), t.rank, t.dims));
    results[0] = hlo_convert(g, y, t.dtype);
    results[1] = hlo_convert(g, drop_last(g, rms ? rstd : mean), TT_F32);
    results[2] = hlo_convert(g, drop_last(g, rstd), TT_F32);
    s->n_results = rms ? 2 : 3;
    hlo_composite_end(g, &c, s->n_results, results, s->results);
    tolerances(s, t.dtype, 3e-5, 8e-3, 1e-3);
    s->tolerance[1] = s->tolerance[2] = 2e-5;
    s->kind = rnd(3) || weight ? PLAIN : ODD; /* in f64 a denormal times infinity is not 0 times infinity */
}

static void make_norm_backward(hlo_graph *g, scale *s) {
    hlo_type t = rows_type(s, reals[rnd(3)]), n = {.dtype = t.dtype, .rank = 1, .dims = {t.dims[t.rank - 1]}}, r = t;
    bool weight = rnd(2);
    r.dtype = TT_F32;
    r.rank--;
    hlo_ref in[5] = {hlo_param(g, &t), hlo_param(g, &t), hlo_param(g, &r), hlo_param(g, &r)}, p[5], results[3];
    if (weight)
        in[4] = hlo_param(g, &n);
    hlo_composite c = hlo_composite_begin(g, "tt.layer_norm_backward", weight ? "has_weight = true" : "has_weight = false", 4 + weight, in, p);
    hlo_ref grad = wide(g, p[0]), rstd = rowwise(g, wide(g, p[3]), &t), x = hlo_mul(g, hlo_sub(g, wide(g, p[1]), rowwise(g, wide(g, p[2]), &t)), rstd);
    hlo_ref gw = weight ? hlo_mul(g, grad, hlo_broadcast_to(g, wide(g, p[4]), t.rank, t.dims)) : grad;
    hlo_ref dx = hlo_sub(g, hlo_sub(g, gw, mean_of(g, gw)), hlo_mul(g, x, mean_of(g, hlo_mul(g, gw, x))));
    results[0] = hlo_convert(g, hlo_mul(g, rstd, dx), t.dtype);
    results[1] = hlo_convert(g, over_rows(g, hlo_mul(g, grad, x)), t.dtype);
    results[2] = hlo_convert(g, over_rows(g, grad), t.dtype);
    s->n_results = 3;
    hlo_composite_end(g, &c, 3, results, s->results);
    double rows = (double)hlo_type_elements(&t) / (double)(n.dims[0] + (n.dims[0] == 0));
    tolerances(s, t.dtype, 2e-4, 1e-2, 2e-3);
    s->tolerance[1] += 2e-6 * 64 * sqrt(rows); /* terms up to 4 * 8 * 4, not of one sign */
    s->tolerance[2] += 2e-6 * sqrt(rows);
    s->kind = PLAIN;
}

/* Scores scale q k^T + mask as f64 [B,H,L,S], minus infinity where hidden. */
static hlo_ref scores_of(hlo_graph *g, const int64_t *dims, int64_t groups, hlo_ref q, hlo_ref k, hlo_ref mask, bool causal) {
    int64_t e = hlo_type_of(g, q)->dims[3], folded[4] = {dims[0], dims[1] / groups, groups * dims[2], e};
    hlo_dims d = {.kind = HLO_DIMS_DOT, .a = {2, (int64_t[]){0, 1}}, .b = {2, (int64_t[]){0, 1}}, .c = {1, (int64_t[]){3}}, .d = {1, (int64_t[]){3}}};
    hlo_ref s = hlo_dot_general(g, hlo_reshape(g, q, 4, folded), k, &d, TT_DTYPE_NONE, "DEFAULT");
    hlo_type t = hlo_type_make(TT_F64, 4, dims), square = hlo_type_make(TT_I32, 2, dims + 2);
    s = hlo_reshape(g, s, 4, dims);
    s = hlo_mul(g, s, number(g, s, 0.375));
    hlo_ref low = hlo_splat(g, &t, -INFINITY);
    if (causal)
        s = hlo_select(g, hlo_broadcast_to(g, hlo_compare(g, "GE", hlo_iota(g, &square, 0), hlo_iota(g, &square, 1)), 4, dims), s, low);
    if (mask && hlo_type_of(g, mask)->dtype == TT_PRED)
        s = hlo_select(g, hlo_broadcast_to(g, mask, 4, dims), s, low);
    else if (mask)
        s = hlo_add(g, s, hlo_broadcast_to(g, wide(g, mask), 4, dims));
    return s;
}

/* p [B,H,L,S] x [B,Hk,S,E] and its transpose p^T [..] x [B,H,L,E] summed over the heads of a group. */
static hlo_ref heads_product(hlo_graph *g, hlo_ref p, hlo_ref x, int64_t groups, bool transposed) {
    const int64_t *dims = hlo_type_of(g, p)->dims;
    int64_t n = dims[1] / groups, pd[4] = {dims[0], n, groups * dims[2], dims[3]}, e = hlo_type_of(g, x)->dims[3], xd[4] = {dims[0], n, groups * dims[2], e},
            out[4] = {dims[0], dims[1], dims[2], e};
    hlo_dims d = {.kind = HLO_DIMS_DOT, .a = {2, (int64_t[]){0, 1}}, .b = {2, (int64_t[]){0, 1}}, .c = {1, (int64_t[]){transposed ? 2 : 3}}, .d = {1, (int64_t[]){2}}};
    hlo_ref y = hlo_dot_general(g, hlo_reshape(g, p, 4, pd), transposed ? hlo_reshape(g, x, 4, xd) : x, &d, TT_DTYPE_NONE, "DEFAULT");
    return transposed ? y : hlo_reshape(g, y, 4, out);
}

/* What attention hands to its gradient: the logarithm of each row's sum of powers, 0 of a row that sees nothing. */
static hlo_ref log_of_sums(hlo_graph *g, hlo_ref scores) {
    hlo_ref top = over_last(g, HLO_MAXIMUM, scores, true);
    top = hlo_select(g, hlo_compare(g, "EQ", top, number(g, top, -INFINITY)), number(g, top, 0), top);
    hlo_ref sum = over_last(g, HLO_ADD, hlo_unary(g, HLO_EXP, hlo_sub(g, scores, top)), true), none = hlo_compare(g, "EQ", sum, number(g, sum, 0));
    sum = hlo_select(g, none, number(g, sum, 1), sum);
    return hlo_convert(g, drop_last(g, hlo_add(g, top, hlo_unary(g, HLO_LOG, sum))), TT_F32);
}

static void make_attention(hlo_graph *g, scale *s) {
    tt_dtype t = reals[rnd(3)];
    bool backward = rnd(2), causal = rnd(2), masked = rnd(2);
    int64_t groups = 1 + rnd(3), heads = 1 + rnd(2), most = s->large ? 300 : rnd(3) ? 12 : 150, e = 1 + rnd(rnd(2) ? 70 : 20), ev = rnd(2) ? e : 1 + rnd(70);
    int64_t dims[4] = {1 + rnd(2), heads * groups, 1 + rnd((uint32_t)most), 1 + rnd((uint32_t)most)};
    hlo_type q = hlo_type_make(t, 4, (int64_t[]){dims[0], dims[1], dims[2], e}), k = hlo_type_make(t, 4, (int64_t[]){dims[0], heads, dims[3], e}),
             v = hlo_type_make(t, 4, (int64_t[]){dims[0], heads, dims[3], ev}), o = hlo_type_make(t, 4, (int64_t[]){dims[0], dims[1], dims[2], ev}),
             m = {.dtype = rnd(2) ? TT_PRED : rnd(2) ? TT_F32 : t, .rank = 1 + (int)rnd(4)};
    for (int i = 0; i < m.rank; i++)
        m.dims[m.rank - 1 - i] = i == 0 || rnd(2) ? dims[3 - i] : 1;
    hlo_ref in[7], p[7], results[3];
    int n = 0, first = backward;
    if (backward)
        in[n++] = hlo_param(g, &o);
    in[n++] = hlo_param(g, &q), in[n++] = hlo_param(g, &k), in[n++] = hlo_param(g, &v);
    if (masked)
        in[n++] = hlo_param(g, &m);
    if (backward)
        in[n++] = hlo_param(g, &o), in[n++] = log_of_sums(g, scores_of(g, dims, groups, wide(g, in[1]), wide(g, in[2]), masked ? in[4] : HLO_NONE, causal));
    char *attributes = tt_arena_printf(g->arena, "causal = %s, has_mask = %s, scale = 3.75e-01 : f64", causal ? "true" : "false", masked ? "true" : "false");
    hlo_composite c = hlo_composite_begin(g, backward ? "tt.sdpa_backward" : "tt.sdpa", attributes, n, in, p);
    hlo_ref mask = masked ? p[first + 3] : HLO_NONE, qw = wide(g, p[first]), kw = wide(g, p[first + 1]), vw = wide(g, p[first + 2]);
    hlo_ref scores = scores_of(g, dims, groups, qw, kw, mask, causal);
    if (backward) {
        hlo_type full = *hlo_type_of(g, scores);
        hlo_ref out = wide(g, p[n - 2]), dout = wide(g, p[0]), weights = hlo_unary(g, HLO_EXP, hlo_sub(g, scores, rowwise(g, wide(g, p[n - 1]), &full)));
        hlo_ref delta = rowwise(g, drop_last(g, over_last(g, HLO_ADD, hlo_mul(g, dout, out), true)), &full), vt = hlo_transpose(g, vw, (int64_t[]){0, 1, 3, 2});
        hlo_ref ds = hlo_mul(g, weights, hlo_sub(g, heads_product(g, dout, vt, groups, false), delta));
        ds = hlo_mul(g, ds, number(g, ds, 0.375));
        results[0] = hlo_convert(g, heads_product(g, ds, kw, groups, false), t);
        results[1] = hlo_convert(g, heads_product(g, ds, qw, groups, true), t);
        results[2] = hlo_convert(g, heads_product(g, weights, dout, groups, true), t);
    } else {
        hlo_ref top = over_last(g, HLO_MAXIMUM, scores, true);
        top = hlo_select(g, hlo_compare(g, "EQ", top, number(g, top, -INFINITY)), number(g, top, 0), top);
        hlo_ref weights = hlo_unary(g, HLO_EXP, hlo_sub(g, scores, top)), sum = over_last(g, HLO_ADD, weights, true);
        hlo_ref divisor = hlo_select(g, hlo_compare(g, "EQ", sum, number(g, sum, 0)), number(g, sum, 1), sum);
        results[0] = hlo_convert(g, heads_product(g, hlo_div(g, weights, divisor), vw, groups, false), t);
        results[1] = hlo_convert(g, drop_last(g, hlo_add(g, top, hlo_unary(g, HLO_LOG, sum))), TT_F32);
    }
    s->n_results = backward ? 3 : 2;
    hlo_composite_end(g, &c, s->n_results, results, s->results);
    double terms = sqrt((double)(backward ? groups * (dims[2] > dims[3] ? dims[2] : dims[3]) : 1)); /* of gradients, not of one sign; each rounds */
    tolerances(s, t, 4e-6 * (1 + terms), 4e-3 * (1 + terms), 5e-4 * (1 + terms));
    s->kind = SMALL;
    if (!backward)
        s->tolerance[1] = 1e-5 + (t == TT_F32 ? 0 : 1e-3);
}

static void make_max_pool_backward(hlo_graph *g, scale *s) {
    int64_t b = 1 + rnd(s->large ? 40 : 4), n = rnd(s->large ? 4000 : 60), plane = 1 + rnd(s->large ? 9000 : 100);
    hlo_type t = hlo_type_make(TT_F32, 2, (int64_t[]){b, n}), it = hlo_type_with(&t, TT_I64), out = hlo_type_make(TT_F32, 2, (int64_t[]){b, plane});
    hlo_ref x = hlo_param(g, &it), in[2] = {hlo_param(g, &t), HLO_NONE}, p[2], y;
    x = hlo_add(g, hlo_unary(g, HLO_ABS, x), hlo_iota(g, &it, 1)); /* near one another, some twice */
    in[1] = hlo_clamp(g, hlo_scalar(g, TT_I64, 0), x, hlo_scalar(g, TT_I64, (double)(plane - 1)));
    hlo_composite c = hlo_composite_begin(g, "tt.max_pool_backward", NULL, 2, in, p);
    int64_t zero = 0, one = 1, indices[3] = {b, n, 1};
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {1, &one}, .c = {1, &zero}, .d = {1, &zero}, .e = {1, &one}, .index_vector_dim = 2};
    y = hlo_scatter(g, hlo_splat(g, &out, 0), hlo_reshape(g, p[1], 3, indices), p[0], &d, HLO_ADD, false, NULL);
    hlo_composite_end(g, &c, 1, &y, s->results);
    s->n_results = 1;
    s->kind = WHOLE;
}

/* A table's gradient, and its update: p + c * gradient, or p - c * gradient, whose rows may be all that is computed. */
static void make_sum_rows(hlo_graph *g, scale *s) {
    int64_t d = 1 + rnd(rnd(4) ? 100 : 1200), v = 1 + rnd(s->large ? 5000 : 200), n = 1 + rnd(rnd(2) ? (uint32_t)(v + 3) / 4 : s->large ? 3000 : 40);
    hlo_type table = hlo_type_make(reals[rnd(3)], 2, (int64_t[]){v, d}), t = hlo_type_make(TT_F32, 2, (int64_t[]){n, d}), it = hlo_type_make(TT_I64, 1, &n);
    hlo_ref weights = hlo_param(g, &table), in[2] = {hlo_param(g, &t), hlo_param(g, &it)}, p[2], y;
    if (rnd(3)) { /* else nearly all fall outside */
        hlo_ref size = hlo_splat_int(g, &it, v);
        in[1] = hlo_binary(g, HLO_REMAINDER, hlo_mul(g, in[1], hlo_splat_int(g, &it, 7919)), size);
    }
    hlo_composite c = hlo_composite_begin(g, "tt.sum_rows", NULL, 2, in, p);
    int64_t zero = 0, one = 1, column[2] = {n, 1};
    hlo_type sums = hlo_type_with(&table, TT_F32);
    hlo_dims dims = {.kind = HLO_DIMS_SCATTER, .a = {1, &one}, .b = {1, &zero}, .e = {1, &zero}, .index_vector_dim = 1};
    y = hlo_scatter(g, hlo_splat(g, &sums, 0), hlo_reshape(g, p[1], 2, column), p[0], &dims, HLO_ADD, false, NULL);
    y = hlo_convert(g, y, table.dtype);
    hlo_composite_end(g, &c, 1, &y, s->results);
    hlo_ref step = hlo_convert(g, s->results[0], TT_F32), wide = hlo_convert(g, weights, TT_F32);
    step = hlo_mul(g, step, hlo_splat_like(g, step, rnd(2) ? -0.1 : 0.25));
    s->results[1] = hlo_convert(g, hlo_binary(g, rnd(2) ? HLO_ADD : HLO_SUBTRACT, wide, step), table.dtype);
    s->n_results = 2;
    s->donated = 1 + (int)rnd(2); /* the weights, or none */
    s->kind = rnd(2) ? WHOLE : ODD;
}

/* Contracts dim 1 of x [b, in, n] with the matrix [in, out] that the tables stand for; the new dim comes last. */
static hlo_ref contracted(hlo_graph *g, hlo_ref x, int64_t in, int64_t out, hlo_ref at, hlo_ref weight) {
    int64_t dims[3] = {hlo_type_of(g, at)->dims[0], in, out}, map[2] = {0, 2}, one = 1, zero = 0;
    hlo_type it = hlo_type_make(TT_I32, 3, dims), wt = hlo_type_with(&it, TT_F32);
    hlo_ref here = hlo_compare(g, "EQ", hlo_iota(g, &it, 1), hlo_broadcast_in_dim(g, at, 3, dims, map));
    hlo_ref w = hlo_select(g, here, hlo_broadcast_in_dim(g, weight, 3, dims, map), hlo_splat(g, &wt, 0));
    hlo_dims d = {.kind = HLO_DIMS_DOT, .c = {1, &one}, .d = {1, &zero}};
    return hlo_dot_general(g, x, hlo_reduce(g, HLO_ADD, w, HLO_NONE, 1, &zero), &d, TT_DTYPE_NONE, "HIGHEST");
}

static void make_resample(hlo_graph *g, scale *s) {
    const int64_t big = s->large ? 90 : 40;
    int64_t x_dims[3] = {1 + rnd(4), 1 + rnd((uint32_t)big), 1 + rnd((uint32_t)big)};
    const tt_dtype t = rnd(2) ? TT_F32 : rnd(2) ? TT_BF16 : TT_F16;
    hlo_type x_type = hlo_type_make(t, 3, x_dims);
    hlo_ref in[5] = {hlo_param(g, &x_type)}, p[5];
    for (int k = 0; k < 2; k++) {
        hlo_type at = hlo_type_make(TT_I32, 2, (int64_t[]){1 + rnd(5), 1 + rnd((uint32_t)big)}), weight = hlo_type_with(&at, TT_F32);
        in[1 + 2 * k] = hlo_clamp(g, hlo_scalar(g, TT_I32, -1), hlo_param(g, &at), hlo_scalar(g, TT_I32, (double)(x_dims[1 + k] - 1)));
        in[2 + 2 * k] = hlo_param(g, &weight);
    }
    hlo_composite c = hlo_composite_begin(g, "tt.resample", NULL, 5, in, p);
    hlo_ref y = wide(g, p[0]);
    for (int k = 0; k < 2; k++) /* [b, h, w] -> [b, w, h'] -> [b, h', w'] */
        y = contracted(g, y, x_dims[1 + k], hlo_type_of(g, p[1 + 2 * k])->dims[1], p[1 + 2 * k], p[2 + 2 * k]);
    y = hlo_convert(g, y, t);
    hlo_composite_end(g, &c, 1, &y, s->results);
    s->n_results = 1;
    s->kind = SMALL;
    tolerances(s, t, 2e-5, 2e-2, 3e-3);
}

static void make_nll_loss(hlo_graph *g, scale *s) {
    int64_t n = 1 + rnd(s->large ? 5000 : 60), classes = 1 + rnd(s->large ? 500 : 20), ignored = (int64_t)rnd(5) - 1;
    hlo_type xt = hlo_type_make(reals[rnd(3)], 2, (int64_t[]){n, classes}), it = hlo_type_make(TT_I64, 1, &n), wt = hlo_type_make(TT_F64, 1, &n);
    hlo_ref size = hlo_splat_int(g, &it, classes), in[2] = {hlo_param(g, &xt), hlo_param(g, &it)}, p[2];
    bool mean = rnd(2);
    in[1] = hlo_binary(g, HLO_REMAINDER, hlo_unary(g, HLO_ABS, in[1]), size);
    s->n_results = 2;
    if (rnd(3)) { /* of a softmax that goes nowhere else, or is a result too */
        hlo_ref q;
        hlo_composite c = hlo_composite_begin(g, "tt.softmax", "log = true, dim = 1", 1, in, &q);
        hlo_ref y = hlo_convert(g, softmax_of(g, wide(g, q), true, 1), xt.dtype);
        hlo_composite_end(g, &c, 1, &y, in);
        if (!rnd(3))
            s->results[s->n_results++] = in[0];
    }
    const char *attributes = tt_arena_printf(g->arena, "checked = true, ignored = %lld, mean = %s", (long long)ignored, mean ? "true" : "false");
    hlo_composite c = hlo_composite_begin(g, "tt.nll_loss", attributes, 2, in, p);
    int64_t both[2] = {0, 1}, ones[2] = {1, 1}, zero = 0;
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .b = {2, both}, .e = {2, both}, .index_vector_dim = 1};
    hlo_ref at = hlo_concatenate(g, 2, (hlo_ref[]){hlo_reshape(g, hlo_iota(g, &it, 0), 2, (int64_t[]){n, 1}), hlo_reshape(g, p[1], 2, (int64_t[]){n, 1})}, 1);
    hlo_ref x = wide(g, hlo_gather(g, p[0], at, &d, ones, NULL)), kept = hlo_compare(g, "NE", p[1], hlo_splat_int(g, &it, ignored));
    hlo_ref weight = hlo_select(g, kept, hlo_splat(g, &wt, 1), hlo_splat(g, &wt, 0));
    x = hlo_select(g, kept, hlo_unary(g, HLO_NEGATE, x), hlo_splat(g, &wt, 0));
    hlo_ref total = hlo_reduce(g, HLO_ADD, weight, HLO_NONE, 1, &zero), sum = hlo_reduce(g, HLO_ADD, x, HLO_NONE, 1, &zero);
    hlo_ref results[2] = {hlo_convert(g, mean ? hlo_div(g, sum, total) : sum, xt.dtype), hlo_convert(g, total, xt.dtype)};
    hlo_composite_end(g, &c, 2, results, s->results);
    s->kind = SMALL;
    tolerances(s, xt.dtype, 1e-5, 1e-2, 2e-3);
    s->tolerance[1] = 0;
}

typedef void (*make_fn)(hlo_graph *, scale *);
static const struct { const char *name; make_fn make; } composites[] = {
    {"softmax", make_softmax}, {"norm", make_norm}, {"norm_backward", make_norm_backward}, {"attention", make_attention}, {"max_pool_backward", make_max_pool_backward},
    {"sum_rows", make_sum_rows}, {"nll_loss", make_nll_loss}, {"resample", make_resample}};
enum { N_COMPOSITES = sizeof composites / sizeof *composites };

static hlo_graph *build(tt_arena *arena, int which, scale *s) {
    hlo_graph *g = hlo_graph_create(arena, "m");
    hlo_func_begin(g, "main", true);
    composites[which].make(g, s);
    hlo_return(g, s->n_results, s->results);
    g->funcs[0]->donated[0] = s->donated == 1;
    return g;
}

TEST(composites) {
    int n = rounds(60);
    for (int which = 0; which < N_COMPOSITES; which++)
        for (int i = 0, before = test_failures; i < n && test_failures == before; i++) {
            tt_arena *arena = tt_arena_create();
            scale s = {0};
            bool right;
            eng_isa_limit((eng_isa)(i % 4));
            hlo_graph *g = build(arena, which, &s);
            CHECK(compare_program(g, composites[which].name, s.kind, s.tolerance, &right));
            tt_arena_destroy(arena);
        }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
}

/* ---- threads ---- */
TEST(digests) { /* only as a child of any_number_of_threads */
    int n = getenv("TT_DIGESTS") ? rounds(60) : 0;
    for (int i = 0; i < n; i++) {
        tt_arena *arena = tt_arena_create();
        scale s = {.large = true};
        print_digest(build(arena, i % N_COMPOSITES, &s), i);
        tt_arena_destroy(arena);
    }
}

TEST(any_number_of_threads) { compare_digests("digests"); }
