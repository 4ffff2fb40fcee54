/* fast_conv_lanes.c - convolutions as products without panels. x is copied once, padded, with the images of a block innermost, so
 * that neighbouring columns are neighbours in memory for every tap: a tile loads its columns straight from the copy and its
 * weights from where they lie, both through tables of offsets by k. Sums leave tiles as rows of lanes, (position, image). */
#include "engine/fast_conv.h"
#include <string.h>

enum { MOST_LANES = 1024, MOST_IMAGES = 32, FEW_IMAGES = 8, STEPS = 512, CHUNK_LANES = 1024, PAGE = 4096, SLACK = 256, NEAR = 600 << 10 };
#define MOST_OFFSET ((int64_t)1 << 30)

/* Places are counted in words of the flavor; a word of pairs holds two channels. Weights are read as runs of words, either of all
 * taps of a channel and row, or of whole rows. */
typedef struct lanes {
    const conv *c;
    const eng_flavor *f;
    int64_t vector;                     /* lanes of one load */
    int64_t nb, blocks, channel_words;  /* images side by side, and how often */
    int64_t low[CONV_DIMS], every[CONV_DIMS], extent[CONV_DIMS]; /* element i of the copy is low + i * every of x */
    int64_t first[CONV_DIMS], end[CONV_DIMS];                    /* of these, those that x has */
    int64_t step[CONV_DIMS];                                     /* of the copy for one position */
    int64_t parts, part;                /* rows are split by place modulo parts, each `part` places long */
    int64_t row, plane, channel, block; /* strides of the copy: y, z, channel word, block */
    int64_t band, run, runs;            /* rows of a run; its lanes, whole vectors; runs of a block */
    bool linear, direct, joined;        /* lanes follow each other as positions do in y, and are y's; planes of x have no gaps */
    int64_t first_block, n_blocks;      /* that the copy holds */
    char *copy;
    int64_t words, steps, pass;         /* of all k; k at a time; k that all rows pass over together */
    int64_t *lane;                      /* lane_at of every vector of a block */
    int64_t y_lines;
    int32_t *y_line;                    /* the same of y, for the tiles of a unit after the first; 0: too many */
    int32_t *x_at, *w_at, *w_line;      /* by word of k, in bytes; w_line: lines of what w_at reads, to fetch ahead */
    int64_t w_low, w_span;              /* lowest tap, and from it to past the highest, in elements */
    bool ordered;                       /* taps are in the order of their weights */
    int64_t w_group, w_row, w_channel;  /* bytes */
    const char *w;
    bool lay, rows_inner;               /* weights are laid out: as [channel word][row], else [row][channel word] */
    int64_t w_run, w_ld, w_inner, w_outer; /* words of a run; bytes from run to run; runs of the inner and outer one of these */
    int64_t mr, block_rows, row_blocks; /* rows of a tile and of a task */
    int64_t chunk, chunks;              /* runs of a unit, units of a block */
    int64_t block_units, unit_blocks;   /* units of a task */
    const struct lanes *mate;           /* a phase whose places in y are the next ones: both are written together */
    bool second;                        /* and is computed with the first */
} lanes;

static int64_t gcd(int64_t a, int64_t b) {
    return b ? gcd(b, a % b) : a;
}

/* ---- geometry ---- */
/* What the phases of a convolution, which share a copy, reach of x in dimension i. */
static bool set_extent(lanes *l, const conv *phases, int64_t n, int i) {
    const conv_dim *d = &phases[0].dim[i];
    int64_t low = d->at[0], last = low, every = 0;
    for (int64_t p = 0; p < n; p++) {
        d = &phases[p].dim[i];
        low = eng_min(low, d->at[0]);
        last = eng_max(last, d->at[d->n_taps - 1] + (d->out - 1) * d->step);
        every = gcd(every, gcd(d->n_taps > 1 ? d->tap_step : 0, d->out > 1 ? d->step : 0));
        every = gcd(every, d->at[0] > phases[0].dim[i].at[0] ? d->at[0] - phases[0].dim[i].at[0] : phases[0].dim[i].at[0] - d->at[0]);
        if (d->at[d->n_taps - 1] < d->at[0])
            return false;
    }
    l->low[i] = low;
    l->every[i] = eng_max(1, every);
    l->step[i] = 1;
    for (int64_t p = 0; p < n; p++)
        if (phases[p].dim[i].out > 1)
            l->step[i] = phases[p].dim[i].step / l->every[i];
    l->extent[i] = (last - low) / l->every[i] + 1;
    conv_valid(low, l->every[i], d->in, l->extent[i], &l->first[i], &l->end[i]);
    return last - low < MOST_OFFSET;
}

