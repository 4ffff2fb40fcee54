/* fast_bag.c - rows of a table summed over bags, and rows summed into a table, which is the gradient. Part of composite.c; knows no graph.
 * Rows that meet are added one after the other from zero, as the decompositions' scatters do, so bags, and rows of the table, are shared
 * out and never split. */
#include "engine/composite.h"
#include "engine/fast.h"
#include "engine/memory.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, LANES = 16, TILE = 512, AHEAD = 16 }; /* columns summed in registers, in vectors of LANES; in a tile; rows fetched ahead */

typedef float vf16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t vh16 __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint32_t vu16 __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) void add(vf16 *sum, const char *p, bool bf16) {
    *sum += bf16 ? (vf16)(__builtin_convertvector(*(const vh16 *)(const void *)p, vu16) << 16) : *(const vf16 *)(const void *)p;
}

/* One row more: its vectors to a[], what is left to rest[]. */
static inline __attribute__((always_inline)) void add_row(vf16 *a, float *rest, const char *row, bool bf16, int vectors, int64_t tail) {
    for (int v = 0; v < vectors; v++)
        add(&a[v], row + v * LANES * (bf16 ? 2 : 4), bf16);
    for (int64_t j = 0; j < tail; j++)
        rest[j] += bf16 ? tt_bf16_to_f32(((const uint16_t *)(const void *)row)[vectors * LANES + j]) : ((const float *)(const void *)row)[vectors * LANES + j];
}

/* sum[j] = the sum of rows[which[i]][j] over i < n, in order. Of which[i] up to i < known the rows are fetched ahead. */
static inline __attribute__((always_inline)) void sum_block(float *sum, const char *rows, int64_t pitch, bool bf16, const int64_t *which, int64_t n,
                                                            int64_t known, int vectors, int64_t tail) {
    const int64_t bytes = (vectors * LANES + tail) * (bf16 ? 2 : 4), ahead = eng_min(n, known - AHEAD);
    vf16 a[BLOCK / LANES] = {0};
    float rest[LANES] = {0};
    int64_t i = 0;
    for (; i < ahead; i++) {
        for (int64_t at = 0; at < bytes; at += 64)
            __builtin_prefetch(rows + which[i + AHEAD] * pitch + at);
        add_row(a, rest, rows + which[i] * pitch, bf16, vectors, tail);
    }
    for (; i < n; i++)
        add_row(a, rest, rows + which[i] * pitch, bf16, vectors, tail);
    for (int v = 0; v < vectors; v++)
        *(vf16 *)(void *)(sum + v * LANES) = a[v];
    for (int64_t j = 0; j < tail; j++)
        sum[vectors * LANES + j] = rest[j];
}

FAST_CLONES static void add_f32(float *sum, const float *row, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        sum[i] += row[i];
}

/* ---- bags ---- */
typedef struct bags {
    int64_t n_rows, width, n, n_bags, per_task;
    const char *table;
    const int64_t *row;          /* [position]: inside the table */
    int64_t *start, *bag, *count; /* [bag], and the end: of its positions. The results; NULL: nobody reads them */
    char *y;
    tt_dtype dtype;
    loop_kernel convert;
    bool mean;
} bags;

/* Columns [from, from + width) of bags [first, last). */
static inline __attribute__((always_inline)) void sum_columns(const bags *s, int64_t first, int64_t last, int64_t from, bool bf16, int vectors, int64_t tail) {
    const int64_t size = tt_dtype_size(s->dtype), pitch = s->width * size, width = vectors * LANES + tail;
    for (int64_t b = first; b < last; b++) {
        const int64_t start = s->start[b], count = s->start[b + 1] - start;
        float tile[BLOCK];
        char *to = s->y + (b * s->width + from) * size;
        float *sum = s->dtype == TT_F32 ? (float *)(void *)to : tile;
        sum_block(sum, s->table + from * size, pitch, bf16, s->row + start, count, s->n - start, vectors, tail);
        for (int64_t i = 0; s->mean && count > 0 && i < width; i++)
            sum[i] /= (float)count;
        if (sum == tile)
            s->convert(to, tile, NULL, NULL, width);
    }
}

