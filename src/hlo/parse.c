/* parse.c - StableHLO text in: modules, functions, blocks and the generic form of ops.
 *
 * The engine's front door: the text comes from outside, so nothing in it is trusted, recursion is bounded and
 * memory grows with its length only. What the program means is checked afterwards, by hlo_verify. */
#include "hlo/parse.h"
#include "hlo/text.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* ---- ops ---- */

bool hlo_parse_operands(hlo_parser *ps, char close) {
    for (bool first = true; !hlo_scan_eat(ps, close); first = false) {
        hlo_ref r;
        if ((!first && !hlo_scan_expect(ps, ',')) || !hlo_parse_value(ps, &r))
            return false;
        hlo_push_ref(ps, r);
    }
    return true;
}

static bool check_operand_type(hlo_parser *ps, hlo_frame f, int i, const hlo_type *t) {
    if (i >= ps->n_refs - f.refs)
        return hlo_parse_fail(ps, "%d operands have more types than that", ps->n_refs - f.refs);
    const hlo_type *have = hlo_type_of(ps->g, ps->refs[f.refs + i]);
    if (have && !hlo_type_equal(have, t))
        return hlo_parse_fail(ps, "operand %d has type %s, not %s", i, hlo_type_print(ps->g->arena, have),
                              hlo_type_print(ps->g->arena, t));
    return true;
}

/* {name = value, ...} after the brace; what is not known is passed over. */
typedef bool entry_fn(hlo_parser *ps, void *context, hlo_text name, hlo_text value);

static bool parse_entries(hlo_parser *ps, entry_fn *take, void *context) {
    for (bool first = true; !hlo_scan_eat(ps, '}'); first = false) {
        hlo_text name, value = {"", 0};
        char *quoted;
        if (!first && !hlo_scan_expect(ps, ','))
            return false;
        if (hlo_scan_is(ps, '"')) {
            if (!hlo_scan_string(ps, &quoted))
                return false;
            name = (hlo_text){quoted, (int)strlen(quoted)};
        } else if (!hlo_scan_identifier(ps, &name)) {
            return hlo_parse_fail(ps, "expected an attribute name");
        }
        if (hlo_scan_eat(ps, '=') && !hlo_scan_value_raw(ps, &value))
            return false;
        if (take && !take(ps, context, name, value))
            return false;
    }
    return true;
}

/* (types) or one type; pushes them. In the parentheses of a function's results each may have {attributes}. */
static bool parse_result_types(hlo_parser *ps, bool with_attributes) {
    const hlo_type *t;
    if (!hlo_scan_eat(ps, '(')) {
        if (!hlo_parse_type(ps, &t))
            return false;
        hlo_push_type(ps, t);
        return true;
    }
    for (bool first = true; !hlo_scan_eat(ps, ')'); first = false) {
        if ((!first && !hlo_scan_expect(ps, ',')) || !hlo_parse_type(ps, &t))
            return false;
        hlo_push_type(ps, t);
        if (with_attributes && hlo_scan_eat(ps, '{') && !parse_entries(ps, NULL, NULL))
            return false;
    }
    return true;
}

static bool has_no_results(hlo_op op) {
    return op >= HLO_CHECK_EXPECT_EQ && op <= HLO_CHECK_EXPECT_CLOSE;
}

/* Without an arrow the types are the operands', or the one that all share; the result is as the op's form
 * says. */
static bool parse_short_tail(hlo_parser *ps, hlo_op op, hlo_frame f) {
    int first = ps->n_types;
    do {
        const hlo_type *t;
        if (!hlo_parse_type(ps, &t))
            return false;
        hlo_push_type(ps, t);
    } while (hlo_scan_eat(ps, ','));
    int n = ps->n_types - first;
    if (hlo_scan_eat_text(ps, "->")) {
        for (int i = 0; i < n; i++)
            if (!check_operand_type(ps, f, i, ps->types[first + i]))
                return false;
        ps->n_types = first;
        return parse_result_types(ps, false);
    }
    if (has_no_results(op))
        ps->n_types = first;
    else if (op != HLO_OPTIMIZATION_BARRIER && n > 1) {
        ps->types[first] = ps->types[ps->n_types - 1]; /* select: predicate's type, then the result's */
        ps->n_types = first + 1;
    }
    return true;
}

