/* fast_sort.c - sort by the comparators that hlo_sort builds, and top_k.
 *
 * Keys become unsigned numbers that sort as the elements do. A row is sorted as words, the key above, the position below: words are
 * distinct, so that any way of sorting them is stable. They are spread by their leading differing bits, again and again, until few
 * are left, which go where their rank says. top_k sorts a list of the best words so far. */
#include "engine/fast.h"
#include "engine/fast_gemm.h"
#include <stdlib.h>
#include <string.h>

/* total: -0 before +0 and NaNs by their bits (top_k); else zeros tie and NaNs tie, greatest. */
typedef struct order { tt_dtype dtype; int size; bool descending, total; uint64_t infinity; } order;

#define KEY(T)                                                                                    \
    v = ties && (v & rest) > inf ? rest : v;                                                   \
    v = ties && v == sign ? 0 : v;                                                                \
    v = is_float && (v & sign) ? (T)~v : (T)(v ^ flip);                                           \
    out[i] = (T)(v ^ flip_all);

/* Keys of n elements. The loops are plain so that the compiler vectorises them. */
#define KEYS(bits, T)                                                                             \
    static FAST_CLONES void keys_##bits(const order *o, const char *x, int64_t n, uint64_t *out) { \
        const T inf = (T)o->infinity;                                                             \
        const T sign = (T)((T)1 << (bits - 1)), rest = (T)(sign - 1);                             \
        bool is_float = tt_dtype_class(o->dtype) == TT_CLASS_FLOAT, ties = is_float && !o->total; \
        T flip_all = o->descending ? (T)-1 : 0, flip = is_float || tt_dtype_class(o->dtype) == TT_CLASS_SINT ? sign : 0; \
        for (int64_t i = 0; i < n; i++) {                                                         \
            T v;                                                                                  \
            memcpy(&v, x + i * (int64_t)sizeof(T), sizeof v);                                     \
            KEY(T)                                                                                \
        }                                                                                         \
    }
KEYS(8, uint8_t)
KEYS(16, uint16_t)
KEYS(32, uint32_t)
KEYS(64, uint64_t)

static void keys_of(const order *o, const char *x, int64_t n, uint64_t *out) {
    switch (o->size) {
    case 1: keys_8(o, x, n, out); return;
    case 2: keys_16(o, x, n, out); return;
    case 4: keys_32(o, x, n, out); return;
    default: keys_64(o, x, n, out);
    }
}

static order order_make(tt_dtype dtype, bool descending, bool total) {
    const uint64_t infinity = dtype == TT_BF16 ? 0x7F80 : dtype == TT_F16 ? 0x7C00 : dtype == TT_F32 ? 0x7F800000 : 0x7FFull << 52;
    return (order){dtype, tt_dtype_size(dtype), descending, total, infinity};
}

/* ---- sort: words ---- */

typedef int64_t word; /* not negative: every instruction set compares signed numbers */
enum { LEAF = 64, BLOCK = 256, DIGIT = 8, WORD_BITS = 63, PARTS = 16, PART = 1 << 12, MOST_KEPT = 1 << 20 };
typedef word word8 __attribute__((vector_size(64)));

