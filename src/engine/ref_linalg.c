/* ref_linalg.c - reference kernels of cholesky, triangular_solve and the batch_norm family.
 *
 * Matrices are computed in complex double whatever their type: one code for real and complex. */
#include "engine/ref.h"
#include <complex.h>
#include <math.h>

typedef double _Complex cplx;

static cplx conj_of(cplx z) { return __builtin_complex(__real__ z, -__imag__ z); }
/* Plain formulas: no recovery of infinities, as everywhere in the engine. */
static cplx mul(cplx a, cplx b) {
    return __builtin_complex(__real__ a * __real__ b - __imag__ a * __imag__ b, __real__ a * __imag__ b + __imag__ a * __real__ b);
}

static tt_status read_complex(const eng_tensor *t, cplx **out) {
    TT_TRY(ref_alloc(ref_count(t), sizeof **out, out));
    ref_convert(TT_C128, *out, t->type.dtype, t->data, ref_count(t));
    return TT_OK;
}

/* Real and imaginary parts round once. */
static void write_complex(const cplx *z, eng_tensor *t) {
    ref_convert(t->type.dtype, t->data, TT_C128, z, ref_count(t));
}

static tt_status square(const hlo_node *node, const eng_tensor *a, int64_t *out_n) {
    int r = a->type.rank;
    TT_CHECK(r >= 2 && a->type.dims[r - 1] == a->type.dims[r - 2] && (tt_is_float(a->type.dtype) || tt_is_complex(a->type.dtype)),
             INVALID_ARGUMENT, "%s wants square matrices of floats", hlo_op_text((hlo_op)node->op));
    *out_n = a->type.dims[r - 1];
    return TT_OK;
}

/* The triangle that is not asked for becomes zero; a matrix that is not positive definite gives NaN. */
REF_KERNEL(cholesky) {
    (void)run, (void)g;
    int64_t n;
    bool lower = hlo_attr_int(node, HLO_A_LOWER, 0) != 0;
    TT_TRY(square(node, in, &n));
    REF_AUTO(cplx) a = NULL;
    TT_TRY(read_complex(in, &a));
    int64_t count = n ? ref_count(in) / (n * n) : 0;
#define AT(i, j) m[lower ? (i) * n + (j) : (j) * n + (i)]
    for (cplx *m = a; m < a + count * n * n; m += n * n)
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) {
                cplx s = AT(i, j); /* for an upper matrix this is the conjugate problem of its transpose: the same formulas hold */
                for (int64_t k = 0; k < j; k++)
                    s -= mul(AT(i, k), conj_of(AT(j, k)));
                double d = __real__ AT(j, j);
                AT(i, j) = i == j ? (__real__ s > 0 ? sqrt(__real__ s) : NAN) : s / d;
            }
        }
    for (cplx *m = a; m < a + count * n * n; m += n * n)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < n; j++)
                AT(i, j) = 0;
#undef AT
    write_complex(a, out);
    return TT_OK;
}

typedef struct triangle {
    const cplx *a;
    int64_t n;
    bool lower, transposed, conjugated, unit, right;
} triangle;

/* op(A)[i, j]; for X op(A) = B the transposed problem is solved. */
static cplx tri_at(const triangle *t, int64_t i, int64_t j) {
    bool swap = t->transposed != t->right;
    cplx z = swap ? t->a[j * t->n + i] : t->a[i * t->n + j];
    return t->conjugated ? conj_of(z) : z;
}

static void tri_solve(const triangle *t, cplx *x, int64_t stride) {
    bool forward = t->lower == (t->transposed == t->right);
    for (int64_t s = 0; s < t->n; s++) {
        int64_t i = forward ? s : t->n - 1 - s;
        cplx v = x[i * stride];
        for (int64_t q = 0; q < s; q++) {
            int64_t j = forward ? q : t->n - 1 - q;
            v -= mul(tri_at(t, i, j), x[j * stride]);
        }
        if (!t->unit) {
            cplx d = tri_at(t, i, i);
            v = __imag__ d == 0 ? __builtin_complex(__real__ v / __real__ d, __imag__ v / __real__ d) : v / d;
        }
        x[i * stride] = v;
    }
}