static bool set_extents(lanes *l, const conv *phases, int64_t n) {
    int64_t elements = 1, size = 1;
    for (int i = 0; i < CONV_DIMS; i++) {
        if (!set_extent(l, phases, n, i))
            return false;
        elements *= l->extent[i];
        size *= phases[0].dim[i].in;
        if (elements > 4 * size + 4096)
            return false;
    }
    return true;
}

/* A run is a band of rows, one after the other with the padding between them, of as many rows as waste the fewest lanes. */
static void set_run(lanes *l) {
    const conv_dim *d = l->c->dim;
    const bool even = l->step[1] == 1 && (l->step[2] == 1 || l->parts > 1);
    l->band = 1;
    l->run = eng_round_up(d[2].out * l->nb, l->vector);
    for (int64_t rows = 2; rows <= d[1].out && even; rows++) {
        const int64_t run = eng_round_up((rows - 1) * l->row + d[2].out * l->nb, l->vector);
        if (d[1].out % rows == 0 && run <= MOST_LANES && run * l->band < l->run * rows) {
            l->band = rows;
            l->run = run;
        }
    }
    l->runs = d[0].out * d[1].out / l->band;
    l->linear = l->c->y_linear && l->run == l->band * d[2].out * l->nb;
}

/* At most `most` images side by side; returns the lanes of all blocks. */
static int64_t set_images(lanes *l, int64_t most) {
    const conv *c = l->c;
    l->nb = eng_blocks(c->batch, eng_blocks(c->batch, most));
    if (l->nb > l->vector)
        l->nb = eng_round_up(l->nb, l->vector);
    l->blocks = eng_blocks(c->batch, l->nb);
    l->parts = l->nb % l->vector != 0 ? l->step[2] : 1;
    l->part = eng_blocks(l->extent[2], l->parts);
    l->row = l->part * l->parts * l->nb;
    l->plane = l->row * l->extent[1];
    l->channel = l->plane * l->extent[0];
    l->block = l->channel * l->channel_words;
    set_run(l);
    return l->run * l->runs * l->blocks;
}

/* Images side by side are transposed twice, which costs about as much as a tenth of the lanes. Strides
 * leave few taps for an element: to copy those of large images does not pay. */
static bool set_lanes(lanes *l, int64_t n) {
    const conv *c = l->c;
    const bool narrow = c->dim[2].out < 4;
    const int64_t most[4] = {narrow ? MOST_IMAGES : 1, narrow ? l->vector : eng_min(c->batch, FEW_IMAGES * 2 - 1),
                             narrow ? FEW_IMAGES : l->vector, narrow ? 1 : MOST_IMAGES};
    int64_t best = -1, fewest = 0, columns = 0, all = 0, taps = 0;
    for (int i = 0; i < 4; i++) {
        int64_t cost = 0;
        for (int64_t p = 0; p < n; p++)
            cost += set_images(&l[p], most[i]);
        cost += l->nb > 1 ? cost / 10 : 0;
        if (best < 0 || cost < fewest) {
            best = most[i];
            fewest = cost;
        }
    }
    for (int64_t p = 0; p < n; p++) {
        const conv_dim *d = l[p].c->dim;
        columns += l[p].c->columns;
        taps += l[p].c->taps;
        all += set_images(&l[p], best);
        l[p].joined = d[2].x == 1 && d[1].x == d[2].in && l->every[1] == 1 && l->every[2] == 1;
        l[p].direct = l->nb == 1 && l[p].linear && c->y_dtype == l->f->sum;
    }
    const bool far = l->nb > 1 && !narrow && l->block * l->f->word_bytes > 2 * NEAR;
    if (taps < n * (far ? 4 : 2) * l->step[1] * l->step[2])
        return false;
    return l->channel <= MOST_OFFSET / l->f->word_bytes / l->channel_words && all * 7 <= columns * 10;
}

