/* fast_window.c - reduce_window: running reductions in one pass, pooling row by row; and select_and_scatter.
 *
 * A window as long as its dim, padded in front (or behind), is a scan. Any other window is reduced over its outer dims first, whole rows
 * at a time, and then along the row. Padding must hold the op's identity, else the reference kernel does it. */
#include "engine/fast.h"
#include "engine/kernels.h"
#include <string.h>

typedef struct window { int64_t size[HLO_MAX_RANK], stride[HLO_MAX_RANK], base[HLO_MAX_RANK], dilation[HLO_MAX_RANK], pad[2 * HLO_MAX_RANK]; } window;

static bool window_read(const hlo_node *node, int rank, window *w) {
    struct { hlo_attr_name name; int n; int64_t fallback, *out; } fields[] = {
        {HLO_A_WINDOW_DIMENSIONS, rank, 1, w->size}, {HLO_A_WINDOW_STRIDES, rank, 1, w->stride}, {HLO_A_BASE_DILATIONS, rank, 1, w->base},
        {HLO_A_WINDOW_DILATIONS, rank, 1, w->dilation}, {HLO_A_PADDING, 2 * rank, 0, w->pad}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        hlo_ints v = hlo_attr_ints(node, fields[i].name);
        if (v.n && v.n != fields[i].n)
            return false;
        for (int k = 0; k < fields[i].n; k++)
            fields[i].out[k] = v.n ? v.v[k] : fields[i].fallback;
    }
    for (int d = 0; d < rank; d++)
        if (w->size[d] < 1 || w->stride[d] < 1 || w->base[d] != 1 || w->dilation[d] < 1)
            return false;
    return true;
}

typedef struct job {
    hlo_op op;
    tt_dtype dtype, acc;
    int rank, size, acc_size;
    window w;
    const int64_t *x_dims, *y_dims;
    int64_t x_strides[HLO_MAX_RANK];
    const char *x;
    char *y;
    loop_kernel combine, widen, narrow;
    char identity[16];
    bool in_order;          /* small windows of floats add up in the specification's order */
    /* scans */
    bool backward;
    int64_t length, inner;
} job;

enum { SHORT = 64 }; /* up to here sums go step by step in their own type, as the specification has it; longer scans would lose digits */

/* ---- scans ---- */

/* The dim whose window is all of it; -1: no scan. */
static int scan_dim(const job *j) {
    int dim = -1;
    for (int d = 0; d < j->rank; d++) {
        int64_t n = j->x_dims[d];
        const int64_t *pad = j->w.pad + 2 * d;
        if (j->w.size[d] == 1 && j->w.stride[d] == 1 && !pad[0] && !pad[1])
            continue;
        bool scan = j->w.size[d] == n && j->w.stride[d] == 1 && j->w.dilation[d] == 1 && pad[0] + pad[1] == n - 1 && (!pad[0] || !pad[1]);
        if (!scan || dim >= 0)
            return -1;
        dim = d;
    }
    return dim;
}

#define SCAN_BLOCK 256
/* Columns [first, first + w) of one outer index: the accumulator passes over the rows. */
static void scan_columns(const job *j, int64_t outer, int64_t first, int64_t w) {
    char acc[SCAN_BLOCK * 8], wide[SCAN_BLOCK * 8];
    int64_t step = j->inner * j->size;
    const char *x = j->x + (outer * j->length * j->inner + first) * j->size;
    char *y = j->y + (outer * j->length * j->inner + first) * j->size;
    fast_fill(acc, j->identity, j->acc_size, w);
    for (int64_t i = 0; i < j->length; i++) {
        int64_t at = (j->backward ? j->length - 1 - i : i) * step;
        const char *row = x + at;
        if (j->widen) {
            j->widen(wide, row, NULL, NULL, w);
            row = wide;
        }
        j->combine(acc, acc, row, NULL, w);
        if (j->narrow)
            j->narrow(y + at, acc, NULL, NULL, w);
        else
            memcpy(y + at, acc, (size_t)(w * j->size));
    }
}

