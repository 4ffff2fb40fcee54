/* build.c - builders: functions, blocks, composites, the general form, constants and elementwise ops.
 *
 * Lowerings call these; each result is checked by infer.c. Folding is exact or not done: a fold may not
 * change a bit of any plugin's result. Shape ops are in build_shape.c, reductions, windows and products in
 * build_reduce.c. */
#include "hlo/build.h"
#include "hlo/internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- functions and blocks ---- */

void hlo_func_begin(hlo_graph *g, const char *name, bool is_public) {
    g->func = hlo_func_create(g, name, is_public);
    g->block = g->func->body;
}

hlo_ref hlo_param(hlo_graph *g, const hlo_type *type) {
    if (g->error)
        return HLO_NONE;
    if (!g->block)
        return HLO_FAIL(g, INTERNAL, "a parameter outside a function");
    if (!hlo_type_valid(type))
        return HLO_FAIL(g, INVALID_ARGUMENT, "parameter type %s is out of range",
                        hlo_type_print(g->arena, type));
    return hlo_append_param(g, g->block, hlo_type_keep(g, type));
}

void hlo_return(hlo_graph *g, int n, const hlo_ref *values) {
    if (g->error)
        return;
    if (!g->block) {
        HLO_FAIL(g, INTERNAL, "a return outside a function");
        return;
    }
    for (int i = 0; i < n; i++)
        if (!values[i] || values[i] >= g->n_nodes || !hlo_type_of(g, values[i])) {
            HLO_FAIL(g, INTERNAL, "returned value %d is none", i);
            return;
        }
    hlo_block_set_results(g, g->block, n, values);
    if (g->func && g->block == g->func->body)
        g->block = NULL;
}

hlo_block *hlo_block_begin(hlo_graph *g, hlo_block **out_saved) {
    *out_saved = g->block;
    return g->block = hlo_block_create(g);
}

void hlo_block_end(hlo_graph *g, hlo_block *saved) {
    g->block = saved;
}

hlo_composite hlo_composite_begin(hlo_graph *g, const char *name, const char *attributes, int n,
                                  const hlo_ref *inputs, hlo_ref *out_params) {
    hlo_composite c = {.saved_block = g->block, .saved_func = g->func, .n = n};
    c.inputs = tt_arena_copy(g->arena, inputs, sizeof *inputs * (size_t)n);
    c.name = tt_arena_copy(g->arena, name, strlen(name) + 1);
    c.attributes = attributes ? tt_arena_copy(g->arena, attributes, strlen(attributes) + 1) : NULL;
    memset(out_params, 0, sizeof *out_params * (size_t)n);
    if (g->error)
        return c;
    for (int i = 0; i < n; i++)
        if (!inputs[i]) {
            HLO_FAIL(g, INTERNAL, "%s: input %d is no value", name, i);
            return c;
        }
    char *unique = tt_arena_printf(g->arena, "%s", name);
    for (int k = 1; hlo_func_find(g, unique); k++)
        unique = tt_arena_printf(g->arena, "%s.%d", name, k);
    hlo_func_begin(g, unique, false);
    c.func = g->func;
    for (int i = 0; i < n; i++)
        out_params[i] = hlo_param(g, hlo_type_of(g, inputs[i]));
    return c;
}

void hlo_composite_end(hlo_graph *g, hlo_composite *c, int n_results, const hlo_ref *results,
                       hlo_ref *out_values) {
    hlo_return(g, n_results, results);
    g->block = c->saved_block;
    g->func = c->saved_func;
    memset(out_values, 0, sizeof *out_values * (size_t)n_results);
    if (g->error || !c->func)
        return;
    hlo_type *types = TT_NEW_N(g->arena, hlo_type, n_results);
    for (int i = 0; i < n_results; i++)
        types[i] = *hlo_type_of(g, results[i]);
    hlo_attr attrs[3] = {hlo_attr_make_text(g, HLO_A_COMPOSITE_NAME, c->name),
                         hlo_attr_make_text(g, HLO_A_DECOMPOSITION, c->func->name)};
    int n_attrs = 2;
    if (c->attributes && *c->attributes)
        attrs[n_attrs++] = hlo_attr_make_text(g, HLO_A_COMPOSITE_ATTRIBUTES,
                                              tt_arena_printf(g->arena, "{%s}", c->attributes));
    hlo_ref r = hlo_make(g, HLO_COMPOSITE, c->n, c->inputs, n_attrs, attrs, 0, NULL, n_results, types);
    for (int i = 0; i < n_results && r; i++)
        out_values[i] = r + (hlo_ref)i;
}