bool hlo_parse_type_tail(hlo_parser *ps, hlo_op op, hlo_frame f) {
    if (!hlo_scan_expect(ps, ':'))
        return false;
    if (!hlo_scan_eat(ps, '('))
        return parse_short_tail(ps, op, f);
    int n = 0;
    for (; !hlo_scan_eat(ps, ')'); n++) {
        const hlo_type *t;
        if ((n && !hlo_scan_expect(ps, ',')) || !hlo_parse_type(ps, &t) || !check_operand_type(ps, f, n, t))
            return false;
    }
    if (n != ps->n_refs - f.refs)
        return hlo_parse_fail(ps, "%d operands have %d types", ps->n_refs - f.refs, n);
    return hlo_scan_expect_text(ps, "->") && parse_result_types(ps, false);
}

static bool parse_statement(hlo_parser *ps, hlo_block *b, bool *out_end);

bool hlo_parse_param(hlo_parser *ps, hlo_block *b, hlo_text name, const hlo_type *type) {
    return hlo_names_define(ps, name, hlo_append_param(ps->g, b, type), 1);
}

bool hlo_parse_body(hlo_parser *ps, hlo_block *b, int names_before) {
    hlo_graph *g = ps->g;
    hlo_block *saved = g->block;
    if (!hlo_scan_expect(ps, '{'))
        return false;
    if (ps->depth >= HLO_MAX_DEPTH)
        return hlo_parse_fail(ps, "regions are nested deeper than %d", HLO_MAX_DEPTH);
    ps->depth++;
    if (hlo_scan_eat(ps, '^')) {
        hlo_text name;
        if (!hlo_scan_identifier(ps, &name))
            return hlo_parse_fail(ps, "expected a block's name");
        if (hlo_scan_eat(ps, '('))
            for (bool first = true; !hlo_scan_eat(ps, ')'); first = false) {
                const hlo_type *t;
                if ((!first && !hlo_scan_expect(ps, ',')) || !hlo_scan_value_name(ps, &name) ||
                    !hlo_scan_expect(ps, ':') || !hlo_parse_type(ps, &t) || !hlo_scan_skip_loc(ps) ||
                    !hlo_parse_param(ps, b, name, t))
                    return false;
            }
        if (!hlo_scan_expect(ps, ':'))
            return false;
    }
    g->block = b;
    for (bool end = false; !end && !hlo_scan_is(ps, '}');)
        if (!parse_statement(ps, b, &end))
            return false;
    g->block = saved;
    ps->depth--;
    hlo_names_pop(ps, names_before);
    return hlo_scan_expect(ps, '}');
}

/* ({...}, {...}): after the first parenthesis */
static bool parse_regions(hlo_parser *ps) {
    do {
        hlo_block *b = hlo_block_create(ps->g);
        if (!hlo_parse_body(ps, b, ps->n_names))
            return false;
        hlo_push_block(ps, b);
    } while (hlo_scan_eat(ps, ','));
    return hlo_scan_expect(ps, ')');
}

/* (operands) <{properties}> ({regions}) {attributes} : type; all parts but the first and last may be absent
 */
static bool parse_generic(hlo_parser *ps, hlo_op op, hlo_frame f) {
    if (!hlo_scan_expect(ps, '(') || !hlo_parse_operands(ps, ')'))
        return false;
    if (hlo_scan_eat_text(ps, "<{") && (!hlo_parse_attr_dict(ps, op, '}') || !hlo_scan_expect(ps, '>')))
        return false;
    if (hlo_scan_eat(ps, '(') && !parse_regions(ps))
        return false;
    if (hlo_scan_eat(ps, '{') && !hlo_parse_attr_dict(ps, op, '}'))
        return false;
    return hlo_parse_type_tail(ps, op, f);
}

static bool name_results(hlo_parser *ps, int first_name, int n_results, hlo_ref first) {
    uint32_t offset = 0;
    int n_names = ps->n_pending;
    for (int i = first_name; i < n_names; i++)
        offset += ps->pending[i].count;
    if (n_names > first_name && offset != (uint32_t)n_results)
        return hlo_parse_fail(ps, "%u names for %d results", offset, n_results);
    offset = 0;
    for (int i = first_name; i < n_names; i++) {
        if (!hlo_names_define(ps, ps->pending[i].text, first + offset, ps->pending[i].count))
            return false;
        offset += ps->pending[i].count;
    }
    ps->n_pending = first_name;
    return true;
}

