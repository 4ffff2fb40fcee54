/* fast_conv_winograd.c - f32 convolutions of 3x3 windows with step 1, of any dilation and depth, by Winograd's F(2x2, 3x3)
 * (kernel_winograd.h): 16 products of matrices [out, channel] x [channel, tile] do the work of 36.
 *
 * A task transforms the tiles of some panels of columns, multiplies them by the weights' transforms and writes y at once. An image's
 * sums depend on it and the weights alone. Images, and rows of weights, that hold what is no number or could overflow in between are
 * left to the other ways. */
#include "base/env.h"
#include "engine/fast_conv.h"
#include <string.h>

enum { LEAST_CHANNELS = 16, LEAST_TILES = 16, NEAR = 512 << 10, CHANNELS_AHEAD = 4 };

/* A column is (image, z, tile of the plane); k is (channel, tap of z). */
typedef struct winograd {
    const conv *c;
    const eng_flavor *f;
    int64_t kz, k;
    int64_t step_y, step;        /* between rows and columns of a tile: the dilations */
    int64_t low_y, low;          /* row and column of x where the first tile starts */
    int64_t tw, tiles, columns;  /* tiles of a row, of a plane, of all */
    int64_t mr, row_panels, ldv; /* ldv: floats from product to product of a panel of columns */
    int64_t panels, blocks;      /* panels of columns in a task, tasks a group */
    int64_t block_rows, row_blocks;
    float *u;                    /* weights: [group][row panel][product][k][row] */
    uint8_t *odd_images, *odd_rows;
} winograd;

/* ---- weights ---- */
static float *weights_of(const winograd *w, int64_t g, int64_t i) {
    return w->u + (g * w->c->outs + i) * w->k * 16;
}

static void weights_task(void *context, int64_t task, int worker) {
    (void)worker;
    const winograd *w = context;
    const conv *c = w->c;
    const int64_t g = task / w->row_panels, i = task % w->row_panels * w->mr, m = eng_min(c->outs - i, w->mr);
    float *words = eng_scratch_need(ENG_SLOT_B, (size_t)(c->k * m * 4));
    conv_pack_weights(c, g, i, m, 0, c->k, (char *)words);
    const int64_t k_words = c->tap_major ? m : 9 * m, tap_words = c->tap_major ? c->channels * m : m;
    const uint32_t odd = c->kernels->winograd_w(words, k_words, tap_words, w->k, m, weights_of(w, g, i), w->k * m);
    for (int64_t r = 0; r < m; r++)
        w->odd_rows[g * c->outs + i + r] = odd >> r & 1;
}

/* ---- tiles ---- */
/* What neighbouring tiles reach of a line of x, as it is taken apart. */
typedef struct reach {
    int64_t first, taken; /* column of x, and how many elements from there on */
    int64_t half;         /* floats kept for even pieces, and for odd ones */
    int64_t even, odd;    /* where those of x go: the line starts with the padding */
} reach;

static reach reach_of(const winograd *w, int64_t t, int64_t n) {
    const conv_dim *d = &w->c->dim[2];
    int64_t first, end;
    conv_valid(w->low + 2 * t, 1, d->in, 2 * (n + w->step), &first, &end);
    const int64_t pieces = first / w->step;
    reach r = {.first = w->low + 2 * t + first, .taken = end - first, .even = pieces / 2 * w->step, .odd = (pieces + 1) / 2 * w->step};
    r.half = eng_max(n + w->step, eng_round_up(r.taken, w->f->nr) / 2 + r.odd);
    *(pieces % 2 ? &r.even : &r.odd) += r.half;
    return r;
}

/* Neighbouring tiles of one row of tiles, in one panel. */
typedef struct segment {
    int64_t row, t, n;  /* row of tiles, first tile in it, how many */
    int64_t panel, lane;
} segment;

