/* shape_create.c - tensors out of nothing: arange linspace logspace eye full tril_indices.
 *
 * All arguments shape the result, so all of them belong to the signature. */
#include "aten/elem.h"
#include <math.h>

static bool whole(double v) { return floor(v) == v && fabs(v) < 9007199254740992.0; }

/* start + step * i. Integers are exact; the rest is computed in f64 and rounded once, as on CPU. */
static hlo_ref ramp(tt_lower *L, tt_dtype dtype, double start, double step, int64_t n) {
    hlo_graph *g = L->g;
    hlo_type out = hlo_type_make(dtype, 1, &n);
    double last = start + step * (double)n;
    bool exact = whole(start) && whole(step);
    double limit = dtype == TT_F32 ? 16777216.0 : dtype == TT_BF16 ? 256.0 : dtype == TT_F16 ? 2048.0 : 9007199254740992.0;
    if (start == 0 && step == 1 && (double)n <= limit && !tt_is_complex(dtype))
        return hlo_iota(g, &out, 0);
    bool small = exact && fabs(start) < 2147483647.0 && fabs(last) < 2147483647.0 && fabs(step) < 2147483647.0;
    tt_dtype in = !exact ? TT_F64 : small && dtype != TT_I64 ? TT_I32 : TT_I64;
    hlo_type t = hlo_type_make(in, 1, &n);
    hlo_ref r = hlo_iota(g, &t, 0);
    if (step != 1)
        r = hlo_mul(g, r, exact ? hlo_splat_int(g, &t, (int64_t)step) : hlo_splat(g, &t, step));
    if (start != 0)
        r = hlo_add(g, r, exact ? hlo_splat_int(g, &t, (int64_t)start) : hlo_splat(g, &t, start));
    return hlo_convert(g, r, dtype);
}

static bool integral(tt_lower *L, int arg) {
    return !lower_has(L, arg) || lower_scalar_class(L, arg) == TT_CLASS_SINT || lower_scalar_class(L, arg) == TT_CLASS_PRED;
}

static tt_status arange_size(double start, double end, double step, double extra, int64_t *out) {
    TT_CHECK(step != 0, INVALID_ARGUMENT, "step must be nonzero");
    TT_CHECK(isfinite(start) && isfinite(end), INVALID_ARGUMENT, "unsupported range: %g -> %g", start, end);
    TT_CHECK((step > 0 && end >= start) || (step < 0 && end <= start), INVALID_ARGUMENT,
             "upper bound and lower bound inconsistent with step sign");
    double n = extra ? floor((end - start) / step) + extra : ceil((end - start) / step);
    TT_CHECK(n >= 0 && n < 9.2e18, INVALID_ARGUMENT, "invalid size, possible overflow?");
    *out = (int64_t)n;
    return TT_OK;
}

/* arange(end, ...), arange.start(start, end, ...), arange.start_step(start, end, step, ...): param is the number of
 * Scalars, and the index of the dtype argument */
LOWER_FN(lower_create_arange) {
    int n = L->row->param;
    double start = n > 1 ? lower_double(L, 0, 0) : 0, end = lower_double(L, n > 1 ? 1 : 0, 0);
    double step = n > 2 ? lower_double(L, 2, 1) : 1;
    bool ints = true;
    for (int i = 0; i < n; i++)
        ints = ints && integral(L, i);
    if (fabs(start) >= 9007199254740992.0 || fabs(end) >= 9007199254740992.0)
        LOWER_UNSUPPORTED(L, "bounds beyond 2^53");
    tt_dtype dtype = lower_dtype(L, n, ints ? TT_I64 : lower_default_float());
    if (dtype == TT_PRED || tt_is_complex(dtype))
        LOWER_UNSUPPORTED(L, "this element type");
    int64_t size;
    if (dtype == TT_I64) /* PyTorch truncates the bounds for i64 only */
        TT_TRY(arange_size(trunc(start), trunc(end), trunc(step), 0, &size));
    else
        TT_TRY(arange_size(start, end, step, 0, &size));
    lower_out(L, tt_is_int(dtype) ? ramp(L, dtype, trunc(start), trunc(step), size) : ramp(L, dtype, start, step, size));
    return hlo_graph_take_error(L->g);
}

