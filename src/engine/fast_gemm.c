/* fast_gemm.c - the matrix product: chooses a path by shape, cuts it into tasks, calls the microkernels.
 *
 * Paths: small (operands read where they lie), few rows (dots or stream, which read B once) and
 * tiled (a task packs its own panels; sharing them between cores costs more than packing them twice). The
 * path and the cut of k depend on the shape only, and an element of C is one chain per block of k: the number
 * of threads never shows in results. Knows no graph. */
#include "engine/fast_gemm.h"
#include "engine/fast.h"
#include "engine/isa.h"
#include <string.h>

typedef struct gemm {
    const eng_flavor *f;
    const eng_kernels *kernels;
    int64_t m, n, k, lda, ldb, ldc;
    bool ta, tb;
    const char *a, *b;
    char *c;
    tt_dtype c_dtype;
    int c_bytes;
    /* tiled: C is cut into tiles, tiles_n side by side; few rows: columns are cut into blocks of tile_n */
    int64_t tile_m, tile_n, tiles_n;
    const char *rows; /* few rows: A as dots or the stream read it, shared by the tasks */
    eng_follow *follow;
} gemm;

const eng_kernels *eng_kernels_get(void) {
#if defined(__x86_64__)
    switch (eng_isa_level()) {
    case ENG_ISA_AVX512_BF16:
        return &eng_kernels_avx512_bf16;
    case ENG_ISA_AVX512:
        return &eng_kernels_avx512;
    case ENG_ISA_AVX2:
        return &eng_kernels_avx2;
    case ENG_ISA_PORTABLE:
        break;
    }
#endif
    return &eng_kernels_portable;
}

const eng_flavor *eng_flavor_of(tt_dtype dtype) {
    const eng_kernels *kernels = eng_kernels_get();
    return dtype == TT_F32    ? &kernels->f32
           : dtype == TT_BF16 ? &kernels->bf16
           : dtype == TT_F16  ? &kernels->f16
           : dtype == TT_F64  ? &kernels->f64
                              : NULL;
}

int64_t eng_k_block(const eng_flavor *f, int64_t k) {
    int64_t most = 512 * f->per_word * 4 / f->word_bytes;
    return eng_round_up(eng_blocks(k, eng_blocks(eng_max(k, 1), most)), 2);
}

static bool writes_sums(const gemm *g) {
    return g->c_dtype == g->f->sum;
}
static char *c_at(const gemm *g, int64_t i, int64_t j) {
    return g->c + (i * g->ldc + j) * g->c_bytes;
}

static void pack_a(const gemm *g, void *dst, int64_t i, int64_t m, int64_t k, int64_t kc) {
    const eng_flavor *f = g->f;
    if (g->ta)
        f->pack_rows(dst, m, (int)m, g->a + (k * g->lda + i) * f->element_bytes, g->lda, m, kc);
    else
        f->pack_cols(dst, m, (int)m, g->a + (i * g->lda + k) * f->element_bytes, g->lda, m, kc);
}

static void pack_b(const gemm *g, void *dst, int64_t j, int64_t n, int64_t k, int64_t kc) {
    const eng_flavor *f = g->f;
    if (g->tb)
        f->pack_cols(dst, f->nr, f->nr, g->b + (j * g->ldb + k) * f->element_bytes, g->ldb, n, kc);
    else
        f->pack_rows(dst, f->nr, f->nr, g->b + (k * g->ldb + j) * f->element_bytes, g->ldb, n, kc);
}

/* Rows [i, i + m) of columns [j, j + n) of C are there, in C or, if they are not NULL, as these sums. */
static void follow(const gemm *g, int64_t i, int64_t j, int64_t m, int64_t n, const float *sums, int64_t ld) {
    if (g->follow)
        eng_follow_part(g->follow, c_at(g, i, j), g->ldc, sums ? (const void *)sums : c_at(g, i, j), sums ? ld : g->ldc, m, n);
}

