/* fast_conv.h - a convolution as the convolution files see it: strides instead of layouts, lists of taps
 * instead of padding, dilation and reversal.
 *
 * For one group: y[o, (n, pos)] = sum over k = (c, tap) of w[o, k] x[n, c, pos * step + at(tap)], zero
 * outside x. Base dilation is undone by splitting the output into phases, each an ordinary convolution with
 * fewer taps. */
#ifndef ENG_FAST_CONV_H
#define ENG_FAST_CONV_H
#include "engine/fast_gemm.h"

enum { CONV_DIMS = 3 };

/* One spatial dimension of one phase. */
typedef struct conv_dim {
    int64_t in, out; /* extent of x; positions of this phase */
    int64_t step;    /* of x for one position */
    int64_t n_taps;
    const int64_t *at;     /* position of each tap in x for output 0 */
    const int64_t *weight; /* its index in the kernel */
    int64_t tap_step;      /* difference of neighbouring at */
    int64_t x, w, y;       /* strides in elements */
} conv_dim;

typedef struct conv {
    const eng_flavor *f;
    const eng_kernels *kernels;
    tt_dtype dtype, y_dtype;               /* y: the same, or what sums are kept in */
    int64_t bytes, y_bytes, sum_bytes;     /* of an element */
    int64_t groups, batch, channels, outs; /* all but groups: per group */
    int64_t x_group, x_batch, x_channel, w_group, w_out, w_channel, y_group, y_batch, y_out;
    conv_dim dim[CONV_DIMS]; /* outer to inner */
    const char *x, *w;
    char *y;
    int64_t y_size; /* bytes of all of y */
    tt_arena *arena;
    eng_follow *follow;
    /* as a product */
    int64_t taps, positions, columns, k;
    bool tap_major;    /* k = tap * channels + c, else c * taps + tap */
    bool by_columns;   /* panels are filled along columns (then not tap_major), else along k */
    bool shifted;      /* x is a padded copy: neither taps nor positions ever leave it (conv_pad) */
    bool images_apart; /* one position, whose taps are all of an image in its order: a column is what lies in x */
    bool images_inner; /* column = position * batch + n and x_batch == 1, else n * positions + position */
    const int64_t *tap_weight; /* per tap: offset in w */
    int64_t weights_step;      /* tap_weight[t] == tap_weight[0] + t * weights_step; 0: no such */
    bool y_linear;             /* positions are contiguous in y */
    int64_t joined;            /* rows are (out, phase), of so many phases; 0: rows are outs */
    const int64_t *phase_y;    /* of these, where they start in y */
} conv;

/* Fills a panel: columns [column, column + n) of group g, k in [k0, k0 + kc); n <= f->nr. scratch: SLOT_A. */
void conv_pack_columns(const conv *, int64_t g, int64_t column, int64_t n, int64_t k0, int64_t kc,
                       void *panel);
/* Copies w[rows, k0 .. k0 + kc) of group g, rows i .. i + m, into dst[m][kc]. */
void conv_gather_weights(const conv *, int64_t g, int64_t i, int64_t m, int64_t k0, int64_t kc, char *dst);
/* The same as dst[kc][m]. */
void conv_gather_steps(const conv *, int64_t g, int64_t i, int64_t m, int64_t k0, int64_t kc, char *dst);
/* to[i * to_step] = from[i * step], in elements of 2, 4 or 8 bytes. */
void conv_copy(char *to, int64_t to_step, const char *from, int64_t step, int64_t n, int64_t bytes);
/* n blocks of `bytes`, to_step and step bytes apart. */
void conv_copy_blocks(char *to, int64_t to_step, const char *from, int64_t step, int64_t n, int64_t bytes);
/* The scratch that tasks share, a slot of its own where it is turned: a call with more bytes than before moves it, and what it held is lost. */
tt_status conv_scratch(int slot, int64_t bytes, char **out);
tt_status conv_shared_scratch(int64_t bytes, char **out);
/* Replaces x by a copy at the start of the shared scratch, out_bytes of it with room for `more` after, in which taps stay inside:
 * padded, without elements that none reaches, and with images innermost if images_inner. */
