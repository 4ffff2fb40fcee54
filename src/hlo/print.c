/* print.c - a graph as StableHLO text, in MLIR's generic form: one shape of line for every op.
 *
 * Numbers are printed so that they parse back to the same bits. Values are named in the order of the text, so
 * equal graphs give equal text (and equal cache keys). The parser of our own engine and XLA's read it. */
#include "hlo/internal.h"
#include "hlo/text.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_LIMIT = 32 }; /* more elements than this are written as a hex string */

typedef struct printer {
    const hlo_graph *g;
    tt_str *out;
    uint32_t *names; /* by hlo_ref; the top bit marks a parameter */
    uint32_t next_value, next_param;
} printer;

#define PARAM_BIT 0x80000000u

/* Appends without the terminating zero: a program is a hundred small pieces a line, and hlo_print ends the
 * text. */
static inline void put_n(printer *p, const char *text, size_t n) {
    tt_str *out = p->out;
    if (out->capacity - out->length <= n) {
        tt_str_append(out, text, n);
        return;
    }
    memcpy(out->data + out->length, text, n);
    out->length += n;
}

static void put(printer *p, const char *text) {
    put_n(p, text, strlen(text));
}
#define PUT(p, literal) put_n((p), (literal), sizeof(literal) - 1)

static void put_int(printer *p, int64_t v) {
    char text[24], *end = text + sizeof text, *c = end;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        *--c = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        *--c = '-';
    put_n(p, c, (size_t)(end - c));
}

static void put_type(printer *p, const hlo_type *t) {
    if (!t) {
        PUT(p, "none");
        return;
    }
    if (t->dtype == TT_TOKEN) {
        put(p, tt_dtype_name(t->dtype));
        return;
    }
    PUT(p, "tensor<");
    for (int i = 0; i < t->rank; i++) {
        put_int(p, t->dims[i]);
        PUT(p, "x");
    }
    put(p, tt_dtype_name(t->dtype));
    PUT(p, ">");
}

static void put_string(printer *p, const char *text) {
    PUT(p, "\"");
    for (const char *c = text; *c; c++) {
        unsigned char u = (unsigned char)*c;
        if (u == '"' || u == '\\' || u < 32 || u == 127)
            tt_str_printf(p->out, "\\%02X", u);
        else
            put_n(p, c, 1);
    }
    PUT(p, "\"");
}

