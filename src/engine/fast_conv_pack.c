/* fast_conv_pack.c - panels of a convolution, copied straight from the image: no im2col matrix is ever
 * stored. */
#include "engine/fast_conv.h"
#include <string.h>

/* A run of columns along the innermost dimension of one image, or along the images at one position. */
typedef struct run {
    int64_t first, count, n, pos[CONV_DIMS];
} run;

static int cut_runs(const conv *c, int64_t column, int64_t n, run *out_runs) {
    int n_runs = 0;
    for (int64_t done = 0; done < n;) {
        run *r = &out_runs[n_runs++];
        conv_locate(c, column + done, &r->n, r->pos);
        r->first = done;
        r->count = eng_min(n - done, c->images_inner ? c->batch - r->n : c->dim[2].out - r->pos[2]);
        done += r->count;
    }
    return n_runs;
}

/* The parts of the runs that a tap finds inside the image; offsets in elements from the group's start in x.
 */
static int clip(const conv *c, const run *runs, int n_runs, int64_t t, eng_piece *out_pieces) {
    int64_t tap[CONV_DIMS];
    conv_tap(c, t, tap);
    const conv_dim *d = c->dim;
    int n = 0;
    for (int u = 0; u < n_runs; u++) {
        const run *r = &runs[u];
        const int64_t z = r->pos[0] * d[0].step + d[0].at[tap[0]],
                      y = r->pos[1] * d[1].step + d[1].at[tap[1]];
        if (z < 0 || z >= d[0].in || y < 0 || y >= d[1].in)
            continue;
        const int64_t x = r->pos[2] * d[2].step + d[2].at[tap[2]];
        int64_t first, end;
        conv_valid(x, d[2].step, d[2].in, r->count, &first, &end);
        if (end <= first)
            continue;
        out_pieces[n++] =
            (eng_piece){(int)(r->first + first), (int)(end - first),
                        r->n * c->x_batch + z * d[0].x + y * d[1].x + (x + first * d[2].step) * d[2].x};
    }
    return n;
}

/* Whether every tap finds all of the runs inside the image; taps then differ by an offset only. */
static bool interior(const conv *c, const run *runs, int n_runs) {
    for (int i = 0; i < CONV_DIMS; i++) {
        const conv_dim *d = &c->dim[i];
        int64_t low = d->at[0], high = d->at[0];
        for (int64_t t = 1; t < d->n_taps; t++) {
            low = eng_min(low, d->at[t]);
            high = eng_max(high, d->at[t]);
        }
        for (int u = 0; u < n_runs; u++) {
            const int64_t first = runs[u].pos[i], last = i == CONV_DIMS - 1 ? first + runs[u].count - 1 : first;
            if (first * d->step + low < 0 || last * d->step + high >= d->in)
                return false;
        }
    }
    return true;
}

/* k = (channel, tap) */
static void fill_by_columns(const conv *c, const char *x, const run *runs, int n_runs, int64_t k0, int64_t kc,
                            bool pairs, char *rows) {
    const conv_dim *d = c->dim;
    const int64_t step = d[2].step * d[2].x, nr = c->f->nr, row = nr * c->bytes;
    eng_piece pieces[ENG_MAX_TAPS * ENG_MAX_NR];
    int n_pieces[ENG_MAX_TAPS];
    if (c->taps <= ENG_MAX_TAPS) {
        const bool shifted = interior(c, runs, n_runs);
        int64_t shifts[ENG_MAX_TAPS];
        for (int64_t t = 0; t < c->taps; t++) {
            if (t == 0 || !shifted)
                n_pieces[t] = clip(c, runs, n_runs, t, pieces + t * ENG_MAX_NR);
            int64_t tap[CONV_DIMS];
            conv_tap(c, t, tap);
            shifts[t] = 0;
            for (int i = 0; i < CONV_DIMS; i++)
                shifts[t] += (d[i].at[tap[i]] - d[i].at[0]) * d[i].x;
        }
        c->kernels->gather_taps((int)c->bytes, pairs, (int)nr, (int)c->taps, pieces, n_pieces, shifted ? shifts : NULL, step, x,
                                c->x_channel * c->bytes, k0, kc, rows);
        return;
    }
    for (int64_t t = 0; t < c->taps; t++) { /* a tap's rows lie `taps` rows apart */
        const int64_t channel = k0 > t ? eng_blocks(k0 - t, c->taps) : 0, first = channel * c->taps + t - k0;
        if (first >= kc)
            continue;
        c->kernels->gather_rows((int)c->bytes, (int)nr, pieces, clip(c, runs, n_runs, t, pieces), step,
                                x + channel * c->x_channel * c->bytes, c->x_channel * c->bytes,
                                eng_blocks(kc - first, c->taps), rows + first * row, c->taps * row);
    }
}

