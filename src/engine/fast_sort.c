/* fast_sort.c - sort by the comparators that hlo_sort builds, and top_k.
 *
 * Keys become unsigned numbers that sort as the elements do; a row is a list of (key, position), sorted stably: short lists by
 * insertion, long ones by radix, digits that all share skipped. Then every operand is permuted. */
#include "engine/fast.h"
#include <stdlib.h>
#include <string.h>

typedef struct entry { uint64_t key; uint32_t at; } entry;

/* total: -0 before +0 and NaNs by their bits (top_k); else zeros tie and NaNs tie, greatest. */
typedef struct order { tt_dtype dtype; int size; bool descending, total; } order;

#define KEY(T)                                                                                    \
    v = ties && (v & rest) > (T)inf ? rest : v;                                                   \
    v = ties && v == sign ? 0 : v;                                                                \
    v = is_float && (v & sign) ? (T)~v : (T)(v ^ flip);                                           \
    out[i] = (T)(v ^ flip_all);

/* Keys of n elements, `stride` bytes apart. The loops are plain so that the compiler vectorises them. */
#define KEYS(bits, T)                                                                   \
    static FAST_CLONES void keys_##bits(const order *o, uint64_t inf, const char *x, int64_t stride, int64_t n, uint64_t *out) { \
        const T sign = (T)((T)1 << (bits - 1)), rest = (T)(sign - 1);                             \
        bool is_float = tt_dtype_class(o->dtype) == TT_CLASS_FLOAT, ties = is_float && !o->total; \
        T flip_all = o->descending ? (T)-1 : 0, flip = is_float || tt_dtype_class(o->dtype) == TT_CLASS_SINT ? sign : 0; \
        if (stride == sizeof(T)) /* vectorised */                                                 \
            for (int64_t i = 0; i < n; i++) {                                                     \
                T v;                                                                              \
                memcpy(&v, x + i * (int64_t)sizeof(T), sizeof v);                                 \
                KEY(T)                                                                            \
            }                                                                                     \
        else                                                                                      \
            for (int64_t i = 0; i < n; i++) {                                                     \
                T v;                                                                              \
                memcpy(&v, x + i * stride, sizeof v);                                             \
                KEY(T)                                                                            \
            }                                                                                     \
    }
KEYS(8, uint8_t)
KEYS(16, uint16_t)
KEYS(32, uint32_t)
KEYS(64, uint64_t)

static void keys_of(const order *o, const char *x, int64_t stride, int64_t n, uint64_t *out) {
    switch (o->size) {
    case 1: keys_8(o, 0, x, stride, n, out); return;
    case 2: keys_16(o, o->dtype == TT_BF16 ? 0x7F80 : 0x7C00, x, stride, n, out); return;
    case 4: keys_32(o, 0x7F800000, x, stride, n, out); return;
    default: keys_64(o, 0x7FFull << 52, x, stride, n, out);
    }
}

static void fill_entries(const order *o, const char *x, int64_t stride, int64_t n, entry *out) {
    uint64_t keys[256];
    for (int64_t at = 0; at < n; at += 256) {
        int64_t m = loop_min(256, n - at);
        keys_of(o, x + at * stride, stride, m, keys);
        for (int64_t i = 0; i < m; i++)
            out[at + i] = (entry){keys[i], (uint32_t)(at + i)};
    }
}

static void sort_short(entry *e, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        entry x = e[i];
        int64_t k = i;
        for (; k > 0 && e[k - 1].key > x.key; k--)
            e[k] = e[k - 1];
        e[k] = x;
    }
}

/* Stable; `other` is room for n. Returns the array that holds the result. */
static entry *sort_entries(entry *e, entry *other, int64_t n, int key_bytes) {
    uint32_t counts[8][256];
    if (n <= 64) {
        sort_short(e, n);
        return e;
    }
    memset(counts, 0, sizeof counts[0] * (size_t)key_bytes);
    for (int64_t i = 0; i < n; i++)
        for (int b = 0; b < key_bytes; b++)
            counts[b][e[i].key >> (8 * b) & 255]++;
    for (int b = 0; b < key_bytes; b++) {
        uint32_t sum = 0, *c = counts[b];
        if (c[e[0].key >> (8 * b) & 255] == n)
            continue;
        for (int v = 0; v < 256; v++) {
            uint32_t here = c[v];
            c[v] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++)
            other[c[e[i].key >> (8 * b) & 255]++] = e[i];
        entry *swap = e;
        e = other;
        other = swap;
    }
    return e;
}

/* ---- sort ---- */

typedef struct sorter {
    order order;
    int n;
    const eng_tensor *in;
    eng_tensor *out;
    int64_t length, inner; /* rows are `inner` elements from step to step */
} sorter;

/* Long single rows: parts sorted side by side, then merged pairwise. */
typedef struct parts { const sorter *s; int64_t row_start, size; entry *a, *b; int n; int64_t width; } parts;

