/* grid_sample.c - grid_sampler_2d and 3d (linear, nearest, and in 2d cubic; zeros, border and reflection padding) and their gradients.
 *
 * Each output reads a few places along each axis, with weights; its value is the sum over all their combinations. A combination is a
 * flat position in its image, and one outside counts 0. The gradient of the input scatters, that of the grid follows from the weights. */
#include "aten/pieces.h"

enum { LINEAR = 0, NEAREST = 1, CUBIC = 2 };
enum { ZEROS = 0, BORDER = 1, REFLECTION = 2 };
enum { MAX_AXES = 3, MAX_TAPS = 4 };

/* One place along an axis: a whole number, its weight and the weight's derivative by the position (HLO_NONE: 1 and 0). */
typedef struct tap { hlo_ref at, weight, slope; } tap;
typedef struct axis { int64_t in, out; int taps; tap tap[MAX_TAPS]; hlo_ref scale; /* the position's derivative by the grid */ } axis;
typedef struct corner { hlo_ref flat, inside, weight, by[MAX_AXES]; } corner; /* by: the weight's derivatives by position */

typedef struct sampler {
    int axes, mode, padding;
    int64_t n, c, places, pixels;
    bool align;
    hlo_type x, plane;        /* input; [N, places] in the wide type */
    axis axis[MAX_AXES];
} sampler;

static hlo_ref number(tt_lower *L, const sampler *s, double v) { return hlo_splat(L->g, &s->plane, v); }
static hlo_ref plus(tt_lower *L, const sampler *s, hlo_ref x, double v) { return hlo_add(L->g, x, number(L, s, v)); }
static hlo_ref times(tt_lower *L, const sampler *s, hlo_ref x, double v) { return hlo_mul(L->g, x, number(L, s, v)); }

/* ---- positions ---- */

/* From [-1, 1] to pixels. */
static hlo_ref unnormalized(tt_lower *L, const sampler *s, hlo_ref x, int64_t size, hlo_ref *out_scale) {
    hlo_graph *g = L->g;
    double scale = s->align ? (double)(size - 1) / 2 : (double)size / 2;
    *out_scale = number(L, s, scale);
    x = plus(L, s, x, 1);
    return s->align ? times(L, s, x, scale) : times(L, s, hlo_sub(g, times(L, s, x, (double)size), number(L, s, 1)), 0.5);
}

/* Into range by border or reflection; *slope is multiplied by the derivative. */
static hlo_ref into_range(tt_lower *L, const sampler *s, hlo_ref x, int64_t size, hlo_ref *slope) {
    hlo_graph *g = L->g;
    hlo_ref one = number(L, s, 1), zero = number(L, s, 0);
    if (s->padding == REFLECTION) {
        double low = s->align ? 0 : -0.5, span = s->align ? (double)(size - 1) : (double)size;
        if (span <= 0) {
            x = zero, *slope = zero;
        } else {
            hlo_ref d = plus(L, s, x, -low), away = hlo_unary(g, HLO_ABS, d);
            hlo_ref sign = hlo_select(g, hlo_compare(g, "LT", d, zero), number(L, s, -1), one);
            hlo_ref rest = hlo_binary(g, HLO_REMAINDER, away, number(L, s, span)),
                    flips = hlo_unary(g, HLO_FLOOR, hlo_div(g, away, number(L, s, span)));
            hlo_ref odd = hlo_compare(g, "NE", hlo_binary(g, HLO_REMAINDER, flips, number(L, s, 2)), zero);
            x = hlo_select(g, odd, plus(L, s, hlo_sub(g, number(L, s, span), rest), low), plus(L, s, rest, low));
            *slope = hlo_mul(g, *slope, hlo_select(g, odd, hlo_unary(g, HLO_NEGATE, sign), sign));
        }
    }
    if (s->padding != ZEROS) {
        hlo_ref last = number(L, s, (double)(size - 1));
        hlo_ref inside = hlo_binary(g, HLO_AND, hlo_compare(g, "GT", x, zero), hlo_compare(g, "LT", x, last));
        *slope = hlo_select(g, inside, *slope, zero);
        x = hlo_clamp(g, zero, x, last);
        if (s->mode != CUBIC) /* a NaN is at the first place */
            x = hlo_select(g, hlo_compare(g, "NE", x, x), zero, x);
    }
    return x;
}

