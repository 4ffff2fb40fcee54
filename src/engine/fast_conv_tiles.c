/* fast_conv_tiles.c - f32 convolutions of 3x3 windows with steps 1 and 2, and the gradients of both, where channels lie innermost: by the
 * fewer products of kernel_tiles.h.
 *
 * A task copies the rows of x that some rows of tiles reach, with the padding, transforms them, multiplies by the weights' transforms, [tile,
 * channel] x [channel, out], and writes y at once; nothing is turned. What holds no numbers or huge ones is left to the other ways, as in
 * fast_conv_winograd.c. */
#include "base/env.h"
#include "engine/fast_conv.h"
#include <string.h>

enum { LEAST_CHANNELS = 16, LEAST_TILES = 16, NEAR = 640 << 10, MOST_TILES = 128, PLACES = 16, PAD = 16 };

/* A dimension of the plane. */
typedef struct side {
    eng_tiles_kind kind;
    int64_t start, step, reach;   /* of x: where the first tile starts, from tile to tile, elements of a tile */
    int64_t tiles, shift;
    int64_t tap[3];               /* offsets in w, in the order of tiles_g */
    int64_t outs, at[4], of[4], end[4]; /* outputs of a tile: where they are in y, which of their phase, and how many it has */
    int64_t next;                 /* of y, from tile to tile */
} side;

typedef struct tiled {
    const conv *c;
    const eng_flavor *f;
    side y, x;
    int64_t products, k, ldv;       /* k: (tap of z, channel) */
    int64_t rows, per_task, tasks;  /* rows of tiles (image, z, row), in all and of a task */
    int64_t panels;
    float *u;                       /* weights: [panel][place][k][lane] */
    uint8_t *odd_images, *odd_outs;
} tiled;

/* ---- weights ---- */
static void weights_task(void *context, int64_t task, int worker) {
    (void)worker;
    const tiled *t = context;
    const conv *c = t->c;
    const int64_t nr = t->f->nr, width = nr / 2, o = task * width, lanes = eng_min(width, c->outs - o);
    float *u = t->u + task / 2 * PLACES * t->k * nr + task % 2 * width;
    uint32_t odd = 0;
    for (int64_t z = 0; z < c->dim[0].n_taps; z++, u += c->channels * nr) {
        const float *w = (const float *)(const void *)c->w + c->dim[0].weight[z] * c->dim[0].w + eng_min(o, c->outs) * c->w_out;
        int64_t at[9], k_step = c->w_channel;
        float *words = c->w_out == 1 ? NULL : eng_scratch_need(ENG_SLOT_B, (size_t)(9 * c->channels * width + 64) * 4);
        for (int64_t i = 0; i < 9; i++) {
            at[i] = t->y.tap[i / 3] + t->x.tap[i % 3];
            for (int64_t r = 0; words && r < lanes; r++)
                conv_copy((char *)(words + i * c->channels * width + r), width, (const char *)(w + at[i] + r * c->w_out), c->w_channel, c->channels, 4);
            at[i] = words ? i * c->channels * width : at[i];
        }
        odd |= c->kernels->tiles_w(t->y.kind, words ? words : w, at, words ? width : k_step, c->channels, eng_max(lanes, 0), u, nr, t->k * nr);
    }
    for (int64_t r = 0; r < lanes; r++)
        t->odd_outs[o + r] = odd >> r & 1;
}

/* ---- tiles ---- */
/* Rows of tiles next to each other: of plane z of an image, from row `row` on. */
typedef struct segment {
    int64_t n, z, row, rows;
} segment;

static segment segment_at(const tiled *t, int64_t row, int64_t end) {
    const int64_t plane = row / t->y.tiles, deep = t->c->dim[0].out;
    const segment s = {plane / deep, plane % deep, row % t->y.tiles, eng_min(end - row, t->y.tiles - row % t->y.tiles)};
    return s;
}

/* What a segment reaches of plane in_z of x, and zeros around it. */
static bool copy_rows(const tiled *t, const segment *s, int64_t in_z, float *to) {
    const conv *c = t->c;
    const conv_dim *d = c->dim;
    const int64_t columns = (t->x.tiles - 1) * t->x.step + t->x.reach, width = columns * c->channels;
    const int64_t rows = (s->rows - 1) * t->y.step + t->y.reach, top = t->y.start + s->row * t->y.step;
    const float *x = (const float *)(const void *)c->x + s->n * c->x_batch + in_z * d[0].x;
    int64_t first, end;
    bool odd = false;
    conv_valid(t->x.start, 1, d[2].in, columns, &first, &end);
    for (int64_t r = 0; r < rows; r++, to += width) {
        const bool inside = top + r >= 0 && top + r < d[1].in && end > first;
        if (!inside) {
            memset(to, 0, (size_t)width * 4);
            continue;
        }
        memset(to, 0, (size_t)(first * c->channels) * 4);
        odd |= c->kernels->tiles_copy(x + (top + r) * d[1].x + (t->x.start + first) * d[2].x, (end - first) * c->channels, to + first * c->channels);
        memset(to + end * c->channels, 0, (size_t)((columns - end) * c->channels) * 4);
    }
    return odd;
}