#define SCAN_ROW(T, A)                                                        \
    do {                                                                      \
        const T *x = (const T *)(const void *)from;                           \
        T *y = (T *)(void *)to;                                               \
        A a = 0;                                                              \
        if (j->backward)                                                      \
            for (int64_t i = j->length; i-- > 0;) {                           \
                a += (A)x[i];                                                 \
                y[i] = (T)a;                                                  \
            }                                                                 \
        else                                                                  \
            for (int64_t i = 0; i < j->length; i++) {                         \
                a += (A)x[i];                                                 \
                y[i] = (T)a;                                                  \
            }                                                                 \
        return;                                                               \
    } while (0)

/* Sums of 16-bit floats, a block of the row at a time. */
static void scan_wide(const job *j, const char *from, char *to) {
    double wide[SCAN_BLOCK], sum = 0;
    for (int64_t done = 0; done < j->length;) {
        int64_t m = loop_min(SCAN_BLOCK, j->length - done), at = j->backward ? j->length - done - m : done;
        j->widen(wide, from + at * j->size, NULL, NULL, m);
        for (int64_t i = 0; i < m; i++) {
            double *x = &wide[j->backward ? m - 1 - i : i];
            sum += *x;
            *x = sum;
        }
        j->narrow(to + at * j->size, wide, NULL, NULL, m);
        done += m;
    }
}

/* One row whose elements are neighbours. */
static void scan_row(const job *j, int64_t row) {
    const char *from = j->x + row * j->length * j->size;
    char *to = j->y + row * j->length * j->size;
    if (j->op == HLO_ADD)
        switch ((int)j->dtype) {
        case TT_F32:
            if (j->acc == TT_F32)
                SCAN_ROW(float, float);
            SCAN_ROW(float, double);
        case TT_F64: SCAN_ROW(double, double);
        case TT_I64: SCAN_ROW(uint64_t, uint64_t);
        case TT_I32: SCAN_ROW(uint32_t, uint32_t);
        }
    if (j->acc == TT_F64 && j->op == HLO_ADD && j->widen) {
        scan_wide(j, from, to);
        return;
    }
    char acc[16], wide[16];
    memcpy(acc, j->identity, 16);
    for (int64_t i = 0; i < j->length; i++) {
        int64_t at = (j->backward ? j->length - 1 - i : i) * j->size;
        if (j->widen)
            j->widen(wide, from + at, NULL, NULL, 1);
        j->combine(acc, acc, j->widen ? wide : from + at, NULL, 1);
        if (j->narrow)
            j->narrow(to + at, acc, NULL, NULL, 1);
        else
            memcpy(to + at, acc, (size_t)j->size);
    }
}

enum { TURNED_ROWS = 64, TURNED_STEPS = 64 };

/* Rows whose elements are neighbours, side by side: blocks of them are turned, so that the accumulator passes over many rows at once. */
static void scan_turned(const job *j, int64_t row, int64_t rows) {
    _Alignas(64) char acc[TURNED_ROWS * 8], wide[TURNED_ROWS * 8], block[TURNED_ROWS * TURNED_STEPS * 8], back[TURNED_ROWS * TURNED_STEPS * 8];
    const eng_kernels *kernels = eng_kernels_get();
    const int64_t n = j->length, size = j->size;
    fast_fill(acc, j->identity, j->acc_size, rows);
    for (int64_t done = 0; done < n;) {
        const int64_t m = loop_min(TURNED_STEPS, n - done), start = row * n + (j->backward ? n - done - m : done);
        kernels->transpose((int)size, block, rows, j->x + start * size, n, rows, m);
        for (int64_t i = 0; i < m; i++) {
            const int64_t at = (j->backward ? m - 1 - i : i) * rows * size;
            const char *from = block + at;
            if (j->widen) {
                j->widen(wide, from, NULL, NULL, rows);
                from = wide;
            }
            j->combine(acc, acc, from, NULL, rows);
            if (j->narrow)
                j->narrow(block + at, acc, NULL, NULL, rows);
            else
                memcpy(block + at, acc, (size_t)(rows * size));
        }
        kernels->transpose((int)size, back, m, block, rows, m, rows);
        for (int64_t r = 0; r < rows; r++)
            memcpy(j->y + (start + r * n) * size, back + r * m * size, (size_t)(m * size));
        done += m;
    }
}

static bool turns(const job *j) {
    const bool typed = j->op == HLO_ADD && (j->dtype == TT_F64 || j->dtype == TT_I64 || j->dtype == TT_I32);
    return j->inner == 1 && !typed && (j->size == 2 || j->size == 4 || j->size == 8) && j->length > 1;
}