/* Rounds m rows of n sums into C. */
static void put_rows(const gemm *g, int64_t i, int64_t j, const float *sums, int64_t ld, int64_t m,
                     int64_t n) {
    g->kernels->narrow_rows(g->c_dtype, c_at(g, i, j), g->ldc, sums, ld, m, n);
}

/* Are sums handed over instead of written to C? */
static bool passes(const gemm *g) {
    return g->follow && eng_follow_passing(g->follow) && writes_sums(g) && g->c_bytes == 4;
}

/* ---- small: A read in place where the flavor can, B too if it is row-major ---- */
static void small(const gemm *g) {
    const eng_flavor *f = g->f;
    const int64_t words = eng_words(f, g->k), panel = words * f->nr * f->word_bytes;
    const bool direct_a = f->direct[0][1] && (f->per_word == 1 || (!g->ta && g->k % f->per_word == 0));
    const bool direct_b = direct_a && f->per_word == 1 && !g->tb;
    const int64_t eb = f->element_bytes, mr = eng_even_rows(f, g->m);
    float sums[ENG_MAX_MR * ENG_MAX_NR];
    char *pb = NULL, *pa = NULL;
    float *apart = passes(g) ? eng_scratch_need(ENG_SLOT_C, (size_t)(g->m * g->n * 4)) : NULL;
    if (!direct_b) {
        pb = eng_scratch_need(ENG_SLOT_B, (size_t)(eng_blocks(g->n, f->nr) * panel));
        for (int64_t j = 0; j < g->n; j += f->nr)
            pack_b(g, pb + j / f->nr * panel, j, eng_min(g->n - j, f->nr), 0, g->k);
    }
    if (!direct_a)
        pa = eng_scratch_need(ENG_SLOT_A, (size_t)(words * f->mr * f->word_bytes));
    for (int64_t i = 0; i < g->m; i += mr) {
        const int64_t m = eng_min(g->m - i, mr);
        const char *a = g->a + (g->ta ? i : i * g->lda) * eb;
        if (!direct_a)
            pack_a(g, pa, i, m, 0, g->k);
        for (int64_t j = 0; j < g->n; j += f->nr) {
            const int64_t n = eng_min(g->n - j, f->nr);
            void *c = apart ? apart + i * g->n + j : writes_sums(g) ? (void *)c_at(g, i, j) : sums;
            const int64_t ldc = apart ? g->n : writes_sums(g) ? g->ldc : f->nr, row_bytes = g->ta ? eb : g->lda * eb;
            const int64_t word_bytes = g->ta ? g->lda * eb : eb * f->per_word;
            const void *b = direct_b ? g->b + j * eb : pb + j / f->nr * panel;
            if (direct_a && f->rounded[m] && !writes_sums(g) && n == f->nr) {
                f->rounded[m](words, a, row_bytes, word_bytes, b, f->nr, c_at(g, i, j), g->ldc);
                continue;
            }
            if (direct_a)
                f->direct[n > f->nr / 2][m](words, a, row_bytes, word_bytes, b, direct_b ? g->ldb : f->nr, c, ldc, false, n, NULL);
            else
                f->tile[m](words, pa, b, c, ldc, false, n);
            if (!writes_sums(g))
                put_rows(g, i, j, sums, f->nr, m, n);
        }
    }
    follow(g, 0, 0, g->m, g->n, apart, g->n);
}

/* ---- few rows ---- */
static int64_t dots_rows(const gemm *g) {
    return eng_blocks(g->m, eng_blocks(g->m, g->f->dot_rows));
}

/* A for dots or, in one group, for the stream. */
static void pack_dots(gemm *g, char *to, int64_t rows) {
    const eng_flavor *f = g->f;
    const char *a = g->a;
    int64_t lda = g->lda;
    if (g->ta) {
        char *turned = eng_scratch_need(ENG_SLOT_C, (size_t)(g->m * g->k * f->element_bytes));
        g->kernels->transpose(f->element_bytes, turned, g->k, a, lda, g->k, g->m);
        a = turned;
        lda = g->k;
    }
    for (int64_t i = 0; i < g->m; i += rows)
        f->pack_dots(to + eng_dots_bytes(f, i, g->k), (int)eng_min(g->m - i, rows), a + i * lda * f->element_bytes, lda, g->k);
}