REF_KERNEL(triangular_solve) {
    (void)run, (void)g;
    const char *how = hlo_attr_text(node, HLO_A_TRANSPOSE_A, "NO_TRANSPOSE");
    triangle t = {.lower = hlo_attr_int(node, HLO_A_LOWER, 0) != 0, .unit = hlo_attr_int(node, HLO_A_UNIT_DIAGONAL, 0) != 0,
                  .right = hlo_attr_int(node, HLO_A_LEFT_SIDE, 1) == 0, .transposed = !strcmp(how, "TRANSPOSE") || !strcmp(how, "ADJOINT"),
                  .conjugated = !strcmp(how, "ADJOINT")};
    TT_TRY(square(node, in, &t.n));
    int r = in->type.rank;
    TT_CHECK(in[1].type.rank == r && in[1].type.dims[t.right ? r - 1 : r - 2] == t.n, INVALID_ARGUMENT, "triangular_solve: shapes differ");
    int64_t rows = in[1].type.dims[r - 2], columns = in[1].type.dims[r - 1], each = rows * columns;
    REF_AUTO(cplx) a = NULL;
    REF_AUTO(cplx) x = NULL;
    TT_TRY(read_complex(in, &a));
    TT_TRY(read_complex(in + 1, &x));
    int64_t count = each ? ref_count(in + 1) / each : 0;
    TT_CHECK(count * t.n * t.n == ref_count(in) || !count, INVALID_ARGUMENT, "triangular_solve: batches differ");
    for (int64_t b = 0; b < count; b++) {
        t.a = a + b * t.n * t.n;
        for (int64_t v = 0; v < (t.right ? rows : columns); v++)
            tri_solve(&t, x + b * each + (t.right ? v * columns : v), t.right ? 1 : columns);
    }
    write_complex(x, out);
    return TT_OK;
}

/* ---- batch_norm ---- */
typedef struct norm {
    int64_t features, inner, count; /* element i is of feature i / inner % features */
    double epsilon;
    double *x;
} norm;

static tt_status norm_init(norm *b, const hlo_node *node, const eng_tensor *in) {
    int64_t f = hlo_attr_int(node, HLO_A_FEATURE_INDEX, 0);
    const hlo_attr *e = hlo_attr_find(node, HLO_A_EPSILON);
    TT_CHECK(f >= 0 && f < in->type.rank && tt_is_float(in->type.dtype), INVALID_ARGUMENT, "%s: malformed", hlo_op_text((hlo_op)node->op));
    b->features = in->type.dims[f];
    b->inner = 1;
    for (int d = (int)f + 1; d < in->type.rank; d++)
        b->inner *= in->type.dims[d];
    b->count = ref_count(in);
    b->epsilon = e ? e->number : 0;
    for (int i = 1; i < (int)node->n_operands; i++)
        TT_CHECK(ref_count(in + i) == b->features || ref_count(in + i) == b->count, INVALID_ARGUMENT, "%s: operand %d has another shape",
                 hlo_op_text((hlo_op)node->op), i);
    return TT_OK;
}

static tt_status doubles(const eng_tensor *t, double **out) {
    TT_TRY(ref_alloc(ref_count(t), sizeof **out, out));
    ref_to_f64(t->type.dtype, *out, t->data, ref_count(t));
    return TT_OK;
}

#define FEATURE(b, i) ((i) / (b).inner % (b).features)

static void normalize(const norm *b, const double *x, const double *scale, const double *offset, const double *mean, const double *variance,
                      double *y) {
    for (int64_t i = 0; i < b->count; i++) {
        int64_t f = FEATURE(*b, i);
        y[i] = (x[i] - mean[f]) / sqrt(variance[f] + b->epsilon) * scale[f] + offset[f];
    }
}