/* A segment's tiles become rows of v, [product][tile][k]. */
static void transform(const tiled *t, const segment *s, float *v, int64_t product) {
    const conv *c = t->c;
    const conv_dim *d = c->dim;
    const int64_t columns = (t->x.tiles - 1) * t->x.step + t->x.reach, width = columns * c->channels;
    const eng_tiles k = {.kind = t->y.kind, .channels = c->channels, .row = width, .column = c->channels, .next = t->x.step * c->channels,
                         .shift_y = t->y.shift, .shift = t->x.shift, .tile = t->ldv, .product = product};
    float *x = eng_scratch_need(ENG_SLOT_A, (size_t)(((s->rows - 1) * t->y.step + t->y.reach) * width + 64) * 4);
    for (int64_t z = 0; z < d[0].n_taps; z++, v += c->channels) {
        const int64_t in_z = s->z * d[0].step + d[0].at[z];
        if (in_z < 0 || in_z >= d[0].in) {
            for (int64_t p = 0; p < t->products; p++)
                for (int64_t i = 0; i < s->rows * t->x.tiles; i++)
                    memset(v + p * product + i * t->ldv, 0, (size_t)c->channels * 4);
            continue;
        }
        if (copy_rows(t, s, in_z, x))
            __atomic_store_n(&t->odd_images[s->n], 1, __ATOMIC_RELAXED);
        for (int64_t r = 0; r < s->rows; r++)
            c->kernels->tiles_x(&k, x + r * t->y.step * width, t->x.tiles, v + r * t->x.tiles * t->ldv);
    }
}

/* Sums of a row of tiles, `lanes` outs from o on. */
static void put_row(const tiled *t, const segment *s, int64_t row, int64_t o, int64_t lanes, const float *sums, int64_t product) {
    const conv *c = t->c;
    eng_tiles_out out = {.lanes = lanes, .tile = t->f->nr, .product = product, .next = t->x.next};
    for (int64_t i = 0; i < t->y.outs; i++) {
        out.row[i] = 2 * row + t->y.of[i] < t->y.end[i] ? t->y.at[i] : -1;
        out.column[i] = t->x.at[i];
        out.inside[i] = eng_blocks(t->x.end[i] - t->x.of[i], 2);
    }
    float *y = (float *)(void *)c->y + s->n * c->y_batch + s->z * c->dim[0].y + row * t->y.next + o;
    c->kernels->tiles_y(t->y.kind, &out, sums, t->x.tiles, y);
}

static void tiles_task(void *context, int64_t task, int worker) {
    (void)worker;
    const tiled *t = context;
    const conv *c = t->c;
    const eng_flavor *f = t->f;
    const int64_t first = task * t->per_task, end = eng_min(t->rows, first + t->per_task), n = (end - first) * t->x.tiles;
    const int64_t product = n * t->ldv, sums_product = n * f->nr, m = eng_even_rows(f, n);
    float *v = eng_scratch_need(ENG_SLOT_B, (size_t)(t->products * product + 64) * 4);
    float *sums = eng_scratch_need(ENG_SLOT_C, (size_t)(t->products * sums_product + 64) * 4);
    for (int64_t row = first; row < end;) {
        const segment s = segment_at(t, row, end);
        transform(t, &s, v + (row - first) * t->x.tiles * t->ldv, product);
        row += s.rows;
    }
    for (int64_t panel = 0; panel < t->panels; panel++) {
        const int64_t across = t->y.kind == ENG_TILES_NEAR ? 4 : 5, lanes = eng_min(f->nr, c->outs - panel * f->nr);
        for (int64_t p = 0; p < t->products; p++) {
            const int64_t place = eng_min(p / across, 3) * 4 + eng_min(p % across, 3);
            const float *u = t->u + (panel * PLACES + place) * t->k * f->nr;
            for (int64_t i = 0; i < n; i += m) {
                const int64_t rows = eng_min(m, n - i);
                f->direct[1][rows](t->k, v + p * product + i * t->ldv, t->ldv * 4, 4, u, f->nr, sums + p * sums_product + i * f->nr, f->nr, false,
                                   f->nr, NULL);
            }
        }
        for (int64_t row = first; row < end;) {
            const segment s = segment_at(t, row, end);
            for (int64_t r = 0; r < s.rows; r++, row++)
                put_row(t, &s, s.row + r, panel * f->nr, lanes, sums + (row - first) * t->x.tiles * f->nr, sums_product);
        }
    }
}

