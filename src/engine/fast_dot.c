/* fast_dot.c - stablehlo.dot_general and dot as one batched matrix product (fast_gemm.c).
 *
 * Batch, free and contracting dimensions of an operand are each folded into one stride where their order
 * allows, so that most operands are read where they lie; else the operand is first copied to [batch, free,
 * contracting]. */
#include "engine/composite.h"
#include "engine/fast.h"
#include <string.h>

/* Some of an operand's dimensions, outermost first, and the one dimension they fold into. */
typedef struct group {
    int n, dims[HLO_MAX_RANK];
    int64_t size, stride; /* stride of a group of size 1: 0 */
    bool folds;
} group;

typedef struct operand {
    const char *data;
    const hlo_type *type;
    int64_t strides[HLO_MAX_RANK];
    group batch, free, contract;
    /* as a matrix: */
    bool contract_inner; /* the contracting dimension is the contiguous one */
    int64_t ld;
    int64_t *starts; /* per batch, in elements; NULL: stride of batch */
} operand;

static void fold(const operand *o, group *g) {
    g->size = 1;
    g->stride = 0;
    g->folds = true;
    for (int i = g->n - 1; i >= 0; i--) {
        const int64_t size = o->type->dims[g->dims[i]], stride = o->strides[g->dims[i]];
        if (size == 1)
            continue;
        if (g->size == 1)
            g->stride = stride;
        else if (stride != g->stride * g->size)
            g->folds = false;
        g->size *= size;
    }
}

static void set_strides(operand *o) {
    int64_t stride = 1;
    for (int i = o->type->rank - 1; i >= 0; i--) {
        o->strides[i] = stride;
        stride *= o->type->dims[i];
    }
}

static void operand_init(operand *o, const eng_tensor *t, hlo_ints batch, const int *contract,
                         int n_contract) {
    memset(o, 0, sizeof *o);
    o->data = t->data;
    o->type = &t->type;
    set_strides(o);
    bool taken[HLO_MAX_RANK] = {false};
    for (int i = 0; i < batch.n; i++)
        taken[o->batch.dims[o->batch.n++] = (int)batch.v[i]] = true;
    for (int i = 0; i < n_contract; i++)
        taken[o->contract.dims[o->contract.n++] = contract[i]] = true;
    for (int i = 0; i < o->type->rank; i++)
        if (!taken[i])
            o->free.dims[o->free.n++] = i;
    fold(o, &o->batch);
    fold(o, &o->free);
    fold(o, &o->contract);
}

/* Whether the operand can be read in place, and how. */
static bool view(operand *o) {
    if (!o->free.folds || !o->contract.folds)
        return false;
    const group *f = &o->free, *c = &o->contract;
    if (c->stride == 1 || (c->size == 1 && f->stride != 1)) {
        o->contract_inner = true;
        o->ld = f->size > 1 ? f->stride : eng_max(c->size, 1);
        return true;
    }
    if (f->stride == 1 || f->size == 1) {
        o->contract_inner = false;
        o->ld = c->size > 1 ? c->stride : eng_max(f->size, 1);
        return true;
    }
    return false;
}

typedef struct copy {
    const operand *o;
    char *to;
    int order[HLO_MAX_RANK];
    int n;
    int64_t inner;
    int bytes;
} copy;

/* One run along the last dimension of the order. */
static void copy_run(void *context, int64_t task, int worker) {
    (void)worker;
    const copy *c = context;
    const operand *o = c->o;
    int64_t at = 0, rest = task;
    for (int i = c->n - 2; i >= 0; i--) {
        const int64_t size = o->type->dims[c->order[i]];
        at += rest % size * o->strides[c->order[i]];
        rest /= size;
    }
    const int64_t stride = o->strides[c->order[c->n - 1]] * c->bytes;
    const char *from = o->data + at * c->bytes;
    char *to = c->to + task * c->inner * c->bytes;
    for (int64_t i = 0; i < c->inner; i++, from += stride, to += c->bytes)
        switch (c->bytes) {
        case 1:
            *to = *from;
            break;
        case 2:
            memcpy(to, from, 2);
            break;
        case 4:
            memcpy(to, from, 4);
            break;
        default:
            memcpy(to, from, 8);
        }
}

