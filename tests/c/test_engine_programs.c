/* test_engine_programs.c - random whole programs, run by the reference kernels and by all that is fast: fusion, plans that share and reuse
 * memory, kernels, donation, at every instruction set.
 *
 * Values are small whole numbers and are clamped after every op that can make them larger, so that no sum and no product rounds: both
 * runs must give the same bits. The same programs, larger and with any numbers, give the same bits for any number of threads.
 * TT_FUZZ: how many programs; TT_SEED: where the random numbers start. */
#include "engine_random.h"

enum { MOST_VALUES = 160, LIMIT = 8 };

typedef struct program {
    hlo_graph *g;
    hlo_ref values[MOST_VALUES];
    int n;
    int64_t most;    /* elements of a value */
    bool exact;      /* only ops whose results do not depend on the order of additions */
    bool inside;     /* of a loop's body */
    bool moves;      /* mostly chains of what only moves elements */
} program;

static const tt_dtype dtypes[] = {TT_F32, TT_F32, TT_F64, TT_I32, TT_I64, TT_BF16, TT_F16, TT_I8, TT_U8, TT_PRED};

static hlo_type type_of(const program *p, hlo_ref r) { return r ? *hlo_type_of(p->g, r) : (hlo_type){.dtype = TT_F32}; }
static hlo_ref any(const program *p) { return p->values[rnd((uint32_t)p->n)]; }
static bool is_small(tt_dtype d) { return d == TT_BF16 || d == TT_F16 || d == TT_I8 || d == TT_U8; }

static hlo_ref clamped(program *p, hlo_ref x) {
    if (!x) /* the builder's error is found at the end */
        return HLO_NONE;
    tt_dtype d = type_of(p, x).dtype;
    bool is_unsigned = tt_dtype_class(d) == TT_CLASS_UINT;
    return d == TT_PRED ? x : hlo_clamp(p->g, hlo_scalar(p->g, d, is_unsigned ? 0 : -LIMIT), x, hlo_scalar(p->g, d, LIMIT));
}

/* Unsigned types take what is not negative: the rest is whatever the processor gives, as in PyTorch. */
static hlo_ref converted(program *p, hlo_ref x, tt_dtype d) {
    tt_class from = tt_dtype_class(type_of(p, x).dtype);
    if (tt_dtype_class(d) == TT_CLASS_UINT && (from == TT_CLASS_SINT || from == TT_CLASS_FLOAT))
        x = hlo_unary(p->g, HLO_ABS, x);
    return hlo_convert(p->g, x, d);
}

/* A value with the shape of `like`, of any dtype. */
static hlo_ref of_shape(program *p, hlo_ref like) {
    hlo_type t = type_of(p, like);
    for (int i = 0; i < 12; i++) {
        hlo_ref r = any(p);
        if (hlo_dims_equal(hlo_type_of(p->g, r), &t))
            return r;
        if (hlo_type_of(p->g, r)->rank == 0)
            return hlo_broadcast_to(p->g, r, t.rank, t.dims);
    }
    return rnd(2) ? like : hlo_splat(p->g, &t, (double)rnd(3));
}

/* ---- kinds of ops: each gives HLO_NONE where it cannot do anything with the value ---- */

static hlo_ref elementwise(program *p, hlo_ref x) {
    static const hlo_op arithmetic[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_MAXIMUM, HLO_MINIMUM}, logic[] = {HLO_AND, HLO_OR, HLO_XOR};
    static const hlo_op unary[] = {HLO_NEGATE, HLO_ABS, HLO_SIGN}, real[] = {HLO_EXP, HLO_TANH, HLO_LOGISTIC, HLO_CHLO_ERF, HLO_SINE, HLO_SQRT};
    static const char *const directions[] = {"LT", "GE", "EQ", "NE", "GT", "LE"};
    hlo_graph *g = p->g;
    tt_dtype d = type_of(p, x).dtype;
    hlo_ref y = converted(p, of_shape(p, x), d);
    switch (rnd(8)) {
    case 0: case 1: case 2:
        if (d == TT_PRED)
            return hlo_binary(g, logic[rnd(3)], x, y);
        return clamped(p, hlo_binary(g, arithmetic[rnd(5)], x, y));
    case 3:
        if (tt_is_float(d) && !p->exact)
            return hlo_unary(g, real[rnd(6)], x);
        return d == TT_PRED ? hlo_unary(g, HLO_NOT, x) : tt_dtype_class(d) == TT_CLASS_UINT ? HLO_NONE : hlo_unary(g, unary[rnd(3)], x);
    case 4: return hlo_compare(g, directions[rnd(6)], x, y);
    case 5: return hlo_select(g, hlo_convert(g, of_shape(p, x), TT_PRED), x, y);
    case 6:
        if (tt_is_float(d))
            return hlo_unary(g, HLO_FLOOR, hlo_mul(g, x, hlo_splat_like(g, x, 0.5)));
        return d == TT_PRED ? x : hlo_binary(g, logic[rnd(3)], x, hlo_splat_like(g, x, 3));
    default: return clamped(p, converted(p, clamped(p, hlo_convert(g, x, rnd(2) ? TT_I32 : TT_F32)), dtypes[rnd(10)]));
    }
}