/* Four rows of f32 forward, so that their sums or products overlap. */
#define SCAN_FOUR(op)                                                         \
    for (int64_t i = 0; i < n; i++) {                                         \
        y[i] = (float)(a = a op (double)x[i]);                                \
        y[i + n] = (float)(b = b op (double)x[i + n]);                        \
        y[i + 2 * n] = (float)(c = c op (double)x[i + 2 * n]);                \
        y[i + 3 * n] = (float)(d = d op (double)x[i + 3 * n]);                \
    }

static void scan_four(const job *j, int64_t row) {
    const float *x = (const float *)(const void *)j->x + row * j->length;
    float *y = (float *)(void *)j->y + row * j->length;
    int64_t n = j->length;
    double a, b, c, d;
    a = b = c = d = j->op == HLO_MULTIPLY;
    if (j->op == HLO_MULTIPLY) {
        SCAN_FOUR(*)
    } else {
        SCAN_FOUR(+)
    }
}

static void scan_range(void *context, int64_t from, int64_t to) {
    const job *j = context;
    bool four = j->inner == 1 && (j->op == HLO_ADD || j->op == HLO_MULTIPLY) && j->dtype == TT_F32 && j->acc == TT_F64 && !j->backward;
    for (; four && from + 4 <= to; from += 4)
        scan_four(j, from);
    for (; turns(j) && from + 8 <= to; from += loop_min(TURNED_ROWS, to - from))
        scan_turned(j, from, loop_min(TURNED_ROWS, to - from));
    int64_t blocks = (j->inner + SCAN_BLOCK - 1) / SCAN_BLOCK;
    for (int64_t i = from; i < to; i++) {
        if (j->inner == 1)
            scan_row(j, i);
        else
            scan_columns(j, i / blocks, i % blocks * SCAN_BLOCK, loop_min(SCAN_BLOCK, j->inner - i % blocks * SCAN_BLOCK));
    }
}

/* ---- pooling ---- */

typedef struct room { char *padded, *acc, *wide, *picked; } room;

static void pick_strided(char *to, const char *from, int size, int64_t stride, int64_t n) {
    if (size == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + 4 * i, from + 4 * i * stride, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + size * i, from + size * i * stride, (size_t)size);
}

/* The padded row's elements under each position of the window along the row, combined into acc. */
static void combine_along(const job *j, room *r, char *acc) {
    int last = j->rank - 1;
    int64_t stride = j->w.stride[last], n = j->y_dims[last];
    for (int64_t k = 0; k < j->w.size[last]; k++) {
        const char *from = r->padded + k * j->w.dilation[last] * j->acc_size;
        if (stride > 1) {
            pick_strided(r->picked, from, j->acc_size, stride, n);
            from = r->picked;
        }
        j->combine(acc, acc, from, NULL, n);
    }
}

/* Every input row that the window of output row `at` covers: combined into `to`, or, element by element in the window's order, into acc. */
static void combine_rows(const job *j, const int64_t *at, room *r, char *to, char *acc) {
    int last = j->rank - 1;
    int64_t k[HLO_MAX_RANK] = {0}, width = j->x_dims[last];
    for (;;) {
        int64_t offset = 0;
        bool inside = true;
        for (int d = 0; d < last && inside; d++) {
            int64_t i = at[d] * j->w.stride[d] + k[d] * j->w.dilation[d] - j->w.pad[2 * d];
            inside = i >= 0 && i < j->x_dims[d];
            offset += i * j->x_strides[d];
        }
        if (inside) {
            const char *row = j->x + offset;
            if (j->widen) {
                j->widen(r->wide, row, NULL, NULL, width);
                row = r->wide;
            }
            if (acc) {
                memcpy(to, row, (size_t)(width * j->acc_size));
                combine_along(j, r, acc);
            } else {
                j->combine(to, to, row, NULL, width);
            }
        }
        int d = last - 1;
        for (; d >= 0; d--) {
            if (++k[d] < j->w.size[d])
                break;
            k[d] = 0;
        }
        if (d < 0)
            return;
    }
}

