/* grid_sample.c - grid_sampler_2d (bilinear and nearest; zeros, border and reflection padding) and its
 * gradient.
 *
 * Each output reads one or four places given by the grid; a place is a flat position in its image, and one
 * outside counts 0. The gradient of the input scatters, that of the grid follows from the weights. */
#include "aten/pieces.h"

enum { BILINEAR = 0, NEAREST = 1, CUBIC = 2 };
enum { ZEROS = 0, BORDER = 1, REFLECTION = 2 };

typedef struct sampler {
    int64_t n, c, ih, iw, oh, ow;
    int mode, padding;
    bool align;
    hlo_type x, plane;      /* input; [N, OH, OW] in the wide type */
    hlo_ref px, py, sx, sy; /* positions, and their derivatives by the grid */
} sampler;

static hlo_ref number(tt_lower *L, const sampler *s, double v) {
    return hlo_splat(L->g, &s->plane, v);
}

/* From [-1, 1] to pixels, then into range by border or reflection; *slope is multiplied by the derivative. */
static hlo_ref place(tt_lower *L, const sampler *s, hlo_ref x, int64_t size, hlo_ref *slope) {
    hlo_graph *g = L->g;
    double scale = s->align ? (double)(size - 1) / 2 : (double)size / 2;
    hlo_ref one = number(L, s, 1), zero = number(L, s, 0);
    x = s->align ? hlo_mul(g, hlo_add(g, x, one), number(L, s, scale))
                 : hlo_mul(g, hlo_sub(g, hlo_mul(g, hlo_add(g, x, one), number(L, s, (double)size)), one),
                           number(L, s, 0.5));
    *slope = number(L, s, scale);
    if (s->padding == REFLECTION) {
        double low = s->align ? 0 : -0.5, span = s->align ? (double)(size - 1) : (double)size;
        if (span <= 0) {
            x = zero, *slope = zero;
        } else {
            hlo_ref d = hlo_sub(g, x, number(L, s, low)), away = hlo_unary(g, HLO_ABS, d);
            hlo_ref sign = hlo_select(g, hlo_compare(g, "LT", d, zero), number(L, s, -1), one);
            hlo_ref rest = hlo_binary(g, HLO_REMAINDER, away, number(L, s, span)),
                    flips = hlo_unary(g, HLO_FLOOR, hlo_div(g, away, number(L, s, span)));
            hlo_ref odd = hlo_compare(g, "NE", hlo_binary(g, HLO_REMAINDER, flips, number(L, s, 2)), zero);
            x = hlo_select(g, odd, hlo_add(g, hlo_sub(g, number(L, s, span), rest), number(L, s, low)),
                           hlo_add(g, rest, number(L, s, low)));
            *slope = hlo_mul(g, *slope, hlo_select(g, odd, hlo_unary(g, HLO_NEGATE, sign), sign));
        }
    }
    if (s->padding != ZEROS) {
        hlo_ref last = number(L, s, (double)(size - 1));
        hlo_ref inside = hlo_binary(g, HLO_AND, hlo_compare(g, "GT", x, zero), hlo_compare(g, "LT", x, last));
        *slope = hlo_select(g, inside, *slope, zero);
        x = hlo_clamp(g, zero, x, last);
    }
    return x;
}

static tt_status read_sampler(tt_lower *L, int x_arg, sampler *s) {
    hlo_graph *g = L->g;
    memset(s, 0, sizeof *s);
    s->x = piece_type(L, lower_value(L, x_arg));
    hlo_type gt = piece_type(L, lower_value(L, x_arg + 1));
    TT_CHECK(s->x.rank == 4 && gt.rank == 4 && gt.dims[3] == 2 && gt.dims[0] == s->x.dims[0],
             INVALID_ARGUMENT, "grid_sampler(): expected a 4D input and a grid [N, H, W, 2]");
    TT_CHECK(tt_is_float(s->x.dtype) && gt.dtype == s->x.dtype, UNIMPLEMENTED, "grid_sampler of %s",
             tt_dtype_name(s->x.dtype));
    s->n = s->x.dims[0], s->c = s->x.dims[1], s->ih = s->x.dims[2], s->iw = s->x.dims[3], s->oh = gt.dims[1],
    s->ow = gt.dims[2];
    s->mode = (int)lower_int(L, x_arg + 2, 0);
    s->padding = (int)lower_int(L, x_arg + 3, 0);
    s->align = lower_bool(L, x_arg + 4, false);
    TT_CHECK(s->mode != CUBIC, UNIMPLEMENTED, "grid_sampler, bicubic");
    TT_CHECK(hlo_type_elements(&s->x) > 0 && s->n * s->oh * s->ow > 0, UNIMPLEMENTED,
             "grid_sampler of empty tensors");
    TT_CHECK(hlo_type_elements(&s->x) < INT32_MAX, UNIMPLEMENTED, "grid_sampler of 2^31 elements");
    tt_dtype wide = lower_accumulate_dtype(s->x.dtype);
    int64_t dims[3] = {s->n, s->oh, s->ow};
    s->plane = hlo_type_make(wide, 3, dims);
    hlo_ref grid = hlo_convert(g, lower_value(L, x_arg + 1), wide);
    s->px = place(L, s, hlo_reshape(g, hlo_slice_dim(g, grid, 3, 0, 1, 1), 3, dims), s->iw, &s->sx);
    s->py = place(L, s, hlo_reshape(g, hlo_slice_dim(g, grid, 3, 1, 2, 1), 3, dims), s->ih, &s->sy);
    return TT_OK;
}

