/* fast_table.c - which nodes have a fast kernel, and what those kernels share. */
#include "engine/fast.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static _Alignas(64) char not_mine[256]; /* an address that is no error: compared, never read */
tt_error *const eng_not_mine = (tt_error *)(void *)not_mine;

const eng_kernel eng_fast_kernels[HLO_N_OPS] = {
    [HLO_REDUCE] = eng_fast_reduce,
    [HLO_TRANSPOSE] = eng_fast_transpose,
    [HLO_BROADCAST_IN_DIM] = eng_fast_broadcast_in_dim,
    [HLO_SLICE] = eng_fast_slice,
    [HLO_PAD] = eng_fast_pad,
    [HLO_CONCATENATE] = eng_fast_concatenate,
    [HLO_REVERSE] = eng_fast_reverse,
    [HLO_RESHAPE] = eng_fast_reshape,
    [HLO_DYNAMIC_SLICE] = eng_fast_dynamic_slice,
    [HLO_DYNAMIC_UPDATE_SLICE] = eng_fast_dynamic_update_slice,
    [HLO_IOTA] = eng_fast_iota,
    [HLO_GATHER] = eng_fast_gather,
    [HLO_SCATTER] = eng_fast_scatter,
    [HLO_SORT] = eng_fast_sort,
    [HLO_CHLO_TOP_K] = eng_fast_top_k,
    [HLO_RNG_BIT_GENERATOR] = eng_fast_rng_bit_generator,
    [HLO_REDUCE_WINDOW] = eng_fast_reduce_window,
    [HLO_SELECT_AND_SCATTER] = eng_fast_select_and_scatter,
    [HLO_DOT_GENERAL] = eng_fast_dot_general,
    [HLO_DOT] = eng_fast_dot,
    [HLO_CONVOLUTION] = eng_fast_convolution,
    [HLO_FFT] = eng_fast_fft,
    [HLO_TRIANGULAR_SOLVE] = eng_fast_triangular_solve,
    [HLO_DIVIDE] = eng_fast_divide,
    [HLO_REMAINDER] = eng_fast_divide,
};

/* ---- regions ---- */

typedef struct writer { char *p, *end; } writer;

static bool put(writer *w, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(w->end - w->p) <= n)
        return false;
    memcpy(w->p, text, n + 1);
    w->p += n;
    return true;
}

static bool put_value(const hlo_graph *g, const hlo_block *block, hlo_ref r, writer *w, int depth) {
    for (int i = 0; i < block->n_params; i++)
        if (block->params[i] == r) {
            char name[16];
            snprintf(name, sizeof name, "p%d", i);
            return put(w, name);
        }
    const hlo_node *node = hlo_node_at(g, r);
    if (!depth || !(hlo_op_flags((hlo_op)node->op) & HLO_F_ELEM) || node->op == HLO_CONVERT)
        return false;
    const char *name = strchr(hlo_op_text((hlo_op)node->op), '.');
    if (node->op == HLO_COMPARE) {
        if (!strcmp(hlo_attr_text(node, HLO_A_COMPARE_TYPE, ""), "TOTALORDER"))
            return false;
        name = hlo_attr_text(node, HLO_A_COMPARISON_DIRECTION, "?");
    } else {
        name = name ? name + 1 : "?";
    }
    if (!put(w, name) || !put(w, "("))
        return false;
    for (uint32_t k = 0; k < node->n_operands; k++)
        if ((k && !put(w, ",")) || !put_value(g, block, node->operands[k], w, depth - 1))
            return false;
    return put(w, ")");
}

bool fast_region_text(const hlo_graph *g, const hlo_block *block, hlo_ref r, char *out, int size) {
    writer w = {out, out + size};
    return put_value(g, block, r, &w, 12);
}

hlo_op fast_region_op(const hlo_graph *g, const hlo_block *block) {
    if (block->n_params != 2 || block->n_results != 1 || block->n_nodes != 1 || block->results[0] != block->nodes[0])
        return HLO_INVALID;
    const hlo_node *node = hlo_node_at(g, block->nodes[0]);
    if (node->n_operands != 2 || !(hlo_op_flags((hlo_op)node->op) & HLO_F_COMM) || !(hlo_op_flags((hlo_op)node->op) & HLO_F_ELEM))
        return HLO_INVALID;
    bool straight = node->operands[0] == block->params[0] && node->operands[1] == block->params[1];
    bool swapped = node->operands[1] == block->params[0] && node->operands[0] == block->params[1];
    return straight || swapped ? (hlo_op)node->op : HLO_INVALID;
}

bool fast_region_takes_new(const hlo_graph *g, const hlo_block *block) {
    (void)g;
    return block->n_params == 2 && block->n_results == 1 && block->results[0] == block->params[1];
}

/* ---- elements and work ---- */

void fast_identity(hlo_op op, tt_dtype dtype, void *out) {
    bool is_float = tt_is_float(dtype), is_signed = tt_dtype_class(dtype) == TT_CLASS_SINT;
    int bits = 8 * tt_dtype_size(dtype);
    int64_t most = dtype == TT_PRED ? 1 : is_signed ? INT64_MAX >> (64 - bits) : bits == 64 ? -1 : ((int64_t)1 << bits) - 1;
    int64_t least = is_signed ? -most - 1 : 0;
    switch ((int)op) {
    case HLO_MULTIPLY:
        if (tt_is_complex(dtype))
            memset(out, 0, (size_t)tt_dtype_size(dtype));
        if (is_float || tt_is_complex(dtype))
            tt_element_set(tt_dtype_real(dtype), out, 1);
        else
            tt_element_set_int(dtype, out, 1);
        return;
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
        if (is_float)
            tt_element_set(dtype, out, op == HLO_MAXIMUM ? -INFINITY : INFINITY);
        else
            tt_element_set_int(dtype, out, op == HLO_MAXIMUM ? least : most);
        return;
    case HLO_AND: tt_element_set_int(dtype, out, dtype == TT_PRED ? 1 : -1); return;
    default: memset(out, 0, (size_t)tt_dtype_size(dtype));
    }
}

void fast_strides(const hlo_type *t, int64_t *out_strides) {
    int64_t s = tt_dtype_size(t->dtype);
    for (int d = t->rank - 1; d >= 0; d--) {
        out_strides[d] = s;
        s *= t->dims[d];
    }
}

typedef struct ranges { fast_range_fn fn; void *context; int64_t n, size; } ranges;

static void ranges_task(void *context, int64_t task, int worker) {
    const ranges *r = context;
    (void)worker;
    r->fn(r->context, task * r->size, loop_min((task + 1) * r->size, r->n));
}

void fast_ranges(int64_t n, int64_t grain, fast_range_fn fn, void *context) {
    if (n <= 0)
        return;
    int64_t tasks = loop_min(64, loop_max(1, n / loop_max(grain, 1)));
    ranges r = {fn, context, n, (n + tasks - 1) / tasks};
    tasks = (n + r.size - 1) / r.size;
    if (tasks == 1)
        fn(context, 0, n);
    else
        eng_parallel(tasks, ranges_task, &r);
}
