/* fast_index.c - index vectors to offsets, and gather.
 *
 * A gather first turns a block of index vectors into byte offsets; then the result is written in its own order, each dim of it
 * either a window's (a step in the operand) or a batch's (a step in the offsets). */
#include "engine/fast_index.h"
#include "engine/ref.h"
#include <stdatomic.h>
#include <stdlib.h>

static bool has(hlo_ints list, int64_t v) {
    for (int i = 0; i < list.n; i++)
        if (list.v[i] == v)
            return true;
    return false;
}

static bool within(hlo_ints list, int64_t end) {
    for (int i = 0; i < list.n; i++)
        if (list.v[i] < 0 || list.v[i] >= end)
            return false;
    return true;
}

bool index_plan_init(index_plan *p, const hlo_graph *g, const hlo_node *node, const hlo_dims *dims, const eng_tensor *x,
                     const eng_tensor *indices, const eng_tensor *other, const int64_t *sizes) {
    int i_rank = indices->type.rank;
    *p = (index_plan){.g = g, .node = node, .dims = dims, .indices = indices, .x_dims = x->type.dims, .rank = x->type.rank, .n = 1, .vector = 1};
    p->checked = hlo_attr_find(node, HLO_A_TT_BOUNDS) != NULL;
    if (!tt_is_int(indices->type.dtype) || dims->index_vector_dim < 0 || dims->index_vector_dim > i_rank || !within(dims->a, other->type.rank) ||
        !within(dims->b, p->rank) || !within(dims->c, p->rank) || !within(dims->d, i_rank) || !within(dims->e, p->rank) || dims->c.n != dims->d.n)
        return false;
    int64_t stride = 1, steps[HLO_MAX_RANK];
    for (int i = i_rank; i-- > 0; stride *= indices->type.dims[i])
        steps[i] = stride;
    for (int i = 0; i < i_rank; i++) {
        if (i == dims->index_vector_dim) {
            p->vector = indices->type.dims[i];
            p->vector_step = steps[i];
            continue;
        }
        p->batch_steps[p->n_batch] = steps[i];
        p->batch_dims[p->n_batch++] = indices->type.dims[i];
        p->n *= indices->type.dims[i];
    }
    for (int d = 0; d < p->rank; d++) {
        p->size[d] = sizes[d];
        if (sizes[d] < 0 || sizes[d] > x->type.dims[d])
            return false;
        if (!has(dims->b, d) && !has(dims->c, d))
            p->window_of[p->n_window++] = d;
        else if (sizes[d] > 1)
            return false;
    }
    for (int d = 0, n = 0; d < other->type.rank; d++)
        if (!has(dims->a, d)) {
            if (n == p->n_batch || other->type.dims[d] != p->batch_dims[n])
                return false;
            p->batch_at[n++] = d;
        }
    if (p->n_window != dims->a.n || dims->e.n != p->vector || other->type.rank != p->n_window + p->n_batch || has(dims->d, dims->index_vector_dim))
        return false;
    for (int i = 0; i < p->n_window; i++)
        if (other->type.dims[dims->a.v[i]] != p->size[p->window_of[i]])
            return false;
    p->rows = dims->index_vector_dim >= i_rank - 1;
    fast_strides(&x->type, p->strides);
    return true;
}

/* The index for operand dim e.v[k] of the window whose vector starts at element `base`. */
static inline int64_t read_index(const index_plan *p, int64_t at) {
    if (p->indices->type.dtype == TT_I64)
        return ((const int64_t *)p->indices->data)[at];
    if (p->indices->type.dtype == TT_I32)
        return ((const int32_t *)p->indices->data)[at];
    return ref_index(p->indices, at);
}

static int64_t vector_base(const index_plan *p, int64_t window) {
    int64_t base = 0;
    if (p->rows)
        return window * p->vector;
    for (int i = p->n_batch; i-- > 0;) {
        base += window % p->batch_dims[i] * p->batch_steps[i];
        window /= p->batch_dims[i];
    }
    return base;
}

/* What the batching dims add. */
static int64_t batching_offset(const index_plan *p, int64_t window) {
    int64_t at[HLO_MAX_RANK], offset = 0;
    for (int i = p->n_batch; i-- > 0;) {
        at[i] = window % p->batch_dims[i];
        window /= p->batch_dims[i];
    }
    for (int i = 0; i < p->dims->c.n; i++) {
        int64_t from = p->dims->d.v[i];
        offset += at[from - (from > p->dims->index_vector_dim)] * p->strides[p->dims->c.v[i]];
    }
    return offset;
}

