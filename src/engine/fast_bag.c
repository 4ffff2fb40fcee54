/* fast_bag.c - sums and means of a table's rows over bags, in one pass over the indices. Part of composite.c; knows no graph.
 * A bag's rows are added one after the other from zero, as the decomposition's scatter does, so bags are shared out and never split. */
#include "engine/composite.h"
#include <string.h>

enum { COLUMNS = 256, AHEAD = 8 }; /* that are summed at once; rows fetched ahead */

typedef struct bags {
    int64_t n_rows, width, n, n_bags, per_task;
    const char *table;
    const int64_t *index;
    int64_t *bag, *count;
    char *y;
    bool bf16, mean;
} bags;

typedef float floats __attribute__((vector_size(32), aligned(4), may_alias));

static void add_f32(float *sum, const float *row, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        *(floats *)(void *)(sum + i) += *(const floats *)(const void *)(row + i);
    for (; i < n; i++)
        sum[i] += row[i];
}

static void add_bf16(float *sum, const uint16_t *row, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        sum[i] += tt_bf16_to_f32(row[i]);
}

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

static void store(const bags *s, int64_t bag, int64_t from, float *sum, int64_t n) {
    const float count = (float)s->count[bag];
    for (int64_t i = 0; s->mean && count > 0 && i < n; i++)
        sum[i] /= count;
    if (!s->bf16) {
        memcpy(s->y + (bag * s->width + from) * 4, sum, (size_t)n * 4);
        return;
    }
    uint16_t *y = (uint16_t *)(void *)s->y + bag * s->width + from;
    for (int64_t i = 0; i < n; i++)
        y[i] = tt_f32_to_bf16(sum[i]);
}

/* Which row index i names; one outside the table names its nearest. */
static int64_t row_of(const bags *s, int64_t i) {
    return s->index[i] < 0 ? 0 : eng_min(s->index[i], s->n_rows - 1);
}

static void bag_task(void *context, int64_t task, int worker) {
    (void)worker;
    const bags *s = context;
    const int64_t first = task * s->per_task, last = eng_min(s->n_bags, first + s->per_task);
    int64_t start = begin_of(s, first);
    for (int64_t b = first; b < last; start += s->count[b++])
        for (int64_t from = 0; from < s->width; from += COLUMNS) {
            const int64_t n = eng_min(COLUMNS, s->width - from);
            float sum[COLUMNS];
            memset(sum, 0, (size_t)n * sizeof *sum);
            for (int64_t i = start; i < start + s->count[b]; i++) {
                const int64_t at = row_of(s, i) * s->width + from;
                __builtin_prefetch(s->table + (row_of(s, eng_min(i + AHEAD, s->n - 1)) * s->width + from) * (s->bf16 ? 2 : 4));
                if (s->bf16)
                    add_bf16(sum, (const uint16_t *)(const void *)s->table + at, n);
                else
                    add_f32(sum, (const float *)(const void *)s->table + at, n);
            }
            store(s, b, from, sum, n);
        }
}

/* The bag of each position: how many offsets are not beyond it, less one. Positions before all offsets have bag -1 and count nowhere. */
static void find_bags(bags *s, const int64_t *offsets) {
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

tt_status eng_embedding_bag(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    bags s = {.n_rows = in[0].type.dims[0], .width = in[0].type.dims[1], .n = in[1].type.dims[0], .n_bags = in[2].type.dims[0],
              .table = in[0].data, .index = in[1].data, .y = out[0].data, .bag = out[1].data, .count = out[2].data,
              .bf16 = in[0].type.dtype == TT_BF16, .mean = eng_composite_attr_bool(attributes, "mean", false)};
    const bool checked = eng_composite_attr_bool(attributes, "checked", false);
    for (int64_t i = 0; checked && i < s.n; i++)
        TT_CHECK((uint64_t)s.index[i] < (uint64_t)s.n_rows, OUT_OF_RANGE, "gather of embedding_bag: index %lld is out of bounds for dimension 0 with size %lld",
                 (long long)s.index[i], (long long)s.n_rows);
    find_bags(&s, in[2].data);
    s.per_task = eng_max(1, 65536 / eng_max(1, s.width * (s.n / s.n_bags + 1)));
    eng_parallel(eng_blocks(s.n_bags, s.per_task), bag_task, &s);
    return TT_OK;
}
