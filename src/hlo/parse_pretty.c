/* parse_pretty.c - the pretty forms of ops, as StableHLO's own printer writes them.
 *
 * Most are a list of operands and key = value pairs, an optional dictionary and types; the others have a
 * function each. */
#include "hlo/parse.h"
#include <string.h>

static bool parse_optional_dict(hlo_parser *ps, hlo_op op) {
    return !hlo_scan_eat(ps, '{') || hlo_parse_attr_dict(ps, op, '}');
}

static bool push_ints(hlo_parser *ps, hlo_attr_name name) {
    int n;
    int64_t *v;
    if (!hlo_scan_int_list(ps, &n, &v))
        return false;
    hlo_push_attr(ps, hlo_attr_make_ints(ps->g, name, n, v));
    return true;
}

/* Short keys of pretty forms, by op where one key means different attributes. */
static hlo_attr_name name_of_key(hlo_op op, hlo_text key) {
    typedef struct row {
        const char *key;
        int op;
        hlo_attr_name name;
    } row;
    static const row rows[] = {
        {"dims", HLO_BROADCAST_IN_DIM, HLO_A_BROADCAST_DIMENSIONS},
        {"dims", HLO_DYNAMIC_BROADCAST_IN_DIM, HLO_A_BROADCAST_DIMENSIONS},
        {"dims", HLO_TRANSPOSE, HLO_A_PERMUTATION},
        {"dims", HLO_REVERSE, HLO_A_DIMENSIONS},
        {"dim", HLO_IOTA, HLO_A_IOTA_DIMENSION},
        {"dim", HLO_DYNAMIC_IOTA, HLO_A_IOTA_DIMENSION},
        {"dim", 0, HLO_A_DIMENSION},
        {"sizes", HLO_BROADCAST, HLO_A_BROADCAST_SIZES},
        {"sizes", 0, HLO_A_SLICE_SIZES},
        {"low", 0, HLO_A_EDGE_PADDING_LOW},
        {"high", 0, HLO_A_EDGE_PADDING_HIGH},
        {"interior", 0, HLO_A_INTERIOR_PADDING},
        {"type", HLO_FFT, HLO_A_FFT_TYPE},
        {"length", HLO_FFT, HLO_A_FFT_LENGTH},
        {"algorithm", HLO_RNG_BIT_GENERATOR, HLO_A_RNG_ALGORITHM},
        {"distribution", HLO_RNG, HLO_A_RNG_DISTRIBUTION},
        {"precision", 0, HLO_A_PRECISION_CONFIG},
        {"lower", 0, HLO_A_LOWER},
        {"k", HLO_CHLO_TOP_K, HLO_A_K},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((!rows[i].op || rows[i].op == (int)op) && hlo_text_is(key, rows[i].key))
            return rows[i].name;
    return hlo_attr_name_find(key.s, key.n);
}

/* [0, 1] x [0, 2] */
static bool parse_dim_pair(hlo_parser *ps, hlo_ints *out_left, hlo_ints *out_right) {
    int64_t *v;
    if (!hlo_scan_int_list(ps, &out_left->n, &v))
        return false;
    out_left->v = v;
    if (!hlo_scan_expect(ps, 'x') || !hlo_scan_int_list(ps, &out_right->n, &v))
        return false;
    out_right->v = v;
    return true;
}

/* e5m10 */
static bool parse_format(hlo_parser *ps) {
    int64_t exponent, mantissa;
    if (!hlo_scan_expect(ps, 'e') || !hlo_scan_int(ps, &exponent) || !hlo_scan_expect(ps, 'm') ||
        !hlo_scan_int(ps, &mantissa))
        return false;
    hlo_push_attr(ps, hlo_attr_make_int(HLO_A_EXPONENT_BITS, exponent));
    hlo_push_attr(ps, hlo_attr_make_int(HLO_A_MANTISSA_BITS, mantissa));
    return true;
}

static bool parse_key_value(hlo_parser *ps, hlo_op op, hlo_text key) {
    if (hlo_text_is(key, "format") && op == HLO_REDUCE_PRECISION)
        return parse_format(ps);
    hlo_attr_name name = name_of_key(op, key);
    hlo_attr a;
    int64_t v;
    hlo_attr_kind kind = name == HLO_ATTR_INVALID ? HLO_K_RAW : hlo_attr_name_kind(name);
    if (kind == HLO_K_INTS && hlo_scan_is(ps, '['))
        return push_ints(ps, name);
    if (kind == HLO_K_INT) {
        if (!hlo_scan_int(ps, &v))
            return false;
        a = hlo_attr_make_int(name, v);
    } else if (kind == HLO_K_BOOL) {
        bool yes = hlo_scan_eat_word(ps, "true");
        if (!yes && !hlo_scan_eat_word(ps, "false"))
            return hlo_parse_fail(ps, "expected true or false");
        a = hlo_attr_make_bool(name, yes);
    } else if (kind == HLO_K_ENUM) {
        if (!hlo_parse_enum_word(ps, name, &a))
            return false;
    } else if (kind == HLO_K_ENUMS) {
        if (!hlo_parse_enum_list(ps, name, &a))
            return false;
    } else {
        return hlo_parse_fail(ps, "'%.*s' is no key of %s", key.n > 60 ? 60 : key.n, key.s, hlo_op_text(op));
    }
    hlo_push_attr(ps, a);
    return true;
}

/* %a, %b, key = value, ...; with or without parentheses around */
static bool parse_items(hlo_parser *ps, hlo_op op) {
    bool parenthesis = hlo_scan_eat(ps, '(');
    hlo_text key;
    if (hlo_scan_is(ps, ':') || hlo_scan_is(ps, '{') || (parenthesis && hlo_scan_eat(ps, ')')))
        return true;
    do {
        hlo_ref r;
        if (hlo_scan_is(ps, '%')) {
            if (!hlo_parse_value(ps, &r))
                return false;
            hlo_push_ref(ps, r);
        } else if (!hlo_scan_identifier(ps, &key) || !hlo_scan_expect(ps, '=')) {
            return hlo_parse_fail(ps, "expected an operand or name = value");
        } else if (!parse_key_value(ps, op, key)) {
            return false;
        }
    } while (hlo_scan_eat(ps, ','));
    return !parenthesis || hlo_scan_expect(ps, ')');
}

/* ---- forms of their own ---- */

static bool parse_constant(hlo_parser *ps) {
    hlo_attr a;
    if (!parse_optional_dict(ps, HLO_CONSTANT) || !hlo_parse_dense(ps, &a))
        return false;
    hlo_push_attr(ps, a);
    hlo_push_type(ps, a.type);
    return true;
}

/* %x, dense<...> : type */
static bool parse_check_const(hlo_parser *ps, hlo_op op) {
    hlo_ref r;
    hlo_attr a;
    if (!hlo_parse_value(ps, &r) || !hlo_scan_expect(ps, ',') || !hlo_parse_dense(ps, &a))
        return false;
    hlo_push_ref(ps, r);
    hlo_push_attr(ps, a);
    return parse_optional_dict(ps, op);
}

/* LT, %a, %b, FLOAT : ... */
static bool parse_compare(hlo_parser *ps, hlo_frame f) {
    hlo_attr a;
    hlo_ref r;
    if (!hlo_parse_enum_word(ps, HLO_A_COMPARISON_DIRECTION, &a))
        return false;
    hlo_push_attr(ps, a);
    for (int i = 0; i < 2; i++) {
        if (!hlo_scan_expect(ps, ',') || !hlo_parse_value(ps, &r))
            return false;
        hlo_push_ref(ps, r);
    }
    if (hlo_scan_eat(ps, ',')) {
        if (!hlo_parse_enum_word(ps, HLO_A_COMPARE_TYPE, &a))
            return false;
        hlo_push_attr(ps, a);
    }
    return parse_optional_dict(ps, HLO_COMPARE) && hlo_parse_type_tail(ps, HLO_COMPARE, f);
}

/* %x [0:2, 1:3:2] : ... */
static bool parse_slice(hlo_parser *ps, hlo_frame f) {
    hlo_ref r;
    int64_t start[HLO_MAX_RANK], limit[HLO_MAX_RANK], stride[HLO_MAX_RANK];
    int n = 0;
    if (!hlo_parse_value(ps, &r) || !hlo_scan_expect(ps, '['))
        return false;
    hlo_push_ref(ps, r);
    for (; !hlo_scan_eat(ps, ']'); n++) {
        if (n == HLO_MAX_RANK)
            return hlo_parse_fail(ps, "rank is over %d", HLO_MAX_RANK);
        stride[n] = 1;
        if ((n && !hlo_scan_expect(ps, ',')) || !hlo_scan_int(ps, &start[n]) || !hlo_scan_expect(ps, ':') ||
            !hlo_scan_int(ps, &limit[n]) || (hlo_scan_eat(ps, ':') && !hlo_scan_int(ps, &stride[n])))
            return false;
    }
    hlo_push_attr(ps, hlo_attr_make_ints(ps->g, HLO_A_START_INDICES, n, start));
    hlo_push_attr(ps, hlo_attr_make_ints(ps->g, HLO_A_LIMIT_INDICES, n, limit));
    hlo_push_attr(ps, hlo_attr_make_ints(ps->g, HLO_A_STRIDES, n, stride));
    return parse_optional_dict(ps, HLO_SLICE) && hlo_parse_type_tail(ps, HLO_SLICE, f);
}

/* %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [...], algorithm = <...> : ...
 */
static bool parse_dot_general(hlo_parser *ps, hlo_frame f) {
    hlo_dims d = {.kind = HLO_DIMS_DOT};
    int at = ps->n_attrs;
    hlo_push_attr(ps, (hlo_attr){.name = HLO_A_DOT_DIMENSION_NUMBERS}); /* first, as the builders put it */
    do {
        hlo_ref r;
        hlo_text key, raw;
        if (hlo_scan_is(ps, '%')) {
            if (!hlo_parse_value(ps, &r))
                return false;
            hlo_push_ref(ps, r);
            continue;
        }
        if (!hlo_scan_identifier(ps, &key) || !hlo_scan_expect(ps, '='))
            return hlo_parse_fail(ps, "expected name = value");
        bool ok;
        if (hlo_text_is(key, "batching_dims"))
            ok = parse_dim_pair(ps, &d.a, &d.b);
        else if (hlo_text_is(key, "contracting_dims"))
            ok = parse_dim_pair(ps, &d.c, &d.d);
        else if (hlo_text_is(key, "algorithm") && hlo_scan_is(ps, '<')) {
            const char *s = ps->p++;
            do
                ok = hlo_scan_value_raw(ps, &raw);
            while (ok && hlo_scan_eat(ps, ','));
            ok = ok && hlo_scan_expect(ps, '>');
            if (ok)
                hlo_push_attr(ps,
                              hlo_attr_make_text(ps->g, HLO_A_ALGORITHM,
                                                 tt_arena_printf(ps->g->arena, "#stablehlo.dot_algorithm%.*s",
                                                                 (int)(ps->p - s), s)));
        } else {
            ok = parse_key_value(ps, HLO_DOT_GENERAL, key);
        }
        if (!ok)
            return false;
    } while (hlo_scan_eat(ps, ','));
    ps->attrs[at] = hlo_attr_make_dims(ps->g, HLO_A_DOT_DIMENSION_NUMBERS, &d);
    return parse_optional_dict(ps, HLO_DOT_GENERAL) && hlo_parse_type_tail(ps, HLO_DOT_GENERAL, f);
}

/* [[1, 1], [0, 0]] */
static bool parse_padding(hlo_parser *ps) {
    int64_t pairs[2 * HLO_MAX_RANK], *v;
    int n = 0, length;
    if (!hlo_scan_expect(ps, '['))
        return false;
    for (; !hlo_scan_eat(ps, ']'); n++) {
        if ((n && !hlo_scan_expect(ps, ',')) || n == HLO_MAX_RANK || !hlo_scan_int_list(ps, &length, &v) ||
            length != 2)
            return hlo_parse_fail(ps, "expected [[low, high], ...]");
        pairs[2 * n] = v[0];
        pairs[2 * n + 1] = v[1];
    }
    hlo_push_attr(ps, hlo_attr_make_ints2d(ps->g, HLO_A_PADDING, n, 2, pairs));
    return true;
}

/* {stride = [..], pad = [[..]], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]} */
static bool parse_window(hlo_parser *ps) {
    static const struct {
        const char *key;
        hlo_attr_name name;
    } rows[] = {{"stride", HLO_A_WINDOW_STRIDES},
                {"lhs_dilate", HLO_A_LHS_DILATION},
                {"rhs_dilate", HLO_A_RHS_DILATION},
                {"reverse", HLO_A_WINDOW_REVERSAL}};
    if (!hlo_scan_expect(ps, '{'))
        return false;
    for (bool first = true; !hlo_scan_eat(ps, '}'); first = false) {
        hlo_text key;
        if ((!first && !hlo_scan_expect(ps, ',')) || !hlo_scan_identifier(ps, &key) ||
            !hlo_scan_expect(ps, '='))
            return hlo_parse_fail(ps, "expected name = value");
        hlo_attr_name name = HLO_ATTR_INVALID;
        for (int i = 0; i < 4; i++)
            if (hlo_text_is(key, rows[i].key))
                name = rows[i].name;
        bool ok = hlo_text_is(key, "pad") ? parse_padding(ps)
                  : name != HLO_ATTR_INVALID
                      ? push_ints(ps, name)
                      : hlo_parse_fail(ps, "'%.*s' is no part of a window", key.n > 40 ? 40 : key.n, key.s);
        if (!ok)
            return false;
    }
    return true;
}

/* (%x, %w) dim_numbers = [..]x[..]->[..], window = {...} {...} : ... */
static bool parse_convolution(hlo_parser *ps, hlo_op op, hlo_frame f) {
    hlo_attr a;
    if (!hlo_scan_expect(ps, '(') || !hlo_parse_operands(ps, ')') || !hlo_scan_eat_word(ps, "dim_numbers") ||
        !hlo_scan_expect(ps, '=') || !hlo_parse_conv_dims(ps, &a))
        return hlo_parse_fail(ps, "expected (operands) dim_numbers = ...");
    hlo_push_attr(ps, a);
    if (hlo_scan_eat(ps, ',') &&
        (!hlo_scan_eat_word(ps, "window") || !hlo_scan_expect(ps, '=') || !parse_window(ps)))
        return hlo_parse_fail(ps, "expected window = {...}");
    return parse_optional_dict(ps, op) && hlo_parse_type_tail(ps, op, f);
}

/* @target(%a) {...} : ... */
static bool parse_call(hlo_parser *ps, hlo_op op, hlo_frame f) {
    char *name;
    if (!hlo_scan_symbol(ps, &name) || !hlo_scan_expect(ps, '(') || !hlo_parse_operands(ps, ')'))
        return false;
    hlo_push_attr(ps,
                  hlo_attr_make_text(ps->g, op == HLO_CALL ? HLO_A_CALLEE : HLO_A_CALL_TARGET_NAME, name));
    return parse_optional_dict(ps, op) && hlo_parse_type_tail(ps, op, f);
}

/* "name" %a, %b {...} : ... */
static bool parse_composite(hlo_parser *ps, hlo_frame f) {
    char *name;
    if (!hlo_scan_string(ps, &name))
        return false;
    hlo_push_attr(ps, hlo_attr_make_text(ps->g, HLO_A_COMPOSITE_NAME, name));
    return parse_items(ps, HLO_COMPOSITE) && parse_optional_dict(ps, HLO_COMPOSITE) &&
           hlo_parse_type_tail(ps, HLO_COMPOSITE, f);
}

/* ---- regions ---- */

/* Parameters of a region that are named before it, all of types types[first ...]. */
static bool define_params(hlo_parser *ps, hlo_block *b, int first_name, int n, int first_type) {
    for (int i = 0; i < n; i++)
        if (!hlo_parse_param(ps, b, ps->pending[first_name + i].text, ps->types[first_type + i]))
            return false;
    return true;
}

/* (%iterArg = %a, ...) : types attributes {...} cond {...} do {...} */
static bool parse_while(hlo_parser *ps, hlo_frame f) {
    int first_name = ps->n_pending, n = 0;
    if (!hlo_scan_expect(ps, '('))
        return false;
    for (; !hlo_scan_eat(ps, ')'); n++) {
        hlo_name name = {.count = 1};
        hlo_ref r;
        if ((n && !hlo_scan_expect(ps, ',')) || !hlo_scan_value_name(ps, &name.text) ||
            !hlo_scan_expect(ps, '=') || !hlo_parse_value(ps, &r))
            return false;
        hlo_push_ref(ps, r);
        ps->pending = hlo_parse_grow(ps->pending, ps->n_pending, &ps->cap_pending, sizeof *ps->pending);
        ps->pending[ps->n_pending++] = name;
    }
    hlo_scan_eat(ps, ':');
    for (int i = 0; i < n; i++) {
        const hlo_type *t;
        if ((i && !hlo_scan_expect(ps, ',')) || !hlo_parse_type(ps, &t))
            return false;
        if (!hlo_type_equal(t, hlo_type_of(ps->g, ps->refs[f.refs + i])))
            return hlo_parse_fail(ps, "value %d of while has type %s", i,
                                  hlo_type_print(ps->g->arena, hlo_type_of(ps->g, ps->refs[f.refs + i])));
        hlo_push_type(ps, t);
    }
    if (hlo_scan_eat_word(ps, "attributes") &&
        (!hlo_scan_expect(ps, '{') || !hlo_parse_attr_dict(ps, HLO_WHILE, '}')))
        return false;
    for (int r = 0; r < 2; r++) {
        int names = ps->n_names;
        hlo_block *b = hlo_block_create(ps->g);
        if (!hlo_scan_expect_text(ps, r ? "do" : "cond") || !define_params(ps, b, first_name, n, f.types) ||
            !hlo_parse_body(ps, b, names))
            return false;
        hlo_push_block(ps, b);
    }
    ps->n_pending = first_name;
    return true;
}

/* applies stablehlo.add: a region of that one op on the init's type */
static bool make_applied(hlo_parser *ps, hlo_text name, hlo_frame f) {
    hlo_op op = hlo_op_find(name.s, name.n);
    if (op == HLO_INVALID || hlo_op_operands(op) != 2 || !(hlo_op_flags(op) & HLO_F_ELEM))
        return hlo_parse_fail(ps, "'%.*s' cannot be applied by a reduction", name.n > 60 ? 60 : name.n,
                              name.s);
    hlo_graph *g = ps->g;
    const hlo_type *t = hlo_type_of(g, ps->refs[f.refs + 1]);
    hlo_block *b = hlo_block_create(g), *saved = g->block;
    hlo_ref operands[2] = {hlo_append_param(g, b, t), hlo_append_param(g, b, t)};
    g->block = b;
    hlo_ref r = hlo_append(g, op, 2, operands, 0, NULL, 0, NULL, 1, &t);
    g->block = saved;
    hlo_block_set_results(g, b, 1, &r);
    hlo_push_block(ps, b);
    return true;
}

/* reducer(%a: t, %b: t) (%c: t, %d: t) {...}: all lefts are parameters before all rights */
static bool parse_reducer(hlo_parser *ps, int count) {
    int first_name = ps->n_pending, first_type = ps->n_types, names = ps->n_names;
    if (!hlo_scan_eat_word(ps, "reducer"))
        return hlo_parse_fail(ps, "expected reducer");
    for (int i = 0; i < 2 * count; i++) {
        hlo_name name = {.count = 1};
        const hlo_type *t;
        if (!hlo_scan_expect(ps, i % 2 ? ',' : '(') || !hlo_scan_value_name(ps, &name.text) ||
            !hlo_scan_expect(ps, ':') || !hlo_parse_type(ps, &t) || !hlo_scan_skip_loc(ps) ||
            (i % 2 && !hlo_scan_expect(ps, ')')))
            return false;
        hlo_push_type(ps, t);
        ps->pending = hlo_parse_grow(ps->pending, ps->n_pending, &ps->cap_pending, sizeof *ps->pending);
        ps->pending[ps->n_pending++] = name;
    }
    hlo_block *b = hlo_block_create(ps->g);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < count; i++)
            if (!hlo_parse_param(ps, b, ps->pending[first_name + 2 * i + side].text,
                                 ps->types[first_type + 2 * i + side]))
                return false;
    ps->n_pending = first_name;
    ps->n_types = first_type;
    if (!hlo_parse_body(ps, b, names))
        return false;
    hlo_push_block(ps, b);
    return true;
}

