/* fast_conv_depth.c - depthwise convolutions of channels that lie innermost (channels_last), and their gradients, of tensors where they
 * lie: lanes are channels, and taps that fall into the padding are left out. */
#include "engine/fast_conv.h"
#include <string.h>

enum { MOST_TAPS = 128, LEAST_CHANNELS = 4, STRIP = 16, ROWS = 4, WORK = 1 << 15, MOST_BANDS = 64, LANES = 16 };

typedef struct depth {
    const conv *c;
    int64_t ldw;
    float *w;                   /* forward: [tap][channel] */
    int64_t first, end;         /* columns at which every tap is inside */
    int64_t rows, band, bands;  /* rows of y (of its gradient) in all; of a task; tasks */
    float *sums;                /* gradients: [band][tap][channel] */
} depth;

/* The taps at hand, and where. */
typedef struct taps {
    int64_t n, at[MOST_TAPS], w_at[MOST_TAPS], column[MOST_TAPS]; /* column: of x */
} taps;

static bool typed(const conv *c) {
    return (c->dtype == TT_F32 || c->dtype == TT_BF16 || c->dtype == TT_F16) && c->y_dtype == c->dtype;
}

/* Those of `all` whose column, `offset` further on, is inside. */
static void inside(const conv *c, const taps *all, int64_t offset, taps *out) {
    out->n = 0;
    for (int64_t t = 0; t < all->n; t++) {
        const int64_t x = all->column[t] + offset;
        if (x < 0 || x >= c->dim[2].in)
            continue;
        out->at[out->n] = all->at[t];
        out->w_at[out->n++] = all->w_at[t];
    }
}

/* Kernels know runs of three with steps of one or two, and of five. */
static void set_runs(eng_depth *k, int64_t run, int64_t tap_step, int64_t step) {
    if (tap_step == 1 && k->taps % run == 0 && ((run == 3 && step <= 2) || (run == 5 && step == 1))) {
        k->run = run;
        k->step = step;
    }
}

static void set_band(depth *d, int64_t rows, int64_t row_work, int64_t most) {
    d->rows = rows;
    d->band = eng_max(1, eng_max(WORK / eng_max(1, row_work), most ? eng_blocks(rows, most) : 1));
    d->bands = eng_blocks(rows, d->band);
}

/* ---- forward ---- */
/* Whether the taps that are inside at output q are those at the next one. */
static bool alike(const conv_dim *d, int64_t q) {
    for (int64_t t = 0; t < d->n_taps; t++) {
        const int64_t at = q * d->step + d->at[t], next = at + d->step;
        if ((at >= 0 && at < d->in) != (next >= 0 && next < d->in))
            return false;
    }
    return true;
}

/* At most `most` rows from `row` on, whose taps are inside alike; returns how many. */
static int64_t rows_of_y(const depth *d, int64_t row, int64_t most) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t q = row % dim[1].out, z = row / dim[1].out % dim[0].out, n = row / dim[1].out / dim[0].out;
    taps all = {.n = 0}, some;
    for (int64_t t = 0; t < c->taps; t++) {
        int64_t tap[CONV_DIMS];
        conv_tap(c, t, tap);
        const int64_t in_z = z * dim[0].step + dim[0].at[tap[0]], in_y = q * dim[1].step + dim[1].at[tap[1]];
        if (in_z < 0 || in_z >= dim[0].in || in_y < 0 || in_y >= dim[1].in)
            continue;
        all.column[all.n] = dim[2].at[tap[2]];
        all.at[all.n] = in_z * dim[0].x + in_y * dim[1].x + dim[2].at[tap[2]] * dim[2].x;
        all.w_at[all.n++] = t * d->ldw;
    }
    eng_depth k = {.channels = c->groups, .taps = all.n, .at = all.at, .w_at = all.w_at, .w = d->w, .x_step = dim[2].step * dim[2].x,
                   .y_step = dim[2].y, .rows = 1, .x_row = dim[1].step * dim[1].x, .y_row = dim[1].y};
    set_runs(&k, dim[2].n_taps, dim[2].n_taps > 1 ? dim[2].tap_step : 0, dim[2].step);
    for (most = eng_min(most, dim[1].out - q); k.rows < most && alike(&dim[1], q + k.rows - 1); k.rows++)
        ;
    const char *x = c->x + n * c->x_batch * c->bytes;
    char *y = c->y + (n * c->y_batch + z * dim[0].y + q * dim[1].y) * c->bytes;
    c->kernels->depth_row(c->dtype, &k, x + d->first * k.x_step * c->bytes, d->end - d->first, y + d->first * k.y_step * c->bytes);
    k.run = 0;
    k.at = some.at;
    k.w_at = some.w_at;
    for (int64_t i = 0; i < dim[2].out; i++) {
        if (i == d->first && d->end > d->first)
            i = d->end;
        if (i >= dim[2].out)
            break;
        inside(c, &all, i * dim[2].step, &some);
        k.taps = some.n;
        c->kernels->depth_row(c->dtype, &k, x + i * k.x_step * c->bytes, 1, y + i * k.y_step * c->bytes);
    }
    return k.rows;
}

