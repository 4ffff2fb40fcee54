/* test_engine_fast.c - fast kernels of single nodes against the reference kernels, over random shapes, dtypes and attributes.
 *
 * Movement, indexing, sorting, extremes and random bits must agree exactly, errors by their message; float sums within what the order
 * of additions can change. TT_FUZZ: how many cases of each kind instead of the usual; TT_SEED: where the random numbers start. */
#include "test.h"
#include "engine/fast.h"
#include "engine/isa.h"
#include "hlo/build.h"
#include "hlo/text.h"
#include <math.h>

static uint64_t seed = TEST_SEED;
static uint32_t rnd(uint32_t n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 11) % n;
}

static const tt_dtype dtypes[] = {TT_F32, TT_BF16, TT_F16, TT_F64, TT_I32, TT_I64, TT_I8, TT_U8, TT_I16, TT_U32, TT_U64, TT_U16, TT_PRED, TT_C64};
enum { NUMBERS = 12, REAL = 13, ALL = 14, MOST_SHAPE = 8 };

/* What a case asks of its data and its check. terms > 0: each result is a sum of so many elements of the operand, or zeros. as_f64: the
 * same case once more, in f64. */
typedef struct request { double tolerance; bool near_one, as_f64; int index_operand; int64_t index_most, terms; } request;

static void fill(tt_dtype d, char *p, int64_t n, const request *q) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-40};
    for (int64_t i = 0; i < n; i++, p += tt_dtype_size(d)) {
        if (d == TT_C64)
            memcpy(p, (float[2]){(float)rnd(100), (float)rnd(100)}, 8);
        else if (d == TT_PRED)
            *p = (char)rnd(2);
        else if (tt_is_int(d))
            tt_element_set_int(d, p, rnd(10) ? (int)rnd(20) - 10 : (int64_t)((uint64_t)rnd(1u << 31) << 33 | rnd(1u << 31)));
        else if (q->near_one)
            tt_element_set(d, p, 1 + ((double)rnd(2000) - 1000) / 250000);
        else
            tt_element_set(d, p, rnd(100) ? ((double)rnd(2000) - 1000) / 250 : odd[rnd(5)]);
    }
}

/* Some dims are large, but not so many that one case would take as long as all the others: MOST elements. */
enum { MOST = 1 << 18 };
static hlo_type random_type(tt_dtype d, int rank, int big, bool may_be_empty) {
    hlo_type t = {.dtype = d, .rank = rank};
    for (int64_t i = 0, room = MOST; i < rank; i++) {
        t.dims[i] = rnd(12) == 0 ? 1 : may_be_empty && rnd(40) == 0 ? 0 : rnd(5) == 0 ? 1 + rnd((uint32_t)big) : 1 + rnd(9);
        t.dims[i] = t.dims[i] < room ? t.dims[i] : room;
        room /= t.dims[i] + (t.dims[i] == 0);
    }
    return t;
}
static tt_dtype random_dtype(int kinds) { return dtypes[rnd((uint32_t)kinds)]; }
static double sum_tolerance(tt_dtype d) { return d == TT_BF16 ? 0.05 : d == TT_F16 ? 0.02 : d == TT_F32 ? 3e-5 : 1e-12; }
static int rank_of(int most) { return (int)rnd((uint32_t)most + 1); }

/* ---- cases: each builds parameters and one node ---- */
typedef hlo_ref (*case_fn)(hlo_graph *g, request *q);

static hlo_ref make_reduce(hlo_graph *g, request *q) {
    static const hlo_op ops[] = {HLO_ADD, HLO_MULTIPLY, HLO_MAXIMUM, HLO_MINIMUM, HLO_AND, HLO_OR, HLO_XOR};
    tt_dtype d = random_dtype(REAL);
    int rank = rank_of(4), n = 0;
    int64_t dims[4];
    hlo_type t = random_type(d, rank, 300, true), s = hlo_type_make(d, 0, NULL);
    hlo_op op = d == TT_PRED ? ops[4 + rnd(2)] : ops[rnd(tt_is_float(d) ? 4 : 7)];
    if (op == HLO_MULTIPLY && (d == TT_BF16 || d == TT_F16))
        op = HLO_ADD; /* the reference rounds at every step */
    q->near_one = op == HLO_MULTIPLY;
    q->tolerance = sum_tolerance(d);
    hlo_ref x = hlo_param(g, &t);
    for (int i = 0; i < rank; i++)
        if (rnd(2))
            dims[n++] = i;
    return hlo_reduce(g, op, x, rnd(2) ? hlo_param(g, &s) : HLO_NONE, n, dims);
}

