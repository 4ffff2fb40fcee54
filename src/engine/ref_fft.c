/* ref_fft.c - reference kernel of fft, in complex double, any length in n log n: by its prime factors while these are small, else
 * (Bluestein) as a convolution of a power of two. Roots of unity are computed once a dimension. */
#include "engine/ref.h"
#include <complex.h>
#include <math.h>

typedef double _Complex cplx;
enum { LARGEST_FACTOR = 61 };

static cplx conj_of(cplx z) { return __builtin_complex(__real__ z, -__imag__ z); }
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

/* ---- one line ---- */

/* exp(sign 2 pi i k / n) for k < n */
static tt_status roots(int64_t n, double sign, cplx **out) {
    TT_TRY(ref_alloc(n, sizeof **out, out));
    for (int64_t k = 0; k < n; k++) {
        double angle = 2 * M_PI * (double)k / (double)n;
        (*out)[k] = __builtin_complex(cos(angle), sign * sin(angle));
    }
    return TT_OK;
}

static int64_t smallest_factor(int64_t n) {
    int64_t p = 2;
    while (p * p <= n && n % p)
        p++;
    return n % p ? n : p;
}

static bool small_factors(int64_t n) {
    for (; n > 1; n /= smallest_factor(n))
        if (smallest_factor(n) > LARGEST_FACTOR)
            return false;
    return true;
}

/* out[k] = sum of in[j * stride] w^(j k step), by decimation in time; w[]: the roots of order n * step. scratch and out: n each. */
static void dft(const cplx *in, int64_t stride, cplx *out, int64_t n, const cplx *w, int64_t step, cplx *scratch) {
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    int64_t p = n % 2 ? smallest_factor(n) : 2, m = n / p;
    for (int64_t r = 0; r < p; r++)
        dft(in + r * stride, stride * p, scratch + r * m, m, w, step * p, out + r * m);
    if (p == 2) {
        for (int64_t k = 0; k < m; k++) {
            cplx odd = mul(scratch[m + k], w[k * step]);
            out[k] = scratch[k] + odd;
            out[k + m] = scratch[k] - odd;
        }
        return;
    }
    cplx turned[LARGEST_FACTOR];
    for (int64_t k = 0; k < m; k++) {
        for (int64_t r = 0; r < p; r++)
            turned[r] = mul(scratch[r * m + k], w[r * k * step]);
        for (int64_t q = 0; q < p; q++) {
            cplx s = turned[0];
            for (int64_t r = 1; r < p; r++)
                s += mul(turned[r], w[r * q % p * (m * step)]);
            out[k + q * m] = s;
        }
    }
}

/* A length with a large prime factor: x_j = in_j c_j with the chirp c_j = exp(sign pi i j^2 / n), convolved with its conjugate. */
typedef struct line {
    int64_t n, m;                               /* m: the convolution's length; 0: by factors */
    cplx *w, *chirp, *filter, *back, *x, *scratch;
} line;

static void line_free(line *l) {
    ref_free(&l->w), ref_free(&l->chirp), ref_free(&l->filter), ref_free(&l->back), ref_free(&l->x), ref_free(&l->scratch);
}

static tt_status line_init(line *l, int64_t n, double sign) {
    *l = (line){.n = n};
    if (small_factors(n)) {
        TT_TRY(ref_alloc(n, sizeof *l->scratch, &l->scratch));
        return roots(n, sign, &l->w);
    }
    for (l->m = 1; l->m < 2 * n - 1; l->m *= 2)
        ;
    TT_TRY(roots(l->m, -1, &l->w));
    TT_TRY(roots(l->m, 1, &l->back));
    TT_TRY(ref_alloc(n, sizeof *l->chirp, &l->chirp));
    TT_TRY(ref_alloc(l->m, sizeof *l->filter, &l->filter));
    TT_TRY(ref_alloc(l->m, sizeof *l->x, &l->x));
    TT_TRY(ref_alloc(l->m, sizeof *l->scratch, &l->scratch));
    for (int64_t j = 0; j < l->m; j++)
        l->x[j] = 0;
    for (int64_t j = 0; j < n; j++) {
        double angle = M_PI * (double)((uint64_t)j * (uint64_t)j % (uint64_t)(2 * n)) / (double)n;
        l->chirp[j] = __builtin_complex(cos(angle), sign * sin(angle));
        l->x[j] = l->x[(l->m - j) % l->m] = conj_of(l->chirp[j]);
    }
    dft(l->x, 1, l->filter, l->m, l->w, 1, l->scratch);
    return TT_OK;
}