#define COPY_BLOCKS(bytes)                                                                                   \
    case bytes:                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                      \
            memcpy(to + i * to_step, from + i * step, bytes);                                                \
        break;

void conv_copy_blocks(char *to, int64_t to_step, const char *from, int64_t step, int64_t n, int64_t bytes) {
    switch (bytes) {
        COPY_BLOCKS(2)
        COPY_BLOCKS(4)
        COPY_BLOCKS(8)
        COPY_BLOCKS(16)
        COPY_BLOCKS(32)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, from + i * step, (size_t)bytes);
    }
}

void conv_copy(char *to, int64_t to_step, const char *from, int64_t step, int64_t n, int64_t bytes) {
    if (step == 1 && to_step == 1)
        memcpy(to, from, (size_t)(n * bytes));
    else
        conv_copy_blocks(to, to_step * bytes, from, step * bytes, n, bytes);
}

/* One column, k = (tap, channel) with channels as the run. */
static void fill_channels(const conv *c, const char *x, const int64_t pos[CONV_DIMS], int64_t k0, int64_t kc,
                          char *to) {
    const conv_dim *d = c->dim;
    for (int64_t k = k0; k < k0 + kc;) {
        int64_t tap[CONV_DIMS], at = 0;
        conv_tap(c, k / c->channels, tap);
        const int64_t channel = k % c->channels, count = eng_min(c->channels - channel, k0 + kc - k);
        bool inside = true;
        for (int i = 0; i < CONV_DIMS; i++) {
            const int64_t p = pos[i] * d[i].step + d[i].at[tap[i]];
            inside = inside && p >= 0 && p < d[i].in;
            at += p * d[i].x;
        }
        if (inside)
            conv_copy(to, 1, x + (at + channel * c->x_channel) * c->bytes, c->x_channel, count, c->bytes);
        else
            memset(to, 0, (size_t)(count * c->bytes));
        to += count * c->bytes;
        k += count;
    }
}

/* One column, k = (channel, tap) with the innermost dimension's taps as the run. */
static void fill_taps(const conv *c, const char *x, const int64_t pos[CONV_DIMS], int64_t k0, int64_t kc,
                      char *to) {
    const conv_dim *d = c->dim;
    for (int64_t k = k0; k < k0 + kc;) {
        int64_t tap[CONV_DIMS], first, end;
        conv_tap(c, k % c->taps, tap);
        const int64_t channel = k / c->taps, count = eng_min(d[2].n_taps - tap[2], k0 + kc - k);
        const int64_t z = pos[0] * d[0].step + d[0].at[tap[0]], y = pos[1] * d[1].step + d[1].at[tap[1]];
        const int64_t at = pos[2] * d[2].step + d[2].at[tap[2]];
        conv_valid(at, d[2].tap_step, d[2].in, count, &first, &end);
        if (z < 0 || z >= d[0].in || y < 0 || y >= d[1].in)
            first = end = count;
        memset(to, 0, (size_t)(first * c->bytes));
        if (end > first)
            conv_copy(to + first * c->bytes, 1,
                      x + (channel * c->x_channel + z * d[0].x + y * d[1].x +
                           (at + first * d[2].tap_step) * d[2].x) *
                              c->bytes,
                      d[2].tap_step * d[2].x, end - first, c->bytes);
        memset(to + end * c->bytes, 0, (size_t)((count - end) * c->bytes));
        to += count * c->bytes;
        k += count;
    }
}

/* Of a padded copy: k = (channel, tap), every row the same pieces further on; the innermost dimension's taps as the run. Whole
 * panels of 32 neighbours are packed at once where `packed`, else rows of elements are written. */
