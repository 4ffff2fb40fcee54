/* matmul.c - products: mm, bmm, mv, dot and their add* forms, as dot_general.
 *
 * bf16 and f16 accumulate in f32 and round once, after alpha, beta and the added matrix, as PyTorch's CPU
 * GEMM does. matmul, linear and einsum are composite in PyTorch and arrive here as these. */
#include "aten/pieces.h"

static bool is_half(tt_dtype d) {
    return d == TT_BF16 || d == TT_F16;
}

/* An operand of a product, seen through the transpose that its view is: the product reads it where it lies. Here and not in
 * the engine, since products of few rows add up in an order that follows the layout: each mode must see the same one. */
static hlo_ref see_through(const hlo_graph *g, hlo_ref x, int n_batch, int64_t *batch, int64_t *contracting) {
    const hlo_node *n = hlo_node_at(g, x);
    hlo_ints p = hlo_attr_ints(n, HLO_A_PERMUTATION);
    if (n->op != HLO_TRANSPOSE || p.n != n_batch + 2)
        return x;
    for (int i = 0; i < n_batch; i++)
        batch[i] = p.v[i];
    *contracting = p.v[*contracting];
    return n->operands[0];
}

static hlo_ref matmul(tt_lower *L, hlo_ref a, hlo_ref b, int n_batch, tt_dtype out, const char *precision) {
    int64_t batch[2][HLO_MAX_RANK], k[2] = {n_batch + 1, n_batch};
    if (L->g->error || n_batch < 0 || n_batch > HLO_MAX_RANK - 2)
        return hlo_matmul(L->g, a, b, n_batch, out, precision);
    for (int i = 0; i < n_batch; i++)
        batch[0][i] = batch[1][i] = i;
    a = see_through(L->g, a, n_batch, batch[0], &k[0]);
    b = see_through(L->g, b, n_batch, batch[1], &k[1]);
    hlo_dims d = {.kind = HLO_DIMS_DOT, .a = {n_batch, batch[0]}, .b = {n_batch, batch[1]}, .c = {1, &k[0]}, .d = {1, &k[1]}};
    return hlo_dot_general(L->g, a, b, &d, out, precision);
}

/* 64-bit integers, as the composite tt.integer_product. Inside, a product and a sum: libtpu, which makes 64 bits
 * of two 32-bit halves, does so for them but not for dot_general. */
static hlo_ref integer_product(tt_lower *L, hlo_ref a, hlo_ref b, int n_batch) {
    hlo_graph *g = L->g;
    hlo_type ta = piece_type(L, a), tb = piece_type(L, b), all = ta;
    hlo_ref in[2] = {a, b}, p[2], out;
    hlo_composite c = hlo_composite_begin(g, "tt.integer_product", NULL, 2, in, p);
    int64_t keep_a[HLO_MAX_RANK], keep_b[HLO_MAX_RANK], k = n_batch + 1;
    all.rank = n_batch + 3; /* [b..., m, k, n] */
    all.dims[n_batch + 2] = tb.dims[n_batch + 1];
    for (int i = 0; i < n_batch; i++)
        keep_a[i] = keep_b[i] = i;
    keep_a[n_batch] = n_batch, keep_a[n_batch + 1] = keep_b[n_batch] = n_batch + 1, keep_b[n_batch + 1] = n_batch + 2;
    hlo_ref terms = hlo_mul(g, hlo_broadcast_in_dim(g, p[0], all.rank, all.dims, keep_a),
                            hlo_broadcast_in_dim(g, p[1], all.rank, all.dims, keep_b));
    hlo_ref sum = hlo_reduce(g, HLO_ADD, terms, HLO_NONE, 1, &k);
    hlo_composite_end(g, &c, 1, &sum, &out);
    return out;
}

/* The real or the imaginary part, under the transpose that x may be. */
static hlo_ref part_of(hlo_graph *g, hlo_op part, hlo_ref x) {
    const hlo_node *n = hlo_node_at(g, x);
    return n->op == HLO_TRANSPOSE ? hlo_transpose(g, hlo_unary(g, part, n->operands[0]), hlo_attr_ints(n, HLO_A_PERMUTATION).v) : hlo_unary(g, part, x);
}

