/* fast_bag.c - rows of a table summed over bags, and rows summed into a table, which is the gradient. Part of composite.c; knows no graph.
 * Rows that meet are added one after the other from zero, as the decompositions' scatters do, so bags, and rows of the table, are shared
 * out and never split. */
#include "engine/composite.h"
#include "engine/fast.h"
#include "engine/memory.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, LANES = 16, TILE = 512, AHEAD = 16 }; /* columns summed in registers, in vectors of LANES; in a tile; rows fetched ahead */

typedef float vf16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t vh16 __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint32_t vu16 __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) void add(vf16 *sum, const char *p, bool bf16) {
    *sum += bf16 ? (vf16)(__builtin_convertvector(*(const vh16 *)(const void *)p, vu16) << 16) : *(const vf16 *)(const void *)p;
}

/* sum[j] = the sum of rows[which[i]][j] over i < n, in order. Of which[i] up to i < known the rows are fetched ahead. */
static inline __attribute__((always_inline)) void sum_block(float *sum, const char *rows, int64_t pitch, bool bf16, const int64_t *which, int64_t n,
                                                            int64_t known, int vectors, int64_t tail) {
    const int size = bf16 ? 2 : 4;
    vf16 a[BLOCK / LANES] = {0};
    float rest[LANES] = {0};
    for (int64_t i = 0; i < n; i++) {
        const char *row = rows + which[i] * pitch;
        if (i + AHEAD < known)
            for (int64_t at = 0; at < (vectors * LANES + tail) * size; at += 64)
                __builtin_prefetch(rows + which[i + AHEAD] * pitch + at);
        for (int v = 0; v < vectors; v++)
            add(&a[v], row + v * LANES * size, bf16);
        for (int64_t j = 0; j < tail; j++)
            rest[j] += bf16 ? tt_bf16_to_f32(((const uint16_t *)(const void *)row)[vectors * LANES + j])
                            : ((const float *)(const void *)row)[vectors * LANES + j];
    }
    for (int v = 0; v < vectors; v++)
        *(vf16 *)(void *)(sum + v * LANES) = a[v];
    for (int64_t j = 0; j < tail; j++)
        sum[vectors * LANES + j] = rest[j];
}

#define SUM(T, bf16)                                                                                                                    \
    FAST_CLONES static void sum_##T(float *sum, const char *rows, int64_t pitch, const int64_t *which, int64_t n, int64_t known, int64_t width) { \
        if (width == BLOCK)                                                                                                             \
            sum_block(sum, rows, pitch, bf16, which, n, known, 4, 0);                                                                   \
        else if (width == BLOCK / 2)                                                                                                    \
            sum_block(sum, rows, pitch, bf16, which, n, known, 2, 0);                                                                   \
        else if (width == LANES)                                                                                                        \
            sum_block(sum, rows, pitch, bf16, which, n, known, 1, 0);                                                                   \
        else                                                                                                                            \
            sum_block(sum, rows, pitch, bf16, which, n, known, (int)(width / LANES), width % LANES);                                    \
    }
SUM(f32, false)
SUM(bf16, true)

FAST_CLONES static void add_f32(float *sum, const float *row, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        sum[i] += row[i];
}

/* ---- bags ---- */
typedef struct bags {
    int64_t n_rows, width, n, n_bags, per_task;
    const char *table;
    const int64_t *row; /* [position]: inside the table */
    int64_t *bag, *count;
    char *y;
    tt_dtype dtype;
    loop_kernel convert;
    bool mean;
} bags;