/* ---- places along one axis ---- */

/* The cubic convolution's weight (Keys, A = -0.75) of a tap at distance d = |t|, or its derivative by d. */
static hlo_ref cubic(tt_lower *L, const sampler *s, hlo_ref d, bool near, bool derivative) {
    const double a = -0.75;
    hlo_graph *g = L->g;
    if (near && !derivative) /* ((a + 2) d - (a + 3)) d^2 + 1 */
        return plus(L, s, hlo_mul(g, hlo_mul(g, plus(L, s, times(L, s, d, a + 2), -(a + 3)), d), d), 1);
    if (near)
        return hlo_mul(g, plus(L, s, times(L, s, d, 3 * (a + 2)), -2 * (a + 3)), d);
    if (!derivative) /* ((a d - 5a) d + 8a) d - 4a */
        return plus(L, s, hlo_mul(g, plus(L, s, hlo_mul(g, plus(L, s, times(L, s, d, a), -5 * a), d), 8 * a), d), -4 * a);
    return plus(L, s, hlo_mul(g, plus(L, s, times(L, s, d, 3 * a), -10 * a), d), 8 * a);
}

static void cubic_taps(tt_lower *L, const sampler *s, axis *a, hlo_ref x) {
    hlo_graph *g = L->g;
    hlo_ref low = hlo_unary(g, HLO_FLOOR, x), t = hlo_sub(g, x, low);
    a->taps = 4;
    for (int k = 0; k < 4; k++) {
        bool left = k < 2, near = k == 1 || k == 2; /* distances t + 1, t, 1 - t, 2 - t */
        hlo_ref d = left ? plus(L, s, t, 1 - k) : hlo_sub(g, number(L, s, k - 1), t), unused = number(L, s, 1);
        hlo_ref slope = cubic(L, s, d, near, true);
        a->tap[k].at = into_range(L, s, plus(L, s, low, k - 1), a->in, &unused);
        a->tap[k].weight = cubic(L, s, d, near, false);
        a->tap[k].slope = left ? slope : hlo_unary(g, HLO_NEGATE, slope);
    }
}

static void read_axis(tt_lower *L, const sampler *s, axis *a, hlo_ref x) {
    hlo_graph *g = L->g;
    x = unnormalized(L, s, x, a->in, &a->scale);
    if (s->mode == CUBIC) {
        cubic_taps(L, s, a, x);
        return;
    }
    x = into_range(L, s, x, a->in, &a->scale);
    if (s->mode == NEAREST) { /* ties to even */
        a->taps = 1;
        a->tap[0] = (tap){.at = hlo_unary(g, HLO_ROUND_EVEN, x), .weight = HLO_NONE};
        return;
    }
    hlo_ref low = hlo_unary(g, HLO_FLOOR, x), t = hlo_sub(g, x, low);
    a->taps = 2;
    a->tap[0] = (tap){low, hlo_sub(g, number(L, s, 1), t), number(L, s, -1)};
    a->tap[1] = (tap){plus(L, s, low, 1), t, number(L, s, 1)};
}

/* ---- all axes ---- */

