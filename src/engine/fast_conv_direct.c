/* fast_conv_direct.c - convolutions that make poor products: one input channel a group (depthwise) or a few, few outputs
 * summed over long rows (the weight gradient of a depthwise convolution), and the weight gradient of a few channels. */
#include "engine/fast_conv.h"
#include "engine/fast.h"
#include <string.h>

enum { MOST_OUTS = 4, MOST_CHANNELS = 8, MOST_TAPS = 256, MOST_POSITIONS = 128, MOST_COLUMNS = 512, LINE_TAPS = 256 };

/* ---- depthwise: sums of shifted rows of a padded copy of one channel ---- */
typedef struct depthwise {
    const conv *c;
    int64_t low[CONV_DIMS], extent[CONV_DIMS]; /* of x that taps reach, padding included */
    int64_t at[MOST_TAPS];                     /* taps in the padded copy, in elements */
    int64_t per_task;                          /* planes */
    int64_t plane, copies;                     /* elements of a channel; channels copied at a time */
    bool window;                               /* `at` holds the taps of a row only */
    int64_t row, half;                         /* of the copy, in elements; half: rows are split, odd places from there on */
    tt_dtype dtype;                            /* of the copy and of y: x's, or f32 */
    int64_t bytes;
} depthwise;

typedef uint32_t v8 __attribute__((vector_size(32)));
typedef uint32_t v8_any __attribute__((vector_size(32), aligned(4), may_alias));

/* n elements for the places from `first` on: even places together, odd ones from `half` on. */
static FAST_CLONES void split_row(uint32_t *to, int64_t half, const uint32_t *x, int64_t first, int64_t n) {
    uint32_t *even = to + (first + 1) / 2, *odd = to + half + first / 2;
    int64_t i = 0;
    if (first % 2 && n > 0)
        *odd++ = *x++, n--;
    for (; 2 * i + 16 <= n; i += 8) {
        const v8 a = *(const v8_any *)(x + 2 * i), b = *(const v8_any *)(x + 2 * i + 8);
        *(v8_any *)(even + i) = __builtin_shuffle(a, b, (v8){0, 2, 4, 6, 8, 10, 12, 14});
        *(v8_any *)(odd + i) = __builtin_shuffle(a, b, (v8){1, 3, 5, 7, 9, 11, 13, 15});
    }
    for (; i < n / 2; i++) {
        even[i] = x[2 * i];
        odd[i] = x[2 * i + 1];
    }
    if (n % 2)
        even[n / 2] = x[n - 1];
}

/* Copies one channel into the padded image, whose borders are zero already. */
static void pad_channel(const depthwise *d, const char *x, char *to) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    int64_t first[CONV_DIMS], end[CONV_DIMS];
    for (int i = 0; i < CONV_DIMS; i++)
        conv_valid(d->low[i], 1, dim[i].in, d->extent[i], &first[i], &end[i]);
    for (int64_t z = first[0]; z < end[0]; z++)
        for (int64_t y = first[1]; y < end[1]; y++) {
            char *row = to + (z * d->extent[1] + y) * d->row * d->bytes;
            const char *from = x + ((d->low[0] + z) * dim[0].x + (d->low[1] + y) * dim[1].x + d->low[2] + first[2]) * c->bytes;
            const int64_t n = end[2] - first[2];
            if (d->dtype != c->dtype) {
                float *wide = d->half ? (float *)(void *)(to + d->copies * d->plane * d->bytes) : (float *)(void *)row + first[2];
                c->kernels->widen(c->dtype, wide, from, n);
                if (!d->half)
                    continue;
                from = (const char *)wide;
            }
            if (d->half)
                split_row((uint32_t *)(void *)row, d->half, (const uint32_t *)(const void *)from, first[2], n);
            else
                memcpy(row + first[2] * c->bytes, from, (size_t)(n * c->bytes));
        }
}

/* Place i of a row of the copy. */
static int64_t place(const depthwise *d, int64_t i) {
    return d->half ? i % 2 * d->half + i / 2 : i;
}

static char *blank_image(const depthwise *d) {
    /* whole vectors are read; after them a row as f32 */
    const size_t bytes = (size_t)(d->copies * d->plane * d->bytes + 256), row = d->dtype != d->c->dtype ? (size_t)d->row * 4 : 0;
    char *image = eng_scratch_need(ENG_SLOT_A, bytes + row);
    memset(image, 0, bytes);
    return image;
}

