/* infer_control.c - constraints of control flow, calls, older and dynamic ops, and ops between devices. Their
 * types are given. */
#include "base/checked.h"
#include "hlo/internal.h"
#include <string.h>

static void operand_types(const hlo_graph *g, const hlo_node *n, uint32_t first, hlo_type *out) {
    for (uint32_t i = first; i < n->n_operands; i++)
        out[i - first] = *HLO_OPERAND(i);
}

static tt_status check_results_are(const hlo_graph *g, const hlo_node *n, const hlo_type *given, int count,
                                   const hlo_type *types) {
    HLO_NEED(n->n_results == count, "has %d results, gives %d", n->n_results, count);
    for (int i = 0; i < count; i++)
        HLO_NEED(hlo_type_equal(&given[i], &types[i]), "result %d has type %s, gives %s", i,
                 hlo_type_print(g->arena, &given[i]), hlo_type_print(g->arena, &types[i]));
    return TT_OK;
}

static tt_status check_while(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    int count = (int)n->n_operands;
    hlo_type *types = TT_NEW_N(g->arena, hlo_type, count), pred = hlo_type_make(TT_PRED, 0, NULL);
    operand_types(g, n, 0, types);
    TT_TRY(check_results_are(g, n, given, count, types));
    TT_TRY(hlo_check_region(g, n, 0, count, types, 1, &pred));
    return hlo_check_region(g, n, 1, count, types, count, types);
}

static tt_status check_branches(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    const hlo_type *x = HLO_OPERAND(0);
    if (n->op == HLO_IF)
        HLO_NEED(n->n_regions == 2 && x->dtype == TT_PRED && x->rank == 0,
                 "needs an i1 scalar and two branches");
    else
        HLO_NEED(n->n_regions >= 1 && x->dtype == TT_I32 && x->rank == 0, "needs an i32 scalar and a branch");
    for (int i = 0; i < n->n_regions; i++)
        TT_TRY(hlo_check_region(g, n, i, 0, NULL, n->n_results, given));
    return TT_OK;
}

static tt_status check_call(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    const char *name = hlo_attr_text(n, n->op == HLO_CALL ? HLO_A_CALLEE : HLO_A_DECOMPOSITION, NULL);
    HLO_NEED(name, "names no function");
    const hlo_func *f = hlo_func_find(g, name);
    HLO_NEED(f, "function '%s' does not exist", name);
    HLO_NEED(f->body->n_params == (int)n->n_operands && f->body->n_results == n->n_results,
             "'%s' takes %d values and returns %d, not %u and %d", name, f->body->n_params,
             f->body->n_results, n->n_operands, n->n_results);
    for (uint32_t i = 0; i < n->n_operands; i++)
        HLO_NEED(hlo_type_equal(HLO_OPERAND(i), hlo_type_of(g, f->body->params[i])),
                 "'%s' takes %s at %u, not %s", name,
                 hlo_type_print(g->arena, hlo_type_of(g, f->body->params[i])), i, HLO_OPERAND_TEXT(i));
    for (int i = 0; i < n->n_results; i++) {
        hlo_ref r = f->body->results[i];
        HLO_NEED(r && r < g->n_nodes && hlo_type_of(g, r) && hlo_type_equal(hlo_type_of(g, r), &given[i]),
                 "'%s' does not return %s at %d", name, hlo_type_print(g->arena, &given[i]), i);
    }
    return TT_OK;
}

/* Element types as operand 0's (unless it is a shape operand), sizes as given: dynamic ops whose shapes
 * turned out static. */
static tt_status check_dynamic(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    if (n->op != HLO_DYNAMIC_IOTA)
        HLO_NEED(HLO_OPERAND(0)->dtype == given->dtype || n->op == HLO_DYNAMIC_CONV,
                 "changes the element type from %s to %s", tt_dtype_name(HLO_OPERAND(0)->dtype),
                 tt_dtype_name(given->dtype));
    if (n->op == HLO_DYNAMIC_RESHAPE)
        HLO_NEED(hlo_type_valid(given) && hlo_type_elements(HLO_OPERAND(0)) == hlo_type_elements(given),
                 "%s cannot become %s", HLO_OPERAND_TEXT(0), hlo_type_print(g->arena, given));
    if (n->op == HLO_DYNAMIC_BROADCAST_IN_DIM) {
        const hlo_type *x = HLO_OPERAND(0);
        hlo_ints m = hlo_attr_ints(n, HLO_A_BROADCAST_DIMENSIONS);
        HLO_NEED(m.n == x->rank && hlo_dims_distinct(m, given->rank),
                 "broadcast_dimensions do not map rank %d into rank %d", x->rank, given->rank);
        for (int i = 0; i < m.n; i++)
            HLO_NEED(x->dims[i] == 1 || x->dims[i] == given->dims[m.v[i]],
                     "dimension %d of %s does not broadcast to %s", i, HLO_OPERAND_TEXT(0),
                     hlo_type_print(g->arena, given));
    }
    return TT_OK;
}

