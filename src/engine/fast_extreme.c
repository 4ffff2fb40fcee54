/* fast_extreme.c - running extremes along a dim and where they were: one pass over values and places together.
 * Part of composite.c; knows no graph. The last of equal elements counts, and a NaN over everything before it. */
#include "engine/composite.h"
#include "engine/fast.h"

enum { COLUMNS = 128 };

typedef struct extreme {
    int64_t outer, n, inner, blocks;
    tt_dtype dtype;
    bool least;
    const void *x;
    void *y;
    int64_t *index;
} extreme;

/* Rows whose elements are neighbours: a new extreme is rare, so the branch is foreseen. Columns: a vector of them at a time. */
#define RUNNING(name, T, TAKE)                                                                                       \
    static void row_##name(const T *x, int64_t n, T *y, int64_t *index) {                                            \
        T best = x[0];                                                                                               \
        int64_t at = 0;                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                            \
            const T v = x[i];                                                                                        \
            if (__builtin_expect(TAKE(v, best), 0)) {                                                                \
                best = v;                                                                                            \
                at = i;                                                                                              \
            }                                                                                                        \
            y[i] = best;                                                                                             \
            index[i] = at;                                                                                           \
        }                                                                                                            \
    }                                                                                                                \
    static FAST_CLONES void columns_##name(const T *x, int64_t n, int64_t step, int64_t width, T *y, int64_t *index) { \
        T best[COLUMNS];                                                                                             \
        int32_t at[COLUMNS];                                                                                         \
        for (int64_t c = 0; c < width; c++) {                                                                        \
            best[c] = x[c];                                                                                          \
            at[c] = 0;                                                                                               \
        }                                                                                                            \
        for (int64_t i = 0; i < n; i++, x += step, y += step, index += step) {                                       \
            for (int64_t c = 0; c < width; c++) {                                                                    \
                const T v = x[c];                                                                                    \
                const int take = TAKE(v, best[c]);                                                                   \
                best[c] = take ? v : best[c];                                                                        \
                at[c] = take ? (int32_t)i : at[c];                                                                   \
                y[c] = best[c];                                                                                      \
            }                                                                                                        \
            for (int64_t c = 0; c < width; c++)                                                                      \
                index[c] = at[c];                                                                                    \
        }                                                                                                            \
    }
#define MOST(v, best)  (((v) >= (best)) | ((v) != (v)))
#define LEAST(v, best) (((v) <= (best)) | ((v) != (v)))
#define EACH(X) X(F32, float) X(F64, double) X(I32, int32_t) X(I64, int64_t)
#define BOTH(type, T) RUNNING(most_##type, T, MOST) RUNNING(least_##type, T, LEAST)
EACH(BOTH)

#define RUN(name, T)                                                                                                 \
    do {                                                                                                             \
        const T *x = (const T *)e->x + at;                                                                           \
        T *y = (T *)e->y + at;                                                                                       \
        if (e->inner == 1)                                                                                           \
            row_##name(x, e->n, y, e->index + at);                                                                   \
        else                                                                                                         \
            columns_##name(x, e->n, e->inner, width, y, e->index + at);                                              \
    } while (0)
#define RUN_TYPE(type, T)                                                                                            \
    case TT_##type:                                                                                                  \
        if (e->least)                                                                                                \
            RUN(least_##type, T);                                                                                    \
        else                                                                                                         \
            RUN(most_##type, T);                                                                                     \
        break;

static void extreme_range(void *context, int64_t from, int64_t to) {
    const extreme *e = context;
    for (int64_t i = from; i < to; i++) {
        const int64_t first = i % e->blocks * COLUMNS, at = i / e->blocks * e->n * e->inner + first, width = loop_min(COLUMNS, e->inner - first);
        switch ((int)e->dtype) {
            EACH(RUN_TYPE)
        }
    }
}

tt_status eng_running_extreme(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const int dim = (int)eng_composite_attr_double(attributes, "dim", 0);
    extreme e = {.outer = 1, .n = in->type.dims[dim], .inner = 1, .dtype = in->type.dtype, .least = eng_composite_attr_bool(attributes, "least", false),
                 .x = in->data, .y = out[0].data, .index = out[1].data};
    for (int d = 0; d < in->type.rank; d++) {
        e.outer *= d < dim ? in->type.dims[d] : 1;
        e.inner *= d > dim ? in->type.dims[d] : 1;
    }
    if (!hlo_type_elements(&in->type))
        return TT_OK;
    e.blocks = (e.inner + COLUMNS - 1) / COLUMNS;
    fast_ranges(e.outer * e.blocks, (1 << 15) / loop_max(1, e.n * loop_min(e.inner, COLUMNS)), extreme_range, &e);
    return TT_OK;
}