/* Rows of output (z, all) of one channel. */
static void depthwise_rows(const depthwise *d, const float *w, const char *image, int64_t z, char *y, int64_t y_row) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const char *x = image + z * dim[0].step * d->extent[1] * d->row * d->bytes;
    const int64_t step = d->half ? 1 : dim[2].step;
    if (d->window) {
        const eng_window v = {(int)c->channels, (int)dim[1].n_taps, (int)dim[2].n_taps, d->plane, d->row, dim[1].step, y_row, w, d->at};
        c->kernels->window_rows(d->dtype, &v, x, dim[1].out, dim[2].out, y);
    } else {
        c->kernels->taps_rows(d->dtype, (int)c->taps, w, d->at, x, dim[1].step * d->row, step, dim[1].out, dim[2].out, y, y_row);
    }
}

static void depthwise_plane(const depthwise *d, int64_t task, char *image) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t n = task / c->groups, g = task % c->groups;
    for (int64_t k = 0; k < c->channels; k++)
        pad_channel(d, c->x + (n * c->x_batch + g * c->x_group + k * c->x_channel) * c->bytes, image + k * d->plane * d->bytes);
    /* y with gaps is written through rows without */
    char *rows =
        dim[2].y == 1 ? NULL : eng_scratch_need(ENG_SLOT_B, (size_t)(dim[1].out * dim[2].out * d->bytes));
    for (int64_t o = 0; o < c->outs; o++) {
        float w[MOST_TAPS];
        const int64_t run = c->weights_step == 1 ? c->taps : 1;
        for (int64_t t = 0; t < c->channels * c->taps; t += run)
            c->kernels->widen(c->dtype, &w[t],
                              c->w + (g * c->w_group + o * c->w_out + t / c->taps * c->w_channel + c->tap_weight[t % c->taps]) * c->bytes,
                              run);
        for (int64_t z = 0; z < dim[0].out; z++) {
            char *y = c->y + (n * c->y_batch + g * c->y_group + o * c->y_out + z * dim[0].y) * d->bytes;
            depthwise_rows(d, w, image, z, rows ? rows : y, rows ? dim[2].out : dim[1].y);
            for (int64_t q = 0; q < dim[1].out && rows; q++)
                conv_copy(y + q * dim[1].y * d->bytes, dim[2].y, rows + q * dim[2].out * d->bytes, 1, dim[2].out, d->bytes);
        }
    }
}

static void depthwise_task(void *context, int64_t task, int worker) {
    (void)worker;
    const depthwise *d = context;
    char *image = blank_image(d);
    for (int64_t i = task * d->per_task; i < eng_min((task + 1) * d->per_task, d->c->batch * d->c->groups); i++)
        depthwise_plane(d, i, image);
}

/* What taps reach of x, rows split if they are read with step 2; false: too much to copy. */
static bool set_extent(depthwise *d, int64_t step) {
    int64_t elements = 1;
    for (int i = 0; i < CONV_DIMS; i++) {
        const conv_dim *dim = &d->c->dim[i];
        d->low[i] = dim->at[0];
        d->extent[i] = dim->at[dim->n_taps - 1] - dim->at[0] + (dim->out - 1) * dim->step + 1;
        if (d->extent[i] > (int64_t)1 << 20)
            return false;
        elements *= d->extent[i];
    }
    d->dtype = d->c->y_dtype;
    d->bytes = d->c->y_bytes;
    d->half = step == 2 && d->bytes == 4 ? (d->extent[2] + 1) / 2 : 0; /* 16-bit elements: pairs are split as they are read */
    d->row = d->half ? 2 * d->half : d->extent[2];
    d->plane = d->extent[0] * d->extent[1] * d->row;
    d->copies = 1;
    return elements <= (int64_t)1 << 22;
}

/* Small planes several to a task, which clears its image once. */
static void share_planes(depthwise *d, int64_t work) {
    const int64_t planes = d->c->batch * d->c->groups;
    d->per_task = eng_max(1, eng_min(planes / (4 * eng_pool_size()), (1 << 15) / eng_max(work, 1)));
}

static bool run_depthwise(const conv *c) {
    depthwise d = {.c = c};
    if (!set_extent(&d, c->dim[2].step))
        return false;
    d.copies = c->channels;
    d.window = c->dim[0].n_taps == 1 && (c->channels > 1 || c->dim[1].n_taps >= 5) && (c->dim[1].n_taps == 1 || c->dim[1].tap_step == 1) && (d.half || c->dim[2].step == 1);
    if (!d.window && c->channels > 1)
        return false;
    for (int64_t t = 0; t < c->dim[2].n_taps && d.window; t++)
        d.at[t] = place(&d, c->dim[2].at[t] - d.low[2]);
    for (int64_t t = 0; t < c->taps && !d.window; t++) {
        int64_t tap[CONV_DIMS];
        conv_tap(c, t, tap);
        for (int i = 0; i < CONV_DIMS - 1; i++)
            d.at[t] = d.at[t] * d.extent[i] + c->dim[i].at[tap[i]] - d.low[i];
        d.at[t] = d.at[t] * d.row + place(&d, c->dim[2].at[tap[2]] - d.low[2]);
    }
    share_planes(&d, c->outs * c->positions);
    eng_parallel(eng_blocks(c->batch * c->groups, d.per_task), depthwise_task, &d);
    return true;
}