tt_status conv_pad(conv *, int64_t more, int64_t *out_bytes);
/* Long sums are cut into so many spans, whatever the threads, if the sums of all (columns of `lanes`) take little memory: where rows
 * and columns are few, each thread takes some. */
int64_t conv_spans(const conv *, int64_t lanes);
/* Whether no thread waits long for the last of so many tasks. */
bool conv_shared_evenly(int64_t tasks);
/* to += from, n sums */
void conv_add_sums(const conv *, char *to, const char *from, int64_t n);
/* Rows [i, i + m) of w in group g, k in [k, k + kc), as words [k][row]. */
void conv_pack_weights(const conv *, int64_t g, int64_t i, int64_t m, int64_t k, int64_t kc, char *panel);
/* A phase by Winograd's products (fast_conv_winograd.c); *out_done: whether it is one of its own. */
tt_status conv_by_winograd(const conv *, bool *out_done);
/* Images and rows [group, out] that it, or conv_by_tiles, left out: conv_in_order's. */
tt_status conv_odd(const conv *, const uint8_t *odd_images, const uint8_t *odd_rows);
tt_status conv_by_winograd_grad(const conv *, bool *out_done); /* of weights (fast_conv_winograd_grad.c) */
/* 3x3 windows of channels that lie innermost, and the four phases of the gradient of step 2 (fast_conv_tiles.c). */
tt_status conv_by_tiles(const conv *phases, int64_t n, bool *out_done);
/* A phase whose strides and taps are set, by sums of its products. */
tt_status conv_in_order(conv *);
/* The product without panels of n phases, each with taps and outputs (fast_conv_lanes.c); *out_done: whether it is one of its own. */
tt_status conv_by_lanes(const conv *phases, int64_t n, bool *out_done);
/* Depthwise convolutions of channels that lie innermost, and gradients of their weights (fast_conv_depth.c). */
tt_status conv_by_depth(const conv *phases, int64_t n, bool *out_done);
tt_status conv_by_depth_grad(const conv *, bool *out_done);
/* A whole convolution of channels that lie innermost as one of planes in scratch (fast_conv_turn.c): x is turned, y has room; *out_done:
 * whether it lies so. And y back to where it belongs. */
tt_status conv_turn(const conv *, conv *out_planes, bool *out_done);
void conv_turn_back(const conv *, const conv *planes);
/* Direct forms for groups of one channel and for short sums of long rows; false: not one of theirs. */
bool conv_direct(const conv *);
/* Weight gradients of a few channels; of a padded copy (conv_pad). */
bool conv_has_lines(const conv *);
int64_t conv_lines_bytes(const conv *); /* of the shared scratch, after the copy */
tt_status conv_by_lines(const conv *, int64_t copied);
static inline void conv_locate(const conv *c, int64_t column, int64_t *out_n, int64_t out_pos[CONV_DIMS]) {
    int64_t at = c->images_inner ? column / c->batch : column % c->positions;
    *out_n = c->images_inner ? column % c->batch : column / c->positions;
    out_pos[2] = at % c->dim[2].out;
    at /= c->dim[2].out;
    out_pos[1] = at % c->dim[1].out;
    out_pos[0] = at / c->dim[1].out;
}
/* Position of tap t in each dimension. */
static inline void conv_tap(const conv *c, int64_t t, int64_t out_tap[CONV_DIMS]) {
    out_tap[2] = t % c->dim[2].n_taps;
    t /= c->dim[2].n_taps;
    out_tap[1] = t % c->dim[1].n_taps;
    out_tap[0] = t / c->dim[1].n_taps;
}
/* out[tap]: where taps are in x, for output 0, or in w */
void conv_over_taps(const conv *, bool of_x, int64_t *out);
/* Values i in [0, count) with 0 <= at + i * step < extent, as [*out_first, *out_end). */
static inline void conv_valid(int64_t at, int64_t step, int64_t extent, int64_t count, int64_t *out_first,
                              int64_t *out_end) {
    *out_first = at < 0 ? eng_min(count, (-at + step - 1) / step) : 0;
    *out_end = at >= extent ? 0 : eng_min(count, (extent - 1 - at) / step + 1);
    if (*out_end < *out_first)
        *out_end = *out_first;
}
#endif
