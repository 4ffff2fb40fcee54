/* fast_conv_direct.c - convolutions that make poor products: one input channel a group (depthwise), and few
 * outputs summed over long rows (the weight gradient of a depthwise convolution). */
#include "engine/fast_conv.h"
#include <string.h>

enum { MOST_OUTS = 4, MOST_TAPS = 128 };

/* ---- depthwise: sums of shifted rows of a padded copy of one channel ---- */
typedef struct depthwise {
    const conv *c;
    int64_t low[CONV_DIMS], extent[CONV_DIMS]; /* of x that taps reach, padding included */
    int64_t at[MOST_TAPS];                     /* taps in the padded copy, in elements */
    int64_t per_task;                          /* planes */
} depthwise;

/* Copies one channel into the padded image, whose borders are zero already. */
static void pad_channel(const depthwise *d, const char *x, char *to) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    int64_t first[CONV_DIMS], end[CONV_DIMS];
    for (int i = 0; i < CONV_DIMS; i++)
        conv_valid(d->low[i], 1, dim[i].in, d->extent[i], &first[i], &end[i]);
    const size_t bytes = (size_t)((end[2] - first[2]) * c->bytes);
    for (int64_t z = first[0]; z < end[0]; z++)
        for (int64_t y = first[1]; y < end[1]; y++)
            memcpy(to + ((z * d->extent[1] + y) * d->extent[2] + first[2]) * c->bytes,
                   x + ((d->low[0] + z) * dim[0].x + (d->low[1] + y) * dim[1].x + d->low[2] + first[2]) * c->bytes, bytes);
}

static char *blank_image(const depthwise *d) {
    const size_t bytes = (size_t)(d->extent[0] * d->extent[1] * d->extent[2] * d->c->bytes + 64);
    char *image = eng_scratch_need(ENG_SLOT_A, bytes);
    memset(image, 0, bytes);
    return image;
}

static void depthwise_plane(const depthwise *d, int64_t task, char *image) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t n = task / c->groups, g = task % c->groups, plane = d->extent[1] * d->extent[2];
    pad_channel(d, c->x + (n * c->x_batch + g * c->x_group) * c->bytes, image);
    /* y with gaps is written through rows without */
    char *rows =
        dim[2].y == 1 ? NULL : eng_scratch_need(ENG_SLOT_B, (size_t)(dim[1].out * dim[2].out * c->bytes));
    for (int64_t o = 0; o < c->outs; o++) {
        float w[MOST_TAPS];
        const int64_t run = c->weights_step == 1 ? c->taps : 1;
        for (int64_t t = 0; t < c->taps; t += run)
            c->kernels->widen(c->dtype, &w[t],
                              c->w + (g * c->w_group + o * c->w_out + c->tap_weight[t]) * c->bytes, run);
        for (int64_t z = 0; z < dim[0].out; z++) {
            char *y = c->y + (n * c->y_batch + g * c->y_group + o * c->y_out + z * dim[0].y) * c->bytes;
            c->kernels->taps_rows(c->dtype, (int)c->taps, w, d->at,
                                  image + z * dim[0].step * plane * c->bytes, dim[1].step * d->extent[2],
                                  dim[2].step, dim[1].out, dim[2].out, rows ? rows : y,
                                  rows ? dim[2].out : dim[1].y);
            for (int64_t q = 0; q < dim[1].out && rows; q++)
                conv_copy(y + q * dim[1].y * c->bytes, dim[2].y, rows + q * dim[2].out * c->bytes, 1,
                          dim[2].out, c->bytes);
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

/* What taps reach of x; false: too much to copy. */
static bool set_extent(depthwise *d) {
    int64_t elements = 1;
    for (int i = 0; i < CONV_DIMS; i++) {
        const conv_dim *dim = &d->c->dim[i];
        d->low[i] = dim->at[0];
        d->extent[i] = dim->at[dim->n_taps - 1] - dim->at[0] + (dim->out - 1) * dim->step + 1;
        if (d->extent[i] > (int64_t)1 << 20)
            return false;
        elements *= d->extent[i];
    }
    return elements <= (int64_t)1 << 22;
}

static bool run_depthwise(const conv *c) {
    depthwise d = {.c = c};
    if (!set_extent(&d))
        return false;
    for (int64_t t = 0; t < c->taps; t++) {
        int64_t tap[CONV_DIMS];
        conv_tap(c, t, tap);
        for (int i = 0; i < CONV_DIMS; i++)
            d.at[t] = d.at[t] * d.extent[i] + c->dim[i].at[tap[i]] - d.low[i];
    }
    const int64_t outputs = c->outs * c->positions, planes = c->batch * c->groups;
    d.per_task = eng_max(1, eng_min(planes / (4 * eng_pool_size()), (1 << 15) / eng_max(outputs, 1)));
    eng_parallel(eng_blocks(planes, d.per_task), depthwise_task, &d);
    return true;
}

/* ---- weight gradients of depthwise convolutions: y[o, position] = sum over channels and taps, the taps long
 * rows ---- */
static void rows_task(void *context, int64_t task, int worker) {
    (void)worker;
    const depthwise *d = context;
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t g = task / c->batch, n = task % c->batch, plane = d->extent[1] * d->extent[2];
    double sums[MOST_OUTS][MOST_TAPS] = {{0}};
    char *image = blank_image(d);
    for (int64_t k = 0; k < c->channels; k++) {
        pad_channel(d, c->x + (g * c->x_group + n * c->x_batch + k * c->x_channel) * c->bytes, image);
        for (int64_t o = 0; o < c->outs; o++)
            for (int64_t tz = 0; tz < dim[0].n_taps; tz++)
                c->kernels->taps_dots(
                    c->dtype, (int)c->positions, d->at, image + tz * dim[0].tap_step * plane * c->bytes,
                    dim[1].tap_step * d->extent[2], dim[2].tap_step,
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

static bool in_order(const conv_dim *d) {
    for (int64_t t = 0; t < d->n_taps; t++)
        if (d->weight[t] != t)
            return false;
    return true;
}

static bool run_rows(const conv *c) {
    depthwise d = {.c = c};
    if (!set_extent(&d))
        return false;
    for (int64_t p = 0; p < c->positions; p++) {
        const int64_t pos[CONV_DIMS] = {p / c->dim[2].out / c->dim[1].out, p / c->dim[2].out % c->dim[1].out,
                                        p % c->dim[2].out};
        for (int i = 0; i < CONV_DIMS; i++)
            d.at[p] = d.at[p] * d.extent[i] + pos[i] * c->dim[i].step;
    }
    eng_parallel(c->groups * c->batch, rows_task, &d);
    return true;
}

bool conv_direct(const conv *c) {
    const conv_dim *inner = &c->dim[2];
    if (c->dtype == TT_F64 || c->outs > MOST_OUTS || inner->x != 1)
        return false;
    if (c->channels == 1 && c->taps <= MOST_TAPS && inner->out >= 4)
        return run_depthwise(c);
    if (c->groups > 1 && c->positions <= MOST_TAPS && inner->w == 1 && inner->n_taps >= 4 &&
        in_order(&c->dim[1]) && in_order(inner))
        return run_rows(c);
    return false;
}