/* Word of the copy, within a block and channel, of a vector's first lane. */
static int64_t lane_at(const lanes *l, int64_t lane) {
    const int64_t run = lane / l->run, rest = lane % l->run, bands = l->c->dim[1].out / l->band;
    return run / bands * l->step[0] * l->plane + run % bands * l->band * l->step[1] * l->row +
           (l->step[2] == 1 || l->parts > 1 ? rest : rest / l->nb * l->step[2] * l->nb + rest % l->nb);
}

/* Weights of one word an element are read where they lie, unless their rows would share few places of the first cache. */
static bool set_weights(lanes *l) {
    const conv *c = l->c;
    const eng_flavor *f = l->f;
    int64_t high = l->w_low = c->tap_weight[0];
    for (int64_t t = 1; t < c->taps; t++) {
        l->w_low = eng_min(l->w_low, c->tap_weight[t]);
        high = eng_max(high, c->tap_weight[t]);
    }
    const int64_t span = l->w_span = high - l->w_low + 1;
    l->ordered = c->weights_step == 1;
    const bool aliased = c->w_out * c->bytes % PAGE == 0 && c->outs > 4;
    l->rows_inner = c->w_out < c->w_channel;
    l->lay = f->per_word > 1 || f->word_bytes != f->element_bytes || aliased;
    const bool whole = l->rows_inner && !aliased && (c->w_out == span || c->w_out <= 16);
    l->w_run = whole ? c->w_out * (c->outs - 1) + span : span;
    l->w_ld = (l->w_run + (aliased ? 16 : 0)) * f->word_bytes;
    l->w_outer = l->rows_inner ? l->channel_words : c->outs;
    l->w_inner = whole ? 1 : l->rows_inner ? c->outs : l->channel_words;
    l->w_group = l->lay ? l->w_ld * l->w_inner * l->w_outer : c->w_group * c->bytes;
    l->w_row = !l->lay ? c->w_out * c->bytes : whole ? c->w_out * f->word_bytes : l->rows_inner ? l->w_ld : l->w_ld * l->w_inner;
    l->w_channel = !l->lay ? c->w_channel * c->bytes : l->rows_inner ? l->w_ld * l->w_inner : l->w_ld;
    return (!l->lay || whole || span <= 2 * c->taps + 16) && c->w_out >= 0 && c->w_channel >= 0;
}

/* The lines that a panel's rows read for each block of k, one a word as far as there are words. */
static void set_lines(lanes *l) {
    const conv *c = l->c;
    const int64_t bytes = l->f->word_bytes, span = l->w_span * bytes;
    const bool side_by_side = l->w_row <= span;
    l->w_line = TT_NEW_N(c->arena, int32_t, l->words + l->steps); /* a block reads as many of the next, which may be shorter */
    for (int64_t k0 = 0; k0 < l->words; k0 += l->steps) {
        const int64_t end = eng_min(l->words, k0 + l->steps), channels = (end - 1) / c->taps - k0 / c->taps + 1;
        /* long runs of taps are read in parts */
        const int64_t from = channels == 1 && l->ordered ? k0 % c->taps * bytes : 0;
        const int64_t size = channels == 1 && l->ordered ? (end - k0) * bytes : span;
        int64_t k = k0, fetched = 0;
        for (int64_t r = 0; r < (side_by_side && size == span ? 1 : l->mr) && k < end; r++, fetched = 0)
            for (int64_t i = 0; i < channels && k < end; i++) {
                const int64_t at = (k0 / c->taps + i) * l->w_channel + r * l->w_row + from;
                const int64_t stop = at + size + (side_by_side && size == span ? (l->mr - 1) * l->w_row : 0);
                for (int64_t line = eng_max(at / 64, fetched); line * 64 < stop && k < end; line++) {
                    l->w_line[k++] = (int32_t)(line * 64);
                    fetched = line + 1;
                }
            }
        for (; k < (end < l->words ? end : end + l->steps); k++)
            l->w_line[k] = l->w_line[k - 1];
    }
}