static void pool_row(const job *j, const int64_t *at, room *r, char *y) {
    int last = j->rank - 1;
    int64_t low = j->w.pad[2 * last], high = j->w.pad[2 * last + 1], width = j->x_dims[last], n = j->y_dims[last];
    char *acc = j->narrow ? r->acc : y;
    bool whole = j->w.size[last] == 1 && j->w.stride[last] == 1 && !low && !high;
    char *rows = whole ? acc : r->padded;
    fast_fill(rows, j->identity, j->acc_size, low + width + high);
    if (!whole)
        fast_fill(acc, j->identity, j->acc_size, n);
    combine_rows(j, at, r, rows + low * j->acc_size, !whole && j->in_order ? acc : NULL);
    if (!whole && !j->in_order)
        combine_along(j, r, acc);
    if (j->narrow)
        j->narrow(y, acc, NULL, NULL, n);
}

static void pool_range(void *context, int64_t from, int64_t to) {
    const job *j = context;
    int last = j->rank - 1;
    int64_t width = j->x_dims[last] + j->w.pad[2 * last] + j->w.pad[2 * last + 1], most = loop_max(width, j->y_dims[last]) + 16;
    int64_t bytes = (most * j->acc_size + 63) / 64 * 64;
    char *scratch = eng_scratch_need(FAST_SCRATCH, (size_t)(4 * bytes));
    room r = {scratch, scratch + bytes, scratch + 2 * bytes, scratch + 3 * bytes};
    for (int64_t i = from; i < to; i++) {
        int64_t at[HLO_MAX_RANK], rest = i;
        for (int d = last - 1; d >= 0; d--) {
            at[d] = rest % j->y_dims[d];
            rest /= j->y_dims[d];
        }
        pool_row(j, at, &r, j->y + i * j->y_dims[last] * j->size);
    }
}

tt_status eng_fast_reduce_window(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    job j = {.dtype = in->type.dtype, .rank = in->type.rank, .x = in->data, .y = out->data, .x_dims = in->type.dims, .y_dims = out->type.dims};
    (void)run;
    if (node->n_operands != 2 || node->n_regions != 1 || !j.rank || out->type.dtype != j.dtype || in[1].type.dtype != j.dtype ||
        !window_read(node, j.rank, &j.w))
        return eng_not_mine;
    j.op = fast_region_op(g, node->regions[0]);
    j.size = tt_dtype_size(j.dtype);
    if (!j.op || tt_is_complex(j.dtype) || !loop_find(j.op, j.dtype, j.dtype, 0) || hlo_type_of(g, node->regions[0]->params[0])->dtype != j.dtype)
        return eng_not_mine;
    fast_identity(j.op, j.dtype, j.identity);
    if (memcmp(j.identity, in[1].data, (size_t)j.size))
        return eng_not_mine;
    if (!hlo_type_elements(&out->type))
        return TT_OK;
    for (int d = 0; d < j.rank; d++)
        if (j.w.pad[2 * d] < 0 || j.w.pad[2 * d + 1] < 0 || !j.x_dims[d])
            return eng_not_mine;
    int dim = scan_dim(&j);
    bool sums = (j.op == HLO_ADD || j.op == HLO_MULTIPLY) && tt_is_float(j.dtype), half = j.dtype == TT_BF16 || j.dtype == TT_F16;
    j.acc = !sums || (dim >= 0 && j.x_dims[dim] <= SHORT) ? j.dtype : dim >= 0 ? TT_F64 : half ? TT_F32 : j.dtype;
    j.acc_size = tt_dtype_size(j.acc);
    j.combine = loop_find(j.op, j.acc, j.acc, 0);
    if (j.acc != j.dtype) {
        j.widen = loop_find(HLO_CONVERT, j.dtype, j.acc, 0);
        j.narrow = loop_find(HLO_CONVERT, j.acc, j.dtype, 0);
        fast_identity(j.op, j.acc, j.identity);
    }
    int64_t total = hlo_type_elements(&out->type);
    if (dim >= 0) {
        j.backward = j.w.pad[2 * dim] == 0;
        j.length = j.x_dims[dim];
        j.inner = 1;
        for (int d = dim + 1; d < j.rank; d++)
            j.inner *= j.x_dims[d];
        int64_t items = total / (j.length * j.inner) * ((j.inner + SCAN_BLOCK - 1) / SCAN_BLOCK);
        fast_ranges(items, items * (1 << 15) / loop_max(1, total), scan_range, &j);
        return TT_OK;
    }
    fast_strides(&in->type, j.x_strides);
    int64_t rows = total / j.y_dims[j.rank - 1], taps = 1;
    for (int d = 0; d < j.rank; d++)
        taps *= j.w.size[d];
    j.in_order = sums && taps <= SHORT;
    fast_ranges(rows, rows * (1 << 16) / loop_max(1, total * taps), pool_range, &j);
    return TT_OK;
}