/* ---- elementwise ops of transposed values ---- */

/* x as it was before a transpose by `wanted`, which `to` undoes: what was transposed so, a scalar, a splat, or a broadcast, which says
 * its dims anew. HLO_NONE: x lies otherwise. */
static hlo_ref untransposed(hlo_graph *g, hlo_ref x, hlo_ints wanted, const int64_t *to) {
    const hlo_node *n = hlo_node_at(g, x);
    const hlo_type *t = hlo_type_of(g, x);
    if (!t->rank)
        return x;
    if (n->op == HLO_TRANSPOSE) {
        const hlo_ints p = hlo_attr_ints(n, HLO_A_PERMUTATION);
        return p.n == wanted.n && !memcmp(p.v, wanted.v, sizeof *p.v * (size_t)p.n) ? n->operands[0] : HLO_NONE;
    }
    if (t->rank != wanted.n)
        return HLO_NONE;
    if (n->op == HLO_CONSTANT && hlo_attr_find(n, HLO_A_VALUE)->splat)
        return hlo_transpose(g, x, to);
    if (n->op != HLO_BROADCAST_IN_DIM)
        return HLO_NONE;
    const hlo_ints map = hlo_attr_ints(n, HLO_A_BROADCAST_DIMENSIONS);
    int64_t dims[HLO_MAX_RANK], mapping[HLO_MAX_RANK];
    for (int d = 0; d < wanted.n; d++)
        dims[wanted.v[d]] = t->dims[d];
    for (int i = 0; i < map.n; i++)
        mapping[i] = wanted.v[map.v[i]];
    return hlo_broadcast_in_dim(g, n->operands[0], wanted.n, dims, mapping);
}

/* An elementwise op of values that are all transposed alike (channels_last tensors) is one of the values as they lie, transposed;
 * HLO_NONE: there is no such. */
static hlo_ref make_untransposed(hlo_graph *g, hlo_op op, int n_operands, const hlo_ref *operands, int n_attrs, const hlo_attr *attrs,
                                 const hlo_type *result_type) {
    enum { MOST = 3 };
    hlo_ref inner[MOST];
    hlo_ints p = {0, NULL};
    int64_t permutation[HLO_MAX_RANK], back[HLO_MAX_RANK];
    if (n_operands > MOST)
        return HLO_NONE;
    for (int i = 0; i < n_operands; i++)
        if (!p.n && hlo_node_at(g, operands[i])->op == HLO_TRANSPOSE)
            p = hlo_attr_ints(hlo_node_at(g, operands[i]), HLO_A_PERMUTATION);
    if (!p.n)
        return HLO_NONE;
    memcpy(permutation, p.v, sizeof *permutation * (size_t)p.n);
    p.v = permutation;
    for (int d = 0; d < p.n; d++)
        back[permutation[d]] = d;
    for (int i = 0; i < n_operands; i++) {
        inner[i] = untransposed(g, operands[i], p, back);
        if (!inner[i])
            return HLO_NONE;
    }
    hlo_type type;
    if (result_type) {
        type = *result_type;
        if (type.rank != p.n)
            return HLO_NONE;
        for (int d = 0; d < p.n; d++)
            type.dims[d] = result_type->dims[back[d]];
    }
    return hlo_transpose(g, hlo_make(g, op, n_operands, inner, n_attrs, attrs, 0, NULL, 1, result_type ? &type : NULL), permutation);
}

/* ---- the general form ---- */