/* %a:2, %b = */
static bool parse_result_names(hlo_parser *ps) {
    do {
        hlo_name n = {.count = 1};
        int64_t count = 1;
        if (!hlo_scan_value_name(ps, &n.text) || (hlo_scan_eat(ps, ':') && !hlo_scan_int(ps, &count)))
            return false;
        if (count < 1 || count > UINT16_MAX)
            return hlo_parse_fail(ps, "an op has 1 to %d results", UINT16_MAX);
        n.count = (uint32_t)count;
        ps->pending = hlo_parse_grow(ps->pending, ps->n_pending, &ps->cap_pending, sizeof *ps->pending);
        ps->pending[ps->n_pending++] = n;
    } while (hlo_scan_eat(ps, ','));
    return hlo_scan_expect(ps, '=');
}

static bool is_return(hlo_text name) {
    return hlo_text_is(name, "return") || hlo_text_is(name, "func.return") ||
           hlo_text_is(name, "stablehlo.return");
}

static bool parse_return(hlo_parser *ps, hlo_block *b, bool generic) {
    hlo_frame f = {ps->n_refs, ps->n_types, ps->n_attrs, ps->n_blocks};
    if (generic) {
        if (!parse_generic(ps, HLO_INVALID, f))
            return false;
    } else if (hlo_scan_is(ps, '%')) {
        do {
            hlo_ref r;
            if (!hlo_parse_value(ps, &r))
                return false;
            hlo_push_ref(ps, r);
        } while (hlo_scan_eat(ps, ','));
        if (!hlo_scan_expect(ps, ':'))
            return false;
        for (int i = 0; i < ps->n_refs - f.refs; i++) {
            const hlo_type *t;
            if ((i && !hlo_scan_expect(ps, ',')) || !hlo_parse_type(ps, &t) ||
                !check_operand_type(ps, f, i, t))
                return false;
        }
    }
    hlo_block_set_results(ps->g, b, ps->n_refs - f.refs, ps->refs + f.refs);
    ps->n_refs = f.refs;
    ps->n_types = f.types;
    ps->n_attrs = f.attrs;
    ps->n_blocks = f.blocks;
    return hlo_scan_skip_loc(ps);
}

static bool parse_op_name(hlo_parser *ps, hlo_text *out, bool *out_generic) {
    *out_generic = hlo_scan_is(ps, '"');
    if (!*out_generic)
        return hlo_scan_identifier(ps, out) || hlo_parse_fail(ps, "expected an op");
    const char *s = ++ps->p, *e = memchr(s, '"', (size_t)(ps->end - s));
    if (!e)
        return hlo_parse_fail(ps, "string has no end");
    *out = (hlo_text){s, (int)(e - s)};
    ps->p = e + 1;
    return true;
}

static bool parse_statement(hlo_parser *ps, hlo_block *b, bool *out_end) {
    int first_name = ps->n_pending;
    hlo_text name;
    bool generic;
    if (hlo_scan_is(ps, '%') && !parse_result_names(ps))
        return false;
    hlo_scan_space(ps);
    const char *start = ps->p;
    if (!parse_op_name(ps, &name, &generic))
        return false;
    if (is_return(name)) {
        *out_end = true;
        return parse_return(ps, b, generic);
    }
    hlo_op op = hlo_op_find(name.s, name.n);
    if (op == HLO_INVALID && hlo_text_is(name, "call"))
        op = HLO_CALL;
    if (op == HLO_INVALID) {
        ps->p = start;
        return hlo_parse_fail(ps, "op '%.*s' is unknown", name.n > 80 ? 80 : name.n, name.s);
    }
    hlo_frame f = {ps->n_refs, ps->n_types, ps->n_attrs, ps->n_blocks};
    if (generic ? !parse_generic(ps, op, f) : !hlo_parse_pretty(ps, op, f))
        return false;
    int n_results = ps->n_types - f.types, n_attrs = ps->n_attrs - f.attrs,
        n_blocks = ps->n_blocks - f.blocks;
    if (n_results > UINT16_MAX || n_attrs > UINT16_MAX || n_blocks > UINT16_MAX)
        return hlo_parse_fail(ps, "too many results, attributes or regions");
    hlo_ref first =
        hlo_append(ps->g, op, ps->n_refs - f.refs, ps->refs + f.refs, n_attrs, ps->attrs + f.attrs, n_blocks,
                   ps->blocks + f.blocks, n_results, ps->types + f.types);
    ps->n_refs = f.refs;
    ps->n_types = f.types;
    ps->n_attrs = f.attrs;
    ps->n_blocks = f.blocks;
    return name_results(ps, first_name, n_results, first) && hlo_scan_skip_loc(ps);
}

