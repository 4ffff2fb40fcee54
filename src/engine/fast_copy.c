/* fast_copy.c - strided copies, the one routine under all data movement.
 *
 * Dims of size 1 go, dims that are walked as one are merged, and the rest are ordered by how the destination lies. Then the innermost
 * piece is a memcpy, a fill, a strided walk, or, where source and destination are contiguous along different dims, blocks of a
 * transposition. Knows nothing of nodes. */
#include "engine/fast.h"
#include "engine/kernels.h"
#include <string.h>

enum { BLOCK = 32, GRAIN_BYTES = 1 << 18, MOST_REPEATED = 16 };

typedef struct copy {
    int rank, size;              /* dims outside the innermost one or two */
    int64_t dims[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    int64_t n, to_step, from_step;       /* innermost */
    int64_t m, m_to, m_from;             /* transposition: the dim along which the source is contiguous; else the dim outside of the
                                            innermost one, whose elements are repeated n times; 1: neither */
    char *dst;
    const char *src;
} copy;

/* ---- innermost pieces ---- */

#define WALK(bytes, T)                                                        \
    case bytes:                                                               \
        for (int64_t i = 0; i < n; i++) {                                     \
            T v;                                                              \
            memcpy(&v, src + i * from, bytes);                                \
            memcpy(dst + i * to, &v, bytes);                                  \
        }                                                                     \
        return;

static void walk(char *dst, int64_t to, const char *src, int64_t from, int size, int64_t n) {
    switch (size) {
        WALK(1, uint8_t)
        WALK(2, uint16_t)
        WALK(4, uint32_t)
        WALK(8, uint64_t)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * to, src + i * from, (size_t)size);
    }
}

#define FILL(bytes, T)                                                        \
    case bytes: {                                                             \
        T v, *p = dst;                                                        \
        memcpy(&v, element, bytes);                                           \
        for (int64_t i = 0; i < n; i++)                                       \
            p[i] = v;                                                         \
        return;                                                               \
    }

__attribute__((optimize("O3"))) void fast_fill(void *dst, const void *element, int size, int64_t n) {
    switch (size) {
        FILL(1, uint8_t)
        FILL(2, uint16_t)
        FILL(4, uint32_t)
        FILL(8, uint64_t)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)dst + i * size, element, (size_t)size);
    }
}

typedef struct fill { char *dst; const void *element; int size; } fill;

static void fill_range(void *context, int64_t from, int64_t to) {
    const fill *f = context;
    fast_fill(f->dst + from * f->size, f->element, f->size, to - from);
}

void fast_fill_shared(void *dst, const void *element, int size, int64_t n) {
    fill f = {dst, element, size};
    fast_ranges(n, GRAIN_BYTES / size, fill_range, &f);
}

#define REVERSED(bytes, T)                                                    \
    case bytes: {                                                             \
        T *to = (T *)(void *)dst;                                             \
        const T *from = (const T *)(const void *)src;                         \
        for (int64_t i = 0; i < n; i++)                                       \
            to[i] = from[-i];                                                 \
        return;                                                               \
    }

/* dst[i] = src[-i] */
static FAST_CLONES void reversed(char *dst, const char *src, int size, int64_t n) {
    switch (size) {
        REVERSED(1, uint8_t)
        REVERSED(2, uint16_t)
        REVERSED(4, uint32_t)
        REVERSED(8, uint64_t)
    default:
        walk(dst, size, src, -size, size, n);
    }
}

#define REPEATED(bytes, T)                                                    \
    case bytes: {                                                             \
        T *to = (T *)(void *)dst;                                             \
        const T *x = (const T *)(const void *)src;                            \
        if (from == bytes && n == 2)                                          \
            for (int64_t i = 0; i < m; i++)                                   \
                to[2 * i] = to[2 * i + 1] = x[i];                             \
        else if (from == bytes && n == 4)                                     \
            for (int64_t i = 0; i < m; i++)                                   \
                to[4 * i] = to[4 * i + 1] = to[4 * i + 2] = to[4 * i + 3] = x[i]; \
        else                                                                  \
            for (int64_t i = 0; i < m; i++, x += from / bytes)                \
                for (int64_t k = 0; k < n; k++)                               \
                    *to++ = *x;                                               \
        return;                                                               \
    }

/* m elements of src, n times each: few times, or fills would be as good. */
static FAST_CLONES void repeated(char *dst, const char *src, int64_t from, int size, int64_t m, int64_t n) {
    switch (size) {
        REPEATED(1, uint8_t)
        REPEATED(2, uint16_t)
        REPEATED(4, uint32_t)
        REPEATED(8, uint64_t)
    }
}

