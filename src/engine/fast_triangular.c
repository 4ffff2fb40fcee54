/* fast_triangular.c - triangular_solve of f32 and f64: blocks of rows, each less a product with the rows solved before, then solved by
 * itself in panels of columns. Whatever the sides and transposes, the matrix and the rows are first laid out as M X = B with X's
 * rows contiguous. */
#include "engine/fast.h"
#include "engine/fast_gemm.h"
#include <string.h>

enum { ROWS = 32, PANEL = 256 };

typedef struct solver {
    tt_dtype dtype;
    bool forward, unit;
    int64_t n, m, batch, first, rows; /* of M; X's columns; the block of rows at hand */
    const char *matrix;
    char *x;
    const char *update; /* what the rows of the block lose; NULL: nothing */
} solver;

/* Rows of the block, in columns [from, to) of one matrix; `order` counts them as they are solved. */
#define SOLVE_ROWS(name, T)                                                                         \
    static FAST_CLONES void name(const solver *s, const T *a, T *x, const T *update, int64_t from, int64_t to) { \
        for (int64_t order = 0; order < s->rows; order++) {                                         \
            const int64_t i = s->first + (s->forward ? order : s->rows - 1 - order);                \
            T *restrict row = x + i * s->m;                                                         \
            for (int64_t c = from; update && c < to; c++)                                           \
                row[c] -= update[(i - s->first) * s->m + c];                                        \
            for (int64_t q = 0; q < order; q++) {                                                   \
                const int64_t j = s->first + (s->forward ? q : s->rows - 1 - q);                    \
                const T k = a[i * s->n + j], *other = x + j * s->m;                                 \
                for (int64_t c = from; c < to; c++)                                                 \
                    row[c] -= k * other[c];                                                         \
            }                                                                                       \
            for (int64_t c = from; !s->unit && c < to; c++)                                         \
                row[c] /= a[i * s->n + i];                                                          \
        }                                                                                           \
    }
SOLVE_ROWS(solve_rows_f32, float)
SOLVE_ROWS(solve_rows_f64, double)

/* Panels of all matrices. */
static void panels_range(void *context, int64_t from, int64_t to) {
    const solver *s = context;
    const int64_t panels = eng_blocks(s->m, PANEL), size = tt_dtype_size(s->dtype);
    for (int64_t i = from; i < to; i++) {
        const int64_t b = i / panels, first = i % panels * PANEL, last = eng_min(s->m, first + PANEL);
        const char *a = s->matrix + b * s->n * s->n * size;
        char *x = s->x + b * s->n * s->m * size;
        const char *update = s->update ? s->update + b * s->rows * s->m * size : NULL;
        if (s->dtype == TT_F32)
            solve_rows_f32(s, (const void *)a, (void *)x, (const void *)update, first, last);
        else
            solve_rows_f64(s, (const void *)a, (void *)x, (const void *)update, first, last);
    }
}

/* The product of the block's rows of M with the rows of X that are solved. */
static bool multiply(const solver *s, int64_t done, char *out) {
    const int64_t size = tt_dtype_size(s->dtype), column = s->forward ? 0 : s->n - done;
    const eng_gemm_args args = {.dtype = s->dtype, .c_dtype = s->dtype, .batch = s->batch, .m = s->rows, .n = s->m, .k = done,
                                .lda = s->n, .ldb = s->m, .ldc = s->m, .stride_a = s->n * s->n, .stride_b = s->n * s->m,
                                .stride_c = s->rows * s->m, .a = s->matrix + (s->first * s->n + column) * size,
                                .b = s->x + column * s->m * size, .c = out};
    return eng_gemm(&args);
}

static bool solve(solver *s, char *room) {
    for (int64_t done = 0; done < s->n; done += s->rows) {
        s->rows = eng_min(ROWS, s->n - done);
        s->first = s->forward ? done : s->n - done - s->rows;
        s->update = done ? room : NULL;
        if (done && !multiply(s, done, room))
            return false;
        const int64_t work = s->rows * s->rows / 2 * eng_min(s->m, PANEL);
        fast_ranges(s->batch * eng_blocks(s->m, PANEL), 1 + 32768 / (1 + work), panels_range, s);
    }
    return true;
}

/* Each of `batch` matrices of rows by columns, turned. */
static void turn(const void *from, void *to, int64_t batch, int64_t rows, int64_t columns, int size) {
    const int64_t dims[3] = {batch, columns, rows}, out[3] = {rows * columns * size, rows * size, size};
    const int64_t in[3] = {rows * columns * size, size, columns * size};
    fast_copy(3, dims, size, to, out, from, in);
}

tt_status eng_fast_triangular_solve(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    const hlo_type *a = &in[0].type, *b = &in[1].type;
    const int r = a->rank;
    const bool right = hlo_attr_int(node, HLO_A_LEFT_SIDE, 1) == 0, lower = hlo_attr_int(node, HLO_A_LOWER, 0) != 0;
    const bool transposed = strcmp(hlo_attr_text(node, HLO_A_TRANSPOSE_A, "NO_TRANSPOSE"), "NO_TRANSPOSE") != 0;
    (void)g;
    if (r < 2 || b->rank != r || (a->dtype != TT_F32 && a->dtype != TT_F64) || b->dtype != a->dtype || a->dims[r - 1] != a->dims[r - 2] ||
        b->dims[right ? r - 1 : r - 2] != a->dims[r - 1] || memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)(r - 2)) != 0)
        return eng_not_mine;
    const int size = tt_dtype_size(a->dtype);
    const int64_t rows = b->dims[r - 2], columns = b->dims[r - 1], n = a->dims[r - 1], elements = hlo_type_elements(b);
    if (!elements)
        return TT_OK;
    solver s = {.dtype = a->dtype, .forward = lower == (transposed == right), .unit = hlo_attr_int(node, HLO_A_UNIT_DIAGONAL, 0) != 0,
                .n = n, .m = right ? rows : columns, .batch = elements / (rows * columns), .matrix = in[0].data, .x = out->data};
    if (transposed != right) {
        char *m = tt_arena_alloc(run->arena, (size_t)(s.batch * n * n * size));
        turn(in[0].data, m, s.batch, n, n, size);
        s.matrix = m;
    }
    if (right) {
        s.x = tt_arena_alloc(run->arena, (size_t)(elements * size));
        turn(in[1].data, s.x, s.batch, rows, columns, size);
    } else if (out->data != in[1].data) {
        memcpy(out->data, in[1].data, (size_t)(elements * size));
    }
    char *room = n > ROWS ? tt_arena_alloc(run->arena, (size_t)(s.batch * ROWS * s.m * size)) : NULL;
    if (!solve(&s, room))
        return eng_not_mine;
    if (right)
        turn(s.x, out->data, s.batch, columns, rows, size);
    return TT_OK;
}
