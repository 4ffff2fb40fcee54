/* fast_scatter.c - scatter of one operand whose region is one op (scatter-add and its kin) or takes the update.
 *
 * Windows that meet must be combined in order, so work is shared out by columns of the window, never by windows. A window that lies
 * partly outside, where its elements would have to be dropped singly, is left to the reference kernel. */
#include "engine/fast_index.h"
#include "hlo/build.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 1 << 21 };

typedef struct scatter {
    const index_plan *p;
    const int64_t *offsets;
    int size, n_outer;                   /* window dims outside the innermost run */
    int64_t dims[HLO_MAX_RANK], to[HLO_MAX_RANK], from[HLO_MAX_RANK];
    int64_t run;                         /* elements side by side in operand and updates */
    int64_t batch[HLO_MAX_RANK];         /* steps in the updates, bytes, per batch dim */
    bool rows;                           /* windows lie one after the other in the updates */
    int64_t window_bytes;
    loop_kernel combine;                 /* NULL: take the update */
    hlo_op op;
    tt_dtype dtype;
    const char *updates;
    char *out;
    int64_t outer_count;
    int64_t group;                       /* single elements: windows that are shared out together */
    _Atomic int64_t failed;
} scatter;

static int64_t update_offset(const scatter *s, int64_t window) {
    int64_t offset = 0;
    if (s->rows)
        return window * s->window_bytes;
    for (int i = s->p->n_batch; i-- > 0;) {
        offset += window % s->p->batch_dims[i] * s->batch[i];
        window /= s->p->batch_dims[i];
    }
    return offset;
}

/* Single elements of the commonest kinds, whose offsets are made as they are needed. */
enum { TABLE = 2048, NO_KIND = -1, LARGER_F32 = 200, SMALLER_F32 };

static bool is_single(const scatter *s) {
    return s->rows && s->run == 1 && !s->n_outer;
}

static int element_kind(const scatter *s) {
    const tt_dtype t = s->dtype;
    if (!s->combine)
        return s->size == 1 || s->size == 2 || s->size == 4 || s->size == 8 ? s->size : NO_KIND;
    if ((s->op == HLO_MAXIMUM || s->op == HLO_MINIMUM) && t == TT_F32)
        return s->op == HLO_MAXIMUM ? LARGER_F32 : SMALLER_F32;
    return s->op == HLO_ADD && (t == TT_F32 || t == TT_F64 || t == TT_I32 || t == TT_I64 || t == TT_BF16) ? (int)t + 100 : NO_KIND;
}

static inline uint16_t add_bf16(uint16_t x, uint16_t y) {
    return tt_f32_to_bf16(tt_bf16_to_f32(x) + tt_bf16_to_f32(y));
}

/* NaN wins, +0 over -0 (of the smaller: -0). */
static inline float extreme_f32(float x, float y, bool larger) {
    const float most = x == y ? (signbit(x) == larger ? y : x) : (x > y) == larger ? x : y;
    return x != x ? x : y != y ? y : most;
}

#define ELEMENTS(T, expr)                                                     \
    {                                                                         \
        const T *u = (const T *)updates;                                      \
        for (int64_t i = 0; i < n; i++) {                                     \
            T *x = (T *)(void *)(out + table[i]);                             \
            *x = expr;                                                        \
        }                                                                     \
        break;                                                                \
    }

/* n updates that follow on, to places all of which there are. */
static __attribute__((optimize("O3", "unroll-loops"))) void put_elements(int kind, char *out, const void *updates, int64_t n, const int64_t *table) {
    switch (kind) {
    case 1: ELEMENTS(uint8_t, u[i])
    case 2: ELEMENTS(uint16_t, u[i])
    case 4: ELEMENTS(uint32_t, u[i])
    case 8: ELEMENTS(uint64_t, u[i])
    case TT_F32 + 100: ELEMENTS(float, *x + u[i])
    case TT_F64 + 100: ELEMENTS(double, *x + u[i])
    case TT_I32 + 100: ELEMENTS(uint32_t, *x + u[i])
    case TT_I64 + 100: ELEMENTS(uint64_t, *x + u[i])
    case TT_BF16 + 100: ELEMENTS(uint16_t, add_bf16(*x, u[i]))
    case LARGER_F32: ELEMENTS(float, extreme_f32(*x, u[i], true))
    case SMALLER_F32: ELEMENTS(float, extreme_f32(*x, u[i], false))
    }
}

/* The commonest of all, f32 added where 64-bit indices say: eight of them are looked at, then used. Returns how many were done before one
 * that is outside. */
static __attribute__((optimize("O3", "unroll-loops"))) int64_t add_at(float *x, int64_t last, const int64_t *index, const float *u, int64_t n) {
    enum { AT_ONCE = 8 };
    int64_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        uint64_t signs = 0; /* of the index, and of what is left after it */
        for (int k = 0; k < AT_ONCE; k++)
            signs |= (uint64_t)index[i + k] | ((uint64_t)last - (uint64_t)index[i + k]);
        if (signs >> 63)
            break;
        for (int k = 0; k < AT_ONCE; k++)
            x[index[i + k]] += u[i + k];
    }
    for (; i < n && index[i] >= 0 && index[i] <= last; i++)
        x[index[i]] += u[i];
    return i;
}