static void dots_task(void *context, int64_t task, int worker) {
    (void)worker;
    const gemm *g = context;
    const eng_flavor *f = g->f;
    const int64_t first = task * g->tile_n, n = eng_min(g->n - first, g->tile_n), rows = dots_rows(g);
    const int64_t step = rows < g->m ? 24 : n; /* several groups of rows: some of B at a time, reused from the caches */
    const bool round = !writes_sums(g);
    const int64_t ld = round ? n : g->ldc;
    float *sums = round ? eng_scratch_need(ENG_SLOT_C, (size_t)(g->m * n * 4)) : (float *)(void *)c_at(g, 0, first);
    for (int64_t j = 0; j < n; j += step)
        for (int64_t i = 0; i < g->m; i += rows)
            f->dots[eng_min(g->m - i, rows)](g->k, g->rows + eng_dots_bytes(f, i, g->k),
                                             g->b + (first + j) * g->ldb * f->element_bytes, g->ldb, sums + i * ld + j, ld,
                                             eng_min(n - j, step));
    if (round)
        put_rows(g, 0, first, sums, ld, g->m, n);
}

static void stream_task(void *context, int64_t task, int worker) {
    (void)worker;
    const gemm *g = context;
    const int64_t first = task * g->tile_n, n = eng_min(g->n - first, g->tile_n);
    const int64_t ld = eng_round_up(n, 16) + 16; /* rows a power of two apart would share a set of L1 */
    float *sums = eng_scratch_need(ENG_SLOT_C, (size_t)(g->m * ld * 4));
    memset(sums, 0, (size_t)(g->m * ld * 4));
    g->f->stream((int)g->m, n, g->k, g->rows, g->b + first * g->f->element_bytes, g->ldb, sums, ld);
    put_rows(g, 0, first, sums, ld, g->m, n);
}

static void few_rows(gemm *g) {
    const eng_flavor *f = g->f;
    const bool one_task = g->n * g->k * f->element_bytes <= 256 << 10;
    const bool packed = g->tb && g->m == 1 && !g->ta && f->element_bytes == 4 && f->per_word == 1 && g->k % 16 == 0; /* as it lies */
    char *rows = packed ? NULL : eng_scratch_need(ENG_SLOT_A, (size_t)eng_dots_bytes(f, g->m, g->k));
    g->rows = packed ? g->a : rows;
    if (g->tb) {
        if (!packed)
            pack_dots(g, rows, dots_rows(g));
        g->tile_n = one_task ? g->n : eng_round_up(eng_blocks(g->n, eng_pool_size() * (int64_t)8), 24);
        eng_parallel(eng_blocks(g->n, g->tile_n), dots_task, g);
    } else {
        pack_dots(g, rows, g->m);
        g->tile_n = one_task ? g->n : eng_min(eng_max(eng_round_up(g->n / 4, 64), 128), eng_min(1024, 16384 / g->m / 64 * 64));
        eng_parallel(eng_blocks(g->n, g->tile_n), stream_task, g);
    }
}

/* ---- tiled ---- */
enum { TILE_ROWS = 336, PACK_STEPS = 64 }; /* rows of A packed at a time: with 512 words, two thirds of L2 */

/* All panels of a tile. Rows of B may be pages apart: some of them for all panels, before the next ones. */
static void pack_panels(const gemm *g, char *pb, int64_t j0, int64_t n, int64_t k, int64_t kc) {
    const eng_flavor *f = g->f;
    const int64_t words = eng_words(f, kc), steps = g->tb ? kc : PACK_STEPS;
    for (int64_t at = 0; at < kc; at += steps)
        for (int64_t j = 0; j < n; j += f->nr)
            pack_b(g, pb + (j * words + at / f->per_word * f->nr) * f->word_bytes, j0 + j, eng_min(n - j, f->nr), k + at,
                   eng_min(kc - at, steps));
}

