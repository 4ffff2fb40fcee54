/* fast_conv_winograd_grad.c - f32 gradients of 3x3 weights, of any dilation and depth, by the transpose of Winograd's F(2x2, 3x3)
 * (kernel_winograd.h): a tile of 4x4 elements of x and one of 2x2 of the gradient of y meet in 16 products in place of 36.
 *
 * As a convolution, that of weights has images as channels, channels as batch and 3x3 positions. A task takes some rows (outs), some
 * columns (channels of x) and a span of all tiles: chunk by chunk it turns channels innermost, transforms them and adds up 16 products.
 * Sums of spans are added and transformed in the end. Sums that are no number or could have overflowed send all of it the plain way. */
#include "base/env.h"
#include "engine/fast_conv.h"
#include <string.h>

enum { LEAST_CHANNELS = 16, LEAST_TILES = 64, MANY_TILES = 192, FEW_SUMS = 5 << 18, ROWS = 70, COLUMNS = 64, NEAR = 480 << 10, TASKS = 8, SPAN_TILES = 384, MOST_DEPTH = 3 };

/* Tiles of one residue modulo the dilation are neighbours; those of all residues are in one chunk. */
typedef struct winograd {
    const conv *c;
    const eng_flavor *f;
    int64_t step_y, step;            /* the dilations: between rows and columns of a tile */
    int64_t chunk_y, chunk;          /* tiles of a residue in a chunk: down and across */
    int64_t chunks_y, chunks_x, all; /* chunks of a plane, and of all */
    int64_t planes, plane_tiles;     /* small planes of several images are one chunk */
    int64_t tiles;                   /* of a chunk */
    int64_t mr, block_rows, row_blocks, block_columns, column_blocks;
    int64_t spans, span; /* of chunks */
    int64_t ld_sums;
    float *sums; /* [group][row block][column block][span][depth][product][row][column] */
    uint8_t *odd; /* by group and out: sums that do not count */
} winograd;

/* Of one place in depth. */
static int64_t sums_size(const winograd *w) {
    return 16 * w->block_rows * w->ld_sums;
}

static float *sums_of(const winograd *w, int64_t task) {
    return w->sums + task * w->c->dim[0].out * sums_size(w);
}

/* ---- elements, channels innermost ---- */
/* A window of the planes of some channels: `rows` lines of `width` pixels of `ld` lanes. */
typedef struct window {
    const float *from; /* row 0, column 0, first channel */
    int64_t channel, row, column;   /* strides */
    int64_t in_y, in_x, top, left;  /* extent of a plane, and where the window starts in it */
    int64_t rows, width, n, ld;
} window;

static void turn_window(const eng_kernels *kernels, const window *w, float *to) {
    int64_t first, end;
    conv_valid(w->left, 1, w->in_x, w->width, &first, &end);
    for (int64_t r = 0; r < w->rows; r++, to += w->width * w->ld) {
        const int64_t y = w->top + r;
        if (y < 0 || y >= w->in_y || end <= first) {
            memset(to, 0, (size_t)(w->width * w->ld * 4));
            continue;
        }
        const float *from = w->from + y * w->row + (w->left + first) * w->column;
        memset(to, 0, (size_t)(first * w->ld * 4));
        if (w->channel == 1)
            conv_copy_blocks((char *)(to + first * w->ld), w->ld * 4, (const char *)from, w->column * 4, end - first, w->n * 4);
        else
            kernels->transpose(4, to + first * w->ld, w->ld, from, w->channel, w->n, end - first);
        memset(to + end * w->ld, 0, (size_t)((w->width - end) * w->ld * 4));
    }
}

/* ---- products ---- */
/* What a task works on: rows of group g from i on, columns from j on. */
typedef struct part {
    const winograd *w;
    int64_t g, i, rows, j, columns;
    float *x, *y, *u, *v; /* turned, and their transforms: of y as [product][row panel][tile][row], of x as [product][panel][tile][lane] */
    int64_t ldx, ldy, ldu, ldv;
} part;

/* Where a chunk lies: image and plane of y's gradient, how many images, row and column of its first tile. */
typedef struct place {
    int64_t n, z, images, top, left;
} place;