/* Offsets base + k * step + index * stride; false if an index lies outside [0, last]. */
#define SINGLE_RUN(name, T)                                                                                            \
    static FAST_CLONES bool name(const T *index, int64_t last, int64_t base, int64_t step, int64_t stride, int64_t n, int64_t *out) { \
        uint64_t most = 0;                                                                                             \
        for (int64_t k = 0; k < n; k++) {                                                                              \
            const uint64_t i = (uint64_t)(int64_t)index[k];                                                            \
            most = i > most ? i : most;                                                                                \
            out[k] = (int64_t)((uint64_t)(base + k * step) + i * (uint64_t)stride); /* of a bad index: wraps, unused */     \
        }                                                                                                              \
        return most <= (uint64_t)last;                                                                                 \
    }
SINGLE_RUN(run_i64, int64_t)
SINGLE_RUN(run_i32, int32_t)

/* One index a window, lying in the windows' order: along the innermost batch dim only the index changes, and maybe one
 * batching dim with it. */
static int64_t single_offsets(const index_plan *p, int64_t from, int64_t n, int64_t *out) {
    const int64_t d = p->dims->e.v[0], last = p->x_dims[d] - p->size[d], stride = p->strides[d];
    const int64_t dropped = p->size[d] > 1 ? INDEX_PARTLY_OUT : INDEX_DROPPED;
    int inner = p->n_batch - 1;
    while (inner > 0 && p->batch_dims[inner] == 1)
        inner--;
    int64_t at[HLO_MAX_RANK] = {0}, steps[HLO_MAX_RANK] = {0}, base = 0;
    for (int i = 0; i < p->dims->c.n; i++) {
        const int64_t batch = p->dims->d.v[i];
        steps[batch - (batch > p->dims->index_vector_dim)] += p->strides[p->dims->c.v[i]];
    }
    int64_t outer = from;
    for (int i = inner; i >= 0; i--) {
        at[i] = outer % p->batch_dims[i];
        outer /= p->batch_dims[i];
    }
    for (int64_t w = 0; w < n;) {
        int64_t run = inner >= 0 ? loop_min(n - w, p->batch_dims[inner] - at[inner]) : 1, step = inner >= 0 ? steps[inner] : 0;
        base = 0;
        for (int i = 0; i <= inner; i++)
            base += at[i] * steps[i];
        const void *data = p->indices->data;
        const tt_dtype dtype = p->indices->type.dtype;
        bool done = last >= 0 && ((dtype == TT_I64 && run_i64((const int64_t *)data + from + w, last, base, step, stride, run, out + w)) ||
                                  (dtype == TT_I32 && run_i32((const int32_t *)data + from + w, last, base, step, stride, run, out + w)));
        for (int64_t k = 0; k < run && !done; k++) {
            int64_t i = read_index(p, from + w + k);
            if (i < 0 || i > last) {
                if (p->checked)
                    return from + w + k;
                if (!p->clamp) {
                    out[w + k] = dropped;
                    continue;
                }
                i = i < 0 ? 0 : last;
            }
            out[w + k] = base + k * step + i * stride;
        }
        w += run;
        if (inner >= 0)
            at[inner] += run;
        for (int i = inner; i > 0 && at[i] == p->batch_dims[i]; i--) {
            at[i] = 0;
            at[i - 1]++;
        }
    }
    return -1;
}

int64_t index_plan_offsets(const index_plan *p, int64_t from, int64_t n, int64_t *out) {
    if (p->rows && p->vector == 1)
        return single_offsets(p, from, n, out);
    int64_t step = p->rows ? 1 : p->vector_step;
    for (int64_t w = 0; w < n; w++) {
        int64_t base = vector_base(p, from + w), offset = p->dims->c.n ? batching_offset(p, from + w) : 0;
        for (int64_t k = 0; k < p->vector; k++) {
            int64_t d = p->dims->e.v[k], i = read_index(p, base + k * step), last = p->x_dims[d] - p->size[d];
            if (i < 0 || i > last) {
                if (p->checked)
                    return from + w;
                if (!p->clamp) {
                    offset = p->size[d] > 1 ? INDEX_PARTLY_OUT : INDEX_DROPPED;
                    break;
                }
                i = i < 0 ? 0 : last;
            }
            offset += i * p->strides[d];
        }
        out[w] = offset;
    }
    return -1;
}