static hlo_ref make_reduce_arg(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(3);
    hlo_type t = random_type(random_dtype(NUMBERS), rank, 300, true);
    hlo_ref value, index;
    (void)q;
    hlo_reduce_arg(g, rnd(2) ? HLO_MAXIMUM : HLO_MINIMUM, hlo_param(g, &t), (int)rnd((uint32_t)rank), rnd(2) ? TT_I64 : TT_I32, &value, &index);
    return value;
}

static hlo_ref make_transpose(hlo_graph *g, request *q) {
    int rank = rank_of(5);
    hlo_type t = random_type(random_dtype(ALL), rank, 90, true);
    int64_t p[5];
    (void)q;
    for (int d = 0; d < rank; d++)
        p[d] = d;
    for (int d = rank - 1; d > 0; d--) {
        uint32_t j = rnd((uint32_t)d + 1);
        int64_t swap = p[d];
        p[d] = p[j], p[j] = swap;
    }
    return hlo_transpose(g, hlo_param(g, &t), p);
}

static hlo_ref make_broadcast(hlo_graph *g, request *q) {
    int rank = rank_of(3), to = rank + rank_of(2), k = 0;
    hlo_type t = random_type(random_dtype(ALL), rank, 50, true);
    int64_t dims[MOST_SHAPE], map[MOST_SHAPE];
    (void)q;
    if (rank == 1 && rnd(20) == 0) { /* a long row, each element a few times */
        t.dims[0] = 1 << 18;
        return hlo_broadcast_in_dim(g, hlo_param(g, &t), 2, (int64_t[]){1 << 18, 1 + rnd(5)}, (int64_t[]){0});
    }
    for (int i = 0; i < rank; i++)
        t.dims[i] = rnd(3) ? t.dims[i] : 1;
    for (int i = 0; i < to; i++) {
        if (k < rank && (to - i <= rank - k || rnd(2))) {
            map[k] = i;
            dims[i] = t.dims[k] == 1 ? 1 + rnd(20) : t.dims[k];
            k++;
        } else {
            dims[i] = 1 + rnd(20);
        }
    }
    return hlo_broadcast_in_dim(g, hlo_param(g, &t), to, dims, map);
}

static hlo_ref make_slice(hlo_graph *g, request *q) {
    int rank = rank_of(4);
    hlo_type t = random_type(random_dtype(ALL), rank, 100, true);
    int64_t a[4], b[4], c[4];
    (void)q;
    for (int i = 0; i < rank; i++) {
        a[i] = t.dims[i] ? rnd((uint32_t)t.dims[i]) : 0;
        b[i] = a[i] + rnd((uint32_t)(t.dims[i] - a[i] + 1));
        c[i] = rnd(2) ? 1 : 1 + rnd(3);
    }
    return hlo_slice(g, hlo_param(g, &t), a, b, c);
}

static hlo_ref make_pad(hlo_graph *g, request *q) {
    int rank = rank_of(4);
    hlo_type t = random_type(random_dtype(ALL), rank, 60, true), s = hlo_type_make(t.dtype, 0, NULL);
    int64_t a[4], b[4], c[4];
    (void)q;
    for (int i = 0; i < rank; i++) {
        c[i] = rnd(2) ? 0 : rnd(3);
        int64_t full = t.dims[i] ? t.dims[i] + (t.dims[i] - 1) * c[i] : 0;
        a[i] = (int)rnd(8) - 3, b[i] = (int)rnd(8) - 3;
        if (full + a[i] + b[i] < 0)
            a[i] = b[i] = 0;
    }
    hlo_ref x = hlo_param(g, &t);
    return hlo_pad(g, x, hlo_param(g, &s), a, b, c);
}