/* Complex numbers, by four products of their parts. */
static hlo_ref complex_product(tt_lower *L, hlo_ref a, hlo_ref b, int n_batch) {
    hlo_graph *g = L->g;
    const char *precision = piece_precision(L, piece_type(L, a).dtype);
    hlo_ref x[2] = {part_of(g, HLO_REAL, a), part_of(g, HLO_IMAG, a)}, y[2] = {part_of(g, HLO_REAL, b), part_of(g, HLO_IMAG, b)}, p[2][2];
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            p[i][k] = matmul(L, x[i], y[k], n_batch, TT_DTYPE_NONE, precision);
    return hlo_complex(g, hlo_sub(g, p[0][0], p[1][1]), hlo_add(g, p[0][1], p[1][0]));
}

/* [b..., m, k] x [b..., k, n]; half types give f32 when wide. */
static hlo_ref product(tt_lower *L, hlo_ref a, hlo_ref b, int n_batch, bool wide) {
    hlo_type t = piece_type(L, a);
    if (t.dtype == TT_PRED)
        a = hlo_convert(L->g, a, TT_I32), b = hlo_convert(L->g, b, TT_I32);
    if (t.dtype == TT_I64 && t.rank == n_batch + 2 && t.rank < HLO_MAX_RANK)
        return integer_product(L, a, b, n_batch);
    if (tt_is_complex(t.dtype) && !L->g->error)
        return complex_product(L, a, b, n_batch);
    hlo_ref r = matmul(L, a, b, n_batch, wide && is_half(t.dtype) ? TT_F32 : TT_DTYPE_NONE,
                           piece_precision(L, t.dtype));
    return t.dtype == TT_PRED ? hlo_convert(L->g, r, TT_PRED) : r;
}

static tt_status check_same(tt_lower *L, int a, int b) {
    const tt_tensor *x = lower_tensor(L, a), *y = lower_tensor(L, b);
    if (!x || !y)
        return TT_OK;
    TT_CHECK(x->dtype == y->dtype, INVALID_ARGUMENT,
             "expected m1 and m2 to have the same dtype, but got: %s != %s", tt_dtype_name(x->dtype),
             tt_dtype_name(y->dtype));
    return TT_OK;
}

static tt_status check_rank(tt_lower *L, int arg, int rank, const char *what) {
    const tt_tensor *x = lower_tensor(L, arg);
    if (x)
        TT_CHECK(x->rank == rank, INVALID_ARGUMENT, "%s must be %s", what,
                 rank == 1   ? "a vector"
                 : rank == 2 ? "a matrix"
                             : "a 3D tensor");
    return TT_OK;
}

static tt_status check_mm(tt_lower *L, int a, int b) {
    TT_TRY(check_rank(L, a, 2, a ? "mat1" : "self"));
    TT_TRY(check_rank(L, b, 2, "mat2"));
    const tt_tensor *x = lower_tensor(L, a), *y = lower_tensor(L, b);
    if (x && y)
        TT_CHECK(x->dims[1] == y->dims[0], INVALID_ARGUMENT,
                 "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", (long long)x->dims[0],
                 (long long)x->dims[1], (long long)y->dims[0], (long long)y->dims[1]);
    return check_same(L, a, b);
}

static tt_status check_bmm(tt_lower *L, int a, int b) {
    TT_TRY(check_rank(L, a, 3, "batch1"));
    TT_TRY(check_rank(L, b, 3, "batch2"));
    const tt_tensor *x = lower_tensor(L, a), *y = lower_tensor(L, b);
    if (x && y)
        TT_CHECK(x->dims[0] == y->dims[0] && x->dims[2] == y->dims[1], INVALID_ARGUMENT,
                 "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: "
                 "[%lld, %lld].",
                 (long long)x->dims[0], (long long)x->dims[2], (long long)y->dims[0], (long long)y->dims[1]);
    return check_same(L, a, b);
}

/* mm(Tensor self, Tensor mat2) */
LOWER(lower_mm) {
    TT_TRY(check_mm(L, 0, 1));
    lower_out(L, product(L, lower_value(L, 0), lower_value(L, 1), 0, false));
    return TT_OK;
}