hlo_ref hlo_make(hlo_graph *g, hlo_op op, int n_operands, const hlo_ref *operands, int n_attrs,
                 const hlo_attr *attrs, int n_regions, hlo_block **regions, int n_results,
                 const hlo_type *result_types) {
    if (g->error)
        return HLO_NONE;
    if (!g->block)
        return HLO_FAIL(g, INTERNAL, "%s outside a function", hlo_op_text(op));
    if (n_results > UINT16_MAX || n_attrs > UINT16_MAX || n_regions > UINT16_MAX || n_operands < 0)
        return HLO_FAIL(g, INTERNAL, "%s: too many results, attributes or regions", hlo_op_text(op));
    for (int i = 0; i < n_operands; i++)
        if (!operands[i])
            return HLO_FAIL(g, INTERNAL, "%s: operand %d is no value", hlo_op_text(op), i);
    if ((hlo_op_flags(op) & HLO_F_ELEM) && n_operands && !n_regions && n_results == 1) {
        const hlo_ref moved = make_untransposed(g, op, n_operands, operands, n_attrs, attrs, result_types);
        if (moved || g->error)
            return moved;
    }
    hlo_node node = {.op = (uint16_t)op,
                     .n_results = (uint16_t)n_results,
                     .n_attrs = (uint16_t)n_attrs,
                     .n_regions = (uint16_t)n_regions,
                     .n_operands = (uint32_t)n_operands,
                     .operands = operands,
                     .attrs = attrs,
                     .regions = regions};
    hlo_type one, *types = n_results > 1 ? TT_NEW_N(g->arena, hlo_type, n_results) : &one;
    tt_status error = hlo_infer(g, &node, result_types, types);
    if (error)
        return hlo_fail(g, error);
    const hlo_type *one_kept,
        **kept = n_results > 1 ? TT_NEW_N(g->arena, const hlo_type *, n_results) : &one_kept;
    for (int i = 0; i < n_results; i++) {
        /* most ops keep their operand's type: share it */
        const hlo_type *first = n_operands ? hlo_type_of(g, operands[0]) : NULL;
        kept[i] = first && hlo_type_equal(first, &types[i]) ? first : hlo_type_keep(g, &types[i]);
    }
    return hlo_append(g, op, n_operands, operands, n_attrs, attrs, n_regions, regions, n_results, kept);
}

/* ---- constants ---- */

static hlo_ref constant_node(hlo_graph *g, const hlo_type *type, const void *data, bool splat) {
    if (g->error)
        return HLO_NONE;
    if (!hlo_type_valid(type))
        return HLO_FAIL(g, INVALID_ARGUMENT, "constant of type %s", hlo_type_print(g->arena, type));
    hlo_attr a = hlo_attr_make_dense(g, type, data, splat);
    return hlo_make(g, HLO_CONSTANT, 0, NULL, 1, &a, 0, NULL, 1, a.type);
}

hlo_ref hlo_constant(hlo_graph *g, const hlo_type *type, const void *data) {
    return constant_node(g, type, data, false);
}

hlo_ref hlo_splat(hlo_graph *g, const hlo_type *type, double value) {
    unsigned char element[16] = {0};
    tt_element_set(type->dtype, element, value);
    return constant_node(g, type, element, true);
}

hlo_ref hlo_splat_int(hlo_graph *g, const hlo_type *type, int64_t value) {
    unsigned char element[16] = {0};
    tt_element_set_int(type->dtype, element, value);
    return constant_node(g, type, element, true);
}

hlo_ref hlo_scalar(hlo_graph *g, tt_dtype dtype, double value) {
    hlo_type t = hlo_type_make(dtype, 0, NULL);
    return hlo_splat(g, &t, value);
}

hlo_ref hlo_scalar_int(hlo_graph *g, tt_dtype dtype, int64_t value) {
    hlo_type t = hlo_type_make(dtype, 0, NULL);
    return hlo_splat_int(g, &t, value);
}

const hlo_type *hlo_need(hlo_graph *g, const char *builder, hlo_ref x) {
    if (g->error)
        return NULL;
    const hlo_type *t = x && x < g->n_nodes ? hlo_type_of(g, x) : NULL;
    if (!t)
        HLO_FAIL(g, INTERNAL, "%s: operand is no value", builder);
    return t;
}

hlo_ref hlo_splat_like(hlo_graph *g, hlo_ref like, double value) {
    const hlo_type *t = hlo_need(g, "splat_like", like);
    return t ? hlo_splat(g, t, value) : HLO_NONE;
}