/* (%x init: %a), (%y init: %b) applies op across dimensions = [..] {...} : ... reducer... */
static bool parse_reduce(hlo_parser *ps, hlo_frame f) {
    int count = 0;
    hlo_text applied = {NULL, 0};
    do {
        hlo_ref x, init;
        if (!hlo_scan_expect(ps, '(') || !hlo_parse_value(ps, &x) || !hlo_scan_eat_word(ps, "init") ||
            !hlo_scan_expect(ps, ':') || !hlo_parse_value(ps, &init) || !hlo_scan_expect(ps, ')'))
            return hlo_parse_fail(ps, "expected (%%x init: %%y)");
        hlo_push_ref(ps, x);
        hlo_push_ref(ps, init);
        count++;
    } while (hlo_scan_eat(ps, ','));
    if (hlo_scan_eat_word(ps, "applies") && !hlo_scan_identifier(ps, &applied))
        return hlo_parse_fail(ps, "expected an op after applies");
    if (applied.s && count == 1 && !make_applied(ps, applied, f))
        return false;
    if (applied.s && count != 1)
        return hlo_parse_fail(ps, "applies needs one input");
    /* inputs and inits were pushed by turns: inputs go first */
    hlo_ref *sorted = TT_NEW_N(ps->g->arena, hlo_ref, 2 * count);
    for (int i = 0; i < count; i++) {
        sorted[i] = ps->refs[f.refs + 2 * i];
        sorted[count + i] = ps->refs[f.refs + 2 * i + 1];
    }
    memcpy(ps->refs + f.refs, sorted, sizeof *sorted * 2 * (size_t)count);
    if (!hlo_scan_eat_word(ps, "across") || !hlo_scan_eat_word(ps, "dimensions") ||
        !hlo_scan_expect(ps, '=') || !push_ints(ps, HLO_A_DIMENSIONS))
        return hlo_parse_fail(ps, "expected across dimensions = [...]");
    if (!parse_optional_dict(ps, HLO_REDUCE) || !hlo_parse_type_tail(ps, HLO_REDUCE, f))
        return false;
    return applied.s || parse_reducer(ps, count);
}

