/* in_order.c - list ops of which one element writes what a later one reads: PyTorch's CPU computes them one after another.
 *
 * A list op is one program in which every element reads the old values. Where elements meet, op.c hands the call here, and it goes on as
 * several, each of elements that do not. */
#include "run/signature.h"
#include <string.h>

static bool is_list(const tt_arg *a) {
    return a->tag == TT_ARG_TENSORS || a->tag == TT_ARG_SCALARS || a->tag == TT_ARG_DOUBLES || a->tag == TT_ARG_INTS || a->tag == TT_ARG_BOOLS;
}

/* The elements of a list op that writes lists; 0: it is none. */
static int list_length(const tt_call *call) {
    const char *name = *call->row->name ? call->row->name : call->row->inplace;
    const bool of_lists = !strncmp(name, "_foreach_", 9) || !strncmp(name, "_fused_", 7);
    const int n = of_lists && call->n_args && call->args[0].tag == TT_ARG_TENSORS ? call->args[0].n : 0;
    for (int i = 0; i < call->n_args; i++)
        if (call->args[i].tag == TT_ARG_TENSORS && call->args[i].n && call->args[i].n != n) return 0;
    return n > 1 && call->n_targets && call->n_targets % n == 0 ? n : 0;
}

/* The bytes from the first element to the end of the last. */
static void extent(const tt_tensor *t, int64_t *from, int64_t *to) {
    int64_t last = t->offset;
    bool empty = false;
    for (int i = 0; i < t->rank; i++) {
        empty |= t->dims[i] == 0;
        last += (t->dims[i] - 1) * t->strides[i];
    }
    *from = t->offset * tt_dtype_size(t->dtype);
    *to = empty ? *from : (last + 1) * tt_dtype_size(t->dtype);
}

static bool meet(const tt_tensor *a, const tt_tensor *b, bool anywhere) {
    if (!a || !b || !a->storage || a->storage != b->storage) return false;
    int64_t from[2], to[2];
    extent(a, &from[0], &to[0]);
    extent(b, &from[1], &to[1]);
    return anywhere || (from[0] < to[1] && from[1] < to[0]);
}

/* Does t touch what an element of [from, j) writes? */
static bool meets_written(const tt_call *call, const tt_tensor *t, int n, int from, int j, bool anywhere) {
    for (int target = 0; target < call->n_targets; target += n)
        for (int i = from; i < j; i++)
            if (meet(t, call->targets[target + i], anywhere)) return true;
    return false;
}

/* Does element j, which may read one tensor that is no list too, touch what an element of [from, j) writes? */
static bool meets_before(const tt_call *call, int n, int from, int j, bool anywhere) {
    for (int i = 0; i < call->n_args; i++) {
        const tt_arg *a = &call->args[i];
        const tt_tensor *t = a->tag == TT_ARG_TENSOR ? a->u.tensor : a->tag == TT_ARG_TENSORS && a->n ? a->u.tensors[j] : NULL;
        if (meets_written(call, t, n, from, j, anywhere)) return true;
    }
    return false;
}

bool tt_list_meets(const tt_call *call, const tt_key *key) {
    const int n = list_length(call);
    int n_tensors = 0;
    bool moves = false;
    for (int i = 0; n && i < call->n_args; i++)
        n_tensors += call->args[i].tag == TT_ARG_TENSORS ? call->args[i].n : call->args[i].tag == TT_ARG_TENSOR;
    if (n_tensors <= key->n_storages) return false; /* each has a storage of its own */
    for (int i = 0; i < key->n_slots; i++) moves |= key->slots[i].dim >= 0; /* where such a view is the key does not say */
    for (int j = 1; j < n; j++)
        if (meets_before(call, n, 0, j, moves)) return true;
    return false;
}

static tt_status call_part(const tt_call *call, tt_arena *arena, int n, int from, int to) {
    tt_arg *args = tt_arena_copy(arena, call->args, sizeof *args * (size_t)call->n_args);
    tt_tensor **targets = TT_NEW_N(arena, tt_tensor *, call->n_targets);
    tt_call part = *call;
    part.args = args;
    part.targets = targets;
    part.n_targets = call->n_targets / n * (to - from);
    for (int i = 0; i < call->n_args; i++) {
        tt_arg *a = &args[i];
        if (!is_list(a) || a->n != n) continue;
        a->n = to - from;
        switch (a->tag) {
        case TT_ARG_TENSORS: a->u.tensors += from; break;
        case TT_ARG_SCALARS: a->u.scalars += from; break;
        case TT_ARG_DOUBLES: a->u.doubles += from; break;
        case TT_ARG_INTS: a->u.ints += from; break;
        default: a->u.bools += from; break;
        }
    }
    for (int list = 0; list < call->n_targets / n; list++)
        memcpy(targets + list * (to - from), call->targets + list * n + from, sizeof *targets * (size_t)(to - from));
    int n_results; const tt_result *results; /* what a list op writes it does not return */
    return tt_op_call_locked(&part, &n_results, &results);
}

/* A part that fails, as one that has no lowering does, leaves nothing of those before it: the call may be made again elsewhere. */
tt_status tt_list_in_order(const tt_call *call, tt_arena *arena) {
    const int n = list_length(call);
    tt_value **before = TT_NEW_N(arena, tt_value *, call->n_targets);
    for (int i = 0; i < call->n_targets; i++)
        if (call->targets[i] && (before[i] = call->targets[i]->storage->value)) tt_value_retain(before[i]);
    tt_status status = TT_OK;
    for (int from = 0, to; from < n && !status; from = to) {
        for (to = from + 1; to < n && !meets_before(call, n, from, to, true); to++) {}
        status = call_part(call, arena, n, from, to);
    }
    for (int i = 0; i < call->n_targets; i++) {
        if (status && call->targets[i]) tt_storage_put(call->targets[i]->storage, before[i]);
        else tt_value_release(before[i]);
    }
    return status;
}
