/* pool_fractional.c - fractional_max_pool2d and 3d and their gradients.
 *
 * Windows start where random samples say, so the values of each output's window are gathered, one place of the window after another, in
 * PyTorch's order: the first maximum wins, NaN over all. */
#include "aten/pieces.h"
#include <math.h>

enum { MAX_SPATIAL = 3, MAX_TAPS = 512 };

typedef struct fractional {
    int n;
    int64_t batch, channels, in[MAX_SPATIAL], out[MAX_SPATIAL], kernel[MAX_SPATIAL];
    hlo_type x;
} fractional;

/* The batch may be missing. Arguments kernel and output size from `first`. */
static tt_status read(tt_lower *L, int x_arg, int first, fractional *f) {
    memset(f, 0, sizeof *f);
    f->n = L->row->param;
    f->x = piece_type(L, lower_value(L, x_arg));
    int lead = f->x.rank - f->n;
    TT_CHECK(lead == 1 || lead == 2, INVALID_ARGUMENT, "fractional_max_pool%dd: Expected %dD or %dD tensor, but got %dD", f->n, f->n + 1, f->n + 2, f->x.rank);
    TT_CHECK(tt_is_float(f->x.dtype), UNIMPLEMENTED, "fractional_max_pool of %s", tt_dtype_name(f->x.dtype));
    hlo_ints kernel = lower_ints(L, first), out = lower_ints(L, first + 1);
    TT_CHECK((kernel.n == 1 || kernel.n == f->n) && (out.n == 1 || out.n == f->n), INVALID_ARGUMENT, "fractional_max_pool: kernel_size and output_size must have one or %d elements", f->n);
    f->batch = lead == 2 ? f->x.dims[0] : 1;
    f->channels = f->x.dims[lead - 1];
    int64_t taps = 1;
    for (int i = 0; i < f->n; i++) {
        f->in[i] = f->x.dims[lead + i];
        f->kernel[i] = kernel.v[kernel.n == 1 ? 0 : i];
        f->out[i] = out.v[out.n == 1 ? 0 : i];
        TT_CHECK(f->kernel[i] > 0 && f->out[i] > 0 && f->out[i] + f->kernel[i] - 1 <= f->in[i], INVALID_ARGUMENT,
                 "fractional_max_pool: pool dim %d: kernel %lld and output %lld are too large relative to input %lld", i, (long long)f->kernel[i],
                 (long long)f->out[i], (long long)f->in[i]);
        taps *= f->kernel[i];
    }
    TT_CHECK(taps <= MAX_TAPS && piece_product(f->in, 0, f->n) < INT32_MAX, UNIMPLEMENTED, "fractional_max_pool with a window of %lld", (long long)taps);
    return TT_OK;
}

/* Where the windows of one dim start, over [planes, out...]: floor((i + u) a) - floor(u a), a = (in - kernel) / (out - 1); the last one ends the
 * dim. samples [N, C, n]; column: this dim's. */
static hlo_ref starts(tt_lower *L, const fractional *f, int d, int column, hlo_ref samples, const hlo_type *grid) {
    hlo_graph *g = L->g;
    hlo_type wide = *grid;
    tt_dtype in = lower_accumulate_dtype(f->x.dtype);
    wide.dtype = in;
    int64_t planes[1] = {grid->dims[0]};
    hlo_ref u = piece_along(L, hlo_convert(g, hlo_reshape(g, hlo_slice_dim(g, samples, 2, column, column + 1, 1), 1, planes), in), &wide, 0);
    hlo_ref i = hlo_iota(g, &wide, d + 1), last = hlo_splat_int(g, grid, f->in[d] - f->kernel[d]);
    if (f->out[d] == 1)
        return last;
    double ratio = in == TT_F64 ? (double)(f->in[d] - f->kernel[d]) / (double)(f->out[d] - 1) : (double)((float)(f->in[d] - f->kernel[d]) / (float)(f->out[d] - 1));
    hlo_ref a = hlo_splat(g, &wide, ratio), whole = hlo_unary(g, HLO_FLOOR, hlo_mul(g, hlo_add(g, i, u), a));
    hlo_ref at = hlo_convert(g, hlo_sub(g, whole, hlo_unary(g, HLO_FLOOR, hlo_mul(g, u, a))), TT_I32);
    return hlo_select(g, hlo_compare(g, "EQ", i, hlo_splat(g, &wide, (double)(f->out[d] - 1))), last, at);
}

static hlo_type grid_type(const fractional *f) {
    int64_t dims[MAX_SPATIAL + 1] = {f->batch * f->channels};
    for (int i = 0; i < f->n; i++)
        dims[i + 1] = f->out[i];
    return hlo_type_make(TT_I32, f->n + 1, dims);
}

/* Flat positions in all of x of flat positions in planes. */
static hlo_ref in_all(tt_lower *L, const fractional *f, hlo_ref flat, const hlo_type *grid) {
    hlo_type wide = *grid;
    wide.dtype = TT_I64;
    hlo_ref plane = hlo_mul(L->g, hlo_iota(L->g, &wide, 0), hlo_splat_int(L->g, &wide, piece_product(f->in, 0, f->n)));
    return hlo_add(L->g, plane, hlo_convert(L->g, flat, TT_I64));
}