static void fill_shifted(const conv *c, const char *x, const run *runs, int n_runs, int64_t k0, int64_t kc, bool packed,
                         char *to) {
    const conv_dim *d = c->dim;
    const eng_flavor *f = c->f;
    eng_piece pieces[ENG_MAX_NR];
    for (int u = 0; u < n_runs; u++) {
        const run *r = &runs[u];
        int64_t at = r->n * c->x_batch;
        for (int i = 0; i < CONV_DIMS; i++)
            at += r->pos[i] * d[i].step * d[i].x;
        pieces[u] = (eng_piece){(int)r->first, (int)r->count, at};
    }
    const int64_t step = c->images_inner ? c->x_batch : d[2].step * d[2].x, ld = d[2].tap_step * d[2].x;
    for (int64_t k = k0; k < k0 + kc;) {
        int64_t tap[CONV_DIMS], at = k / c->taps * c->x_channel;
        conv_tap(c, k % c->taps, tap);
        const int64_t count = eng_min(d[2].n_taps - tap[2], k0 + kc - k);
        for (int i = 0; i < CONV_DIMS; i++)
            at += d[i].at[tap[i]] * d[i].x;
        if (packed) {
            f->pack_rows(to, f->nr, f->nr, x + (at + pieces[0].at) * c->bytes, ld, f->nr, count);
            to += eng_words(f, count) * f->nr * f->word_bytes;
        } else {
            c->kernels->gather_rows((int)c->bytes, f->nr, pieces, n_runs, step, x + at * c->bytes, ld * c->bytes, count, to,
                                    f->nr * c->bytes);
            to += count * f->nr * c->bytes;
        }
        k += count;
    }
}

/* ---- padded copies ---- */
typedef struct padding {
    const conv *c;
    char *to;
    int64_t low[CONV_DIMS], extent[CONV_DIMS], every[CONV_DIMS]; /* element i of the copy is low + i * every of x */
    int64_t first[CONV_DIMS], end[CONV_DIMS];                    /* of these, those that x has */
    int64_t half; /* of rows read with step 2: even elements, from here on the odd ones; else 0 */
} padding;

/* One row of the innermost dimension, of all images if they go inside. */
static void pad_task(void *context, int64_t task, int worker) {
    (void)worker;
    const padding *p = context;
    const conv *c = p->c;
    const conv_dim *d = c->dim;
    const int64_t inner = c->images_inner ? c->batch : 1, bytes = c->bytes, row = p->extent[2] * inner * bytes;
    char *to = p->to + task * row;
    int64_t rest = task, at = 0;
    bool outside = p->end[2] <= p->first[2];
    for (int i = 1; i >= 0; i--) {
        const int64_t q = rest % p->extent[i];
        rest /= p->extent[i];
        outside = outside || q < p->first[i] || q >= p->end[i];
        at += (p->low[i] + q * p->every[i]) * d[i].x;
    }
    if (outside) {
        memset(to, 0, (size_t)row);
        return;
    }
    at += rest % c->channels * c->x_channel;
    rest /= c->channels;
    if (!c->images_inner) {
        at += rest % c->batch * c->x_batch;
        rest /= c->batch;
    }
    at += rest * c->x_group + (p->low[2] + p->first[2] * p->every[2]) * d[2].x;
    const int64_t count = p->end[2] - p->first[2], step = p->every[2] * d[2].x;
    const char *from = c->x + at * bytes;
    if (p->half) {
        memset(to, 0, (size_t)row);
        const int64_t odd = p->first[2] % 2;
        conv_copy(to + (p->first[2] + 1) / 2 * bytes, 1, from + odd * step * bytes, 2 * step, (count + 1 - odd) / 2, bytes);
        conv_copy(to + (p->half + p->first[2] / 2) * bytes, 1, from + (1 - odd) * step * bytes, 2 * step, (count + odd) / 2, bytes);
        return;
    }
    memset(to, 0, (size_t)(p->first[2] * inner * bytes));
    memset(to + p->end[2] * inner * bytes, 0, (size_t)((p->extent[2] - p->end[2]) * inner * bytes));
    to += p->first[2] * inner * bytes;
    if (!c->images_inner) {
        conv_copy(to, 1, from, step, count, bytes);
        return;
    }
    int64_t ld = c->x_batch;
    if (step != 1) {
        char *rows = eng_scratch_need(ENG_SLOT_A, (size_t)(c->batch * count * bytes));
        for (int64_t n = 0; n < c->batch; n++)
            conv_copy(rows + n * count * bytes, 1, from + n * c->x_batch * bytes, step, count, bytes);
        from = rows;
        ld = count;
    }
    c->kernels->transpose((int)bytes, to, c->batch, from, ld, c->batch, count);
}