#define SUM(T, bf16)                                                                               \
    FAST_CLONES static void sum_##T(const bags *s, int64_t first, int64_t last) {                  \
        for (int64_t from = 0; from < s->width; from += BLOCK) {                                   \
            const int64_t width = eng_min(BLOCK, s->width - from);                                 \
            if (width == BLOCK)                                                                    \
                sum_columns(s, first, last, from, bf16, 16, 0);                                    \
            else if (width == BLOCK / 2)                                                           \
                sum_columns(s, first, last, from, bf16, 8, 0);                                     \
            else if (width == BLOCK / 4)                                                           \
                sum_columns(s, first, last, from, bf16, 4, 0);                                     \
            else if (width == BLOCK / 8)                                                           \
                sum_columns(s, first, last, from, bf16, 2, 0);                                     \
            else if (width == LANES)                                                               \
                sum_columns(s, first, last, from, bf16, 1, 0);                                     \
            else                                                                                   \
                sum_columns(s, first, last, from, bf16, (int)(width / LANES), width % LANES);      \
        }                                                                                          \
    }
SUM(f32, false)
SUM(bf16, true)

static void bag_task(void *context, int64_t task, int worker) {
    (void)worker;
    const bags *s = context;
    const int64_t first = task * s->per_task;
    (s->dtype == TT_BF16 ? sum_bf16 : sum_f32)(s, first, eng_min(s->n_bags, first + s->per_task));
}

/* The bag of a position: how many offsets are not beyond it, less one. Positions before all offsets have bag -1 and count nowhere. room:
 * n numbers. */
static void find_bags_anyhow(const bags *s, const int64_t *offsets, int64_t *room) {
    int64_t bag = -1;
    memset(room, 0, (size_t)s->n * sizeof *room);
    for (int64_t b = 0; b < s->n_bags; b++) {
        if (offsets[b] <= 0)
            bag++;
        else if (offsets[b] < s->n)
            room[offsets[b]]++;
    }
    for (int64_t b = 0; b <= bag; b++)
        s->start[b] = 0;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t more = room[i]; more > 0; more--)
            s->start[++bag] = i;
    while (bag < s->n_bags)
        s->start[++bag] = s->n;
}

/* Offsets mostly rise: then a bag is what lies between two. */
static void find_bags(const bags *s, const int64_t *offsets, int64_t *room) {
    for (int64_t b = 0; b < s->n_bags; b++) {
        if (b && offsets[b] < offsets[b - 1])
            return find_bags_anyhow(s, offsets, room);
        s->start[b] = eng_max(0, eng_min(offsets[b], s->n));
    }
    s->start[s->n_bags] = s->n;
}

static void write_bags(const bags *s) {
    for (int64_t b = 0; s->count && b < s->n_bags; b++)
        s->count[b] = s->start[b + 1] - s->start[b];
    for (int64_t i = 0; s->bag && i < s->start[0]; i++)
        s->bag[i] = -1;
    for (int64_t b = 0; s->bag && b < s->n_bags; b++)
        for (int64_t i = s->start[b]; i < s->start[b + 1]; i++)
            s->bag[i] = b;
}

FAST_CLONES static bool all_inside(const int64_t *index, int64_t n, int64_t n_rows) {
    uint64_t signs = 0; /* of the index, and of what is left after it */
    for (int64_t i = 0; i < n; i++)
        signs |= (uint64_t)index[i] | ((uint64_t)n_rows - 1 - (uint64_t)index[i]);
    return !(signs >> 63);
}

/* An index outside the table names its nearest row, or is an error. room: n numbers. */
static tt_status inside(const bags *s, const int64_t *index, bool checked, int64_t *room, const int64_t **out) {
    *out = index;
    if (all_inside(index, s->n, s->n_rows))
        return TT_OK;
    for (int64_t i = 0; i < s->n; i++) {
        room[i] = eng_max(0, eng_min(index[i], s->n_rows - 1));
        TT_CHECK(!checked || room[i] == index[i], OUT_OF_RANGE, "gather of embedding_bag: index %lld is out of bounds for dimension 0 with size %lld",
                 (long long)index[i], (long long)s->n_rows);
    }
    *out = room;
    return TT_OK;
}

tt_status eng_embedding_bag(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const tt_dtype dtype = in[0].type.dtype;
    bags s = {.n_rows = in[0].type.dims[0], .width = in[0].type.dims[1], .n = in[1].type.dims[0], .n_bags = in[2].type.dims[0],
              .table = in[0].data, .y = out[0].data, .bag = out[1].data, .count = out[2].data, .dtype = dtype,
              .convert = loop_find(HLO_CONVERT, TT_F32, dtype, 0), .mean = eng_composite_attr_bool(attributes, "mean", false)};
    s.start = eng_scratch_need(ENG_SLOT_SHARED, sizeof *s.start * (size_t)(s.n_bags + 1 + 2 * s.n));
    int64_t *room = s.start + s.n_bags + 1;
    TT_TRY(inside(&s, in[1].data, eng_composite_attr_bool(attributes, "checked", false), room, &s.row));
    find_bags(&s, in[2].data, room + s.n);
    write_bags(&s);
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