/* ---- functions ---- */

static int64_t leading_int(hlo_text t) {
    int64_t v = 0;
    bool negative = t.n && *t.s == '-';
    for (int i = negative; i < t.n && i < 12 && t.s[i] >= '0' && t.s[i] <= '9'; i++)
        v = v * 10 + (t.s[i] - '0');
    return negative ? -v : v;
}

static bool take_param_entry(hlo_parser *ps, void *context, hlo_text name, hlo_text value) {
    hlo_func *f = context;
    int i = f->body->n_params - 1;
    (void)ps;
    if (hlo_text_is(name, "tf.aliasing_output"))
        f->alias[i] = leading_int(value) < 0 || leading_int(value) > INT32_MAX ? -1 : (int)leading_int(value);
    else if (hlo_text_is(name, "jax.buffer_donor"))
        f->donated[i] = hlo_text_is(value, "true");
    return true;
}

static bool parse_func_params(hlo_parser *ps, hlo_func *f) {
    if (!hlo_scan_expect(ps, '('))
        return false;
    for (bool first = true; !hlo_scan_eat(ps, ')'); first = false) {
        hlo_text name;
        const hlo_type *t;
        if ((!first && !hlo_scan_expect(ps, ',')) || !hlo_scan_value_name(ps, &name) ||
            !hlo_scan_expect(ps, ':') || !hlo_parse_type(ps, &t) || !hlo_parse_param(ps, f->body, name, t))
            return false;
        if (hlo_scan_eat(ps, '{') && !parse_entries(ps, take_param_entry, f))
            return false;
        if (!hlo_scan_skip_loc(ps))
            return false;
    }
    return true;
}

static bool check_func_results(hlo_parser *ps, const hlo_func *f, int first_type) {
    const hlo_block *b = f->body;
    if (b->n_results != ps->n_types - first_type)
        return hlo_parse_fail(ps, "'%s' returns %d values, its type says %d", f->name, b->n_results,
                              ps->n_types - first_type);
    for (int i = 0; i < b->n_results; i++)
        if (!hlo_type_equal(hlo_type_of(ps->g, b->results[i]), ps->types[first_type + i]))
            return hlo_parse_fail(ps, "'%s' returns %s at %d, its type says %s", f->name,
                                  hlo_type_print(ps->g->arena, hlo_type_of(ps->g, b->results[i])), i,
                                  hlo_type_print(ps->g->arena, ps->types[first_type + i]));
    ps->n_types = first_type;
    return true;
}

/* After "func.func". */
static bool parse_func(hlo_parser *ps) {
    bool is_private = hlo_scan_eat_word(ps, "private") || hlo_scan_eat_word(ps, "nested");
    if (!is_private)
        hlo_scan_eat_word(ps, "public");
    char *name;
    int first_name = ps->n_names, first_type = ps->n_types;
    if (!hlo_scan_symbol(ps, &name))
        return false;
    hlo_func *f = ps->g->func = hlo_func_create(ps->g, name, !is_private);
    if (!parse_func_params(ps, f) || (hlo_scan_eat_text(ps, "->") && !parse_result_types(ps, true)))
        return false;
    if (hlo_scan_eat_word(ps, "attributes") && (!hlo_scan_expect(ps, '{') || !parse_entries(ps, NULL, NULL)))
        return false;
    if (!hlo_scan_skip_loc(ps))
        return false;
    if (!hlo_scan_is(ps, '{'))
        return hlo_parse_fail(ps, "function '%s' has no body", name);
    return hlo_parse_body(ps, f->body, first_name) && check_func_results(ps, f, first_type) &&
           hlo_scan_skip_loc(ps);
}

