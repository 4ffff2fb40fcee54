/* fast_gemm_int8.c - i8 x i8 -> i32: the operands are laid out for a product of words (fast_gemm.c), which then runs as one of f32 does.
 *
 * Where the processor has dot products of four bytes a word is four steps of k. They multiply unsigned by signed bytes: A is moved up
 * by 128, and 128 times the sums of B's columns are taken off again. Elsewhere the elements become bf16, which fits their 8 digits,
 * and sums f32, which hold so many products without a rounding. */
#include "engine/fast.h"
#include "engine/fast_gemm.h"
#include <stdlib.h>
#include <string.h>

enum { BF16_STEPS = 1024, BLOCK = 512 };

/* One operand on its way to words. */
typedef struct bytes {
    const uint8_t *from;
    int64_t rows, n, ld; /* as it lies */
    bool inner;          /* k is what is contiguous */
    uint8_t flip;
    uint32_t *to;
    int64_t words; /* in a row of to */
    int32_t *sums; /* of each column of B; NULL: not asked for */
} bytes;

static FAST_CLONES int32_t row_words(uint8_t *to, const uint8_t *from, int64_t n, uint8_t flip) {
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] ^ flip;
        sum += (int8_t)from[i];
    }
    return sum;
}

static FAST_CLONES void weave_rows(uint32_t *to, const uint8_t *const *from, int64_t n, uint8_t flip) {
    const uint8_t *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    for (int64_t i = 0; i < n; i++)
        to[i] = ((uint32_t)a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16 | (uint32_t)d[i] << 24) ^ flip * 0x01010101u;
}

static FAST_CLONES void add_rows(int32_t *sums, const uint8_t *from, int64_t ld, int64_t rows, int64_t n) {
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t r = 0; r < rows; r++, from += ld)
        for (int64_t i = 0; i < n; i++)
            sums[i] += (int8_t)from[i];
}

static void word_row(void *context, int64_t row, int worker) {
    (void)worker;
    const bytes *o = context;
    uint32_t *to = o->to + row * o->words;
    if (o->inner) {
        to[o->words - 1] = 0;
        const int32_t sum = row_words((uint8_t *)to, o->from + row * o->ld, o->n, o->flip);
        if (o->sums)
            o->sums[row] = sum;
        return;
    }
    static const uint8_t zeros[BLOCK];
    for (int64_t j = 0; j < o->n; j += BLOCK) {
        const uint8_t *from[4];
        for (int64_t t = 0; t < 4; t++)
            from[t] = 4 * row + t < o->rows ? o->from + (4 * row + t) * o->ld + j : zeros;
        weave_rows(to + j, from, eng_min(o->n - j, BLOCK), o->flip);
    }
}

static void column_sums(void *context, int64_t task, int worker) {
    (void)worker;
    const bytes *o = context;
    add_rows(o->sums + task * BLOCK, o->from + task * BLOCK, o->ld, o->rows, eng_min(o->n - task * BLOCK, BLOCK));
}

/* k x `others` elements as words. */
static void to_words(bytes *o, const void *from, int64_t k, int64_t others, bool inner, int64_t ld) {
    o->from = from;
    o->inner = inner;
    o->rows = inner ? others : k;
    o->n = inner ? k : others;
    o->ld = ld;
    o->words = inner ? eng_blocks(k, 4) : others;
    eng_parallel(inner ? others : eng_blocks(k, 4), word_row, o);
    if (o->sums && !inner)
        eng_parallel(eng_blocks(others, BLOCK), column_sums, o);
}

typedef struct rest {
    int32_t *c;
    const int32_t *sums;
    int64_t n, ldc;
} rest;

static FAST_CLONES void take_off(uint32_t *c, const int32_t *sums, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        c[j] -= (uint32_t)sums[j] << 7;
}

static void take_off_row(void *context, int64_t row, int worker) {
    (void)worker;
    const rest *r = context;
    take_off((uint32_t *)r->c + row * r->ldc, r->sums, r->n);
}