/* The first position whose bag is not before b: bags never decrease. */
static int64_t begin_of(const bags *s, int64_t b) {
    int64_t low = 0, high = s->n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->bag[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void bag_task(void *context, int64_t task, int worker) {
    (void)worker;
    const bags *s = context;
    const int64_t first = task * s->per_task, last = eng_min(s->n_bags, first + s->per_task), size = tt_dtype_size(s->dtype);
    int64_t start = begin_of(s, first);
    for (int64_t b = first; b < last; start += s->count[b++])
        for (int64_t from = 0; from < s->width; from += BLOCK) {
            const int64_t n = eng_min(BLOCK, s->width - from), count = s->count[b];
            float tile[BLOCK];
            char *to = s->y + (b * s->width + from) * size;
            float *sum = s->dtype == TT_F32 ? (float *)(void *)to : tile;
            (s->dtype == TT_BF16 ? sum_bf16 : sum_f32)(sum, s->table + from * size, s->width * size, s->row + start, count, s->n - start, n);
            for (int64_t i = 0; s->mean && count > 0 && i < n; i++)
                sum[i] /= (float)count;
            if (sum == tile)
                s->convert(to, tile, NULL, NULL, n);
        }
}

/* The bag of each position: how many offsets are not beyond it, less one. Positions before all offsets have bag -1 and count nowhere. */
static void find_bags_anyhow(bags *s, const int64_t *offsets) {
    int64_t bag = -1;
    memset(s->bag, 0, (size_t)s->n * sizeof *s->bag);
    memset(s->count, 0, (size_t)s->n_bags * sizeof *s->count);
    for (int64_t b = 0; b < s->n_bags; b++) {
        if (offsets[b] <= 0)
            bag++;
        else if (offsets[b] < s->n)
            s->bag[offsets[b]]++;
    }
    for (int64_t i = 0; i < s->n; i++) {
        s->bag[i] = bag += s->bag[i];
        if (bag >= 0)
            s->count[bag]++;
    }
}

/* Offsets mostly rise: then a bag is what lies between two. */
static void find_bags(bags *s, const int64_t *offsets) {
    for (int64_t b = 1; b < s->n_bags; b++)
        if (offsets[b] < offsets[b - 1])
            return find_bags_anyhow(s, offsets);
    int64_t at = 0;
    for (int64_t b = -1; b < s->n_bags; b++) {
        const int64_t begin = at, end = b + 1 < s->n_bags ? eng_min(offsets[b + 1], s->n) : s->n;
        for (; at < end; at++)
            s->bag[at] = b;
        if (b >= 0)
            s->count[b] = at - begin;
    }
}

FAST_CLONES static bool all_inside(const int64_t *index, int64_t n, int64_t n_rows) {
    uint64_t signs = 0; /* of the index, and of what is left after it */
    for (int64_t i = 0; i < n; i++)
        signs |= (uint64_t)index[i] | ((uint64_t)n_rows - 1 - (uint64_t)index[i]);
    return !(signs >> 63);
}

/* An index outside the table names its nearest row, or is an error. */
static tt_status inside(const bags *s, const int64_t *index, bool checked, const int64_t **out) {
    *out = index;
    if (all_inside(index, s->n, s->n_rows))
        return TT_OK;
    int64_t *rows = eng_scratch_need(ENG_SLOT_SHARED, sizeof *rows * (size_t)s->n);
    for (int64_t i = 0; i < s->n; i++) {
        rows[i] = eng_max(0, eng_min(index[i], s->n_rows - 1));
        TT_CHECK(!checked || rows[i] == index[i], OUT_OF_RANGE, "gather of embedding_bag: index %lld is out of bounds for dimension 0 with size %lld",
                 (long long)index[i], (long long)s->n_rows);
    }
    *out = rows;
    return TT_OK;
}

tt_status eng_embedding_bag(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const tt_dtype dtype = in[0].type.dtype;
    bags s = {.n_rows = in[0].type.dims[0], .width = in[0].type.dims[1], .n = in[1].type.dims[0], .n_bags = in[2].type.dims[0],
              .table = in[0].data, .y = out[0].data, .bag = out[1].data, .count = out[2].data, .dtype = dtype,
              .convert = loop_find(HLO_CONVERT, TT_F32, dtype, 0), .mean = eng_composite_attr_bool(attributes, "mean", false)};
    TT_TRY(inside(&s, in[1].data, eng_composite_attr_bool(attributes, "checked", false), &s.row));
    find_bags(&s, in[2].data);
    s.per_task = eng_max(1, 65536 / eng_max(1, s.width * (s.n / s.n_bags + 1)));
    eng_parallel(eng_blocks(s.n_bags, s.per_task), bag_task, &s);
    return TT_OK;
}

/* ---- rows summed into a table ---- */
typedef struct sums {
    int64_t width, n_rows;
    const char *rows;
    const int64_t *index;
    const int32_t *first, *next; /* [row of the table], [position]: the positions that name it, rising; -1: no more */
    char *table;
    tt_dtype dtype;
    loop_kernel convert;
} sums;

/* The rows of the table that positions [begin, end) are the first to name. */
static void sums_range(void *context, int64_t begin, int64_t end) {
    const sums *s = context;
    const int64_t size = tt_dtype_size(s->dtype), pitch = s->width * size;
    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < end && (uint64_t)s->index[i + AHEAD] < (uint64_t)s->n_rows)
            __builtin_prefetch(s->table + s->index[i + AHEAD] * pitch, 1);
        if ((uint64_t)s->index[i] >= (uint64_t)s->n_rows || s->first[s->index[i]] != i)
            continue;
        for (int64_t column = 0; column < s->width; column += TILE) {
            const int64_t n = eng_min(TILE, s->width - column);
            char *to = s->table + s->index[i] * pitch + column * size;
            float tile[TILE], *sum = s->dtype == TT_F32 ? (float *)(void *)to : tile; /* zeros, both */
            if (sum == tile)
                memset(tile, 0, sizeof *tile * (size_t)n);
            for (int32_t at = (int32_t)i; at >= 0; at = s->next[at])
                add_f32(sum, (const float *)(const void *)s->rows + at * s->width + column, n);
            if (sum == tile)
                s->convert(to, tile, NULL, NULL, n);
        }
    }
}