static int bits_of(uint64_t x) {
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* At most LEAF words; x may be out. */
static FAST_CLONES void sort_leaf(const word *x, int64_t n, word *out) {
    union { word8 v[LEAF / 8]; word w[LEAF]; } all, rank;
    if (n <= 1) {
        if (n) /* of none, out is another thread's */
            out[0] = x[0];
        return;
    }
    all.v[(n - 1) / 8] = (word8){0} + INT64_MAX;
    memcpy(all.w, x, (size_t)n * sizeof *x);
    for (int64_t k = 0; k < n; k += 8) {
        const word8 v = all.v[k / 8];
        word8 less = {0};
        for (int64_t i = 0; i < n; i++)
            less -= (word8)(all.w[i] < v);
        rank.v[k / 8] = less;
    }
    for (int64_t i = 0; i < n; i++)
        out[rank.w[i]] = all.w[i];
}

static FAST_CLONES uint64_t differing_bits(const word *x, int64_t n) {
    word all = 0;
    for (int64_t i = 0; i < n; i++)
        all |= x[i] ^ x[0];
    return (uint64_t)all;
}

/* How many bits to spread n words by, so that about 16 of them stay together. */
static int digit_bits(int64_t n) {
    return (int)loop_max(1, loop_min(DIGIT, bits_of((uint64_t)n) - 4));
}

/* Sorts x in place, or to `other` if so asked; both are overwritten. Words whose bits from `low` on are equal lie in order. */
static void sort_words(word *x, word *other, int64_t n, int low, bool to_other) {
    uint32_t end[1 << DIGIT];
    if (n <= LEAF) {
        sort_leaf(x, n, to_other ? other : x);
        return;
    }
    const int top = bits_of(differing_bits(x, n));
    if (top <= low) {
        if (to_other)
            memcpy(other, x, (size_t)n * sizeof *x);
        return;
    }
    const int digit = (int)loop_min(digit_bits(n), top - low), shift = top - digit;
    const word mask = (1 << digit) - 1;
    memset(end, 0, sizeof *end << digit);
    for (int64_t i = 0; i < n; i++)
        end[x[i] >> shift & mask]++;
    uint32_t sum = 0;
    for (word d = 0; d <= mask; d++) {
        const uint32_t here = end[d];
        end[d] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < n; i++)
        other[end[x[i] >> shift & mask]++] = x[i];
    if (shift == low && !to_other)
        memcpy(x, other, (size_t)n * sizeof *x);
    for (word d = 0, from = 0; d <= mask && shift > low; from = end[d++])
        if (end[d] > from)
            sort_words(other + from, x + from, end[d] - from, low, !to_other);
}

/* ---- sort: a row ---- */

typedef struct sorter {
    order order;
    int n;
    const char *const *in;
    char *const *out;
    const int *size;       /* of an element; 0: an iota along the sorted dim, of this width: */
    const int *iota_size;
    int64_t length;
} sorter;

/* Parts of the row are read side by side, ranges of digits sorted side by side. */
typedef struct row {
    const sorter *s;
    const char *x;
    int64_t first, part;   /* first: element of the operands at which the row begins */
    int at_bits, dropped, shift, digit; /* dropped: low bits of the key that a word has no room for */
    uint64_t least, bounds[PARTS][2];
    uint32_t (*end)[1 << DIGIT];        /* [part] */
    word *a, *b;
} row;

static FAST_CLONES void widen_bounds(const uint64_t *keys, int64_t n, uint64_t *bounds) {
    uint64_t least = bounds[0], most = bounds[1];
    for (int64_t i = 0; i < n; i++) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
    }
    bounds[0] = least;
    bounds[1] = most;
}

static void bounds_range(void *context, int64_t from, int64_t to) {
    row *r = context;
    const order *o = &r->s->order;
    uint64_t keys[BLOCK];
    for (int64_t k = from; k < to; k++) {
        const int64_t end = loop_min((k + 1) * r->part, r->s->length);
        r->bounds[k][0] = UINT64_MAX;
        r->bounds[k][1] = 0;
        for (int64_t at = k * r->part; at < end; at += BLOCK) {
            const int64_t n = loop_min(BLOCK, end - at);
            keys_of(o, r->x + at * o->size, n, keys);
            widen_bounds(keys, n, r->bounds[k]);
        }
    }
}

static FAST_CLONES void make_words(const uint64_t *keys, uint64_t least, int dropped, int at_bits, int64_t first, int64_t n, word *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = (word)((keys[i] - least) >> dropped << at_bits) | (first + i);
}

static void words_at(const row *r, int64_t first, int64_t n, word *out) {
    const order *o = &r->s->order;
    uint64_t keys[BLOCK];
    keys_of(o, r->x + first * o->size, n, keys);
    make_words(keys, r->least, r->dropped, r->at_bits, first, n, out);
}