/* ---- weight gradients of depthwise convolutions: y[o, position] = sum over channels and taps, the taps long
 * rows ---- */
static void rows_of_image(const depthwise *d, int64_t task, char *image) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t g = task / c->batch, n = task % c->batch, plane = d->extent[1] * d->row;
    double sums[MOST_OUTS][MOST_POSITIONS] = {{0}};
    for (int64_t k = 0; k < c->channels; k++) {
        pad_channel(d, c->x + (g * c->x_group + n * c->x_batch + k * c->x_channel) * c->bytes, image);
        for (int64_t o = 0; o < c->outs; o++)
            for (int64_t tz = 0; tz < dim[0].n_taps; tz++)
                c->kernels->taps_dots(
                    c->dtype, (int)c->positions, d->at, image + tz * dim[0].tap_step * plane * c->bytes,
                    dim[1].tap_step * d->row, d->half ? 1 : dim[2].tap_step,
                    c->w + (g * c->w_group + o * c->w_out + k * c->w_channel + dim[0].weight[tz] * dim[0].w) *
                               c->bytes,
                    dim[1].w, dim[1].n_taps, dim[2].n_taps, sums[o]);
    }
    for (int64_t o = 0; o < c->outs; o++)
        for (int64_t p = 0; p < c->positions; p++) {
            const float sum = (float)sums[o][p];
            const int64_t y = g * c->y_group + n * c->y_batch + o * c->y_out + p % dim[2].out * dim[2].y +
                              p / dim[2].out % dim[1].out * dim[1].y + p / dim[2].out / dim[1].out * dim[0].y;
            c->kernels->narrow(c->dtype, c->y + y * c->bytes, &sum, 1);
        }
}

static void rows_task(void *context, int64_t task, int worker) {
    (void)worker;
    const depthwise *d = context;
    char *image = blank_image(d);
    for (int64_t i = task * d->per_task; i < eng_min((task + 1) * d->per_task, d->c->groups * d->c->batch); i++)
        rows_of_image(d, i, image);
}

static bool in_order(const conv_dim *d) {
    for (int64_t t = 0; t < d->n_taps; t++)
        if (d->weight[t] != t)
            return false;
    return true;
}

static bool run_rows(const conv *c) {
    depthwise d = {.c = c};
    if (!set_extent(&d, c->dim[2].tap_step))
        return false;
    for (int64_t p = 0; p < c->positions; p++) {
        const int64_t pos[CONV_DIMS] = {p / c->dim[2].out / c->dim[1].out, p / c->dim[2].out % c->dim[1].out,
                                        p % c->dim[2].out};
        for (int i = 0; i < CONV_DIMS - 1; i++)
            d.at[p] = d.at[p] * d.extent[i] + pos[i] * c->dim[i].step;
        d.at[p] = d.at[p] * d.row + place(&d, pos[2] * c->dim[2].step);
    }
    share_planes(&d, c->channels * c->taps);
    eng_parallel(eng_blocks(c->groups * c->batch, d.per_task), rows_task, &d);
    return true;
}

bool conv_direct(const conv *c) {
    const conv_dim *inner = &c->dim[2];
    if (c->dtype == TT_F64 || c->outs > MOST_CHANNELS || inner->x != 1)
        return false;
    const bool few = c->channels == 1 || (c->groups > 1 && c->channels <= MOST_CHANNELS);
    if (few && c->channels * c->taps <= MOST_TAPS && inner->out >= 4 && run_depthwise(c))
        return true;
    if (c->y_dtype == c->dtype && c->groups > 1 && c->outs <= MOST_OUTS && c->positions <= MOST_POSITIONS && inner->w == 1 && inner->n_taps >= 4 &&
        in_order(&c->dim[1]) && in_order(inner))
        return run_rows(c);
    return false;
}

/* ---- weight gradients of a few channels: few columns, which panels would fill piece by piece. Rows and columns change places:
 * the positions of a line of y, neighbours in x, are the rows of a tile, read where they lie; outs are its lanes ---- */
typedef struct lines {
    const conv *c;
    int64_t lanes, panels, steps; /* outs of a tile; tiles a group; taps at a time */
    int64_t spans, span;          /* of k: of each the sums are kept apart, and added up in the end */
    const int32_t *x_at, *w_at;   /* by tap, in bytes */
    float *sums;                  /* [span][group][panel][column][lane] */
} lines;

static float *lines_sums(const lines *l, int64_t span, int64_t panel) {
    return l->sums + (span * l->c->groups * l->panels + panel) * l->c->columns * l->lanes;
}

