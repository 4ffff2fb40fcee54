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
} depthwise;

static void pad_channel(const depthwise *d, const char *x, char *to) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t row = d->extent[2] * c->bytes;
    int64_t first, end;
    conv_valid(d->low[2], 1, dim[2].in, d->extent[2], &first, &end);
    for (int64_t z = d->low[0]; z < d->low[0] + d->extent[0]; z++)
        for (int64_t y = d->low[1]; y < d->low[1] + d->extent[1]; y++, to += row) {
            if (z < 0 || z >= dim[0].in || y < 0 || y >= dim[1].in || end <= first) {
                memset(to, 0, (size_t)row);
                continue;
            }
            memset(to, 0, (size_t)(first * c->bytes));
            memcpy(to + first * c->bytes, x + (z * dim[0].x + y * dim[1].x + d->low[2] + first) * c->bytes,
                   (size_t)((end - first) * c->bytes));
            memset(to + end * c->bytes, 0, (size_t)(row - end * c->bytes));
        }
}

static void depthwise_task(void *context, int64_t task, int worker) {
    (void)worker;
    const depthwise *d = context;
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t n = task / c->groups, g = task % c->groups, plane = d->extent[1] * d->extent[2];
    char *image = eng_scratch_need(ENG_SLOT_A, (size_t)(d->extent[0] * plane * c->bytes + 64));
    pad_channel(d, c->x + (n * c->x_batch + g * c->x_group) * c->bytes, image);
    for (int64_t o = 0; o < c->outs; o++) {
        float w[MOST_TAPS];
        for (int64_t t = 0; t < c->taps; t++)
            c->kernels->widen(c->dtype, &w[t],
                              c->w + (g * c->w_group + o * c->w_out + c->tap_weight[t]) * c->bytes, 1);
        for (int64_t z = 0; z < dim[0].out; z++)
            c->kernels->taps_rows(c->dtype, (int)c->taps, w, d->at, image + z * dim[0].step * plane * c->bytes,
                                  dim[1].step * d->extent[2], dim[2].step, dim[1].out, dim[2].out,
                                  c->y + (n * c->y_batch + g * c->y_group + o * c->y_out + z * dim[0].y) * c->bytes,
                                  dim[1].y);
    }
}

static bool run_depthwise(const conv *c) {
    depthwise d = {.c = c};
    int64_t elements = 1;
    for (int i = 0; i < CONV_DIMS; i++) {
        const conv_dim *dim = &c->dim[i];
        d.low[i] = dim->at[0];
        d.extent[i] = dim->at[dim->n_taps - 1] - dim->at[0] + (dim->out - 1) * dim->step + 1;
        if (d.extent[i] > (int64_t)1 << 20)
            return false;
        elements *= d.extent[i];
    }
    if (elements > (int64_t)1 << 22)
        return false;
    for (int64_t t = 0; t < c->taps; t++) {
        int64_t tap[CONV_DIMS];
        conv_tap(c, t, tap);
        for (int i = 0; i < CONV_DIMS; i++)
            d.at[t] = d.at[t] * d.extent[i] + c->dim[i].at[tap[i]] - d.low[i];
    }
    eng_parallel(c->batch * c->groups, depthwise_task, &d);
    return true;
}

/* ---- long rows: y[o, column] = sum of dot products of rows of w and x ---- */
static void rows_task(void *context, int64_t task, int worker) {
    (void)worker;
    const conv *c = context;
    const conv_dim *d = c->dim;
    int64_t column = task % c->columns, pos[CONV_DIMS];
    const int64_t g = task / c->columns, n = column / c->positions;
    column %= c->positions;
    pos[2] = column % d[2].out;
    pos[1] = column / d[2].out % d[1].out;
    pos[0] = column / d[2].out / d[1].out;
    int64_t first, end;
    const int64_t at = pos[2] * d[2].step + d[2].at[0];
    conv_valid(at, d[2].tap_step, d[2].in, d[2].n_taps, &first, &end);
    for (int64_t o = 0; o < c->outs; o++) {
        double sum = 0;
        for (int64_t k = 0; k < c->channels && end > first; k++)
            for (int64_t tz = 0; tz < d[0].n_taps; tz++)
                for (int64_t ty = 0; ty < d[1].n_taps; ty++) {
                    const int64_t z = pos[0] * d[0].step + d[0].at[tz], y = pos[1] * d[1].step + d[1].at[ty];
                    if (z < 0 || z >= d[0].in || y < 0 || y >= d[1].in)
                        continue;
                    const int64_t w = g * c->w_group + o * c->w_out + k * c->w_channel + d[0].weight[tz] * d[0].w +
                                      d[1].weight[ty] * d[1].w + d[2].weight[first];
                    const int64_t x = g * c->x_group + n * c->x_batch + k * c->x_channel + z * d[0].x + y * d[1].x +
                                      at + first * d[2].tap_step;
                    sum += (double)c->kernels->dot_row(c->dtype, c->w + w * c->bytes, c->x + x * c->bytes,
                                                       d[2].tap_step, end - first);
                }
        const float rounded = (float)sum;
        const int64_t y = g * c->y_group + n * c->y_batch + o * c->y_out + pos[0] * d[0].y + pos[1] * d[1].y +
                          pos[2] * d[2].y;
        c->kernels->narrow(c->dtype, c->y + y * c->bytes, &rounded, 1);
    }
}

bool conv_direct(const conv *c) {
    const conv_dim *inner = &c->dim[2];
    if (c->dtype == TT_F64 || c->outs > MOST_OUTS || inner->x != 1)
        return false;
    if (c->channels == 1 && c->taps <= MOST_TAPS && inner->y == 1 && inner->out >= 4)
        return run_depthwise(c);
    const bool forward = inner->n_taps > 1 && inner->weight[1] == inner->weight[0] + 1;
    if (c->groups > 1 && inner->w == 1 && forward && inner->n_taps >= 6) {
        eng_parallel(c->groups * c->columns, rows_task, (void *)(uintptr_t)c);
        return true;
    }
    return false;
}