static hlo_ref make_concatenate(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(3), n = 1 + rank_of(3), dim = (int)rnd((uint32_t)rank);
    hlo_type t = random_type(random_dtype(ALL), rank, 60, true);
    hlo_ref xs[4];
    (void)q;
    for (int i = 0; i < n; i++) {
        t.dims[dim] = rnd(20);
        xs[i] = hlo_param(g, &t);
    }
    return hlo_concatenate(g, n, xs, dim);
}

static hlo_ref make_reverse(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(3), n = 0;
    hlo_type t = random_type(random_dtype(ALL), rank, 60, true);
    int64_t dims[4];
    (void)q;
    for (int i = 0; i < rank; i++)
        if (rnd(2))
            dims[n++] = i;
    return hlo_reverse(g, hlo_param(g, &t), n, dims);
}

static hlo_ref make_dynamic(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(3);
    hlo_type t = random_type(random_dtype(ALL), rank, 60, true), u = t, i = hlo_type_make(rnd(2) ? TT_I32 : TT_I64, 0, NULL);
    hlo_ref starts[4], x = hlo_param(g, &t), update = HLO_NONE;
    bool is_update = rnd(2);
    (void)q;
    for (int d = 0; d < rank; d++)
        u.dims[d] = rnd((uint32_t)t.dims[d] + 1);
    if (is_update)
        update = hlo_param(g, &u);
    for (int d = 0; d < rank; d++)
        starts[d] = hlo_param(g, &i);
    return is_update ? hlo_dynamic_update_slice(g, x, update, starts) : hlo_dynamic_slice(g, x, starts, u.dims);
}

static hlo_ref make_iota(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(3);
    hlo_type t = random_type(random_dtype(NUMBERS), rank, 60, true);
    (void)q;
    return hlo_iota(g, &t, (int)rnd((uint32_t)rank));
}

/* Any legal dimension numbers: batching dims, scattered index maps, the index vector anywhere, window dims between batch dims. */
static hlo_ref make_indexed(hlo_graph *g, request *q, bool is_scatter) {
    tt_dtype d = random_dtype(is_scatter ? REAL : ALL);
    int rank = 1 + rank_of(3), batch = rank_of(2), role[4], n_window = 0;
    hlo_type t = random_type(d, rank, 40, false), it = {.dtype = rnd(2) ? TT_I64 : TT_I32, .rank = batch + 1}, u = {.dtype = d};
    int64_t sizes[4], collapsed[4], batching[4], of_batch[4], map[4], window[MOST_SHAPE];
    hlo_dims dims = {.kind = is_scatter ? HLO_DIMS_SCATTER : HLO_DIMS_GATHER, .b.v = collapsed, .c.v = batching, .d.v = of_batch, .e.v = map, .a.v = window};
    for (int i = 0; i < batch; i++)
        it.dims[i] = 1 + rnd(9);
    for (int i = 0; i < rank; i++) {
        role[i] = (int)rnd(3);
        if (role[i] == 2 && (dims.c.n >= batch || rnd(2)))
            role[i] = 0;
        sizes[i] = role[i] ? 1 : rnd(2) ? t.dims[i] : 1 + rnd((uint32_t)t.dims[i]);
        if (role[i] == 2) {
            batching[dims.c.n++] = i;
            of_batch[dims.d.n] = dims.d.n;
            it.dims[dims.d.n++] = t.dims[i];
        } else if (role[i] == 1) {
            collapsed[dims.b.n++] = i;
        }
        if (role[i] == 1 || (role[i] == 0 && rnd(3) == 0))
            map[dims.e.n++] = i;
        n_window += role[i] == 0;
    }
    for (int i = dims.e.n - 1; i > 0; i--) {
        uint32_t j = rnd((uint32_t)i + 1);
        int64_t swap = map[i];
        map[i] = map[j], map[j] = swap;
    }
    dims.index_vector_dim = rnd(4) ? batch : (int)rnd((uint32_t)batch + 1);
    for (int i = batch; i > dims.index_vector_dim; i--)
        it.dims[i] = it.dims[i - 1];
    it.dims[dims.index_vector_dim] = dims.e.n;
    for (int i = 0; i < dims.d.n; i++)
        of_batch[i] += of_batch[i] >= dims.index_vector_dim;
    u.rank = n_window + batch;
    bool is_window[MOST_SHAPE] = {false};
    for (int i = 0; i < n_window;) {
        uint32_t at = rnd(2) ? (uint32_t)(u.rank - 1 - i) : rnd((uint32_t)u.rank);
        i += !is_window[at];
        is_window[at] = true;
    }
    for (int i = 0, w = 0, b = 0; i < u.rank; i++) {
        if (is_window[i]) {
            window[dims.a.n++] = i;
            while (role[w])
                w++;
            u.dims[i] = sizes[w++];
        } else {
            b += b == dims.index_vector_dim;
            u.dims[i] = it.dims[b++];
        }
    }
    static const hlo_op ops[] = {HLO_ADD, HLO_MULTIPLY, HLO_MAXIMUM, HLO_MINIMUM, HLO_INVALID};
    const char *bounds = rnd(6) ? NULL : "index.Tensor";
    hlo_ref x = hlo_param(g, &t), i = hlo_param(g, &it);
    q->index_operand = 1;
    q->index_most = 4;
    if (!is_scatter)
        return hlo_gather(g, x, i, &dims, sizes, bounds);
    hlo_ref updates = hlo_param(g, &u);
    return hlo_scatter(g, x, i, updates, &dims, ops[d == TT_PRED ? 4 : rnd(5)], false, bounds);
}
static hlo_ref make_gather(hlo_graph *g, request *q) { return make_indexed(g, q, false); }
static hlo_ref make_scatter(hlo_graph *g, request *q) { return make_indexed(g, q, true); }

