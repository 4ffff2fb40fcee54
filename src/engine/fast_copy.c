/* fast_copy.c - strided copies, the one routine under all data movement.
 *
 * Dims of size 1 go, dims that are walked as one are merged, and the rest are ordered by how the destination lies. Then the innermost
 * piece is a memcpy, a fill, a strided walk, or, where source and destination are contiguous along different dims, blocks of a
 * transposition. Knows nothing of nodes. */
#include "engine/fast.h"
#include "engine/kernels.h"
#include <string.h>

enum { BLOCK = 32, GRAIN_BYTES = 1 << 18, MOST_REPEATED = 16, MOST_COLUMNS = 6 };

/* How the innermost pieces go. */
typedef enum copy_kind { PIECES, REPEAT, TURN, WEAVE, UNWEAVE, SMALL_ROWS, COLUMNS } copy_kind;

typedef struct copy {
    copy_kind kind;
    int rank, size;              /* dims outside the innermost one or two */
    int64_t dims[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    int64_t n, to_step, from_step;       /* innermost */
    int64_t m, m_to, m_from;             /* TURN, UNWEAVE: the dim along which the source is contiguous; REPEAT: the dim outside of the
                                            innermost one, whose elements are repeated n times; else 1 */
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

static inline void walk(char *dst, int64_t to, const char *src, int64_t from, int size, int64_t n) {
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

static FAST_CLONES void fill_elements(void *dst, const void *element, int size, int64_t n) {
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

void fast_fill(void *dst, const void *element, int size, int64_t n) {
    const unsigned char *e = element;
    bool same = true;
    for (int i = 1; i < size; i++)
        same &= e[i] == e[0];
    if (same)
        memset(dst, e[0], (size_t)(n * size));
    else
        fill_elements(dst, element, size, n);
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

/* An element may be a pair or a row of smaller ones, and lie as those do. */
typedef uint16_t any16 __attribute__((aligned(1), may_alias));
typedef uint32_t any32 __attribute__((aligned(1), may_alias));
typedef uint64_t any64 __attribute__((aligned(1), may_alias));

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
        REPEATED(2, any16)
        REPEATED(4, any32)
        REPEATED(8, any64)
    }
}

/* dst[i * n + k] = src[i * size + k * from]: few arrays become one of their elements in turn; and back: dst[i * size + k * to] = src[i * n + k]. */
#define WOVEN(T, n)                                                           \
    case sizeof(T) * 16 + n:                                                  \
        for (int64_t i = 0; i < rows; i++)                                    \
            for (int k = 0; k < n; k++)                                       \
                ((T *)(void *)dst)[i * n + k] = ((const T *)(const void *)(src + k * from))[i]; \
        return;
#define UNWOVEN(T, n)                                                         \
    case sizeof(T) * 16 + n:                                                  \
        for (int64_t i = 0; i < rows; i++)                                    \
            for (int k = 0; k < n; k++)                                       \
                ((T *)(void *)(dst + k * to))[i] = ((const T *)(const void *)src)[i * n + k]; \
        return;
#define EACH_WEAVE(X)                                                         \
    X(uint8_t, 2) X(uint8_t, 3) X(uint8_t, 4) X(any16, 2) X(any16, 3) X(any16, 4) X(any32, 2) X(any32, 3) X(any32, 4) \
    X(any64, 2) X(any64, 3) X(any64, 4)
enum { MOST_WOVEN = 4 };

static FAST_CLONES void woven(char *restrict dst, const char *restrict src, int64_t from, int size, int64_t n, int64_t rows) {
    switch (size * 16 + n) {
        EACH_WEAVE(WOVEN)
    }
}

static FAST_CLONES void unwoven(char *restrict dst, int64_t to, const char *restrict src, int size, int64_t n, int64_t rows) {
    switch (size * 16 + n) {
        EACH_WEAVE(UNWOVEN)
    }
}

/* Rows of few bytes: two words that may overlap, or four, or lines of 64, instead of a call each; those to come are asked for. */
#define OVERLAPPING(T, most)                                                  \
    if (bytes <= most) {                                                      \
        for (; rows > 0; rows--, dst += to, src += from) {                    \
            T a, b;                                                           \
            memcpy(&a, src, sizeof a);                                        \
            memcpy(&b, src + bytes - sizeof b, sizeof b);                     \
            memcpy(dst, &a, sizeof a);                                        \
            memcpy(dst + bytes - sizeof b, &b, sizeof b);                     \
        }                                                                     \
        return;                                                               \
    }

typedef struct bytes16 { uint64_t a, b; } bytes16;
typedef struct bytes32 { bytes16 a, b; } bytes32;

enum { AHEAD = 8, SMALL = 512 };

static FAST_CLONES void small_rows(char *restrict dst, int64_t to, const char *restrict src, int64_t from, int64_t bytes, int64_t rows) {
    if (bytes > 64) {
        for (; rows > 0; rows--, dst += to, src += from) {
            for (int64_t at = 0; rows > AHEAD && at < bytes; at += 64)
                __builtin_prefetch(src + AHEAD * from + at);
            for (int64_t at = 0; at < bytes - 64; at += 64)
                memcpy(dst + at, src + at, 64);
            memcpy(dst + bytes - 64, src + bytes - 64, 64);
        }
        return;
    }
    if (bytes >= 2) {
        OVERLAPPING(uint16_t, 4)
        OVERLAPPING(uint32_t, 8)
        OVERLAPPING(uint64_t, 16)
        OVERLAPPING(bytes16, 32)
        OVERLAPPING(bytes32, 64)
    }
    for (; rows > 0; rows--, dst += to, src += from)
        memcpy(dst, src, (size_t)bytes);
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
typedef uint32_t v4_any __attribute__((vector_size(16), aligned(1), may_alias)); /* elements may be pairs of smaller ones */
typedef uint16_t v8_any __attribute__((vector_size(16), aligned(1), may_alias));

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

typedef uint64_t v2 __attribute__((vector_size(16)));
typedef uint64_t v2_any __attribute__((vector_size(16), aligned(1), may_alias));

static inline void turn2(char *dst, int64_t to, const char *src, int64_t from) {
    v2 a = *(const v2_any *)src, b = *(const v2_any *)(src + from);
    *(v2_any *)dst = __builtin_shuffle(a, b, (v2){0, 2});
    *(v2_any *)(dst + to) = __builtin_shuffle(a, b, (v2){1, 3});
}

static void turn_block(char *dst, int64_t to, const char *src, int64_t from, int size, int64_t n, int64_t m) {
    int64_t step = size == 8 ? 2 : size == 4 ? 4 : size == 2 ? 8 : 1, n_whole = 0, m_whole = 0;
    if (size <= 8 && size >= 2 && n == BLOCK && m % 16 == 0 && to % size == 0 && from % size == 0) {
        eng_kernels_get()->transpose(size, dst, to / size, src, from / size, n, m);
        return;
    }
    if (step > 1) {
        n_whole = n / step * step;
        m_whole = m / step * step;
        for (int64_t j = 0; j < m_whole; j += step)
            for (int64_t i = 0; i < n_whole; i += step) {
                if (size == 8)
                    turn2(dst + i * size + j * to, to, src + i * from + j * size, from);
                else if (size == 4)
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

/* Few elements in a row: down the rows, element by element of each, while they are near. */
static void columns(const copy *c, char *dst, int64_t to, const char *src, int64_t from, int64_t rows) {
    enum { NEAR = 64 };
    for (int64_t r = 0; r < rows; r += NEAR)
        for (int64_t k = 0; k < c->n; k++)
            walk(dst + r * to + k * c->to_step, to, src + r * from + k * c->from_step, from, c->size, loop_min(NEAR, rows - r));
}

/* Pieces along the dim outside of the innermost one. */
static void run_pieces(const copy *c, char *dst, int64_t to, const char *src, int64_t from, int64_t rows) {
    if (c->kind == WEAVE) {
        woven(dst, src, c->from_step, c->size, c->n, rows);
    } else if (c->kind == SMALL_ROWS) {
        small_rows(dst, to, src, from, c->n * c->size, rows);
    } else if (c->kind == COLUMNS) {
        columns(c, dst, to, src, from, rows);
    } else {
        for (; rows > 0; rows--, dst += to, src += from) {
            if (c->kind == REPEAT)
                repeated(dst, src, c->m_from, c->size, c->m, c->n);
            else if (c->kind == UNWEAVE)
                unwoven(dst, c->m_to, src, c->size, c->m, c->n);
            else
                run_piece(dst, c->to_step, src, c->from_step, c->size, c->n);
        }
    }
}

static void rows_range(void *context, int64_t from, int64_t to) {
    const copy *c = context;
    int64_t index[HLO_MAX_RANK], dst_at, src_at = range_start(c, from, index, &dst_at);
    char *dst = c->dst + dst_at;
    const char *src = c->src + src_at;
    const int last = c->rank - 1;
    for (int64_t i = from; i < to;) {
        const int64_t rows = c->rank ? loop_min(to - i, c->dims[last] - index[last]) : 1;
        run_pieces(c, dst, c->rank ? c->to[last] : 0, src, c->rank ? c->from[last] : 0, rows);
        i += rows;
        if (!c->rank)
            continue;
        src += c->from[last] * (rows - 1);
        dst += c->to[last] * (rows - 1);
        index[last] += rows - 1;
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

static void drop_dim(copy *c, int dim) {
    c->rank--;
    for (int d = dim; d < c->rank; d++) {
        c->dims[d] = c->dims[d + 1];
        c->to[d] = c->to[d + 1];
        c->from[d] = c->from[d + 1];
    }
}

/* Chooses how the innermost pieces go; c's dims are normalised, the innermost one is taken out. */
static void choose_kind(copy *c) {
    const int size = c->size, last = c->rank - 1;
    const bool divides = (size & (size - 1)) == 0 && size <= 8, aligned = divides && c->from_step % size == 0;
    int turned = -1;
    for (int d = 0; d < c->rank; d++)
        if (c->from[d] == size && c->to_step == size && c->from_step != size && c->from_step != 0)
            turned = d;
    if (turned == last && turned >= 0 && c->n >= 2 && c->n <= MOST_WOVEN && aligned && c->to[last] == c->n * size) {
        c->kind = WEAVE;
    } else if (turned >= 0 && c->dims[turned] >= 2 && c->dims[turned] <= MOST_WOVEN && c->from_step == c->dims[turned] * size && divides &&
               c->to[turned] % size == 0 && c->n >= 16) {
        c->kind = UNWEAVE;
        c->m = c->dims[turned];
        c->m_to = c->to[turned];
        drop_dim(c, turned);
    } else if (turned >= 0 && c->dims[turned] >= 4 && c->n >= 4) {
        c->kind = TURN;
        c->m = c->dims[turned];
        c->m_to = c->to[turned];
        drop_dim(c, turned);
    } else if (last >= 0 && c->from_step == 0 && c->to_step == size && c->n <= MOST_REPEATED && c->to[last] == c->n * size && divides &&
               c->from[last] % size == 0) {
        c->kind = REPEAT;
        c->m = c->dims[last];
        c->m_from = c->from[last];
        c->rank--;
    } else if (last >= 0 && c->from_step == size && c->to_step == size && c->n * size <= SMALL) {
        c->kind = SMALL_ROWS;
    } else if (last >= 0 && c->n <= MOST_COLUMNS && c->dims[last] > c->n) {
        c->kind = COLUMNS;
    }
}

void fast_copy(int rank, const int64_t *dims, int size, void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides) {
    copy c = {.size = size, .dst = dst, .src = src, .n = 1, .m = 1};
    int64_t total = size;
    for (int d = 0; d < rank; d++)
        total *= dims[d];
    if (!total)
        return;
    c.rank = normalise(rank, dims, dst_strides, src_strides, &c);
    c.to_step = c.from_step = size;
    if (c.rank) {
        c.rank--;
        c.n = c.dims[c.rank];
        c.to_step = c.to[c.rank];
        c.from_step = c.from[c.rank];
    }
    choose_kind(&c);
    int64_t items = 1;
    for (int d = 0; d < c.rank; d++)
        items *= c.dims[d];
    if (c.kind == TURN) {
        int64_t blocks = items * ((c.m + BLOCK - 1) / BLOCK);
        fast_ranges(blocks, GRAIN_BYTES / loop_max(1, total / blocks), turns_range, &c);
        return;
    }
    if (items == 1 && total >= 4 * GRAIN_BYTES && c.kind != UNWEAVE) { /* one long piece: cut it */
        int64_t parts = 1;
        int64_t *cut = c.kind == REPEAT ? &c.m : &c.n;
        while (parts < 32 && *cut % (2 * parts) == 0)
            parts *= 2;
        c.rank = 1;
        c.dims[0] = items = parts;
        *cut /= parts;
        c.to[0] = c.n * c.m * c.to_step;
        c.from[0] = c.kind == REPEAT ? c.m * c.m_from : c.n * c.from_step;
    }
    fast_ranges(items, GRAIN_BYTES / loop_max(1, total / items), rows_range, &c);
}