static tt_status read_sampler(tt_lower *L, int x_arg, sampler *s) {
    hlo_graph *g = L->g;
    memset(s, 0, sizeof *s);
    int k = s->axes = L->row->param;
    s->x = piece_type(L, lower_value(L, x_arg));
    hlo_type gt = piece_type(L, lower_value(L, x_arg + 1));
    TT_CHECK(s->x.rank == k + 2 && gt.rank == k + 2 && gt.dims[k + 1] == k && gt.dims[0] == s->x.dims[0], INVALID_ARGUMENT,
             "grid_sampler(): expected a %dD input and a grid [N, ..., %d]", k + 2, k);
    TT_CHECK(tt_is_float(s->x.dtype) && gt.dtype == s->x.dtype, UNIMPLEMENTED, "grid_sampler of %s", tt_dtype_name(s->x.dtype));
    s->n = s->x.dims[0], s->c = s->x.dims[1], s->places = s->pixels = 1;
    for (int d = 0; d < k; d++) {
        s->axis[d].in = s->x.dims[d + 2], s->axis[d].out = gt.dims[d + 1];
        s->pixels *= s->axis[d].in, s->places *= s->axis[d].out;
    }
    s->mode = (int)lower_int(L, x_arg + 2, 0);
    s->padding = (int)lower_int(L, x_arg + 3, 0);
    s->align = lower_bool(L, x_arg + 4, false);
    TT_CHECK(s->mode != CUBIC || k == 2, INVALID_ARGUMENT, "grid_sampler(): bicubic interpolation only supports 4D input");
    TT_CHECK(hlo_type_elements(&s->x) > 0 && s->n * s->places > 0, UNIMPLEMENTED, "grid_sampler of empty tensors");
    TT_CHECK(hlo_type_elements(&s->x) < INT32_MAX, UNIMPLEMENTED, "grid_sampler of 2^31 elements");
    int64_t dims[2] = {s->n, s->places}, flat[3] = {s->n, s->places, k};
    s->plane = hlo_type_make(lower_accumulate_dtype(s->x.dtype), 2, dims);
    hlo_ref grid = hlo_reshape(g, hlo_convert(g, lower_value(L, x_arg + 1), s->plane.dtype), 3, flat);
    for (int d = 0; d < k; d++) /* the grid's first number is of the last axis */
        read_axis(L, s, &s->axis[d], hlo_reshape(g, hlo_slice_dim(g, grid, 2, k - 1 - d, k - d, 1), 2, dims));
    return TT_OK;
}

static int corner_count(const sampler *s) {
    int n = 1;
    for (int d = 0; d < s->axes; d++)
        n *= s->axis[d].taps;
    return n;
}

static hlo_ref product(tt_lower *L, hlo_ref a, hlo_ref b) {
    return a == HLO_NONE ? b : b == HLO_NONE ? a : hlo_mul(L->g, a, b);
}

/* The k-th combination of taps, the last axis fastest. NaN positions are outside. */
static corner corner_at(tt_lower *L, const sampler *s, int k) {
    hlo_graph *g = L->g;
    corner r = {.weight = HLO_NONE, .inside = HLO_NONE};
    const tap *taps[MAX_AXES];
    for (int d = s->axes - 1; d >= 0; d--)
        taps[d] = &s->axis[d].tap[k % s->axis[d].taps], k /= s->axis[d].taps;
    hlo_type it = hlo_type_with(&s->plane, TT_I32);
    hlo_ref zero = number(L, s, 0);
    for (int d = 0; d < s->axes; d++) {
        hlo_ref in = hlo_binary(g, HLO_AND, hlo_compare(g, "GE", taps[d]->at, zero),
                                hlo_compare(g, "LE", taps[d]->at, number(L, s, (double)(s->axis[d].in - 1))));
        r.inside = d ? hlo_binary(g, HLO_AND, r.inside, in) : in;
        r.weight = product(L, r.weight, taps[d]->weight);
        r.by[d] = s->mode == NEAREST ? HLO_NONE : taps[d]->slope;
        for (int e = 0; e < s->axes && s->mode != NEAREST; e++)
            r.by[d] = e == d ? r.by[d] : product(L, r.by[d], taps[e]->weight);
    }
    r.flat = hlo_iota(g, &it, 0);
    for (int d = 0; d < s->axes; d++) {
        hlo_ref at = hlo_convert(g, hlo_select(g, r.inside, taps[d]->at, zero), TT_I32);
        r.flat = hlo_add(g, hlo_mul(g, r.flat, hlo_splat_int(g, &it, s->axis[d].in)), at);
    }
    return r;
}

/* [N, C, spatial] to rows [N * pixels, C] (channels last, so that a gather moves C values at once), and back. */
static hlo_ref to_rows(tt_lower *L, const sampler *s, hlo_ref x, int64_t size) {
    static const int64_t last[3] = {0, 2, 1};
    int64_t planes[3] = {s->n, s->c, size}, dims[2] = {s->n * size, s->c};
    return hlo_reshape(L->g, hlo_transpose(L->g, hlo_reshape(L->g, x, 3, planes), last), 2, dims);
}