static int64_t gcd(int64_t a, int64_t b) {
    return b ? gcd(b, a % b) : a;
}

tt_status conv_scratch(int slot, int64_t bytes, char **out) {
    *out = eng_scratch(slot, (size_t)bytes);
    TT_CHECK(*out, RESOURCE_EXHAUSTED, "convolution: no memory for %lld bytes of scratch", (long long)bytes);
    return TT_OK;
}

tt_status conv_shared_scratch(int64_t bytes, char **out) {
    return conv_scratch(ENG_SLOT_SHARED, bytes, out);
}

tt_status conv_pad(conv *c, int64_t more, int64_t *out_bytes) {
    padding p = {.c = c};
    int64_t elements = c->groups * c->channels * c->batch, size = elements;
    for (int i = 0; i < CONV_DIMS; i++) {
        const conv_dim *d = &c->dim[i];
        const int64_t last = d->at[d->n_taps - 1], span = last - d->at[0] + (d->out - 1) * d->step;
        if (last < d->at[0])
            return TT_OK;
        p.every[i] = eng_max(1, gcd(d->n_taps > 1 ? d->tap_step : 0, d->out > 1 ? d->step : 0));
        p.low[i] = d->at[0];
        p.extent[i] = span / p.every[i] + 1;
        conv_valid(p.low[i], p.every[i], d->in, p.extent[i], &p.first[i], &p.end[i]);
        if (p.extent[i] > (int64_t)1 << 30 || elements > ((int64_t)1 << 36) / p.extent[i])
            return TT_OK;
        elements *= p.extent[i];
        size *= d->in;
    }
    if (elements > 2 * size + 4096)
        return TT_OK;
    if (c->by_columns && c->dim[2].step == 2 && p.every[2] == 1 && p.extent[2] > 1) {
        p.half = (p.extent[2] + 1) / 2;
        elements = elements / p.extent[2] * 2 * p.half;
        p.extent[2] = 2 * p.half;
    }
    const int64_t bytes = eng_round_up(elements * c->bytes, 64) + 256; /* rows of panels may be read past their end */
    TT_TRY(conv_shared_scratch(bytes + more, &p.to));
    const int64_t inner = c->images_inner ? c->batch : 1;
    if (elements)
        eng_parallel(elements / (p.extent[2] * inner), pad_task, &p);
    *out_bytes = bytes;
    c->shifted = true;
    c->x = p.to;
    int64_t stride = inner;
    for (int i = CONV_DIMS - 1; i >= 0; i--) {
        conv_dim *d = &c->dim[i];
        int64_t *at = TT_NEW_N(c->arena, int64_t, d->n_taps);
        for (int64_t t = 0; t < d->n_taps; t++) {
            at[t] = (d->at[t] - p.low[i]) / p.every[i];
            if (i == CONV_DIMS - 1 && p.half)
                at[t] = at[t] % 2 * p.half + at[t] / 2;
        }
        d->at = at;
        d->in = p.extent[i];
        d->step = d->out > 1 && !(i == CONV_DIMS - 1 && p.half) ? d->step / p.every[i] : 1;
        d->tap_step = d->n_taps > 1 ? d->tap_step / p.every[i] : 1;
        d->x = stride;
        stride *= p.extent[i];
    }
    c->x_channel = stride;
    c->x_batch = c->images_inner ? 1 : c->channels * stride;
    c->x_group = c->channels * stride * (c->images_inner ? 1 : c->batch);
    return TT_OK;
}