static bool set_tables(lanes *l) {
    const conv *c = l->c;
    const int64_t bytes = l->f->word_bytes;
    l->words = l->channel_words * c->taps;
    if (l->words > MOST_OFFSET / 64 || l->w_channel + l->mr * l->w_row / l->channel_words > MOST_OFFSET / l->channel_words)
        return false;
    l->x_at = TT_NEW_N(c->arena, int32_t, l->words);
    l->w_at = TT_NEW_N(c->arena, int32_t, l->words);
    for (int64_t t = 0; t < c->taps; t++) {
        int64_t tap[CONV_DIMS], at[CONV_DIMS];
        conv_tap(c, t, tap);
        for (int i = 0; i < CONV_DIMS; i++)
            at[i] = (c->dim[i].at[tap[i]] - l->low[i]) / l->every[i];
        at[2] = at[2] % l->parts * l->part + at[2] / l->parts;
        const int64_t x = at[0] * l->plane + at[1] * l->row + at[2] * l->nb;
        for (int64_t k = 0; k < l->channel_words; k++) {
            l->x_at[k * c->taps + t] = (int32_t)((k * l->channel + x) * bytes);
            l->w_at[k * c->taps + t] = (int32_t)(k * l->w_channel + (c->tap_weight[t] - l->w_low) * bytes);
        }
    }
    l->steps = eng_blocks(l->words, eng_blocks(l->words, STEPS));
    set_lines(l);
    return true;
}

/* Lines of what a panel's rows of a unit become in y, relative to its first, if tiles after the first fetch as many words. */
static void set_y_lines(lanes *l) {
    const conv *c = l->c;
    const conv_dim *d = c->dim;
    const int64_t rows = l->chunk * l->band, tiles = l->chunk * l->run / l->vector / 2, room = (tiles - 1) * eng_min(l->words, l->steps);
    const bool follow = c->y_linear && c->y_batch == rows * d[2].out; /* images */
    const int64_t images = follow ? 1 : l->nb, pieces = c->y_linear ? 1 : rows;
    const int64_t elements = c->y_linear ? rows * d[2].out * (follow ? l->nb : 1) : (d[2].out - 1) * d[2].y + 1;
    const int64_t lines = elements * c->y_bytes / 64 + 1, all = l->mr * images * pieces * lines;
    const bool close = (l->mr * c->y_out + images * c->y_batch + rows * d[1].y) * c->y_bytes < MOST_OFFSET;
    l->y_lines = !l->direct && close && all <= room ? all : 0;
    l->y_line = TT_NEW_N(c->arena, int32_t, l->y_lines + l->words);
    for (int64_t k = 0; k < l->y_lines; k++) {
        const int64_t piece = k / lines, row = piece / pieces;
        l->y_line[k] = (int32_t)((row / images * c->y_out + row % images * c->y_batch + piece % pieces * d[1].y) * c->y_bytes + k % lines * 64);
    }
    for (int64_t k = l->y_lines; k < l->y_lines + l->words; k++)
        l->y_line[k] = l->y_lines ? l->y_line[l->y_lines - 1] : 0;
}