static void part_range(void *context, int64_t from, int64_t to) {
    parts *p = context;
    int size = p->s->order.size;
    for (int64_t k = from; k < to; k++) {
        int64_t at = k * p->size, n = loop_min(p->size, p->s->length - at);
        const char *x = (const char *)p->s->in->data + (p->row_start + at * p->s->inner) * size;
        fill_entries(&p->s->order, x, p->s->inner * size, n, p->a + at);
        for (int64_t i = 0; i < n; i++)
            p->a[at + i].at += (uint32_t)at;
        entry *sorted = sort_entries(p->a + at, p->b + at, n, size);
        if (sorted != p->a + at)
            memcpy(p->a + at, sorted, sizeof *sorted * (size_t)n);
    }
}

static void merge_range(void *context, int64_t from, int64_t to) {
    parts *p = context;
    for (int64_t k = from; k < to; k++) {
        int64_t left = k * 2 * p->width, right = loop_min(left + p->width, p->s->length), end = loop_min(right + p->width, p->s->length);
        int64_t i = left, j = right, o = left;
        while (i < right && j < end)
            p->b[o++] = p->a[j].key < p->a[i].key ? p->a[j++] : p->a[i++];
        memcpy(p->b + o, p->a + i, sizeof *p->a * (size_t)(right - i));
        o += right - i;
        memcpy(p->b + o, p->a + j, sizeof *p->a * (size_t)(end - j));
    }
}

static const entry *sort_row(const sorter *s, int64_t start, entry *room) {
    entry *a = room, *b = room + s->length;
    parts p = {.s = s, .row_start = start, .a = a, .b = b};
    p.size = s->length >= 1 << 16 ? (s->length + 7) / 8 : s->length;
    fast_ranges((s->length + p.size - 1) / p.size, 1, part_range, &p);
    for (p.width = p.size; p.width < s->length; p.width *= 2) {
        fast_ranges((s->length + 2 * p.width - 1) / (2 * p.width), 1, merge_range, &p);
        entry *swap = p.a;
        p.a = p.b;
        p.b = swap;
    }
    return p.a;
}

static void rows_range(void *context, int64_t from, int64_t to) {
    const sorter *s = context;
    entry *room = malloc(sizeof *room * 2 * (size_t)s->length);
    if (!room)
        return;
    for (int64_t r = from; r < to; r++) {
        int64_t start = r / s->inner * s->length * s->inner + r % s->inner;
        const entry *e = sort_row(s, start, room);
        for (int k = 0; k < s->n; k++) {
            int size = tt_dtype_size(s->in[k].type.dtype);
            const char *x = (const char *)s->in[k].data + start * size;
            char *y = (char *)s->out[k].data + start * size;
            int64_t step = s->inner * size;
            switch (size) {
#define PERMUTE(bytes)                                                        \
    case bytes:                                                               \
        for (int64_t i = 0; i < s->length; i++)                               \
            memcpy(y + i * step, x + e[i].at * step, bytes);                  \
        break;
                PERMUTE(1)
                PERMUTE(2)
                PERMUTE(4)
                PERMUTE(8)
            default:
                for (int64_t i = 0; i < s->length; i++)
                    memcpy(y + i * step, x + e[i].at * step, (size_t)size);
            }
        }
    }
    free(room);
}

static bool key_dtype(tt_dtype t) {
    return t == TT_F32 || t == TT_F64 || t == TT_BF16 || t == TT_F16 || (tt_is_int(t) && loop_find(HLO_ADD, t, t, 0)) || t == TT_PRED;
}

static bool recognised(const hlo_graph *g, const hlo_block *b, tt_dtype dtype, bool *out_descending) {
    char text[96];
    if (b->n_results != 1 || !fast_region_text(g, b, b->results[0], text, sizeof text))
        return false;
    if (tt_is_float(dtype)) {
        *out_descending = text[3] == 'G';
        return !strcmp(text, "or(LT(p0,p1),and(NE(p1,p1),EQ(p0,p0)))") || !strcmp(text, "or(GT(p0,p1),and(NE(p0,p0),EQ(p1,p1)))");
    }
    *out_descending = text[0] == 'G';
    return !strcmp(text, "LT(p0,p1)") || !strcmp(text, "GT(p0,p1)");
}

tt_status eng_fast_sort(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int rank = in->type.rank, dim = (int)hlo_attr_int(node, HLO_A_DIMENSION, -1);
    sorter s = {.order = {.dtype = in->type.dtype, .size = tt_dtype_size(in->type.dtype)}, .n = (int)node->n_operands, .in = in, .out = out, .inner = 1};
    (void)run;
    dim += dim < 0 ? rank : 0;
    if (dim < 0 || dim >= rank || node->n_regions != 1 || !key_dtype(s.order.dtype) ||
        !recognised(g, node->regions[0], s.order.dtype, &s.order.descending))
        return eng_not_mine;
    int64_t total = hlo_type_elements(&in->type);
    s.length = in->type.dims[dim];
    for (int d = dim + 1; d < rank; d++)
        s.inner *= in->type.dims[d];
    if (s.length > UINT32_MAX)
        return eng_not_mine;
    if (total)
        fast_ranges(total / s.length, loop_max(1, (1 << 14) / s.length), rows_range, &s);
    return TT_OK;
}

