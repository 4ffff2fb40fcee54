/* fast_reduce.c - stablehlo.reduce with one operand and one commutative op.
 *
 * Dims are merged into runs that are all kept or all reduced. Reduced innermost: each result is a sum of row pieces. Kept
 * innermost: columns are added up side by side; so are short rows under an outer reduced run, and then each row. Float sums and products take f32 steps over at most a few thousand elements and go on in
 * f64. How work is cut depends on the shape alone, so results never depend on the number of threads, nor on whether a reduction over
 * inner dims is run whole or slice by slice (program_bands.c). */
#include "engine/fast.h"
#include "engine/kernels.h"
#include <string.h>

enum { PIECE = 4096, COLUMNS = 512, FLUSH = 32, GRAIN = 1 << 16 };

typedef struct runs { int n; int64_t size[HLO_MAX_RANK], stride[HLO_MAX_RANK], count; } runs; /* strides in elements */

typedef struct job {
    hlo_op op;
    tt_dtype dtype, acc, out;   /* of x; of what results are gathered in; of results: f32 if a sum reads 16 bits */
    int size, acc_size;
    bool squares;               /* x holds the roots of what is added */
    bool shorts;                /* short rows that follow on */
    bool wide;                  /* float sum or product: f64 gathers f32 pieces */
    const char *x;
    char *result;               /* [segments][n_out] acc */
    runs kept, reduced;
    int64_t n_out, inner;       /* innermost run's length */
    int64_t per_row, units, segments, segment; /* units of work for each result (or column block); pieces per row; units in a segment */
    int64_t fold;               /* columns: so many neighbours are one result in the end */
    int64_t blocks, width, group; /* columns: blocks of columns, their width; rows taken together */
    bool rows;                  /* reduced innermost */
    int64_t total, items;       /* elements of x; results or column blocks */
    loop_kernel row, combine, add, widen, multiply;
} job;

static void runs_add(runs *r, int64_t size, int64_t stride, bool merge) {
    if (merge && r->n) {
        r->size[r->n - 1] *= size;
        r->stride[r->n - 1] = stride;
    } else {
        r->size[r->n] = size;
        r->stride[r->n++] = stride;
    }
    r->count *= size;
}

/* Returns whether the innermost run is reduced. */
static bool split(const hlo_type *t, hlo_ints dims, runs *kept, runs *reduced) {
    bool is_reduced[HLO_MAX_RANK] = {false}, last = true, any = false;
    int64_t stride = hlo_type_elements(t);
    for (int i = 0; i < dims.n; i++)
        is_reduced[dims.v[i]] = true;
    kept->n = reduced->n = 0;
    kept->count = reduced->count = 1;
    for (int d = 0; d < t->rank; d++) {
        if (t->dims[d])
            stride /= t->dims[d];
        if (t->dims[d] == 1)
            continue;
        runs_add(is_reduced[d] ? reduced : kept, t->dims[d], stride, any && last == is_reduced[d]);
        last = is_reduced[d];
        any = true;
    }
    return last;
}

/* Offset of the i-th of the first n runs' combinations, row-major. */
static int64_t offset_of(const runs *r, int n, int64_t i) {
    int64_t offset = 0;
    for (int k = n - 1; k >= 0; k--) {
        offset += i % r->size[k] * r->stride[k];
        i /= r->size[k];
    }
    return offset;
}

/* ---- reduced innermost ---- */

static void row_segment(const job *j, int64_t out, int64_t from, int64_t to, void *result) {
    const char *base = j->x + offset_of(&j->kept, j->kept.n, out) * j->size;
    double total = j->op == HLO_MULTIPLY;
    char piece[16];
    fast_identity(j->op, j->acc, result);
    for (int64_t u = from; u < to; u++) {
        int64_t row = u / j->per_row, at = u % j->per_row * PIECE;
        const char *x = base + (offset_of(&j->reduced, j->reduced.n - 1, row) + at) * j->size;
        int64_t n = loop_min(PIECE, j->inner - at);
        if (!j->wide) {
            j->row(piece, x, NULL, NULL, n);
            j->combine(result, result, piece, NULL, 1);
            continue;
        }
        j->row(piece, x, NULL, NULL, n);
        float f;
        memcpy(&f, piece, sizeof f);
        total = j->op == HLO_ADD ? total + (double)f : total * (double)f;
    }
    if (j->wide)
        memcpy(result, &total, sizeof total);
}