/* bmm(Tensor self, Tensor mat2) */
LOWER(lower_bmm) {
    TT_TRY(check_bmm(L, 0, 1));
    lower_out(L, product(L, lower_value(L, 0), lower_value(L, 1), 1, false));
    return TT_OK;
}

/* mm.dtype, bmm.dtype (row's param: batch dims): the wide result without the rounding. */
LOWER(lower_mm_dtype) {
    TT_TRY(L->row->param ? check_bmm(L, 0, 1) : check_mm(L, 0, 1));
    hlo_ref r = product(L, lower_value(L, 0), lower_value(L, 1), L->row->param, true);
    lower_out(L, hlo_convert(L->g, r, lower_dtype(L, 2, piece_type(L, r).dtype)));
    return TT_OK;
}

/* _int_mm(Tensor self, Tensor mat2): i8 x i8 -> i32 */
LOWER(lower_int_mm) {
    TT_TRY(check_mm(L, 0, 1));
    hlo_type t = piece_type(L, lower_value(L, 0));
    TT_CHECK(t.dtype == TT_I8, UNIMPLEMENTED, "_int_mm of %s", tt_dtype_name(t.dtype));
    lower_out(L, matmul(L, lower_value(L, 0), lower_value(L, 1), 0, TT_I32, "DEFAULT"));
    return TT_OK;
}

/* A Scalar as a factor of x, which has the accumulate type; 1 adds no node. */
static hlo_ref scale(tt_lower *L, hlo_ref x, int arg, double value) {
    hlo_type t = piece_type(L, x);
    if (value == 1 && lower_scalar_class(L, arg) != TT_CLASS_COMPLEX)
        return x;
    hlo_ref s = tt_is_int(t.dtype) ? hlo_splat_int(L->g, &t, lower_int(L, arg, 1))
                : lower_scalar_class(L, arg) == TT_CLASS_COMPLEX
                    ? piece_fill(L, lower_scalar(L, arg, t.dtype), &t)
                    : hlo_splat(L->g, &t, value);
    return hlo_mul(L->g, x, s);
}

/* out = beta * self + alpha * product, product in the accumulate type, self broadcast; beta 0 ignores self's
 * NaNs. */
static tt_status add_product(tt_lower *L, hlo_ref r, int beta_arg, tt_dtype out_dtype) {
    const tt_tensor *self = lower_tensor(L, 0);
    if (!self || r == HLO_NONE)
        return TT_OK;
    hlo_type t = piece_type(L, r);
    /* Of the family only addr refuses; the others truncate 0.5 to 0 for integers. */
    bool whole = lower_scalar_class(L, beta_arg) == TT_CLASS_SINT &&
                 lower_scalar_class(L, beta_arg + 1) == TT_CLASS_SINT;
    TT_CHECK(!tt_is_int(t.dtype) || whole || strcmp(L->row->name, "addr"), INVALID_ARGUMENT,
             "For integral input tensors, argument beta must not be a floating point number.");
    bool complex_beta = lower_scalar_class(L, beta_arg) == TT_CLASS_COMPLEX,
         complex_alpha = lower_scalar_class(L, beta_arg + 1) == TT_CLASS_COMPLEX;
    double beta = complex_beta ? 2 : lower_double(L, beta_arg, 1),
           alpha = complex_alpha ? 2 : lower_double(L, beta_arg + 1, 1);
    hlo_type shape = t, given = hlo_type_make(self->dtype, self->rank, self->dims);
    const hlo_type *both[2] = {&given, &t};
    TT_TRY(lower_broadcast_shape(2, both, &shape));
    TT_CHECK(hlo_dims_equal(&shape, &t), INVALID_ARGUMENT,
             "The expanded size of the tensor must match the existing size: the added tensor does not "
             "broadcast to the product");
    r = scale(L, r, beta_arg + 1, alpha);
    if (beta != 0 || complex_beta)
        r = hlo_add(L->g, scale(L, lower_cast_broadcast(L, lower_value(L, 0), t.dtype, &t), beta_arg, beta),
                    r);
    lower_out(L, hlo_convert(L->g, r, out_dtype));
    return TT_OK;
}