static place place_of(const winograd *w, int64_t chunk) {
    const int64_t plane = chunk / w->chunks_x / w->chunks_y * w->planes, deep = w->c->dim[0].n_taps;
    return (place){plane / deep, plane % deep, eng_min(w->planes, w->c->channels - plane / deep),
                   chunk / w->chunks_x % w->chunks_y * w->chunk_y * 2 * w->step_y, chunk % w->chunks_x * w->chunk * 2 * w->step};
}

/* Row of a window in which a line of tiles, all of one residue, starts. */
static int64_t line_start(const winograd *w, int64_t line) {
    const int64_t down = line / w->step;
    return down / w->step_y * 2 * w->step_y + down % w->step_y;
}

/* Turns and transforms what a chunk's tiles need of plane z of x. */
static void transform_x(const part *p, const place *at, int64_t z) {
    const winograd *w = p->w;
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    window x = {.from = (const float *)(const void *)c->x + p->g * c->x_group + at->n * c->x_channel + p->j * c->x_batch + z * d[0].x,
                      .channel = c->x_batch, .row = d[1].x, .column = d[2].x, .in_y = d[1].in, .in_x = d[2].in,
                      .top = at->top + d[1].at[0], .left = at->left + d[2].at[0], .rows = 2 * w->step_y * (w->chunk_y + 1),
                      .width = 2 * w->step * (w->chunk + 1), .n = p->columns, .ld = p->ldx};
    const int64_t row = x.width * x.ld, nr = w->f->nr;
    for (int64_t i = 0; i < at->images; i++, x.from += c->x_channel) {
        turn_window(c->kernels, &x, p->x);
        for (int64_t line = 0; line < w->chunk_y * w->step_y * w->step; line++)
            for (int64_t j = 0; j < p->columns; j += nr / 2)
                c->kernels->winograd_grad_x(p->x + line_start(w, line) * row + line % w->step * x.ld + j, w->step_y * row, w->step * x.ld,
                                            w->chunk, p->v + (j / nr * w->tiles + i * w->plane_tiles + line * w->chunk) * nr + j % nr, nr,
                                            p->ldv);
    }
}

/* The same of y's gradient. */
static void transform_y(const part *p, const place *at) {
    const winograd *w = p->w;
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    window y = {.from = (const float *)(const void *)c->w + p->g * c->w_group + at->n * c->w_channel + p->i * c->w_out + d[0].weight[at->z] * d[0].w,
                      .channel = c->w_out, .row = d[1].w, .column = d[2].w, .in_y = d[1].n_taps, .in_x = d[2].n_taps, .top = at->top,
                      .left = at->left, .rows = 2 * w->step_y * w->chunk_y, .width = 2 * w->step * w->chunk, .n = p->rows, .ld = p->ldy};
    const int64_t row = y.width * y.ld;
    for (int64_t n = 0; n < at->images; n++, y.from += c->w_channel) {
        turn_window(c->kernels, &y, p->y);
        for (int64_t line = 0; line < w->chunk_y * w->step_y * w->step; line++)
            for (int64_t i = 0; i < p->rows; i += w->mr) {
                const int64_t m = eng_min(w->mr, p->rows - i);
                c->kernels->winograd_grad_y(p->y + line_start(w, line) * row + line % w->step * y.ld + i, w->step_y * row, w->step * y.ld,
                                            w->chunk, m, p->u + i * w->tiles + (n * w->plane_tiles + line * w->chunk) * m, p->ldu);
            }
    }
}

/* Adds the products of a chunk of so many tiles to sums. */
static void multiply(const part *p, int64_t tiles, float *sums, bool accumulate) {
    const winograd *w = p->w;
    const eng_flavor *f = w->f;
    for (int64_t q = 0; q < 16; q++)
        for (int64_t j = 0; j < p->columns; j += f->nr) {
            const float *v = p->v + q * p->ldv + j * w->tiles;
            const int64_t n = eng_min(f->nr, p->columns - j);
            for (int64_t i = 0; i < p->rows; i += w->mr) {
                const int64_t m = eng_min(w->mr, p->rows - i);
                const float *u = p->u + q * p->ldu + i * w->tiles;
                float *to = sums + (q * w->block_rows + i) * w->ld_sums + j;
                if (n > f->nr / 2 || !f->direct[0][m])
                    f->tile[m](tiles, u, v, to, w->ld_sums, accumulate, n);
                else
                    f->direct[0][m](tiles, u, 4, m * 4, v, f->nr, to, w->ld_sums, accumulate, n, NULL);
            }
        }
}