static tt_status check_triangular_solve(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    const hlo_type *a = HLO_OPERAND(0), *b = HLO_OPERAND(1);
    HLO_NEED(a->rank >= 2 && a->rank == b->rank && a->dtype == b->dtype &&
                 a->dims[a->rank - 1] == a->dims[a->rank - 2],
             "%s does not divide %s", HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(1));
    for (int i = 0; i < a->rank - 2; i++)
        HLO_NEED(a->dims[i] == b->dims[i], "batch dims of %s and %s differ", HLO_OPERAND_TEXT(0),
                 HLO_OPERAND_TEXT(1));
    int side = hlo_attr_int(n, HLO_A_LEFT_SIDE, 1) ? b->rank - 2 : b->rank - 1;
    HLO_NEED(b->dims[side] == a->dims[a->rank - 1], "%s does not divide %s", HLO_OPERAND_TEXT(0),
             HLO_OPERAND_TEXT(1));
    const char *transpose = hlo_attr_text(n, HLO_A_TRANSPOSE_A, "NO_TRANSPOSE");
    HLO_NEED(!strcmp(transpose, "NO_TRANSPOSE") || !strcmp(transpose, "TRANSPOSE") ||
                 !strcmp(transpose, "ADJOINT"),
             "transpose_a '%s'", transpose);
    return check_results_are(g, n, given, 1, b);
}

static tt_status check_batch_norm(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    const hlo_type *x = HLO_OPERAND(0);
    int64_t f = hlo_attr_int(n, HLO_A_FEATURE_INDEX, -1);
    HLO_NEED(f >= 0 && f < x->rank, "feature_index %lld is outside rank %d", (long long)f, x->rank);
    hlo_type channel = hlo_type_make(x->dtype, 1, &x->dims[f]), types[3] = {*x, channel, channel};
    for (uint32_t i = 1; i < n->n_operands; i++) {
        bool full = n->op == HLO_BATCH_NORM_GRAD && i == 4;
        HLO_NEED(full ? hlo_dims_equal(HLO_OPERAND(i), x) : hlo_dims_equal(HLO_OPERAND(i), &channel),
                 "operand %u is %s", i, HLO_OPERAND_TEXT(i));
    }
    return check_results_are(g, n, given, 3, types);
}

static tt_status check_map(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    int count = (int)n->n_operands;
    HLO_NEED(count > 0, "needs an operand");
    hlo_type *params = TT_NEW_N(g->arena, hlo_type, count), result = hlo_type_make(given->dtype, 0, NULL);
    for (int i = 0; i < count; i++) {
        HLO_NEED(hlo_dims_equal(HLO_OPERAND(i), HLO_OPERAND(0)), "operands have different shapes");
        params[i] = hlo_type_make(HLO_OPERAND(i)->dtype, 0, NULL);
    }
    HLO_NEED(hlo_dims_equal(HLO_OPERAND(0), given), "changes the shape");
    return hlo_check_region(g, n, 0, count, params, 1, &result);
}

/* Sizes along one dimension grow (gather) or shrink (scatter, all_to_all) by the size of a group. */
static tt_status check_resize(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    hlo_attr_name name = n->op == HLO_ALL_GATHER ? HLO_A_ALL_GATHER_DIM : HLO_A_SCATTER_DIMENSION;
    int64_t dim = hlo_attr_int(n, name, -1);
    HLO_NEED((int)n->n_operands == n->n_results, "has %d results for %u operands", n->n_results,
             n->n_operands);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        const hlo_type *x = HLO_OPERAND(i), *y = &given[i];
        HLO_NEED(dim >= 0 && dim < x->rank && x->rank == y->rank && x->dtype == y->dtype,
                 "%s cannot become %s along %lld", HLO_OPERAND_TEXT(i), hlo_type_print(g->arena, y),
                 (long long)dim);
        int64_t small = n->op == HLO_ALL_GATHER ? x->dims[dim] : y->dims[dim],
                large = n->op == HLO_ALL_GATHER ? y->dims[dim] : x->dims[dim];
        HLO_NEED(small ? large % small == 0 : !large, "%s cannot become %s", HLO_OPERAND_TEXT(i),
                 hlo_type_print(g->arena, y));
        for (int k = 0; k < x->rank; k++)
            HLO_NEED(k == dim || x->dims[k] == y->dims[k], "%s cannot become %s", HLO_OPERAND_TEXT(i),
                     hlo_type_print(g->arena, y));
    }
    return TT_OK;
}