static hlo_ref make_sort(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(2), n = 1 + rank_of(2);
    hlo_type t = random_type(random_dtype(NUMBERS), rank, rnd(5) ? 60 : 600, true);
    hlo_ref xs[3], out[3];
    (void)q;
    if (rank == 1 && rnd(10) == 0)
        t.dims[0] = (1 << 16) - 100 + rnd(200); /* about as long as rows that are cut into parts */
    for (int i = 0; i < n; i++) {
        xs[i] = hlo_param(g, &t);
        t.dtype = random_dtype(ALL);
    }
    hlo_sort(g, n, xs, (int)rnd((uint32_t)rank), rnd(2), true, out);
    return out[0];
}

static hlo_ref make_top_k(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(2);
    hlo_type t = random_type(random_dtype(NUMBERS), rank, rnd(5) ? 60 : 2000, true);
    hlo_ref values, indices;
    (void)q;
    hlo_top_k(g, hlo_param(g, &t), rnd((uint32_t)t.dims[rank - 1] + 1), &values, &indices);
    return values;
}

static hlo_ref make_random(hlo_graph *g, request *q) {
    static const tt_dtype unsigned_[] = {TT_U8, TT_U16, TT_U32, TT_U64};
    bool philox = rnd(2);
    int64_t words = philox ? 3 - rnd(2) : 2;
    hlo_type state = hlo_type_make(TT_U64, 1, &words), bits = random_type(unsigned_[rnd(4)], rank_of(3), 300, true);
    hlo_ref new_state, out;
    (void)q;
    hlo_rng_bits(g, hlo_param(g, &state), philox ? "PHILOX" : "THREE_FRY", &bits, &new_state, &out);
    return new_state;
}

static hlo_ref window_case(hlo_graph *g, request *q, hlo_op op, hlo_type t, hlo_window w) {
    q->tolerance = op == HLO_MULTIPLY ? sum_tolerance(t.dtype) : 0;
    q->terms = op == HLO_ADD && tt_is_float(t.dtype);
    for (int d = 0; d < t.rank; d++)
        q->terms *= w.size[d];
    t.dtype = q->as_f64 ? TT_F64 : t.dtype;
    return hlo_reduce_window(g, op, hlo_param(g, &t), HLO_NONE, &w);
}

