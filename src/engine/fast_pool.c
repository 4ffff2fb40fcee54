/* fast_pool.c - max pooling of planes, and its gradient: every element of the gradient goes to the place its
 * window chose. Part of composite.c; knows no graph. Planes are independent, so the order of additions is fixed. */
#include "engine/composite.h"
#include "engine/fast.h"
#include <math.h>
#include <string.h>

/* ---- forward ----
 * A band of output rows at a time. The rows that it reads are laid out by phase (place modulo stride), with -inf around the plane, so
 * that one tap of all windows of the band is one run of memory. */
enum { BAND = 1536, MOST_PHASES = 64, MOST_LINES = 64 };

typedef struct max_pool {
    int64_t planes, in[2], out[2], k[2], s[2], p[2], d[2], per_task;
    int64_t band, rows, pitch;                 /* outputs of a band; rows and row length of a phase */
    int n_phases[2], phases[2][MOST_PHASES];   /* that taps use, in both dims */
    int phase_of[2][MOST_PHASES];              /* tap: which of them */
    const char *x;
    char *y;
    int64_t *index;                            /* NULL: not wanted */
    int size;                                  /* bytes of an element of x and y */
    bool lines;                                /* rows are planes of their own: places are in the row */
    loop_kernel widen, narrow;                 /* of 16-bit floats, to f32 and back; NULL: they are f32 */
    bool flat;                                 /* not wanted: rows follow on as windows do, `pitch` windows a row */
    const eng_kernels *kernels;
} max_pool;

/* The first of k taps from `at` on, `step` apart, that is not before the plane; the last if all are. */
static int64_t first_inside(int64_t at, int64_t step, int64_t k) {
    return at < 0 ? at + eng_min(k - 1, (-at + step - 1) / step) * step : at;
}

FAST_CLONES static void take_larger(const float *x, int32_t tap, int64_t n, float *best, int32_t *at) {
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i];
        const int take = (v > best[i]) | (v != v);
        at[i] = take ? tap : at[i];
        best[i] = take ? v : best[i];
    }
}

/* Where nothing is larger than -inf the first tap inside is the place: by row and column. */
FAST_CLONES static void begin_row(int32_t row, const int32_t *column, int64_t n, float *best, int32_t *at) {
    for (int64_t i = 0; i < n; i++) {
        best[i] = -INFINITY;
        at[i] = row + column[i];
    }
}

FAST_CLONES static void put_places(int64_t base, int64_t step, const int32_t *at, int64_t n, int64_t *index) {
    for (int64_t i = 0; i < n; i++)
        index[i] = base + i * step + at[i];
}

FAST_CLONES static void every_other(float *d, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        d[i] = x[2 * i];
}

/* Columns first, first + step .. of a row, -inf where they lie outside; row NULL: all outside. */
FAST_CLONES static void lay_out_row(float *d, const float *row, int64_t first, int64_t step, int64_t size, int64_t n) {
    const int64_t lo = !row ? n : first < 0 ? eng_min(n, (-first + step - 1) / step) : 0;
    const int64_t hi = first >= size ? lo : eng_max(lo, eng_min(n, (size - 1 - first) / step + 1));
    for (int64_t i = 0; i < lo; i++)
        d[i] = -INFINITY;
    for (int64_t i = hi; i < n; i++)
        d[i] = -INFINITY;
    if (lo == hi)
        return;
    row += first + lo * step;
    if (step == 1)
        memcpy(d + lo, row, (size_t)(hi - lo) * sizeof *d);
    else if (step == 2)
        every_other(d + lo, row, hi - lo);
    else
        for (int64_t i = lo; i < hi; i++, row += step)
            d[i] = *row;
}

static int64_t phase_floats(const max_pool *p) {
    return (p->rows + 1) * p->pitch;
}