static tt_status check_all_to_all(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    int64_t split = hlo_attr_int(n, HLO_A_SPLIT_DIMENSION, -1),
            concat = hlo_attr_int(n, HLO_A_CONCAT_DIMENSION, -1),
            count = hlo_attr_int(n, HLO_A_SPLIT_COUNT, 0);
    HLO_NEED((int)n->n_operands == n->n_results, "has %d results for %u operands", n->n_results,
             n->n_operands);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        hlo_type t = *HLO_OPERAND(i);
        HLO_NEED(split >= 0 && split < t.rank && concat >= 0 && concat < t.rank && count > 0 &&
                     t.dims[split] % count == 0,
                 "%s cannot be split in %lld", HLO_OPERAND_TEXT(i), (long long)count);
        t.dims[split] /= count;
        HLO_NEED(tt_mul_i64(t.dims[concat], count, &t.dims[concat]), "size overflows");
        HLO_NEED(hlo_type_equal(&t, &given[i]), "%s gives %s, not %s", HLO_OPERAND_TEXT(i),
                 hlo_type_print(g->arena, &t), hlo_type_print(g->arena, &given[i]));
    }
    return TT_OK;
}

static tt_status check_all_reduce(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    int count = (int)n->n_operands;
    hlo_type *types = TT_NEW_N(g->arena, hlo_type, count);
    operand_types(g, n, 0, types);
    TT_TRY(check_results_are(g, n, given, count, types));
    hlo_type scalar = hlo_type_make(count ? types[0].dtype : TT_F32, 0, NULL), two[2] = {scalar, scalar};
    return hlo_check_region(g, n, 0, 2, two, 1, &scalar);
}

static tt_status check_collective_reduce(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    hlo_type scalar = hlo_type_make(HLO_OPERAND(0)->dtype, 0, NULL), two[2] = {scalar, scalar};
    TT_TRY(check_results_are(g, n, given, 1, HLO_OPERAND(0)));
    return hlo_check_region(g, n, 0, 2, two, 1, &scalar);
}

/* With a dynamic root the last operand names, for each operand before it, a member of the group. */
static tt_status check_collective_broadcast(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    bool dynamic = hlo_attr_int(n, HLO_A_HAS_DYNAMIC_ROOT, 0) != 0;
    HLO_NEED(n->n_operands > (uint32_t)dynamic, "has %u operands", n->n_operands);
    int count = (int)n->n_operands - dynamic;
    hlo_type *types = TT_NEW_N(g->arena, hlo_type, n->n_operands);
    operand_types(g, n, 0, types);
    if (dynamic)
        HLO_NEED(types[count].rank == 1 && types[count].dims[0] == count && tt_is_int(types[count].dtype), "has the roots %s for %d operands",
                 HLO_OPERAND_TEXT(count), count);
    return check_results_are(g, n, given, count, types);
}

/* (inputs, inits): the region takes a slice of every input and the carries, and returns a slice of every output and the new carries. */
static tt_status check_scan(const hlo_graph *g, const hlo_node *n, const hlo_type *given) {
    hlo_ints sizes = hlo_attr_ints(n, HLO_A_OPERAND_SEGMENTS);
    int64_t dim = hlo_attr_int(n, HLO_A_DIMENSION, -1);
    HLO_NEED(sizes.n == 2 && sizes.v[0] > 0 && sizes.v[1] > 0 && sizes.v[0] <= n->n_operands && sizes.v[0] + sizes.v[1] == n->n_operands &&
                 n->n_results >= sizes.v[1], "needs inputs and inits");
    int n_in = (int)sizes.v[0], n_carry = (int)sizes.v[1], n_out = n->n_results - n_carry, count = n_in + n_out + n_carry;
    hlo_type *slices = TT_NEW_N(g->arena, hlo_type, count + n_carry); /* of inputs, carries, of outputs, carries */
    for (int i = 0; i < n_in + n_out; i++) {
        hlo_type t = i < n_in ? *HLO_OPERAND(i) : given[i - n_in];
        HLO_NEED(dim >= 0 && dim < t.rank && t.dims[dim] == HLO_OPERAND(0)->dims[dim], "cannot scan %s along %lld",
                 hlo_type_print(g->arena, &t), (long long)dim);
        for (int d = (int)dim; d + 1 < t.rank; d++)
            t.dims[d] = t.dims[d + 1];
        t.rank--;
        slices[i < n_in ? i : i + n_carry] = t;
    }
    for (int i = 0; i < n_carry; i++) {
        const hlo_type *t = HLO_OPERAND(n_in + i);
        HLO_NEED(hlo_type_equal(t, &given[n_out + i]), "a carry of %s becomes %s", HLO_OPERAND_TEXT(n_in + i),
                 hlo_type_print(g->arena, &given[n_out + i]));
        slices[n_in + i] = slices[n_in + n_carry + n_out + i] = *t;
    }
    return hlo_check_region(g, n, 0, n_in + n_carry, slices, n_out + n_carry, slices + n_in + n_carry);
}