static hlo_ref from_rows(tt_lower *L, const sampler *s, hlo_ref rows, int64_t size, bool output) {
    static const int64_t first[3] = {0, 2, 1};
    int64_t planes[3] = {s->n, size, s->c}, dims[HLO_MAX_RANK] = {s->n, s->c};
    for (int d = 0; d < s->axes; d++)
        dims[d + 2] = output ? s->axis[d].out : s->axis[d].in;
    return hlo_reshape(L->g, hlo_transpose(L->g, hlo_reshape(L->g, rows, 3, planes), first), s->axes + 2, dims);
}

/* A value of the plane over rows [N * places, C]. */
static hlo_ref over_rows(tt_lower *L, const sampler *s, hlo_ref v) {
    int64_t count[1] = {s->n * s->places}, dims[2] = {s->n * s->places, s->c}, map[1] = {0};
    return hlo_broadcast_in_dim(L->g, hlo_reshape(L->g, v, 1, count), 2, dims, map);
}

/* Rows [N * places, C] of the image at the corner; 0 where it is not inside. */
static hlo_ref read_rows(tt_lower *L, const sampler *s, hlo_ref image, const corner *c) {
    static const int64_t zero[1] = {0}, offset[1] = {1};
    int64_t column[2] = {s->n * s->places, 1}, sizes[2] = {1, s->c};
    hlo_dims d = {.kind = HLO_DIMS_GATHER, .a = {1, offset}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref v = hlo_gather(L->g, image, hlo_reshape(L->g, c->flat, 2, column), &d, sizes, NULL);
    return v == HLO_NONE ? v : hlo_select(L->g, over_rows(L, s, c->inside), v, hlo_splat_like(L->g, v, 0));
}

/* One corner of all: [N, 1, places]. */
static hlo_ref as_tap(tt_lower *L, const sampler *s, hlo_ref v) {
    int64_t dims[3] = {s->n, 1, s->places};
    return hlo_reshape(L->g, v, 3, dims);
}

/* [N, C, places]: sums over taps of weight[N, taps, places] image[N, C, at], at: i32 [N, taps, places], below 0 for nothing. The
 * composite tt.pick. */
static hlo_ref picked(tt_lower *L, const sampler *s, hlo_ref image, int taps, const hlo_ref *at, const hlo_ref *weight) {
    static const int64_t first[3] = {0, 2, 1};
    hlo_graph *g = L->g;
    hlo_ref in[3] = {image, hlo_concatenate(g, taps, at, 1), hlo_concatenate(g, taps, weight, 1)}, q[3], sum = HLO_NONE, out;
    hlo_composite c = hlo_composite_begin(g, "tt.pick", NULL, 3, in, q);
    hlo_ref rows = to_rows(L, s, q[0], s->pixels);
    int64_t dims[2] = {s->n, s->places}, planes[3] = {s->n, s->places, s->c};
    hlo_type it = hlo_type_make(TT_I32, 2, dims);
    hlo_ref base = hlo_mul(g, hlo_iota(g, &it, 0), hlo_splat_int(g, &it, s->pixels)), none = hlo_splat_int(g, &it, 0);
    for (int k = 0; k < taps; k++) {
        hlo_ref flat = hlo_reshape(g, hlo_slice_dim(g, q[1], 1, k, k + 1, 1), 2, dims);
        hlo_ref v = read_rows(L, s, rows, &(corner){.flat = hlo_add(g, base, hlo_binary(g, HLO_MAXIMUM, flat, none)),
                                                    .inside = hlo_compare(g, "GE", flat, none)});
        v = hlo_mul(g, v, over_rows(L, s, hlo_reshape(g, hlo_slice_dim(g, q[2], 1, k, k + 1, 1), 2, dims)));
        sum = k ? hlo_add(g, sum, v) : v;
    }
    sum = hlo_transpose(g, hlo_reshape(g, sum, 3, planes), first);
    hlo_composite_end(g, &c, 1, &sum, &out);
    return out;
}

/* grid_sampler_2d, 3d(input, grid, interpolation_mode, padding_mode, align_corners); param: spatial dims */
LOWER(lower_grid_sampler) {
    enum { MOST_CORNERS = 16 };
    sampler s;
    hlo_graph *g = L->g;
    TT_TRY(read_sampler(L, 0, &s));
    hlo_ref at[MOST_CORNERS], weight[MOST_CORNERS];
    int64_t planes[3] = {s.n, s.c, s.pixels}, dims[HLO_MAX_RANK] = {s.n, s.c};
    hlo_type it = hlo_type_with(&s.plane, TT_I32);
    hlo_ref base = hlo_mul(g, hlo_iota(g, &it, 0), hlo_splat_int(g, &it, s.pixels)), nothing = hlo_splat_int(g, &it, -1);
    for (int k = 0, n = corner_count(&s); k < n; k++) {
        corner c = corner_at(L, &s, k);
        at[k] = as_tap(L, &s, hlo_select(g, c.inside, hlo_sub(g, c.flat, base), nothing));
        weight[k] = as_tap(L, &s, c.weight == HLO_NONE ? number(L, &s, 1) : c.weight);
    }
    for (int d = 0; d < s.axes; d++)
        dims[d + 2] = s.axis[d].out;
    hlo_ref image = hlo_reshape(g, hlo_convert(g, lower_value(L, 0), s.plane.dtype), 3, planes);
    hlo_ref y = picked(L, &s, image, corner_count(&s), at, weight);
    lower_out(L, hlo_convert(g, hlo_reshape(g, y, s.axes + 2, dims), s.x.dtype));
    return TT_OK;
}

/* grid_sampler_2d_backward, 3d(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask) ->
 * (grad_input, grad_grid) */
LOWER(lower_grid_sampler_backward) {
    static const int64_t zero[1] = {0}, window[1] = {1}, channel[1] = {1};
    sampler s;
    hlo_graph *g = L->g;
    TT_TRY(read_sampler(L, 1, &s));
    tt_dtype wide = s.plane.dtype;
    int64_t column[2] = {s.n * s.places, 1}, dims[2] = {s.n, s.places}, cell[3] = {s.n, s.places, 1};
    hlo_ref dy = to_rows(L, &s, hlo_convert(g, lower_value(L, 0), wide), s.places);
    hlo_ref image = hlo_convert(g, to_rows(L, &s, lower_value(L, 1), s.pixels), wide), by[MAX_AXES];
    hlo_type it = piece_type(L, image), t = piece_type(L, dy);
    hlo_ref dx = hlo_splat(g, &it, 0), nothing = hlo_splat(g, &t, 0);
    for (int d = 0; d < s.axes; d++)
        by[d] = number(L, &s, 0);
    for (int k = 0, n = corner_count(&s); k < n; k++) {
        corner c = corner_at(L, &s, k);
        hlo_ref w = c.weight == HLO_NONE ? dy : hlo_mul(g, dy, over_rows(L, &s, c.weight));
        w = hlo_select(g, over_rows(L, &s, c.inside), w, nothing);
        hlo_dims d = {.kind = HLO_DIMS_SCATTER, .a = {1, window}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
        dx = hlo_scatter(g, dx, hlo_reshape(g, c.flat, 2, column), w, &d, HLO_ADD, false, NULL);
        if (s.mode == NEAREST)
            continue;
        hlo_ref along = hlo_reduce(g, HLO_ADD, hlo_mul(g, dy, read_rows(L, &s, image, &c)), HLO_NONE, 1, channel);
        along = hlo_reshape(g, along, 2, dims);
        for (int a = 0; a < s.axes; a++)
            by[a] = hlo_add(g, by[a], hlo_mul(g, along, c.by[a]));
    }
    hlo_ref parts[MAX_AXES];
    for (int a = 0; a < s.axes; a++)
        parts[s.axes - 1 - a] = hlo_reshape(g, hlo_mul(g, by[a], s.axis[a].scale), 3, cell);
    hlo_type gt = piece_type(L, lower_value(L, 2));
    hlo_ref grid = hlo_reshape(g, hlo_concatenate(g, s.axes, parts, 2), gt.rank, gt.dims);
    piece_out_if(L, piece_mask(L, 6, 0), hlo_convert(g, from_rows(L, &s, dx, s.pixels, false), s.x.dtype));
    piece_out_if(L, piece_mask(L, 6, 1), hlo_convert(g, grid, s.x.dtype));
    return TT_OK;
}