/* The extreme of an element type, as bytes. Floats without an infinity give their largest finite number. */
static void extreme(tt_dtype d, bool largest, unsigned char element[16]) {
    int bits = d == TT_I4 || d == TT_U4 ? 4 : d == TT_I2 || d == TT_U2 ? 2 : tt_dtype_size(d) * 8;
    memset(element, 0, 16);
    switch (tt_dtype_class(d)) {
    case TT_CLASS_PRED:
        element[0] = largest;
        return;
    case TT_CLASS_UINT:
        tt_element_set_int(d, element, largest ? (int64_t)(UINT64_MAX >> (64 - bits)) : 0);
        return;
    case TT_CLASS_SINT:
        tt_element_set_int(d, element, largest ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits));
        return;
    case TT_CLASS_FLOAT:
    case TT_CLASS_COMPLEX:
        tt_element_set(d, element, largest ? INFINITY : -INFINITY);
        break;
    }
    if (isnan(tt_element_get(d, element)) && tt_dtype_size(d) == 1)
        for (int code = 0; code < 256; code++) {
            unsigned char c = (unsigned char)code;
            double v = tt_element_get(d, &c), best = tt_element_get(d, element);
            if (!isnan(v) && (isnan(best) || (largest ? v > best : v < best)))
                element[0] = c;
        }
}

hlo_ref hlo_min_value(hlo_graph *g, const hlo_type *type) {
    unsigned char element[16];
    extreme(type->dtype, false, element);
    return constant_node(g, type, element, true);
}

hlo_ref hlo_max_value(hlo_graph *g, const hlo_type *type) {
    unsigned char element[16];
    extreme(type->dtype, true, element);
    return constant_node(g, type, element, true);
}

hlo_ref hlo_iota(hlo_graph *g, const hlo_type *type, int dim) {
    hlo_attr a = hlo_attr_make_int(HLO_A_IOTA_DIMENSION, dim);
    return hlo_make(g, HLO_IOTA, 0, NULL, 1, &a, 0, NULL, 1, type);
}

/* The element of a splat constant, or NULL. */
static const void *splat_data(const hlo_graph *g, hlo_ref r) {
    if (!r || r >= g->n_nodes || g->nodes[r].op != HLO_CONSTANT)
        return NULL;
    const hlo_attr *a = hlo_attr_find(&g->nodes[r], HLO_A_VALUE);
    return a && a->splat ? a->data : NULL;
}

bool hlo_constant_splat(const hlo_graph *g, hlo_ref r, double *out_value) {
    const void *data = splat_data(g, r);
    if (!data)
        return false;
    *out_value = tt_element_get(hlo_type_of(g, r)->dtype, data);
    return true;
}

/* ---- elementwise ---- */

hlo_ref hlo_unary(hlo_graph *g, hlo_op op, hlo_ref x) {
    return hlo_make(g, op, 1, &x, 0, NULL, 0, NULL, 1, NULL);
}

/* x * 1, x / 1 and x - 0 keep every bit of any element type; x + 0 only of integers (-0.0 + 0 is +0.0). */
static hlo_ref fold_binary(hlo_graph *g, hlo_op op, hlo_ref a, hlo_ref b) {
    double v;
    const hlo_type *t = hlo_type_of(g, a);
    if (tt_dtype_class(t->dtype) == TT_CLASS_COMPLEX || t->dtype == TT_PRED ||
        !hlo_type_equal(t, hlo_type_of(g, b)))
        return HLO_NONE;
    bool integer = tt_is_int(t->dtype);
    if (hlo_constant_splat(g, b, &v)) {
        if ((op == HLO_MULTIPLY || op == HLO_DIVIDE) && v == 1)
            return a;
        if ((op == HLO_SUBTRACT || (op == HLO_ADD && integer)) && v == 0 && !signbit(v))
            return a;
    }
    if (op == HLO_MULTIPLY || (op == HLO_ADD && integer))
        if (hlo_constant_splat(g, a, &v) && v == (op == HLO_MULTIPLY ? 1 : 0))
            return b;
    return HLO_NONE;
}

hlo_ref hlo_binary(hlo_graph *g, hlo_op op, hlo_ref a, hlo_ref b) {
    if (!hlo_need(g, hlo_op_text(op), a) || !hlo_need(g, hlo_op_text(op), b))
        return HLO_NONE;
    hlo_ref folded = fold_binary(g, op, a, b);
    if (folded)
        return folded;
    hlo_ref operands[2] = {a, b};
    return hlo_make(g, op, 2, operands, 0, NULL, 0, NULL, 1, NULL);
}

hlo_ref hlo_binary_checked(hlo_graph *g, hlo_op op, hlo_ref a, hlo_ref b, const char *message) {
    double divisor;
    if (!hlo_need(g, hlo_op_text(op), a) || !hlo_need(g, hlo_op_text(op), b))
        return HLO_NONE;
    if (hlo_constant_splat(g, b, &divisor) && divisor != 0)
        return hlo_binary(g, op, a, b);
    hlo_attr mark = hlo_attr_make_text(g, HLO_A_TT_BOUNDS, message);
    hlo_ref operands[2] = {a, b};
    return hlo_make(g, op, 2, operands, 1, &mark, 0, NULL, 1, NULL);
}