/* The next segment from column `done` of a task on, of `count` columns whose first is tile `a` of its plane. */
static segment next_segment(const winograd *w, int64_t a, int64_t done, int64_t count) {
    const int64_t nr = w->f->nr;
    segment s = {.row = a / w->tw, .t = a % w->tw, .panel = done / nr, .lane = done % nr};
    s.n = eng_min(eng_min(count, w->tw - s.t), nr - s.lane);
    return s;
}

/* Rows of tiles whose number modulo the dilation differs start next to each other. */
static int64_t tile_start(const winograd *w, int64_t row) {
    return row / w->step_y * 2 * w->step_y + row % w->step_y;
}

/* Rows of x that lie side by side. */
typedef struct rows {
    const float *x;
    int64_t row, channel;
} rows;

/* The elements that `n` rows from x on have in reach; those of channels that lie together are brought into planes first. */
static rows rows_of_x(const winograd *w, const float *x, int64_t n, int64_t taken) {
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    if (!c->tap_major || n <= 0)
        return (rows){x, d[1].x, c->x_channel};
    const int64_t plane = eng_round_up(n * taken, 16) + 16; /* a transpose writes whole vectors: beyond the last row */
    float *planes = eng_scratch_need(ENG_SLOT_C, (size_t)(c->channels * plane * 4));
    if (d[1].x == taken * d[2].x)
        c->kernels->transpose(4, planes, plane, x, d[2].x, n * taken, c->channels);
    else
        for (int64_t r = 0; r < n; r++)
            c->kernels->transpose(4, planes + r * taken, plane, x + r * d[1].x, d[2].x, taken, c->channels);
    return (rows){planes, taken, plane};
}

/* `count` tiles of a plane of y, from tile a on, become columns from `at` on of v. */
static void transform_plane(const winograd *w, int64_t g, int64_t plane, int64_t a, int64_t count, float *v, int64_t at) {
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    const int64_t image = plane / d[0].out, z = plane % d[0].out, nr = w->f->nr;
    const int64_t top = a / w->tw / w->step_y * 2 * w->step_y;
    const int64_t n_rows = tile_start(w, ((a + count - 1) / w->tw / w->step_y + 1) * w->step_y) + 2 * w->step_y - top;
    const bool one = a / w->tw == (a + count - 1) / w->tw; /* wide images: of a part of a row */
    const int64_t t = one ? a % w->tw : 0;
    const reach of = reach_of(w, t, one ? count : w->tw);
    const int64_t line = 2 * of.half, size = (n_rows * line + 2 * nr) * 4; /* whole vectors are read */
    float *split = eng_scratch_need(ENG_SLOT_A, (size_t)size);
    memset(split, 0, (size_t)size);
    int64_t first, end;
    conv_valid(w->low_y + top, 1, d[1].in, n_rows, &first, &end);
    const float *start = (const float *)(const void *)c->x + g * c->x_group + image * c->x_batch;
    const rows x = rows_of_x(w, start + (w->low_y + top + first) * d[1].x + of.first * d[2].x, end - first, of.taken);
    bool odd = false, blank = true;
    for (int64_t k = 0; k < w->k; k++) {
        const int64_t in_z = z * d[0].step + d[0].at[k % w->kz];
        const bool inside = in_z >= 0 && in_z < d[0].in;
        if (!inside && !blank)
            memset(split, 0, (size_t)size);
        blank = !inside;
        for (int64_t r = first; r < end && inside; r++) {
            const float *from = x.x + k / w->kz * x.channel + in_z * d[0].x + (r - first) * x.row;
            for (int64_t i = 0; i < of.taken; i += 16) /* channels lie too far apart for the processor to guess */
                __builtin_prefetch(from + CHANNELS_AHEAD * x.channel + i);
            odd |= c->kernels->winograd_split(from, of.taken, w->step, split + r * line + of.even, split + r * line + of.odd);
        }
        for (int64_t done = 0; done < count;) {
            const segment s = next_segment(w, a + done, at + done, count - done);
            const float *from = split + (tile_start(w, s.row) - top) * line + s.t - t;
            const float *const four[4] = {from, from + line * w->step_y, from + 2 * line * w->step_y, from + 3 * line * w->step_y};
            c->kernels->winograd_x(four, of.half, w->step, s.n, v + s.panel * 16 * w->ldv + k * nr + s.lane, w->ldv);
            done += s.n;
        }
    }
    if (odd)
        __atomic_store_n(&w->odd_images[image], 1, __ATOMIC_RELAXED);
}