void conv_pack_columns(const conv *c, int64_t g, int64_t column, int64_t n, int64_t k0, int64_t kc,
                       void *panel) {
    const char *x = c->x + g * c->x_group * c->bytes;
    const eng_flavor *f = c->f;
    const bool as_is = f->per_word == 1 && f->word_bytes == f->element_bytes, rows_first = c->by_columns || c->shifted;
    if (c->images_apart && (f->per_word == 1 || (k0 % 2 == 0 && c->taps % 2 == 0))) {
        for (int64_t k = k0; k < k0 + kc;) {
            const int64_t t = k % c->taps, count = eng_min(c->taps - t, k0 + kc - k);
            f->pack_cols(panel, f->nr, f->nr, x + (column * c->x_batch + k / c->taps * c->x_channel + t) * c->bytes, c->x_batch,
                         n, count);
            panel = (char *)panel + eng_words(f, count) * f->nr * f->word_bytes;
            k += count;
        }
        return;
    }
    if (rows_first) {
        run runs[ENG_MAX_NR];
        const int n_runs = cut_runs(c, column, n, runs);
        const int64_t step = c->images_inner ? c->x_batch : c->dim[2].step * c->dim[2].x;
        const bool even = f->per_word == 1 || (k0 % 2 == 0 && c->dim[2].n_taps % 2 == 0);
        const bool packed = c->shifted ? n_runs == 1 && n == f->nr && step == 1 && even
                                       : f->per_word == 2 && c->taps <= ENG_MAX_TAPS;
        char *rows = as_is || packed ? panel : eng_scratch_need(ENG_SLOT_A, (size_t)(kc * f->nr * c->bytes));
        if (c->shifted)
            fill_shifted(c, x, runs, n_runs, k0, kc, packed, rows);
        else
            fill_by_columns(c, x, runs, n_runs, k0, kc, packed, rows);
        if (!as_is && !packed)
            f->pack_rows(panel, f->nr, f->nr, rows, f->nr, f->nr, kc);
        return;
    }
    char *rows = eng_scratch_need(ENG_SLOT_A, (size_t)(kc * f->nr * c->bytes));
    for (int64_t j = 0; j < n; j++) {
        int64_t image, pos[CONV_DIMS];
        conv_locate(c, column + j, &image, pos);
        const char *from = x + image * c->x_batch * c->bytes;
        if (c->tap_major)
            fill_channels(c, from, pos, k0, kc, rows + j * kc * c->bytes);
        else
            fill_taps(c, from, pos, k0, kc, rows + j * kc * c->bytes);
    }
    f->pack_cols(panel, f->nr, f->nr, rows, kc, n, kc);
}

/* Neighbouring rows lie together in w more often than neighbouring channels do: rows are the inner loop. */
void conv_gather_weights(const conv *c, int64_t g, int64_t i, int64_t m, int64_t k0, int64_t kc, char *dst) {
    const char *w = c->w + (g * c->w_group + i * c->w_out) * c->bytes;
    for (int64_t k = k0; k < k0 + kc;) {
        const int64_t t = c->tap_major ? k / c->channels : k % c->taps;
        const int64_t channel = c->tap_major ? k % c->channels : k / c->taps;
        const int64_t count = eng_min(c->tap_major ? c->channels - channel : c->taps - t, k0 + kc - k);
        for (int64_t r = 0; r < m; r++) {
            char *to = dst + (r * kc + k - k0) * c->bytes;
            const char *from = w + (r * c->w_out + channel * c->w_channel + c->tap_weight[t]) * c->bytes;
            if (c->tap_major)
                conv_copy(to, 1, from, c->w_channel, count, c->bytes);
            else if (c->weights_step)
                conv_copy(to, 1, from, c->weights_step, count, c->bytes);
            else
                for (int64_t j = 0; j < count; j++)
                    memcpy(to + j * c->bytes, from + (c->tap_weight[t + j] - c->tap_weight[t]) * c->bytes,
                           (size_t)c->bytes);
        }
        k += count;
    }
}

#define GATHER_STEPS(bytes)                                                                               \
    case bytes:                                                                                              \
        for (; t < c->taps && k < end; t++, k++, dst += m * bytes) {                                         \
            const char *at = from + c->tap_weight[t] * bytes;                                                \
            for (int64_t r = 0; r < m; r++)                                                                  \
                memcpy(dst + r * bytes, at + r * c->w_out * bytes, bytes);                                   \
        }                                                                                                    \
        break;

/* A channel's rows lie together: its taps are read from the first cache. */
void conv_gather_steps(const conv *c, int64_t g, int64_t i, int64_t m, int64_t k0, int64_t kc, char *dst) {
    const char *w = c->w + (g * c->w_group + i * c->w_out) * c->bytes;
    const int64_t span = ((m - 1) * c->w_out + c->taps) * c->bytes;
    for (int64_t k = k0, end = k0 + kc; k < end;) {
        const char *from = w + k / c->taps * c->w_channel * c->bytes;
        int64_t t = k % c->taps;
        for (int64_t ahead = 0; ahead < span; ahead += 64)
            __builtin_prefetch(from + 4 * c->w_channel * c->bytes + ahead);
        switch (c->bytes) {
            GATHER_STEPS(2)
            GATHER_STEPS(4)
            GATHER_STEPS(8)
        }
    }
}