static void put_symbol(printer *p, const char *name) {
    bool bare = *name && (*name == '_' || (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z'));
    for (const char *c = name; bare && *c; c++)
        bare = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
               strchr("_$.-", *c);
    PUT(p, "@");
    if (bare)
        put(p, name);
    else
        put_string(p, name);
}

static void put_value(printer *p, hlo_ref r) {
    const hlo_node *n = hlo_node_at(p->g, r);
    hlo_ref owner = n->op == HLO_RESULT ? n->operands[0] : r;
    uint32_t name = p->names[owner];
    if (name & PARAM_BIT)
        PUT(p, "%arg");
    else
        PUT(p, "%");
    put_int(p, name & ~PARAM_BIT);
    if (n->op == HLO_RESULT) {
        PUT(p, "#");
        put_int(p, hlo_attr_int(n, HLO_A_RESULT_INDEX, 0));
    }
}

/* ---- numbers ---- */

static void put_float(printer *p, tt_dtype d, const void *element) {
    char text[40];
    double v = tt_element_get(d, element);
    if (!isfinite(v)) {
        uint64_t bits = 0;
        int size = tt_dtype_size(d);
        memcpy(&bits, element, (size_t)size);
        tt_str_printf(p->out, "0x%0*llX", 2 * size, (unsigned long long)bits);
        return;
    }
    snprintf(text, sizeof text, "%.6e", v);
    /* seven digits tell all values of 8 and 16 bit floats apart */
    if (d == TT_F32 && strtof(text, NULL) != (float)v)
        snprintf(text, sizeof text, "%.8e", v);
    else if (d == TT_F64 && strtod(text, NULL) != v)
        snprintf(text, sizeof text, "%.16e", v);
    put(p, text);
}

static void put_element(printer *p, tt_dtype d, const void *element) {
    switch (tt_dtype_class(d)) {
    case TT_CLASS_PRED:
        put(p, *(const unsigned char *)element ? "true" : "false");
        return;
    case TT_CLASS_SINT:
        put_int(p, tt_element_get_int(d, element));
        return;
    case TT_CLASS_UINT: {
        int64_t v = tt_element_get_int(d, element);
        if (v < 0)
            tt_str_printf(p->out, "%llu", (unsigned long long)v);
        else
            put_int(p, v);
        return;
    }
    case TT_CLASS_FLOAT:
        put_float(p, d, element);
        return;
    case TT_CLASS_COMPLEX: {
        tt_dtype real = tt_dtype_real(d);
        PUT(p, "(");
        put_float(p, real, element);
        PUT(p, ", ");
        put_float(p, real, (const char *)element + tt_dtype_size(real));
        PUT(p, ")");
        return;
    }
    }
}

static const char *put_list(printer *p, const hlo_type *t, int dim, const char *data) {
    if (dim == t->rank) {
        put_element(p, t->dtype, data);
        return data + tt_dtype_size(t->dtype);
    }
    PUT(p, "[");
    for (int64_t i = 0; i < t->dims[dim]; i++) {
        if (i)
            PUT(p, ", ");
        data = put_list(p, t, dim + 1, data);
    }
    PUT(p, "]");
    return data;
}

static void put_hex(printer *p, const unsigned char *data, int64_t bytes) {
    static const char digits[] = "0123456789ABCDEF";
    PUT(p, "\"0x");
    char text[512];
    for (int64_t i = 0; i < bytes;) {
        size_t n = 0;
        for (; i < bytes && n < sizeof text; i++) {
            text[n++] = digits[data[i] >> 4];
            text[n++] = digits[data[i] & 15];
        }
        put_n(p, text, n);
    }
    PUT(p, "\"");
}

/* Types below a byte are never written as hex: LLVM versions disagree on how their bits are packed. */
static bool is_below_byte(tt_dtype d) {
    return d == TT_PRED || d == TT_I4 || d == TT_U4 || d == TT_I2 || d == TT_U2;
}

static void put_dense(printer *p, const hlo_attr *a) {
    const hlo_type *t = a->type;
    int64_t elements = hlo_type_elements(t);
    PUT(p, "dense<");
    if (a->splat)
        put_element(p, t->dtype, a->data);
    else if (elements > LIST_LIMIT && !is_below_byte(t->dtype))
        put_hex(p, a->data, hlo_type_bytes(t));
    else if (elements)
        put_list(p, t, 0, a->data);
    PUT(p, "> : ");
    put_type(p, t);
}

/* ---- attributes ---- */

static void put_ints(printer *p, hlo_ints v) {
    for (int i = 0; i < v.n; i++) {
        if (i)
            PUT(p, ", ");
        put_int(p, v.v[i]);
    }
}

static void put_ints_attr(printer *p, const hlo_attr *a) {
    bool boolean = a->name == HLO_A_WINDOW_REVERSAL;
    put(p, boolean ? "array<i1" : "array<i64");
    for (int i = 0; i < a->n; i++) {
        put(p, i ? ", " : ": ");
        if (boolean)
            put(p, a->ints[i] ? "true" : "false");
        else
            put_int(p, a->ints[i]);
    }
    PUT(p, ">");
}

static void put_ints2d_attr(printer *p, const hlo_attr *a) {
    bool pairs = a->name == HLO_A_PADDING || a->name == HLO_A_SOURCE_TARGET_PAIRS;
    int columns = a->rows ? a->n / a->rows : pairs ? 2 : 0;
    PUT(p, "dense<");
    if (a->n) {
        PUT(p, "[");
        for (int i = 0; i < a->rows; i++) {
            put(p, i ? ", [" : "[");
            put_ints(p, (hlo_ints){columns, a->ints + (ptrdiff_t)i * columns});
            PUT(p, "]");
        }
        PUT(p, "]");
    }
    PUT(p, "> : tensor<");
    put_int(p, a->rows);
    PUT(p, "x");
    put_int(p, columns);
    PUT(p, "xi64>");
}

static void put_dim_list(printer *p, const char *name, hlo_ints v, bool *first) {
    if (!v.n)
        return;
    if (!*first)
        PUT(p, ", ");
    *first = false;
    put(p, name);
    PUT(p, " = [");
    put_ints(p, v);
    PUT(p, "]");
}

/* [b, 0, 1, f]: position of each dim, from the list of {first, second, spatial...} positions. */
static void put_conv_side(printer *p, hlo_ints v, const char *letters) {
    PUT(p, "[");
    for (int position = 0; position < v.n; position++) {
        if (position)
            PUT(p, ", ");
        for (int i = 0; i < v.n; i++) {
            if (v.v[i] != position)
                continue;
            if (i < 2)
                put_n(p, letters + i, 1);
            else
                put_int(p, i - 2);
        }
    }
    PUT(p, "]");
}

static void put_dims(printer *p, const hlo_dims *d) {
    static const char *const names[3][5] = {{"lhs_batching_dimensions", "rhs_batching_dimensions",
                                             "lhs_contracting_dimensions", "rhs_contracting_dimensions", ""},
                                            {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                             "start_indices_batching_dims", "start_index_map"},
                                            {"update_window_dims", "inserted_window_dims",
                                             "input_batching_dims", "scatter_indices_batching_dims",
                                             "scatter_dims_to_operand_dims"}};
    if (d->kind == HLO_DIMS_CONV) {
        PUT(p, "#stablehlo.conv<");
        put_conv_side(p, d->a, "bf");
        PUT(p, "x");
        put_conv_side(p, d->b, "io");
        PUT(p, "->");
        put_conv_side(p, d->c, "bf");
        PUT(p, ">");
        return;
    }
    put(p, d->kind == HLO_DIMS_DOT      ? "#stablehlo.dot<"
           : d->kind == HLO_DIMS_GATHER ? "#stablehlo.gather<"
                                        : "#stablehlo.scatter<");
    bool first = true;
    const hlo_ints lists[5] = {d->a, d->b, d->c, d->d, d->e};
    for (int i = 0; i < 5; i++)
        put_dim_list(p, names[d->kind][i], lists[i], &first);
    if (d->kind != HLO_DIMS_DOT) {
        put(p, first ? "index_vector_dim = " : ", index_vector_dim = ");
        put_int(p, d->index_vector_dim);
    }
    PUT(p, ">");
}

static void put_enums(printer *p, const char *text) {
    PUT(p, "[");
    for (const char *c = text; *c;) {
        size_t n = strcspn(c, ",");
        put(p, c == text ? "#stablehlo<precision " : ", #stablehlo<precision ");
        put_n(p, c, n);
        PUT(p, ">");
        c += n + (c[n] == ',');
    }
    PUT(p, "]");
}

static const char *enum_name(hlo_attr_name name) {
    if (name == HLO_A_COMPARE_TYPE)
        return "comparison_type";
    return name == HLO_A_TRANSPOSE_A ? "transpose" : hlo_attr_name_text(name);
}

static bool int_is_32(hlo_attr_name name) {
    return name == HLO_A_API_VERSION || name == HLO_A_INDEX || name == HLO_A_VERSION ||
           name == HLO_A_EXPONENT_BITS || name == HLO_A_MANTISSA_BITS;
}

static void put_attr(printer *p, const hlo_attr *a) {
    if (a->name == HLO_A_UNKNOWN) {
        put(p, a->text);
        return;
    }
    put(p, hlo_attr_name_text(a->name));
    if (a->name == HLO_A_USE_GLOBAL_DEVICE_IDS)
        return; /* a unit attribute: being there is its value */
    PUT(p, " = ");
    switch (a->kind) {
    case HLO_K_INT:
        put_int(p, a->one);
        put(p, int_is_32(a->name) ? " : i32" : " : i64");
        break;
    case HLO_K_INTS:
        put_ints_attr(p, a);
        break;
    case HLO_K_INTS2D:
        put_ints2d_attr(p, a);
        break;
    case HLO_K_BOOL:
        put(p, a->one ? "true" : "false");
        break;
    case HLO_K_FLOAT: {
        float v = (float)a->number;
        put_float(p, TT_F32, &v);
        PUT(p, " : f32");
        break;
    }
    case HLO_K_ENUM:
        tt_str_printf(p->out, "#stablehlo<%s %s>", enum_name(a->name), a->text);
        break;
    case HLO_K_ENUMS:
        put_enums(p, a->text);
        break;
    case HLO_K_STRING:
        put_string(p, a->text);
        break;
    case HLO_K_SYMBOL:
        put_symbol(p, a->text);
        break;
    case HLO_K_DENSE:
        put_dense(p, a);
        break;
    case HLO_K_DIMS:
        put_dims(p, a->dims);
        break;
    case HLO_K_RAW:
        put(p, a->text);
        break;
    }
}

static void put_attrs(printer *p, const hlo_node *n) {
    bool open = false;
    for (int i = 0; i < n->n_attrs; i++) {
        const hlo_attr *a = &n->attrs[i];
        if (a->name == HLO_A_USE_GLOBAL_DEVICE_IDS && !a->one)
            continue;
        if (open)
            PUT(p, ", ");
        else
            PUT(p, " {");
        open = true;
        put_attr(p, a);
    }
    if (open)
        PUT(p, "}");
}

/* ---- nodes, blocks, functions ---- */

static void put_indent(printer *p, int depth) {
    static const char spaces[] = "                                                                ";
    size_t n = (size_t)depth * 2;
    put_n(p, spaces, n < sizeof spaces ? n : sizeof spaces - 1);
}

static void put_values(printer *p, int n, const hlo_ref *values) {
    for (int i = 0; i < n; i++) {
        if (i)
            PUT(p, ", ");
        put_value(p, values[i]);
    }
}

static void put_types_of(printer *p, int n, const hlo_ref *values) {
    for (int i = 0; i < n; i++) {
        if (i)
            PUT(p, ", ");
        put_type(p, hlo_type_of(p->g, values[i]));
    }
}

static void put_block(printer *p, const hlo_block *b, int depth);

/* %argN: type, which gets its name here; after a comma but for the first. */
static void put_param(printer *p, const hlo_block *b, int i) {
    p->names[b->params[i]] = p->next_param++ | PARAM_BIT;
    if (i)
        PUT(p, ", ");
    put_value(p, b->params[i]);
    PUT(p, ": ");
    put_type(p, hlo_type_of(p->g, b->params[i]));
}

static void put_region(printer *p, const hlo_block *b, int depth) {
    PUT(p, "{\n");
    if (b->n_params) {
        put_indent(p, depth);
        PUT(p, "^bb0(");
        for (int i = 0; i < b->n_params; i++)
            put_param(p, b, i);
        PUT(p, "):\n");
    }
    put_block(p, b, depth + 1);
    put_indent(p, depth + 1);
    PUT(p, "\"stablehlo.return\"(");
    put_values(p, b->n_results, b->results);
    PUT(p, ") : (");
    put_types_of(p, b->n_results, b->results);
    PUT(p, ") -> ()\n");
    put_indent(p, depth);
    PUT(p, "}");
}

static void put_node(printer *p, hlo_ref r, int depth) {
    const hlo_node *n = hlo_node_at(p->g, r);
    put_indent(p, depth);
    if (n->n_results) {
        PUT(p, "%");
        put_int(p, p->names[r] = p->next_value++);
        if (n->n_results > 1) {
            PUT(p, ":");
            put_int(p, n->n_results);
        }
        PUT(p, " = ");
    }
    PUT(p, "\"");
    put(p, hlo_op_text((hlo_op)n->op));
    PUT(p, "\"(");
    put_values(p, (int)n->n_operands, n->operands);
    PUT(p, ")");
    for (int i = 0; i < n->n_regions; i++) {
        put(p, i ? ", " : " (");
        put_region(p, n->regions[i], depth);
    }
    if (n->n_regions)
        PUT(p, ")");
    put_attrs(p, n);
    PUT(p, " : (");
    put_types_of(p, (int)n->n_operands, n->operands);
    PUT(p, ") -> ");
    if (n->n_results != 1)
        PUT(p, "(");
    for (int i = 0; i < n->n_results; i++) {
        if (i)
            PUT(p, ", ");
        put_type(p, n->n_results == 1 ? n->type : hlo_type_of(p->g, r + 1 + (hlo_ref)i));
    }
    if (n->n_results != 1)
        PUT(p, ")");
    PUT(p, "\n");
}

static void put_block(printer *p, const hlo_block *b, int depth) {
    for (int i = 0; i < b->n_nodes; i++)
        put_node(p, b->nodes[i], depth);
}

static void put_func(printer *p, const hlo_func *f) {
    const hlo_block *b = f->body;
    p->next_value = p->next_param = 0;
    PUT(p, "  func.func ");
    put(p, f->is_public ? "public " : "private ");
    put_symbol(p, f->name);
    PUT(p, "(");
    for (int i = 0; i < b->n_params; i++) {
        put_param(p, b, i);
        if (f->alias && f->alias[i] >= 0)
            tt_str_printf(p->out, " {tf.aliasing_output = %d : i32}", f->alias[i]);
        else if (f->donated && f->donated[i])
            PUT(p, " {jax.buffer_donor = true}");
    }
    PUT(p, ")");
    if (b->n_results) {
        PUT(p, " -> (");
        put_types_of(p, b->n_results, b->results);
        PUT(p, ")");
    }
    PUT(p, " {\n");
    put_block(p, b, 2);
    PUT(p, "    return");
    if (b->n_results) {
        PUT(p, " ");
        put_values(p, b->n_results, b->results);
        PUT(p, " : ");
        put_types_of(p, b->n_results, b->results);
    }
    PUT(p, "\n  }\n");
}

void hlo_print(const hlo_graph *g, tt_str *out_text) {
    printer p = {.g = g, .out = out_text, .names = tt_calloc(g->n_nodes, sizeof(uint32_t))};
    /* a decimal comma from the host's locale would be no StableHLO */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), saved = uselocale(c_locale);
    PUT(&p, "module ");
    put_symbol(&p, g->name);
    tt_str_printf(out_text,
                  " attributes {mhlo.num_partitions = %lld : i32, mhlo.num_replicas = %lld : i32} {\n",
                  (long long)g->n_partitions, (long long)g->n_replicas);
    for (int i = 0; i < g->n_funcs; i++)
        put_func(&p, g->funcs[i]);
    PUT(&p, "}\n");
    tt_str_append(out_text, "", 0);
    uselocale(saved);
    if (c_locale != (locale_t)0)
        freelocale(c_locale);
    free(p.names);
}