static void products_task(void *context, int64_t task, int worker) {
    (void)worker;
    const winograd *w = context;
    const conv *c = w->c;
    const eng_flavor *f = w->f;
    const int64_t span = task % w->spans, column_block = task / w->spans % w->column_blocks, row_block = task / w->spans / w->column_blocks % w->row_blocks;
    part p = {.w = w, .g = task / w->spans / w->column_blocks / w->row_blocks, .i = row_block * w->block_rows, .j = column_block * w->block_columns};
    p.rows = eng_min(c->outs - p.i, w->block_rows);
    p.columns = eng_min(c->batch - p.j, w->block_columns);
    p.ldx = eng_round_up(p.columns, f->nr / 2);
    p.ldy = eng_round_up(p.rows, f->nr / 2);
    p.ldu = eng_round_up(p.rows * w->tiles, 16) + 16; /* products do not share places of the first cache */
    p.ldv = eng_round_up(p.columns, f->nr) * w->tiles + 16;
    const int64_t x_size = 4 * w->step_y * w->step * (w->chunk_y + 1) * (w->chunk + 1) * p.ldx;
    const int64_t y_size = 4 * w->step_y * w->step * w->chunk_y * w->chunk * p.ldy;
    p.x = eng_scratch_need(ENG_SLOT_B, (size_t)((x_size + y_size + f->nr + 16 * (p.ldu + p.ldv)) * 4));
    p.y = p.x + x_size;
    p.u = p.y + y_size + f->nr; /* whole vectors of y are read */
    p.v = p.u + 16 * p.ldu;
    float *sums = sums_of(w, task);
    const conv_dim *deep = &c->dim[0];
    bool begun[MOST_DEPTH] = {false};
    const int64_t first = span * w->span, end = eng_min(w->all, first + w->span);
    for (int64_t chunk = first; chunk < end; chunk++) {
        const place at = place_of(w, chunk);
        transform_y(&p, &at);
        for (int64_t q = 0; q < deep->out; q++) {
            const int64_t z = q * deep->step + deep->at[at.z];
            if (z < 0 || z >= deep->in)
                continue;
            transform_x(&p, &at, z);
            multiply(&p, at.images * w->plane_tiles, sums + q * sums_size(w), begun[q]);
            begun[q] = true;
        }
    }
    for (int64_t q = 0; q < deep->out; q++)
        if (!begun[q])
            memset(sums + q * sums_size(w), 0, (size_t)(sums_size(w) * 4));
}

/* One row of a group: all its sums. */
static void row_task(void *context, int64_t task, int worker) {
    (void)worker;
    const winograd *w = context;
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    const int64_t g = task / c->outs, o = task % c->outs, ld = eng_round_up(w->block_columns, 16);
    float nine[9 * (COLUMNS + 16)];
    bool odd = false;
    for (int64_t b = 0; b < w->column_blocks; b++) {
        const int64_t j = b * w->block_columns, n = eng_min(c->batch - j, w->block_columns);
        const int64_t block = (g * w->row_blocks + o / w->block_rows) * w->column_blocks + b;
        const float *sums = sums_of(w, block * w->spans) + o % w->block_rows * w->ld_sums;
        float *y = (float *)(void *)c->y + g * c->y_group + o * c->y_out + j * c->y_batch;
        for (int64_t q = 0; q < d[0].out; q++, sums += sums_size(w), y += d[0].y) {
            odd |= c->kernels->winograd_grad_w(sums, w->block_rows * w->ld_sums, w->spans, d[0].out * sums_size(w), n, nine, ld);
            if (c->y_batch == 9 && d[1].y == 3 && d[2].y == 1)
                c->kernels->transpose(4, y, 9, nine, ld, 9, n);
            else
                for (int64_t t = 0; t < 9; t++)
                    conv_copy((char *)(y + t / 3 * d[1].y + t % 3 * d[2].y), c->y_batch, (const char *)(nine + t * ld), 1, n, 4);
        }
    }
    w->odd[task] = odd;
}