/* out may not be in; both have room for n, with stride for `in`. spare: m elements when m. */
static void line_run(const line *l, const cplx *in, int64_t stride, cplx *out, cplx *spare) {
    if (!l->m) {
        dft(in, stride, out, l->n, l->w, 1, l->scratch);
        return;
    }
    for (int64_t j = 0; j < l->m; j++)
        l->x[j] = j < l->n ? mul(in[j * stride], l->chirp[j]) : 0;
    dft(l->x, 1, spare, l->m, l->w, 1, l->scratch);
    for (int64_t j = 0; j < l->m; j++)
        spare[j] = mul(spare[j], l->filter[j]);
    dft(spare, 1, l->x, l->m, l->back, 1, l->scratch);
    for (int64_t k = 0; k < l->n; k++)
        out[k] = mul(l->x[k], l->chirp[k]) / (double)l->m;
}

/* One dimension of a dense array, in place. */
static tt_status dft_dim(cplx *x, const int64_t *dims, int rank, int dim, double sign) {
    int64_t n = dims[dim], inner = 1, outer = 1;
    for (int d = 0; d < rank; d++)
        *(d < dim ? &outer : &inner) *= d == dim ? 1 : dims[d];
    __attribute__((cleanup(line_free))) line l = {0};
    REF_AUTO(cplx) out = NULL;
    REF_AUTO(cplx) spare = NULL;
    TT_TRY(line_init(&l, n, sign));
    TT_TRY(ref_alloc(n, sizeof *out, &out));
    TT_TRY(ref_alloc(l.m, sizeof *spare, &spare));
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            cplx *at = x + o * n * inner + i;
            line_run(&l, at, inner, out, spare);
            for (int64_t k = 0; k < n; k++)
                at[k * inner] = sign > 0 ? out[k] / (double)n : out[k];
        }
    return TT_OK;
}

/* ---- the op ---- */

/* Copies the part of src that fits into dst's shape; with `hermitian` the missing half of the last dim is mirrored. */
static void fit(const cplx *src, const int64_t *from, cplx *dst, const int64_t *to, int rank, bool hermitian, int n_fft) {
    int64_t at[HLO_MAX_RANK] = {0};
    do {
        int64_t i = 0, last = at[rank - 1];
        bool mirror = hermitian && last >= from[rank - 1];
        for (int d = 0; d < rank; d++) {
            int64_t k = at[d];
            if (mirror && d >= rank - n_fft)
                k = k ? to[d] - k : 0;
            i = i * from[d] + k;
        }
        *dst++ = mirror ? conj_of(src[i]) : src[i];
    } while (ref_next(rank, to, at));
}

REF_KERNEL(fft) {
    (void)run, (void)g;
    const char *type = hlo_attr_text(node, HLO_A_FFT_TYPE, "FFT");
    hlo_ints lengths = hlo_attr_ints(node, HLO_A_FFT_LENGTH);
    int rank = in->type.rank, n = lengths.n;
    bool inverse = !strcmp(type, "IFFT") || !strcmp(type, "IRFFT"), to_real = !strcmp(type, "IRFFT"), from_real = !strcmp(type, "RFFT");
    TT_CHECK(n >= 1 && n <= rank, INVALID_ARGUMENT, "fft over %d of %d dimensions", n, rank);
    if (ref_count(out) == 0)
        return TT_OK;
    hlo_type full = from_real ? in->type : out->type; /* the full transform's shape */
    for (int i = 0; i < n; i++)
        TT_CHECK(full.dims[rank - n + i] == lengths.v[i], INVALID_ARGUMENT, "fft: length %lld of a dimension of %lld", (long long)lengths.v[i],
                 (long long)full.dims[rank - n + i]);
    int64_t half = lengths.v[n - 1] / 2 + 1;
    TT_CHECK(!to_real || in->type.dims[rank - 1] == half, INVALID_ARGUMENT, "irfft: %lld elements of a dimension, expected %lld",
             (long long)in->type.dims[rank - 1], (long long)half);
    TT_CHECK(!from_real || out->type.dims[rank - 1] == half, INVALID_ARGUMENT, "rfft: malformed result");
    if (hlo_type_elements(&full) == 0) {
        memset(out->data, 0, (size_t)hlo_type_bytes(&out->type));
        return TT_OK;
    }
    REF_AUTO(cplx) x = NULL;
    REF_AUTO(cplx) y = NULL;
    TT_TRY(read_complex(in, &x));
    TT_TRY(ref_alloc(hlo_type_elements(&full), sizeof *y, &y));
    fit(x, in->type.dims, y, full.dims, rank, to_real, n);
    for (int i = 0; i < n; i++)
        TT_TRY(dft_dim(y, full.dims, rank, rank - n + i, inverse ? 1 : -1));
    REF_AUTO(cplx) z = NULL;
    TT_TRY(ref_alloc(ref_count(out), sizeof *z, &z));
    fit(y, full.dims, z, out->type.dims, rank, false, n);
    write_complex(z, out);
    return TT_OK;
}