/* (%x, %y) inits(%a) dimension=0 attributes {...} {region} : ... */
static bool parse_scan(hlo_parser *ps, hlo_frame f) {
    int64_t sizes[2], dim;
    if (!hlo_scan_expect(ps, '(') || !hlo_parse_operands(ps, ')'))
        return false;
    sizes[0] = ps->n_refs - f.refs;
    if (!hlo_scan_eat_word(ps, "inits") || !hlo_scan_expect(ps, '(') || !hlo_parse_operands(ps, ')'))
        return hlo_parse_fail(ps, "expected inits(...)");
    sizes[1] = ps->n_refs - f.refs - sizes[0];
    if (!hlo_scan_eat_word(ps, "dimension") || !hlo_scan_expect(ps, '=') || !hlo_scan_int(ps, &dim))
        return hlo_parse_fail(ps, "expected dimension = ...");
    hlo_push_attr(ps, hlo_attr_make_int(HLO_A_DIMENSION, dim));
    hlo_push_attr(ps, hlo_attr_make_ints(ps->g, HLO_A_OPERAND_SEGMENTS, 2, sizes));
    if (hlo_scan_eat_word(ps, "attributes") && (!hlo_scan_expect(ps, '{') || !hlo_parse_attr_dict(ps, HLO_CHLO_SCAN, '}')))
        return false;
    hlo_block *b = hlo_block_create(ps->g);
    if (!hlo_parse_body(ps, b, ps->n_names))
        return false;
    hlo_push_block(ps, b);
    return hlo_parse_type_tail(ps, HLO_CHLO_SCAN, f);
}

bool hlo_parse_pretty(hlo_parser *ps, hlo_op op, hlo_frame f) {
    switch ((int)op) {
    case HLO_CONSTANT:
        return parse_constant(ps);
    case HLO_CHECK_EXPECT_EQ_CONST:
    case HLO_CHECK_EXPECT_ALMOST_EQ_CONST:
        return parse_check_const(ps, op);
    case HLO_COMPARE:
        return parse_compare(ps, f);
    case HLO_SLICE:
        return parse_slice(ps, f);
    case HLO_DOT_GENERAL:
        return parse_dot_general(ps, f);
    case HLO_CONVOLUTION:
    case HLO_DYNAMIC_CONV:
        return parse_convolution(ps, op, f);
    case HLO_CALL:
    case HLO_CUSTOM_CALL:
        return parse_call(ps, op, f);
    case HLO_COMPOSITE:
        return parse_composite(ps, f);
    case HLO_WHILE:
        return parse_while(ps, f);
    case HLO_REDUCE:
        return parse_reduce(ps, f);
    case HLO_CHLO_SCAN:
        return parse_scan(ps, f);
    }
    return parse_items(ps, op) && parse_optional_dict(ps, op) && hlo_parse_type_tail(ps, op, f);
}