static void count_range(void *context, int64_t from, int64_t to) {
    row *r = context;
    const word mask = (1 << r->digit) - 1;
    word words[BLOCK];
    for (int64_t k = from; k < to; k++) {
        uint32_t *count = r->end[k];
        const int64_t end = loop_min((k + 1) * r->part, r->s->length);
        memset(count, 0, sizeof *count << r->digit);
        for (int64_t at = k * r->part; at < end; at += BLOCK) {
            const int64_t n = loop_min(BLOCK, end - at);
            words_at(r, at, n, words);
            for (int64_t i = 0; i < n; i++)
                count[words[i] >> r->shift & mask]++;
        }
    }
}

static void spread_range(void *context, int64_t from, int64_t to) {
    row *r = context;
    const word mask = (1 << r->digit) - 1;
    word words[BLOCK];
    for (int64_t k = from; k < to; k++) {
        uint32_t *place = r->end[k];
        const int64_t end = loop_min((k + 1) * r->part, r->s->length);
        for (int64_t at = k * r->part; at < end; at += BLOCK) {
            const int64_t n = loop_min(BLOCK, end - at);
            words_at(r, at, n, words);
            for (int64_t i = 0; i < n; i++)
                r->b[place[words[i] >> r->shift & mask]++] = words[i];
        }
    }
}

/* Words that agree in all of the key that they have room for are sorted by the rest of it. */
static void settle_ties(const row *r, word *w, word *other, int64_t n) {
    const order *o = &r->s->order;
    const word mask = ((word)1 << r->at_bits) - 1;
    for (int64_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && w[to] >> r->at_bits == w[from] >> r->at_bits; to++)
            ;
        for (int64_t i = from; i < to && to - from > 1; i++) {
            uint64_t key;
            keys_of(o, r->x + (w[i] & mask) * o->size, 1, &key);
            const uint64_t rest = (key - r->least) & ((1ull << r->dropped) - 1);
            w[i] = (word)(rest << r->at_bits) | (w[i] & mask);
        }
        if (to - from > 1)
            sort_words(w + from, other + from, to - from, r->at_bits, false);
    }
}

/* ---- sort: results ---- */

/* Elements back from keys; returns whether some were NaN or zero, which keys do not tell apart. */
#define VALUES(bits, T)                                                                           \
    static FAST_CLONES int values_##bits(const order *o, const word *w, int at_bits, uint64_t least, int64_t n, char *out) { \
        const T sign = (T)((T)1 << (bits - 1)), rest = (T)(sign - 1), flip_all = o->descending ? (T)-1 : 0, inf = (T)o->infinity; \
        const bool is_float = tt_dtype_class(o->dtype) == TT_CLASS_FLOAT;                         \
        const T flip = tt_dtype_class(o->dtype) == TT_CLASS_SINT ? sign : 0;                      \
        int unclear = 0;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                         \
            T v = (T)(((T)((uint64_t)w[i] >> at_bits) + (T)least) ^ flip_all);                    \
            v = !is_float ? (T)(v ^ flip) : v & sign ? (T)(v ^ sign) : (T)~v;                     \
            unclear |= is_float && (T)((v & rest) - 1) >= inf;                                    \
            memcpy(out + i * (int64_t)sizeof(T), &v, sizeof v);                                   \
        }                                                                                         \
        return unclear;                                                                           \
    }
VALUES(8, uint8_t)
VALUES(16, uint16_t)
VALUES(32, uint32_t)
VALUES(64, uint64_t)

static int values_of(const row *r, const word *w, int64_t n, char *out) {
    const order *o = &r->s->order;
    switch (o->size) {
    case 1: return values_8(o, w, r->at_bits, r->least, n, out);
    case 2: return values_16(o, w, r->at_bits, r->least, n, out);
    case 4: return values_32(o, w, r->at_bits, r->least, n, out);
    default: return values_64(o, w, r->at_bits, r->least, n, out);
    }
}

#define PICK(bytes)                                                           \
    case bytes:                                                               \
        for (int64_t i = 0; i < n; i++)                                       \
            memcpy(out + i * bytes, x + (w[i] & mask) * bytes, bytes);        \
        return;

static void pick(const char *x, int size, const word *w, word mask, int64_t n, char *out) {
    switch (size) {
        PICK(1)
        PICK(2)
        PICK(4)
        PICK(8)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(out + i * size, x + (w[i] & mask) * size, (size_t)size);
    }
}