REF_KERNEL(batch_norm_training) {
    (void)run, (void)g;
    norm b;
    TT_TRY(norm_init(&b, node, in));
    REF_AUTO(double) x = NULL;
    REF_AUTO(double) scale = NULL;
    REF_AUTO(double) offset = NULL;
    REF_AUTO(double) sums = NULL;
    TT_TRY(doubles(in, &x));
    TT_TRY(doubles(in + 1, &scale));
    TT_TRY(doubles(in + 2, &offset));
    TT_TRY(ref_alloc(2 * b.features, sizeof *sums, &sums));
    double *mean = sums, *variance = sums + b.features, each = b.features ? (double)(b.count / b.features) : 1;
    memset(sums, 0, (size_t)(2 * b.features) * sizeof *sums);
    for (int64_t i = 0; i < b.count; i++)
        mean[FEATURE(b, i)] += x[i] / each;
    for (int64_t i = 0; i < b.count; i++) {
        double d = x[i] - mean[FEATURE(b, i)];
        variance[FEATURE(b, i)] += d * d / each;
    }
    normalize(&b, x, scale, offset, mean, variance, x);
    ref_from_f64(out->type.dtype, out->data, x, b.count);
    ref_from_f64(out[1].type.dtype, out[1].data, mean, b.features);
    ref_from_f64(out[2].type.dtype, out[2].data, variance, b.features);
    return TT_OK;
}

REF_KERNEL(batch_norm_inference) {
    (void)run, (void)g;
    norm b;
    TT_TRY(norm_init(&b, node, in));
    REF_AUTO(double) x = NULL;
    REF_AUTO(double) scale = NULL;
    REF_AUTO(double) offset = NULL;
    REF_AUTO(double) mean = NULL;
    REF_AUTO(double) variance = NULL;
    TT_TRY(doubles(in, &x));
    TT_TRY(doubles(in + 1, &scale));
    TT_TRY(doubles(in + 2, &offset));
    TT_TRY(doubles(in + 3, &mean));
    TT_TRY(doubles(in + 4, &variance));
    normalize(&b, x, scale, offset, mean, variance, x);
    ref_from_f64(out->type.dtype, out->data, x, b.count);
    return TT_OK;
}

/* operand, scale, mean, variance, grad_output -> grad_operand, grad_scale, grad_offset */
REF_KERNEL(batch_norm_grad) {
    (void)run, (void)g;
    norm b;
    TT_TRY(norm_init(&b, node, in));
    REF_AUTO(double) x = NULL;
    REF_AUTO(double) scale = NULL;
    REF_AUTO(double) mean = NULL;
    REF_AUTO(double) variance = NULL;
    REF_AUTO(double) grad = NULL;
    REF_AUTO(double) sums = NULL;
    TT_TRY(doubles(in, &x));
    TT_TRY(doubles(in + 1, &scale));
    TT_TRY(doubles(in + 2, &mean));
    TT_TRY(doubles(in + 3, &variance));
    TT_TRY(doubles(in + 4, &grad));
    TT_CHECK(ref_count(in + 4) == b.count, INVALID_ARGUMENT, "batch_norm_grad: the gradient has another shape");
    TT_TRY(ref_alloc(2 * b.features, sizeof *sums, &sums));
    double *by_x = sums, *total = sums + b.features, each = b.features ? (double)(b.count / b.features) : 1; /* sum of g (x - mean), of g */
    memset(sums, 0, (size_t)(2 * b.features) * sizeof *sums);
    for (int64_t i = 0; i < b.count; i++) {
        int64_t f = FEATURE(b, i);
        by_x[f] += grad[i] * (x[i] - mean[f]);
        total[f] += grad[i];
    }
    for (int64_t i = 0; i < b.count; i++) {
        int64_t f = FEATURE(b, i);
        double v = variance[f] + b.epsilon;
        x[i] = scale[f] / sqrt(v) / each * (each * grad[i] - total[f] - (x[i] - mean[f]) * by_x[f] / v);
    }
    for (int64_t f = 0; f < b.features; f++)
        by_x[f] /= sqrt(variance[f] + b.epsilon);
    ref_from_f64(out->type.dtype, out->data, x, b.count);
    ref_from_f64(out[1].type.dtype, out[1].data, by_x, b.features);
    ref_from_f64(out[2].type.dtype, out[2].data, total, b.features);
    return TT_OK;
}