static hlo_ref make_window(hlo_graph *g, request *q) {
    static const hlo_op ops[] = {HLO_ADD, HLO_MAXIMUM, HLO_MINIMUM};
    int rank = 1 + rank_of(3), scan = rnd(2) ? (int)rnd((uint32_t)rank) : -1;
    hlo_type t = random_type(random_dtype(NUMBERS), rank, 20, false);
    int64_t size[4], stride[4], dilation[4], low[4] = {0}, high[4] = {0};
    for (int d = 0; d < rank; d++) {
        size[d] = scan < 0 && rnd(2) ? 1 + rnd(3) : 1;
        stride[d] = scan < 0 && rnd(2) ? 1 + rnd(3) : 1;
        dilation[d] = scan < 0 && rnd(3) == 0 ? 1 + rnd(2) : 1;
        if (scan >= 0)
            continue;
        low[d] = rnd(2) ? 0 : rnd(3), high[d] = rnd(2) ? 0 : rnd(3);
        while ((size[d] - 1) * dilation[d] + 1 > t.dims[d] + low[d] + high[d])
            high[d]++;
    }
    if (scan >= 0) {
        size[scan] = t.dims[scan];
        *(rnd(2) ? &low[scan] : &high[scan]) = t.dims[scan] - 1;
    }
    return window_case(g, q, ops[rnd(3)], t, (hlo_window){.size = size, .stride = stride, .dilation = dilation, .padding_low = low, .padding_high = high});
}