static tt_status check_pairwise(const hlo_graph *g, const hlo_node *n) {
    bool constant = n->op == HLO_CHECK_EXPECT_EQ_CONST || n->op == HLO_CHECK_EXPECT_ALMOST_EQ_CONST;
    const hlo_attr *a = hlo_attr_find(n, HLO_A_VALUE);
    if (constant)
        HLO_NEED(a && a->kind == HLO_K_DENSE && hlo_type_equal(a->type, HLO_OPERAND(0)),
                 "needs a value of type %s", HLO_OPERAND_TEXT(0));
    else
        HLO_NEED(hlo_type_equal(HLO_OPERAND(0), HLO_OPERAND(1)), "compares %s with %s", HLO_OPERAND_TEXT(0),
                 HLO_OPERAND_TEXT(1));
    return TT_OK;
}

tt_status hlo_check_control(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)out;
    switch ((int)n->op) {
    case HLO_WHILE:
        return check_while(g, n, given);
    case HLO_CASE:
    case HLO_IF:
        return check_branches(g, n, given);
    case HLO_CALL:
    case HLO_COMPOSITE:
        return check_call(g, n, given);
    case HLO_MAP:
        return check_map(g, n, given);
    case HLO_OPTIMIZATION_BARRIER: {
        hlo_type *types = TT_NEW_N(g->arena, hlo_type, n->n_operands);
        operand_types(g, n, 0, types);
        return check_results_are(g, n, given, (int)n->n_operands, types);
    }
    case HLO_TRIANGULAR_SOLVE:
        return check_triangular_solve(g, n, given);
    case HLO_BATCH_NORM_TRAINING:
    case HLO_BATCH_NORM_GRAD:
        return check_batch_norm(g, n, given);
    case HLO_DYNAMIC_BROADCAST_IN_DIM:
    case HLO_DYNAMIC_CONV:
    case HLO_DYNAMIC_GATHER:
    case HLO_DYNAMIC_IOTA:
    case HLO_DYNAMIC_PAD:
    case HLO_DYNAMIC_RESHAPE:
    case HLO_REAL_DYNAMIC_SLICE:
        return check_dynamic(g, n, given);
    case HLO_GET_DIMENSION_SIZE: {
        int64_t dim = hlo_attr_int(n, HLO_A_DIMENSION, -1);
        HLO_NEED(dim >= 0 && dim < HLO_OPERAND(0)->rank && given->dtype == TT_I32 && !given->rank,
                 "dimension %lld of %s", (long long)dim, HLO_OPERAND_TEXT(0));
        return TT_OK;
    }
    case HLO_RNG_BIT_GENERATOR:
        HLO_NEED(n->n_results == 2 && hlo_type_equal(&given[0], HLO_OPERAND(0)) &&
                     HLO_OPERAND(0)->rank == 1 && HLO_OPERAND(0)->dtype == TT_U64,
                 "state %s", HLO_OPERAND_TEXT(0));
        return TT_OK;
    case HLO_ALL_GATHER:
    case HLO_REDUCE_SCATTER:
        return check_resize(g, n, given);
    case HLO_ALL_TO_ALL:
        return check_all_to_all(g, n, given);
    case HLO_ALL_REDUCE:
        return check_all_reduce(g, n, given);
    case HLO_COLLECTIVE_REDUCE:
        return check_collective_reduce(g, n, given);
    case HLO_COLLECTIVE_BROADCAST:
        return check_collective_broadcast(g, n, given);
    case HLO_CHLO_SCAN:
        return check_scan(g, n, given);
    case HLO_CHECK_EXPECT_EQ:
    case HLO_CHECK_EXPECT_ALMOST_EQ:
    case HLO_CHECK_EXPECT_CLOSE:
    case HLO_CHECK_EXPECT_EQ_CONST:
    case HLO_CHECK_EXPECT_ALMOST_EQ_CONST:
        return check_pairwise(g, n);
    }
    return TT_OK;
}