/* The row beyond the last is read as far as taps reach to the right. */
static void lay_out(const max_pool *p, const float *x, int64_t first_row, float *laid) {
    const int64_t beyond = eng_min(p->pitch, (p->k[1] - 1) * p->d[1] / p->s[1]);
    for (int a = 0; a < p->n_phases[0]; a++)
        for (int b = 0; b < p->n_phases[1]; b++, laid += phase_floats(p))
            for (int64_t r = 0; r <= p->rows; r++) {
                const int64_t h = (first_row + r) * p->s[0] + p->phases[0][a] - p->p[0];
                const bool inside = r < p->rows && h >= 0 && h < p->in[0];
                lay_out_row(laid + r * p->pitch, inside ? x + h * p->in[1] : NULL, p->phases[1][b] - p->p[1], p->s[1], p->in[1],
                            r < p->rows ? p->pitch : beyond);
            }
}

/* Where a task keeps what: the phases, then the best so far and where, and of each column its first tap inside. */
static float *best_of(const max_pool *p, float *laid) {
    return laid + p->n_phases[0] * p->n_phases[1] * phase_floats(p);
}
static int32_t *column_of(const max_pool *p, float *laid) {
    return (int32_t *)(void *)(best_of(p, laid) + 2 * p->band * p->pitch);
}

static void set_columns(const max_pool *p, float *laid) {
    int32_t *column = column_of(p, laid);
    for (int64_t c = 0; c < p->pitch; c++) {
        const int64_t w = c * p->s[1] - p->p[1];
        column[c] = (int32_t)(first_inside(w, p->d[1], p->k[1]) - w);
    }
}

static void max_pool_band(const max_pool *p, const float *x, int64_t first, int64_t rows, float *laid, float *y, int64_t *index) {
    const int64_t n = rows * p->pitch;
    float *best = best_of(p, laid);
    int32_t *at = (int32_t *)(void *)(best + p->band * p->pitch);
    const int32_t *column = column_of(p, laid);
    lay_out(p, x, first, laid);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t h = (first + r) * p->s[0] - p->p[0];
        begin_row((int32_t)((first_inside(h, p->d[0], p->k[0]) - h) * p->in[1]), column, p->pitch, best + r * p->pitch, at + r * p->pitch);
    }
    for (int64_t k0 = 0; k0 < p->k[0]; k0++)
        for (int64_t k1 = 0; k1 < p->k[1]; k1++) {
            const int64_t h = k0 * p->d[0], w = k1 * p->d[1];
            const float *phase = laid + (p->phase_of[0][k0] * p->n_phases[1] + p->phase_of[1][k1]) * phase_floats(p);
            take_larger(phase + h / p->s[0] * p->pitch + w / p->s[1], (int32_t)(h * p->in[1] + w), n, best, at);
        }
    for (int64_t r = 0; r < rows; r++, y += p->out[1], index += p->out[1]) {
        const int64_t base = (p->lines ? 0 : ((first + r) * p->s[0] - p->p[0]) * p->in[1]) - p->p[1];
        memcpy(y, best + r * p->pitch, (size_t)p->out[1] * sizeof *y);
        put_places(base, p->s[1], at + r * p->pitch, p->out[1], index);
    }
}

/* ---- forward, without places ----
 * Along the rows first, all rows of a band as one run, then across rows: the elements of a window are compared in the plane's order. */
enum { ACROSS = 4096 }; /* floats of reduced rows at a time */

#define LARGER(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a))