static FAST_CLONES void places(const word *w, word mask, int size, int64_t n, char *out) {
    if (size == 4)
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)(void *)out)[i] = (int32_t)(w[i] & mask);
    else
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)(void *)out)[i] = w[i] & mask;
}

/* Sorted words, the row's from `at` on. */
static void emit(const row *r, const word *words, int64_t at, int64_t count) {
    const sorter *s = r->s;
    const word mask = ((word)1 << r->at_bits) - 1;
    for (int64_t end = at + count, n; at < end; at += n, words += n) {
        n = loop_min(BLOCK, end - at);
        for (int k = 0; k < s->n; k++) {
            const int size = s->size[k];
            if (!size) {
                places(words, mask, s->iota_size[k], n, s->out[k] + (r->first + at) * s->iota_size[k]);
                continue;
            }
            char *out = s->out[k] + (r->first + at) * size;
            if (k || r->dropped || values_of(r, words, n, out))
                pick(s->in[k] + r->first * size, size, words, mask, n, out);
        }
    }
}

static void digits_range(void *context, int64_t from, int64_t to) {
    row *r = context;
    const uint32_t *end = r->end[(r->s->length - 1) / r->part];
    const int64_t first = from ? end[from - 1] : 0;
    for (int64_t d = from, at = first; d < to; at = end[d++]) {
        sort_words(r->b + at, r->a + at, end[d] - at, r->at_bits, false);
        if (r->dropped)
            settle_ties(r, r->b + at, r->a + at, end[d] - at);
    }
    emit(r, r->b + first, first, end[to - 1] - first);
}

static void sort_row(const sorter *s, int64_t first, word *room) {
    const int64_t n = s->length, parts = n < PARTS * PART ? 1 : PARTS;
    uint32_t end[PARTS][1 << DIGIT];
    row r = {.end = end, .s = s, .x = s->in[0] + first * s->order.size, .first = first, .a = room, .b = room + n};
    r.part = (n + parts - 1) / parts;
    r.at_bits = bits_of((uint64_t)n - 1);
    fast_ranges(parts, 1, bounds_range, &r);
    uint64_t most = r.bounds[0][1];
    r.least = r.bounds[0][0];
    for (int64_t k = 1; k < parts; k++) {
        r.least = r.bounds[k][0] < r.least ? r.bounds[k][0] : r.least;
        most = r.bounds[k][1] > most ? r.bounds[k][1] : most;
    }
    const int bits = bits_of(most - r.least);
    r.dropped = (int)loop_max(0, bits + r.at_bits - WORD_BITS);
    if (n <= LEAF) { /* nothing to spread */
        end[0][0] = (uint32_t)n;
        words_at(&r, 0, n, r.b);
        digits_range(&r, 0, 1);
        return;
    }
    r.digit = (int)loop_min(digit_bits(n), bits - r.dropped);
    r.shift = bits - r.dropped + r.at_bits - r.digit;
    fast_ranges(parts, 1, count_range, &r);
    uint32_t sum = 0;
    for (int64_t d = 0; d < 1 << r.digit; d++)
        for (int64_t k = 0; k < parts; k++) {
            const uint32_t here = r.end[k][d];
            r.end[k][d] = sum;
            sum += here;
        }
    fast_ranges(parts, 1, spread_range, &r);
    fast_ranges((int64_t)1 << r.digit, parts > 1 ? 1 : 1 << r.digit, digits_range, &r);
}