static bool take_func_entry(hlo_parser *ps, void *context, hlo_text name, hlo_text value) {
    hlo_func *f = context;
    if (value.n < 2 || value.s[0] != '"')
        return true;
    char *text = tt_arena_alloc(ps->g->arena, (size_t)value.n);
    memcpy(text, value.s + 1, (size_t)value.n - 2);
    if (hlo_text_is(name, "sym_name"))
        f->name = text;
    else if (hlo_text_is(name, "sym_visibility"))
        f->is_public = strcmp(text, "private") != 0;
    return true;
}

/* "func.func"() <{sym_name = "main", ...}> ({^bb0(...): ...}) {...} : () -> (): after the name */
static bool parse_generic_func(hlo_parser *ps) {
    hlo_func *f = ps->g->func = hlo_func_create(ps->g, "main", true);
    int first_name = ps->n_names;
    if (!hlo_scan_expect(ps, '(') || !hlo_scan_expect(ps, ')'))
        return false;
    if (hlo_scan_eat_text(ps, "<{") && (!parse_entries(ps, take_func_entry, f) || !hlo_scan_expect(ps, '>')))
        return false;
    if (!hlo_scan_expect(ps, '(') || !hlo_parse_body(ps, f->body, first_name) || !hlo_scan_expect(ps, ')'))
        return false;
    if (hlo_scan_eat(ps, '{') && !parse_entries(ps, take_func_entry, f))
        return false;
    hlo_func_set_params(ps->g, f);
    return hlo_scan_expect(ps, ':') && hlo_scan_expect(ps, '(') && hlo_scan_expect(ps, ')') &&
           hlo_scan_expect_text(ps, "->") && hlo_scan_expect(ps, '(') && hlo_scan_expect(ps, ')') &&
           hlo_scan_skip_loc(ps);
}

/* ---- modules ---- */

static bool take_module_entry(hlo_parser *ps, void *context, hlo_text name, hlo_text value) {
    (void)context;
    int64_t v = leading_int(value);
    if (hlo_text_is(name, "mhlo.num_partitions"))
        ps->g->n_partitions = v > 0 ? v : 1;
    else if (hlo_text_is(name, "mhlo.num_replicas"))
        ps->g->n_replicas = v > 0 ? v : 1;
    else if (hlo_text_is(name, "sym_name") && value.n > 2)
        ps->g->name = tt_arena_printf(ps->g->arena, "%.*s", value.n - 2, value.s + 1);
    return true;
}

static bool parse_module_item(hlo_parser *ps) {
    if (hlo_scan_eat_word(ps, "func.func"))
        return parse_func(ps);
    if (hlo_scan_eat_text(ps, "\"func.func\""))
        return parse_generic_func(ps);
    return hlo_parse_fail(ps, "expected func.func");
}

static bool parse_module_body(hlo_parser *ps) {
    if (!hlo_scan_expect(ps, '{'))
        return false;
    while (!hlo_scan_eat(ps, '}'))
        if (!parse_module_item(ps))
            return false;
    return true;
}

static bool parse_module(hlo_parser *ps) {
    char *name;
    if (hlo_scan_is(ps, '@')) {
        if (!hlo_scan_symbol(ps, &name))
            return false;
        ps->g->name = name;
    }
    if (hlo_scan_eat_word(ps, "attributes") &&
        (!hlo_scan_expect(ps, '{') || !parse_entries(ps, take_module_entry, NULL)))
        return false;
    return parse_module_body(ps) && hlo_scan_skip_loc(ps);
}

static bool parse_generic_module(hlo_parser *ps) {
    if (!hlo_scan_expect(ps, '(') || !hlo_scan_expect(ps, ')'))
        return false;
    if (hlo_scan_eat_text(ps, "<{") &&
        (!parse_entries(ps, take_module_entry, NULL) || !hlo_scan_expect(ps, '>')))
        return false;
    if (!hlo_scan_expect(ps, '(') || !parse_module_body(ps) || !hlo_scan_expect(ps, ')'))
        return false;
    if (hlo_scan_eat(ps, '{') && !parse_entries(ps, take_module_entry, NULL))
        return false;
    return hlo_scan_expect(ps, ':') && hlo_scan_expect(ps, '(') && hlo_scan_expect(ps, ')') &&
           hlo_scan_expect_text(ps, "->") && hlo_scan_expect(ps, '(') && hlo_scan_expect(ps, ')') &&
           hlo_scan_skip_loc(ps);
}