/* ---- select_and_scatter ---- */

typedef struct spread {
    window w;
    int rank, size, outer;        /* the first `outer` dims have windows of one: planes are independent */
    int direction;
    tt_dtype dtype;
    const int64_t *x_dims, *s_dims;
    int64_t x_strides[HLO_MAX_RANK], plane, s_plane;
    const char *x, *source;
    char *y;
    loop_kernel test, add;
} spread;

static void spread_plane(const spread *p, int64_t plane) {
    int64_t at[HLO_MAX_RANK] = {0}, k[HLO_MAX_RANK];
    const char *x = p->x + plane * p->plane * p->size;
    char *y = p->y + plane * p->plane * p->size;
    for (int64_t s = 0; s < p->s_plane; s++) {
        int64_t best = -1;
        memset(k, 0, sizeof k);
        for (bool more = true; more;) {
            int64_t place = 0;
            for (int d = p->outer; d < p->rank && place >= 0; d++) {
                int64_t i = at[d] * p->w.stride[d] + k[d] - p->w.pad[2 * d];
                place = i < 0 || i >= p->x_dims[d] ? -1 : place + i * p->x_strides[d];
            }
            if (place >= 0) {
                uint8_t keep = 0;
                if (best >= 0)
                    p->test(&keep, x + best, x + place, NULL, 1);
                best = keep ? best : place;
            }
            more = false;
            for (int d = p->rank - 1; d >= p->outer && !more; d--) {
                more = ++k[d] < p->w.size[d];
                k[d] = more ? k[d] : 0;
            }
        }
        if (best >= 0)
            p->add(y + best, y + best, p->source + (plane * p->s_plane + s) * p->size, NULL, 1);
        for (int d = p->rank - 1; d >= p->outer; d--) {
            if (++at[d] < p->s_dims[d])
                break;
            at[d] = 0;
        }
    }
}

static void spread_range(void *context, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++)
        spread_plane(context, i);
}

tt_status eng_fast_select_and_scatter(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    spread p = {.rank = in->type.rank, .dtype = in->type.dtype, .size = tt_dtype_size(in->type.dtype), .x_dims = in->type.dims,
                .s_dims = in[1].type.dims, .x = in->data, .source = in[1].data, .y = out->data, .plane = 1, .s_plane = 1};
    char text[32];
    (void)run;
    if (node->n_regions != 2 || !window_read(node, p.rank, &p.w) || in[1].type.rank != p.rank || in[1].type.dtype != p.dtype ||
        fast_region_op(g, node->regions[1]) != HLO_ADD || node->regions[0]->n_results != 1 ||
        !fast_region_text(g, node->regions[0], node->regions[0]->results[0], text, sizeof text) || strcmp(text + 2, "(p0,p1)"))
        return eng_not_mine;
    text[2] = 0;
    p.direction = loop_direction_parse(text);
    p.add = loop_find(HLO_ADD, p.dtype, p.dtype, 0);
    p.test = p.direction < 0 ? NULL : loop_find(HLO_COMPARE, p.dtype, TT_PRED, p.direction);
    if (!p.add || !p.test)
        return eng_not_mine;
    while (p.outer < p.rank && p.w.size[p.outer] == 1 && p.w.stride[p.outer] == 1 && !p.w.pad[2 * p.outer] && !p.w.pad[2 * p.outer + 1] &&
           p.s_dims[p.outer] == p.x_dims[p.outer])
        p.outer++;
    fast_strides(&in->type, p.x_strides);
    int64_t planes = 1, total = hlo_type_elements(&out->type), taps = 1;
    for (int d = 0; d < p.rank; d++) {
        planes *= d < p.outer ? p.x_dims[d] : 1;
        p.plane *= d < p.outer ? 1 : p.x_dims[d];
        p.s_plane *= d < p.outer ? 1 : p.s_dims[d];
        taps *= p.w.size[d];
    }
    fast_fill(out->data, in[2].data, p.size, total);
    if (total && hlo_type_elements(&in[1].type))
        fast_ranges(planes, (1 << 14) / loop_max(1, p.s_plane * taps), spread_range, &p);
    return TT_OK;
}