static void rows_task(void *context, int64_t task, int worker) {
    (void)worker;
    const depth *d = context;
    const int64_t end = eng_min(d->rows, (task + 1) * d->band);
    for (int64_t row = task * d->band; row < end;)
        row += rows_of_y(d, row, eng_min(end - row, ROWS));
}

static void lay_weights(const depth *d) {
    const conv *c = d->c;
    memset(d->w, 0, (size_t)(c->taps * d->ldw * 4));
    for (int64_t t = 0; t < c->taps; t++)
        for (int64_t g = 0; g < c->groups; g = c->w_group == 1 ? c->groups : g + 1)
            c->kernels->widen(c->dtype, d->w + t * d->ldw + g, c->w + (g * c->w_group + c->tap_weight[t]) * c->bytes,
                              c->w_group == 1 ? c->groups : 1);
}

tt_status conv_by_depth(const conv *phases, int64_t n, bool *out_done) {
    const conv *c = phases;
    int64_t most = 0;
    *out_done = typed(c) && c->groups >= LEAST_CHANNELS && c->channels == 1 && c->outs == 1 && c->x_group == 1 && c->y_group == 1;
    for (int64_t p = 0; p < n && *out_done; p++) {
        most = eng_max(most, phases[p].taps);
        *out_done = phases[p].taps <= MOST_TAPS;
    }
    if (!*out_done)
        return TT_OK;
    depth d = {.ldw = eng_round_up(c->groups, LANES)};
    char *shared;
    TT_TRY(conv_shared_scratch(most * d.ldw * 4, &shared));
    d.w = (float *)(void *)shared;
    for (int64_t p = 0; p < n; p++) {
        d.c = c = &phases[p];
        const conv_dim *dim = &c->dim[2];
        d.first = 0;
        d.end = dim->out;
        for (int64_t t = 0; t < dim->n_taps; t++) {
            int64_t first, end;
            conv_valid(dim->at[t], dim->step, dim->in, dim->out, &first, &end);
            d.first = eng_max(d.first, first);
            d.end = eng_min(d.end, end);
        }
        if (d.end <= d.first)
            d.first = d.end = 0;
        lay_weights(&d);
        set_band(&d, c->batch * c->dim[0].out * c->dim[1].out, dim->out * c->groups * c->taps / 8, 0);
        eng_parallel(d.bands, rows_task, &d);
    }
    return TT_OK;
}