static void run_piece(char *dst, int64_t to, const char *src, int64_t from, int size, int64_t n) {
    if (to == size && from == size)
        memcpy(dst, src, (size_t)(n * size));
    else if (to == size && from == 0)
        fast_fill(dst, src, size, n);
    else if (to == size && from == -size && n >= 16)
        reversed(dst, src, size, n);
    else
        walk(dst, to, src, from, size, n);
}

/* ---- transposition: dst[i * size + j * to] = src[i * from + j * size] for i < n, j < m ---- */

typedef uint32_t v4 __attribute__((vector_size(16)));
typedef uint16_t v8 __attribute__((vector_size(16)));
typedef uint32_t v4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint16_t v8_any __attribute__((vector_size(16), aligned(2), may_alias));

static inline void turn4(char *dst, int64_t to, const char *src, int64_t from) {
    v4 a = *(const v4_any *)src, b = *(const v4_any *)(src + from), c = *(const v4_any *)(src + 2 * from), d = *(const v4_any *)(src + 3 * from);
    v4 ab0 = __builtin_shuffle(a, b, (v4){0, 4, 1, 5}), ab1 = __builtin_shuffle(a, b, (v4){2, 6, 3, 7});
    v4 cd0 = __builtin_shuffle(c, d, (v4){0, 4, 1, 5}), cd1 = __builtin_shuffle(c, d, (v4){2, 6, 3, 7});
    *(v4_any *)dst = __builtin_shuffle(ab0, cd0, (v4){0, 1, 4, 5});
    *(v4_any *)(dst + to) = __builtin_shuffle(ab0, cd0, (v4){2, 3, 6, 7});
    *(v4_any *)(dst + 2 * to) = __builtin_shuffle(ab1, cd1, (v4){0, 1, 4, 5});
    *(v4_any *)(dst + 3 * to) = __builtin_shuffle(ab1, cd1, (v4){2, 3, 6, 7});
}

static inline void turn8(char *dst, int64_t to, const char *src, int64_t from) {
    v8 r[8], s[8];
    const v8 low = {0, 8, 1, 9, 2, 10, 3, 11}, high = {4, 12, 5, 13, 6, 14, 7, 15};
    for (int i = 0; i < 8; i++)
        r[i] = *(const v8_any *)(src + i * from);
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 4; i++) {
            s[2 * i] = __builtin_shuffle(r[i], r[i + 4], low);
            s[2 * i + 1] = __builtin_shuffle(r[i], r[i + 4], high);
        }
        memcpy(r, s, sizeof r);
    }
    for (int i = 0; i < 8; i++)
        *(v8_any *)(dst + i * to) = r[i];
}

static void turn_block(char *dst, int64_t to, const char *src, int64_t from, int size, int64_t n, int64_t m) {
    int64_t step = size == 4 ? 4 : size == 2 ? 8 : 1, n_whole = 0, m_whole = 0;
    if (size <= 4 && size >= 2 && n == BLOCK && m % 16 == 0 && to % size == 0 && from % size == 0) {
        eng_kernels_get()->transpose(size, dst, to / size, src, from / size, n, m);
        return;
    }
    if (step > 1) {
        n_whole = n / step * step;
        m_whole = m / step * step;
        for (int64_t j = 0; j < m_whole; j += step)
            for (int64_t i = 0; i < n_whole; i += step) {
                if (size == 4)
                    turn4(dst + i * size + j * to, to, src + i * from + j * size, from);
                else
                    turn8(dst + i * size + j * to, to, src + i * from + j * size, from);
            }
        for (int64_t j = 0; j < m_whole; j++) /* right edge */
            walk(dst + j * to + n_whole * size, size, src + j * size + n_whole * from, from, size, n - n_whole);
    }
    for (int64_t j = m_whole; j < m; j++)
        walk(dst + j * to, size, src + j * size, from, size, n);
}

/* ---- the nest ---- */

static int64_t range_start(const copy *c, int64_t at, int64_t *index, int64_t *out_to) {
    int64_t from = 0;
    *out_to = 0;
    for (int d = c->rank - 1; d >= 0; d--) {
        index[d] = at % c->dims[d];
        at /= c->dims[d];
        from += index[d] * c->from[d];
        *out_to += index[d] * c->to[d];
    }
    return from;
}

static void step(const copy *c, int64_t *index, const char **src, char **dst) {
    for (int d = c->rank - 1; d >= 0; d--) {
        *src += c->from[d];
        *dst += c->to[d];
        if (++index[d] < c->dims[d])
            return;
        *src -= c->from[d] * c->dims[d];
        *dst -= c->to[d] * c->dims[d];
        index[d] = 0;
    }
}

static void rows_range(void *context, int64_t from, int64_t to) {
    const copy *c = context;
    int64_t index[HLO_MAX_RANK], dst_at, src_at = range_start(c, from, index, &dst_at);
    char *dst = c->dst + dst_at;
    const char *src = c->src + src_at;
    for (int64_t i = from; i < to; i++) {
        if (c->m > 1)
            repeated(dst, src, c->m_from, c->size, c->m, c->n);
        else
            run_piece(dst, c->to_step, src, c->from_step, c->size, c->n);
        step(c, index, &src, &dst);
    }
}