/* Replaces the operand by a copy in the order [batch, free, contracting]. */
static void operand_copy(operand *o, char *to) {
    copy c = {.o = o, .to = to, .bytes = tt_dtype_size(o->type->dtype)};
    const group *groups[3] = {&o->batch, &o->free, &o->contract};
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < groups[i]->n; d++)
            c.order[c.n++] = groups[i]->dims[d];
    c.inner = c.n > 0 ? o->type->dims[c.order[c.n - 1]] : 1;
    const int64_t elements = hlo_type_elements(o->type);
    if (elements > 0 && c.n > 0)
        eng_parallel(elements / c.inner, copy_run, &c);
    o->data = to;
    o->contract_inner = true;
    o->ld = eng_max(o->contract.size, 1);
    o->batch.folds = true;
    o->batch.stride = o->free.size * o->contract.size;
}

static void batch_starts(tt_arena *arena, operand *o) {
    o->starts = TT_NEW_N(arena, int64_t, o->batch.size);
    for (int64_t b = 0; b < o->batch.size; b++) {
        int64_t rest = b;
        for (int i = o->batch.n - 1; i >= 0; i--) {
            const int d = o->batch.dims[i];
            o->starts[b] += rest % o->type->dims[d] * o->strides[d];
            rest /= o->type->dims[d];
        }
    }
}

static bool known_types(tt_dtype a, tt_dtype b, tt_dtype c) {
    if (a != b)
        return false;
    return a == TT_I8 ? c == TT_I32
                      : eng_flavor_of(a) && (c == a || (c == TT_F32 && (a == TT_BF16 || a == TT_F16)));
}

/* Contracting pairs in the order of the left operand's dimensions: the sum does not mind, folding does. */
static int sort_contracting(hlo_ints lhs, hlo_ints rhs, int *out_lhs, int *out_rhs) {
    for (int i = 0; i < lhs.n; i++) {
        int j = i;
        for (; j > 0 && out_lhs[j - 1] > lhs.v[i]; j--) {
            out_lhs[j] = out_lhs[j - 1];
            out_rhs[j] = out_rhs[j - 1];
        }
        out_lhs[j] = (int)lhs.v[i];
        out_rhs[j] = (int)rhs.v[i];
    }
    return lhs.n;
}

/* ---- many products of a few numbers each, which would be all packing ---- */
enum { TINY = 32, MANY = 8 };

static bool is_tiny(const eng_gemm_args *p) {
    return p->dtype == TT_F32 && p->c_dtype == TT_F32 && p->batch >= MANY && p->m * p->n * p->k <= TINY && p->k > 0;
}

static void tiny_range(void *context, int64_t from, int64_t to) {
    const eng_gemm_args *p = context;
    const int64_t a_row = p->a_transposed ? 1 : p->lda, a_step = p->a_transposed ? p->lda : 1;
    const int64_t b_column = p->b_transposed ? p->ldb : 1, b_step = p->b_transposed ? 1 : p->ldb;
    const float *a = (const float *)p->a + from * p->stride_a, *b = (const float *)p->b + from * p->stride_b;
    float *c = (float *)p->c + from * p->stride_c;
    for (; from < to; from++, a += p->stride_a, b += p->stride_b, c += p->stride_c)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                const float *x = a + i * a_row, *y = b + j * b_column;
                float sum = 0;
                for (int64_t l = 0; l < p->k; l++)
                    sum += x[l * a_step] * y[l * b_step];
                c[i * p->ldc + j] = sum;
            }
}