hlo_ref hlo_compare(hlo_graph *g, const char *direction, hlo_ref a, hlo_ref b) {
    const hlo_type *t = hlo_need(g, "compare", a);
    if (!t)
        return HLO_NONE;
    static const char *const kinds[] = {"UNSIGNED", "SIGNED", "UNSIGNED", "FLOAT", "FLOAT"};
    hlo_attr attrs[2] = {hlo_attr_make_text(g, HLO_A_COMPARISON_DIRECTION, direction),
                         hlo_attr_make_text(g, HLO_A_COMPARE_TYPE, kinds[tt_dtype_class(t->dtype)])};
    hlo_ref operands[2] = {a, b};
    return hlo_make(g, HLO_COMPARE, 2, operands, 2, attrs, 0, NULL, 1, NULL);
}

hlo_ref hlo_select(hlo_graph *g, hlo_ref pred, hlo_ref on_true, hlo_ref on_false) {
    hlo_ref operands[3] = {pred, on_true, on_false};
    return hlo_make(g, HLO_SELECT, 3, operands, 0, NULL, 0, NULL, 1, NULL);
}

hlo_ref hlo_clamp(hlo_graph *g, hlo_ref low, hlo_ref x, hlo_ref high) {
    hlo_ref operands[3] = {low, x, high};
    return hlo_make(g, HLO_CLAMP, 3, operands, 0, NULL, 0, NULL, 1, NULL);
}

/* A splat converted here, where the result cannot differ from the device's: integers and finite floats in
 * range. */
static hlo_ref fold_convert(hlo_graph *g, hlo_ref x, const hlo_type *to) {
    const void *data = splat_data(g, x);
    tt_dtype from = hlo_type_of(g, x)->dtype;
    if (!data || tt_is_complex(from) || tt_is_complex(to->dtype))
        return HLO_NONE;
    unsigned char element[16] = {0};
    double v = tt_element_get(from, data);
    if (tt_dtype_class(from) != TT_CLASS_FLOAT && tt_dtype_class(to->dtype) != TT_CLASS_FLOAT) {
        tt_element_set_int(to->dtype, element, tt_element_get_int(from, data));
        return constant_node(g, to, element, true);
    }
    /* integers over 2^53 would round twice on their way through a double */
    if (!isfinite(v) || (tt_is_int(from) && fabs(v) > 9007199254740992.0))
        return HLO_NONE;
    if (tt_is_float(to->dtype)) {
        tt_element_set(to->dtype, element, v);
        if (!isfinite(tt_element_get(to->dtype, element)))
            return HLO_NONE;
        return constant_node(g, to, element, true);
    }
    unsigned char low[16], high[16];
    extreme(to->dtype, false, low);
    extreme(to->dtype, true, high);
    if (to->dtype == TT_PRED || v < tt_element_get(to->dtype, low) || v > tt_element_get(to->dtype, high) ||
        fabs(v) > 9e18)
        return HLO_NONE;
    tt_element_set(to->dtype, element, v);
    return constant_node(g, to, element, true);
}

hlo_ref hlo_convert(hlo_graph *g, hlo_ref x, tt_dtype dtype) {
    const hlo_type *t = hlo_need(g, "convert", x);
    if (!t)
        return HLO_NONE;
    if (t->dtype == dtype)
        return x;
    hlo_type to = hlo_type_with(t, dtype);
    if (dtype == TT_PRED)
        return hlo_compare(g, "NE", x, hlo_splat(g, t, 0));
    if (tt_is_complex(t->dtype) && !tt_is_complex(dtype))
        return hlo_convert(g, hlo_unary(g, HLO_REAL, x), dtype);
    hlo_ref folded = fold_convert(g, x, &to);
    if (!folded && tt_is_complex(dtype) && !tt_is_complex(t->dtype)) {
        hlo_ref real = hlo_convert(g, x, tt_dtype_real(dtype));
        return hlo_complex(g, real, hlo_splat_like(g, real, 0));
    }
    return folded ? folded : hlo_make(g, HLO_CONVERT, 1, &x, 0, NULL, 0, NULL, 1, &to);
}