tt_status index_plan_fail(const index_plan *p, int64_t window) {
    int64_t base = vector_base(p, window), step = p->rows ? 1 : p->vector_step;
    for (int64_t k = 0; k < p->vector; k++) {
        int64_t d = p->dims->e.v[k], i = read_index(p, base + k * step), bound = p->x_dims[d] - p->size[d] + 1;
        if (i < 0 || i >= bound)
            return ref_bounds_fail(p->g, p->node, i, bound, (int)d);
    }
    return TT_OK;
}

/* ---- gather ---- */

enum { TABLE = 2048 }; /* windows whose offsets are made at once */

typedef struct nest {
    const index_plan *p;
    int size, n;                              /* result dims from the outside in, those of one kind merged */
    int64_t dims[HLO_MAX_RANK + 1], step[HLO_MAX_RANK + 1]; /* step: bytes of the operand, or windows */
    bool is_batch[HLO_MAX_RANK + 1];
    int64_t window;                           /* elements of one window */
    const char *x;
    char *out;
    const int64_t *table;                     /* of all windows, where batch dims do not come first */
    _Atomic int64_t failed;
} nest;

static void nest_init(nest *s, const index_plan *p, const hlo_type *out) {
    int64_t of_batch[HLO_MAX_RANK], windows = 1, step;
    bool batch[HLO_MAX_RANK] = {false};
    for (int i = p->n_batch; i-- > 0; windows *= p->batch_dims[i]) {
        batch[p->batch_at[i]] = true;
        of_batch[p->batch_at[i]] = windows;
    }
    s->window = 1;
    for (int d = 0, w = 0; d < out->rank; d++) {
        step = batch[d] ? of_batch[d] : p->strides[p->window_of[w]];
        w += !batch[d];
        s->window *= batch[d] ? 1 : out->dims[d];
        if (out->dims[d] == 1)
            continue;
        if (s->n && s->is_batch[s->n - 1] == batch[d] && s->step[s->n - 1] == step * out->dims[d]) {
            s->dims[s->n - 1] *= out->dims[d];
            s->step[s->n - 1] = step;
        } else {
            s->dims[s->n] = out->dims[d];
            s->step[s->n] = step;
            s->is_batch[s->n++] = batch[d];
        }
    }
}

#define PICK(bytes, T)                                                        \
    case bytes: {                                                             \
        T *d = (T *)(void *)dst;                                              \
        if (step == 1)                                                        \
            for (int64_t i = 0; i < n; i++)                                   \
                memcpy(&d[i], src + table[i], bytes);                         \
        else                                                                  \
            for (int64_t i = 0; i < n; i++)                                   \
                memcpy(&d[i], src + table[i * step], bytes);                  \
        return;                                                               \
    }

static __attribute__((noinline, optimize("O3", "unroll-loops"))) void pick(char *dst, const char *src, const int64_t *table, int64_t step, int size, int64_t n) {
    switch (size) {
        PICK(1, uint8_t)
        PICK(2, uint16_t)
        PICK(4, uint32_t)
        PICK(8, uint64_t)
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * size, src + table[i * step], (size_t)size);
    }
}

/* Rows side by side from rows anywhere: those to come are asked for, or each waits for memory in turn. */
static char *write_rows(char *dst, const char *src, const int64_t *table, int64_t step, int64_t n, int64_t bytes) {
    enum { AHEAD = 8, ASKED = 256 };
    for (int64_t i = 0; i < n; i++) {
        for (int64_t at = 0; i + AHEAD < n && at < loop_min(bytes, ASKED); at += 64)
            __builtin_prefetch(src + table[(i + AHEAD) * step] + at);
        memcpy(dst, src + table[i * step], (size_t)bytes);
        dst += bytes;
    }
    return dst;
}