/* addmm(self, mat1, mat2, *, beta, alpha) */
LOWER(lower_addmm) {
    TT_TRY(check_mm(L, 1, 2));
    TT_TRY(check_same(L, 0, 1));
    return add_product(L, product(L, lower_value(L, 1), lower_value(L, 2), 0, true), 3,
                       piece_type(L, lower_value(L, 1)).dtype);
}

/* baddbmm(self, batch1, batch2, *, beta, alpha) */
LOWER(lower_baddbmm) {
    TT_TRY(check_bmm(L, 1, 2));
    TT_TRY(check_same(L, 0, 1));
    return add_product(L, product(L, lower_value(L, 1), lower_value(L, 2), 1, true), 3,
                       piece_type(L, lower_value(L, 1)).dtype);
}

/* addmm.dtype, baddbmm.dtype(self, a, b, ScalarType out_dtype, *, beta, alpha); param: batch dims */
LOWER(lower_addmm_dtype) {
    TT_TRY(L->row->param ? check_bmm(L, 1, 2) : check_mm(L, 1, 2));
    hlo_ref r = product(L, lower_value(L, 1), lower_value(L, 2), L->row->param, true);
    return add_product(L, r, 4, lower_dtype(L, 3, piece_type(L, r).dtype));
}

/* addbmm(self, batch1, batch2, *, beta, alpha): self + the sum over the batch, which is one product over
 * (batch, k). */
LOWER(lower_addbmm) {
    TT_TRY(check_bmm(L, 1, 2));
    TT_TRY(check_same(L, 0, 1));
    hlo_ref a = lower_value(L, 1), b = lower_value(L, 2);
    hlo_type ta = piece_type(L, a), tb = piece_type(L, b);
    if (ta.rank != 3 || tb.rank != 3)
        return TT_OK;
    a = piece_swap(L, a, 0, 1);
    int64_t da[2] = {ta.dims[1], ta.dims[0] * ta.dims[2]}, db[2] = {tb.dims[0] * tb.dims[1], tb.dims[2]};
    hlo_ref r = product(L, hlo_reshape(L->g, a, 2, da), hlo_reshape(L->g, b, 2, db), 0, true);
    return add_product(L, r, 3, ta.dtype);
}

static hlo_ref matrix_vector(tt_lower *L, int mat, int vec, bool wide) {
    hlo_type tm = piece_type(L, lower_value(L, mat)), tv = piece_type(L, lower_value(L, vec));
    int64_t column[2] = {tv.dims[0], 1}, flat[1] = {tm.dims[0]};
    hlo_ref r = product(L, lower_value(L, mat), hlo_reshape(L->g, lower_value(L, vec), 2, column), 0, wide);
    return hlo_reshape(L->g, r, 1, flat);
}

static tt_status check_mv(tt_lower *L, int mat, int vec) {
    TT_TRY(check_rank(L, mat, 2, "mat"));
    TT_TRY(check_rank(L, vec, 1, "vec"));
    const tt_tensor *m = lower_tensor(L, mat), *v = lower_tensor(L, vec);
    if (m && v)
        TT_CHECK(m->dims[1] == v->dims[0], INVALID_ARGUMENT,
                 "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)", (long long)m->dims[0],
                 (long long)m->dims[0], (long long)m->dims[1], (long long)v->dims[0]);
    return check_same(L, mat, vec);
}

/* mv(self, vec) */
LOWER(lower_mv) {
    TT_TRY(check_mv(L, 0, 1));
    lower_out(L, matrix_vector(L, 0, 1, false));
    return TT_OK;
}

/* addmv(self, mat, vec, *, beta, alpha) */
LOWER(lower_addmv) {
    TT_TRY(check_mv(L, 1, 2));
    TT_TRY(check_same(L, 0, 1));
    return add_product(L, matrix_vector(L, 1, 2, true), 3, piece_type(L, lower_value(L, 1)).dtype);
}