static hlo_ref reduction(program *p, hlo_ref x) {
    static const hlo_op ops[] = {HLO_ADD, HLO_MAXIMUM, HLO_MINIMUM};
    hlo_type t = type_of(p, x);
    int64_t dims[4], n = 0, size = 1;
    for (int i = 0; i < t.rank && n < 4; i++)
        if (rnd(2)) {
            dims[n++] = i;
            size *= t.dims[i];
        }
    if (rnd(5) == 0 && t.rank && t.dtype != TT_PRED) {
        hlo_ref value, index;
        int dim = (int)rnd((uint32_t)t.rank);
        if (!t.dims[dim])
            return HLO_NONE;
        hlo_reduce_arg(p->g, rnd(2) ? HLO_MAXIMUM : HLO_MINIMUM, x, dim, TT_I32, &value, &index);
        return rnd(2) ? value : clamped(p, index);
    }
    if (t.dtype == TT_PRED)
        return hlo_reduce(p->g, rnd(2) ? HLO_AND : HLO_OR, x, HLO_NONE, (int)n, dims);
    bool sum = rnd(2) && (!is_small(t.dtype) || size * LIMIT < 120);
    hlo_ref r = (rnd(2) ? hlo_reduce : hlo_reduce_keep)(p->g, sum ? HLO_ADD : ops[1 + rnd(2)], x, HLO_NONE, (int)n, dims);
    return size ? clamped(p, r) : HLO_NONE; /* of nothing: infinities */
}

/* What a normalisation does: less what the inner dims have in common, and again. */
static hlo_ref normalised(program *p, hlo_ref x) {
    hlo_graph *g = p->g;
    hlo_type t = type_of(p, x);
    int64_t dims[HLO_MAX_RANK];
    if (!t.rank || t.dtype == TT_PRED || tt_dtype_class(t.dtype) == TT_CLASS_UINT || !hlo_type_elements(&t))
        return HLO_NONE;
    for (int pass = 0; pass < 2; pass++) {
        int n = 0;
        for (int i = (int)rnd((uint32_t)t.rank); i < t.rank; i++)
            dims[n++] = i;
        hlo_ref r = hlo_reduce_keep(g, rnd(2) ? HLO_MAXIMUM : HLO_MINIMUM, x, HLO_NONE, n, dims);
        if (!is_small(t.dtype) && rnd(2))
            r = hlo_reduce_keep(g, HLO_ADD, x, HLO_NONE, n, dims);
        r = clamped(p, r);
        if (rnd(2) && p->n < MOST_VALUES - 8)
            p->values[p->n++] = r;
        x = clamped(p, hlo_sub(g, x, hlo_broadcast_to(g, rnd(2) ? clamped(p, hlo_add(g, r, r)) : r, t.rank, t.dims)));
        if (rnd(3) == 0 && p->n < MOST_VALUES - 8)
            p->values[p->n++] = x;
        if (rnd(4) == 0)
            x = clamped(p, hlo_add(g, x, converted(p, of_shape(p, x), t.dtype)));
    }
    return x;
}

