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
        for (int64_t t = 0, at = 0; t < c->taps; t++) {
            eng_piece *to = pieces + t * ENG_MAX_NR;
            if (t == 0 || !shifted) {
                n_pieces[t] = clip(c, runs, n_runs, t, to);
                continue;
            }
            int64_t tap[CONV_DIMS];
            conv_tap(c, t, tap);
            at = 0;
            for (int i = 0; i < CONV_DIMS; i++)
                at += (d[i].at[tap[i]] - d[i].at[0]) * d[i].x;
            n_pieces[t] = n_pieces[0];
            for (int u = 0; u < n_pieces[0]; u++)
                to[u] = (eng_piece){pieces[u].first, pieces[u].count, pieces[u].at + at};
        }
        c->kernels->gather_taps((int)c->bytes, pairs, (int)nr, (int)c->taps, pieces, n_pieces, step, x,
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

void conv_copy(char *to, int64_t to_step, const char *from, int64_t step, int64_t n, int64_t bytes) {
    if (step == 1 && to_step == 1) {
        memcpy(to, from, (size_t)(n * bytes));
    } else if (bytes == 4) {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step * 4, from + i * step * 4, 4);
    } else if (bytes == 2) {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step * 2, from + i * step * 2, 2);
    } else {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step * 8, from + i * step * 8, 8);
    }
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

/* Images innermost: k = (channel, tap), a row of the panel for each tap, columns contiguous in x. */
static void fill_by_images(const conv *c, const char *x, const run *runs, int n_runs, int64_t k0, int64_t kc,
                           char *rows) {
    const conv_dim *d = c->dim;
    const int64_t row = c->f->nr * c->bytes;
    for (int64_t k = k0; k < k0 + kc;) {
        int64_t tap[CONV_DIMS], first, end;
        conv_tap(c, k % c->taps, tap);
        const int64_t channel = k / c->taps, count = eng_min(d[2].n_taps - tap[2], k0 + kc - k);
        if (n_runs > 1 || c->f->nr > runs[0].count)
            memset(rows, 0, (size_t)(count * row));
        for (int u = 0; u < n_runs; u++) {
            const run *r = &runs[u];
            const int64_t z = r->pos[0] * d[0].step + d[0].at[tap[0]],
                          y = r->pos[1] * d[1].step + d[1].at[tap[1]];
            const int64_t at = r->pos[2] * d[2].step + d[2].at[tap[2]];
            conv_valid(at, d[2].tap_step, d[2].in, count, &first, &end);
            if (z < 0 || z >= d[0].in || y < 0 || y >= d[1].in)
                first = end = count;
            const char *from =
                x + (channel * c->x_channel + z * d[0].x + y * d[1].x + at * d[2].x + r->n) * c->bytes;
            char *to = rows + r->first * c->bytes;
            const int64_t width = r->count * c->bytes, step = d[2].tap_step * d[2].x * c->bytes;
            for (int64_t t = 0; t < first; t++)
                memset(to + t * row, 0, (size_t)width);
            if (width == 128)
                for (int64_t t = first; t < end; t++)
                    memcpy(to + t * row, from + t * step, 128);
            else
                for (int64_t t = first; t < end; t++)
                    memcpy(to + t * row, from + t * step, (size_t)width);
            for (int64_t t = end; t < count; t++)
                memset(to + t * row, 0, (size_t)width);
        }
        rows += count * row;
        k += count;
    }
}

void conv_pack_columns(const conv *c, int64_t g, int64_t column, int64_t n, int64_t k0, int64_t kc,
                       void *panel) {
    const char *x = c->x + g * c->x_group * c->bytes;
    const eng_flavor *f = c->f;
    const bool as_is = f->per_word == 1 && f->word_bytes == f->element_bytes,
               rows_first = c->by_columns || c->images_inner;
    const bool pairs = c->by_columns && f->per_word == 2 && c->taps <= ENG_MAX_TAPS;
    char *rows = rows_first && (as_is || pairs) ? panel : eng_scratch_need(ENG_SLOT_A, (size_t)(kc * f->nr * c->bytes));
    if (rows_first) {
        run runs[ENG_MAX_NR];
        const int n_runs = cut_runs(c, column, n, runs);
        if (c->images_inner)
            fill_by_images(c, x, runs, n_runs, k0, kc, rows);
        else
            fill_by_columns(c, x, runs, n_runs, k0, kc, pairs, rows);
        if (!as_is && !pairs)
            f->pack_rows(panel, f->nr, f->nr, rows, f->nr, f->nr, kc);
        return;
    }
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