/* One product by words of four bytes; work: room for both operands and the sums. */
static void by_bytes(const eng_flavor *f, const eng_gemm_args *g, const int8_t *a, const int8_t *b, int32_t *c, uint32_t *work) {
    const int64_t words = eng_blocks(g->k, 4);
    bytes of_a = {.flip = 0x80, .to = work}, of_b = {.to = work + g->m * words, .sums = (int32_t *)work + (g->m + g->n) * words};
    to_words(&of_a, a, g->k, g->m, !g->a_transposed, g->lda);
    to_words(&of_b, b, g->k, g->n, g->b_transposed, g->ldb);
    eng_gemm_args part = *g;
    part.c_dtype = TT_I32;
    part.batch = 1;
    part.k = words;
    part.a = of_a.to;
    part.b = of_b.to;
    part.c = c;
    part.lda = of_a.words;
    part.ldb = of_b.words;
    eng_gemm_of(f, &part, NULL, NULL);
    rest r = {c, of_b.sums, g->n, g->ldc};
    eng_parallel(g->m, take_off_row, &r);
}

/* ---- without such dot products ---- */
typedef struct int8_rows {
    const int8_t *from;
    uint16_t *to;
    int64_t n, ld;
} int8_rows;

__attribute__((optimize("O3"))) static void int8_widen(void *context, int64_t row, int worker) {
    (void)worker;
    const int8_rows *r = context;
    const int8_t *from = r->from + row * r->ld;
    uint16_t *to = r->to + row * r->n;
    for (int64_t i = 0; i < r->n; i++) {
        const float v = from[i];
        uint32_t bits;
        memcpy(&bits, &v, 4);
        to[i] = (uint16_t)(bits >> 16);
    }
}

__attribute__((optimize("O3"))) static void int8_add(int32_t *c, const float *sums, int64_t n, bool first) {
    if (first)
        for (int64_t j = 0; j < n; j++)
            c[j] = (int32_t)sums[j];
    else
        for (int64_t j = 0; j < n; j++)
            c[j] = (int32_t)((uint32_t)c[j] + (uint32_t)(int32_t)sums[j]);
}

static void by_bf16(const eng_gemm_args *g, const int8_t *from_a, const int8_t *from_b, int32_t *c, uint32_t *work) {
    const int64_t a_rows = g->a_transposed ? g->k : g->m, a_n = g->a_transposed ? g->m : g->k;
    const int64_t b_rows = g->b_transposed ? g->n : g->k, b_n = g->b_transposed ? g->k : g->n;
    float *sums = (float *)work;
    uint16_t *a = (uint16_t *)(work + g->m * g->n), *b = a + a_rows * a_n;
    int8_rows of_a = {from_a, a, a_n, g->lda}, of_b = {from_b, b, b_n, g->ldb};
    eng_parallel(a_rows, int8_widen, &of_a);
    eng_parallel(b_rows, int8_widen, &of_b);
    for (int64_t k = 0; k < g->k; k += BF16_STEPS) {
        eng_gemm_args part = *g;
        part.dtype = TT_BF16;
        part.c_dtype = TT_F32;
        part.batch = 1;
        part.k = eng_min(g->k - k, BF16_STEPS);
        part.a = a + k * (g->a_transposed ? a_n : 1);
        part.b = b + k * (g->b_transposed ? 1 : b_n);
        part.lda = a_n;
        part.ldb = b_n;
        part.c = sums;
        part.ldc = g->n;
        eng_gemm_batched(&part, NULL, NULL);
        for (int64_t r = 0; r < g->m; r++)
            int8_add(c + r * g->ldc, sums + r * g->n, g->n, k == 0);
    }
}

bool eng_gemm_int8(const eng_gemm_args *g, const int64_t *starts_a, const int64_t *starts_b) {
    const eng_flavor *f = &eng_kernels_get()->quads;
    const int64_t words = f->mr ? (g->m + g->n) * eng_blocks(g->k, 4) + g->n : g->m * g->n + (g->m + g->n) * eng_blocks(g->k, 2);
    uint32_t *work = malloc((size_t)words * 4 + 64);
    for (int64_t i = 0; work && i < g->batch; i++) {
        const int8_t *a = (const int8_t *)g->a + (starts_a ? starts_a[i] : i * g->stride_a);
        const int8_t *b = (const int8_t *)g->b + (starts_b ? starts_b[i] : i * g->stride_b);
        int32_t *c = (int32_t *)g->c + i * g->stride_c;
        for (int64_t r = 0; r < g->m && g->k <= 0; r++)
            memset(c + r * g->ldc, 0, (size_t)g->n * 4);
        if (g->k > 0 && f->mr)
            by_bytes(f, g, a, b, c, work);
        else if (g->k > 0)
            by_bf16(g, a, b, c, work);
    }
    free(work);
    return work;
}