/* ---- products ---- */
/* Rows [i, i + m) of y, `n` columns from `column` on: sums are [product][row][nr]. */
static void put_rows(const winograd *w, int64_t g, int64_t i, int64_t m, int64_t column, int64_t n, const float *sums) {
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    const int64_t nr = w->f->nr;
    for (int64_t done = 0; done < n;) {
        const int64_t plane = (column + done) / w->tiles, a = (column + done) % w->tiles;
        const segment s = next_segment(w, a, done, eng_min(n - done, w->tiles - a));
        const int64_t line = tile_start(w, s.row);
        const eng_winograd_rows put = {.ld = m * nr, .sums_row = nr, .y_out = c->y_out, .step = w->step,
                                        .count = eng_min(2 * s.n, d[2].out - 2 * s.t),
                                        .second = line + w->step_y < d[1].out ? w->step_y * d[1].y : 0};
        float *y = (float *)(void *)c->y + g * c->y_group + i * c->y_out + plane / d[0].out * c->y_batch + plane % d[0].out * d[0].y +
                   line * d[1].y + 2 * s.t;
        if (line < d[1].out)
            c->kernels->winograd_y(&put, sums + s.lane, m, y);
        done += s.n;
    }
}

static void tiles_task(void *context, int64_t task, int worker) {
    (void)worker;
    const winograd *w = context;
    const conv *c = w->c;
    const eng_flavor *f = w->f;
    const int64_t row_block = task % w->row_blocks, block = task / w->row_blocks % w->blocks, g = task / w->row_blocks / w->blocks;
    const int64_t column = block * w->panels * f->nr, n = eng_min(w->columns - column, w->panels * f->nr);
    const int64_t panels = eng_blocks(n, f->nr), sums_size = 16 * w->mr * f->nr;
    float *v = eng_scratch_need(ENG_SLOT_B, (size_t)((panels * 16 * w->ldv + sums_size + f->nr) * 4)), *sums = v + panels * 16 * w->ldv;
    if (n % f->nr)
        memset(v + (panels - 1) * 16 * w->ldv, 0, (size_t)(16 * w->ldv * 4));
    for (int64_t done = 0; done < n;) {
        const int64_t plane = (column + done) / w->tiles, a = (column + done) % w->tiles, count = eng_min(n - done, w->tiles - a);
        transform_plane(w, g, plane, a, count, v, done);
        done += count;
    }
    const int64_t last = eng_min(c->outs, (row_block + 1) * w->block_rows);
    for (int64_t i = row_block * w->block_rows; i < last; i += w->mr) {
        const int64_t m = eng_min(last - i, w->mr);
        const float *u = weights_of(w, g, i);
        for (int64_t p = 0; p < panels; p++) {
            for (int64_t q = 0; q < 16; q++)
                f->tile[m](w->k, u + q * w->k * m, v + (p * 16 + q) * w->ldv, sums + q * m * f->nr, f->nr, false, f->nr);
            put_rows(w, g, i, m, column + p * f->nr, eng_min(f->nr, n - p * f->nr), sums);
        }
    }
}

/* ---- which, and how ---- */
static bool three(const conv_dim *d) {
    return d->n_taps == 3 && d->step == 1 && d->at[1] - d->at[0] == d->tap_step && d->at[2] - d->at[1] == d->tap_step && d->tap_step > 0;
}