static void rows_range(void *context, int64_t from, int64_t to) {
    const sorter *s = context;
    const bool kept = s->length <= MOST_KEPT;
    const size_t bytes = sizeof(word) * 2 * (size_t)s->length;
    word *room = kept ? eng_scratch_need(FAST_SCRATCH, bytes) : tt_malloc(bytes);
    for (int64_t r = from; r < to; r++)
        sort_row(s, r * s->length, room);
    if (!kept)
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

/* [outer, length, inner] -> [outer, inner, length], or back. */
static void turn(int64_t outer, int64_t length, int64_t inner, int size, char *turned, const char *x, bool back) {
    const int64_t dims[] = {outer, inner, length}, rows[] = {inner * length * size, length * size, size}, columns[] = {length * inner * size, size, inner * size};
    if (back)
        fast_copy(3, dims, size, (char *)(uintptr_t)x, columns, turned, rows);
    else
        fast_copy(3, dims, size, turned, rows, x, columns);
}

tt_status eng_fast_sort(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    const int rank = in->type.rank, n = (int)node->n_operands;
    int dim = (int)hlo_attr_int(node, HLO_A_DIMENSION, -1), size[HLO_MAX_RANK], iota_size[HLO_MAX_RANK];
    const char *from[HLO_MAX_RANK];
    char *to[HLO_MAX_RANK], *rooms = NULL;
    bool descending;
    (void)run;
    dim += dim < 0 ? rank : 0;
    if (dim < 0 || dim >= rank || node->n_regions != 1 || n > HLO_MAX_RANK || !key_dtype(in->type.dtype) ||
        !recognised(g, node->regions[0], in->type.dtype, &descending))
        return eng_not_mine;
    const int64_t total = hlo_type_elements(&in->type), length = in->type.dims[dim];
    int64_t inner = 1, bytes = 0;
    for (int d = dim + 1; d < rank; d++)
        inner *= in->type.dims[d];
    if (length > INT32_MAX)
        return eng_not_mine;
    if (!total)
        return TT_OK;
    sorter s = {order_make(in->type.dtype, descending, false), n, from, to, size, iota_size, length};
    for (int k = 0; k < n; k++) {
        const hlo_node *made = hlo_node_at(g, node->operands[k]);
        const bool iota = k && made->op == HLO_IOTA && hlo_attr_int(made, HLO_A_IOTA_DIMENSION, -1) == dim &&
                          (in[k].type.dtype == TT_I32 || in[k].type.dtype == TT_I64);
        from[k] = in[k].data;
        to[k] = out[k].data;
        iota_size[k] = tt_dtype_size(in[k].type.dtype);
        size[k] = iota ? 0 : iota_size[k];
        bytes += total * (size[k] + iota_size[k]);
    }
    if (inner > 1) { /* rows side by side are sorted one after the other */
        char *room = rooms = tt_malloc((size_t)bytes);
        for (int k = 0; k < n; k++) {
            to[k] = room;
            room += total * iota_size[k];
            if (!size[k])
                continue;
            turn(total / length / inner, length, inner, size[k], room, from[k], false);
            from[k] = room;
            room += total * size[k];
        }
    }
    fast_ranges(total / length, loop_max(1, (1 << 14) / length), rows_range, &s);
    for (int k = 0; k < n && rooms; k++)
        turn(total / length / inner, length, inner, iota_size[k], to[k], out[k].data, true);
    free(rooms);
    return TT_OK;
}

/* ---- top_k ---- */

typedef struct top { order order; const eng_tensor *in; eng_tensor *out; int64_t length, k; int at_bits; } top;
enum { TOP_BLOCK = 32 };

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

/* Words of the k best, sorted, in a list that is cut when full; after that only what is before the k-th may enter, which most blocks
 * have nothing of. */
static void select_best(const top *t, const row *r, word *list, word *other, int64_t full) {
    const word mask = ((word)1 << r->at_bits) - 1;
    word limit = INT64_MAX, words[TOP_BLOCK];
    int64_t n = 0;
    for (int64_t at = 0; at < t->length; at += TOP_BLOCK) {
        const int64_t m = loop_min(TOP_BLOCK, t->length - at);
        const char *x = r->x + at * t->order.size;
        if (limit != INT64_MAX && !may_enter(t, x, r->x + (limit & mask) * t->order.size, m))
            continue;
        words_at(r, at, m, words);
        for (int64_t i = 0; i < m; i++) {
            list[n] = words[i];
            n += words[i] < limit;
        }
        if (n <= full)
            continue;
        sort_words(list, other, n, r->at_bits, false);
        n = t->k;
        limit = list[n - 1];
    }
    sort_words(list, other, n, r->at_bits, false);
}

/* Keys of 64 bits may not fit into words; then the row is sorted whole. */
static bool row_fits(const top *t, row *r) {
    if (t->order.size < 8)
        return true;
    r->part = t->length;
    bounds_range(r, 0, 1);
    r->least = r->bounds[0][0];
    return bits_of(r->bounds[0][1] - r->least) + r->at_bits <= WORD_BITS;
}

static void top_of_sorted(const top *t, const char *x, char *values, int32_t *places) {
    const int64_t n = t->length, size = t->order.size;
    char *sorted = tt_malloc((size_t)(n * (size + 4 + 2 * (int64_t)sizeof(word))));
    int32_t *at = (int32_t *)(void *)(sorted + n * (size + 2 * (int64_t)sizeof(word)));
    const char *in[] = {x, NULL};
    char *out[] = {sorted + 2 * n * (int64_t)sizeof(word), (char *)at};
    const int sizes[] = {(int)size, 0}, iota_sizes[] = {(int)size, 4};
    const sorter s = {t->order, 2, in, out, sizes, iota_sizes, n};
    sort_row(&s, 0, (word *)(void *)sorted);
    memcpy(values, out[0], (size_t)(t->k * size));
    memcpy(places, at, (size_t)t->k * sizeof *at);
    free(sorted);
}

static FAST_CLONES int64_t first_equal(const float *x, float value, int64_t n) {
    int64_t at = 0;
    for (; at + 64 <= n; at += 64) {
        int hits = 0;
        for (int64_t i = 0; i < 64; i++)
            hits |= x[at + i] == value;
        if (hits)
            break;
    }
    while (at < n && x[at] != value)
        at++;
    return at;
}

/* The best of a row of f32; false: it is a NaN, or a zero, of which there are two kinds. */
static bool best_of(const top *t, const char *x, char *value, int32_t *place) {
    float best;
    if (t->k != 1 || t->order.dtype != TT_F32)
        return false;
    loop_find(HLO_MAXIMUM + LOOP_ROW, TT_F32, TT_F32, 0)(&best, x, NULL, NULL, t->length);
    if (best != best || best == 0)
        return false;
    memcpy(value, &best, sizeof best);
    *place = (int32_t)first_equal((const float *)(const void *)x, best, t->length);
    return true;
}

static void top_range(void *context, int64_t from, int64_t to) {
    const top *t = context;
    const int64_t size = t->order.size, full = loop_max(2 * t->k, TOP_BLOCK);
    const sorter s = {.order = t->order, .length = t->length};
    word *list = tt_malloc(sizeof *list * 2 * (size_t)(full + TOP_BLOCK)), *other = list + full + TOP_BLOCK;
    for (int64_t r = from; r < to; r++) {
        char *values = (char *)t->out->data + r * t->k * size;
        int32_t *at = (int32_t *)t->out[1].data + r * t->k;
        row here = {.s = &s, .x = (const char *)t->in->data + r * t->length * size, .at_bits = t->at_bits};
        if (best_of(t, here.x, values, at))
            continue;
        if (!row_fits(t, &here)) {
            top_of_sorted(t, here.x, values, at);
            continue;
        }
        select_best(t, &here, list, other, full);
        const word mask = ((word)1 << here.at_bits) - 1;
        pick(here.x, (int)size, list, mask, t->k, values);
        places(list, mask, 4, t->k, (char *)at);
    }
    free(list);
}

tt_status eng_fast_top_k(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    int rank = in->type.rank;
    top t = {.order = order_make(in->type.dtype, true, true), .in = in, .out = out, .k = hlo_attr_int(node, HLO_A_K, -1)};
    (void)run, (void)g;
    t.length = rank ? in->type.dims[rank - 1] : 0;
    if (!key_dtype(t.order.dtype) || !rank || t.k < 0 || t.k > t.length || t.length > INT32_MAX || out->type.dims[rank - 1] != t.k ||
        out[1].type.dtype != TT_I32)
        return eng_not_mine;
    t.at_bits = bits_of((uint64_t)t.length - 1);
    if (t.k && hlo_type_elements(&in->type))
        fast_ranges(hlo_type_elements(&in->type) / t.length, loop_max(1, (1 << 15) / t.length), top_range, &t);
    return TT_OK;
}