/* The image rows [N*IH*IW, C] (channels last, so that a gather moves C values at once). */
static hlo_ref pixels(tt_lower *L, const sampler *s, hlo_ref x) {
    static const int64_t last[4] = {0, 2, 3, 1};
    int64_t dims[2] = {s->n * s->ih * s->iw, s->c};
    return hlo_reshape(L->g, hlo_transpose(L->g, x, last), 2, dims);
}

/* The flat pixel at (y, x), both whole numbers in the wide type, and whether it exists. NaN positions do not.
 */
static hlo_ref flat_pixel(tt_lower *L, const sampler *s, hlo_ref y, hlo_ref x, hlo_ref *inside) {
    hlo_graph *g = L->g;
    hlo_type it = hlo_type_with(&s->plane, TT_I32);
    hlo_ref zero = number(L, s, 0), h = number(L, s, (double)(s->ih - 1)),
            w = number(L, s, (double)(s->iw - 1));
    hlo_ref in_y = hlo_binary(g, HLO_AND, hlo_compare(g, "GE", y, zero), hlo_compare(g, "LE", y, h));
    *inside = hlo_binary(g, HLO_AND, in_y,
                         hlo_binary(g, HLO_AND, hlo_compare(g, "GE", x, zero), hlo_compare(g, "LE", x, w)));
    hlo_ref iy = hlo_convert(g, hlo_select(g, *inside, y, zero), TT_I32),
            ix = hlo_convert(g, hlo_select(g, *inside, x, zero), TT_I32);
    hlo_ref flat = hlo_add(g, hlo_mul(g, iy, hlo_splat_int(g, &it, s->iw)), ix);
    return hlo_add(g, flat, hlo_mul(g, hlo_iota(g, &it, 0), hlo_splat_int(g, &it, s->ih * s->iw)));
}

/* [N, OH, OW, C] at flat pixels; 0 where not inside. */
static hlo_ref read_pixels(tt_lower *L, const sampler *s, hlo_ref image, hlo_ref flat, hlo_ref inside) {
    static const int64_t zero[1] = {0}, offset[1] = {3}, map[3] = {0, 1, 2};
    int64_t dims[4] = {s->n, s->oh, s->ow, 1}, sizes[2] = {1, s->c};
    hlo_dims d = {
        .kind = HLO_DIMS_GATHER, .a = {1, offset}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 3};
    hlo_ref v = hlo_gather(L->g, image, hlo_reshape(L->g, flat, 4, dims), &d, sizes, NULL);
    hlo_type t = piece_type(L, v), pt = hlo_type_with(&t, TT_PRED);
    return hlo_select(L->g, piece_broadcast(L, inside, &pt, 3, map), v, hlo_splat_like(L->g, v, 0));
}

typedef struct corner {
    hlo_ref flat, inside, weight, by_x, by_y;
} corner; /* by_*: the weight's derivatives by position */

/* The places an output reads, with weights: four of the surrounding square, or the nearest one (ties to
 * even). */
static int corners(tt_lower *L, const sampler *s, corner *out) {
    hlo_graph *g = L->g;
    hlo_ref one = number(L, s, 1);
    if (s->mode == NEAREST) {
        hlo_ref x = hlo_unary(g, HLO_ROUND_EVEN, s->px), y = hlo_unary(g, HLO_ROUND_EVEN, s->py);
        out[0].flat = flat_pixel(L, s, y, x, &out[0].inside);
        out[0].weight = one;
        return 1;
    }
    hlo_ref x0 = hlo_unary(g, HLO_FLOOR, s->px), y0 = hlo_unary(g, HLO_FLOOR, s->py),
            fx = hlo_sub(g, s->px, x0), fy = hlo_sub(g, s->py, y0);
    hlo_ref rx = hlo_sub(g, one, fx), ry = hlo_sub(g, one, fy);
    for (int k = 0; k < 4; k++) {
        bool right = k & 1, down = k & 2;
        hlo_ref wx = right ? fx : rx, wy = down ? fy : ry;
        out[k].flat = flat_pixel(L, s, down ? hlo_add(g, y0, one) : y0, right ? hlo_add(g, x0, one) : x0,
                                 &out[k].inside);
        out[k].weight = hlo_mul(g, wx, wy);
        out[k].by_x = right ? wy : hlo_unary(g, HLO_NEGATE, wy);
        out[k].by_y = down ? wx : hlo_unary(g, HLO_NEGATE, wx);
    }
    return 4;
}

/* grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners) */
LOWER(lower_grid_sampler) {
    sampler s;
    hlo_graph *g = L->g;
    TT_TRY(read_sampler(L, 0, &s));
    corner c[4];
    static const int64_t map[3] = {0, 1, 2}, first[4] = {0, 3, 1, 2};
    hlo_ref image = hlo_convert(g, pixels(L, &s, lower_value(L, 0)), s.plane.dtype), sum = HLO_NONE;
    for (int k = 0, n = corners(L, &s, c); k < n; k++) {
        hlo_ref v = read_pixels(L, &s, image, c[k].flat, c[k].inside);
        hlo_type t = piece_type(L, v);
        if (n > 1)
            v = hlo_mul(g, v, piece_broadcast(L, c[k].weight, &t, 3, map));
        sum = sum ? hlo_add(g, sum, v) : v;
    }
    lower_out(L, hlo_convert(g, hlo_transpose(g, sum, first), s.x.dtype));
    return TT_OK;
}

/* grid_sampler_2d_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners,
 * output_mask) -> (grad_input, grad_grid) */
LOWER(lower_grid_sampler_backward) {
    sampler s;
    hlo_graph *g = L->g;
    TT_TRY(read_sampler(L, 1, &s));
    corner c[4];
    static const int64_t map[3] = {0, 1, 2}, last[4] = {0, 2, 3, 1}, first[4] = {0, 3, 1, 2}, zero[1] = {0},
                         window[1] = {1}, channel[1] = {3};
    tt_dtype wide = s.plane.dtype;
    int n = corners(L, &s, c);
    int64_t count = s.n * s.oh * s.ow, column[2] = {count, 1}, rows[2] = {count, s.c},
            nhwc[4] = {s.n, s.ih, s.iw, s.c}, pair[4] = {s.n, s.oh, s.ow, 1};
    hlo_ref dy = hlo_transpose(g, hlo_convert(g, lower_value(L, 0), wide), last),
            image = hlo_convert(g, pixels(L, &s, lower_value(L, 1)), wide);
    hlo_type t = piece_type(L, dy), pt = hlo_type_with(&t, TT_PRED), it = piece_type(L, image);
    hlo_ref dx = hlo_splat(g, &it, 0), gx = number(L, &s, 0), gy = gx;
    for (int k = 0; k < n; k++) {
        hlo_ref w =
            hlo_select(g, piece_broadcast(L, c[k].inside, &pt, 3, map),
                       hlo_mul(g, dy, piece_broadcast(L, c[k].weight, &t, 3, map)), hlo_splat(g, &t, 0));
        hlo_dims d = {.kind = HLO_DIMS_SCATTER,
                      .a = {1, window},
                      .b = {1, zero},
                      .e = {1, zero},
                      .index_vector_dim = 1};
        dx = hlo_scatter(g, dx, hlo_reshape(g, c[k].flat, 2, column), hlo_reshape(g, w, 2, rows), &d, HLO_ADD,
                         false, NULL);
        if (s.mode != BILINEAR)
            continue;
        hlo_ref along =
            hlo_reduce(g, HLO_ADD, hlo_mul(g, dy, read_pixels(L, &s, image, c[k].flat, c[k].inside)),
                       HLO_NONE, 1, channel);
        gx = hlo_add(g, gx, hlo_mul(g, along, c[k].by_x));
        gy = hlo_add(g, gy, hlo_mul(g, along, c[k].by_y));
    }
    hlo_ref grid[2] = {hlo_reshape(g, hlo_mul(g, gx, s.sx), 4, pair),
                       hlo_reshape(g, hlo_mul(g, gy, s.sy), 4, pair)};
    piece_out_if(L, piece_mask(L, 6, 0),
                 hlo_convert(g, hlo_transpose(g, hlo_reshape(g, dx, 4, nhwc), first), s.x.dtype));
    piece_out_if(L, piece_mask(L, 6, 1), hlo_convert(g, hlo_concatenate(g, 2, grid, 3), s.x.dtype));
    return TT_OK;
}
