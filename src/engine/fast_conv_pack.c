/* fast_conv_pack.c - panels of a convolution, copied straight from the image: no im2col matrix is ever stored. */
#include "engine/fast_conv.h"
#include <string.h>

/* Column -> image and position. */
static void locate(const conv *c, int64_t column, int64_t *out_n, int64_t pos[CONV_DIMS]) {
    pos[2] = column % c->dim[2].out;
    column /= c->dim[2].out;
    pos[1] = column % c->dim[1].out;
    column /= c->dim[1].out;
    pos[0] = column % c->dim[0].out;
    *out_n = column / c->dim[0].out;
}

/* A run of columns along the innermost dimension of one image. */
typedef struct run { int64_t first, count, n, pos[CONV_DIMS]; } run;

static int cut_runs(const conv *c, int64_t column, int64_t n, run *out_runs) {
    int n_runs = 0;
    for (int64_t done = 0; done < n;) {
        run *r = &out_runs[n_runs++];
        locate(c, column + done, &r->n, r->pos);
        r->first = done;
        r->count = eng_min(n - done, c->dim[2].out - r->pos[2]);
        done += r->count;
    }
    return n_runs;
}

/* The parts of the runs that a tap finds inside the image; offsets in elements from the group's start in x. */
static int clip(const conv *c, const run *runs, int n_runs, int64_t t, eng_piece *out_pieces) {
    int64_t tap[CONV_DIMS];
    conv_tap(c, t, tap);
    const conv_dim *d = c->dim;
    int n = 0;
    for (int u = 0; u < n_runs; u++) {
        const run *r = &runs[u];
        const int64_t z = r->pos[0] * d[0].step + d[0].at[tap[0]], y = r->pos[1] * d[1].step + d[1].at[tap[1]];
        if (z < 0 || z >= d[0].in || y < 0 || y >= d[1].in)
            continue;
        const int64_t x = r->pos[2] * d[2].step + d[2].at[tap[2]];
        int64_t first, end;
        conv_valid(x, d[2].step, d[2].in, r->count, &first, &end);
        if (end <= first)
            continue;
        out_pieces[n++] = (eng_piece){(int)(r->first + first), (int)(end - first),
                                      r->n * c->x_batch + z * d[0].x + y * d[1].x + (x + first * d[2].step) * d[2].x};
    }
    return n;
}

/* k = (channel, tap): a tap's rows lie `taps` rows apart. */
static void fill_by_columns(const conv *c, const char *x, const run *runs, int n_runs, int64_t k0, int64_t kc,
                            char *rows) {
    eng_piece pieces[ENG_MAX_NR];
    const int64_t row = c->f->nr * c->bytes;
    for (int64_t t = 0; t < c->taps; t++) {
        const int64_t channel = k0 > t ? eng_blocks(k0 - t, c->taps) : 0, first = channel * c->taps + t - k0;
        if (first >= kc)
            continue;
        c->kernels->gather_rows((int)c->bytes, c->f->nr, pieces, clip(c, runs, n_runs, t, pieces),
                                c->dim[2].step * c->dim[2].x, x + channel * c->x_channel * c->bytes,
                                c->x_channel * c->bytes, eng_blocks(kc - first, c->taps), rows + first * row,
                                c->taps * row);
    }
}

static void copy_strided(char *to, const char *from, int64_t n, int64_t step, int64_t bytes) {
    if (step == 1) {
        memcpy(to, from, (size_t)(n * bytes));
    } else if (bytes == 4) {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * 4, from + i * step * 4, 4);
    } else if (bytes == 2) {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * 2, from + i * step * 2, 2);
    } else {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * 8, from + i * step * 8, 8);
    }
}

/* One column, k = (tap, channel) with channels as the run. */
static void fill_channels(const conv *c, const char *x, const int64_t pos[CONV_DIMS], int64_t k0, int64_t kc, char *to) {
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
            copy_strided(to, x + (at + channel * c->x_channel) * c->bytes, count, c->x_channel, c->bytes);
        else
            memset(to, 0, (size_t)(count * c->bytes));
        to += count * c->bytes;
        k += count;
    }
}

/* One column, k = (channel, tap) with the innermost dimension's taps as the run. */
static void fill_taps(const conv *c, const char *x, const int64_t pos[CONV_DIMS], int64_t k0, int64_t kc, char *to) {
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
            copy_strided(to + first * c->bytes,
                         x + (channel * c->x_channel + z * d[0].x + y * d[1].x +
                              (at + first * d[2].tap_step) * d[2].x) * c->bytes,
                         end - first, d[2].tap_step * d[2].x, c->bytes);
        memset(to + end * c->bytes, 0, (size_t)((count - end) * c->bytes));
        to += count * c->bytes;
        k += count;
    }
}

void conv_pack_columns(const conv *c, int64_t g, int64_t column, int64_t n, int64_t k0, int64_t kc, void *panel) {
    const char *x = c->x + g * c->x_group * c->bytes;
    const eng_flavor *f = c->f;
    if (c->by_columns) {
        run runs[ENG_MAX_NR];
        const int n_runs = cut_runs(c, column, n, runs);
        if (f->per_word == 1 && f->word_bytes == f->element_bytes) {
            fill_by_columns(c, x, runs, n_runs, k0, kc, panel);
            return;
        }
        char *rows = eng_scratch_need(ENG_SLOT_A, (size_t)(kc * f->nr * c->bytes));
        fill_by_columns(c, x, runs, n_runs, k0, kc, rows);
        f->pack_rows(panel, f->nr, f->nr, rows, f->nr, f->nr, kc);
        return;
    }
    char *rows = eng_scratch_need(ENG_SLOT_A, (size_t)(kc * f->nr * c->bytes));
    for (int64_t j = 0; j < n; j++) {
        int64_t image, pos[CONV_DIMS];
        locate(c, column + j, &image, pos);
        const char *from = x + image * c->x_batch * c->bytes;
        if (c->tap_major)
            fill_channels(c, from, pos, k0, kc, rows + j * kc * c->bytes);
        else
            fill_taps(c, from, pos, k0, kc, rows + j * kc * c->bytes);
    }
    f->pack_cols(panel, f->nr, f->nr, rows, kc, n, kc);
}

void conv_gather_weights(const conv *c, int64_t g, int64_t i, int64_t m, int64_t k0, int64_t kc, char *dst) {
    for (int64_t r = 0; r < m; r++) {
        const char *w = c->w + (g * c->w_group + (i + r) * c->w_out) * c->bytes;
        for (int64_t k = k0; k < k0 + kc;) {
            if (c->tap_major) {
                const int64_t t = k / c->channels, channel = k % c->channels;
                const int64_t count = eng_min(c->channels - channel, k0 + kc - k);
                copy_strided(dst, w + (c->tap_weight[t] + channel * c->w_channel) * c->bytes, count, c->w_channel,
                             c->bytes);
                dst += count * c->bytes;
                k += count;
                continue;
            }
            const int64_t channel = k / c->taps, t = k % c->taps, count = eng_min(c->taps - t, k0 + kc - k);
            const char *from = w + channel * c->w_channel * c->bytes;
            if (c->weights_follow)
                memcpy(dst, from + c->tap_weight[t] * c->bytes, (size_t)(count * c->bytes));
            else
                for (int64_t j = 0; j < count; j++)
                    memcpy(dst + j * c->bytes, from + c->tap_weight[t + j] * c->bytes, (size_t)c->bytes);
            dst += count * c->bytes;
            k += count;
        }
    }
}