static hlo_ref shape(program *p, hlo_ref x) {
    hlo_graph *g = p->g;
    hlo_type t = type_of(p, x);
    int64_t a[HLO_MAX_RANK], b[HLO_MAX_RANK], c[HLO_MAX_RANK], n = hlo_type_elements(&t);
    int k = 0;
    switch (rnd(7)) {
    case 0:
        for (int i = 0; i < t.rank; i++)
            a[i] = i;
        for (int i = t.rank - 1; i > 0; i--) {
            uint32_t j = rnd((uint32_t)i + 1);
            int64_t swap = a[i];
            a[i] = a[j], a[j] = swap;
        }
        return hlo_transpose(g, x, a);
    case 1:
        for (int64_t f; n > 1 && k < 3 && (f = 1 + rnd(8), n % f == 0); n /= f)
            a[k++] = f;
        a[k++] = n;
        return hlo_reshape(g, x, k, a);
    case 2:
        k = 1 + (int)rnd(2);
        for (int i = 0; i < t.rank; i++) {
            a[i] = rnd(2) || !t.dims[i] ? 0 : rnd((uint32_t)t.dims[i]);
            b[i] = a[i] + (t.dims[i] ? 1 + rnd((uint32_t)(t.dims[i] - a[i])) : 0);
            c[i] = 1 + rnd((uint32_t)k);
        }
        return hlo_slice(g, x, a, b, c);
    case 3:
        for (int i = 0; i < t.rank; i++)
            a[i] = rnd(3), b[i] = rnd(3), c[i] = rnd(3) ? 0 : 1;
        return hlo_pad(g, x, hlo_scalar(g, t.dtype, 1), a, b, c);
    case 4: {
        hlo_ref xs[3] = {x, converted(p, of_shape(p, x), t.dtype), x};
        return t.rank ? hlo_concatenate(g, 1 + (int)rnd(3), xs, (int)rnd((uint32_t)t.rank)) : HLO_NONE;
    }
    case 5: a[0] = t.rank ? rnd((uint32_t)t.rank) : 0; return t.rank ? hlo_reverse(g, x, 1, a) : HLO_NONE;
    default:
        if (t.rank > 3)
            return HLO_NONE;
        a[0] = 1 + rnd(4);
        for (int i = 0; i < t.rank; i++)
            a[i + 1] = t.dims[i] == 1 ? 1 + rnd(5) : t.dims[i];
        return hlo_broadcast_to(g, x, t.rank + 1, a);
    }
}

/* A whole number in [0, most] from some value: an index. */
static hlo_ref index_from(program *p, int64_t n, int64_t most) {
    hlo_type t = hlo_type_make(TT_I32, 1, &n);
    hlo_ref r = hlo_iota(p->g, &t, 0), x = any(p);
    hlo_type xt = type_of(p, x);
    int64_t size = hlo_type_elements(&xt), start = 0, limit = n, step = 1;
    if (size >= n && rnd(3)) {
        r = hlo_slice(p->g, hlo_reshape(p->g, x, 1, &size), &start, &limit, &step);
        r = hlo_unary(p->g, HLO_ABS, hlo_convert(p->g, r, TT_I32));
    }
    return hlo_clamp(p->g, hlo_scalar(p->g, TT_I32, 0), r, hlo_scalar(p->g, TT_I32, (double)most));
}

/* What a write through a view with steps becomes: of x's own values, of another one's, of one number. */
static hlo_ref written_in_steps(program *p, hlo_ref x) {
    hlo_graph *g = p->g;
    hlo_type t = type_of(p, x);
    int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], inside[HLO_MAX_RANK], limit[HLO_MAX_RANK], one[HLO_MAX_RANK], zero[HLO_MAX_RANK] = {0};
    if (!t.rank || !hlo_type_elements(&t))
        return HLO_NONE;
    hlo_type part = t;
    for (int i = 0; i < t.rank; i++) {
        const int64_t step = 1 + rnd(3);
        low[i] = rnd((uint32_t)t.dims[i]);
        part.dims[i] = 1 + rnd((uint32_t)((t.dims[i] - low[i] - 1) / step + 1));
        inside[i] = step - 1;
        high[i] = t.dims[i] - low[i] - (part.dims[i] - 1) * step - 1;
        limit[i] = part.dims[i], one[i] = 1;
    }
    hlo_type mask = part;
    hlo_ref v = rnd(3) ? hlo_slice(g, rnd(2) ? x : of_shape(p, x), zero, limit, one) : hlo_splat(g, &part, 1);
    mask.dtype = TT_PRED;
    return hlo_select(g, hlo_pad(g, hlo_splat(g, &mask, 1), hlo_scalar(g, TT_PRED, 0), low, high, inside),
                      hlo_pad(g, converted(p, v, t.dtype), hlo_scalar(g, t.dtype, 0), low, high, inside), x);
}