/* Long scans of many rows, and of few. */
static hlo_ref make_scan(hlo_graph *g, request *q) {
    static const hlo_op ops[] = {HLO_ADD, HLO_MULTIPLY, HLO_MAXIMUM, HLO_MINIMUM};
    const int rank = 1 + rank_of(2), dim = rnd(3) ? rank - 1 : (int)rnd((uint32_t)rank);
    hlo_type t = random_type(random_dtype(NUMBERS), rank, 90, false);
    hlo_op op = ops[rnd(4)];
    int64_t size[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, low[3] = {0}, high[3] = {0};
    t.dims[dim] = 1 + rnd(200);
    if (t.dtype == TT_BF16 || t.dtype == TT_F16)
        op = ops[2 + rnd(2)]; /* the reference rounds at every step */
    size[dim] = t.dims[dim];
    *(rnd(2) ? &low[dim] : &high[dim]) = t.dims[dim] - 1;
    q->near_one = op == HLO_MULTIPLY;
    return window_case(g, q, op, t, (hlo_window){.size = size, .stride = stride, .dilation = dilation, .padding_low = low, .padding_high = high});
}

static hlo_ref make_select_and_scatter(hlo_graph *g, request *q) {
    int rank = 1 + rank_of(3);
    hlo_type t = random_type(random_dtype(10), rank, 20, false), s = t;
    int64_t size[4], stride[4], low[4], high[4];
    for (int d = 0; d < rank; d++) {
        size[d] = rnd(2) ? 1 : 1 + rnd(3), stride[d] = rnd(2) ? 1 : 1 + rnd(3);
        low[d] = rnd(2) ? 0 : rnd(2), high[d] = rnd(2) ? 0 : rnd(2);
        while (size[d] > t.dims[d] + low[d] + high[d])
            high[d]++;
        s.dims[d] = (t.dims[d] + low[d] + high[d] - size[d]) / stride[d] + 1;
    }
    hlo_window w = {.size = size, .stride = stride, .padding_low = low, .padding_high = high};
    q->tolerance = 1e-3;
    hlo_ref x = hlo_param(g, &t);
    return hlo_select_and_scatter(g, x, hlo_param(g, &s), HLO_NONE, rnd(2) ? "GE" : "LE", &w);
}

/* ---- running one ---- */
static bool near(tt_dtype d, const char *a, const char *b, double tolerance) {
    if (!tt_is_float(d))
        return !memcmp(a, b, (size_t)tt_dtype_size(d));
    double x = tt_element_get(d, a), y = tt_element_get(d, b);
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tolerance * (fabs(y) + 1);
}

static void operand(eng_run *run, const hlo_graph *g, hlo_ref r, int k, const request *q, eng_tensor *out) {
    const hlo_node *n = hlo_node_at(g, r);
    int size = tt_dtype_size(n->type->dtype);
    int64_t count = hlo_type_elements(n->type);
    *out = (eng_tensor){*n->type, malloc((size_t)(count * size) + 1)};
    if (n->op != HLO_PARAM) {
        CHECK_OK(eng_ref_kernels[n->op](run, g, n, NULL, out));
        return;
    }
    fill(n->type->dtype, out->data, count, q);
    for (int64_t i = 0; k == q->index_operand && i < count; i++)
        tt_element_set_int(n->type->dtype, (char *)out->data + i * size, rnd(30) ? (int)rnd((uint32_t)q->index_most) : (int)rnd(100) - 50);
}

static void check_results(const hlo_graph *g, int n, const eng_tensor *fast, const eng_tensor *ref, double tolerance) {
    for (int k = 0; k < n; k++) {
        int size = tt_dtype_size(ref[k].type.dtype);
        for (int64_t i = 0; i < hlo_type_elements(&ref[k].type); i++) {
            const char *a = (char *)fast[k].data + i * size, *b = (char *)ref[k].data + i * size;
            if (near(ref[k].type.dtype, a, b, tolerance))
                continue;
            tt_str s = {0};
            hlo_print(g, &s);
            fprintf(stderr, "result %d, element %lld: %g, expected %g\n%s\n", k, (long long)i, tt_element_get(ref[k].type.dtype, a),
                    tt_element_get(ref[k].type.dtype, b), s.data);
            tt_str_deinit(&s);
            CHECK(!"results differ");
            return;
        }
    }
}

/* How far a sum of terms, given with that of their squares, may be off: the rounding of the result, and six standard deviations of the walk
 * of one term added after the other in any order, each step rounded: E sum of S_j^2 = terms (squares / 2 + sum^2 / 3). The sum it is held
 * against was walked in f64. */
static double rounding_of_sum(tt_dtype t, double terms, double sum, double squares) {
    const double unit = t == TT_BF16 ? 0x1p-8 : t == TT_F16 ? 0x1p-11 : t == TT_F32 ? 0x1p-24 : 0x1p-53;
    return 1.01 * unit * fabs(sum) + 6 * (unit + 0x1p-53) * sqrt(terms * (squares / 2 + sum * sum / 3) / 3) + (t == TT_F16 ? terms * 0x1p-25 : 0);
}

/* The case anew in f64, over the elements of x or their squares; made: where the random numbers of its making began. */
static double *sums_in_f64(case_fn make, uint64_t made, const eng_tensor *x, bool squares) {
    tt_arena *arena = tt_arena_create();
    hlo_graph *g = hlo_graph_create(arena, "m");
    request q = {.as_f64 = true, .index_operand = -1};
    const uint64_t now = seed;
    seed = made;
    hlo_func_begin(g, "main", true);
    hlo_ref r = make(g, &q);
    seed = now;
    hlo_return(g, 1, &r);
    const hlo_node *n = hlo_node_at(g, r);
    eng_run run = {.arena = arena};
    eng_tensor in[2], out = {*n->type, malloc((size_t)hlo_type_bytes(n->type) + 1)};
    operand(&run, g, n->operands[0], 0, &q, &in[0]);
    operand(&run, g, n->operands[1], 1, &q, &in[1]);
    seed = now;
    for (int64_t i = 0; i < hlo_type_elements(&x->type); i++) {
        const double v = tt_element_get(x->type.dtype, (char *)x->data + i * tt_dtype_size(x->type.dtype));
        ((double *)in[0].data)[i] = squares ? v * v : v;
    }
    CHECK_OK(eng_ref_kernels[n->op](&run, g, n, in, &out));
    free(in[0].data);
    free(in[1].data);
    tt_arena_destroy(arena);
    return out.data;
}

static void check_sums(case_fn make, uint64_t made, const request *q, const eng_tensor *x, const eng_tensor *fast) {
    double *sums = sums_in_f64(make, made, x, false), *squares = sums_in_f64(make, made, x, true);
    for (int64_t i = 0; i < hlo_type_elements(&fast->type); i++) {
        const double y = tt_element_get(fast->type.dtype, (char *)fast->data + i * tt_dtype_size(fast->type.dtype)), sum = sums[i];
        const bool right = isfinite(sum) ? fabs(y - sum) <= rounding_of_sum(fast->type.dtype, (double)q->terms, sum, squares[i])
                                         : isnan(sum) ? isnan(y) : y == sum;
        if (!right)
            fprintf(stderr, "element %lld: %g, expected %g, within %g\n", (long long)i, y, sum,
                    rounding_of_sum(fast->type.dtype, (double)q->terms, sum, squares[i]));
        CHECK(right);
        if (!right)
            break;
    }
    free(sums);
    free(squares);
}

/* Returns whether the fast kernel took it. */
static bool run_case(case_fn make) {
    const uint64_t made = seed;
    tt_arena *arena = tt_arena_create();
    hlo_graph *g = hlo_graph_create(arena, "m");
    request q = {.index_operand = -1};
    hlo_func_begin(g, "main", true);
    hlo_ref r = make(g, &q);
    CHECK(r);
    hlo_node *n = hlo_node_at(g, r);
    if (n->op == HLO_RESULT) {
        r = n->operands[0];
        n = hlo_node_at(g, r);
    }
    bool taken = true;
    if (n->op != HLO_PARAM && n->op != HLO_CONSTANT) { /* the builders fold what does nothing */
        eng_run run = {.arena = arena};
        eng_tensor in[16], fast[4], ref[4];
        hlo_ref results[4];
        for (uint32_t k = 0; k < n->n_operands; k++)
            operand(&run, g, n->operands[k], (int)k, &q, &in[k]);
        for (int k = 0; k < n->n_results; k++) {
            results[k] = n->n_results > 1 ? r + 1 + (hlo_ref)k : r;
            const hlo_type *t = hlo_type_of(g, results[k]);
            fast[k] = (eng_tensor){*t, malloc((size_t)hlo_type_bytes(t) + 1)};
            ref[k] = (eng_tensor){*t, malloc((size_t)hlo_type_bytes(t) + 1)};
        }
        hlo_return(g, n->n_results, results);
        n = hlo_node_at(g, r);
        tt_status e = eng_ref_kernels[n->op](&run, g, n, in, ref), f = eng_fast_kernels[n->op](&run, g, n, in, fast);
        taken = f != eng_not_mine;
        if (taken) {
            CHECK(!e == !f);
            if (e && f)
                CHECK_TEXT(tt_status_message(f), tt_status_message(e));
            else if (!e && !f && q.terms)
                check_sums(make, made, &q, in, fast);
            else if (!e && !f)
                check_results(g, n->n_results, fast, ref, q.tolerance);
            tt_status_free(f);
        }
        tt_status_free(e);
        for (uint32_t k = 0; k < n->n_operands; k++)
            free(in[k].data);
        for (int k = 0; k < n->n_results; k++) {
            free(fast[k].data);
            free(ref[k].data);
        }
    }
    tt_arena_destroy(arena);
    return taken;
}

static void run_cases(case_fn make, int usual, int least_taken) {
    const int rounds = test_rounds(usual, &seed);
    int taken = 0;
    if (rounds != usual)
        least_taken = (int)((int64_t)least_taken * rounds / usual * 9 / 10);
    for (int i = 0; i < rounds && !test_failures; i++) {
        eng_isa_limit((eng_isa)(i % 4));
        taken += run_case(make);
    }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
    CHECK(taken >= least_taken);
}

TEST(reduce) { run_cases(make_reduce, 1500, 1500); }
TEST(reduce_arg) { run_cases(make_reduce_arg, 700, 650); }
TEST(transpose) { run_cases(make_transpose, 600, 600); }
TEST(broadcast_in_dim) { run_cases(make_broadcast, 600, 600); }
TEST(slice) { run_cases(make_slice, 600, 600); }
TEST(pad) { run_cases(make_pad, 600, 600); }
TEST(concatenate) { run_cases(make_concatenate, 600, 600); }
TEST(reverse) { run_cases(make_reverse, 600, 600); }
TEST(dynamic_slices) { run_cases(make_dynamic, 800, 800); }
TEST(iota) { run_cases(make_iota, 400, 400); }
TEST(gather) { run_cases(make_gather, 1500, 1500); }
TEST(scatter) { run_cases(make_scatter, 1500, 1000); }
TEST(sort) { run_cases(make_sort, 600, 600); }
TEST(top_k) { run_cases(make_top_k, 600, 600); }
TEST(random_bits) { run_cases(make_random, 600, 600); }
TEST(reduce_window) { run_cases(make_window, 1000, 1000); }
TEST(scans) { run_cases(make_scan, 600, 600); }
TEST(select_and_scatter) { run_cases(make_select_and_scatter, 500, 500); }

/* Matrices whose inverses are tame, of all sides and kinds. */
TEST(triangular_solve) {
    static const char *const transposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    for (int round = 0; round < 150; round++) {
        tt_arena *arena = tt_arena_create();
        hlo_graph *g = hlo_graph_create(arena, "m");
        const bool left = rnd(2);
        const tt_dtype dtype = rnd(3) ? TT_F32 : TT_F64;
        const int64_t n = rnd(3) ? 1 + rnd(40) : 1 + rnd(150), m = 1 + rnd(round % 5 ? 40 : 600);
        hlo_type at = hlo_type_make(dtype, 3, (int64_t[]){1 + rnd(3), n, n}), bt = at;
        bt.dims[left ? 2 : 1] = m;
        hlo_func_begin(g, "main", true);
        hlo_ref a = hlo_param(g, &at), b = hlo_param(g, &bt);
        hlo_ref r = hlo_triangular_solve(g, a, b, left, rnd(2), rnd(2), transposes[rnd(3)]);
        eng_run run = {.arena = arena};
        eng_tensor in[2] = {{at, tt_arena_alloc(arena, (size_t)hlo_type_bytes(&at))}, {bt, tt_arena_alloc(arena, (size_t)hlo_type_bytes(&bt))}};
        eng_tensor fast = {bt, tt_arena_alloc(arena, (size_t)hlo_type_bytes(&bt))}, ref = {bt, tt_arena_alloc(arena, (size_t)hlo_type_bytes(&bt))};
        for (int k = 0; k < 2; k++)
            for (int64_t i = 0; i < hlo_type_elements(&in[k].type); i++) {
                const double x = (double)rnd(2001) / 1000 - 1;
                tt_element_set(dtype, (char *)in[k].data + i * tt_dtype_size(dtype), k ? x : i / n % n == i % n ? 1.5 + x / 4 : x / (double)n);
            }
        hlo_return(g, 1, &r);
        hlo_node *node = hlo_node_at(g, r);
        eng_isa_limit((eng_isa)(round % 4));
        CHECK_OK(eng_ref_kernels[node->op](&run, g, node, in, &ref));
        CHECK_OK(eng_fast_kernels[node->op](&run, g, node, in, &fast));
        check_results(g, 1, &fast, &ref, dtype == TT_F32 ? 1e-5 : 1e-13);
        tt_arena_destroy(arena);
    }
    eng_isa_limit(ENG_ISA_AVX512_BF16);
}

/* A result that takes its operand's place. */
TEST(update_in_place) {
    tt_arena *arena = tt_arena_create();
    hlo_graph *g = hlo_graph_create(arena, "m");
    hlo_type t = hlo_type_make(TT_F32, 2, (int64_t[]){6, 5}), u = hlo_type_make(TT_F32, 2, (int64_t[]){2, 3}), i = hlo_type_make(TT_I32, 0, NULL);
    hlo_func_begin(g, "main", true);
    hlo_ref x = hlo_param(g, &t), y = hlo_param(g, &u), starts[2] = {hlo_param(g, &i), hlo_param(g, &i)};
    hlo_ref r = hlo_dynamic_update_slice(g, x, y, starts);
    float data[30], update[6] = {1, 2, 3, 4, 5, 6};
    int32_t at[2] = {5, 1}; /* clamped to 4, 1 */
    for (int k = 0; k < 30; k++)
        data[k] = -(float)k;
    eng_run run = {.arena = arena};
    eng_tensor in[4] = {{t, data}, {u, update}, {i, &at[0]}, {i, &at[1]}}, out = {t, data};
    CHECK_OK(eng_fast_dynamic_update_slice(&run, g, hlo_node_at(g, r), in, &out));
    for (int k = 0; k < 30; k++) {
        int row = k / 5 - 4, column = k % 5 - 1;
        bool inside = row >= 0 && column >= 0 && column < 3;
        CHECK(data[k] == (inside ? update[row * 3 + column] : -(float)k));
    }
    tt_arena_destroy(arena);
}