/* Does not ask how many images there are: a part of them gives the same bits. */
static bool set_tiles(winograd *w) {
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    if (c->dtype != TT_F32 || c->y_dtype != TT_F32 || d[0].n_taps * c->channels < LEAST_CHANNELS || c->outs < LEAST_CHANNELS || !three(&d[1]) ||
        !three(&d[2]) || (c->tap_major ? d[0].in * d[0].n_taps != 1 : d[2].x != 1) || d[2].y != 1 || !tt_env_int(TT_ENV_WINOGRAD))
        return false;
    w->kz = d[0].n_taps;
    w->k = c->channels * w->kz;
    w->step_y = d[1].tap_step;
    w->step = d[2].tap_step;
    w->low_y = d[1].at[0];
    w->low = d[2].at[0];
    w->tw = w->step * eng_blocks(d[2].out, 2 * w->step);
    w->tiles = w->tw * w->step_y * eng_blocks(d[1].out, 2 * w->step_y);
    w->columns = c->batch * d[0].out * w->tiles;
    const bool cut_evenly = (w->step & (w->step - 1)) == 0 && w->step <= w->f->nr / 4 && w->low % w->step == 0;
    return cut_evenly && w->tiles * d[0].out >= LEAST_TILES && 4 * w->tiles * 10 <= 14 * d[1].out * d[2].out;
}

/* Columns by what the second cache holds of their transforms; rows only where columns are too few for all threads. */
static void cut_tasks(winograd *w) {
    const conv *c = w->c;
    const int64_t enough = 2 * (int64_t)eng_pool_size(), nr = w->f->nr, all = eng_blocks(w->columns, nr);
    w->panels = eng_min(all, eng_max(1, NEAR / (16 * w->ldv * 4)));
    while (w->panels > 1 && c->groups * eng_blocks(all, w->panels) < enough && eng_pool_size() > 1)
        w->panels = eng_blocks(w->panels, 2);
    w->blocks = eng_blocks(all, w->panels);
    w->block_rows = eng_round_up(c->outs, w->mr);
    while (w->block_rows > 2 * w->mr && c->groups * w->blocks * eng_blocks(c->outs, w->block_rows) < enough && eng_pool_size() > 1)
        w->block_rows = eng_round_up(w->block_rows / 2, w->mr);
    w->row_blocks = eng_blocks(c->outs, w->block_rows);
}

/* Images and rows that were left out. */
tt_status conv_odd(const conv *c, const uint8_t *odd_images, const uint8_t *odd_rows) {
    for (int64_t n = 0; n < c->batch; n++)
        if (odd_images[n]) {
            conv part = *c;
            part.batch = 1;
            part.x += n * c->x_batch * c->bytes;
            part.y += n * c->y_batch * c->y_bytes;
            TT_TRY(conv_in_order(&part));
        }
    for (int64_t r = 0; r < c->groups * c->outs; r++)
        if (odd_rows[r]) {
            const int64_t g = r / c->outs, o = r % c->outs;
            conv part = *c;
            part.groups = part.outs = 1;
            part.x += g * c->x_group * c->bytes;
            part.w += (g * c->w_group + o * c->w_out) * c->bytes;
            part.y += (g * c->y_group + o * c->y_out) * c->y_bytes;
            TT_TRY(conv_in_order(&part));
        }
    return TT_OK;
}

tt_status conv_by_winograd(const conv *c, bool *out_done) {
    winograd w = {.c = c, .f = c->f, .mr = eng_even_rows(c->f, c->outs)};
    *out_done = set_tiles(&w);
    if (!*out_done)
        return TT_OK;
    w.row_panels = eng_blocks(c->outs, w.mr);
    w.ldv = (w.k + 1) * w.f->nr;
    w.odd_images = TT_NEW_N(c->arena, uint8_t, c->batch);
    w.odd_rows = TT_NEW_N(c->arena, uint8_t, c->groups * c->outs);
    const int64_t bytes = (c->groups * c->outs * w.k * 16 + w.mr) * 4;
    char *shared;
    TT_TRY(conv_shared_scratch(bytes, &shared));
    w.u = (float *)(void *)shared;
    cut_tasks(&w);
    eng_parallel(c->groups * w.row_panels, weights_task, &w);
    eng_parallel(c->groups * w.blocks * w.row_blocks, tiles_task, &w);
    return conv_odd(c, w.odd_images, w.odd_rows);
}
