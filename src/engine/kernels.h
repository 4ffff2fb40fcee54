/* kernels.h - the table of innermost loops, one per instruction set.
 *
 * kernels_*.c fill it from the same templates (kernel_*.h); the drivers (fast_gemm, fast_conv,
 * fast_attention, fast_norm) split work into tasks and call through it. Kernels are serial, allocate nothing
 * and know no graph. */
#ifndef ENG_KERNELS_H
#define ENG_KERNELS_H
#include "base/dtype.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- products ----
 * A panel is a run of words, `width` per step of k: word [k][i]. A word is one f32 or f64, or two bf16 of
 * neighbouring k for vdpbf16ps (zero-filled if k is odd). Panels of A are as wide as the tile has rows,
 * panels of B always `nr`. Tiles write f32 (f64) rows of C; n columns, at most nr, are written. */
enum { ENG_MAX_MR = 14, ENG_MAX_NR = 32 };

typedef void (*eng_tile_fn)(int64_t words, const void *a, const void *b, void *c, int64_t ldc,
                            bool accumulate, int64_t n);
/* A read where it lies, strides in bytes; B rows of words, ldb words apart, columns beyond n not read. Rows of C come out times factors,
 * if there are. */
typedef void (*eng_direct_fn)(int64_t words, const void *a, int64_t row_bytes, int64_t word_bytes,
                              const void *b, int64_t ldb, void *c, int64_t ldc, bool accumulate, int64_t n, const void *factors);
/* The same of a whole tile, nr columns, whose elements of C are of A's type. */
typedef void (*eng_rounded_fn)(int64_t words, const void *a, int64_t row_bytes, int64_t word_bytes, const void *b, int64_t ldb, void *c,
                               int64_t ldc);
/* A and B through tables of offsets in bytes by word of k: A's rows row_bytes apart, B's two vectors each on their own. All of
 * both vectors are written. next + next_at[k] is fetched ahead into the second cache. */
typedef void (*eng_lanes_fn)(int64_t words, const void *a, int64_t row_bytes, const int32_t *a_at, const void *b0, const void *b1,
                             const int32_t *b_at, const void *next, const int32_t *next_at, void *c, int64_t ldc,
                             bool accumulate);
/* dot products: C[rows, n] = A[rows, k] B[n, k], A packed by pack_dots, k contiguous in B; strides in elements */
typedef void (*eng_dots_fn)(int64_t k, const void *a, const void *b, int64_t ldb, float *c, int64_t ldc, int64_t n);
enum { ENG_DOT_ROWS = 8 };

/* How one element type is multiplied. */
typedef struct eng_flavor {
    int mr, nr;   /* rows and columns of a full tile */
    int per_word; /* steps of k in a word */
    int word_bytes;
    int element_bytes;                       /* of A and B in memory */
    tt_dtype sum;                            /* F32, F64, I32: what tiles write */
    eng_tile_fn tile[ENG_MAX_MR + 1];        /* by rows; [0] unused */
    eng_direct_fn direct[2][ENG_MAX_MR + 1]; /* [n > nr / 2]; NULL: none. For one-word-one-element types A
                                                must be of the word's type; pairs need even k */
    eng_rounded_fn rounded[ENG_MAX_MR + 1]; /* NULL: none */
    eng_lanes_fn lanes[ENG_MAX_MR + 1];
    /* dst[k * width + i] (words) = src[i * ld + k] with, in words of pairs, src[second + i * ld + k] (second 0: zero); i < n, words
     * up to width zero */
    void (*lay)(void *dst, int64_t width, const void *src, int64_t ld, int64_t second, int64_t n, int64_t count);
    /* the same as dst[i * ldd + k] */
    void (*words)(void *dst, int64_t ldd, const void *src, int64_t ld, int64_t second, int64_t n, int64_t count);
    /* dst[i * ld + k] (type) = src[k * width + i] (sums), i < n */
    void (*unlay)(tt_dtype type, void *dst, int64_t ld, const void *src, int64_t width, int64_t n, int64_t count);
    /* src[i * ld + k] (elements) -> word [k / per_word][i], i < n; columns up to width zero; ldd words a step
     */
    void (*pack_cols)(void *dst, int64_t ldd, int width, const void *src, int64_t ld, int64_t n, int64_t kc);
    /* src[k * ld + i] likewise */
    void (*pack_rows)(void *dst, int64_t ldd, int width, const void *src, int64_t ld, int64_t n, int64_t kc);
    int dot_rows;                       /* most rows dots takes; 0: no dots */
    eng_dots_fn dots[ENG_DOT_ROWS + 1]; /* by rows */
    /* A[rows, k] (elements) for dots: eng_dots_bytes */
    void (*pack_dots)(void *dst, int rows, const void *a, int64_t lda, int64_t k);
    /* y[rows, n] (f32, ldy) += x B[k, n] (elements), x packed by pack_dots */
    void (*stream)(int rows, int64_t n, int64_t k, const void *x, const void *b, int64_t ldb, float *y, int64_t ldy);
} eng_flavor;