static void outer_dims(const fractional *f, const int64_t *spatial, int64_t *dims) {
    int lead = f->x.rank - f->n;
    for (int i = 0; i < lead; i++)
        dims[i] = f->x.dims[i];
    for (int i = 0; i < f->n; i++)
        dims[lead + i] = spatial[i];
}

/* fractional_max_pool2d, 3d(self, kernel_size, output_size, random_samples) -> (values, indices); param: spatial dims */
LOWER(lower_fractional_pool) {
    fractional f;
    hlo_graph *g = L->g;
    TT_TRY(read(L, 0, 1, &f));
    if (f.batch * f.channels == 0) {
        int64_t empty[HLO_MAX_RANK];
        outer_dims(&f, f.out, empty);
        lower_out(L, piece_zeros(L, f.x.dtype, f.x.rank, empty));
        lower_out(L, piece_zeros(L, TT_I64, f.x.rank, empty));
        return TT_OK;
    }
    hlo_ref samples = lower_value(L, 3), start[MAX_SPATIAL];
    hlo_type st = piece_type(L, samples), grid = grid_type(&f);
    TT_CHECK(st.rank == 3 && st.dims[0] >= f.batch && st.dims[1] == f.channels && st.dims[2] == f.n, INVALID_ARGUMENT, "Expect _random_samples to have size [N, C, %d]", f.n);
    samples = hlo_slice_dim(g, samples, 0, 0, f.batch, 1);
    for (int d = 0; d < f.n; d++) /* 2d: the samples are (w, h); 3d: (t, h, w) */
        start[d] = starts(L, &f, d, f.n == 2 ? 1 - d : d, samples, &grid);
    int64_t taps = piece_product(f.kernel, 0, f.n), all[1] = {f.batch * f.channels * piece_product(f.in, 0, f.n)}, column[MAX_SPATIAL + 2];
    static const int64_t zero[1] = {0}, one[1] = {1};
    memcpy(column, grid.dims, sizeof *column * (size_t)grid.rank);
    column[grid.rank] = 1;
    hlo_dims gather = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = grid.rank};
    hlo_ref x = hlo_reshape(g, lower_value(L, 0), 1, all), best = HLO_NONE, where = HLO_NONE;
    for (int64_t k = 0; k < taps; k++) {
        int64_t rest = k, at[MAX_SPATIAL];
        for (int d = f.n - 1; d >= 0; d--)
            at[d] = rest % f.kernel[d], rest /= f.kernel[d];
        hlo_ref flat = HLO_NONE;
        for (int d = 0; d < f.n; d++) {
            hlo_ref here = hlo_add(g, start[d], hlo_splat_int(g, &grid, at[d]));
            flat = d ? hlo_add(g, hlo_mul(g, flat, hlo_splat_int(g, &grid, f.in[d])), here) : here;
        }
        hlo_ref v = hlo_gather(g, x, hlo_reshape(g, in_all(L, &f, flat, &grid), grid.rank + 1, column), &gather, one, NULL);
        if (k == 0) {
            best = v, where = flat;
            continue;
        }
        hlo_ref take = hlo_binary(g, HLO_OR, hlo_compare(g, "GT", v, best), hlo_compare(g, "NE", v, v));
        best = hlo_select(g, take, v, best);
        where = hlo_select(g, take, flat, where);
    }
    int64_t dims[HLO_MAX_RANK];
    outer_dims(&f, f.out, dims);
    lower_out(L, hlo_reshape(g, best, f.x.rank, dims));
    lower_out(L, hlo_convert(g, hlo_reshape(g, where, f.x.rank, dims), TT_I64));
    return TT_OK;
}

/* fractional_max_pool2d_backward, 3d(grad_output, self, kernel_size, output_size, indices) */
LOWER(lower_fractional_pool_backward) {
    fractional f;
    hlo_graph *g = L->g;
    TT_TRY(read(L, 1, 2, &f));
    static const int64_t zero[1] = {0};
    if (f.batch * f.channels == 0) {
        lower_out(L, piece_zeros(L, f.x.dtype, f.x.rank, f.x.dims));
        return TT_OK;
    }
    hlo_type grid = grid_type(&f);
    tt_dtype wide = lower_accumulate_dtype(f.x.dtype);
    int64_t all[1] = {f.batch * f.channels * piece_product(f.in, 0, f.n)}, column[MAX_SPATIAL + 2];
    memcpy(column, grid.dims, sizeof *column * (size_t)grid.rank);
    column[grid.rank] = 1;
    hlo_ref flat = in_all(L, &f, hlo_reshape(g, lower_value(L, 4), grid.rank, grid.dims), &grid);
    hlo_ref grad = hlo_convert(g, hlo_reshape(g, lower_value(L, 0), grid.rank, grid.dims), wide);
    hlo_dims d = {.kind = HLO_DIMS_SCATTER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = grid.rank};
    hlo_ref dx = hlo_scatter(g, piece_zeros(L, wide, 1, all), hlo_reshape(g, flat, grid.rank + 1, column), grad, &d, HLO_ADD, false, NULL);
    lower_out(L, hlo_convert(g, hlo_reshape(g, dx, f.x.rank, f.x.dims), f.x.dtype));
    return TT_OK;
}