static void tile_task(void *context, int64_t task, int worker) {
    (void)worker;
    const gemm *g = context;
    const eng_flavor *f = g->f;
    const int64_t i0 = task / g->tiles_n * g->tile_m, j0 = task % g->tiles_n * g->tile_n;
    const int64_t tile_m = eng_min(g->m - i0, g->tile_m), tile_n = eng_min(g->n - j0, g->tile_n);
    const int64_t steps = eng_k_block(f, g->k), bytes = f->word_bytes, block_words = eng_words(f, steps);
    const int64_t rows = eng_round_up(eng_blocks(tile_m, eng_blocks(tile_m, TILE_ROWS)), f->mr);
    char *pb = eng_scratch_need(ENG_SLOT_B, (size_t)(eng_round_up(tile_n, f->nr) * block_words * bytes));
    char *pa = eng_scratch_need(ENG_SLOT_A, (size_t)((rows * block_words + ENG_MAX_NR) * bytes));
    const bool round = !writes_sums(g), apart = passes(g);
    const bool keep = apart || (round && steps < g->k);
    const int64_t ld_keep = eng_round_up(tile_n, 16) + 16; /* rows a power of two apart would share a set of L1 */
    float last[ENG_MAX_MR * ENG_MAX_NR];
    const bool once = steps >= g->k; /* then of a block of rows only */
    float *kept = keep ? eng_scratch_need(ENG_SLOT_C, (size_t)((once ? rows : tile_m) * ld_keep * 4)) : NULL;
    for (int64_t k = 0; k < g->k; k += steps) {
        const int64_t kc = eng_min(g->k - k, steps), words = eng_words(f, kc);
        pack_panels(g, pb, j0, tile_n, k, kc);
        for (int64_t ib = 0; ib < tile_m; ib += rows) {
            const int64_t block_m = eng_min(tile_m - ib, rows);
            for (int64_t i = 0; i < block_m; i += f->mr)
                pack_a(g, pa + i * words * bytes, i0 + ib + i, eng_min(block_m - i, f->mr), k, kc);
            for (int64_t j = 0; j < tile_n; j += f->nr) {
                const int64_t n = eng_min(tile_n - j, f->nr);
                for (int64_t i = 0; i < block_m; i += f->mr) {
                    const int64_t m = eng_min(block_m - i, f->mr), row = ib + i;
                    void *c = keep ? kept + (once ? i : row) * ld_keep + j : round ? last : (void *)c_at(g, i0 + row, j0 + j);
                    const int64_t ldc = keep ? ld_keep : round ? f->nr : g->ldc;
                    f->tile[m](words, pa + i * words * bytes, pb + j * words * bytes, c, ldc, k > 0, n);
                    if (round && k + kc >= g->k)
                        put_rows(g, i0 + row, j0 + j, c, ldc, m, n);
                }
            }
            if (k + kc >= g->k)
                follow(g, i0 + ib, j0, block_m, tile_n, apart ? kept + (once ? 0 : ib) * ld_keep : NULL, ld_keep);
        }
    }
}

/* Cuts C so that every thread has tiles and none is larger than the caches like. */
static void tiled(gemm *g) {
    const int64_t threads = eng_pool_size();
    int64_t tiles_m = 1, tiles_n = 1;
    const bool whole = (double)g->m * (double)g->n * (double)g->k <= 160. * 160 * 160;
    for (;;) {
        const int64_t m = eng_blocks(g->m, tiles_m), n = eng_blocks(g->n, tiles_n), tiles = tiles_m * tiles_n;
        const bool fits = m <= 1024 && n <= 1024;
        const bool enough = tiles >= threads &&
                            (tiles >= 2 * threads || threads == 1 || (double)m * (double)n <= 512. * 512.);
        if ((fits && (whole || enough)) || (m <= 64 && n <= 64))
            break;
        if (n >= m)
            tiles_n *= 2;
        else
            tiles_m *= 2;
    }
    g->tile_m = eng_round_up(eng_blocks(g->m, tiles_m), g->f->mr);
    g->tile_n = eng_round_up(eng_blocks(g->n, tiles_n), g->f->nr);
    g->tiles_n = eng_blocks(g->n, g->tile_n);
    eng_parallel(eng_blocks(g->m, g->tile_m) * g->tiles_n, tile_task, g);
}