enum { SHORT_ROW = 64, SHORT_ROWS = 128 };

/* Many short rows that follow on: turned, so that they are combined side by side; sums of floats are one vector or a few each. */
static void short_rows(const job *j, int64_t from, int64_t to) {
    _Alignas(64) char block[SHORT_ROW * SHORT_ROWS * 8];
    char identity[16]; /* also of sums: that of -0 alone is +0 */
    float wide[SHORT_ROWS];
    const bool sums = j->op == HLO_ADD && j->acc == TT_F32;
    fast_identity(j->op, j->acc, identity);
    for (int64_t n; from < to; from += n) {
        n = loop_min(SHORT_ROWS, to - from);
        char *acc = j->result + from * j->acc_size;
        if (sums) {
            const void *x = j->x + from * j->inner * j->size;
            if (j->widen)
                j->widen(block, x, NULL, NULL, n * j->inner);
            x = j->widen ? block : x;
            if (j->squares)
                j->multiply(block, x, x, NULL, n * j->inner);
            eng_kernels_get()->sum_short_rows(j->squares ? (const void *)block : x, n, j->inner, (float *)(void *)acc);
            continue;
        }
        eng_kernels_get()->transpose(j->size, block, n, j->x + from * j->inner * j->size, j->inner, n, j->inner);
        fast_fill(acc, identity, j->acc_size, n);
        for (int64_t k = 0; k < j->inner; k++) {
            const char *x = block + k * n * j->size;
            if (j->acc != j->dtype) {
                j->widen(wide, x, NULL, NULL, n);
                x = (const char *)wide;
            }
            j->combine(acc, acc, x, NULL, n);
        }
    }
}

static void rows_range(void *context, int64_t from, int64_t to) {
    const job *j = context;
    if (j->shorts) {
        short_rows(j, from, to);
        return;
    }
    if (j->units == 1 && !j->wide) { /* one piece is one result */
        for (int64_t o = from; o < to; o++)
            j->row(j->result + o * j->acc_size, j->x + offset_of(&j->kept, j->kept.n, o) * j->size, NULL, NULL, j->inner);
        return;
    }
    for (int64_t i = from; i < to; i++) {
        int64_t o = i / j->segments, s = i % j->segments, u = s * j->segment;
        row_segment(j, o, u, loop_min(u + j->segment, j->units), j->result + (s * j->n_out + o) * j->acc_size);
    }
}

/* ---- kept innermost ---- */

typedef struct columns { char *acc; float *f32, *converted; } columns;

static void flush(const job *j, columns *c, int64_t width) {
    double *acc = (double *)(void *)c->acc;
    if (j->op == HLO_ADD) {
        for (int64_t k = 0; k < width; k++)
            acc[k] += (double)c->f32[k], c->f32[k] = 0;
    } else {
        for (int64_t k = 0; k < width; k++)
            acc[k] *= (double)c->f32[k], c->f32[k] = 1;
    }
}

static void add_rows(const job *j, columns *c, const char *x, int64_t width) {
    if (!j->wide) {
        j->combine(c->acc, c->acc, x, NULL, width);
        return;
    }
    if (j->widen) {
        j->widen(c->converted, x, NULL, NULL, width);
        x = (const char *)c->converted;
    }
    if (j->squares) {
        j->multiply(c->converted, x, x, NULL, width);
        x = (const char *)c->converted;
    }
    j->add(c->f32, c->f32, x, NULL, width);
}

/* acc += four rows, one after the other. */
#define FOUR_ROWS(name, T, get)                                                                                    \
    static FAST_CLONES void name(float *restrict acc, const T *restrict x, int64_t step, int64_t width) {         \
        for (int64_t k = 0; k < width; k++)                                                                        \
            acc[k] = acc[k] + get(x[k]) + get(x[k + step]) + get(x[k + 2 * step]) + get(x[k + 3 * step]);          \
    }
