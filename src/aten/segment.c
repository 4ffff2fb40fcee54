/* segment.c - segment_reduce and its gradient, hash_tensor, embedding_renorm.
 *
 * Segments are given by lengths or offsets, which are data: a mask says which elements belong to which segment. That they cover the data
 * exactly is not checked. */
#include "aten/reduce.h"
#include <math.h>

enum { SUM, MEAN, LARGEST, LEAST, PRODUCT };
enum { MAX_CELLS = 1 << 26 };

/* data [outer, n, inner]; mask over [outer, segments, n, inner] */
typedef struct segments { int kind, axis; int64_t outer, count, n, inner; hlo_type x, cells, out; hlo_ref mask, length; } segments;

static tt_status read(tt_lower *L, int data, int reduce, int lengths, int offsets, int axis, segments *s) {
    static const char *const names[] = {"sum", "mean", "max", "min", "prod"};
    hlo_graph *g = L->g;
    const char *name = lower_string(L, reduce, "");
    *s = (segments){.kind = -1, .x = piece_type(L, lower_value(L, data))};
    for (int i = 0; i < 5; i++)
        if (!strcmp(name, names[i]))
            s->kind = i;
    TT_CHECK(s->kind >= 0 && tt_is_float(s->x.dtype), UNIMPLEMENTED, "segment_reduce '%s' of %s", name, tt_dtype_name(s->x.dtype));
    s->axis = lower_dim(L, lower_int(L, axis, 0), s->x.rank);
    TT_TRY(hlo_graph_take_error(g));
    bool given = lower_has(L, lengths);
    TT_CHECK(given != lower_has(L, offsets), UNIMPLEMENTED, "segment_reduce wants lengths or offsets");
    hlo_ref list = hlo_convert(g, lower_value(L, given ? lengths : offsets), TT_I64);
    hlo_type lt = piece_type(L, list);
    TT_CHECK(lt.rank == s->axis + 1, INVALID_ARGUMENT, "segment_reduce: lengths or offsets must have %d dimensions", s->axis + 1);
    for (int i = 0; i < s->axis; i++)
        TT_CHECK(lt.dims[i] == s->x.dims[i], INVALID_ARGUMENT, "segment_reduce: lengths or offsets must have the data's leading dimensions");
    s->outer = piece_product(s->x.dims, 0, s->axis), s->n = s->x.dims[s->axis], s->inner = piece_product(s->x.dims, s->axis + 1, s->x.rank);
    int64_t m = lt.dims[s->axis], ends[2] = {s->outer, m};
    s->count = given ? m : m - 1;
    TT_CHECK(s->count > 0 && s->outer * s->n * s->inner > 0, UNIMPLEMENTED, "segment_reduce of empty tensors");
    TT_CHECK((double)s->outer * (double)s->count * (double)s->n * (double)s->inner <= MAX_CELLS, UNIMPLEMENTED, "segment_reduce of this size");
    list = hlo_reshape(g, list, 2, ends);
    hlo_ref first, last;
    if (given) {
        const int64_t size[2] = {1, m}, low[2] = {0, m - 1}, high[2] = {0, 0};
        hlo_window w = {.size = size, .padding_low = low, .padding_high = high};
        last = m > 1 ? hlo_reduce_window(g, HLO_ADD, list, HLO_NONE, &w) : list;
        first = hlo_sub(g, last, list);
    } else {
        first = hlo_slice_dim(g, list, 1, 0, m - 1, 1);
        last = hlo_slice_dim(g, list, 1, 1, m, 1);
    }
    s->length = hlo_sub(g, last, first);
    int64_t dims[4] = {s->outer, s->count, s->n, s->inner}, map[2] = {0, 1};
    s->cells = hlo_type_make(lower_accumulate_dtype(s->x.dtype), 4, dims);
    hlo_type it = hlo_type_with(&s->cells, TT_I64);
    hlo_ref at = hlo_iota(g, &it, 2);
    s->mask = hlo_binary(g, HLO_AND, hlo_compare(g, "GE", at, piece_broadcast(L, first, &it, 2, map)), hlo_compare(g, "LT", at, piece_broadcast(L, last, &it, 2, map)));
    s->out = s->x;
    s->out.dims[s->axis] = s->count;
    return TT_OK;
}

/* [outer, n, inner] or [outer, segments, inner] over the cells */
static hlo_ref over_cells(tt_lower *L, const segments *s, hlo_ref x, bool data) {
    int64_t dims[3] = {s->outer, data ? s->n : s->count, s->inner}, map[3] = {0, data ? 2 : 1, 3};
    return piece_broadcast(L, hlo_convert(L->g, hlo_reshape(L->g, x, 3, dims), s->cells.dtype), &s->cells, 3, map);
}