static bool adds_directly(const scatter *s) {
    const index_plan *p = s->p;
    return s->combine && s->op == HLO_ADD && s->dtype == TT_F32 && p->rows && p->vector == 1 && !p->dims->c.n && p->indices->type.dtype == TT_I64 &&
           p->strides[p->dims->e.v[0]] == s->size && p->size[p->dims->e.v[0]] == 1;
}

static FAST_CLONES bool none_dropped(const int64_t *table, int64_t n) {
    int64_t signs = 0;
    for (int64_t i = 0; i < n; i++)
        signs |= table[i];
    return signs >= 0;
}

static void put_kept(const scatter *s, int kind, char *out, const char *updates, int64_t n, const int64_t *table) {
    if (none_dropped(table, n))
        put_elements(kind, out, updates, n, table);
    else
        for (int64_t i = 0; i < n; i++)
            if (table[i] >= 0)
                put_elements(kind, out, updates + i * s->size, 1, table + i);
}

static void elements_range(void *context, int64_t from, int64_t to) {
    scatter *s = context;
    const int kind = element_kind(s);
    const bool direct = adds_directly(s);
    int64_t table[TABLE];
    for (int64_t at = from * s->group, end = to * s->group, n; at < end; at += n) {
        if (direct) {
            n = add_at((float *)(void *)s->out, s->p->x_dims[s->p->dims->e.v[0]] - 1, (const int64_t *)s->p->indices->data + at,
                       (const float *)(const void *)s->updates + at, end - at);
            if (n)
                continue;
        }
        n = loop_min(TABLE, end - at);
        const int64_t bad = index_plan_offsets(s->p, at, n, table);
        if (bad >= 0) {
            int64_t seen = atomic_load(&s->failed); /* the first of all */
            while ((seen < 0 || bad < seen) && !atomic_compare_exchange_weak(&s->failed, &seen, bad))
                ;
            return;
        }
        put_kept(s, kind, s->out, s->updates + at * s->size, n, table);
    }
}

/* Windows that take every dim whole, or one element of it, meet in elements of the same place in them only. Theirs, if they are single and
 * those of one place lie side by side in the updates from window to window, may go place by place. */
static bool goes_by_places(const scatter *s) {
    const index_plan *p = s->p;
    for (int i = 0; i < p->n_window; i++)
        if (p->size[p->window_of[i]] != 1 && p->size[p->window_of[i]] != p->x_dims[p->window_of[i]])
            return false;
    return s->run == 1 && s->n_outer == 1 && p->n_batch == 1 && s->batch[0] == s->size && element_kind(s) != NO_KIND;
}

/* Windows of elements far apart, whose updates lie side by side from window to window: all windows' first elements, then the second ones. */
static void lines_range(void *context, int64_t from, int64_t to) {
    const scatter *s = context;
    for (int64_t o = from; o < to; o++)
        put_kept(s, element_kind(s), s->out + o * s->to[0], s->updates + o * s->from[0], s->p->n, s->offsets);
}

/* Windows of one place along the first batch dim meet none of another's, if it is a batching dim of the operand too. */
static int64_t independent_groups(const index_plan *p) {
    for (int i = 0; i < p->dims->d.n; i++)
        if (p->dims->d.v[i] == (p->dims->index_vector_dim == 0))
            return p->batch_dims[0];
    return 1;
}

/* Elements [from, to) of the run of every window. */
static void columns_range(void *context, int64_t from, int64_t to) {
    const scatter *s = context;
    int64_t index[HLO_MAX_RANK], n = to - from;
    for (int64_t w = 0; w < s->p->n; w++) {
        if (s->offsets[w] < 0)
            continue;
        char *x = s->out + s->offsets[w] + from * s->size;
        const char *u = s->updates + update_offset(s, w) + from * s->size;
        memset(index, 0, sizeof *index * (size_t)s->n_outer);
        for (int64_t o = 0; o < s->outer_count; o++) {
            if (s->combine)
                s->combine(x, x, u, NULL, n);
            else
                memcpy(x, u, (size_t)(n * s->size));
            for (int d = s->n_outer - 1; d >= 0; d--) {
                x += s->to[d];
                u += s->from[d];
                if (++index[d] < s->dims[d])
                    break;
                x -= s->to[d] * s->dims[d];
                u -= s->from[d] * s->dims[d];
                index[d] = 0;
            }
        }
    }
}