hlo_ref hlo_bitcast(hlo_graph *g, hlo_ref x, tt_dtype dtype) {
    const hlo_type *t = hlo_need(g, "bitcast_convert", x);
    if (!t)
        return HLO_NONE;
    if (t->dtype == dtype)
        return x;
    hlo_type to = hlo_type_with(t, dtype);
    int from_size = tt_dtype_size(t->dtype), to_size = tt_dtype_size(dtype);
    if (from_size > to_size && to_size) {
        if (t->rank == HLO_MAX_RANK)
            return HLO_FAIL(g, INVALID_ARGUMENT, "bitcast_convert: rank is over %d", HLO_MAX_RANK);
        to.dims[to.rank++] = from_size / to_size;
    } else if (from_size < to_size) {
        if (!t->rank || t->dims[t->rank - 1] != to_size / from_size)
            return HLO_FAIL(g, INVALID_ARGUMENT, "bitcast_convert: %s has no last dimension of %d for %s",
                            hlo_type_print(g->arena, t), to_size / (from_size ? from_size : 1),
                            tt_dtype_name(dtype));
        to.dims[--to.rank] = 0;
    }
    return hlo_make(g, HLO_BITCAST_CONVERT, 1, &x, 0, NULL, 0, NULL, 1, &to);
}

hlo_ref hlo_complex(hlo_graph *g, hlo_ref re, hlo_ref im) {
    hlo_ref operands[2] = {re, im};
    return hlo_make(g, HLO_COMPLEX, 2, operands, 0, NULL, 0, NULL, 1, NULL);
}

/* ---- control ---- */

void hlo_while(hlo_graph *g, int n, const hlo_ref *init, hlo_region_fn cond, hlo_region_fn body,
               void *context, hlo_ref *out_values) {
    memset(out_values, 0, sizeof *out_values * (size_t)n);
    for (int i = 0; i < n; i++)
        if (!hlo_need(g, "while", init[i]))
            return;
    hlo_block *regions[2], *saved;
    hlo_type *types = TT_NEW_N(g->arena, hlo_type, n);
    hlo_ref *params = TT_NEW_N(g->arena, hlo_ref, n), *results = TT_NEW_N(g->arena, hlo_ref, n + 1);
    for (int i = 0; i < n; i++)
        types[i] = *hlo_type_of(g, init[i]);
    for (int r = 0; r < 2; r++) {
        regions[r] = hlo_block_begin(g, &saved);
        for (int i = 0; i < n; i++)
            params[i] = hlo_param(g, &types[i]);
        (r ? body : cond)(g, context, params, results);
        hlo_return(g, r ? n : 1, results);
        hlo_block_end(g, saved);
    }
    hlo_ref first = hlo_make(g, HLO_WHILE, n, init, 0, NULL, 2, regions, n, types);
    for (int i = 0; i < n && first; i++)
        out_values[i] = first + (hlo_ref)i;
}

/* "text" with what MLIR would read as the end of it escaped. */
static const char *quoted(hlo_graph *g, const char *text) {
    char *out = tt_arena_alloc(g->arena, 3 * strlen(text) + 3), *o = out;
    *o++ = '"';
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 32)
            o += sprintf(o, "\\%02X", (unsigned char)*c);
        else
            *o++ = *c;
    }
    *o = '"';
    return out;
}

void hlo_custom_call(hlo_graph *g, const char *target, const char *backend_config, bool side_effect, int n,
                     const hlo_ref *operands, int n_results, const hlo_type *types, hlo_ref *out_values) {
    memset(out_values, 0, sizeof *out_values * (size_t)n_results);
    hlo_attr attrs[4] = {hlo_attr_make_text(g, HLO_A_CALL_TARGET_NAME, target),
                         hlo_attr_make_int(HLO_A_API_VERSION, 2)};
    int n_attrs = 2;
    if (side_effect)
        attrs[n_attrs++] = hlo_attr_make_bool(HLO_A_HAS_SIDE_EFFECT, true);
    if (backend_config)
        attrs[n_attrs++] = hlo_attr_make_text(g, HLO_A_BACKEND_CONFIG, quoted(g, backend_config));
    hlo_ref first = hlo_make(g, HLO_CUSTOM_CALL, n, operands, n_attrs, attrs, 0, NULL, n_results, types);
    for (int i = 0; i < n_results && first; i++)
        out_values[i] = first + (hlo_ref)i;
}