/* ---- which, and how ---- */
static bool set_plain(const conv_dim *d, side *s) {
    if (d->n_taps != 3 || d->tap_step != 1 || d->at[2] - d->at[1] != 1 || d->step < 1 || d->step > 2)
        return false;
    const bool near = d->step == 1;
    *s = (side){.kind = near ? ENG_TILES_NEAR : ENG_TILES_APART, .start = d->at[0], .step = near ? 2 : 4, .reach = near ? 4 : 5,
                .tiles = eng_blocks(d->out, 2), .outs = 2, .next = 2 * d->y};
    for (int i = 0; i < 3; i++)
        s->tap[near || i == 0 ? i : 3 - i] = d->weight[i] * d->w;
    for (int i = 0; i < 2; i++) {
        s->at[i] = i * d->y;
        s->of[i] = i;
        s->end[i] = d->out;
    }
    return true;
}

/* Of two phases, `other` floats apart in y, one has two taps and one the one between them. */
static bool set_spread(const conv_dim *a, const conv_dim *b, int64_t other, side *s) {
    const conv_dim *two = a->n_taps == 2 ? a : b, *one = a->n_taps == 2 ? b : a;
    const int64_t shift = one->at[0] - two->at[0];
    if (two->n_taps != 2 || one->n_taps != 1 || two->at[1] - two->at[0] != 1 || two->step != 1 || one->step != 1 || shift < 0 || shift > 1)
        return false;
    *s = (side){.kind = ENG_TILES_SPREAD, .start = two->at[0], .step = 2, .reach = 3, .tiles = eng_blocks(eng_max(two->out, one->out), 2),
                .outs = 4, .next = 2 * a->y, .shift = shift};
    s->tap[0] = two->weight[0] * a->w;
    s->tap[1] = two->weight[1] * a->w;
    s->tap[2] = one->weight[0] * a->w;
    for (int i = 0; i < 4; i++) {
        const conv_dim *d = i < 2 ? two : one;
        s->at[i] = (d == b ? other : 0) + i % 2 * d->y;
        s->of[i] = i % 2;
        s->end[i] = d->out;
    }
    return true;
}

/* Does not ask how many images there are: a part of them gives the same bits. */
static bool set_tiles(tiled *t, const conv *c, int64_t n) {
    const conv_dim *d = c->dim;
    if (c->dtype != TT_F32 || c->y_dtype != TT_F32 || c->groups != 1 || c->x_channel != 1 || c->y_out != 1 || c->channels < LEAST_CHANNELS ||
        c->outs < LEAST_CHANNELS || d[2].x != c->channels || !c->f->direct[1][1] || !tt_env_int(TT_ENV_WINOGRAD) || (n != 1 && n != 4))
        return false;
    if (n == 1 ? !set_plain(&d[1], &t->y) || !set_plain(&d[2], &t->x)
               : !set_spread(&d[1], &c[2].dim[1], (c[2].y - c->y) / 4, &t->y) || !set_spread(&d[2], &c[1].dim[2], (c[1].y - c->y) / 4, &t->x))
        return false;
    if (t->y.kind != t->x.kind)
        return false;
    t->products = t->y.kind == ENG_TILES_NEAR ? 16 : 25;
    t->k = d[0].n_taps * c->channels;
    t->ldv = t->k + PAD;
    t->rows = c->batch * d[0].out * t->y.tiles;
    t->panels = eng_blocks(c->outs, t->f->nr);
    int64_t outputs = 0;
    for (int64_t p = 0; p < n; p++)
        outputs += c[p].positions * c[p].taps;
    const int64_t plane = t->y.tiles * t->x.tiles * d[0].out;
    return t->x.tiles <= MOST_TILES && plane >= LEAST_TILES && plane * t->products * d[0].n_taps * 10 <= 8 * outputs;
}

/* By what the second cache holds of the tiles. */
static void cut_tasks(tiled *t) {
    const int64_t bytes = t->products * t->x.tiles * (t->ldv + t->f->nr) * 4, enough = 2 * (int64_t)eng_pool_size();
    t->per_task = eng_max(1, eng_min(t->rows, NEAR / bytes));
    while (t->per_task > 1 && eng_pool_size() > 1 && eng_blocks(t->rows, t->per_task) < enough)
        t->per_task = eng_blocks(t->per_task, 2);
    t->per_task = eng_blocks(t->rows, eng_blocks(t->rows, t->per_task));
    t->tasks = eng_blocks(t->rows, t->per_task);
}

tt_status conv_by_tiles(const conv *phases, int64_t n, bool *out_done) {
    const conv *c = phases;
    tiled t = {.c = c, .f = c->f};
    *out_done = set_tiles(&t, c, n);
    if (!*out_done)
        return TT_OK;
    t.odd_images = TT_NEW_N(c->arena, uint8_t, c->batch);
    t.odd_outs = TT_NEW_N(c->arena, uint8_t, t.panels * t.f->nr);
    char *shared;
    TT_TRY(conv_shared_scratch(t.panels * PLACES * t.k * t.f->nr * 4, &shared));
    t.u = (float *)(void *)shared;
    cut_tasks(&t);
    eng_parallel(2 * t.panels, weights_task, &t);
    eng_parallel(t.tasks, tiles_task, &t);
    for (int64_t p = 0; p < n; p++)
        TT_TRY(conv_odd(&phases[p], t.odd_images, t.odd_outs));
    return TT_OK;
}