/* addr(self, vec1, vec2, *, beta, alpha): outer product plus self; any mix of dtypes promotes. */
LOWER(lower_addr) {
    TT_TRY(check_rank(L, 1, 1, "addr: Expected 1-D argument vec1"));
    TT_TRY(check_rank(L, 2, 1, "addr: Expected 1-D argument vec2"));
    const tt_tensor *x[3] = {lower_tensor(L, 0), lower_tensor(L, 1), lower_tensor(L, 2)};
    if (!x[0] || !x[1] || !x[2])
        return TT_OK;
    tt_dtype d = lower_result_type(L, 3, x);
    int64_t dims[2] = {x[1]->dims[0], x[2]->dims[0]};
    hlo_type t = hlo_type_make(d, 2, dims), given = hlo_type_make(x[0]->dtype, x[0]->rank, x[0]->dims), shape;
    const hlo_type *both[2] = {&given, &t};
    TT_TRY(lower_broadcast_shape(2, both, &shape));
    TT_CHECK(hlo_dims_equal(&shape, &t), INVALID_ARGUMENT,
             "The expanded size of the tensor must match the existing size: the added tensor does not "
             "broadcast to the product");
    hlo_ref u = piece_along(L, hlo_convert(L->g, lower_value(L, 1), d), &t, 0),
            v = piece_along(L, hlo_convert(L->g, lower_value(L, 2), d), &t, 1);
    bool exact = tt_is_int(d) || d == TT_PRED;
    for (int arg = 3; arg < 5; arg++)
        TT_CHECK(!exact || lower_scalar_class(L, arg) == TT_CLASS_SINT ||
                     lower_scalar_class(L, arg) == TT_CLASS_PRED,
                 INVALID_ARGUMENT,
                 "For integral input tensors, argument %s must not be a floating point number.",
                 arg == 3 ? "beta" : "alpha");
    if (lower_scalar_class(L, 3) == TT_CLASS_COMPLEX || lower_scalar_class(L, 4) == TT_CLASS_COMPLEX)
        return add_product(L, hlo_mul(L->g, u, v), 3, d);
    double beta = lower_double(L, 3, 1);
    hlo_op times = d == TT_PRED ? HLO_AND : HLO_MULTIPLY;
    if (lower_double(L, 4, 1) != 1) /* (alpha u) v: every step rounds to the type, as on CPU */
        u = hlo_binary(L->g, times, u, lower_scalar_like(L, 4, u));
    hlo_ref r = hlo_binary(L->g, times, u, v);
    if (beta != 0) {
        hlo_ref self = lower_cast_broadcast(L, lower_value(L, 0), d, &t);
        if (beta != 1)
            self = hlo_binary(L->g, times, self, lower_scalar_like(L, 3, self));
        r = hlo_binary(L->g, d == TT_PRED ? HLO_OR : HLO_ADD, self, r);
    }
    lower_out(L, r);
    return TT_OK;
}

/* dot, vdot (param 1: conjugates self) */
LOWER(lower_dot) {
    TT_TRY(check_rank(L, 0, 1, "1D tensors expected: self"));
    TT_TRY(check_rank(L, 1, 1, "1D tensors expected: tensor"));
    const tt_tensor *x = lower_tensor(L, 0), *y = lower_tensor(L, 1);
    if (!x || !y)
        return TT_OK;
    TT_CHECK(x->dtype == y->dtype, INVALID_ARGUMENT,
             "dot : expected both vectors to have same dtype, but found %s and %s", tt_dtype_name(x->dtype),
             tt_dtype_name(y->dtype));
    TT_CHECK(x->dims[0] == y->dims[0], INVALID_ARGUMENT,
             "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the same number of "
             "elements, but got %lld and %lld elements respectively",
             (long long)x->dims[0], (long long)y->dims[0], (long long)x->dims[0], (long long)y->dims[0]);
    hlo_ref a = lower_value(L, 0);
    if (L->row->param && tt_is_complex(x->dtype))
        a = hlo_unary(L->g, HLO_CHLO_CONJ, a);
    int64_t row[2] = {1, x->dims[0]}, column[2] = {x->dims[0], 1};
    hlo_ref r =
        product(L, hlo_reshape(L->g, a, 2, row), hlo_reshape(L->g, lower_value(L, 1), 2, column), 0, false);
    lower_out(L, hlo_reshape(L->g, r, 0, NULL));
    return TT_OK;
}