/* The largest of k elements d apart, of windows s apart. */
FAST_CLONES static void across(const float *x, int64_t k, int64_t s, int64_t d, int64_t n, float *y) {
    if (k == 2 && s == 2 && d == 1) {
        for (int64_t i = 0; i < n; i++)
            y[i] = LARGER(x[2 * i], x[2 * i + 1]);
        return;
    }
    if (k == 3 && s == 2 && d == 1) {
        for (int64_t i = 0; i < n; i++) {
            const float a = LARGER(x[2 * i], x[2 * i + 1]), b = x[2 * i + 2];
            y[i] = LARGER(a, b);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i * s];
    for (int64_t t = 1; t < k; t++) {
        x += d;
        if (s == 1)
            for (int64_t i = 0; i < n; i++)
                y[i] = LARGER(y[i], x[i]);
        else
            for (int64_t i = 0; i < n; i++)
                y[i] = LARGER(y[i], x[i * s]);
    }
}

/* Rows [first, first + rows) of the result. */
static void max_values_band(const max_pool *p, const float *x, int64_t first, int64_t rows, float *reduced, float *y) {
    const int64_t n = p->out[1], s = p->s[1], top = eng_max(0, first * p->s[0] - p->p[0]);
    const int64_t end = eng_min(p->in[0], (first + rows - 1) * p->s[0] - p->p[0] + (p->k[0] - 1) * p->d[0] + 1);
    const float *inside[MOST_PHASES], *from = x + top * p->in[1];
    if (!p->flat) {
        float *laid = reduced + p->rows * p->pitch;
        for (int64_t h = top; h < end; h++)
            lay_out_row(laid + (h - top) * s * p->pitch, x + h * p->in[1], -p->p[1], 1, p->in[1], s * p->pitch);
        from = laid;
    }
    if (end > top)
        across(from, p->k[1], s, p->d[1], (end - top - 1) * p->pitch + n, reduced);
    for (int64_t r = 0; r < rows; r++, y += n) {
        int64_t count = 0;
        for (int64_t t = 0; t < p->k[0]; t++) {
            const int64_t h = (first + r) * p->s[0] - p->p[0] + t * p->d[0];
            if (h >= 0 && h < p->in[0])
                inside[count++] = reduced + (h - top) * p->pitch;
        }
        if (count)
            p->kernels->larger_rows(inside, count, n, y);
        for (int64_t c = 0; c < n && !count; c++)
            y[c] = -INFINITY;
    }
}

static size_t max_pool_floats(const max_pool *p) {
    return (size_t)(p->index ? p->n_phases[0] * p->n_phases[1] * phase_floats(p) + (2 * p->band + 1) * p->pitch
                             : p->rows * p->pitch * (1 + p->s[1]));
}

static void max_pool_task(void *context, int64_t task, int worker) {
    (void)worker;
    const max_pool *p = context;
    const int64_t last = eng_min(p->planes, (task + 1) * p->per_task), in = p->in[0] * p->in[1], out = p->out[0] * p->out[1];
    float *room = eng_scratch_need(ENG_SLOT_A, (max_pool_floats(p) + (p->widen ? (size_t)(in + out) : 0)) * sizeof *room);
    float *wide = room + max_pool_floats(p), *largest = wide + in;
    if (p->index)
        set_columns(p, room);
    for (int64_t plane = task * p->per_task; plane < last; plane++) {
        const char *x = p->x + plane * in * p->size;
        char *y = p->y + plane * out * p->size;
        if (p->widen)
            p->widen(wide, x, NULL, NULL, in);
        const float *from = p->widen ? wide : (const float *)(const void *)x;
        float *to = p->widen ? largest : (float *)(void *)y;
        for (int64_t row = 0; row < p->out[0]; row += p->band) {
            const int64_t rows = eng_min(p->band, p->out[0] - row), at = row * p->out[1];
            if (p->index)
                max_pool_band(p, from, row, rows, room, to + at, p->index + plane * out + at);
            else
                max_values_band(p, from, row, rows, room, to + at);
        }
        if (p->widen)
            p->narrow(y, largest, NULL, NULL, out);
    }
}

/* Which phases dim i uses, and how far taps reach beyond an output's own place, in outputs. */
static int64_t plan_phases(max_pool *p, int i) {
    for (int64_t k = 0; k < p->k[i]; k++) {
        const int phase = (int)(k * p->d[i] % p->s[i]);
        int j = 0;
        while (j < p->n_phases[i] && p->phases[i][j] != phase)
            j++;
        p->phases[i][j] = phase;
        p->n_phases[i] += j == p->n_phases[i];
        p->phase_of[i][k] = j;
    }
    return (p->k[i] - 1) * p->d[i] / p->s[i];
}

tt_status eng_max_pool(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    static const char *const names[] = {"k0", "k1", "s0", "s1", "p0", "p1", "d0", "d1"};
    const tt_dtype dtype = in[0].type.dtype;
    max_pool p = {.planes = in[0].type.dims[0], .x = in[0].data, .y = out[0].data, .index = out[1].data, .size = tt_dtype_size(dtype)};
    int64_t *const fields[] = {p.k, p.k + 1, p.s, p.s + 1, p.p, p.p + 1, p.d, p.d + 1};
    for (int i = 0; i < 8; i++)
        *fields[i] = (int64_t)eng_composite_attr_double(attributes, names[i], 1);
    for (int i = 0; i < 2; i++) {
        p.in[i] = in[0].type.dims[1 + i];
        p.out[i] = out[0].type.dims[1 + i];
    }
    if (hlo_type_elements(&out[0].type) == 0)
        return TT_OK;
    for (p.lines = p.in[0] == 1 && p.k[0] == 1 && !p.p[0]; p.lines && p.planes % 2 == 0 && p.in[0] < MOST_LINES; p.planes /= 2)
        p.in[0] = p.out[0] *= 2;
    if (dtype != TT_F32) {
        p.widen = loop_find(HLO_CONVERT, dtype, TT_F32, 0);
        p.narrow = loop_find(HLO_CONVERT, TT_F32, dtype, 0);
    }
    p.per_task = eng_max(1, eng_min(p.planes, 65536 / eng_max(p.out[0] * p.out[1] * p.k[0] * p.k[1], 1)));
    if (!p.index) {
        const int64_t reach = (p.k[0] - 1) * p.d[0] + 1;
        p.pitch = p.out[1] + (p.k[1] - 1) * p.d[1] / p.s[1];
        p.flat = !p.p[1] && p.in[1] == p.s[1] * p.pitch;
        p.band = eng_max(1, eng_min(p.out[0], (ACROSS / p.pitch - reach) / p.s[0]));
        p.rows = eng_min(p.in[0], (p.band - 1) * p.s[0] + reach);
        p.kernels = eng_kernels_get();
        eng_parallel(eng_blocks(p.planes, p.per_task), max_pool_task, &p);
        return TT_OK;
    }
    const int64_t beyond = plan_phases(&p, 0);
    p.pitch = p.out[1] + plan_phases(&p, 1);
    p.band = eng_max(1, eng_min(p.out[0], BAND / p.pitch));
    p.rows = p.band + beyond;
    eng_parallel(eng_blocks(p.planes, p.per_task), max_pool_task, &p);
    return TT_OK;
}

/* ---- adaptive ----
 * Down the rows of a window first, all columns of the plane as one run, then along them. */
typedef struct adaptive { int64_t planes, in[2], out[2]; tt_dtype dtype; const char *x; char *y; int64_t *index; loop_kernel widen, narrow; } adaptive;

static int64_t window_start(const adaptive *p, int d, int64_t o) {
    return o * p->in[d] / p->out[d];
}

static int64_t window_end(const adaptive *p, int d, int64_t o) {
    return ((o + 1) * p->in[d] + p->out[d] - 1) / p->out[d];
}

static void adaptive_plane(const adaptive *p, const float *x, float *best, int32_t *row, float *y, int64_t *index) {
    const int64_t w = p->in[1];
    for (int64_t o = 0; o < p->out[0]; o++) {
        const int64_t top = window_start(p, 0, o), end = window_end(p, 0, o);
        for (int64_t c = 0; c < w; c++) {
            best[c] = x[top * w + c];
            row[c] = (int32_t)top;
        }
        for (int64_t h = top + 1; h < end; h++)
            take_larger(x + h * w, (int32_t)h, w, best, row);
        for (int64_t k = 0; k < p->out[1]; k++) {
            int64_t c = window_start(p, 1, k), last = window_end(p, 1, k), at = row[c] * w + c;
            float most = best[c];
            while (++c < last) { /* of equal ones the first in the plane, of NaNs the last */
                const int64_t here = row[c] * w + c;
                const float v = best[c];
                const bool take = v != v ? most == most || here > at : v > most || (v == most && here < at);
                at = take ? here : at;
                most = take ? v : most;
            }
            *y++ = most;
            *index++ = at;
        }
    }
}

static void adaptive_range(void *context, int64_t from, int64_t to) {
    const adaptive *p = context;
    const int64_t in = p->in[0] * p->in[1], out = p->out[0] * p->out[1], size = tt_dtype_size(p->dtype), room = p->widen ? in + out : 0;
    float *wide = eng_scratch_need(ENG_SLOT_A, (size_t)(room + 2 * p->in[1]) * sizeof *wide), *best = wide + room;
    for (int64_t i = from; i < to; i++) {
        const char *x = p->x + i * in * size;
        char *y = p->y + i * out * size;
        if (p->widen)
            p->widen(wide, x, NULL, NULL, in);
        adaptive_plane(p, p->widen ? wide : (const float *)(const void *)x, best, (int32_t *)(void *)(best + p->in[1]),
                       p->widen ? wide + in : (float *)(void *)y, p->index + i * out);
        if (p->widen)
            p->narrow(y, wide + in, NULL, NULL, out);
    }
}

tt_status eng_adaptive_max_pool(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    (void)attributes;
    const int64_t *x = in->type.dims, *y = out->type.dims;
    adaptive p = {x[0], {x[1], x[2]}, {y[1], y[2]}, in->type.dtype, in->data, out[0].data, out[1].data, NULL, NULL};
    if (p.dtype != TT_F32) {
        p.widen = loop_find(HLO_CONVERT, p.dtype, TT_F32, 0);
        p.narrow = loop_find(HLO_CONVERT, TT_F32, p.dtype, 0);
    }
    if (hlo_type_elements(&out->type))
        fast_ranges(p.planes, 65536 / (x[1] * x[2]), adaptive_range, &p);
    return TT_OK;
}

/* ---- gradient ---- */

typedef struct pool_backward {
    int64_t planes, in, out, per_task; /* elements of a plane before and after pooling */
    const float *grad;
    const int64_t *index;
    float *dx;
} pool_backward;

static void pool_task(void *context, int64_t task, int worker) {
    (void)worker;
    const pool_backward *p = context;
    const int64_t first = task * p->per_task, last = eng_min(p->planes, first + p->per_task);
    memset(p->dx + first * p->in, 0, (size_t)((last - first) * p->in) * sizeof(float));
    for (int64_t plane = first; plane < last; plane++) {
        const float *grad = p->grad + plane * p->out;
        const int64_t *index = p->index + plane * p->out;
        float *dx = p->dx + plane * p->in;
        for (int64_t i = 0; i < p->out; i++)
            if ((uint64_t)index[i] < (uint64_t)p->in) /* a bad index writes nowhere, as a scatter does */
                dx[index[i]] += grad[i];
    }
}

tt_status eng_max_pool_backward(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    (void)attributes;
    const int64_t planes = in[0].type.dims[0];
    if (hlo_type_elements(&out[0].type) == 0)
        return TT_OK;
    pool_backward p = {planes,
                       hlo_type_elements(&out[0].type) / planes,
                       hlo_type_elements(&in[0].type) / planes,
                       0,
                       in[0].data,
                       in[1].data,
                       out[0].data};
    p.per_task = eng_max(1, eng_min(planes, 65536 / eng_max(p.in, 1)));
    eng_parallel(eng_blocks(planes, p.per_task), pool_task, &p);
    return TT_OK;
}