static void lines_task(void *context, int64_t task, int worker) {
    (void)worker;
    const lines *l = context;
    const conv *c = l->c;
    const conv_dim *d = c->dim;
    const eng_flavor *f = c->f;
    const int64_t panel = task / l->spans, g = panel / l->panels, o = panel % l->panels * l->lanes, m = eng_min(c->outs - o, l->lanes);
    const int64_t first = task % l->spans * l->span, end = eng_min(c->k, first + l->span), rows = d[2].out;
    char *w = eng_scratch_need(ENG_SLOT_B, (size_t)((l->steps + 1) * f->nr * 4)); /* whole vectors are read */
    float *sums = lines_sums(l, task % l->spans, panel);
    memset(w, 0, (size_t)((l->steps + 1) * f->nr * 4));
    for (int64_t k = first; k < end;) {
        const int64_t t = k % c->taps, count = eng_min(eng_min(l->steps, c->taps - t), end - k);
        conv_pack_weights(c, g, o, m, k, count, w);
        for (int64_t line = 0; line < c->columns / rows; line++) {
            int64_t n, pos[CONV_DIMS];
            conv_locate(c, line * rows, &n, pos);
            const char *x = c->x + (g * c->x_group + n * c->x_batch + k / c->taps * c->x_channel + pos[0] * d[0].step * d[0].x +
                                    pos[1] * d[1].step * d[1].x) * c->bytes;
            f->lanes[rows](count, x, c->bytes, l->x_at + t, w, w + f->nr / 2 * 4, m == f->nr ? l->w_at : l->w_at + l->steps, x, l->x_at + t,
                           sums + line * rows * f->nr, f->nr, k > first);
        }
        k += count;
    }
}

static void lines_end_task(void *context, int64_t panel, int worker) {
    (void)worker;
    const lines *l = context;
    const conv *c = l->c;
    const int64_t g = panel / l->panels, o = panel % l->panels * l->lanes, m = eng_min(c->outs - o, l->lanes);
    float *sums = lines_sums(l, 0, panel);
    for (int64_t s = 1; s < l->spans; s++)
        c->kernels->add(sums, lines_sums(l, s, panel), c->columns * l->lanes);
    for (int64_t n = 0; n < c->batch; n++)
        c->f->unlay(TT_F32, c->y + (g * c->y_group + o * c->y_out + n * c->y_batch) * 4, c->y_out, sums + n * c->positions * l->lanes,
                    l->lanes, m, c->positions);
}

bool conv_has_lines(const conv *c) {
    const conv_dim *inner = &c->dim[2];
    const int64_t elements = inner->in * c->dim[1].in * c->dim[0].in;
    return c->dtype == TT_F32 && c->y_dtype == TT_F32 && c->batch <= 4 && inner->out >= 3 && inner->out <= c->f->mr && c->taps >= 256 &&
           c->outs >= c->f->nr / 2 && inner->x == 1 && inner->step == 1 && c->y_linear && c->columns <= MOST_COLUMNS && !c->tap_major && elements < (int64_t)1 << 27;
}

int64_t conv_lines_bytes(const conv *c) {
    const int64_t lanes = c->columns * eng_round_up(c->outs, c->f->nr);
    return conv_spans(c, c->columns) * c->groups * lanes * 4;
}

tt_status conv_by_lines(const conv *c, int64_t copied) {
    lines l = {.c = c, .lanes = c->f->nr, .steps = LINE_TAPS};
    l.panels = eng_blocks(c->outs, l.lanes);
    l.span = eng_round_up(eng_blocks(c->k, conv_spans(c, c->columns)), l.steps);
    l.spans = eng_blocks(c->k, l.span);
    const int64_t bytes = copied + conv_lines_bytes(c);
    char *shared;
    TT_TRY(conv_shared_scratch(bytes, &shared));
    l.sums = (float *)(void *)(shared + copied);
    int32_t *x_at = TT_NEW_N(c->arena, int32_t, c->taps), *w_at = TT_NEW_N(c->arena, int32_t, 2 * l.steps);
    int64_t *at = TT_NEW_N(c->arena, int64_t, c->taps);
    conv_over_taps(c, true, at);
    for (int64_t t = 0; t < c->taps; t++)
        x_at[t] = (int32_t)(at[t] * c->bytes);
    for (int64_t t = 0; t < l.steps; t++) {
        w_at[t] = (int32_t)(t * l.lanes * 4);
        w_at[l.steps + t] = (int32_t)(t * (c->outs % l.lanes) * 4); /* of the last outs */
    }
    l.x_at = x_at;
    l.w_at = w_at;
    eng_parallel(c->groups * l.panels * l.spans, lines_task, &l);
    eng_parallel(c->groups * l.panels, lines_end_task, &l);
    return TT_OK;
}