/* ---- convolution: runs of an image ---- */
typedef struct eng_piece {
    int first, count;
    int64_t at;
} eng_piece; /* lanes [first, +count) come from at, at + step .. */
enum { ENG_MAX_TAPS = 64 }; /* of gather_taps */

/* A window over a few padded channels; offsets in elements. */
typedef struct eng_window {
    int channels, kh, kw;
    int64_t plane, row, step;  /* of x: from channel to channel, row to row; rows of x for one of y */
    int64_t y_row;
    const float *w;            /* [channel][kh][kw] */
    const int64_t *at;         /* of each of kw in a row */
} eng_window;

/* Taps of channels that lie innermost (kernel_depth.h), in elements; w_at: of each in rows of floats, whole vectors long. */
typedef struct eng_depth {
    int64_t channels, taps;
    const int64_t *at, *w_at;
    const float *w;
    int64_t x_step, y_step; /* from cell to cell */
    int64_t rows, x_row, y_row;
    int64_t run, step;      /* taps are runs of so many neighbours, x_step / step apart; 0: none */
} eng_depth;

enum { ENG_WINOGRAD_MOST = 0x58800000 }; /* 2^50: bits of what is still added up before it is multiplied */

/* Where the sums of some tiles are, [product][row][tile], and what they become in y; in elements. */
typedef struct eng_winograd_rows {
    int64_t ld, sums_row;  /* from product to product, from row to row */
    int64_t y_out, second; /* of y: from row to row; to the second line of a tile, 0: there is none */
    int64_t count, step;   /* elements of a line; the dilation */
} eng_winograd_rows;

/* Tiles of channels that lie innermost (kernel_tiles.h); all in floats. */
typedef enum eng_tiles_kind { ENG_TILES_NEAR, ENG_TILES_APART, ENG_TILES_SPREAD } eng_tiles_kind;
typedef struct eng_tiles {
    eng_tiles_kind kind;
    int64_t channels, row, column, next;    /* of x: from row to row, column to column, tile to tile */
    int64_t shift_y, shift;                 /* spread: of the phase of one tap */
    int64_t tile, product;                  /* of what tiles become: from tile to tile, product to product */
} eng_tiles;
typedef struct eng_tiles_out {
    int64_t lanes, tile, product;           /* of sums */
    int64_t next, row[4], column[4];        /* of y: from tile to tile; where outputs are in a tile, rows < 0: nowhere */
    int64_t inside[4];                      /* tiles that have this column */
} eng_tiles_out;

/* ---- rows ---- */
typedef struct eng_norm {
    tt_dtype type; /* of all but mean and rstd */
    int64_t n;
    const void *x, *weight, *bias; /* weight, bias: NULL for none */
    const void *grad;              /* backward */
    void *y;                       /* backward: dx */
    float *mean, *rstd;            /* mean NULL: rms_norm; forward writes them */
    double eps;
    bool far; /* rows come from beyond L2 */
} eng_norm;

/* A tile of attention's scores: a row for each query, at most ENG_MAX_MR. */
typedef struct eng_scores {
    int64_t rows, ld;          /* ld: floats from row to row */
    int64_t keys, first, more; /* row i sees the first `first + more i` of so many keys */
    float scale;
    tt_dtype mask_type;
    const char *mask; /* NULL: none; mask_row bytes from row to row */
    int64_t mask_row;
    bool to_bf16;
    bool bold; /* top stays as it is */
} eng_scores;
/* What its rows have come to, from 0: a score near the highest, the sum of powers of what lies above it, one over that (0: nothing
 * seen), and what the last change of top does to sums so far. Whole vectors of any length. */
typedef struct eng_attended {
    float top[16], total[16], inverse[16], shrink[16];
} eng_attended;
/* AGAIN: sums are far from 1; the scores are lost, and nothing is changed otherwise. */
typedef enum eng_attend_result { ENG_ATTEND_DONE, ENG_ATTEND_SHRINKS, ENG_ATTEND_AGAIN } eng_attend_result;

/* A row of scores on the way to its gradient: it sees the first n of `width` keys, mask NULL: all of those. */
typedef struct eng_weighing {
    int64_t n, width;
    float scale, lse, delta;
    tt_dtype mask_type;
    const void *mask;
} eng_weighing;