/* ---- gradients of weights: channels of c are images, its taps y's gradient, its positions the taps ---- */
static void row_of_gradient(const depth *d, int64_t row, float *sums) {
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t q = row % dim[1].n_taps, z = row / dim[1].n_taps % dim[0].n_taps, n = row / dim[1].n_taps / dim[0].n_taps;
    taps all = {.n = 0}, some;
    int64_t first = 0, end = dim[2].n_taps;
    for (int64_t p = 0; p < c->positions; p++) {
        const int64_t px = p % dim[2].out, in_z = dim[0].at[z] + p / dim[2].out / dim[1].out * dim[0].step,
                      in_y = dim[1].at[q] + p / dim[2].out % dim[1].out * dim[1].step;
        int64_t from, to;
        if (in_z < 0 || in_z >= dim[0].in || in_y < 0 || in_y >= dim[1].in)
            continue;
        all.column[all.n] = dim[2].at[0] + px * dim[2].step;
        conv_valid(all.column[all.n], dim[2].tap_step, dim[2].in, dim[2].n_taps, &from, &to);
        first = eng_max(first, from);
        end = eng_min(end, to);
        all.at[all.n] = in_z * dim[0].x + in_y * dim[1].x + all.column[all.n] * dim[2].x;
        all.w_at[all.n++] = p * d->ldw;
    }
    if (end <= first)
        first = end = 0;
    eng_depth k = {.channels = c->groups, .taps = all.n, .at = all.at, .w_at = all.w_at, .x_step = dim[2].tap_step * dim[2].x, .y_step = dim[2].w};
    set_runs(&k, dim[2].out, dim[2].step, dim[2].tap_step);
    const char *x = c->x + n * c->x_channel * c->bytes;
    const char *g = c->w + (n * c->w_channel + dim[0].weight[z] * dim[0].w + dim[1].weight[q] * dim[1].w) * c->bytes;
    for (int64_t i = first; i < end; i += STRIP)
        c->kernels->depth_grad(c->dtype, &k, x + i * k.x_step * c->bytes, g + i * k.y_step * c->bytes, eng_min(STRIP, end - i), sums);
    k.run = 0;
    k.at = some.at;
    k.w_at = some.w_at;
    for (int64_t i = 0; i < dim[2].n_taps; i++) {
        if (i == first && end > first)
            i = end;
        if (i >= dim[2].n_taps)
            break;
        inside(c, &all, i * dim[2].tap_step, &some);
        k.taps = some.n;
        c->kernels->depth_grad(c->dtype, &k, x + i * k.x_step * c->bytes, g + i * k.y_step * c->bytes, 1, sums);
    }
}

static void gradient_task(void *context, int64_t task, int worker) {
    (void)worker;
    const depth *d = context;
    float *sums = d->sums + task * d->c->positions * d->ldw;
    memset(sums, 0, (size_t)(d->c->positions * d->ldw * 4));
    for (int64_t row = task * d->band; row < eng_min(d->rows, (task + 1) * d->band); row++)
        row_of_gradient(d, row, sums);
}

/* A tap of all bands, in their order. */
static void tap_task(void *context, int64_t p, int worker) {
    (void)worker;
    const depth *d = context;
    const conv *c = d->c;
    const conv_dim *dim = c->dim;
    const int64_t at = p % dim[2].out * dim[2].y + p / dim[2].out % dim[1].out * dim[1].y + p / dim[2].out / dim[1].out * dim[0].y;
    float *sums = d->sums + p * d->ldw;
    for (int64_t b = 1; b < d->bands; b++)
        c->kernels->add(sums, sums + b * c->positions * d->ldw, c->groups);
    for (int64_t g = 0; g < c->groups; g = c->y_group == 1 ? c->groups : g + 1)
        c->kernels->narrow(c->dtype, c->y + (at + g * c->y_group) * c->bytes, sums + g, c->y_group == 1 ? c->groups : 1);
}

static bool in_order(const conv_dim *d) {
    for (int64_t t = 0; t < d->n_taps; t++)
        if (d->weight[t] != t)
            return false;
    return true;
}

tt_status conv_by_depth_grad(const conv *c, bool *out_done) {
    *out_done = typed(c) && c->groups >= LEAST_CHANNELS && c->batch == 1 && c->outs == 1 && c->x_group == 1 && c->w_group == 1 &&
                c->positions <= MOST_TAPS && c->taps > c->positions && in_order(&c->dim[2]);
    if (!*out_done)
        return TT_OK;
    depth d = {.c = c, .ldw = eng_round_up(c->groups, LANES)};
    set_band(&d, c->channels * c->dim[0].n_taps * c->dim[1].n_taps, c->dim[2].n_taps * c->groups * c->positions / 8, MOST_BANDS);
    char *shared;
    TT_TRY(conv_shared_scratch(d.bands * c->positions * d.ldw * 4, &shared));
    d.sums = (float *)(void *)shared;
    eng_parallel(d.bands, gradient_task, &d);
    eng_parallel(c->positions, tap_task, &d);
    return TT_OK;
}
