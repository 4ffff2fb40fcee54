/* fast_attention.c - scaled dot product attention, forward: blocks of scores live in the caches only (the
 * flash scheme), on the microkernels of the matrix product. Part of composite.c; knows no graph. */
#include "engine/fast_attention.h"
#include <math.h>
#include <string.h>

enum { TILES = 4, QUERIES = TILES * ENG_MAX_MR, KEYS = 512, FEW_QUERIES = 8 }; /* a tile with KEYS scores a query fits L1 */

/* ---- shared with the backward pass ---- */
attention attention_of(const char *attributes, const eng_tensor *q, const eng_tensor *mask) {
    attention a = {.kernels = eng_kernels_get(),
                   .f = eng_flavor_of(q->type.dtype),
                   .dtype = q->type.dtype,
                   .bytes = tt_dtype_size(q->type.dtype)};
    const hlo_type *k = &q[1].type, *v = &q[2].type;
    a.b = q->type.dims[0];
    a.h = q->type.dims[1];
    a.l = q->type.dims[2];
    a.e = q->type.dims[3];
    a.hk = k->dims[1];
    a.s = k->dims[2];
    a.ev = v->dims[3];
    a.group = a.h / a.hk;
    a.q = q[0].data;
    a.k = q[1].data;
    a.v = q[2].data;
    a.scale = (float)eng_composite_attr_double(attributes, "scale", 1);
    a.causal = eng_composite_attr_bool(attributes, "causal", false);
    if (!mask)
        return a;
    a.mask = mask->data;
    a.mask_type = mask->type.dtype;
    int64_t stride = 1, strides[4] = {0};
    for (int i = 0; i < mask->type.rank; i++) {
        const int64_t size = mask->type.dims[mask->type.rank - 1 - i];
        strides[3 - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    a.mask_b = strides[0];
    a.mask_h = strides[1];
    a.mask_l = strides[2];
    return a;
}

const void *attention_mask(const attention *a, int64_t b, int64_t h, int64_t i, int64_t j) {
    if (!a->mask)
        return NULL;
    return a->mask + (b * a->mask_b + h * a->mask_h + i * a->mask_l + j) * tt_dtype_size(a->mask_type);
}

void attention_multiply(const eng_flavor *f, int64_t words, attention_left a, int64_t rows, attention_right b, int64_t n, bool whole,
                        float *c, int64_t ldc, bool accumulate, const float *factors) {
    const char *panel = b.at;
    for (int64_t j = 0; j < n; j += f->nr, panel += b.panel) {
        const bool wide = n - j > f->nr / 2;
        const int64_t most = wide ? f->nr : f->nr / 2;
        f->direct[wide][rows](words, a.at, a.row, a.step, panel, b.ld, c + j, ldc, accumulate, whole ? most : eng_min(n - j, most),
                              factors);
    }
}

/* How a tile of scores is to become weights: `rows` rows from row i on, keys from j on. */
static eng_scores attention_scores(const attention *a, int64_t b, int64_t h, int64_t i, int64_t j, int64_t rows, int64_t keys,
                                   int64_t ld) {
    return (eng_scores){.rows = rows, .ld = ld, .keys = keys, .first = a->causal ? i + 1 - j : keys, .more = a->causal,
                        .scale = a->scale, .mask_type = a->mask_type, .mask = attention_mask(a, b, h, i, j),
                        .mask_row = a->mask_l * tt_dtype_size(a->mask_type), .to_bf16 = a->f->per_word == 2};
}

/* ---- few queries: no use in packing keys that are read once ---- */
typedef struct forward {
    attention a;
    char *out;
    float *lse;
    int64_t keys_bytes, head_bytes; /* of keys, and with values, of a (b, hk) as panels; odd_keys of its blocks are behind them */
    int64_t parts, block;           /* tasks of a (b, hk); queries of a block */
} forward;

/* Products with all keys. The processor reads ahead more in several places than in one: keys are met in STREAMS runs side by side,
 * while the values, which come next, are asked for. */
static void meet_keys(const attention *a, int64_t keys, int64_t rows, const float *q, const char *k, const char *v, float *scores, int64_t ld) {
    enum { STREAMS = 6, FEW_KEYS = 192 };
    const int64_t run = keys < FEW_KEYS ? 0 : keys / STREAMS, row_bytes = a->e * a->bytes, value_bytes = STREAMS * a->ev * a->bytes;
    float some[ENG_DOT_ROWS * STREAMS];
    for (int64_t j = 0; j < run; j++, v += value_bytes) {
        for (int64_t at = 0; at < value_bytes; at += 64)
            __builtin_prefetch(v + at, 0, 2);
        a->f->dots[rows](a->e, q, k + j * row_bytes, run * a->e, some, STREAMS, STREAMS);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t t = 0; t < STREAMS; t++)
                scores[r * ld + t * run + j] = some[r * STREAMS + t];
    }
    const int64_t done = run * STREAMS;
    a->f->dots[rows](a->e, q, k + done * row_bytes, a->e, scores + done, ld, keys - done);
}

/* Scores of one query become its weights; returns one over their sum. */
static float weigh_query(const forward *p, int64_t row, int64_t keys, float *scores, int64_t ld, bool to_bf16) {
    const attention *a = &p->a;
    eng_scores t = attention_scores(a, row / (a->h * a->l), row / a->l % a->h, row % a->l, 0, 1, keys, ld);
    eng_attended seen = {0};
    t.to_bf16 = to_bf16;
    a->kernels->attend(&t, scores, &seen);
    p->lse[row] = seen.total[0] == 0 ? 0 : seen.top[0] + logf(seen.total[0]);
    return seen.inverse[0];
}

/* One query: nothing is read twice. */
static void one_query(const forward *p, int64_t row, int64_t keys, const char *k, const char *v, float *scores) {
    const attention *a = &p->a;
    const int64_t ld = eng_round_up(keys, 16);
    float *sums = scores + ld, *q = sums + eng_round_up(a->ev, 16);
    a->kernels->widen(a->dtype, q, a->q + row * a->e * a->bytes, a->e);
    a->kernels->query_keys(a->dtype, q, k, keys, a->e, scores);
    const float inverse = weigh_query(p, row, keys, scores, ld, false);
    a->kernels->query_values(a->dtype, scores, v, keys, a->ev, sums);
    a->kernels->scale_rows(a->dtype, p->out + row * a->ev * a->bytes, a->ev, sums, a->ev, 1, a->ev, &inverse);
}

static void few_task(void *context, int64_t task, int worker) {
    (void)worker;
    const forward *p = context;
    const attention *a = &p->a;
    const eng_flavor *f = a->f;
    const int64_t rows = a->group * a->l, first = task * rows, keys = a->causal ? eng_min(a->s, KEYS) : a->s, ld = eng_round_up(keys, 16);
    const char *k = a->k + task * a->s * a->e * a->bytes, *v = a->v + task * a->s * a->ev * a->bytes;
    float *scores = eng_scratch_need(
        ENG_SLOT_A, (size_t)((f->dot_rows * (ld + a->ev + 16)) * 4 + eng_dots_bytes(f, f->dot_rows, a->e + keys + 32)));
    float *sums = scores + f->dot_rows * ld, *packed = sums + f->dot_rows * (a->ev + 16);
    if (rows == 1) {
        one_query(p, first, keys, k, v, scores);
        return;
    }
    for (int64_t r = 0; r < rows; r += f->dot_rows) {
        const int64_t m = eng_min(rows - r, f->dot_rows);
        f->pack_dots(packed, (int)m, a->q + (first + r) * a->e * a->bytes, a->e, a->e);
        meet_keys(a, keys, m, packed, k, v, scores, ld);
        const bool pairs = f->per_word == 2;
        float inverse[ENG_DOT_ROWS];
        for (int64_t i = 0; i < m; i++)
            inverse[i] = weigh_query(p, first + r + i, keys, scores + i * ld, ld, pairs);
        (pairs ? f : &a->kernels->f32)->pack_dots(packed, (int)m, scores, ld * (pairs ? 2 : 1), keys);
        memset(sums, 0, (size_t)(m * a->ev * 4));
        f->stream((int)m, a->ev, keys, packed, v, a->ev, sums, a->ev);
        a->kernels->scale_rows(a->dtype, p->out + (first + r) * a->ev * a->bytes, a->ev, sums, a->ev, m, a->ev, inverse);
    }
}

/* ---- many queries ---- */
static int64_t block_words(const attention *a) {
    return eng_words(a->f, KEYS);
}
static bool values_lie_well(const attention *a) { /* as tiles read them */
    return a->dtype == TT_F32;
}

/* Keys of a block up to the last whose value is no number. What rows do not see weighs 0 in their sums, which is NaN then: for all rows of
 * the block, as on PyTorch's CPU, whose blocks have as many keys. A value whose square is none may be taken for one: it adds 0. */
static int64_t odd_keys(const attention *a, const char *v, int64_t keys) {
    float squares[KEYS];
    a->kernels->row_dots(a->dtype, v, v, keys, a->ev, squares);
    while (keys > 0 && isfinite(squares[keys - 1]))
        keys--;
    return keys;
}

/* Keys of one head transposed for Q K^T, values in blocks of KEYS for P V. */
static void pack_head(const forward *p, int64_t head, char *keys) {
    const attention *a = &p->a;
    const eng_flavor *f = a->f;
    const int64_t nr = f->nr, words = eng_words(f, a->e), columns = eng_round_up(a->ev, nr);
    char *values = keys + p->keys_bytes;
    int64_t *odd = (int64_t *)(void *)(keys + p->head_bytes);
    const char *k = a->k + head * a->s * a->e * a->bytes, *v = a->v + head * a->s * a->ev * a->bytes;
    for (int64_t j = 0; j < a->s; j += nr)
        f->pack_cols(keys + j * words * 4, nr, (int)nr, k + j * a->e * a->bytes, a->e, eng_min(a->s - j, nr),
                     a->e);
    for (int64_t j = 0; j < a->s && a->causal; j += KEYS)
        odd[j / KEYS] = odd_keys(a, v + j * a->ev * a->bytes, eng_min(a->s - j, KEYS));
    for (int64_t j = 0; j < a->s && !values_lie_well(a); j += KEYS) {
        const int64_t n = eng_min(a->s - j, KEYS);
        char *block = values + j / KEYS * block_words(a) * columns * 4;
        for (int64_t c = 0; c < a->ev; c += nr)
            f->pack_rows(block + c * eng_words(f, n) * 4, nr, (int)nr, v + (j * a->ev + c) * a->bytes, a->ev,
                         eng_min(a->ev - c, nr), n);
    }
}

/* A block of queries as tiles read them: where they lie, or padded to whole words, or widened. */
static const char *queries(const attention *a, const char *q, int64_t n, char *copy, int64_t *out_row_bytes) {
    const bool pairs = a->f->per_word == 2;
    if (a->dtype == TT_F32 || (pairs && a->e % 2 == 0)) {
        *out_row_bytes = a->e * a->bytes;
        return q;
    }
    if (!pairs) {
        a->kernels->widen(a->dtype, (float *)(void *)copy, q, n * a->e);
        *out_row_bytes = a->e * 4;
        return copy;
    }
    *out_row_bytes = (a->e + 1) * 2;
    for (int64_t i = 0; i < n; i++) {
        memcpy(copy + i * *out_row_bytes, q + i * a->e * 2, (size_t)(a->e * 2));
        memset(copy + i * *out_row_bytes + a->e * 2, 0, 2);
    }
    return copy;
}

/* A block of queries of a head while the keys pass. */
typedef struct pass {
    const forward *p;
    const eng_flavor *f; /* what tiles multiply */
    int64_t head, first; /* the block's first query */
    const char *q, *keys, *values;
    const int64_t *odd; /* odd_keys of all blocks */
    int64_t row_bytes; /* of q */
    float *scores, *sums; /* scores: of a tile */
    int64_t ld, columns;  /* of them */
    eng_attended seen[TILES];
    bool bold;
} pass;

/* Rows i .. of the block, tile n of it, meet keys k0 .. */
static void tile(pass *t, int64_t n, int64_t i, int64_t rows, int64_t k0) {
    const attention *a = &t->p->a;
    const eng_flavor *f = t->f;
    const int64_t row = t->first + i, words = eng_words(a->f, a->e), packed = eng_min(a->s - k0, KEYS);
    const int64_t seen_keys = a->causal ? row + rows - k0 : packed, blind = a->causal ? eng_max(k0 - row, 0) : 0; /* blind: rows before the block */
    if (seen_keys <= 0)
        return;
    const int64_t keys = a->causal ? eng_min(packed, eng_max(seen_keys, t->odd[k0 / KEYS])) : packed;
    eng_scores scores = attention_scores(a, t->head / a->h, t->head % a->h, row, k0, rows, keys, t->ld);
    eng_attended *const seen = &t->seen[n];
    float *const sums = t->sums + i * t->columns;
    eng_attend_result result;
    for (int64_t at = 0; at < rows * t->row_bytes; at += 64) /* the next rows */
        __builtin_prefetch(t->q + (i + rows) * t->row_bytes + at, 0, 3);
    do {
        attention_multiply(f, words, (attention_left){t->q + i * t->row_bytes, t->row_bytes, 4}, rows,
                           (attention_right){t->keys + k0 * words * 4, f->nr, words * f->nr * 4}, keys, true, t->scores, t->ld, false, NULL);
        scores.bold = t->bold;
        result = a->kernels->attend(&scores, t->scores, seen);
        t->bold = t->bold && result != ENG_ATTEND_AGAIN;
    } while (result == ENG_ATTEND_AGAIN);
    if (result == ENG_ATTEND_SHRINKS && k0 > 0)
        a->kernels->scale_rows(TT_F32, sums, t->columns, sums, t->columns, rows, a->ev, seen->shrink);
    char *const out = t->p->out + (t->head * a->l + row) * a->ev * a->bytes;
    const bool in_place = values_lie_well(a), last = k0 + KEYS >= (a->causal ? eng_min(a->s, row + rows) : a->s),
               at_once = last && k0 == 0 && a->dtype == TT_F32; /* all keys pass, and sums are as results are */
    const attention_right values = {in_place ? t->values + k0 * a->ev * 4 : t->values + k0 / KEYS * block_words(a) * t->columns * 4,
                                    in_place ? a->ev : f->nr, in_place ? f->nr * 4 : eng_words(f, packed) * f->nr * 4};
    attention_multiply(f, eng_words(f, keys), (attention_left){t->scores + blind * t->ld, t->ld * 4, 4}, rows - blind, values, a->ev, !in_place,
                       at_once ? (float *)(void *)out : sums + blind * t->columns, at_once ? a->ev : t->columns, k0 > 0,
                       at_once ? seen->inverse : NULL);
    if (last && !at_once)
        a->kernels->scale_rows(a->dtype, out, a->ev, sums, t->columns, rows, a->ev, seen->inverse);
}

/* One block of queries of a head; keys: its packed keys and values. */
static void query_block(const forward *p, const char *keys, int64_t head, int64_t q0, int64_t block) {
    const attention *a = &p->a;
    const eng_flavor *f = a->f->per_word == 2 ? a->f : &a->kernels->f32;
    const int64_t n = eng_min(a->l - q0, block), mr = eng_even_rows(f, n), columns = eng_round_up(a->ev, f->nr);
    const int64_t ld = eng_round_up(eng_min(a->s, KEYS), f->nr) + 16; /* rows a power of two apart would share a set of L1 */
    pass t = {.p = p, .f = f, .head = head, .first = q0, .keys = keys, .odd = (const int64_t *)(const void *)(keys + p->head_bytes), .ld = ld, .columns = columns, .bold = !a->mask && a->scale > 0};
    t.values = values_lie_well(a) ? a->v + head / a->group * a->s * a->ev * 4 : keys + p->keys_bytes;
    t.scores = eng_scratch_need(ENG_SLOT_A, (size_t)((ENG_MAX_MR * ld + QUERIES * (columns + a->e + 1)) * 4));
    t.sums = t.scores + ENG_MAX_MR * ld;
    t.q = queries(a, a->q + (head * a->l + q0) * a->e * a->bytes, n, (char *)(t.sums + QUERIES * columns), &t.row_bytes);
    for (int64_t k0 = 0; k0 < (a->causal ? eng_min(a->s, q0 + n) : a->s); k0 += KEYS)
        for (int64_t i = 0, tiles = 0; i < n; i += mr)
            tile(&t, tiles++, i, eng_min(n - i, mr), k0);
    float *lse = p->lse + head * a->l + q0;
    for (int64_t i = 0, tiles = 0; i < n; i += mr, lse += mr) {
        const eng_attended *seen = &t.seen[tiles++];
        const int64_t rows = eng_min(n - i, mr);
        float logs[16]; /* all of them: what a mask stored is slow to read */
        eng_vlog(logs, seen->total, 16);
        for (int64_t r = 0; r < rows; r++) /* 0 for a row that sees nothing, as in PyTorch on CPU */
            lse[r] = seen->total[r] == 0 ? 0 : logs[r] + seen->top[r];
    }
}

/* A part of the blocks of queries that share keys: packs those first, for the caches. */
static void part_task(void *context, int64_t task, int worker) {
    (void)worker;
    const forward *p = context;
    const attention *a = &p->a;
    const int64_t heads = a->b * a->hk, blocks = eng_blocks(a->l, p->block);
    char *keys = eng_scratch_need(ENG_SLOT_B, (size_t)(p->head_bytes + eng_blocks(a->s, KEYS) * (int64_t)sizeof(int64_t)));
    pack_head(p, task % heads, keys);
    for (int64_t i = task / heads; i < a->group * blocks; i += p->parts) /* the longest first */
        query_block(p, keys, task % heads * a->group + i % a->group, (blocks - 1 - i / a->group) * p->block, p->block);
}

tt_status eng_sdpa(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const bool has_mask = eng_composite_attr_bool(attributes, "has_mask", false);
    forward p = {
        .a = attention_of(attributes, in, has_mask ? &in[3] : NULL), .out = out[0].data, .lse = out[1].data};
    const attention *a = &p.a;
    if (a->b * a->h * a->l == 0)
        return TT_OK;
    if (a->s == 0 || a->e == 0 || a->ev == 0) {
        memset(p.out, 0, (size_t)hlo_type_bytes(&out[0].type));
        memset(p.lse, 0, (size_t)hlo_type_bytes(&out[1].type));
        return TT_OK;
    }
    if (a->l <= FEW_QUERIES) {
        eng_parallel(a->b * a->hk, few_task, &p);
        return TT_OK;
    }
    const int64_t words = eng_words(a->f, a->e), columns = eng_round_up(a->ev, a->f->nr);
    p.keys_bytes = eng_round_up(a->s, a->f->nr) * words * 4;
    p.head_bytes =
        eng_round_up(p.keys_bytes + (values_lie_well(a) ? 0 : eng_blocks(a->s, KEYS) * block_words(a) * columns * 4), 64);
    const int64_t tasks = eng_pool_size() > 1 ? 4 * (int64_t)eng_pool_size() : 1; /* that keep all threads busy */
    p.block = 4 * (a->f->per_word == 2 ? a->f : &a->kernels->f32)->mr;
    p.parts = eng_min(eng_blocks(tasks, a->b * a->hk), a->group * eng_blocks(a->l, p.block));
    eng_parallel(a->b * a->hk * p.parts, part_task, &p);
    return TT_OK;
}