static tt_status product(eng_run *run, const eng_tensor *in, const hlo_dims *dims, eng_tensor *out) {
    if (!known_types(in[0].type.dtype, in[1].type.dtype, out->type.dtype))
        return eng_not_mine;
    int lhs_contract[HLO_MAX_RANK], rhs_contract[HLO_MAX_RANK];
    const int n_contract = sort_contracting(dims->c, dims->d, lhs_contract, rhs_contract);
    operand o[2];
    operand_init(&o[0], &in[0], dims->a, lhs_contract, n_contract);
    operand_init(&o[1], &in[1], dims->b, rhs_contract, n_contract);
    const bool copies[2] = {!view(&o[0]), !view(&o[1])};
    int64_t bytes[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (copies[i])
            bytes[i] = eng_round_up(hlo_type_bytes(o[i].type), 64);
    if (copies[0] || copies[1]) {
        char *to = eng_scratch(ENG_SLOT_SHARED, (size_t)(bytes[0] + bytes[1] + 64));
        TT_CHECK(to, RESOURCE_EXHAUSTED, "dot_general: no memory for %lld bytes of scratch",
                 (long long)(bytes[0] + bytes[1]));
        for (int i = 0; i < 2; i++)
            if (copies[i])
                operand_copy(&o[i], to + (i ? bytes[0] : 0));
    }
    const bool starts = !o[0].batch.folds || !o[1].batch.folds;
    for (int i = 0; i < 2 && starts; i++) {
        if (copies[i]) { /* dense, but the other operand is not */
            o[i].starts = TT_NEW_N(run->arena, int64_t, o[i].batch.size);
            for (int64_t b = 0; b < o[i].batch.size; b++)
                o[i].starts[b] = b * o[i].batch.stride;
        } else {
            batch_starts(run->arena, &o[i]);
        }
    }
    const int64_t m = o[0].free.size, n = o[1].free.size;
    eng_gemm_args args = {.dtype = in[0].type.dtype,
                                .c_dtype = out->type.dtype,
                                .batch = o[0].batch.size,
                                .m = m,
                                .n = n,
                                .k = o[0].contract.size,
                                .lda = o[0].ld,
                                .ldb = o[1].ld,
                                .ldc = n,
                                .stride_a = o[0].batch.stride,
                                .stride_b = o[1].batch.stride,
                                .stride_c = m * n,
                                .a_transposed = !o[0].contract_inner,
                                .b_transposed = o[1].contract_inner,
                                .a = o[0].data,
                                .b = o[1].data,
                                .c = out->data,
                                .follow = run->follow};
    if (!starts && is_tiny(&args)) {
        fast_ranges(args.batch, 1 << 11, tiny_range, &args);
        return TT_OK;
    }
    return eng_gemm_batched(&args, o[0].starts, o[1].starts) ? TT_OK : eng_not_mine;
}

tt_status eng_fast_dot_general(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                               eng_tensor *out) {
    (void)g;
    const hlo_attr *attr = hlo_attr_find(node, HLO_A_DOT_DIMENSION_NUMBERS);
    return attr && attr->dims ? product(run, in, attr->dims, out) : eng_not_mine;
}

/* dot: the left operand's last dimension with the right operand's first. */
tt_status eng_fast_dot(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                       eng_tensor *out) {
    (void)g;
    (void)node;
    if (in[0].type.rank < 1 || in[1].type.rank < 1)
        return eng_not_mine;
    const int64_t last = in[0].type.rank - 1, first = 0;
    const hlo_dims dims = {.kind = HLO_DIMS_DOT, .c = {1, &last}, .d = {1, &first}};
    return product(run, in, &dims, out);
}

/* ---- 64-bit integers: the composite tt.integer_product ---- */
typedef struct integers {
    int64_t m, n, k, rows, per_task; /* rows: of all batches */
    const uint64_t *a, *b;
    uint64_t *c;
} integers;

static void integer_rows(void *context, int64_t task, int worker) {
    (void)worker;
    const integers *p = context;
    for (int64_t i = task * p->per_task; i < eng_min(p->rows, (task + 1) * p->per_task); i++) {
        const uint64_t *b = p->b + i / p->m * p->k * p->n, *a = p->a + i * p->k;
        uint64_t *c = p->c + i * p->n;
        memset(c, 0, (size_t)p->n * sizeof *c);
        for (int64_t l = 0; l < p->k; l++)
            for (int64_t j = 0; j < p->n; j++)
                c[j] += a[l] * b[l * p->n + j];
    }
}

tt_status eng_integer_product(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    (void)attributes;
    const hlo_type *a = &in[0].type, *b = &in[1].type;
    const int64_t m = a->dims[a->rank - 2], k = a->dims[a->rank - 1], n = b->dims[b->rank - 1];
    if (hlo_type_elements(&out->type) == 0)
        return TT_OK;
    integers p = {m, n, k, hlo_type_elements(&out->type) / n, 0, in[0].data, in[1].data, out->data};
    p.per_task = eng_max(1, eng_min(p.rows, 65536 / eng_max(k * n, 1)));
    eng_parallel(eng_blocks(p.rows, p.per_task), integer_rows, &p);
    return TT_OK;
}