/* _addmm_activation(self, mat1, mat2, *, beta, alpha, use_gelu): gelu or relu of addmm. */
LOWER(lower_addmm_activation) {
    if (lower_bool(L, 5, false))
        TT_FAIL(UNIMPLEMENTED, "_addmm_activation with gelu");
    TT_TRY(lower_addmm(L));
    if (L->n_outs) {
        tt_out *o = &L->outs[L->n_outs - 1];
        o->value = hlo_binary(L->g, HLO_MAXIMUM, o->value, hlo_splat_like(L->g, o->value, 0));
    }
    return TT_OK;
}

/* The group of each of n rows, from offs (the groups' ends, i32[G]): the number of ends <= the row. */
static hlo_ref row_groups(tt_lower *L, hlo_ref offs, int64_t n, int64_t groups) {
    int64_t dims[2] = {n, groups}, one[1] = {1};
    hlo_type t = hlo_type_make(TT_I32, 2, dims);
    hlo_ref after = hlo_compare(L->g, "GE", hlo_iota(L->g, &t, 0),
                                piece_along(L, hlo_convert(L->g, offs, TT_I32), &t, 1));
    return hlo_reduce(L->g, HLO_ADD, hlo_convert(L->g, after, TT_I32), HLO_NONE, 1, one);
}

/* x [n, k] spread to [G, n, k], zero outside each row's group. */
static hlo_ref spread_groups(tt_lower *L, hlo_ref x, hlo_ref group, int64_t groups) {
    hlo_type t = piece_type(L, x);
    int64_t dims[3] = {groups, t.dims[0], t.dims[1]}, map[2] = {1, 2};
    hlo_type wide = hlo_type_make(t.dtype, 3, dims), index = hlo_type_make(TT_I32, 3, dims);
    hlo_ref mine = hlo_compare(L->g, "EQ", hlo_iota(L->g, &index, 0), piece_along(L, group, &index, 1));
    return hlo_select(L->g, mine, piece_broadcast(L, x, &wide, 2, map), hlo_splat(L->g, &wide, 0));
}

/* _grouped_mm(self, mat2, offs, bias, out_dtype). Rows of self [n, k] fall into groups ending at offs; group
 * g uses mat2[g]: a sum over groups of masked products, exact since every row has one group. Also 3D x 3D
 * (bmm) and 2D x 2D (the weights' gradient). */
LOWER(lower_grouped_mm) {
    TT_CHECK(!lower_has(L, 3), UNIMPLEMENTED, "_grouped_mm with bias");
    hlo_ref a = lower_value(L, 0), b = lower_value(L, 1);
    hlo_type ta = piece_type(L, a), tb = piece_type(L, b);
    tt_dtype out = lower_dtype(L, 4, ta.dtype);
    TT_CHECK(ta.dtype == tb.dtype, INVALID_ARGUMENT,
             "Expected mat_a and mat_b to have the same dtype, got %s and %s", tt_dtype_name(ta.dtype),
             tt_dtype_name(tb.dtype));
    if (ta.rank == 3 && tb.rank == 3) {
        TT_TRY(check_bmm(L, 0, 1));
        lower_out(L, hlo_convert(L->g, product(L, a, b, 1, true), out));
        return TT_OK;
    }
    TT_CHECK(lower_has(L, 2), INVALID_ARGUMENT, "Have to provide offsets if there is a 2d matrix");
    hlo_ref offs = lower_value(L, 2), r;
    int64_t groups = piece_type(L, offs).dims[0], zero[1] = {0};
    if (ta.rank == 2 && tb.rank == 3) {
        TT_CHECK(ta.dims[1] == tb.dims[1] && tb.dims[0] == groups, INVALID_ARGUMENT,
                 "contraction dimension of mat_a and mat_b must match");
        hlo_ref wide = spread_groups(L, a, row_groups(L, offs, ta.dims[0], groups), groups);
        r = hlo_reduce(L->g, HLO_ADD, product(L, wide, b, 1, true), HLO_NONE, 1, zero);
    } else if (ta.rank == 3 && tb.rank == 2) {
        hlo_ref turned = piece_swap(L, b, 0, 1);
        hlo_ref wide =
            spread_groups(L, turned, row_groups(L, offs, tb.dims[1], groups), groups); /* [G, n, k] */
        r = hlo_reduce(L->g, HLO_ADD, product(L, a, piece_swap(L, wide, 1, 2), 1, true), HLO_NONE, 1, zero);
    } else if (ta.rank == 2 && tb.rank == 2) {
        hlo_ref turned = piece_swap(L, a, 0, 1); /* [k, m] */
        hlo_ref group = row_groups(L, offs, ta.dims[1], groups);
        hlo_ref wide = spread_groups(L, turned, group, groups); /* [G, k, m] */
        int64_t dims[3] = {groups, tb.dims[0], tb.dims[1]}, map[2] = {1, 2};
        hlo_type t = hlo_type_make(tb.dtype, 3, dims);
        r = product(L, piece_swap(L, wide, 1, 2), piece_broadcast(L, b, &t, 2, map), 1, true);
    } else {
        TT_FAIL(INVALID_ARGUMENT, "mat_a and mat_b have to be 2 or 3 dimensional");
    }
    lower_out(L, hlo_convert(L->g, r, out));
    return TT_OK;
}