/* ---- one row of f64: bound by reading B once ---- */
static FAST_CLONES void f64_dots(const double *a, const double *b, int64_t ldb, int64_t k, int64_t n, double *c) {
    for (int64_t j = 0; j < n; j++, b += ldb) {
        double sum[32] = {0};
        int64_t i = 0;
        for (; i + 32 <= k; i += 32)
            for (int l = 0; l < 32; l++)
                sum[l] += a[i + l] * b[i + l];
        for (int l = 0; i < k; i++, l++)
            sum[l] += a[i] * b[i];
        for (int width = 16; width > 0; width /= 2)
            for (int l = 0; l < width; l++)
                sum[l] += sum[l + width];
        c[j] = sum[0];
    }
}

static FAST_CLONES void f64_stream(const double *a, const double *b, int64_t ldb, int64_t k, int64_t n, double *c) {
    int64_t i = 0;
    memset(c, 0, (size_t)n * sizeof *c);
    for (; i + 4 <= k; i += 4, a += 4, b += 4 * ldb)
        for (int64_t j = 0; j < n; j++)
            c[j] = (((c[j] + a[0] * b[j]) + a[1] * b[j + ldb]) + a[2] * b[j + 2 * ldb]) + a[3] * b[j + 3 * ldb];
    for (; i < k; i++, a++, b += ldb)
        for (int64_t j = 0; j < n; j++)
            c[j] += *a * b[j];
}

static void f64_task(void *context, int64_t task, int worker) {
    (void)worker;
    const gemm *g = context;
    const int64_t first = task * g->tile_n, n = eng_min(g->n - first, g->tile_n);
    double *c = (double *)(void *)g->c + first;
    const double *b = (const double *)(const void *)g->b + first * (g->tb ? g->ldb : 1);
    (g->tb ? f64_dots : f64_stream)((const double *)(const void *)g->rows, b, g->ldb, g->k, n, c);
}

static void one_row_f64(gemm *g) {
    g->rows = g->a;
    if (g->ta && g->lda != 1) {
        double *row = eng_scratch_need(ENG_SLOT_A, (size_t)g->k * sizeof *row);
        for (int64_t k = 0; k < g->k; k++)
            row[k] = ((const double *)(const void *)g->a)[k * g->lda];
        g->rows = (const char *)row;
    }
    g->tile_n = g->tb ? 64 : 512;
    eng_parallel(eng_blocks(g->n, g->tile_n), f64_task, g);
}

/* ---- choice ---- */
static void swap_operands(gemm *g) { /* C = A b is C^T = b^T A^T */
    gemm s = *g;
    s.m = g->n;
    s.n = g->m;
    s.a = g->b;
    s.lda = g->ldb;
    s.ta = !g->tb;
    s.b = g->a;
    s.ldb = g->lda;
    s.tb = !g->ta;
    *g = s;
}

static void gemm_one(gemm *g) {
    const eng_flavor *f = g->f;
    if (g->n == 1 && g->m > 1 && g->ldc == 1 && f->sum != TT_I32) {
        swap_operands(g);
        g->ldc = g->n;
    }
    const double work = (double)g->m * (double)g->n * (double)g->k;
    if (f == &g->kernels->f64 && g->m == 1)
        one_row_f64(g);
    else if (work <= 64. * 64 * 64 && g->m > 1)
        small(g);
    else if (f->dot_rows && (g->m == 1 || (g->m <= 28 && g->n >= 64 && g->k >= 64)))
        few_rows(g);
    else
        tiled(g);
}