/* ---- which, and how ---- */
static bool has_tiles(const conv_dim *d) {
    for (int64_t t = 1; t < d->n_taps; t++)
        if (d->at[t] != d->at[0] + t)
            return false;
    for (int64_t t = 0; t < d->n_taps; t++)
        if (d->weight[t] != t)
            return false;
    return d->out == 3 && d->step > 0 && d->step <= 4;
}

/* Does not ask how many threads there are: sums of the same spans have the same bits. */
static bool set_tiles(winograd *w) {
    const conv *c = w->c;
    const conv_dim *d = c->dim;
    if (c->dtype != TT_F32 || c->y_dtype != TT_F32 || c->batch < LEAST_CHANNELS || c->outs < LEAST_CHANNELS || !has_tiles(&d[1]) || !has_tiles(&d[2]) ||
        (d[2].x != 1 && c->x_batch != 1) || (d[2].w != 1 && c->w_out != 1) || d[0].out > MOST_DEPTH || !tt_env_int(TT_ENV_WINOGRAD))
        return false;
    w->step_y = d[1].step;
    w->step = d[2].step;
    w->block_rows = eng_round_up(eng_blocks(c->outs, eng_blocks(c->outs, ROWS / d[0].out)), w->mr);
    w->row_blocks = eng_blocks(c->outs, w->block_rows);
    w->block_columns = eng_round_up(eng_blocks(c->batch, eng_blocks(c->batch, d[0].out > 1 ? COLUMNS / 2 : COLUMNS)), w->f->nr);
    w->column_blocks = eng_blocks(c->batch, w->block_columns);
    w->ld_sums = w->block_columns;
    const int64_t across = eng_blocks(d[2].n_taps, 2 * w->step), down = eng_blocks(d[1].n_taps, 2 * w->step_y), together = w->step * w->step_y;
    const int64_t most = NEAR / (64 * (w->block_rows + w->block_columns));
    w->chunk = eng_blocks(across, eng_blocks(across * together, eng_max(most, together)));
    w->chunk_y = eng_blocks(down, eng_blocks(down, eng_max(1, most / (together * w->chunk))));
    w->chunks_x = eng_blocks(across, w->chunk);
    w->chunks_y = eng_blocks(down, w->chunk_y);
    w->plane_tiles = together * w->chunk * w->chunk_y;
    const bool small = w->chunks_x * w->chunks_y * d[0].n_taps * d[0].out == 1;
    w->planes = small ? eng_blocks(c->channels, eng_blocks(c->channels, eng_max(1, most / w->plane_tiles))) : 1;
    w->tiles = w->planes * w->plane_tiles;
    w->all = eng_blocks(c->channels, w->planes) * d[0].n_taps * w->chunks_x * w->chunks_y;
    const int64_t all = c->channels * d[0].n_taps * w->chunks_x * w->chunks_y * w->plane_tiles, parts = c->groups * w->row_blocks * w->column_blocks;
    w->spans = eng_max(1, eng_min(eng_min(w->all, all / SPAN_TILES), eng_blocks(TASKS, parts)));
    w->span = eng_blocks(w->all, w->spans);
    w->spans = eng_blocks(w->all, w->span);
    /* many sums leave the caches: more tiles must be worth it */
    const bool few = parts * d[0].out * sums_size(w) <= FEW_SUMS;
    return all >= (few ? LEAST_TILES : MANY_TILES) && 4 * all * 10 <= 15 * c->channels * d[0].n_taps * d[1].n_taps * d[2].n_taps;
}

tt_status conv_by_winograd_grad(const conv *c, bool *out_done) {
    winograd w = {.c = c, .f = c->f, .mr = eng_even_rows(c->f, c->outs)};
    *out_done = set_tiles(&w);
    if (!*out_done)
        return TT_OK;
    const int64_t tasks = c->groups * w.row_blocks * w.column_blocks * w.spans, bytes = tasks * c->dim[0].out * sums_size(&w) * 4;
    w.odd = TT_NEW_N(c->arena, uint8_t, c->groups * c->outs);
    char *shared;
    TT_TRY(conv_shared_scratch(bytes, &shared));
    w.sums = (float *)(void *)shared;
    eng_parallel(tasks, products_task, &w);
    eng_parallel(c->groups * c->outs, row_task, &w);
    *out_done = !memchr(w.odd, 1, (size_t)(c->groups * c->outs));
    return TT_OK;
}