/* The dim that the source is contiguous along is cut in blocks; each block walks the other dim in blocks too. */
static void turns_range(void *context, int64_t from, int64_t to) {
    const copy *c = context;
    int64_t blocks = (c->m + BLOCK - 1) / BLOCK, index[HLO_MAX_RANK], dst_at;
    for (int64_t t = from; t < to; t++) {
        int64_t j = t % blocks * BLOCK, m = loop_min(BLOCK, c->m - j);
        int64_t src_at = range_start(c, t / blocks, index, &dst_at);
        char *dst = c->dst + dst_at + j * c->m_to;
        const char *src = c->src + src_at + j * c->size;
        for (int64_t i = 0; i < c->n; i += BLOCK)
            turn_block(dst + i * c->size, c->m_to, src + i * c->from_step, c->from_step, c->size, loop_min(BLOCK, c->n - i), m);
    }
}

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* Dims of size 1 dropped, by falling destination stride, merged. Returns the rank left. */
static int normalise(int rank, const int64_t *dims, const int64_t *to, const int64_t *from, copy *c) {
    int n = 0;
    for (int d = 0; d < rank; d++) {
        if (dims[d] == 1)
            continue;
        int at = n++;
        for (; at > 0 && magnitude(c->to[at - 1]) < magnitude(to[d]); at--) {
            c->dims[at] = c->dims[at - 1];
            c->to[at] = c->to[at - 1];
            c->from[at] = c->from[at - 1];
        }
        c->dims[at] = dims[d];
        c->to[at] = to[d];
        c->from[at] = from[d];
    }
    int m = 0;
    for (int d = 1; d < n; d++) {
        if (c->to[m] == c->to[d] * c->dims[d] && c->from[m] == c->from[d] * c->dims[d]) {
            c->dims[m] *= c->dims[d];
        } else {
            m++;
            c->dims[m] = c->dims[d];
        }
        c->to[m] = c->to[d];
        c->from[m] = c->from[d];
    }
    return n ? m + 1 : 0;
}

void fast_copy(int rank, const int64_t *dims, int size, void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides) {
    copy c = {.size = size, .dst = dst, .src = src, .n = 1, .m = 1};
    int64_t total = size;
    for (int d = 0; d < rank; d++)
        total *= dims[d];
    if (!total)
        return;
    int n = normalise(rank, dims, dst_strides, src_strides, &c), turned = -1;
    c.to_step = c.from_step = size;
    if (n) {
        c.n = c.dims[n - 1];
        c.to_step = c.to[n - 1];
        c.from_step = c.from[n - 1];
        for (int d = 0; d < n - 1; d++)
            if (c.from[d] == size && c.to_step == size && c.from_step != size && c.from_step != 0 && c.dims[d] >= 4 && c.n >= 4)
                turned = d;
        n--;
    }
    c.rank = n;
    const bool divides = (size & (size - 1)) == 0 && size <= 8;
    if (n && turned < 0 && c.from_step == 0 && c.to_step == size && c.n <= MOST_REPEATED && c.to[n - 1] == c.n * size && divides &&
        c.from[n - 1] % size == 0) {
        c.m = c.dims[n - 1];
        c.m_from = c.from[n - 1];
        c.rank = n - 1;
    }
    if (turned >= 0) {
        c.m = c.dims[turned];
        c.m_to = c.to[turned];
        for (int d = turned; d < n - 1; d++) {
            c.dims[d] = c.dims[d + 1];
            c.to[d] = c.to[d + 1];
            c.from[d] = c.from[d + 1];
        }
        c.rank = n - 1;
    }
    int64_t items = 1;
    for (int d = 0; d < c.rank; d++)
        items *= c.dims[d];
    if (turned >= 0) {
        int64_t blocks = items * ((c.m + BLOCK - 1) / BLOCK);
        fast_ranges(blocks, GRAIN_BYTES / loop_max(1, total / blocks), turns_range, &c);
        return;
    }
    if (items == 1 && total >= 4 * GRAIN_BYTES) { /* one long piece: cut it */
        int64_t parts = 1;
        int64_t *cut = c.m > 1 ? &c.m : &c.n;
        while (parts < 32 && *cut % (2 * parts) == 0)
            parts *= 2;
        c.rank = 1;
        c.dims[0] = items = parts;
        *cut /= parts;
        c.to[0] = c.n * c.m * c.to_step;
        c.from[0] = c.m > 1 ? c.m * c.m_from : c.n * c.from_step;
    }
    fast_ranges(items, GRAIN_BYTES / loop_max(1, total / items), rows_range, &c);
}