typedef struct batch {
    gemm one;
    const eng_gemm_args *args;
    const int64_t *starts_a, *starts_b;
    int64_t per_task;
    bool small;
} batch;

static void batch_item(const batch *s, int64_t i) {
    gemm g = s->one;
    g.a += (s->starts_a ? s->starts_a[i] : i * s->args->stride_a) * g.f->element_bytes;
    g.b += (s->starts_b ? s->starts_b[i] : i * s->args->stride_b) * g.f->element_bytes;
    g.c += i * s->args->stride_c * g.c_bytes;
    if (s->small)
        small(&g);
    else
        gemm_one(&g);
}

static void batch_task(void *context, int64_t task, int worker) {
    (void)worker;
    const batch *s = context;
    for (int64_t i = task * s->per_task; i < eng_min((task + 1) * s->per_task, s->args->batch); i++)
        batch_item(s, i);
}

/* One product in place of a batch that shares B and whose A and C rows follow on. */
static bool fold_batch(const eng_gemm_args *args, gemm *g) {
    if (args->batch == 1)
        return true;
    if (args->a_transposed || args->stride_b != 0 || args->stride_a != args->m * args->lda ||
        args->stride_c != args->m * args->ldc)
        return false;
    g->m *= args->batch;
    return true;
}

bool eng_gemm_batched(const eng_gemm_args *args, const int64_t *starts_a, const int64_t *starts_b) {
    if (args->batch <= 0 || args->m <= 0 || args->n <= 0)
        return true;
    if (args->dtype == TT_I8)
        return args->c_dtype == TT_I32 && eng_gemm_int8(args, starts_a, starts_b);
    const eng_flavor *f = eng_flavor_of(args->dtype);
    if (!f || (args->c_dtype != args->dtype && args->c_dtype != f->sum))
        return false;
    eng_gemm_of(f, args, starts_a, starts_b);
    return true;
}

void eng_gemm_of(const eng_flavor *f, const eng_gemm_args *args, const int64_t *starts_a, const int64_t *starts_b) {
    gemm g = {.f = f,
              .kernels = eng_kernels_get(),
              .m = args->m,
              .n = args->n,
              .k = args->k,
              .lda = args->lda,
              .ldb = args->ldb,
              .ldc = args->ldc,
              .ta = args->a_transposed,
              .tb = args->b_transposed,
              .a = args->a,
              .b = args->b,
              .c = args->c,
              .follow = args->follow,
              .c_dtype = args->c_dtype,
              .c_bytes = tt_dtype_size(args->c_dtype)};
    if (args->k <= 0) {
        for (int64_t i = 0; i < args->batch; i++)
            for (int64_t r = 0; r < args->m; r++)
                memset(g.c + (i * args->stride_c + r * args->ldc) * g.c_bytes, 0,
                       (size_t)(args->n * g.c_bytes));
        return;
    }
    batch s = {.args = args, .starts_a = starts_a, .starts_b = starts_b};
    if (!starts_a && fold_batch(args, &g)) {
        gemm_one(&g);
        return;
    }
    s.one = g;
    const double work = (double)g.m * (double)g.n * (double)g.k;
    s.small = g.m > 1 && work <= 200. * 200 * 200 && g.n * g.k * f->element_bytes <= 256 << 10;
    if (!s.small && args->batch < 2 * eng_pool_size()) {
        for (int64_t i = 0; i < args->batch; i++)
            batch_item(&s, i);
        return;
    }
    /* tasks of about 2^18 multiply-adds; a whole that is not worth waking anyone for is one task */
    s.per_task = work * (double)args->batch < 4e6 ? args->batch : (int64_t)(262144 / work) + 1;
    eng_parallel(eng_blocks(args->batch, s.per_task), batch_task, &s);
}

bool eng_gemm(const eng_gemm_args *args) {
    return eng_gemm_batched(args, NULL, NULL);
}