static hlo_ref indexed(program *p, hlo_ref x) {
    hlo_graph *g = p->g;
    hlo_type t = type_of(p, x);
    if (!t.rank || !hlo_type_elements(&t))
        return HLO_NONE;
    int64_t sizes[HLO_MAX_RANK], window[HLO_MAX_RANK], zero[1] = {0}, n = 1 + rnd(9);
    hlo_ref starts[HLO_MAX_RANK];
    for (int i = 0; i < t.rank; i++)
        sizes[i] = t.dims[i], window[i] = i + 1;
    switch (rnd(5)) {
    case 4: return written_in_steps(p, x);
    case 0: case 1:
        for (int i = 0; i < t.rank; i++) {
            sizes[i] = 1 + rnd((uint32_t)t.dims[i]);
            int64_t one = 1;
            starts[i] = hlo_reshape(g, index_from(p, one, 20), 0, NULL);
        }
        if (rnd(2))
            return hlo_dynamic_slice(g, x, starts, sizes);
        return hlo_dynamic_update_slice(g, x, hlo_slice(g, x, (int64_t[HLO_MAX_RANK]){0}, sizes, NULL), starts);
    case 2: {
        sizes[0] = 1;
        hlo_dims dims = {.kind = HLO_DIMS_GATHER, .a = {t.rank - 1, window}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
        return hlo_gather(g, x, index_from(p, n, t.dims[0] - 1), &dims, sizes, NULL);
    }
    default: {
        static const hlo_op ops[] = {HLO_ADD, HLO_MAXIMUM, HLO_MINIMUM, HLO_INVALID};
        hlo_dims dims = {.kind = HLO_DIMS_SCATTER, .a = {t.rank - 1, window}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
        hlo_type ut = t;
        ut.dims[0] = n;
        hlo_ref updates = hlo_broadcast_to(g, hlo_slice_dim(g, x, 0, 0, 1, 1), t.rank, ut.dims);
        return clamped(p, hlo_scatter(g, x, index_from(p, n, t.dims[0] - 1), updates, &dims, ops[t.dtype == TT_PRED ? 3 : rnd(4)], false, NULL));
    }
    }
}

static hlo_ref ordered(program *p, hlo_ref x) {
    hlo_type t = type_of(p, x);
    hlo_ref xs[2] = {x, of_shape(p, x)}, out[2];
    if (!t.rank || t.dtype == TT_PRED)
        return HLO_NONE;
    if (rnd(2)) {
        hlo_sort(p->g, 1 + (int)rnd(2), xs, (int)rnd((uint32_t)t.rank), rnd(2), true, out);
        return out[0];
    }
    hlo_top_k(p->g, x, rnd((uint32_t)(t.dims[t.rank - 1] < 9 ? t.dims[t.rank - 1] : 9) + 1), &out[0], &out[1]);
    return rnd(2) ? out[0] : clamped(p, out[1]);
}

static hlo_ref product(program *p, hlo_ref x) {
    hlo_graph *g = p->g;
    hlo_type t = type_of(p, x);
    if (t.rank < 2 || !tt_is_float(t.dtype))
        return HLO_NONE;
    int64_t k = t.dims[t.rank - 1], n = 1 + rnd(p->most > 9999 ? 70 : 20), batch[1] = {0};
    if (k * LIMIT * LIMIT > (t.dtype == TT_BF16 ? 250 : t.dtype == TT_F16 ? 2000 : 1000000))
        return HLO_NONE;
    hlo_type wt = hlo_type_make(t.dtype, 2, (int64_t[]){k, n});
    hlo_ref w = hlo_iota(g, &wt, (int)rnd(2)), y;
    w = p->inside || rnd(2) ? clamped(p, w) : hlo_param(g, &wt);
    if (t.rank == 3 && rnd(2)) {
        int64_t dims[3] = {t.dims[0], k, n};
        hlo_dims d = {.kind = HLO_DIMS_DOT, .a = {1, batch}, .b = {1, batch}, .c = {1, (int64_t[]){2}}, .d = {1, (int64_t[]){1}}};
        y = hlo_dot_general(g, x, hlo_broadcast_to(g, w, 3, dims), &d, TT_DTYPE_NONE, "DEFAULT");
    } else {
        hlo_dims d = {.kind = HLO_DIMS_DOT, .c = {1, (int64_t[]){t.rank - 1}}, .d = {1, (int64_t[]){0}}};
        y = hlo_dot_general(g, x, w, &d, TT_DTYPE_NONE, "DEFAULT");
    }
    return clamped(p, y);
}

static hlo_ref convolution(program *p, hlo_ref x) {
    hlo_graph *g = p->g;
    hlo_type t = type_of(p, x);
    int spatial = t.rank - 2;
    if (spatial < 1 || spatial > 2 || (t.dtype != TT_F32 && t.dtype != TT_F64) || !hlo_type_elements(&t))
        return HLO_NONE;
    int64_t k[4] = {1 + rnd(5), t.dims[1], 0, 0}, order[4] = {0, 1, 2, 3}, kernel[4] = {1, 0, 2, 3}, stride[2], low[2], high[2], dilation[2];
    for (int i = 0; i < spatial; i++) {
        k[2 + i] = 1 + rnd(3), stride[i] = 1 + rnd(2), low[i] = rnd(3), high[i] = rnd(3), dilation[i] = 1 + rnd(2);
        while ((k[2 + i] - 1) * dilation[i] + 1 > t.dims[2 + i] + low[i] + high[i])
            high[i]++;
    }
    hlo_type kt = hlo_type_make(t.dtype, t.rank, k);
    hlo_ref w = p->inside || rnd(2) ? clamped(p, hlo_iota(g, &kt, (int)rnd((uint32_t)t.rank))) : hlo_param(g, &kt);
    hlo_conv c = {.dims = {.kind = HLO_DIMS_CONV, .a = {t.rank, order}, .b = {t.rank, kernel}, .c = {t.rank, order}}, .stride = stride, .padding_low = low,
                  .padding_high = high, .rhs_dilation = dilation, .feature_groups = 1, .batch_groups = 1};
    return clamped(p, hlo_convolution(g, x, w, &c, TT_DTYPE_NONE, "DEFAULT"));
}

static hlo_ref windowed(program *p, hlo_ref x) {
    static const hlo_op ops[] = {HLO_ADD, HLO_MAXIMUM, HLO_MINIMUM};
    hlo_type t = type_of(p, x);
    int64_t size[HLO_MAX_RANK], stride[HLO_MAX_RANK], low[HLO_MAX_RANK] = {0}, high[HLO_MAX_RANK] = {0}, total = 1;
    if (!t.rank || t.dtype == TT_PRED || !hlo_type_elements(&t))
        return HLO_NONE;
    for (int i = 0; i < t.rank; i++) {
        size[i] = 1 + rnd((uint32_t)(t.dims[i] < 3 ? t.dims[i] : 3)), stride[i] = 1 + rnd(2);
        total *= size[i];
    }
    if (rnd(3) == 0) { /* a scan */
        int d = (int)rnd((uint32_t)t.rank);
        for (int i = 0; i < t.rank; i++)
            size[i] = i == d ? t.dims[i] : 1, stride[i] = 1;
        low[d] = t.dims[d] - 1;
        total = t.dims[d];
    }
    hlo_window w = {.size = size, .stride = stride, .padding_low = low, .padding_high = high};
    bool sum = rnd(2) && (!is_small(t.dtype) || total * LIMIT < 120);
    return clamped(p, hlo_reduce_window(p->g, sum ? HLO_ADD : ops[1 + rnd(2)], x, HLO_NONE, &w));
}

static hlo_ref random_bits(program *p) {
    int64_t words = 2, dims[2] = {1 + rnd(9), 1 + rnd(30)};
    hlo_type st = hlo_type_make(TT_U64, 1, &words), bt = hlo_type_make(rnd(2) ? TT_U32 : TT_U8, 2, dims);
    hlo_ref state, bits;
    hlo_rng_bits(p->g, hlo_splat_int(p->g, &st, rnd(1000)), rnd(2) ? "PHILOX" : "THREE_FRY", &bt, &state, &bits);
    return hlo_binary(p->g, HLO_AND, bits, hlo_splat_like(p->g, bits, 7));
}

static hlo_ref any_op(program *p);

/* A loop that runs a few times over three values: its body is a program of the same kind. */
typedef struct loop_context { program *p; int64_t times; int n; } loop_context;

static void loop_condition(hlo_graph *g, void *context, const hlo_ref *params, hlo_ref *out) {
    const loop_context *b = context;
    out[0] = hlo_compare(g, "LT", params[0], hlo_scalar(g, TT_I32, (double)b->times));
}

static void loop_body(hlo_graph *g, void *context, const hlo_ref *params, hlo_ref *out) {
    loop_context *b = context;
    program p = {.g = g, .most = b->p->most, .exact = b->p->exact, .inside = true};
    for (int i = 1; i < b->n; i++)
        p.values[p.n++] = params[i];
    for (int i = 0; i < 6; i++) {
        hlo_ref r = any_op(&p);
        if (r)
            p.values[p.n++] = r;
    }
    out[0] = hlo_add(g, params[0], hlo_scalar(g, TT_I32, 1));
    for (int i = 1; i < b->n; i++) { /* values of the right types: carried, swapped, or computed */
        out[i] = params[i];
        for (int k = 0; k < 12; k++) {
            hlo_ref r = any(&p);
            if (hlo_type_equal(hlo_type_of(g, r), hlo_type_of(g, params[i]))) {
                out[i] = r;
                break;
            }
        }
    }
}

static hlo_ref loop(program *p) {
    if (p->inside)
        return HLO_NONE;
    loop_context b = {p, 1 + rnd(4), 2 + (int)rnd(3)};
    hlo_ref init[5] = {hlo_scalar(p->g, TT_I32, 0)}, out[5];
    for (int i = 1; i < b.n; i++)
        init[i] = i > 1 && rnd(2) ? of_shape(p, init[1]) : any(p);
    hlo_while(p->g, b.n, init, loop_condition, loop_body, &b, out);
    for (int i = 2; i < b.n && p->n < MOST_VALUES - 4; i++)
        p->values[p->n++] = out[i];
    return out[1];
}

static hlo_ref any_op(program *p) {
    hlo_ref x = any(p), r;
    switch (p->moves && rnd(8) ? 18 : rnd(18)) {
    case 18: r = shape(p, p->values[p->n - 1 - (int)rnd(p->n < 3 ? (uint32_t)p->n : 3)]); break;
    case 0: case 1: case 2: case 3: case 4: case 5: r = elementwise(p, x); break;
    case 6: case 7: case 8: r = shape(p, x); break;
    case 9: r = reduction(p, x); break;
    case 10: r = indexed(p, x); break;
    case 11: r = rnd(4) ? ordered(p, x) : random_bits(p); break;
    case 12: r = product(p, x); break;
    case 13: r = convolution(p, x); break;
    case 14: r = windowed(p, x); break;
    case 15: case 16: r = normalised(p, x); break;
    default: r = rnd(2) ? loop(p) : elementwise(p, x); break;
    }
    if (!r || p->g->error || hlo_type_elements(hlo_type_of(p->g, r)) > p->most || hlo_type_of(p->g, r)->rank > 5)
        return HLO_NONE;
    return r;
}

/* only: the one value that is the result, -1 for some random ones. */
static hlo_graph *build(tt_arena *arena, int64_t most, bool exact, int only) {
    program p = {.g = hlo_graph_create(arena, "m"), .most = most, .exact = exact, .moves = rnd(4) == 0};
    hlo_func_begin(p.g, "main", true);
    int rank = (int)rnd(4);
    for (int i = 2 + (int)rnd(3); i > 0; i--) {
        hlo_type t = {.dtype = dtypes[rnd(10)], .rank = rnd(3) ? rank : (int)rnd(4)};
        for (int k = 0; k < t.rank; k++)
            t.dims[k] = rnd(30) == 0 ? 0 : rnd(6) == 0 ? 1 : 1 + rnd(most > 9999 && k == t.rank - 1 ? 3000 : most > 9999 ? 200 : rnd(4) ? 7 : 40);
        if (hlo_type_elements(&t) > most)
            t.rank = 1;
        p.values[p.n++] = hlo_param(p.g, &t);
    }
    for (int i = 6 + (int)rnd(40); i > 0 && p.n < MOST_VALUES - 8 && p.g->func->body->n_params < 12 && !p.g->error; i--) {
        hlo_ref r = any_op(&p);
        if (r)
            p.values[p.n++] = r;
    }
    hlo_ref results[4];
    int n = 1 + (int)rnd(4);
    for (int i = 0; i < n; i++)
        results[i] = rnd(3) ? p.values[p.n - 1 - (int)rnd(p.n < 6 ? (uint32_t)p.n : 6)] : any(&p);
    if (only >= 0)
        n = 1, results[0] = only < p.n ? p.values[only] : HLO_NONE;
    if (!results[0])
        return NULL;
    hlo_return(p.g, n, results);
    if (p.g->error)
        return p.g;
    if (only >= 0)
        hlo_dce(p.g);
    hlo_func *f = p.g->funcs[0];
    if (rnd(2)) { /* parameters that results may take the place of */
        bool used[4] = {false};
        f->alias = TT_NEW_N(arena, int, f->body->n_params);
        for (int i = 0; i < f->body->n_params; i++) {
            f->alias[i] = -1;
            for (int k = 0; k < n && f->alias[i] < 0; k++)
                if (!used[k] && rnd(2) && hlo_type_equal(hlo_type_of(p.g, results[k]), hlo_type_of(p.g, f->body->params[i]))) {
                    f->alias[i] = k;
                    used[k] = true;
                }
        }
    }
    return p.g;
}

/* The first value of a program that differs when it is the only result, with what it needs. */
static void shrink(uint64_t first) {
    bool right = true;
    for (int i = 0; i < MOST_VALUES && right; i++) {
        tt_arena *arena = tt_arena_create();
        char name[32];
        seed = first;
        snprintf(name, sizeof name, "its value %d", i);
        hlo_graph *g = build(arena, 2000, true, i);
        seed = first;
        if (g)
            compare_program(g, name, WHOLE, NULL, &right);
        tt_arena_destroy(arena);
    }
}

TEST(fast_equals_reference) {
    int ran = 0, n = rounds(1200);
    for (int i = 0; i < n && !test_failures; i++) {
        char name[64];
        tt_arena *arena = tt_arena_create();
        uint64_t first = seed;
        bool right;
        snprintf(name, sizeof name, "program %d, from seed %llu", i, (unsigned long long)first);
        eng_isa_limit((eng_isa)(i % 4));
        eng_bands_from = i / 4 % 2 ? 1 : 256 << 10;
        hlo_graph *g = build(arena, 2000, true, -1);
        uint64_t next = seed;
        seed = first;
        ran += compare_program(g, name, WHOLE, NULL, &right);
        if (!right)
            shrink(first);
        seed = next;
        tt_arena_destroy(arena);
    }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
    CHECK(test_failures || ran > n / 2);
}

/* ---- slices ---- */
static bool same_outcome(const outcome *a, const outcome *b) {
    bool same = a->n == b->n && !a->error == !b->error;
    for (int k = 0; k < a->n && same && !a->error; k++)
        same = !memcmp(a->results[k].data, b->results[k].data, (size_t)hlo_type_bytes(&a->results[k].type));
    return same;
}

TEST(slices_change_no_bits) {
    const int64_t usual = eng_bands_from;
    int n = rounds(200);
    for (int i = 0; i < n && !test_failures; i++) {
        tt_arena *arena = tt_arena_create();
        hlo_graph *g = build(arena, 300000, false, -1);
        void *arguments[16];
        tt_str text = {0};
        CHECK_OK(hlo_graph_take_error(g));
        hlo_print(g, &text);
        arguments_make(g, PLAIN, arguments);
        eng_bands_from = INT64_MAX;
        outcome whole = run_program(&text, false, arguments);
        eng_bands_from = 1;
        outcome sliced = run_program(&text, false, arguments);
        if (!same_outcome(&whole, &sliced))
            fprintf(stderr, "%s\n", text.length < 9000 ? text.data : "(a long program)");
        CHECK(same_outcome(&whole, &sliced));
        outcome_free(&whole);
        outcome_free(&sliced);
        arguments_free(g, arguments);
        tt_str_deinit(&text);
        tt_arena_destroy(arena);
    }
    eng_bands_from = usual;
}

/* A product whose result a loop follows, of every form that such loops take. */
static hlo_graph *build_followed(tt_arena *arena) {
    static const tt_dtype factors[] = {TT_F32, TT_F32, TT_BF16, TT_F16};
    hlo_graph *g = hlo_graph_create(arena, "m");
    hlo_func_begin(g, "main", true);
    const tt_dtype d = factors[rnd(4)];
    const int64_t ks[3] = {1 + rnd(80), 500 + rnd(100), 1000 + rnd(200)}, k = ks[rnd(3)], n_batch = rnd(3) ? 1 : 1 + rnd(3), batch = 0;
    const int64_t m = 2 + rnd(350), n = 2 + rnd(k > 400 ? 120 : 1200), shape[3] = {n_batch, m, n};
    const bool batched = n_batch > 1, ta = rnd(2), tb = rnd(2), by_weights = batched && rnd(2);
    const hlo_type at = hlo_type_make(d, 3, ta ? (int64_t[]){n_batch, k, m} : (int64_t[]){n_batch, m, k});
    const hlo_type bt = by_weights ? hlo_type_make(d, 2, tb ? (int64_t[]){n, k} : (int64_t[]){k, n})
                                   : hlo_type_make(d, 3, tb ? (int64_t[]){n_batch, n, k} : (int64_t[]){n_batch, k, n});
    const hlo_type ct = hlo_type_make(TT_F32, 3, shape);
    hlo_ref a = hlo_param(g, &at), b = hlo_param(g, &bt), rest = hlo_param(g, &ct);
    const hlo_dims dims = {.kind = HLO_DIMS_DOT, .a = {by_weights ? 0 : 1, &batch}, .b = {by_weights ? 0 : 1, &batch},
                           .c = {1, (int64_t[]){ta ? 1 : 2}}, .d = {1, (int64_t[]){(tb ? 1 : 0) + (by_weights ? 0 : 1)}}};
    hlo_ref c = hlo_dot_general(g, a, b, &dims, TT_F32, "DEFAULT"), y = c;
    const hlo_type columns = hlo_type_make(TT_F32, 1, &n), rows = hlo_type_make(TT_F32, 3, (int64_t[]){n_batch, m, 1});
    if (rnd(2))
        y = hlo_add(g, y, hlo_broadcast_to(g, hlo_param(g, &columns), 3, shape));
    if (rnd(2))
        y = hlo_mul(g, y, hlo_broadcast_to(g, hlo_param(g, &rows), 3, shape));
    if (rnd(2) || y == c)
        y = hlo_binary(g, HLO_MAXIMUM, y, rest);
    if (rnd(3) == 0)
        y = hlo_unary(g, HLO_TANH, y);
    const bool rounds_to = rnd(2);
    if (rounds_to)
        y = hlo_convert(g, y, rnd(2) ? TT_BF16 : TT_F16);
    hlo_ref results[2] = {y, rnd(2) ? c : hlo_unary(g, HLO_NEGATE, c)};
    hlo_return(g, rnd(3) ? 1 : 2, results);
    hlo_func *f = g->funcs[0];
    if (!rounds_to && rnd(2)) {
        f->alias = TT_NEW_N(arena, int, f->body->n_params);
        for (int i = 0; i < f->body->n_params; i++)
            f->alias[i] = i == 2 ? 0 : -1;
    }
    return g;
}

TEST(loops_follow_products) {
    const int64_t usual = eng_bands_from;
    int followed = 0, n = rounds(60);
    for (int i = 0; i < n && !test_failures; i++) {
        tt_arena *arena = tt_arena_create();
        hlo_graph *g = build_followed(arena);
        void *arguments[16];
        tt_str text = {0};
        eng_isa_limit((eng_isa)(i % 4));
        CHECK_OK(hlo_graph_take_error(g));
        hlo_print(g, &text);
        arguments_make(g, PLAIN, arguments);
        eng_bands_from = INT64_MAX;
        const int64_t none = eng_follow_count();
        outcome whole = run_program(&text, false, arguments);
        const int64_t before = eng_follow_count();
        CHECK(before == none);
        eng_bands_from = 1;
        outcome parts = run_program(&text, false, arguments);
        followed += eng_follow_count() > before;
        if (!same_outcome(&whole, &parts))
            fprintf(stderr, "%s\n", text.data);
        CHECK(same_outcome(&whole, &parts));
        CHECK_OK(whole.error);
        outcome_free(&whole);
        outcome_free(&parts);
        arguments_free(g, arguments);
        tt_str_deinit(&text);
        tt_arena_destroy(arena);
    }
    eng_bands_from = usual;
    eng_isa_limit(ENG_ISA_AVX512_BF16);
    CHECK(test_failures || followed > n / 2);
}

/* ---- threads ---- */
TEST(digests) { /* only as a child of any_number_of_threads */
    int n = getenv("TT_DIGESTS") ? rounds(150) : 0;
    eng_bands_from = 1 << 14;
    for (int i = 0; i < n; i++) {
        tt_arena *arena = tt_arena_create();
        print_digest(i % 5 ? build(arena, 2000000, false, -1) : build_followed(arena), i);
        tt_arena_destroy(arena);
    }
}

TEST(any_number_of_threads) { compare_digests("digests"); }