static hlo_ref lengths_over(tt_lower *L, const segments *s, const hlo_type *t, int segment_dim) {
    int64_t map[2] = {0, segment_dim};
    return piece_broadcast(L, hlo_convert(L->g, s->length, t->dtype), t, 2, map);
}

static const hlo_op ops[] = {HLO_ADD, HLO_ADD, HLO_MAXIMUM, HLO_MINIMUM, HLO_MULTIPLY};
static const double identities[] = {0, 0, -INFINITY, INFINITY, 1};

/* segment_reduce(data, reduce, *, lengths, indices, offsets, axis, unsafe, initial) */
LOWER_FN(lower_segment_reduce) {
    segments s;
    hlo_graph *g = L->g;
    static const int64_t over[1] = {2};
    TT_CHECK(!lower_has(L, 3), UNIMPLEMENTED, "segment_reduce with indices");
    TT_TRY(read(L, 0, 1, 2, 4, 5, &s));
    double initial = lower_has(L, 7) ? lower_double(L, 7, 0) : identities[s.kind];
    hlo_ref x = hlo_select(g, s.mask, over_cells(L, &s, lower_value(L, 0), true), hlo_splat(g, &s.cells, identities[s.kind]));
    hlo_ref r = hlo_reduce(g, ops[s.kind], x, HLO_NONE, 1, over);
    r = hlo_binary(g, ops[s.kind], r, hlo_splat_like(g, r, initial));
    if (s.kind == MEAN) { /* of nothing: NaN, unless there is an initial value */
        hlo_type t = piece_type(L, r);
        hlo_ref n = lengths_over(L, &s, &t, 1), none = piece_compare(L, "EQ", n, 0);
        r = hlo_select(g, none, hlo_splat(g, &t, lower_has(L, 7) ? initial : NAN), hlo_div(g, r, n));
    }
    lower_out(L, hlo_convert(g, hlo_reshape(g, r, s.out.rank, s.out.dims), s.x.dtype));
    return hlo_graph_take_error(g);
}

/* _segment_reduce_backward(grad, output, data, reduce, *, lengths, offsets, axis, initial) */
LOWER_FN(lower_segment_reduce_backward) {
    segments s;
    hlo_graph *g = L->g;
    static const int64_t over[1] = {1}, along[1] = {2};
    TT_TRY(read(L, 2, 3, 4, 5, 6, &s));
    hlo_ref grad = over_cells(L, &s, lower_value(L, 0), false), zero = hlo_splat(g, &s.cells, 0), one = hlo_splat(g, &s.cells, 1);
    hlo_ref x = over_cells(L, &s, lower_value(L, 2), true), y = over_cells(L, &s, lower_value(L, 1), false);
    int64_t map[3] = {0, 1, 3};
    if (s.kind == MEAN) {
        grad = hlo_div(g, grad, lengths_over(L, &s, &s.cells, 1));
    } else if (s.kind == LARGEST || s.kind == LEAST) { /* shared by all that are the extreme */
        hlo_ref is = hlo_binary(g, HLO_AND, s.mask, hlo_binary(g, HLO_OR, hlo_compare(g, "EQ", x, y), hlo_compare(g, "NE", x, x)));
        hlo_ref n = hlo_reduce(g, HLO_ADD, hlo_select(g, is, one, zero), HLO_NONE, 1, along);
        grad = hlo_select(g, is, hlo_div(g, grad, piece_broadcast(L, n, &s.cells, 3, map)), zero);
    } else if (s.kind == PRODUCT) { /* the product of the others: without zeros output / x */
        double initial = lower_has(L, 7) ? lower_double(L, 7, 1) : 1;
        hlo_ref is_zero = hlo_binary(g, HLO_AND, s.mask, hlo_compare(g, "EQ", x, zero));
        hlo_ref rest = hlo_select(g, hlo_binary(g, HLO_AND, s.mask, hlo_unary(g, HLO_NOT, is_zero)), x, one);
        hlo_ref product = hlo_reduce(g, HLO_MULTIPLY, rest, HLO_NONE, 1, along);
        product = hlo_mul(g, piece_broadcast(L, product, &s.cells, 3, map), hlo_splat(g, &s.cells, initial));
        hlo_ref zeros = piece_broadcast(L, hlo_reduce(g, HLO_ADD, hlo_select(g, is_zero, one, zero), HLO_NONE, 1, along), &s.cells, 3, map);
        hlo_ref alone = hlo_binary(g, HLO_AND, is_zero, hlo_compare(g, "EQ", zeros, one));
        hlo_ref plain = hlo_select(g, hlo_compare(g, "EQ", zeros, zero), hlo_div(g, y, x), zero);
        grad = hlo_mul(g, grad, hlo_select(g, alone, product, plain));
    }
    hlo_ref r = hlo_reduce(g, HLO_ADD, hlo_select(g, s.mask, grad, zero), HLO_NONE, 1, over);
    lower_out(L, hlo_convert(g, hlo_reshape(g, r, s.x.rank, s.x.dims), s.x.dtype));
    return hlo_graph_take_error(g);
}