#define SAME(v) (v)
static inline float of_bf16(uint16_t v) {
    const uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
FOUR_ROWS(four_f32, float, SAME)
FOUR_ROWS(four_bf16, uint16_t, of_bf16)

/* Rows of [u, to) that add_rows may take four at a time; `whole` units have full rows. */
static bool takes_four(const job *j, int64_t u, int64_t to, int64_t whole, int since) {
    return j->wide && j->op == HLO_ADD && !j->squares && (j->dtype == TT_F32 || j->dtype == TT_BF16) && u + 4 <= to && since + 4 <= FLUSH &&
           u % j->per_row + 4 <= whole;
}

static void column_segment(const job *j, columns *c, const char *base, int64_t full, int64_t from, int64_t to) {
    char identity[16];
    float one = j->op == HLO_MULTIPLY;
    int last = j->reduced.n - 1, since = 0;
    int64_t row_step = last >= 0 ? j->reduced.stride[last] : 0, last_size = last >= 0 ? j->reduced.size[last] : 1;
    fast_identity(j->op, j->acc, identity);
    fast_fill(c->acc, identity, j->acc_size, full);
    if (j->wide)
        fast_fill(c->f32, &one, 4, full);
    for (int64_t u = from, n; u < to; u += n) {
        int64_t outer = u / j->per_row, first = u % j->per_row * j->group;
        const char *x = base + (offset_of(&j->reduced, last, outer) + first * row_step) * j->size;
        n = takes_four(j, u, to, last_size / j->group, since) ? 4 : 1;
        since += (int)n - 1;
        if (n == 4 && j->dtype == TT_F32)
            four_f32(c->f32, (const float *)(const void *)x, j->group * row_step, full);
        else if (n == 4)
            four_bf16(c->f32, (const uint16_t *)(const void *)x, j->group * row_step, full);
        else
            add_rows(j, c, x, j->group > 1 ? loop_min(j->group, last_size - first) * j->inner : full);
        if (j->wide && ++since == FLUSH) {
            flush(j, c, full);
            since = 0;
        }
    }
    if (j->wide && since)
        flush(j, c, full);
}

static void columns_range(void *context, int64_t from, int64_t to) {
    const job *j = context;
    char *scratch = eng_scratch_need(FAST_SCRATCH, COLUMNS * (16 + 4 + 4));
    columns c = {scratch, (float *)(void *)(scratch + COLUMNS * 16), (float *)(void *)(scratch + COLUMNS * 20)};
    for (int64_t i = from; i < to; i++) {
        int64_t s = i % j->segments, block = i / j->segments % j->blocks, outer = i / j->segments / j->blocks;
        int64_t at = block * j->width, width = loop_min(j->width, j->inner - at);
        const char *base = j->x + (offset_of(&j->kept, j->kept.n - 1, outer) + at) * j->size;
        int64_t full = j->group > 1 ? j->group * j->inner : width, u = s * j->segment;
        column_segment(j, &c, base, full, u, loop_min(u + j->segment, j->units));
        for (int64_t k = 1; k < j->group; k++)
            j->combine(c.acc, c.acc, c.acc + k * j->inner * j->acc_size, NULL, j->inner);
        memcpy(j->result + (s * j->n_out + outer * j->inner + at) * j->acc_size, c.acc, (size_t)(width * j->acc_size));
    }
}

/* ---- both ---- */

static void plan_segments(job *j, int64_t items, int64_t total) {
    int64_t want = loop_max(1, loop_min(64, total / GRAIN));
    j->segments = items >= want ? 1 : loop_min(j->units, (want + items - 1) / items);
    j->segment = (j->units + j->segments - 1) / j->segments;
    j->segments = (j->units + j->segment - 1) / j->segment;
}

static void fold(job *j) {
    j->n_out /= j->fold;
    for (int64_t i = 0; i < j->n_out; i++) {
        char *to = j->result + i * j->acc_size;
        const char *from = j->result + i * j->fold * j->acc_size;
        if (j->wide && j->op == HLO_ADD) {
            double total = 0;
            for (int64_t k = 0; k < j->fold; k++)
                total += ((const double *)(const void *)from)[k];
            memcpy(to, &total, sizeof total);
            continue;
        }
        memmove(to, from, (size_t)j->acc_size);
        for (int64_t k = 1; k < j->fold; k++)
            j->combine(to, to, from + k * j->acc_size, NULL, 1);
    }
}

/* result[n_out] op init, then the result's own type. */
static void finish(job *j, const eng_tensor *init, void *out) {
    char start[16], identity[16], first[16];
    for (int64_t s = 1; s < j->segments; s++)
        j->combine(j->result, j->result, j->result + s * j->n_out * j->acc_size, NULL, j->n_out);
    if (j->fold > 1)
        fold(j);
    const size_t size = (size_t)tt_dtype_size(j->out);
    fast_identity(j->op, j->out, identity);
    memcpy(first, init->data, size);
    if (memcmp(first, identity, size)) {
        loop_kernel to_acc = loop_find(HLO_CONVERT, j->out, j->acc, 0);
        if (j->acc == j->out)
            memcpy(start, first, size);
        else
            to_acc(start, first, NULL, NULL, 1);
        for (int64_t i = 0; i < j->n_out; i++)
            j->combine(j->result + i * j->acc_size, start, j->result + i * j->acc_size, NULL, 1);
    }
    if (j->acc != j->out)
        loop_find(HLO_CONVERT, j->acc, j->out, 0)(out, j->result, NULL, NULL, j->n_out);
    else if ((char *)out != j->result)
        memcpy(out, j->result, (size_t)j->n_out * size);
}

/* Outer and short inner reduced runs around one kept run, all dense: [outer, kept * inner] with only the outer run reduced. */
static bool as_columns(job *j) {
    enum { SHORT = 64 };
    runs *k = &j->kept, *r = &j->reduced;
    if (k->n != 1 || r->n != 2 || r->size[1] > SHORT || k->stride[0] != r->size[1] || r->stride[0] != k->size[0] * r->size[1])
        return false;
    j->fold = r->size[1];
    *k = (runs){.n = 1, .size = {k->size[0] * j->fold}, .stride = {1}, .count = k->size[0] * j->fold};
    *r = (runs){.n = 1, .size = {r->size[0]}, .stride = {k->size[0]}, .count = r->size[0]};
    j->n_out *= j->fold;
    return true;
}

static bool job_kernels(job *j, bool rows) {
    bool narrow = j->dtype == TT_F32 || j->dtype == TT_BF16 || j->dtype == TT_F16;
    bool sums = j->op == HLO_ADD || j->op == HLO_MULTIPLY;
    j->wide = narrow && sums && !(rows && j->units == 1);
    j->acc = j->wide ? TT_F64 : rows && narrow ? TT_F32 : j->dtype;
    j->acc_size = tt_dtype_size(j->acc);
    j->row = loop_find((j->squares ? HLO_CHLO_SQUARE : j->op) + LOOP_ROW, j->dtype, j->dtype, 0);
    j->multiply = loop_find(HLO_MULTIPLY, TT_F32, TT_F32, 0);
    j->combine = loop_find(j->op, j->acc, j->acc, 0);
    j->add = loop_find(j->op, TT_F32, TT_F32, 0);
    j->widen = j->dtype == TT_F32 ? NULL : loop_find(HLO_CONVERT, j->dtype, TT_F32, 0);
    return j->combine && (!rows || j->row);
}

/* How the node is computed, its arrays aside; false: not here. */
static bool plan(const hlo_graph *g, const hlo_node *node, const hlo_type *x, const hlo_type *y, job *j) {
    *j = (job){.op = fast_region_op(g, node->regions[0]), .dtype = x->dtype, .out = y->dtype, .group = 1, .blocks = 1};
    const bool widens = j->op == HLO_ADD && j->out == TT_F32 && (j->dtype == TT_BF16 || j->dtype == TT_F16); /* program_fold.c */
    j->squares = hlo_attr_find(node, HLO_A_TT_SQUARES) != NULL;
    if (j->op == HLO_INVALID || hlo_type_of(g, node->regions[0]->params[0])->dtype != j->out || (j->dtype != j->out && !widens))
        return false;
    j->rows = split(x, hlo_attr_ints(node, HLO_A_DIMENSIONS), &j->kept, &j->reduced);
    j->size = tt_dtype_size(j->dtype);
    j->n_out = hlo_type_elements(y);
    j->total = hlo_type_elements(x);
    if (!j->n_out || !j->total)
        return true;
    if (j->rows && as_columns(j))
        j->rows = false;
    if (j->rows) {
        if (!j->reduced.n)
            runs_add(&j->reduced, 1, 1, false);
        j->inner = j->reduced.size[j->reduced.n - 1];
        j->per_row = (j->inner + PIECE - 1) / PIECE;
        j->units = j->reduced.count / j->inner * j->per_row;
        j->items = j->n_out;
    } else {
        int last = j->reduced.n - 1;
        j->inner = j->kept.size[j->kept.n - 1];
        j->width = loop_min(j->inner, COLUMNS);
        j->blocks = (j->inner + j->width - 1) / j->width;
        if (last >= 0 && j->reduced.stride[last] == j->inner && j->inner <= COLUMNS / 2)
            j->group = COLUMNS / j->inner;
        int64_t last_size = last >= 0 ? j->reduced.size[last] : 1;
        j->group = loop_min(j->group, last_size);
        j->per_row = (last_size + j->group - 1) / j->group;
        j->units = j->reduced.count / last_size * j->per_row;
        j->items = j->n_out / j->inner * j->blocks;
    }
    if (!job_kernels(j, j->rows))
        return false;
    j->shorts = j->rows && j->units == 1 && !j->wide && j->inner > 1 && j->inner <= SHORT_ROW && j->n_out >= 16 && j->reduced.n == 1 &&
                j->kept.n == 1 && j->kept.stride[0] == j->inner && (j->size == 2 || j->size == 4 || j->size == 8) &&
                (j->acc == j->dtype || j->widen);
    plan_segments(j, j->items, j->total);
    return true;
}

static tt_status run_job(eng_run *run, job *j, const eng_tensor *init, void *out) {
    j->result = out;
    if (j->acc != j->out || j->segments > 1 || j->fold > 1) {
        j->result = run->arena ? tt_arena_alloc(run->arena, (size_t)(j->segments * j->n_out * j->acc_size)) : NULL;
        if (!j->result)
            return eng_not_mine;
    }
    int64_t n = j->items * j->segments;
    fast_ranges(n, n * GRAIN / loop_max(j->total, 1), j->rows ? rows_range : columns_range, j);
    finish(j, init, out);
    return TT_OK;
}

tt_status eng_fast_reduce(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    job j;
    if (node->n_operands == 4)
        return eng_fast_reduce_arg(run, g, node, in, out);
    if (node->n_operands != 2 || node->n_regions != 1 || in[1].type.dtype != out->type.dtype || !plan(g, node, &in->type, &out->type, &j))
        return eng_not_mine;
    if (!j.n_out)
        return TT_OK;
    if (!j.total) {
        fast_fill(out->data, in[1].data, tt_dtype_size(j.out), j.n_out);
        return TT_OK;
    }
    j.x = in->data;
    return run_job(run, &j, &in[1], out->data);
}

/* ---- in slices ---- */

int64_t eng_reduce_slices(const hlo_graph *g, const hlo_node *node) {
    job j;
    if (node->op != HLO_REDUCE || node->n_operands != 2 || node->n_regions != 1)
        return 0;
    const hlo_type *x = hlo_type_of(g, node->operands[0]);
    if (hlo_type_of(g, node->operands[1])->dtype != node->type->dtype || !plan(g, node, x, node->type, &j) || !j.n_out || !j.total)
        return 0;
    const bool leads = j.kept.n && (!j.reduced.n || j.kept.stride[0] > j.reduced.stride[0]);
    return leads && j.fold <= 1 && (j.rows || j.kept.n > 1) ? j.kept.size[0] : 0;
}

tt_status eng_reduce_range(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, const eng_tensor *out, int64_t slices,
                           int64_t from, int64_t to) {
    job j;
    if (!plan(g, node, &in->type, &out->type, &j)) /* of the whole: sums are cut as they are there */
        return eng_not_mine;
    const int64_t leading = j.kept.size[0], per = leading / slices, results = j.n_out / leading;
    j.x = (const char *)in->data + from * per * j.kept.stride[0] * j.size;
    j.kept.size[0] = (to - from) * per;
    j.items = j.items / leading * j.kept.size[0];
    j.total = j.total / leading * j.kept.size[0];
    j.n_out = results * j.kept.size[0];
    return run_job(run, &j, &in[1], (char *)out->data + from * per * results * tt_dtype_size(j.out));
}