/* A scale of _scaled_mm as a factor of the [m, n] result: one number, or one for each row (dim 0) or column (dim 1). */
static tt_status result_scale(tt_lower *L, int arg, const hlo_type *result, int dim, hlo_ref *out) {
    hlo_ref s = lower_value(L, arg);
    hlo_type t = piece_type(L, s);
    bool one = hlo_type_elements(&t) == 1;
    bool each = t.rank == 2 && t.dims[dim] == result->dims[dim] && t.dims[1 - dim] == 1;
    TT_CHECK(t.dtype == TT_F32 && (one || each), UNIMPLEMENTED, "_scaled_mm: scales of blocks");
    s = one ? hlo_reshape(L->g, s, 0, NULL) : s;
    *out = hlo_broadcast_to(L->g, s, 2, result->dims);
    return TT_OK;
}

/* _scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum): (self mat2) scale_a scale_b + bias in f32 */
LOWER(lower_scaled_mm) {
    TT_TRY(check_rank(L, 0, 2, "mat1"));
    TT_TRY(check_rank(L, 1, 2, "mat2"));
    hlo_graph *g = L->g;
    hlo_ref a = lower_value(L, 0), b = lower_value(L, 1), by_row, by_column;
    hlo_type ta = piece_type(L, a), tb = piece_type(L, b);
    TT_CHECK(ta.dims[1] == tb.dims[0], INVALID_ARGUMENT, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
             (long long)ta.dims[0], (long long)ta.dims[1], (long long)tb.dims[0], (long long)tb.dims[1]);
    TT_CHECK(tt_dtype_size(ta.dtype) == 1 && tt_is_float(ta.dtype) && tt_dtype_size(tb.dtype) == 1 && tt_is_float(tb.dtype), UNIMPLEMENTED,
             "_scaled_mm of %s and %s", tt_dtype_name(ta.dtype), tt_dtype_name(tb.dtype));
    hlo_ref r = matmul(L, hlo_convert(g, a, TT_BF16), hlo_convert(g, b, TT_BF16), 0, TT_F32, "DEFAULT"); /* bf16 holds both fp8 forms */
    hlo_type t = piece_type(L, r);
    TT_TRY(hlo_graph_take_error(g));
    TT_TRY(result_scale(L, 2, &t, 0, &by_row));
    TT_TRY(result_scale(L, 3, &t, 1, &by_column));
    r = hlo_mul(g, hlo_mul(g, r, by_row), by_column);
    if (lower_has(L, 4))
        r = hlo_add(g, r, lower_cast_broadcast(L, lower_value(L, 4), TT_F32, &t));
    if (lower_has(L, 5))
        r = hlo_mul(g, r, piece_fill(L, hlo_reshape(g, hlo_convert(g, lower_value(L, 5), TT_F32), 0, NULL), &t));
    lower_out(L, hlo_convert(g, r, lower_dtype(L, 6, ta.dtype)));
    return TT_OK;
}