/* The window's dims, merged; its innermost run. */
static void plan_window(scatter *s, const index_plan *p, const eng_tensor *updates) {
    int64_t strides[HLO_MAX_RANK];
    int n = 0;
    fast_strides(&updates->type, strides);
    s->window_bytes = s->size;
    for (int i = 0; i < p->n_window; i++) {
        int64_t dim = p->size[p->window_of[i]], to = p->strides[p->window_of[i]], from = strides[p->dims->a.v[i]];
        s->window_bytes *= dim;
        if (dim == 1)
            continue;
        if (n && s->to[n - 1] == to * dim && s->from[n - 1] == from * dim) {
            s->dims[n - 1] *= dim;
        } else {
            s->dims[n++] = dim;
        }
        s->to[n - 1] = to;
        s->from[n - 1] = from;
    }
    s->run = 1;
    if (n && s->to[n - 1] == s->size && s->from[n - 1] == s->size)
        s->run = s->dims[--n];
    s->n_outer = n;
    s->outer_count = 1;
    for (int d = 0; d < n; d++)
        s->outer_count *= s->dims[d];
    s->rows = true;
    for (int i = 0; i < p->n_batch; i++) {
        s->batch[i] = strides[p->batch_at[i]];
        s->rows = s->rows && p->batch_at[i] == i;
    }
}

/* The operand as the result begins; zeros, as gradients of tables begin, are not read. */
static tt_status copy_operand(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    double value;
    if (in->data == out->data || !hlo_constant_splat(g, node->operands[0], &value) || value != 0 || signbit(value))
        return eng_fast_reshape(run, g, node, in, out);
    memset(out->data, 0, (size_t)hlo_type_bytes(&out->type));
    return TT_OK;
}

tt_status eng_fast_scatter(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    const hlo_attr *a = hlo_attr_find(node, HLO_A_SCATTER_DIMENSION_NUMBERS);
    int64_t sizes[HLO_MAX_RANK] = {0};
    index_plan p;
    if (node->n_operands != 3 || node->n_regions != 1 || !a || !a->dims)
        return eng_not_mine;
    const eng_tensor *updates = in + 2;
    tt_dtype dtype = in->type.dtype;
    hlo_op op = fast_region_op(g, node->regions[0]);
    bool takes_new = fast_region_takes_new(g, node->regions[0]);
    for (int d = 0, w = 0; d < in->type.rank; d++) {
        bool window = true;
        for (int i = 0; i < a->dims->b.n; i++)
            window = window && a->dims->b.v[i] != d;
        for (int i = 0; i < a->dims->c.n; i++)
            window = window && a->dims->c.v[i] != d;
        if (window && (w >= a->dims->a.n || a->dims->a.v[w] < 0 || a->dims->a.v[w] >= updates->type.rank))
            return eng_not_mine;
        sizes[d] = window ? updates->type.dims[a->dims->a.v[w++]] : 1;
        if (sizes[d] > in->type.dims[d] && in->type.dims[d])
            return eng_not_mine;
        sizes[d] = loop_min(sizes[d], in->type.dims[d]);
    }
    scatter s = {.p = &p, .size = tt_dtype_size(dtype), .dtype = dtype, .op = op, .updates = updates->data, .out = out->data, .failed = -1};
    s.combine = takes_new ? NULL : op ? loop_find(op, dtype, dtype, 0) : NULL;
    if ((!takes_new && !s.combine) || updates->type.dtype != dtype || hlo_type_of(g, node->regions[0]->params[0])->dtype != dtype)
        return eng_not_mine;
    if (!hlo_type_elements(&updates->type) || !hlo_type_elements(&in->type))
        return eng_fast_reshape(run, g, node, in, out);
    if (!index_plan_init(&p, g, node, a->dims, in, in + 1, updates, sizes))
        return eng_not_mine;
    plan_window(&s, &p, updates);
    if (is_single(&s) && element_kind(&s) != NO_KIND) {
        const int64_t groups = independent_groups(&p);
        TT_TRY(copy_operand(run, g, node, in, out));
        s.group = p.n / groups;
        fast_ranges(groups, (1 << 15) / loop_max(1, s.group), elements_range, &s);
        const int64_t failed = atomic_load(&s.failed);
        return failed >= 0 ? index_plan_fail(&p, failed) : TT_OK;
    }
    const bool kept = p.n <= MOST_KEPT; /* fresh pages cost as much as the scatter */
    int64_t *offsets = kept ? eng_scratch(FAST_SCRATCH, sizeof *offsets * (size_t)p.n) : malloc(sizeof *offsets * (size_t)p.n), bad;
    if (!offsets)
        return eng_not_mine;
    s.offsets = offsets;
    bad = index_plan_offsets(&p, 0, p.n, offsets);
    bool mine = true;
    for (int64_t w = 0; bad < 0 && w < p.n; w++)
        mine = mine && offsets[w] != INDEX_PARTLY_OUT;
    if (bad >= 0 || !mine) {
        if (!kept)
            free(offsets);
        return bad >= 0 ? index_plan_fail(&p, bad) : eng_not_mine;
    }
    tt_status error = copy_operand(run, g, node, in, out);
    if (!error) {
        int64_t work = p.n * s.outer_count;
        if (goes_by_places(&s))
            fast_ranges(s.dims[0], loop_max(1, (1 << 15) / p.n), lines_range, &s);
        else
            fast_ranges(s.run, loop_max(64, (1 << 16) / loop_max(1, work)), columns_range, &s);
    }
    if (!kept)
        free(offsets);
    return error;
}