/* range(start, end, ...), range.step(start, end, step, ...): the end belongs to it */
LOWER_FN(lower_create_range) {
    int n = L->row->param;
    double start = lower_double(L, 0, 0), end = lower_double(L, 1, 0), step = n > 2 ? lower_double(L, 2, 1) : 1;
    tt_dtype dtype = lower_dtype(L, n, lower_default_float());
    if (dtype == TT_PRED || tt_is_complex(dtype) || tt_is_int(dtype))
        LOWER_UNSUPPORTED(L, "this element type");
    int64_t size;
    TT_TRY(arange_size(start, end, step, 1, &size));
    lower_out(L, ramp(L, dtype, start, step, size));
    return hlo_graph_take_error(L->g);
}

/* The first half counts from the start, the second from the end: both ends are exact. */
static hlo_ref line(tt_lower *L, tt_dtype dtype, double start, double end, int64_t steps) {
    hlo_graph *g = L->g;
    hlo_type t = hlo_type_make(dtype, 1, &steps), i = hlo_type_make(TT_I32, 1, &steps);
    if (steps == 1)
        return hlo_splat(g, &t, start);
    hlo_ref at = hlo_iota(g, &i, 0), back = hlo_sub(g, hlo_splat_int(g, &i, steps - 1), at);
    double step = dtype == TT_F32 ? (double)(((float)end - (float)start) / (float)(steps - 1)) : (end - start) / (double)(steps - 1);
    hlo_ref s = hlo_splat(g, &t, step);
    hlo_ref low = hlo_add(g, hlo_splat(g, &t, start), hlo_mul(g, s, hlo_convert(g, at, dtype)));
    hlo_ref high = hlo_sub(g, hlo_splat(g, &t, end), hlo_mul(g, s, hlo_convert(g, back, dtype)));
    return hlo_select(g, hlo_compare(g, "LT", at, hlo_splat_int(g, &i, steps / 2)), low, high);
}

/* Integers: powers of C's pow, cut off. Powers of the device need not be exact, so this is a constant, and only while small. */
static tt_status whole_logspace(tt_lower *L, tt_dtype dtype, double start, double end, double base, int64_t steps) {
    if (steps > 4096)
        LOWER_UNSUPPORTED(L, "more than 4096 integers");
    int64_t *at = TT_NEW_N(L->arena, int64_t, steps + 1);
    double step = (end - start) / (double)(steps - 1);
    for (int64_t i = 0; i < steps; i++) {
        double v = steps == 1 ? pow(base, start) : i < steps / 2 ? pow(base, start + step * (double)i) : pow(base, end - step * (double)(steps - 1 - i));
        if (!(fabs(v) < 9.2e18))
            LOWER_UNSUPPORTED(L, "powers beyond i64");
        at[i] = (int64_t)v;
    }
    hlo_type t = hlo_type_make(TT_I64, 1, &steps);
    lower_out(L, hlo_convert(L->g, hlo_constant(L->g, &t, at), dtype));
    return hlo_graph_take_error(L->g);
}