typedef struct eng_kernels {
    eng_flavor f32, bf16, f16, f64;
    eng_flavor quads; /* words of four bytes, unsigned in A and signed in B, and sums in i32; mr 0: none */
    /* rows of `width` elements of 2, 4 or 8 bytes: lane first + i of a piece = base[at + i * step], other
     * lanes 0; row r starts row_bytes * r further on in base, and dst_bytes * r in dst */
    void (*gather_rows)(int element_bytes, int width, const eng_piece *pieces, int n_pieces, int64_t step,
                        const char *base, int64_t row_bytes, int64_t rows, char *dst, int64_t dst_bytes);
    /* Rows k0 .. k0 + kc of a panel `width` wide: row channel * taps + t takes the lanes of pieces[t * ENG_MAX_NR ..] as
     * above, channels channel_bytes apart. pairs: two rows of 16-bit elements become one of words. With shifts every tap has
     * the first one's pieces, shifts[t] elements further on. */
    void (*gather_taps)(int element_bytes, bool pairs, int width, int taps, const eng_piece *pieces,
                        const int *n_pieces, const int64_t *shifts, int64_t step, const char *base,
                        int64_t channel_bytes, int64_t k0, int64_t kc, char *dst);
    /* to[2 * i] = a[i], to[2 * i + 1] = b[i], i < n; elements of 2, 4 or 8 bytes */
    void (*interleave)(int element_bytes, void *to, const void *a, const void *b, int64_t n);
    /* y[r * y_row + i] = sum over t of w[t] x[at[t] + r * x_row + i * step], i < n; x and y of type */
    void (*taps_rows)(tt_dtype type, int n_taps, const float *w, const int64_t *at, const void *x,
                      int64_t x_row, int64_t step, int64_t rows, int64_t n, void *y, int64_t y_row);
    /* y[r * y_row + i] = the window's sum at rows r * step, columns i of x; reads x up to two vectors past n */
    void (*window_rows)(tt_dtype type, const eng_window *, const void *x, int64_t rows, int64_t n, void *y);
    /* sums[t] += sum over r, i of a[r * a_row + i] x[at[t] + r * x_row + i * step],
     * r < rows, i < n */
    void (*taps_dots)(tt_dtype type, int n_taps, const int64_t *at, const void *x, int64_t x_row,
                      int64_t step, const void *a, int64_t a_row, int64_t rows, int64_t n, double *sums);
    /* y[i * y_step + c] = sum over t of w[w_at[t] + c] x[at[t] + i * x_step + c], i < n, c < channels, in so many rows; and
     * sums[w_at[t] + c] += sum over i of g[i * y_step + c] x[at[t] + i * x_step + c] */
    void (*depth_row)(tt_dtype type, const eng_depth *, const void *x, int64_t n, void *y);
    void (*depth_grad)(tt_dtype type, const eng_depth *, const void *x, const void *g, int64_t n, float *sums);
    /* Winograd's F(2x2, 3x3) (kernel_winograd.h), tiles as lanes. split: a line of x apart into pieces of `step` elements; true: it
     * holds what is no number or beyond ENG_WINOGRAD_MOST. x: n tiles of four lines, odd pieces `odd` elements on, to 16 places ld
     * apart. w: words of m rows, by k and tap, to 16 places [k][m]; a bit for each row that split would report. y: m rows of sums. */
    bool (*winograd_split)(const float *x, int64_t n, int64_t step, float *even, float *odd);
    void (*winograd_x)(const float *const lines[4], int64_t odd, int64_t step, int64_t n, float *to, int64_t ld);
    uint32_t (*winograd_w)(const float *w, int64_t k_words, int64_t tap_words, int64_t k, int64_t m, float *to, int64_t ld);
    void (*winograd_y)(const eng_winograd_rows *, const float *sums, int64_t m, float *y);
    /* The same for gradients of weights, a vector of channels as lanes: n tiles next to each other, of x to vectors `next` apart, of y's
     * gradient to m lanes after m, in 16 places ld apart. w: sums of spans, in 16 places, added up to rows of nine; true: as of split. */
    void (*winograd_grad_x)(const float *x, int64_t row, int64_t column, int64_t n, float *to, int64_t next, int64_t ld);
    void (*winograd_grad_y)(const float *y, int64_t row, int64_t column, int64_t n, int64_t m, float *to, int64_t ld);
    bool (*winograd_grad_w)(const float *sums, int64_t ld, int64_t spans, int64_t span, int64_t n, float *to, int64_t to_ld);
    /* Tiles of channels that lie innermost: a copy of n floats, true: as of winograd_split; n tiles of x; w of `lanes` rows, taps at `at`,
     * to 16 places of vectors, a bit for each row; and n tiles of sums to y. */
    bool (*tiles_copy)(const float *x, int64_t n, float *to);
    void (*tiles_x)(const eng_tiles *, const float *x, int64_t n, float *to);
    uint32_t (*tiles_w)(eng_tiles_kind, const float *w, const int64_t at[9], int64_t k_step, int64_t k, int64_t lanes, float *to, int64_t row,
                        int64_t place);
    void (*tiles_y)(eng_tiles_kind, const eng_tiles_out *, const float *sums, int64_t n, float *y);
    /* dst[k * ldd + i] = src[i * ld + k], i < n, k < count; elements of 2, 4 or 8 bytes */
    void (*transpose)(int element_bytes, void *dst, int64_t ldd, const void *src, int64_t ld, int64_t n,
                      int64_t count);
    /* softmax or log_softmax of rows; work: n floats unless f32 */
    void (*softmax)(tt_dtype, int64_t rows, int64_t n, bool log, const void *x, void *y, float *work);
    /* element `at` of a row's log_softmax, rounded to the type */
    float (*log_softmax_at)(tt_dtype, int64_t n, const void *x, int64_t at, float *work);
    void (*softmax_backward)(tt_dtype, int64_t rows, int64_t n, bool log, const void *g, const void *y,
                             void *dx);
    void (*norm)(const eng_norm *, int64_t first, int64_t rows);
    /* writes dx, adds to dweight[n] and dbias[n] */
    void (*norm_backward)(const eng_norm *, int64_t first, int64_t rows, float *dweight, float *dbias);
    /* Scores -> exp(score * scale + mask - top) in place, as f32 or bf16, zero where a row does not see; whole vectors of a row are
     * read and written. Raises top first where a score is higher. */
    eng_attend_result (*attend)(const eng_scores *, float *scores, eng_attended *);
    /* scores -> p = exp(score * scale + mask - lse), dp -> p (dp - delta) scale; whole vectors of a row are read and written. pair: of
     * two rows ld apart, as words of bf16 and, of the latter, also as rows of bf16 2 ld apart; NULL: none */
    void (*attend_backward)(const eng_weighing *, float *scores, float *dp);
    void (*attend_backward_pair)(const eng_weighing *, const float *scores, const float *dp, int64_t ld, float *p, float *ds, uint16_t *ds_rows);
    /* dst[r] = x[r] factors[r]; rows of n, strides in elements; dst may be x */
    void (*scale_rows)(tt_dtype type, void *dst, int64_t ldd, const float *x, int64_t ld, int64_t rows, int64_t n, const float *factors);
    void (*row_dots)(tt_dtype type, const void *a, const void *b, int64_t rows, int64_t n, float *y); /* of n elements each */
    /* y[r] = q times row r of x, rows of n; whole vectors of y are written. y[i] = w times column i of x, a row of n */
    void (*query_keys)(tt_dtype type, const float *q, const void *x, int64_t rows, int64_t n, float *y);
    void (*query_values)(tt_dtype type, const float *w, const void *x, int64_t rows, int64_t n, float *y);
    void (*add)(float *dst, const float *src, int64_t n); /* dst += src */
    /* y = the first largest of k rows, element by element; the last NaN if there are any */
    void (*larger_rows)(const float *const *rows, int64_t k, int64_t n, float *y);
    /* y[r] = the sum of n numbers at x + r n; +0 of nothing but -0 */
    void (*sum_short_rows)(const float *x, int64_t rows, int64_t n, float *y);
    /* y = sum of weights[t] rows[t] */
    void (*weigh_rows)(const float *const *rows, const float *weights, int64_t k, int64_t n, float *y);
    /* y[i] = sum over t of weights[t * n + i] x[at[t * n + i]]; nothing where at < 0 */
    void (*pick_row)(const float *x, int64_t k, const int32_t *at, const float *weights, int64_t n, float *y);
    /* between types */
    void (*widen)(tt_dtype type, float *dst, const void *src, int64_t n);
    void (*narrow)(tt_dtype type, void *dst, const float *src,
                   int64_t n); /* f32 -> type, also F32 (a copy) */
    /* rows of n, strides in elements */
    void (*narrow_rows)(tt_dtype type, void *dst, int64_t ldd, const float *src, int64_t ld, int64_t rows, int64_t n);
} eng_kernels;

extern const eng_kernels eng_kernels_portable;
#if defined(__x86_64__)
extern const eng_kernels eng_kernels_avx2, eng_kernels_avx512, eng_kernels_avx512_bf16;
#endif
/* The best table for this processor (isa.h). */
const eng_kernels *eng_kernels_get(void);
const eng_flavor *eng_flavor_of(tt_dtype); /* NULL: not a type of products */

#ifdef __cplusplus
}
#endif
#endif