static void set_lane_table(lanes *l) {
    const int64_t n = l->runs * l->run / l->vector;
    l->lane = TT_NEW_N(l->c->arena, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        l->lane[i] = lane_at(l, i * l->vector);
}

/* ---- laying out ---- */
/* Outer part `task` of the weights. */
static void weights_task(void *context, int64_t task, int worker) {
    (void)worker;
    const lanes *l = context;
    const conv *c = l->c;
    const eng_flavor *f = l->f;
    const int64_t g = task / l->w_outer, outer = task % l->w_outer, ld = l->w_ld / f->word_bytes, per = f->per_word;
    char *to = (char *)l->w + g * l->w_group + outer * l->w_inner * l->w_ld;
    const char *from = c->w + (g * c->w_group + l->w_low + outer * (l->rows_inner ? per * c->w_channel : c->w_out)) * c->bytes;
    if (l->rows_inner) {
        f->words(to, ld, from, c->w_out, outer * per + 1 < c->channels ? c->w_channel : 0, l->w_inner, l->w_run);
        return;
    }
    const int64_t whole = c->channels / per;
    f->words(to, ld, from, per * c->w_channel, c->w_channel, whole, l->w_run);
    if (whole < l->channel_words)
        f->words(to + whole * l->w_ld, ld, from + whole * per * c->w_channel * c->bytes, 0, 0, 1, l->w_run);
}

/* What a task lays out: a channel word of a block. */
typedef struct plane {
    const lanes *l;
    const char *x;   /* its first image and channel */
    int64_t images, second; /* second: to the channel that shares the words; 0: none */
} plane;

/* `count` elements `step` apart of every image, from `at` on, as words [element][image]. */
static void lay_elements(const plane *p, int64_t at, int64_t step, int64_t count, char *to) {
    const lanes *l = p->l;
    const conv *c = l->c;
    const char *from = p->x + at * c->bytes;
    if (step == 1) {
        l->f->lay(to, l->nb, from, c->x_batch, p->second, p->images, count);
        return;
    }
    const int64_t rows = p->images * (p->second ? 2 : 1);
    char *apart = eng_scratch_need(ENG_SLOT_A, (size_t)(rows * count * c->bytes));
    for (int64_t i = 0; i < rows; i++)
        conv_copy(apart + i * count * c->bytes, 1, from + (i % p->images * c->x_batch + i / p->images * p->second) * c->bytes, step,
                  count, c->bytes);
    l->f->lay(to, l->nb, apart, count, p->second ? p->images * count : 0, p->images, count);
}

/* A row of the copy from its elements laid out side by side. */
static void place_row(const lanes *l, const char *from, char *to) {
    const int64_t bytes = l->nb * l->f->word_bytes, first = l->first[2], end = l->end[2], count = end - first;
    if (l->parts == 1) {
        memset(to, 0, (size_t)(first * bytes));
        if (from != to + first * bytes)
            memcpy(to + first * bytes, from, (size_t)(count * bytes));
        memset(to + end * bytes, 0, (size_t)((l->part - end) * bytes));
        return;
    }
    memset(to, 0, (size_t)(l->row * l->f->word_bytes));
    for (int64_t r = 0; r < l->parts && r < count; r++) {
        const int64_t i = first + r;
        conv_copy_blocks(to + (i % l->parts * l->part + i / l->parts) * bytes, bytes, from + r * bytes, l->parts * bytes,
                         eng_blocks(count - r, l->parts), bytes);
    }
}

static void copy_task(void *context, int64_t task, int worker) {
    (void)worker;
    const lanes *l = context;
    const conv *c = l->c;
    const conv_dim *d = c->dim;
    const int64_t k = task % l->channel_words, b = task / l->channel_words % l->n_blocks, g = task / l->channel_words / l->n_blocks;
    const int64_t n = (l->first_block + b) * l->nb, bytes = l->f->word_bytes, per = l->f->per_word;
    const plane p = {l, c->x + (g * c->x_group + n * c->x_batch + k * per * c->x_channel) * c->bytes, eng_min(l->nb, c->batch - n),
                     per > 1 && k * per + 1 < c->channels ? c->x_channel : 0};
    char *to = l->copy + ((g * l->n_blocks + b) * l->block + k * l->channel) * bytes;
    const int64_t count = l->end[2] - l->first[2], rows = l->end[1] - l->first[1], step = l->every[2] * d[2].x;
    const int64_t at = (l->low[1] + l->first[1] * l->every[1]) * d[1].x + (l->low[2] + l->first[2] * l->every[2]) * d[2].x;
    const bool together = l->joined && count == d[2].in && count < 2 * l->vector; /* short rows in one go */
    char *aside = together || l->parts > 1
                      ? eng_scratch_need(ENG_SLOT_B, (size_t)((together ? rows : 1) * count * l->nb * bytes + SLACK)) : NULL;
    for (int64_t z = 0; z < l->extent[0]; z++, to += l->plane * bytes) {
        if (z < l->first[0] || z >= l->end[0] || count <= 0 || rows <= 0) {
            memset(to, 0, (size_t)(l->plane * bytes));
            continue;
        }
        const int64_t at_z = at + (l->low[0] + z * l->every[0]) * d[0].x;
        memset(to, 0, (size_t)(l->first[1] * l->row * bytes));
        if (together)
            lay_elements(&p, at_z, 1, rows * count, aside);
        for (int64_t y = 0; y < rows; y++) {
            char *row = to + (l->first[1] + y) * l->row * bytes;
            char *laid = together ? aside + y * count * l->nb * bytes : aside ? aside : row + l->first[2] * l->nb * bytes;
            if (!together)
                lay_elements(&p, at_z + y * l->every[1] * d[1].x, step, count, laid);
            place_row(l, laid, row);
        }
        memset(to + l->end[1] * l->row * bytes, 0, (size_t)((l->extent[1] - l->end[1]) * l->row * bytes));
    }
}

/* ---- results ---- */
/* Rows of lanes [row][position][image] of `runs` runs from `first` of block b, and those of the mate, to where they belong in y. */
static void put_lanes(const lanes *l, int64_t g, int64_t b, int64_t i, int64_t m, int64_t first, int64_t runs, const char *sums,
                      const char *mates, int64_t ld) {
    const conv *c = l->c;
    const conv_dim *d = c->dim;
    const int64_t n = (l->first_block + b) * l->nb, images = eng_min(l->nb, c->batch - n), bytes = c->y_bytes;
    const int64_t sum_bytes = l->f->sum == TT_F64 ? 8 : 4, rows = runs * l->band;
    const int64_t pieces = l->linear ? 1 : rows, count = l->linear ? rows * d[2].out : d[2].out, size = images * count * bytes;
    char *apart = d[2].y != 1 ? eng_scratch_need(ENG_SLOT_A, (size_t)(2 * size)) : NULL;
    for (int64_t r = 0; r < m; r++)
        for (int64_t q = 0; q < pieces; q++) {
            const int64_t row = first * l->band + q, z = row / d[1].out, y = row % d[1].out;
            const int64_t from = (r * ld + q / l->band * l->run + q % l->band * l->row) * sum_bytes;
            char *to = c->y + (g * c->y_group + (i + r) * c->y_out + n * c->y_batch + z * d[0].y + y * d[1].y) * bytes;
            l->f->unlay(c->y_dtype, apart ? apart : to, apart ? count : c->y_batch, sums + from, l->nb, images, count);
            if (mates)
                l->f->unlay(c->y_dtype, apart + size, count, mates + from, l->nb, images, count);
            for (int64_t j = 0; j < images && apart; j++, to += c->y_batch * bytes) {
                const char *line = apart + j * count * bytes;
                if (mates)
                    c->kernels->interleave((int)bytes, to, line, line + size, count);
                else
                    conv_copy(to, d[2].y, line, 1, count, bytes);
            }
        }
}

/* ---- the product ---- */
/* Rows [i, i + m) of a unit: a chunk of the runs of a block; a pass over k from k0 on. */
static void tile_rows(const lanes *l, int64_t g, int64_t unit, int64_t i, int64_t m, int64_t i_next, int64_t k0, char *kept, char *mates) {
    const conv *c = l->c;
    const eng_flavor *f = l->f;
    const int64_t b = unit / l->chunks, first = unit % l->chunks * l->chunk, runs = eng_min(l->chunk, l->runs - first);
    const int64_t v = l->vector, vectors = runs * l->run / v, sum_bytes = f->sum == TT_F64 ? 8 : 4;
    const bool direct = l->direct && vectors % 2 == 0;
    const int64_t ld = direct ? c->y_out : eng_round_up(vectors, 2) * v;
    const char *x = l->copy + (g * l->n_blocks + b) * l->block * f->word_bytes, *w = l->w + g * l->w_group + i * l->w_row;
    const conv_dim *d = c->dim;
    const int64_t row = first * l->band, y_row = row / d[1].out * d[0].y + row % d[1].out * d[1].y;
    char *y = c->y + (g * c->y_group + i * c->y_out + (l->first_block + b) * l->nb * c->y_batch + y_row) * c->y_bytes;
    if (direct)
        kept = y;
    const int64_t end = eng_min(l->words, k0 + l->pass);
    for (int64_t k = k0; k < end; k += l->steps) {
        const int64_t words = eng_min(end - k, l->steps);
        const bool more = k + l->steps < end;
        const char *next = more ? w : w + (i_next - i) * l->w_row;
        const int32_t *next_at = l->w_line + (more ? k + l->steps : k0);
        for (int64_t j = 0; j < vectors; j += 2) {
            const int64_t *lane = l->lane + first * l->run / v + j, at = lane[0], other = j + 1 < vectors ? lane[1] : at;
            f->lanes[m](words, w, l->w_row, l->w_at + k, x + at * f->word_bytes, x + other * f->word_bytes, l->x_at + k, next, next_at,
                        kept + j * v * sum_bytes, ld, k > 0);
            next = y;
            next_at = l->y_line + eng_min(j / 2 * words, l->y_lines);
        }
    }
    if (l->mate)
        tile_rows(l->mate, g, unit, i, m, i_next, k0, mates, NULL);
    if (!direct && end == l->words && !l->second)
        put_lanes(l, g, b, i, m, first, runs, kept, mates, ld);
}

/* Some rows of some units. Where all of the copy is near, rows are the outer loop: weights are read and results written in order. */
static void lanes_task(void *context, int64_t task, int worker) {
    (void)worker;
    const lanes *l = context;
    const int64_t row_block = task % l->row_blocks, part = task / l->row_blocks % l->unit_blocks, g = task / l->row_blocks / l->unit_blocks;
    const int64_t i0 = row_block * l->block_rows, last = eng_min(l->c->outs, i0 + l->block_rows);
    const int64_t u0 = part * l->block_units, end = eng_min(l->n_blocks * l->chunks, u0 + l->block_units);
    const bool passes = l->pass < l->words;
    const int64_t row_bytes = (l->chunk * l->run + l->vector) * (l->f->sum == TT_F64 ? 8 : 4);
    const int64_t kept_bytes = (passes ? l->block_rows : l->mr) * row_bytes;
    char *kept = eng_scratch_need(ENG_SLOT_C, (size_t)(kept_bytes * (l->mate ? 2 : 1)));
    for (int64_t u = u0; u < end && passes; u++)
        for (int64_t k = 0; k < l->words; k += l->pass)
            for (int64_t i = i0; i < last; i += l->mr)
                tile_rows(l, g, u, i, eng_min(last - i, l->mr), i + l->mr < last ? i + l->mr : i, k, kept + (i - i0) * row_bytes, NULL);
    for (int64_t i = i0; i < last && !passes; i += l->mr)
        for (int64_t u = u0; u < end; u++)
            tile_rows(l, g, u, i, eng_min(last - i, l->mr), i + l->mr < last ? i + l->mr : i, 0, kept, l->mate ? kept + kept_bytes : NULL);
}

/* What a unit reads of the copy stays in the second cache, unless the weights, which every unit reads, do not. */
static void set_chunk(lanes *l) {
    const conv *c = l->c;
    const int64_t row_bytes = l->channel_words * l->row * l->f->word_bytes, weights = c->outs * l->words * l->f->word_bytes;
    const int64_t rows = eng_max(NEAR, weights / 2) / row_bytes, taps = l->extent[1] - (c->dim[1].out - 1) * l->step[1];
    const int64_t most = eng_max(1, eng_min(CHUNK_LANES / l->run, (rows - taps) / l->step[1] / l->band));
    l->chunk = eng_blocks(l->runs, eng_blocks(l->runs, most));
    l->chunks = eng_blocks(l->runs, l->chunk);
    /* long sums over whole vectors of images pass over the copy together, as far as it stays near */
    const int64_t near = NEAR / 2 / (l->nb * l->f->word_bytes * l->steps), kept = c->outs * l->chunk * l->run;
    const bool passes = l->nb % l->vector == 0 && !l->direct && kept <= 1 << 18;
    l->pass = passes ? l->steps * eng_max(1, near) : l->words;
}

/* Phases whose places in y are even and odd ones of the same rows are computed together: every line of y is written once. */
static void set_mate(lanes *l, lanes *next) {
    const conv *c = l->c, *n = next->c;
    bool mates = n->y == c->y + c->y_bytes && c->dim[2].y == 2 && l->run == next->run && l->band == next->band && !l->second;
    for (int i = 0; i < CONV_DIMS; i++)
        mates = mates && c->dim[i].out == n->dim[i].out && c->dim[i].y == n->dim[i].y;
    if (!mates || l->pass < l->words || next->pass < next->words)
        return;
    l->mate = next;
    next->second = true;
    next->chunk = l->chunk;
    next->chunks = l->chunks;
}

/* Cuts rows and units as threads need; sums do not depend on it. */
static void cut_tasks(lanes *l) {
    const int64_t units = l->n_blocks * l->chunks;
    l->block_rows = eng_round_up(l->c->outs, l->mr);
    l->block_units = l->n_blocks * l->block * l->f->word_bytes <= NEAR ? units : 1;
    for (;;) {
        l->row_blocks = eng_blocks(l->c->outs, l->block_rows);
        l->unit_blocks = eng_blocks(units, l->block_units);
        if (conv_shared_evenly(l->c->groups * l->unit_blocks * l->row_blocks))
            break;
        if (l->block_rows > 2 * l->mr)
            l->block_rows = eng_round_up(l->block_rows / 2, l->mr);
        else if (l->block_units > 1)
            l->block_units = eng_blocks(l->block_units, 2);
        else
            break;
    }
}

tt_status conv_by_lanes(const conv *phases, int64_t n, bool *out_done) {
    const conv *c = &phases[0];
    lanes *l = TT_NEW_N(c->arena, lanes, n);
    lanes shared = {.f = c->f, .vector = c->f->nr / 2, .mr = eng_even_rows(c->f, c->outs), .channel_words = eng_words(c->f, c->channels)};
    *out_done = set_extents(&shared, phases, n);
    for (int64_t p = 0; p < n; p++) {
        l[p] = shared;
        l[p].c = &phases[p];
    }
    *out_done = *out_done && set_lanes(l, n);
    for (int64_t p = 0; p < n && *out_done; p++)
        *out_done = set_weights(&l[p]) && set_tables(&l[p]);
    if (!*out_done)
        return TT_OK;
    /* few blocks at a time: tiles find them in the second cache */
    const int64_t block_bytes = c->groups * l->block * l->f->word_bytes;
    const int64_t at_once = eng_min(l->blocks, eng_max(eng_pool_size(), NEAR / block_bytes));
    const int64_t copied = eng_round_up(at_once * block_bytes + SLACK, 64);
    int64_t bytes = copied;
    for (int64_t p = 0; p < n; p++)
        bytes += l[p].lay ? eng_round_up(c->groups * l[p].w_group + SLACK, 64) : 0;
    char *copy;
    TT_TRY(conv_shared_scratch(bytes, &copy));
    char *laid = copy + copied;
    for (int64_t p = 0; p < n; p++) {
        set_chunk(&l[p]);
        set_y_lines(&l[p]);
        set_lane_table(&l[p]);
        l[p].copy = copy;
        l[p].w = l[p].lay ? laid : c->w + l[p].w_low * c->bytes;
        if (l[p].lay) {
            eng_parallel(c->groups * l[p].w_outer, weights_task, &l[p]);
            laid += eng_round_up(c->groups * l[p].w_group + SLACK, 64);
        }
    }
    for (int64_t p = 0; p + 1 < n; p++)
        set_mate(&l[p], &l[p + 1]);
    for (int64_t first = 0; first < l->blocks; first += at_once) {
        for (int64_t p = 0; p < n; p++) {
            l[p].first_block = first;
            l[p].n_blocks = eng_min(at_once, l->blocks - first);
        }
        for (int64_t p = 0; p < n; p++) {
            if (l[p].second)
                continue;
            if (p == 0)
                eng_parallel(c->groups * l->n_blocks * l->channel_words, copy_task, l);
            cut_tasks(&l[p]);
            eng_parallel(c->groups * l[p].unit_blocks * l[p].row_blocks, lanes_task, &l[p]);
        }
    }
    return TT_OK;
}