/* ---- top_k ---- */

typedef struct top { order order; const eng_tensor *in; eng_tensor *out; int64_t length, k; } top;

/* Cuts the list to the k best, sorted; returns how many there are. */
static int64_t cut_list(const top *t, entry *list, entry *other, int64_t n) {
    entry *sorted = sort_entries(list, other, n, t->order.size);
    n = loop_min(n, t->k);
    if (sorted != list)
        memcpy(list, sorted, sizeof *list * (size_t)n);
    return n;
}

static FAST_CLONES int any_below(const uint64_t *keys, uint64_t limit, int64_t n) {
    int hits = 0;
    for (int64_t i = 0; i < n; i++)
        hits |= keys[i] < limit;
    return hits;
}

/* Whether any of n elements may beat x, the k-th best so far: is greater, the same, or NaN. */
static FAST_CLONES int any_beats_f32(const float *x, float limit, int64_t n) {
    int hits = 0;
    for (int64_t i = 0; i < n; i++)
        hits |= !(x[i] < limit);
    return hits;
}

static FAST_CLONES int any_beats_bf16(const uint16_t *x, float limit, int64_t n) {
    int hits = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)x[i] << 16;
        float v;
        memcpy(&v, &bits, 4);
        hits |= !(v < limit);
    }
    return hits;
}

/* False: none of the n elements at x can enter a list whose last is `last`. */
static bool may_enter(const top *t, const char *x, const char *last, int64_t n) {
    if (t->order.dtype == TT_F32)
        return any_beats_f32((const float *)(const void *)x, *(const float *)(const void *)last, n);
    if (t->order.dtype == TT_BF16)
        return any_beats_bf16((const uint16_t *)(const void *)x, (float)tt_element_get(TT_BF16, last), n);
    return true;
}

enum { TOP_BLOCK = 32 };

/* Keeps the best in a list that is cut when full; after that only what beats the k-th may enter, which most blocks have nothing of. */
static int64_t select_best(const top *t, const char *x, entry *list, entry *other, int64_t room) {
    int64_t n = 0, n_best = 0;
    uint64_t limit = 0, keys[TOP_BLOCK];
    bool limited = false;
    for (int64_t at = 0; at < t->length; at += TOP_BLOCK) {
        int64_t m = loop_min(TOP_BLOCK, t->length - at);
        int hits = !limited;
        if (limited && !may_enter(t, x + at * t->order.size, x + (int64_t)list[n_best - 1].at * t->order.size, m))
            continue;
        keys_of(&t->order, x + at * t->order.size, t->order.size, m, keys);
        if (limited)
            hits = any_below(keys, limit, m);
        for (int64_t i = 0; hits && i < m; i++) {
            if (limited && keys[i] >= limit)
                continue;
            list[n++] = (entry){keys[i], (uint32_t)(at + i)};
            if (n < room)
                continue;
            n = cut_list(t, list, other, n);
            limited = n == t->k;
            n_best = n;
            limit = list[n - 1].key;
        }
    }
    return cut_list(t, list, other, n);
}

static void top_range(void *context, int64_t from, int64_t to) {
    const top *t = context;
    int size = t->order.size, index_size = tt_dtype_size(t->out[1].type.dtype);
    int64_t room = loop_min(t->length, t->k <= 24 ? t->k + 12 : 2 * t->k + 32);
    entry *list = malloc(sizeof *list * 2 * (size_t)(room + 1));
    if (!list)
        return;
    for (int64_t r = from; r < to; r++) {
        const char *x = (const char *)t->in->data + r * t->length * size;
        int64_t n = select_best(t, x, list, list + room + 1, room);
        for (int64_t i = 0; i < n; i++) {
            memcpy((char *)t->out->data + (r * t->k + i) * size, x + (int64_t)list[i].at * size, (size_t)size);
            tt_element_set_int(t->out[1].type.dtype, (char *)t->out[1].data + (r * t->k + i) * index_size, list[i].at);
        }
    }
    free(list);
}

tt_status eng_fast_top_k(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int rank = in->type.rank;
    top t = {.order = {in->type.dtype, tt_dtype_size(in->type.dtype), true, true}, .in = in, .out = out, .k = hlo_attr_int(node, HLO_A_K, -1)};
    (void)run, (void)g;
    t.length = rank ? in->type.dims[rank - 1] : 0;
    if (!key_dtype(t.order.dtype) || !rank || t.k < 0 || t.k > t.length || t.length > UINT32_MAX || out->type.dims[rank - 1] != t.k)
        return eng_not_mine;
    if (t.k && hlo_type_elements(&in->type))
        fast_ranges(hlo_type_elements(&in->type) / t.length, loop_max(1, (1 << 15) / t.length), top_range, &t);
    return TT_OK;
}