/* #name = value and !name = value at the top. */
static bool parse_alias(hlo_parser *ps) {
    hlo_text name, value;
    bool attribute = *ps->p++ == '#';
    if (!hlo_scan_identifier(ps, &name) || !hlo_scan_expect(ps, '=') || !hlo_scan_line_raw(ps, &value))
        return hlo_parse_fail(ps, "expected name = value");
    if (!attribute)
        return true;
    for (int i = 0; i < 2; i++) {
        ps->aliases = hlo_parse_grow(ps->aliases, ps->n_aliases, &ps->cap_aliases, sizeof *ps->aliases);
        ps->aliases[ps->n_aliases++] = i ? value : name;
    }
    return true;
}

static bool parse_top(hlo_parser *ps) {
    bool module = false;
    for (;;) {
        hlo_scan_space(ps);
        if (ps->p >= ps->end)
            return true;
        if (*ps->p == '#' || *ps->p == '!') {
            if (!parse_alias(ps))
                return false;
        } else if (hlo_scan_eat_text(ps, "{-#")) {
            ps->p = ps->end; /* resources, always last; nothing of ours names them */
        } else if (hlo_scan_eat_word(ps, "module") || hlo_scan_eat_word(ps, "builtin.module")) {
            if (module || ps->g->n_funcs)
                return hlo_parse_fail(ps, "a second module");
            module = true;
            if (!parse_module(ps))
                return false;
        } else if (hlo_scan_eat_text(ps, "\"builtin.module\"")) {
            if (module || ps->g->n_funcs)
                return hlo_parse_fail(ps, "a second module");
            module = true;
            if (!parse_generic_module(ps))
                return false;
        } else if (!parse_module_item(ps)) {
            return false;
        }
    }
}

/* The entry comes first: main, or else the first public function. */
static void move_entry(hlo_graph *g) {
    int entry = -1;
    for (int i = 0; i < g->n_funcs && entry < 0; i++)
        if (!strcmp(g->funcs[i]->name, "main"))
            entry = i;
    for (int i = 0; i < g->n_funcs && entry < 0; i++)
        if (g->funcs[i]->is_public)
            entry = i;
    if (entry <= 0)
        return;
    hlo_func *f = g->funcs[entry];
    memmove(g->funcs + 1, g->funcs, sizeof *g->funcs * (size_t)entry);
    g->funcs[0] = f;
}

static void parser_deinit(hlo_parser *ps) {
    free(ps->names);
    free(ps->slots);
    free(ps->types_seen);
    free(ps->refs);
    free(ps->types);
    free(ps->attrs);
    free(ps->blocks);
    free(ps->pending);
    free(ps->aliases);
}

tt_status hlo_parse(tt_arena *arena, const char *text, size_t length, hlo_graph **out_graph) {
    *out_graph = NULL;
    if (length > INT32_MAX)
        TT_FAIL(INVALID_ARGUMENT, "StableHLO text of %zu bytes is over 2 GiB", length);
    hlo_parser ps = {.text = text, .p = text, .end = text + length, .g = hlo_graph_create(arena, "module")};
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), saved = uselocale(c_locale);
    bool ok = parse_top(&ps);
    if (ok && !ps.g->n_funcs)
        hlo_parse_fail(&ps, "the module has no function");
    uselocale(saved);
    if (c_locale != (locale_t)0)
        freelocale(c_locale);
    parser_deinit(&ps);
    if (!ok && !ps.error)
        ps.error = TT_ERROR(INTERNAL, "StableHLO text could not be read");
    if (ps.error)
        return ps.error;
    ps.g->func = NULL;
    ps.g->block = NULL;
    move_entry(ps.g);
    *out_graph = ps.g;
    return TT_OK;
}

bool hlo_text_next(const char **cursor, const char *end, const char **out_text, size_t *out_length) {
    static const char mark[] = "// -----";
    const char *s = *cursor, *at = s;
    if (s >= end)
        return false;
    for (; at < end; at++)
        if ((at == s || at[-1] == '\n') && (size_t)(end - at) >= sizeof mark - 1 &&
            !memcmp(at, mark, sizeof mark - 1))
            break;
    *out_text = s;
    *out_length = (size_t)(at - s);
    const char *line = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    *cursor = line ? line + 1 : end;
    return true;
}