/* linspace(start, end, steps, ...); logspace(start, end, steps, base, ...) (param 1) */
LOWER_FN(lower_create_linspace) {
    bool log = L->row->param;
    int64_t steps = lower_int(L, 2, 100);
    TT_CHECK(steps >= 0, INVALID_ARGUMENT, "number of steps must be non-negative");
    if (steps > INT32_MAX || lower_scalar_class(L, 0) == TT_CLASS_COMPLEX || lower_scalar_class(L, 1) == TT_CLASS_COMPLEX)
        LOWER_UNSUPPORTED(L, "these arguments");
    double start = lower_double(L, 0, 0), end = lower_double(L, 1, 0), base = log ? lower_double(L, 3, 10) : 0;
    tt_dtype dtype = lower_dtype(L, log ? 4 : 3, lower_default_float());
    if (dtype == TT_PRED || tt_is_complex(dtype))
        LOWER_UNSUPPORTED(L, "this element type");
    if (log && tt_is_int(dtype)) {
        TT_TRY(whole_logspace(L, dtype, trunc(start), trunc(end), base, steps));
        return TT_OK;
    }
    tt_dtype in = tt_is_int(dtype) ? TT_F64 : lower_accumulate_dtype(dtype);
    if (tt_is_int(dtype)) {
        start = trunc(start);
        end = trunc(end);
    }
    hlo_ref r = line(L, in, start, end, steps);
    if (log && r != HLO_NONE)
        r = hlo_binary(L->g, HLO_POWER, hlo_splat_like(L->g, r, base), r);
    lower_out(L, hlo_convert(L->g, r, dtype));
    return hlo_graph_take_error(L->g);
}

/* _efficientzerotensor(size, *, dtype): PyTorch's derivatives make these */
LOWER_FN(lower_create_zeros) {
    hlo_ints size = lower_ints(L, 0);
    TT_CHECK(size.n <= HLO_MAX_RANK, UNIMPLEMENTED, "tensors of more than %d dims", HLO_MAX_RANK);
    hlo_type t = hlo_type_make(lower_dtype(L, 1, lower_default_float()), size.n, size.v);
    lower_out(L, hlo_splat(L->g, &t, 0));
    return hlo_graph_take_error(L->g);
}

/* eye(n, ...), eye.m(n, m, ...): param is the number of sizes */
LOWER_FN(lower_create_eye) {
    int k = L->row->param;
    int64_t n = lower_int(L, 0, 0), m = k > 1 ? lower_int(L, 1, n) : n;
    TT_CHECK(n >= 0, INVALID_ARGUMENT, "n must be greater or equal to 0, got %lld", (long long)n);
    TT_CHECK(m >= 0, INVALID_ARGUMENT, "m must be greater or equal to 0, got %lld", (long long)m);
    tt_dtype dtype = lower_dtype(L, k, lower_default_float());
    hlo_type t = hlo_type_make(TT_I32, 2, (const int64_t[]){n, m});
    hlo_ref on = hlo_compare(L->g, "EQ", hlo_iota(L->g, &t, 0), hlo_iota(L->g, &t, 1));
    lower_out(L, hlo_convert(L->g, on, dtype));
    return hlo_graph_take_error(L->g);
}

/* Of the lower triangle's rows the first few are empty, then come `growing` ones with `least`, least + 1, ... elements, then full ones. */
typedef struct triangle { int64_t first, least, growing, in_growing, in_all, columns; } triangle;

static triangle triangle_of(int64_t rows, int64_t columns, int64_t offset) {
    triangle t = {.columns = columns};
    if (!rows || !columns || offset <= -rows)
        return t;
    t.first = offset < 0 ? -offset : 0;
    t.least = offset >= columns ? columns : (offset < 0 ? 0 : offset) + 1;
    t.growing = columns - t.least < rows - t.first ? columns - t.least : rows - t.first;
    t.in_growing = t.growing * t.least + t.growing * (t.growing - 1) / 2;
    t.in_all = t.in_growing + (rows - t.first - t.growing) * columns;
    return t;
}

/* How many elements the growing rows before row j have. */
static hlo_ref elements_before(hlo_graph *g, const triangle *t, const hlo_type *type, hlo_ref j) {
    hlo_ref twice = hlo_mul(g, j, hlo_add(g, j, hlo_splat_int(g, type, 2 * t->least - 1)));
    return hlo_binary(g, HLO_SHIFT_RIGHT_LOGICAL, twice, hlo_splat_int(g, type, 1));
}

