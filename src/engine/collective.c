/* collective.c - programs on several virtual chips: the rendezvous and the collective kernels.
 *
 * Each participant runs on its device's thread and meets the others at every collective. It publishes its
 * input's address, computes its share of the result from everybody's inputs in the order of the group, copies
 * the other shares, and leaves when all have read: results do not depend on timing. A participant that fails
 * wakes all. */
#include "engine/program.h"
#include "base/arena.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A meeting of one group at one op. Found by (node, first member); a full one is history to those who come
 * again. */
typedef struct meeting {
    struct meeting *next;
    const hlo_node *node;
    int first, n, arrived, phase_arrived, left;
    unsigned phase;
    const void **inputs; /* [member] */
    void **outputs;
} meeting;

struct eng_launch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic int refs;
    int n_replicas, n_partitions;
    meeting *meetings;
    tt_status failed;
};

eng_launch *eng_launch_create(int n_replicas, int n_partitions) {
    eng_launch *l = tt_calloc(1, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    l->refs = n_replicas * n_partitions;
    l->n_replicas = n_replicas;
    l->n_partitions = n_partitions;
    return l;
}

static void meeting_free(meeting *m) {
    free(m->inputs);
    free(m->outputs);
    free(m);
}

void eng_launch_release(eng_launch *l) {
    if (atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (l->meetings) {
        meeting *m = l->meetings;
        l->meetings = m->next;
        meeting_free(m);
    }
    tt_status_free(l->failed);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    free(l);
}

void eng_launch_fail(eng_launch *l, const tt_error *error) {
    pthread_mutex_lock(&l->lock);
    if (!l->failed)
        l->failed = tt_status_make(tt_status_code(error), __FILE__, __LINE__, "%s", tt_status_message(error));
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static tt_status launch_error(const eng_launch *l) {
    return tt_status_make(tt_status_code(l->failed), __FILE__, __LINE__,
                          "another device of the launch failed: %s", tt_status_message(l->failed));
}

/* ---- groups ---- */
typedef struct group {
    int n, me;    /* members; my place among them, -1: not a member */
    int *members; /* participant index = replica * n_partitions + partition; arena */
} group;

static int64_t channel_of(const hlo_node *n) {
    const char *text = hlo_attr_text(n, HLO_A_CHANNEL_HANDLE, NULL);
    const char *at = text ? strstr(text, "handle = ") : NULL;
    return at ? atoll(at + 9) : 0;
}

/* How the numbers of replica_groups name participants (StableHLO: process groups). */
typedef enum grouping { CROSS_REPLICA, CROSS_PARTITION, CROSS_BOTH, FLATTENED } grouping;

static grouping grouping_of(const hlo_node *n) {
    bool channel = channel_of(n) > 0;
    switch (n->op) {
    case HLO_ALL_REDUCE:
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
        if (hlo_attr_int(n, HLO_A_USE_GLOBAL_DEVICE_IDS, 0) ||
            (hlo_attr_find(n, HLO_A_USE_GLOBAL_DEVICE_IDS) &&
             !hlo_attr_find(n, HLO_A_USE_GLOBAL_DEVICE_IDS)->ints))
            return FLATTENED;
        return channel ? CROSS_BOTH : CROSS_REPLICA;
    default:
        return channel ? CROSS_PARTITION : CROSS_REPLICA;
    }
}

static int participant_index(const eng_launch *l, int replica, int partition) {
    return replica * l->n_partitions + partition;
}

static void add_member(group *g, const eng_participant *p, int index) {
    if (index == p->index)
        g->me = g->n;
    g->members[g->n++] = index;
}

/* Adds the participants that id names to g. */
static void add_id(group *g, const eng_participant *p, grouping kind, int64_t id) {
    const eng_launch *l = p->launch;
    switch (kind) {
    case CROSS_REPLICA:
        if (id >= 0 && id < l->n_replicas)
            add_member(g, p, participant_index(l, (int)id, p->partition));
        break;
    case CROSS_PARTITION:
        if (id >= 0 && id < l->n_partitions)
            add_member(g, p, participant_index(l, p->replica, (int)id));
        break;
    case CROSS_BOTH:
        for (int k = 0; id >= 0 && id < l->n_replicas && k < l->n_partitions; k++)
            add_member(g, p, participant_index(l, (int)id, k));
        break;
    case FLATTENED:
        if (id >= 0 && id < (int64_t)l->n_replicas * l->n_partitions)
            add_member(g, p, (int)id);
        break;
    }
}

static group group_find(tt_arena *arena, const eng_participant *p, const hlo_node *n) {
    grouping kind = grouping_of(n);
    const hlo_attr *groups = hlo_attr_find(n, HLO_A_REPLICA_GROUPS);
    int all = p->launch->n_replicas * p->launch->n_partitions;
    group g = {.me = -1, .members = TT_NEW_N(arena, int, all + 1)};
    int columns = groups && groups->rows > 0 ? groups->n / groups->rows : 0;
    if (!columns) { /* one group of everybody */
        int ids = kind == CROSS_PARTITION ? p->launch->n_partitions
                  : kind == FLATTENED     ? all
                                          : p->launch->n_replicas;
        for (int i = 0; i < ids; i++)
            add_id(&g, p, kind, i);
        return g;
    }
    for (int r = 0; r < groups->rows; r++) {
        g.n = 0;
        g.me = -1;
        for (int c = 0; c < columns && g.n < all; c++)
            add_id(&g, p, kind, groups->ints[r * columns + c]);
        if (g.me >= 0)
            return g;
    }
    return g;
}

/* ---- the rendezvous ---- */
static tt_status meet(const eng_participant *p, const hlo_node *node, const group *g, const void *input,
                      void *output, meeting **out) {
    eng_launch *l = p->launch;
    pthread_mutex_lock(&l->lock);
    meeting *m = l->meetings;
    while (m && !(m->node == node && m->first == g->members[0] && m->arrived < m->n && !m->inputs[g->me]))
        m = m->next;
    if (!m) {
        m = tt_calloc(1, sizeof *m);
        *m = (meeting){.next = l->meetings, .node = node, .first = g->members[0], .n = g->n};
        m->inputs = tt_calloc((size_t)g->n, sizeof *m->inputs);
        m->outputs = tt_calloc((size_t)g->n, sizeof *m->outputs);
        l->meetings = m;
    }
    static const char nothing[1] = {0};
    m->inputs[g->me] = input ? input : nothing;
    m->outputs[g->me] = output;
    m->arrived++;
    if (m->arrived == m->n)
        pthread_cond_broadcast(&l->changed);
    while (m->arrived < m->n && !l->failed)
        pthread_cond_wait(&l->changed, &l->lock);
    tt_status status = m->arrived < m->n ? launch_error(l) : TT_OK;
    pthread_mutex_unlock(&l->lock);
    *out = m;
    return status;
}

/* Everybody has come this far. */
static tt_status barrier(const eng_participant *p, meeting *m) {
    eng_launch *l = p->launch;
    pthread_mutex_lock(&l->lock);
    unsigned phase = m->phase;
    if (++m->phase_arrived == m->n) {
        m->phase_arrived = 0;
        m->phase++;
        pthread_cond_broadcast(&l->changed);
    }
    while (m->phase == phase && !l->failed)
        pthread_cond_wait(&l->changed, &l->lock);
    tt_status status = m->phase == phase && l->failed ? launch_error(l) : TT_OK;
    pthread_mutex_unlock(&l->lock);
    return status;
}

/* Leaves. Without an error (after a barrier) the last one takes the meeting away; with one, nobody goes, and
 * frees what others read, before all have stopped reading. */
static tt_status leave(const eng_participant *p, meeting *m, tt_status status) {
    eng_launch *l = p->launch;
    if (status)
        eng_launch_fail(l, status);
    pthread_mutex_lock(&l->lock);
    bool last = ++m->left == m->n;
    if (last && !l->failed) {
        meeting **at = &l->meetings;
        while (*at != m)
            at = &(*at)->next;
        *at = m->next;
        meeting_free(m);
    } else if (last) {
        pthread_cond_broadcast(&l->changed);
    }
    while (status && m->left < m->n)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
    return status;
}

/* ---- reduction ---- */
/* The one binary op of a region (a, b) -> op(a, b); HLO_INVALID if it is anything else. */
static int region_op(const hlo_graph *g, const hlo_block *b) {
    if (b->n_params != 2 || b->n_nodes != 1 || b->n_results != 1 || b->results[0] != b->nodes[0])
        return HLO_INVALID;
    const hlo_node *n = hlo_node_at(g, b->nodes[0]);
    bool straight = n->n_operands == 2 && n->operands[0] == b->params[0] && n->operands[1] == b->params[1];
    bool swapped = n->n_operands == 2 && n->operands[1] == b->params[0] && n->operands[0] == b->params[1];
    return straight || (swapped && hlo_op_flags((hlo_op)n->op) & HLO_F_COMM) ? n->op : HLO_INVALID;
}

/* out[i] = region(out[i], in[i]) for n elements. */
static tt_status combine(eng_run *run, const hlo_graph *g, const hlo_node *node, tt_dtype dtype, char *out,
                         const char *in, int64_t n) {
    int op = region_op(g, node->regions[0]);
    if (op == HLO_ADD && dtype == TT_F32) {
        float *y = (float *)out;
        const float *x = (const float *)in;
        for (int64_t i = 0; i < n; i++)
            y[i] += x[i];
        return TT_OK;
    }
    int64_t size = tt_dtype_size(dtype);
    enum { CHUNK = 1024 };
    if (op != HLO_INVALID && eng_ref_kernels[op]) { /* the op's own kernel over a chunk as a vector */
        hlo_node vector = *hlo_node_at(g, node->regions[0]->nodes[0]);
        char *result = tt_arena_alloc(run->arena, (size_t)(CHUNK * size));
        for (int64_t at = 0; at < n; at += CHUNK) {
            int64_t count = n - at < CHUNK ? n - at : CHUNK;
            hlo_type t = hlo_type_make(dtype, 1, &count);
            eng_tensor ins[2] = {{t, out + at * size}, {t, (char *)(uintptr_t)(in + at * size)}},
                       result_tensor = {t, result};
            vector.type = &t;
            TT_TRY(eng_ref_kernels[op](run, g, &vector, ins, &result_tensor));
            memcpy(out + at * size, result, (size_t)(count * size));
        }
        return TT_OK;
    }
    for (int64_t i = 0; i < n; i++) { /* any region, element by element */
        hlo_type t = hlo_type_make(dtype, 0, NULL);
        tt_arena_mark mark = tt_arena_mark_get(run->arena);
        eng_tensor params[2] = {{t, out + i * size}, {t, (char *)(uintptr_t)(in + i * size)}},
                   result = {t, NULL};
        TT_TRY(eng_ref_block(run, g, node->regions[0], params, run->env, run->env_context, &result));
        memcpy(out + i * size, result.data, (size_t)size);
        tt_arena_rewind(run->arena, mark);
    }
    return TT_OK;
}

static void share_of(int64_t n, int members, int k, int64_t *out_from, int64_t *out_to) {
    int64_t each = (n + members - 1) / members;
    each = (each + 15) & ~(int64_t)15;
    *out_from = each * k < n ? each * k : n;
    *out_to = each * (k + 1) < n ? each * (k + 1) : n;
}

/* out[from..to) = reduction over all members' inputs at [offset + from ...) */
static tt_status reduce_share(eng_run *run, const hlo_graph *g, const hlo_node *node, tt_dtype dtype,
                              const meeting *m, char *out, int64_t n, int64_t offset) {
    int64_t size = tt_dtype_size(dtype);
    memcpy(out, (const char *)m->inputs[0] + offset * size, (size_t)(n * size));
    for (int k = 1; k < m->n; k++)
        TT_TRY(combine(run, g, node, dtype, out, (const char *)m->inputs[k] + offset * size, n));
    return TT_OK;
}

/* ---- kernels ---- */
typedef tt_status (*exchange_fn)(eng_run *run, const hlo_graph *g, const hlo_node *node, const group *grp,
                                 meeting *m, const eng_tensor *in, eng_tensor *out);

/* NULL: this run is alone. */
static const eng_participant *participant_of(const eng_run *run) {
    const eng_participant *p = run->collective;
    return p && p->launch ? p : NULL;
}

/* Meets, exchanges, parts: one operand and result. */
static tt_status exchange(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                          eng_tensor *out, exchange_fn fn) {
    const eng_participant *p = run->collective;
    group grp = group_find(run->arena, p, node);
    if (grp.me < 0)
        TT_FAIL(INVALID_ARGUMENT, "%s: device %d is in none of the replica groups",
                hlo_op_text((hlo_op)node->op), p->index);
    meeting *m;
    TT_TRY(meet(p, node, &grp, in->data, out->data, &m));
    tt_status status = fn(run, g, node, &grp, m, in, out);
    if (!status)
        status = barrier(p, m);
    return leave(p, m, status);
}

static tt_status copy_through(const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    for (int k = 0; k < node->n_results; k++)
        eng_copy_bytes(out[k].data, in[k].data, hlo_type_bytes(&out[k].type));
    return TT_OK;
}

static tt_status all_reduce_exchange(eng_run *run, const hlo_graph *g, const hlo_node *node, const group *grp,
                                     meeting *m, const eng_tensor *in, eng_tensor *out) {
    int64_t n = hlo_type_elements(&in->type), size = tt_dtype_size(in->type.dtype), from, to;
    share_of(n, grp->n, grp->me, &from, &to);
    TT_TRY(reduce_share(run, g, node, in->type.dtype, m, (char *)out->data + from * size, to - from, from));
    TT_TRY(barrier(run->collective, m));
    for (int k = 0; k < grp->n; k++) {
        share_of(n, grp->n, k, &from, &to);
        if (k != grp->me)
            memcpy((char *)out->data + from * size, (char *)m->outputs[k] + from * size,
                   (size_t)((to - from) * size));
    }
    return TT_OK;
}

static tt_status k_all_reduce(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                              eng_tensor *out) {
    if (!participant_of(run))
        return copy_through(node, in, out);
    for (int k = 0; k < node->n_results; k++)
        TT_TRY(exchange(run, g, node, in + k, out + k, all_reduce_exchange));
    return TT_OK;
}

/* An array seen as [outer][dim][inner bytes]. */
static void split_at(const hlo_type *t, int64_t dim, int64_t *out_outer, int64_t *out_inner_bytes) {
    *out_outer = 1;
    *out_inner_bytes = tt_dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++) {
        if (i < dim)
            *out_outer *= t->dims[i];
        if (i > dim)
            *out_inner_bytes *= t->dims[i];
    }
}

static tt_status bad_dim(const hlo_node *node, int64_t dim) {
    TT_FAIL(INVALID_ARGUMENT, "%s: dimension %lld does not fit the operand", hlo_op_text((hlo_op)node->op),
            (long long)dim);
}

static tt_status all_gather_exchange(eng_run *run, const hlo_graph *g, const hlo_node *node, const group *grp,
                                     meeting *m, const eng_tensor *in, eng_tensor *out) {
    (void)run, (void)g;
    int64_t dim = hlo_attr_int(node, HLO_A_ALL_GATHER_DIM, 0), outer, inner;
    if (dim < 0 || dim >= in->type.rank || in->type.dims[dim] * grp->n != out->type.dims[dim])
        return bad_dim(node, dim);
    split_at(&in->type, dim, &outer, &inner);
    int64_t piece = in->type.dims[dim] * inner;
    for (int k = 0; k < grp->n; k++)
        for (int64_t o = 0; o < outer; o++)
            memcpy((char *)out->data + (o * grp->n + k) * piece, (const char *)m->inputs[k] + o * piece,
                   (size_t)piece);
    return TT_OK;
}

static tt_status k_all_gather(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                              eng_tensor *out) {
    if (!participant_of(run))
        return copy_through(node, in, out);
    for (int k = 0; k < node->n_results; k++)
        TT_TRY(exchange(run, g, node, in + k, out + k, all_gather_exchange));
    return TT_OK;
}

static tt_status reduce_scatter_exchange(eng_run *run, const hlo_graph *g, const hlo_node *node,
                                         const group *grp, meeting *m, const eng_tensor *in,
                                         eng_tensor *out) {
    int64_t dim = hlo_attr_int(node, HLO_A_SCATTER_DIMENSION, 0), outer, inner,
            size = tt_dtype_size(in->type.dtype);
    if (dim < 0 || dim >= in->type.rank || out->type.dims[dim] * grp->n != in->type.dims[dim])
        return bad_dim(node, dim);
    split_at(&in->type, dim, &outer, &inner);
    int64_t piece = out->type.dims[dim] * inner / size;
    for (int64_t o = 0; o < outer; o++)
        TT_TRY(reduce_share(run, g, node, in->type.dtype, m, (char *)out->data + o * piece * size, piece,
                            (o * grp->n + grp->me) * piece));
    return TT_OK;
}

static tt_status k_reduce_scatter(eng_run *run, const hlo_graph *g, const hlo_node *node,
                                  const eng_tensor *in, eng_tensor *out) {
    return participant_of(run) ? exchange(run, g, node, in, out, reduce_scatter_exchange)
                               : copy_through(node, in, out);
}

static tt_status all_to_all_exchange(eng_run *run, const hlo_graph *g, const hlo_node *node, const group *grp,
                                     meeting *m, const eng_tensor *in, eng_tensor *out) {
    (void)run, (void)g;
    int64_t split = hlo_attr_int(node, HLO_A_SPLIT_DIMENSION, 0),
            concat = hlo_attr_int(node, HLO_A_CONCAT_DIMENSION, 0);
    if (split < 0 || split >= in->type.rank || concat < 0 || concat >= in->type.rank ||
        in->type.dims[split] % grp->n)
        return bad_dim(node, split);
    /* piece k: member k's input, part `me` along split, put at place k along concat */
    int64_t dims[HLO_MAX_RANK], from[HLO_MAX_RANK], to[HLO_MAX_RANK], unit_in = tt_dtype_size(in->type.dtype),
                                                                      unit_out = unit_in;
    for (int i = in->type.rank - 1; i >= 0; i--) {
        dims[i] = i == split ? in->type.dims[i] / grp->n : in->type.dims[i];
        from[i] = unit_in;
        to[i] = unit_out;
        unit_in *= in->type.dims[i];
        unit_out *= out->type.dims[i];
    }
    int64_t size = tt_dtype_size(in->type.dtype), n = 1;
    for (int i = 0; i < in->type.rank; i++)
        n *= dims[i];
    for (int k = 0; k < grp->n; k++) {
        const char *src = (const char *)m->inputs[k] + grp->me * dims[split] * from[split];
        char *dst = (char *)out->data + k * dims[concat] * to[concat];
        int64_t index[HLO_MAX_RANK] = {0};
        for (int64_t e = 0; e < n; e++) {
            int64_t a = 0, b = 0;
            for (int i = 0; i < in->type.rank; i++) {
                a += index[i] * from[i];
                b += index[i] * to[i];
            }
            memcpy(dst + b, src + a, (size_t)size);
            for (int i = in->type.rank - 1; i >= 0 && ++index[i] == dims[i]; i--)
                index[i] = 0;
        }
    }
    return TT_OK;
}

static tt_status k_all_to_all(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                              eng_tensor *out) {
    if (!participant_of(run))
        return copy_through(node, in, out);
    for (int k = 0; k < node->n_results; k++)
        TT_TRY(exchange(run, g, node, in + k, out + k, all_to_all_exchange));
    return TT_OK;
}

/* Permute and broadcast meet with everybody of their replica or partition axis. */
static group axis_group(tt_arena *arena, const eng_participant *p, const hlo_node *n) {
    grouping kind = channel_of(n) > 0 ? CROSS_PARTITION : CROSS_REPLICA;
    int count = kind == CROSS_PARTITION ? p->launch->n_partitions : p->launch->n_replicas;
    group g = {.me = -1, .members = TT_NEW_N(arena, int, count + 1)};
    for (int i = 0; i < count; i++)
        add_id(&g, p, kind, i);
    return g;
}

static tt_status k_collective_permute(eng_run *run, const hlo_graph *g, const hlo_node *node,
                                      const eng_tensor *in, eng_tensor *out) {
    (void)g;
    const hlo_attr *pairs = hlo_attr_find(node, HLO_A_SOURCE_TARGET_PAIRS);
    const eng_participant *p = participant_of(run);
    int64_t bytes = hlo_type_bytes(&out->type);
    int me = 0;
    meeting *m = NULL;
    if (p) {
        group grp = axis_group(run->arena, p, node);
        me = grp.me;
        TT_TRY(meet(p, node, &grp, in->data, out->data, &m));
    }
    int64_t source = -1;
    for (int i = 0; pairs && i + 1 < pairs->n; i += 2)
        if (pairs->ints[i + 1] == me)
            source = pairs->ints[i];
    if (source >= 0 && source < (m ? m->n : 1))
        memcpy(out->data, m ? m->inputs[source] : in->data, (size_t)bytes);
    else
        memset(out->data, 0, (size_t)bytes);
    return m ? leave(p, m, barrier(p, m)) : TT_OK;
}

/* What stands in place k of the root operand; the first member without one. */
static tt_status root_of(const hlo_node *node, const eng_tensor *in, int k, int n_members, int64_t *out_root) {
    *out_root = 0;
    if (node->n_operands > node->n_results) {
        const eng_tensor *roots = in + node->n_results;
        *out_root = tt_element_get_int(roots->type.dtype, (const char *)roots->data + k * tt_dtype_size(roots->type.dtype));
        TT_CHECK(*out_root >= 0 && *out_root < n_members, INVALID_ARGUMENT, "%s: root %lld of a group of %d",
                 hlo_op_text((hlo_op)node->op), (long long)*out_root, n_members);
    }
    return TT_OK;
}

static tt_status k_collective_broadcast(eng_run *run, const hlo_graph *g, const hlo_node *node,
                                        const eng_tensor *in, eng_tensor *out) {
    (void)g;
    const eng_participant *p = participant_of(run);
    if (!p)
        return copy_through(node, in, out);
    group grp = group_find(run->arena, p, node);
    for (int k = 0; k < node->n_results; k++) {
        int64_t bytes = hlo_type_bytes(&out[k].type), root;
        if (grp.me < 0) { /* outside all groups the result is zeros */
            memset(out[k].data, 0, (size_t)bytes);
            continue;
        }
        TT_TRY(root_of(node, in, k, grp.n, &root));
        meeting *m;
        TT_TRY(meet(p, node, &grp, in[k].data, out[k].data, &m));
        memcpy(out[k].data, m->inputs[root], (size_t)bytes);
        TT_TRY(leave(p, m, barrier(p, m)));
    }
    return TT_OK;
}

/* The first member of a group gets the sum, everybody else zeros. */
static tt_status reduce_exchange(eng_run *run, const hlo_graph *g, const hlo_node *node, const group *grp,
                                 meeting *m, const eng_tensor *in, eng_tensor *out) {
    if (!grp->me)
        return reduce_share(run, g, node, in->type.dtype, m, out->data, hlo_type_elements(&in->type), 0);
    memset(out->data, 0, (size_t)hlo_type_bytes(&out->type));
    return TT_OK;
}

static tt_status k_collective_reduce(eng_run *run, const hlo_graph *g, const hlo_node *node,
                                     const eng_tensor *in, eng_tensor *out) {
    return participant_of(run) ? exchange(run, g, node, in, out, reduce_exchange) : copy_through(node, in, out);
}

static tt_status give_id(eng_tensor *out, int id) {
    tt_element_set_int(out->type.dtype, out->data, id);
    return TT_OK;
}

static tt_status k_partition_id(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                                eng_tensor *out) {
    (void)g, (void)node, (void)in;
    return give_id(out, run->collective ? ((const eng_participant *)run->collective)->partition : 0);
}

static tt_status k_replica_id(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                              eng_tensor *out) {
    (void)g, (void)node, (void)in;
    return give_id(out, run->collective ? ((const eng_participant *)run->collective)->replica : 0);
}

eng_kernel eng_collective_kernel(int op) {
    switch (op) {
    case HLO_ALL_REDUCE:
        return k_all_reduce;
    case HLO_ALL_GATHER:
        return k_all_gather;
    case HLO_REDUCE_SCATTER:
        return k_reduce_scatter;
    case HLO_ALL_TO_ALL:
        return k_all_to_all;
    case HLO_COLLECTIVE_PERMUTE:
        return k_collective_permute;
    case HLO_COLLECTIVE_BROADCAST:
        return k_collective_broadcast;
    case HLO_COLLECTIVE_REDUCE:
        return k_collective_reduce;
    case HLO_PARTITION_ID:
        return k_partition_id;
    case HLO_REPLICA_ID:
        return k_replica_id;
    default:
        return NULL;
    }
}