/* Writes what dims from d inwards say; returns where it stopped. */
static char *write_dims(const nest *s, int d, char *dst, const char *src, const int64_t *table) {
    int64_t n = d < s->n ? s->dims[d] : 1;
    if (d >= s->n) {
        memcpy(dst, src + table[0], (size_t)s->size);
        return dst + s->size;
    }
    if (d == s->n - 1) {
        if (s->is_batch[d])
            pick(dst, src, table, s->step[d], s->size, n);
        else if (s->step[d] == s->size)
            memcpy(dst, src + table[0], (size_t)(n * s->size));
        else
            for (int64_t i = 0; i < n; i++)
                memcpy(dst + i * s->size, src + table[0] + i * s->step[d], (size_t)s->size);
        return dst + n * s->size;
    }
    if (d == s->n - 2 && s->is_batch[d] && !s->is_batch[d + 1] && s->step[d + 1] == s->size)
        return write_rows(dst, src, table, s->step[d], n, s->dims[d + 1] * s->size);
    for (int64_t i = 0; i < n; i++)
        dst = s->is_batch[d] ? write_dims(s, d + 1, dst, src, table + i * s->step[d]) : write_dims(s, d + 1, dst, src + i * s->step[d], table);
    return dst;
}

static void fail_at(nest *s, int64_t window) {
    int64_t seen = atomic_load(&s->failed);
    while ((seen < 0 || window < seen) && !atomic_compare_exchange_weak(&s->failed, &seen, window))
        ;
}

/* Batch dims first: blocks of windows, each with its own offsets. */
static void blocks_range(void *context, int64_t from, int64_t to) {
    nest *s = context;
    int64_t table[TABLE];
    for (int64_t w = from; w < to;) {
        int64_t n = loop_min(TABLE, to - w), bad = index_plan_offsets(s->p, w, n, table);
        if (bad >= 0) {
            fail_at(s, bad);
            return;
        }
        char *dst = s->out + w * s->window * s->size;
        nest inner = {.size = s->size, .n = 0};
        if (s->n && s->is_batch[0]) { /* n windows, then the dims inside */
            inner.dims[0] = n;
            inner.step[0] = 1;
            inner.is_batch[0] = true;
            inner.n = 1;
        }
        for (int d = s->n && s->is_batch[0]; d < s->n; d++) {
            inner.dims[inner.n] = s->dims[d];
            inner.step[inner.n] = s->step[d];
            inner.is_batch[inner.n++] = false;
        }
        write_dims(&inner, 0, dst, s->x, table);
        w += n;
    }
}

static void outer_range(void *context, int64_t from, int64_t to) {
    const nest *s = context;
    int64_t per = 1;
    for (int d = 1; d < s->n; d++)
        per *= s->dims[d];
    for (int64_t i = from; i < to; i++)
        write_dims(s, 1, s->out + i * per * s->size, s->x + (s->is_batch[0] ? 0 : i * s->step[0]), s->table + (s->is_batch[0] ? i * s->step[0] : 0));
}

tt_status eng_fast_gather(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    const hlo_attr *a = hlo_attr_find(node, HLO_A_DIMENSION_NUMBERS);
    hlo_ints sizes = hlo_attr_ints(node, HLO_A_SLICE_SIZES);
    index_plan p;
    (void)run;
    if (!a || !a->dims || sizes.n != in->type.rank || !index_plan_init(&p, g, node, a->dims, in, in + 1, out, sizes.v))
        return eng_not_mine;
    int64_t total = hlo_type_elements(&out->type), bytes = hlo_type_bytes(&out->type);
    if (!total)
        return TT_OK;
    p.clamp = true;
    nest s = {.p = &p, .size = tt_dtype_size(in->type.dtype), .x = in->data, .out = out->data, .failed = -1};
    nest_init(&s, &p, &out->type);
    bool batch_first = true;
    for (int i = 0; i < p.n_batch; i++)
        batch_first = batch_first && p.batch_at[i] == i;
    if (batch_first) {
        int64_t cost = s.window * s.size + 16;
        fast_ranges(p.n, (1 << 18) / cost, blocks_range, &s);
    } else {
        int64_t *table = malloc(sizeof *table * (size_t)p.n);
        if (!table)
            return eng_not_mine;
        int64_t bad = index_plan_offsets(&p, 0, p.n, table);
        s.table = table;
        if (bad >= 0)
            fail_at(&s, bad);
        else if (s.n)
            fast_ranges(s.dims[0], s.dims[0] * (1 << 18) / (bytes + 1), outer_range, &s);
        else
            write_dims(&s, 0, s.out, s.x, table);
        free(table);
    }
    int64_t failed = atomic_load(&s.failed);
    return failed >= 0 ? index_plan_fail(&p, failed) : TT_OK;
}