/* The row among the growing ones of element k: the root of a quadratic in f64, put right where it rounded to the wrong side. */
static hlo_ref growing_row(hlo_graph *g, const triangle *t, const hlo_type *type, hlo_ref k) {
    double b = 2 * (double)t->least - 1;
    hlo_ref x = hlo_convert(g, k, TT_F64);
    if (x == HLO_NONE)
        return x;
    x = hlo_add(g, hlo_mul(g, x, hlo_splat_like(g, x, 8)), hlo_splat_like(g, x, b * b));
    x = hlo_mul(g, hlo_sub(g, hlo_unary(g, HLO_SQRT, x), hlo_splat_like(g, x, b)), hlo_splat_like(g, x, 0.5));
    hlo_ref j = hlo_convert(g, x, TT_I64), one = hlo_splat_int(g, type, 1);
    j = hlo_select(g, hlo_compare(g, "GT", elements_before(g, t, type, j), k), hlo_sub(g, j, one), j);
    hlo_ref next = hlo_add(g, j, one);
    return hlo_select(g, hlo_compare(g, "LE", elements_before(g, t, type, next), k), next, j);
}

/* tril_indices(row, col, offset, dtype...), triu_indices (param 1). The upper triangle is the lower one seen from the last element. */
LOWER_FN(lower_create_tri_indices) {
    int64_t rows = lower_int(L, 0, 0), columns = lower_int(L, 1, 0), offset = lower_int(L, 2, 0);
    bool upper = L->row->param;
    TT_CHECK(rows >= 0, INVALID_ARGUMENT, "row must be non-negative, got%lld", (long long)rows);
    TT_CHECK(columns >= 0, INVALID_ARGUMENT, "col must be non-negative, got%lld", (long long)columns);
    tt_dtype dtype = lower_dtype(L, 3, TT_I64);
    if (rows > INT32_MAX || columns > INT32_MAX || (dtype != TT_I64 && dtype != TT_I32))
        LOWER_UNSUPPORTED(L, "other than int32 and int64, or more than 2^31 rows or columns");
    offset = offset > INT32_MAX ? INT32_MAX : offset < -INT32_MAX ? -INT32_MAX : offset;
    triangle t = triangle_of(rows, columns, upper ? columns - rows - offset : offset);
    hlo_graph *g = L->g;
    hlo_type type = hlo_type_make(TT_I64, 1, &t.in_all);
    hlo_ref k = hlo_iota(g, &type, 0), width = hlo_splat_int(g, &type, columns ? columns : 1);
    if (upper)
        k = hlo_sub(g, hlo_splat_int(g, &type, t.in_all - 1), k);
    hlo_ref past = hlo_sub(g, k, hlo_splat_int(g, &type, t.in_growing)), zero = hlo_splat_int(g, &type, 0);
    hlo_ref full = hlo_binary(g, HLO_MAXIMUM, past, zero), grows = hlo_compare(g, "LT", past, zero);
    hlo_ref j = growing_row(g, &t, &type, hlo_select(g, grows, k, zero));
    hlo_ref row = j, column = hlo_sub(g, k, elements_before(g, &t, &type, j));
    if (t.in_growing < t.in_all) {
        hlo_ref past_rows = hlo_div(g, full, width);
        row = hlo_select(g, grows, row, hlo_add(g, past_rows, hlo_splat_int(g, &type, t.growing)));
        column = hlo_select(g, grows, column, hlo_sub(g, full, hlo_mul(g, past_rows, width)));
    }
    row = hlo_add(g, row, hlo_splat_int(g, &type, t.first));
    if (upper) {
        row = hlo_sub(g, hlo_splat_int(g, &type, rows - 1), row);
        column = hlo_sub(g, hlo_splat_int(g, &type, columns - 1), column);
    }
    const int64_t line[2] = {1, t.in_all};
    hlo_ref both[2] = {hlo_reshape(g, row, 2, line), hlo_reshape(g, column, 2, line)};
    lower_out(L, hlo_convert(g, hlo_concatenate(g, 2, both, 0), dtype));
    return hlo_graph_take_error(g);
}
