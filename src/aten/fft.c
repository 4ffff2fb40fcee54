/* fft.c - _fft_r2c, _fft_c2c and _fft_c2r over any dims, on stablehlo.fft: which transforms the last three dims at most, so others are
 * brought there in turn. Its inverse divides by the number of elements; PyTorch's modes are a factor on top. */
#include "aten/elem.h"
#include "aten/pieces.h"
#include <math.h>

enum { R2C, C2C, C2R };
enum { BY_NONE, BY_ROOT_N, BY_N };
enum { AT_ONCE = 3 };

/* stablehlo.fft over n <= AT_ONCE dims; the last of them is the halved one. length: of that one, in full. */
static hlo_ref fft_some(tt_lower *L, hlo_ref x, const char *type, int n, const int *dims, int64_t length) {
    hlo_type t = piece_type(L, x);
    int64_t to[HLO_MAX_RANK], back[HLO_MAX_RANK], lengths[AT_ONCE];
    int k = 0;
    for (int d = 0; d < t.rank; d++) {
        bool taken = false;
        for (int i = 0; i < n; i++)
            taken |= dims[i] == d;
        if (!taken)
            to[k++] = d;
    }
    for (int i = 0; i < n; i++) {
        to[k++] = dims[i];
        lengths[i] = i == n - 1 ? length : t.dims[dims[i]];
    }
    for (int d = 0; d < t.rank; d++)
        back[to[d]] = d;
    return hlo_transpose(L->g, hlo_fft(L->g, hlo_transpose(L->g, x, to), type, n, lengths), back);
}

/* A complex transform over n dims. */
static hlo_ref fft_all(tt_lower *L, hlo_ref x, bool inverse, int n, const int *dims) {
    for (int at = 0; at < n; at += AT_ONCE) {
        int some = n - at < AT_ONCE ? n - at : AT_ONCE;
        x = fft_some(L, x, inverse ? "IFFT" : "FFT", some, dims + at, piece_type(L, x).dims[dims[at + some - 1]]);
    }
    return x;
}

static double factor(int64_t mode, double n, bool inverse) {
    double f = mode == BY_ROOT_N ? 1 / sqrt(n) : mode == BY_N ? 1 / n : 1;
    return inverse ? f * n : f;
}

/* _fft_r2c(self, int[] dim, int normalization, bool onesided), _fft_c2c(..., bool forward), _fft_c2r(..., SymInt last_dim_size) */
LOWER_FN(lower_fft) {
    hlo_graph *g = L->g;
    int what = L->row->param, dims[HLO_MAX_RANK];
    hlo_ref x = lower_value(L, 0);
    hlo_type t = piece_type(L, x);
    hlo_ints list = lower_ints(L, 1);
    TT_CHECK(what == R2C ? t.dtype == TT_F32 || t.dtype == TT_F64 : t.dtype == TT_C64 || t.dtype == TT_C128, UNIMPLEMENTED, "fft of %s", tt_dtype_name(t.dtype));
    TT_CHECK(list.n <= t.rank, INVALID_ARGUMENT, "fft: more dims than the tensor has");
    for (int i = 0; i < list.n; i++) {
        dims[i] = lower_dim(L, list.v[i], t.rank);
        for (int j = 0; j < i; j++)
            TT_CHECK(dims[j] != dims[i], INVALID_ARGUMENT, "FFT dims must be unique");
    }
    TT_TRY(hlo_graph_take_error(g));
    int64_t mode = lower_int(L, 2, 0);
    if (list.n == 0) {
        TT_CHECK(what == C2C, INVALID_ARGUMENT, "fft: no dims");
        lower_out(L, x);
        return TT_OK;
    }
    int last = dims[list.n - 1], rest = list.n < AT_ONCE ? 0 : list.n - AT_ONCE;
    int64_t length = what == C2R ? lower_int(L, 3, 0) : t.dims[last], n = length;
    TT_CHECK(what != C2R || length >= 1, INVALID_ARGUMENT, "Invalid number of data points (%lld) specified", (long long)length);
    for (int i = 0; i < list.n - 1; i++)
        n *= t.dims[dims[i]];
    TT_CHECK(n > 0 || hlo_type_elements(&t) == 0, INVALID_ARGUMENT, "fft: an empty dimension");
    bool inverse = what == C2R || (what == C2C && !lower_bool(L, 3, true));
    hlo_ref r;
    if (what == C2C) {
        r = fft_all(L, x, inverse, list.n, dims);
    } else if (what == C2R) {
        int64_t half = length / 2 + 1, have = t.dims[last];
        if (have > half)
            x = hlo_slice_dim(g, x, last, 0, half, 1);
        TT_CHECK(have >= half, INVALID_ARGUMENT, "fft: %lld elements of %lld", (long long)have, (long long)half);
        x = fft_all(L, x, true, rest, dims);
        r = fft_some(L, x, "IRFFT", list.n - rest, dims + rest, length);
    } else if (lower_bool(L, 3, true)) {
        r = fft_some(L, x, "RFFT", list.n - rest, dims + rest, length);
        r = fft_all(L, r, false, rest, dims);
    } else {
        r = fft_all(L, hlo_convert(g, x, t.dtype == TT_F32 ? TT_C64 : TT_C128), false, list.n, dims);
    }
    double f = factor(mode, (double)n, inverse);
    if (f != 1 && r != HLO_NONE)
        r = hlo_mul(g, r, hlo_splat_like(g, r, f));
    lower_out(L, r);
    return hlo_graph_take_error(g);
}
