/* ref_sort.c - reference kernels of sort (any comparator) and top_k.
 *
 * A stable merge sort of positions. All merges of one level, over all slices, go forward together, so that the comparator
 * region runs on vectors of pairs instead of one pair at a time. */
#include "engine/ref.h"
#include <stdlib.h>

typedef struct merge { int64_t left, left_end, right, right_end, out; } merge;

typedef struct sorter {
    int n;                               /* operands */
    int64_t rows, length;
    char *data[HLO_MAX_RANK];            /* operands with the sorted dimension last, dense */
    char *pairs[2 * HLO_MAX_RANK];       /* region parameters: right and left heads in turn */
    bool used[2 * HLO_MAX_RANK];
    int size[HLO_MAX_RANK];
    int64_t *order, *next;
    merge *merges;
    uint8_t *right_first;
    ref_region *region;
} sorter;

static void sorter_deinit(sorter *s) {
    for (int k = 0; k < s->n; k++)
        ref_free(&s->data[k]);
    for (int k = 0; k < 2 * s->n; k++)
        ref_free(&s->pairs[k]);
    ref_free(&s->order);
    ref_free(&s->next);
    ref_free(&s->merges);
    ref_free(&s->right_first);
    ref_region_destroy(s->region);
}

/* Parameters that a flat region never reads need no data. */
static void find_used(sorter *s, const hlo_graph *g, const hlo_block *b) {
    for (int p = 0; p < 2 * s->n; p++)
        for (int i = 0; i < b->n_nodes && !s->used[p]; i++) {
            const hlo_node *node = hlo_node_at(g, b->nodes[i]);
            s->used[p] = node->n_regions > 0;
            for (uint32_t k = 0; k < node->n_operands; k++)
                s->used[p] = s->used[p] || node->operands[k] == b->params[p];
        }
    for (int p = 0; p < 2 * s->n; p++)
        for (int i = 0; i < b->n_results; i++)
            s->used[p] = s->used[p] || b->results[i] == b->params[p];
}

static void gather_heads(sorter *s, int64_t m) {
    for (int p = 0; p < 2 * s->n; p++) {
        int size = s->size[p / 2];
        for (int64_t i = 0; i < m && s->used[p]; i++) {
            int64_t at = s->order[p & 1 ? s->merges[i].left : s->merges[i].right];
            memcpy(s->pairs[p] + i * size, s->data[p / 2] + at * size, (size_t)size);
        }
    }
}

/* One element of every merge moves to `next`; merges with a side used up copy the other and leave. */
static int64_t advance(sorter *s, int64_t m) {
    int64_t kept = 0;
    for (int64_t i = 0; i < m; i++) {
        merge *x = &s->merges[i];
        s->next[x->out++] = s->order[s->right_first[i] ? x->right++ : x->left++];
        if (x->left < x->left_end && x->right < x->right_end) {
            s->merges[kept++] = *x;
            continue;
        }
        while (x->left < x->left_end)
            s->next[x->out++] = s->order[x->left++];
        while (x->right < x->right_end)
            s->next[x->out++] = s->order[x->right++];
    }
    return kept;
}

static tt_status merge_level(sorter *s, int64_t width) {
    int64_t m = 0;
    for (int64_t row = 0; row < s->rows; row++)
        for (int64_t at = 0; at < s->length; at += 2 * width) {
            int64_t base = row * s->length, middle = at + width, end = at + 2 * width;
            middle = middle < s->length ? middle : s->length;
            end = end < s->length ? end : s->length;
            if (middle < end)
                s->merges[m++] = (merge){base + at, base + middle, base + middle, base + end, base + at};
            else
                memcpy(s->next + base + at, s->order + base + at, (size_t)(end - at) * sizeof *s->next);
        }
    while (m > 0) {
        gather_heads(s, m);
        TT_TRY(ref_region_run(s->region, m, (const void *const *)s->pairs, (void *const[]){s->right_first}));
        m = advance(s, m);
    }
    int64_t *swap = s->order;
    s->order = s->next;
    s->next = swap;
    return TT_OK;
}

/* Dims of t with `dim` last. */
static void sorted_last(const hlo_type *t, int dim, int64_t *dims, int64_t *dense, int64_t *strides) {
    int64_t all[HLO_MAX_RANK];
    hlo_type moved = *t;
    ref_strides(t, all);
    for (int d = 0, n = 0; d < t->rank; d++)
        if (d != dim) {
            moved.dims[n] = t->dims[d];
            strides[n++] = all[d];
        }
    moved.dims[t->rank - 1] = t->dims[dim];
    strides[t->rank - 1] = all[dim];
    ref_strides(&moved, dense);
    memcpy(dims, moved.dims, sizeof moved.dims);
}