/* The table as zeros: only the rows that are not, if those are known. */
static void clear_table(eng_tensor *table, eng_rows **rows) {
    static const char zero[4];
    const int size = tt_dtype_size(table->type.dtype);
    const int64_t bytes = hlo_type_bytes(&table->type);
    const eng_rows *known = rows ? *rows : NULL;
    if (!known || known->bytes < bytes || known->n * known->pitch > bytes / 2)
        fast_fill_shared(table->data, zero, size, bytes / size);
    else
        for (int64_t k = 0; k < known->n; k++)
            memset((char *)table->data + known->at[k] * known->pitch, 0, (size_t)known->pitch);
}

/* The rows that were written, which are few. */
static void note_rows(const sums *s, int64_t n, int64_t bytes, eng_rows **rows) {
    enum { FEW = 4, WORTH_KEEPING = 1 << 16 };
    eng_rows *r = *rows;
    if (bytes < WORTH_KEEPING || n > s->n_rows / FEW || (r && r->capacity < n)) {
        free(r);
        *rows = r = NULL;
    }
    if (bytes < WORTH_KEEPING || n > s->n_rows / FEW)
        return;
    if (!r) {
        *rows = r = tt_malloc(sizeof *r + sizeof *r->at * (size_t)n);
        r->capacity = n;
    }
    r->bytes = bytes;
    r->pitch = s->width * tt_dtype_size(s->dtype);
    r->n = 0;
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)s->index[i] < (uint64_t)s->n_rows && s->first[s->index[i]] == i)
            r->at[r->n++] = (int32_t)s->index[i];
}

tt_status eng_sum_rows_noted(const eng_tensor *in, eng_tensor *out, eng_rows **rows) {
    const int64_t n = in[1].type.dims[0], n_rows = out->type.dims[0], *index = in[1].data;
    int32_t *first = eng_scratch_need(ENG_SLOT_SHARED, sizeof *first * (size_t)(n_rows + n)), *next = first + n_rows;
    memset(first, -1, sizeof *first * (size_t)n_rows);
    for (int64_t i = n; i-- > 0;) {
        if ((uint64_t)index[i] >= (uint64_t)n_rows)
            continue;
        next[i] = first[index[i]];
        first[index[i]] = (int32_t)i;
    }
    sums s = {.width = out->type.dims[1], .n_rows = n_rows, .rows = in[0].data, .index = index, .first = first, .next = next,
              .table = out->data, .dtype = out->type.dtype, .convert = loop_find(HLO_CONVERT, TT_F32, out->type.dtype, 0)};
    clear_table(out, rows);
    fast_ranges(n, eng_max(1, 65536 / eng_max(1, s.width)), sums_range, &s);
    if (rows)
        note_rows(&s, n, hlo_type_bytes(&out->type), rows);
    return TT_OK;
}

tt_status eng_sum_rows(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    (void)attributes;
    return eng_sum_rows_noted(in, out, NULL);
}