/* hash_tensor(self, dim, *, keepdim, mode): the xor of the bits, as u64; floats as f64 */
LOWER_FN(lower_hash_tensor) {
    reduction r;
    hlo_graph *g = L->g;
    TT_TRY(reduction_read(L, &r, 1, 2, false));
    TT_CHECK(lower_int(L, 3, 0) == 0 && !tt_is_complex(r.x->dtype), UNIMPLEMENTED, "hash_tensor: this mode or type");
    hlo_ref x = r.x->value;
    if (tt_is_float(r.x->dtype))
        x = hlo_bitcast(g, hlo_convert(g, x, TT_F64), TT_U64);
    else if (r.x->dtype != TT_U64)
        x = hlo_bitcast(g, hlo_convert(g, x, TT_I64), TT_U64);
    hlo_ref h = r.n ? reduction_apply(&r, HLO_XOR, x) : x;
    lower_out(L, reduction_shaped(&r, h));
    return hlo_graph_take_error(g);
}

/* embedding_renorm(self, indices, max_norm, norm_type): rows that indices name are scaled down to max_norm */
LOWER_FN(lower_embedding_renorm) {
    hlo_graph *g = L->g;
    hlo_ref x = lower_value(L, 0), index = lower_value(L, 1);
    hlo_type t = piece_type(L, x), it = piece_type(L, index);
    TT_CHECK(t.rank == 2 && tt_is_float(t.dtype), UNIMPLEMENTED, "embedding_renorm_ of a %d-dimensional %s tensor", t.rank, tt_dtype_name(t.dtype));
    int64_t n = hlo_type_elements(&it), column[2] = {n, 1}, rows[1] = {t.dims[0]}, count[1] = {n}, map[1] = {0}, along[1] = {1};
    static const int64_t zero[1] = {0};
    if (n == 0 || hlo_type_elements(&t) == 0) {
        lower_out(L, x);
        return TT_OK;
    }
    double most = lower_double(L, 2, 0), p = lower_double(L, 3, 2);
    tt_dtype wide = lower_accumulate_dtype(t.dtype);
    hlo_type hit_type = hlo_type_make(TT_I32, 1, count);
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref hit = hlo_scatter(g, piece_zeros(L, TT_I32, 1, rows), hlo_reshape(g, index, 2, column), hlo_splat_int(g, &hit_type, 1), &d, HLO_MAXIMUM, false,
                              L->check_bounds ? "embedding" : NULL);
    hlo_ref v = hlo_convert(g, x, wide), size = hlo_unary(g, HLO_ABS, v), norm;
    if (p == 2)
        norm = hlo_unary(g, HLO_SQRT, hlo_reduce(g, HLO_ADD, hlo_mul(g, v, v), HLO_NONE, 1, along));
    else if (p == 1)
        norm = hlo_reduce(g, HLO_ADD, size, HLO_NONE, 1, along);
    else if (isinf(p))
        norm = hlo_reduce(g, p > 0 ? HLO_MAXIMUM : HLO_MINIMUM, size, HLO_NONE, 1, along);
    else if (p == 0)
        LOWER_UNSUPPORTED(L, "the 0-norm");
    else {
        norm = hlo_reduce(g, HLO_ADD, hlo_binary(g, HLO_POWER, size, hlo_splat_like(g, size, p)), HLO_NONE, 1, along);
        norm = hlo_binary(g, HLO_POWER, norm, hlo_splat_like(g, norm, 1 / p));
    }
    hlo_ref scale = hlo_div(g, hlo_splat_like(g, norm, most), hlo_add(g, norm, hlo_splat_like(g, norm, 1e-7)));
    hlo_ref shrinks = hlo_binary(g, HLO_AND, piece_compare(L, "GT", norm, most), hlo_compare(g, "NE", hit, hlo_splat_like(g, hit, 0)));
    scale = hlo_select(g, shrinks, scale, hlo_splat_like(g, scale, 1));
    hlo_type wt = hlo_type_with(&t, wide);
    lower_out(L, hlo_convert(g, hlo_mul(g, v, piece_broadcast(L, scale, &wt, 1, map)), t.dtype));
    return hlo_graph_take_error(g);
}