static tt_status sort_run(sorter *s, eng_run *run, const hlo_graph *g, const hlo_node *node, int dim, const eng_tensor *in, eng_tensor *out) {
    int64_t dims[HLO_MAX_RANK], dense[HLO_MAX_RANK], strides[HLO_MAX_RANK], total = s->rows * s->length;
    int64_t pairs = s->rows * ((s->length + 1) / 2);
    TT_TRY(ref_region_create(run, g, node->regions[0], &s->region));
    TT_TRY(ref_alloc(total, sizeof *s->order, &s->order));
    TT_TRY(ref_alloc(total, sizeof *s->next, &s->next));
    TT_TRY(ref_alloc(pairs, sizeof *s->merges, &s->merges));
    TT_TRY(ref_alloc(pairs, 1, &s->right_first));
    for (int k = 0; k < s->n; k++) {
        s->size[k] = ref_size(in + k);
        TT_CHECK(hlo_dims_equal(&in[k].type, &in[0].type), INVALID_ARGUMENT, "sort: operands of different shapes");
        TT_TRY(ref_alloc(total, s->size[k], &s->data[k]));
        TT_TRY(ref_alloc(pairs, s->size[k], &s->pairs[2 * k]));
        TT_TRY(ref_alloc(pairs, s->size[k], &s->pairs[2 * k + 1]));
        memset(s->pairs[2 * k], 0, (size_t)(pairs * s->size[k]));
        memset(s->pairs[2 * k + 1], 0, (size_t)(pairs * s->size[k]));
        sorted_last(&in[k].type, dim, dims, dense, strides);
        ref_copy(in->type.rank, dims, s->size[k], s->data[k], dense, in[k].data, strides);
    }
    for (int64_t i = 0; i < total; i++)
        s->order[i] = i;
    for (int64_t width = 1; width < s->length; width *= 2)
        TT_TRY(merge_level(s, width));
    for (int k = 0; k < s->n; k++) {
        REF_AUTO(char) sorted = NULL;
        TT_TRY(ref_alloc(total, s->size[k], &sorted));
        for (int64_t i = 0; i < total; i++)
            memcpy(sorted + i * s->size[k], s->data[k] + s->order[i] * s->size[k], (size_t)s->size[k]);
        sorted_last(&in[k].type, dim, dims, dense, strides);
        ref_copy(in->type.rank, dims, s->size[k], out[k].data, strides, sorted, dense);
    }
    return TT_OK;
}

REF_KERNEL(sort) {
    int64_t dim = hlo_attr_int(node, HLO_A_DIMENSION, -1);
    const hlo_type *t = &in->type;
    sorter s = {.n = (int)node->n_operands};
    if (dim < 0)
        dim += t->rank;
    TT_CHECK(node->n_regions == 1 && s.n >= 1 && s.n <= HLO_MAX_RANK && node->n_results == s.n && dim >= 0 && dim < t->rank &&
                 node->regions[0]->n_params == 2 * s.n && node->regions[0]->n_results == 1,
             INVALID_ARGUMENT, "malformed sort");
    if (ref_count(in) == 0)
        return TT_OK;
    s.length = t->dims[dim];
    s.rows = ref_count(in) / s.length;
    find_used(&s, g, node->regions[0]);
    tt_status error = sort_run(&s, run, g, node, (int)dim, in, out);
    sorter_deinit(&s);
    return error;
}

/* ---- top_k ---- */
typedef struct keyed { int64_t key, index; } keyed;

static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Floats in total order (NaN above infinity, +0 above -0), integers in theirs. */
static int64_t sort_key(tt_dtype t, const char *p) {
    if (!tt_is_float(t)) {
        uint64_t v = (uint64_t)tt_element_get_int(t, p);
        return (int64_t)(t == TT_U64 ? v ^ 1ull << 63 : v);
    }
    double v = tt_element_get(t, p);
    int64_t bits;
    memcpy(&bits, &v, 8);
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

REF_KERNEL(top_k) {
    (void)run, (void)g;
    int64_t length = in->type.rank ? in->type.dims[in->type.rank - 1] : 0, k = hlo_attr_int(node, HLO_A_K, 0);
    TT_CHECK(k >= 0 && k <= length && node->n_results == 2 && !tt_is_complex(in->type.dtype) &&
                 out->type.dims[out->type.rank - 1] == k, INVALID_ARGUMENT, "top_k of %lld elements with k = %lld", (long long)length,
             (long long)k);
    int size = ref_size(in), index_size = ref_size(out + 1);
    int64_t rows = length ? ref_count(in) / length : 0;
    REF_AUTO(keyed) keys = NULL;
    TT_TRY(ref_alloc(length, sizeof *keys, &keys));
    for (int64_t row = 0; row < rows; row++) {
        const char *x = (const char *)in->data + row * length * size;
        for (int64_t i = 0; i < length; i++)
            keys[i] = (keyed){sort_key(in->type.dtype, x + i * size), i};
        qsort(keys, (size_t)length, sizeof *keys, by_key);
        for (int64_t i = 0; i < k; i++) {
            memcpy((char *)out->data + (row * k + i) * size, x + keys[i].index * size, (size_t)size);
            tt_element_set_int(out[1].type.dtype, (char *)out[1].data + (row * k + i) * index_size, keys[i].index);
        }
    }
    return TT_OK;
}
