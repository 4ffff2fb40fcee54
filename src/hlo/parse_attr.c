/* parse_attr.c - attributes: the dictionary of an op, dense literals, dimension numbers, enums.
 *
 * A known name is read by its kind (tables/hlo.def). What does not read that way, and every unknown name, is
 * kept as text and printed back as it was. */
#include "hlo/parse.h"
#include <stdlib.h>
#include <string.h>

static char *slice_copy(hlo_parser *ps, hlo_text s) {
    char *text = tt_arena_alloc(ps->g->arena, (size_t)s.n + 1);
    memcpy(text, s.s, (size_t)s.n);
    return text;
}

/* ---- numbers of dense literals ---- */

/* Digits with at most 19 significant ones and a small power of ten are exact in one division; others go to
 * strtod. */
static bool parse_decimal(hlo_parser *ps, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *s = ps->p, *p = s, *end = ps->end;
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    uint64_t mantissa = 0;
    int exponent = 0, digits = 0;
    bool any = false;
    for (bool point = false; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9')
            break;
        any = true;
        if (digits < 19) {
            mantissa = mantissa * 10 + (uint64_t)(*p - '0');
            digits += mantissa != 0;
            exponent -= point;
        } else {
            digits = 20; /* more than fit: not exact */
            exponent += !point;
        }
    }
    if (!any)
        return hlo_parse_fail(ps, "expected a number");
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *e = p + 1;
        bool minus = e < end && *e == '-';
        e += e < end && (*e == '-' || *e == '+');
        int power = 0;
        if (e >= end || *e < '0' || *e > '9')
            return hlo_parse_fail(ps, "expected an exponent");
        for (; e < end && *e >= '0' && *e <= '9'; e++)
            power = power < 100000 ? power * 10 + (*e - '0') : power;
        exponent += minus ? -power : power;
        p = e;
    }
    ps->p = p;
    if (digits < 20 && mantissa < (1ull << 53) && exponent >= -22 && exponent <= 22) {
        double m = (double)mantissa;
        m = exponent < 0 ? m / powers[-exponent] : m * powers[exponent];
        *out = negative ? -m : m;
        return true;
    }
    char small[64], *text = small;
    size_t n = (size_t)(p - s);
    if (n >= sizeof small)
        text = tt_malloc(n + 1);
    memcpy(text, s, n);
    text[n] = 0;
    *out = strtod(text, NULL);
    if (text != small)
        free(text);
    return true;
}

static bool parse_hex_bits(hlo_parser *ps, uint64_t *out) {
    ps->p += 2;
    uint64_t v = 0;
    const char *s = ps->p;
    for (; ps->p < ps->end; ps->p++) {
        char c = *ps->p;
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            break;
        if (v >> 60)
            return hlo_parse_fail(ps, "hexadecimal number is over 64 bits");
        v = v << 4 | (uint64_t)d;
    }
    if (s == ps->p)
        return hlo_parse_fail(ps, "expected hexadecimal digits");
    *out = v;
    return true;
}

static bool at_hex(const hlo_parser *ps) {
    return ps->end - ps->p > 2 && ps->p[0] == '0' && (ps->p[1] == 'x' || ps->p[1] == 'X');
}

static bool parse_real(hlo_parser *ps, tt_dtype d, void *element) {
    hlo_scan_space(ps);
    if (at_hex(ps)) {
        uint64_t bits;
        if (!parse_hex_bits(ps, &bits))
            return false;
        int size = tt_dtype_size(d);
        if (size < 8 && bits >> (8 * size))
            return hlo_parse_fail(ps, "hexadecimal number is over %d bits", 8 * size);
        memcpy(element, &bits, (size_t)size);
        return true;
    }
    double v = 0;
    if (!parse_decimal(ps, &v))
        return false;
    tt_element_set(d, element, v);
    return true;
}

static bool parse_integer(hlo_parser *ps, tt_dtype d, void *element) {
    hlo_scan_space(ps);
    bool negative = ps->p < ps->end && *ps->p == '-';
    ps->p += negative;
    uint64_t v = 0;
    if (at_hex(ps)) {
        if (!parse_hex_bits(ps, &v))
            return false;
    } else {
        const char *s = ps->p;
        for (; ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9'; ps->p++)
            if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*ps->p - '0'), &v))
                return hlo_parse_fail(ps, "integer does not fit 64 bits");
        if (s == ps->p)
            return hlo_parse_fail(ps, "expected an integer");
    }
    tt_element_set_int(d, element, (int64_t)(negative ? 0 - v : v));
    return true;
}

static bool parse_element(hlo_parser *ps, tt_dtype d, void *element) {
    switch (tt_dtype_class(d)) {
    case TT_CLASS_PRED:
        if (hlo_scan_eat_word(ps, "true"))
            *(uint8_t *)element = 1;
        else if (hlo_scan_eat_word(ps, "false"))
            *(uint8_t *)element = 0;
        else
            return parse_integer(ps, d, element);
        return true;
    case TT_CLASS_SINT:
    case TT_CLASS_UINT:
        return parse_integer(ps, d, element);
    case TT_CLASS_FLOAT:
        return parse_real(ps, d, element);
    case TT_CLASS_COMPLEX:
        break;
    }
    tt_dtype real = tt_dtype_real(d);
    return hlo_scan_expect(ps, '(') && parse_real(ps, real, element) && hlo_scan_expect(ps, ',') &&
           parse_real(ps, real, (char *)element + tt_dtype_size(real)) && hlo_scan_expect(ps, ')');
}

/* Nested lists that must have exactly the type's shape. */
static bool parse_elements(hlo_parser *ps, const hlo_type *t, int dim, char **data) {
    if (dim == t->rank) {
        if (!parse_element(ps, t->dtype, *data))
            return false;
        *data += tt_dtype_size(t->dtype);
        return true;
    }
    if (!hlo_scan_expect(ps, '['))
        return false;
    for (int64_t i = 0; i < t->dims[dim]; i++)
        if ((i && !hlo_scan_expect(ps, ',')) || !parse_elements(ps, t, dim + 1, data))
            return false;
    return hlo_scan_expect(ps, ']');
}

static bool parse_hex_string(hlo_parser *ps, const hlo_type *t, hlo_attr *out) {
    const char *s = ps->p + 1, *e = memchr(s, '"', (size_t)(ps->end - s));
    if (!e || e - s < 2 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X') || (e - s) % 2)
        return hlo_parse_fail(ps, "expected \"0x...\"");
    int64_t bytes = (e - s - 2) / 2, elements = hlo_type_elements(t), size = tt_dtype_size(t->dtype);
    bool packed = t->dtype == TT_PRED && bytes == (elements + 7) / 8 && bytes != elements;
    bool splat = !packed && bytes == size && elements > 1;
    if (!packed && !splat && bytes != elements * size)
        return hlo_parse_fail(ps, "\"0x...\" has %lld bytes, the type needs %lld", (long long)bytes,
                              (long long)(elements * size));
    unsigned char *raw = tt_malloc((size_t)bytes);
    for (int64_t i = 0; i < bytes; i++) {
        int v = 0;
        for (int k = 0; k < 2; k++) {
            char c = s[2 + 2 * i + k];
            int d = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
            if (d < 0) {
                free(raw);
                return hlo_parse_fail(ps, "expected hexadecimal digits");
            }
            v = v << 4 | d;
        }
        raw[i] = (unsigned char)v;
    }
    if (packed) {
        unsigned char *bits = tt_malloc((size_t)elements);
        for (int64_t i = 0; i < elements; i++)
            bits[i] = raw[i / 8] >> (i % 8) & 1;
        free(raw);
        raw = bits;
    } else if (t->dtype == TT_PRED) {
        for (int64_t i = 0; i < bytes; i++)
            raw[i] = raw[i] != 0;
    }
    *out = hlo_attr_make_dense(ps->g, t, raw, splat);
    free(raw);
    ps->p = e + 1;
    return true;
}

static bool parse_dense_content(hlo_parser *ps, const hlo_type *t, hlo_attr *out) {
    int64_t elements = hlo_type_elements(t);
    hlo_scan_space(ps);
    if (ps->p >= ps->end) {
        if (elements)
            return hlo_parse_fail(ps, "dense<> for a type with %lld elements", (long long)elements);
        *out = hlo_attr_make_dense(ps->g, t, NULL, false);
        return true;
    }
    if (*ps->p == '"')
        return parse_hex_string(ps, t, out);
    if (*ps->p != '[') {
        unsigned char element[16] = {0};
        if (!parse_element(ps, t->dtype, element))
            return false;
        *out = hlo_attr_make_dense(ps->g, t, element, true);
        return true;
    }
    /* each element takes a character or more, so a short text cannot ask for much memory */
    if (elements > ps->end - ps->p)
        return hlo_parse_fail(ps, "dense<[...]> has fewer elements than its type");
    char *data = tt_calloc((size_t)elements, (size_t)tt_dtype_size(t->dtype)), *at = data;
    bool ok = parse_elements(ps, t, 0, &at);
    if (ok)
        *out = hlo_attr_make_dense(ps->g, t, data, false);
    free(data);
    return ok;
}

/* The type comes last: find it first, then read the content with it. */
bool hlo_parse_dense(hlo_parser *ps, hlo_attr *out) {
    if (!hlo_scan_expect_text(ps, "dense<"))
        return false;
    hlo_scan_space(ps);
    const char *content = ps->p, *from = content;
    if (from < ps->end && *from == '"') {
        from = memchr(from + 1, '"', (size_t)(ps->end - from - 1));
        if (!from)
            return hlo_parse_fail(ps, "string has no end");
    }
    const char *close = memchr(from, '>', (size_t)(ps->end - from));
    if (!close)
        return hlo_parse_fail(ps, "dense<...> has no end");
    const hlo_type *t;
    ps->p = close + 1;
    if (!hlo_scan_expect(ps, ':') || !hlo_parse_type(ps, &t))
        return false;
    if (t->dtype == TT_TOKEN)
        return hlo_parse_fail(ps, "a token is no constant");
    const char *after = ps->p, *end = ps->end;
    ps->p = content;
    ps->end = close;
    bool ok = parse_dense_content(ps, t, out);
    if (ok) {
        hlo_scan_space(ps);
        if (ps->p < ps->end)
            ok = hlo_parse_fail(ps, "expected the end of dense<...>");
    }
    ps->end = end;
    if (ok)
        ps->p = after;
    return ok;
}

/* ---- structured attributes ---- */

/* Any dense or array of integers as a list. */
static bool parse_ints(hlo_parser *ps, hlo_attr_name name, hlo_attr *out) {
    if (hlo_attr_name_kind(name) == HLO_K_INTS && hlo_scan_eat_text(ps, "array<")) {
        hlo_text type;
        if (!hlo_scan_identifier(ps, &type))
            return hlo_parse_fail(ps, "expected an element type");
        int64_t *v = NULL;
        int n = 0, cap = 0;
        bool ok = true;
        if (hlo_scan_eat(ps, ':'))
            do {
                if (n == cap)
                    v = tt_realloc(v, sizeof *v * (size_t)(cap = cap ? 2 * cap : 8));
                if (hlo_scan_eat_word(ps, "true"))
                    v[n++] = 1;
                else if (hlo_scan_eat_word(ps, "false"))
                    v[n++] = 0;
                else
                    ok = hlo_scan_int(ps, &v[n++]);
            } while (ok && hlo_scan_eat(ps, ','));
        ok = ok && hlo_scan_expect(ps, '>');
        if (ok)
            *out = hlo_attr_make_ints(ps->g, name, n, v);
        free(v);
        return ok;
    }
    hlo_attr dense;
    if (!hlo_parse_dense(ps, &dense))
        return false;
    if (!tt_is_int(dense.type->dtype) && dense.type->dtype != TT_PRED)
        return hlo_parse_fail(ps, "expected integers");
    int64_t n = hlo_type_elements(dense.type);
    bool two = hlo_attr_name_kind(name) == HLO_K_INTS2D;
    if (n > 1 << 20 || (two && (dense.type->rank != 2 || dense.type->dims[0] > 1 << 20)))
        return hlo_parse_fail(ps, "%s is no list of integers for '%s'",
                              hlo_type_print(ps->g->arena, dense.type), hlo_attr_name_text(name));
    int64_t *v = tt_malloc(sizeof *v * (size_t)n);
    int size = tt_dtype_size(dense.type->dtype);
    for (int64_t i = 0; i < n; i++)
        v[i] = tt_element_get_int(dense.type->dtype, (const char *)dense.data + (dense.splat ? 0 : i * size));
    int rows = two ? (int)dense.type->dims[0] : 0;
    *out = two ? hlo_attr_make_ints2d(ps->g, name, rows, rows ? (int)(n / rows) : 0, v)
               : hlo_attr_make_ints(ps->g, name, (int)n, v);
    if (two && !n)
        out->rows = 0; /* no elements: how many rows of none says nothing */
    free(v);
    return true;
}

static hlo_ints *dims_field(hlo_dims *d, hlo_text key) {
    static const char *const names[3][5] = {{"lhs_batching_dimensions", "rhs_batching_dimensions",
                                             "lhs_contracting_dimensions", "rhs_contracting_dimensions", ""},
                                            {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                             "start_indices_batching_dims", "start_index_map"},
                                            {"update_window_dims", "inserted_window_dims",
                                             "input_batching_dims", "scatter_indices_batching_dims",
                                             "scatter_dims_to_operand_dims"}};
    hlo_ints *fields[5] = {&d->a, &d->b, &d->c, &d->d, &d->e};
    for (int i = 0; i < 5; i++)
        if (hlo_text_is(key, names[d->kind][i]))
            return fields[i];
    return NULL;
}

/* #stablehlo.dot<...>, gather, scatter, conv: after '#' */
static bool parse_dims(hlo_parser *ps, hlo_attr_name name, hlo_attr *out) {
    hlo_text which;
    if (!hlo_scan_identifier(ps, &which) || !hlo_scan_expect(ps, '<'))
        return hlo_parse_fail(ps, "expected dimension numbers");
    hlo_dims d = {.kind = HLO_DIMS_DOT};
    if (hlo_text_is(which, "stablehlo.conv"))
        return hlo_parse_conv_dims(ps, out) && hlo_scan_expect(ps, '>');
    if (hlo_text_is(which, "stablehlo.gather"))
        d.kind = HLO_DIMS_GATHER;
    else if (hlo_text_is(which, "stablehlo.scatter"))
        d.kind = HLO_DIMS_SCATTER;
    else if (!hlo_text_is(which, "stablehlo.dot"))
        return hlo_parse_fail(ps, "expected dimension numbers");
    for (bool first = true; !hlo_scan_eat(ps, '>'); first = false) {
        hlo_text key;
        if (!first && hlo_scan_eat(ps, ',') && hlo_scan_eat(ps, '>'))
            break;
        if (!hlo_scan_identifier(ps, &key) || !hlo_scan_expect(ps, '='))
            return hlo_parse_fail(ps, "expected a name");
        if (hlo_text_is(key, "index_vector_dim") && d.kind != HLO_DIMS_DOT) {
            if (!hlo_scan_int(ps, &d.index_vector_dim))
                return false;
            continue;
        }
        hlo_ints *field = dims_field(&d, key);
        int64_t *v;
        if (!field)
            return hlo_parse_fail(ps, "'%.*s' is no dimension list", key.n > 40 ? 40 : key.n, key.s);
        if (!hlo_scan_int_list(ps, &field->n, &v))
            return false;
        field->v = v;
    }
    *out = hlo_attr_make_dims(ps->g, name, &d);
    return true;
}

/* [b, 0, 1, f] -> positions of {first letter, second letter, spatial dims} */
static bool parse_conv_side(hlo_parser *ps, char first, char second, int64_t *out, int *out_n) {
    int n = 0;
    for (int i = 0; i < HLO_MAX_RANK; i++)
        out[i] = -1;
    if (!hlo_scan_expect(ps, '['))
        return false;
    while (!hlo_scan_eat(ps, ']')) {
        int64_t slot;
        if ((n && !hlo_scan_expect(ps, ',')) || n == HLO_MAX_RANK)
            return hlo_parse_fail(ps, "convolution has too many dimensions");
        if (hlo_scan_eat(ps, first))
            slot = 0;
        else if (hlo_scan_eat(ps, second))
            slot = 1;
        else if (!hlo_scan_int(ps, &slot) || slot < 0 || slot > HLO_MAX_RANK - 3)
            return hlo_parse_fail(ps, "expected %c, %c or a spatial dimension", first, second);
        else
            slot += 2;
        if (out[slot] >= 0)
            return hlo_parse_fail(ps, "dimension is named twice");
        out[slot] = n++;
    }
    for (int i = 0; i < n; i++)
        if (out[i] < 0)
            return hlo_parse_fail(ps, "a dimension is missing");
    *out_n = n;
    return true;
}

bool hlo_parse_conv_dims(hlo_parser *ps, hlo_attr *out) {
    int64_t x[HLO_MAX_RANK], w[HLO_MAX_RANK], y[HLO_MAX_RANK];
    hlo_dims d = {.kind = HLO_DIMS_CONV};
    if (!parse_conv_side(ps, 'b', 'f', x, &d.a.n) || !hlo_scan_expect(ps, 'x') ||
        !parse_conv_side(ps, 'i', 'o', w, &d.b.n) || !hlo_scan_expect_text(ps, "->") ||
        !parse_conv_side(ps, 'b', 'f', y, &d.c.n))
        return false;
    d.a.v = x;
    d.b.v = w;
    d.c.v = y;
    *out = hlo_attr_make_dims(ps->g, HLO_A_DIMENSION_NUMBERS, &d);
    return true;
}

/* FFT, or #stablehlo<fft_type FFT> */
bool hlo_parse_enum_word(hlo_parser *ps, hlo_attr_name name, hlo_attr *out) {
    hlo_text word;
    bool bracket = hlo_scan_eat(ps, '#');
    if (!hlo_scan_identifier(ps, &word))
        return hlo_parse_fail(ps, "expected a word");
    if (bracket && (!hlo_scan_expect(ps, '<') || !hlo_scan_identifier(ps, &word) ||
                    !hlo_scan_identifier(ps, &word) || !hlo_scan_expect(ps, '>')))
        return hlo_parse_fail(ps, "expected #stablehlo<name VALUE>");
    *out = hlo_attr_make_text(ps->g, name, slice_copy(ps, word));
    return true;
}

bool hlo_parse_enum_list(hlo_parser *ps, hlo_attr_name name, hlo_attr *out) {
    tt_str s = {0};
    bool ok = hlo_scan_expect(ps, '[');
    for (int i = 0; ok && !hlo_scan_eat(ps, ']'); i++) {
        hlo_attr one;
        ok = (!i || hlo_scan_expect(ps, ',')) && hlo_parse_enum_word(ps, name, &one);
        if (ok)
            tt_str_printf(&s, i ? ",%s" : "%s", one.text);
    }
    if (ok)
        *out = hlo_attr_make_text(ps->g, name, s.data ? s.data : "");
    tt_str_deinit(&s);
    return ok;
}

/* ---- the dictionary ---- */

static bool parse_kind(hlo_parser *ps, hlo_attr_name name, hlo_attr *out) {
    hlo_text ignored;
    char *text;
    int64_t v;
    switch (hlo_attr_name_kind(name)) {
    case HLO_K_INT:
        if (!hlo_scan_int(ps, &v) || (hlo_scan_eat(ps, ':') && !hlo_scan_identifier(ps, &ignored)))
            return false;
        *out = hlo_attr_make_int(name, v);
        return true;
    case HLO_K_INTS:
    case HLO_K_INTS2D:
        return parse_ints(ps, name, out);
    case HLO_K_BOOL:
        if (hlo_scan_eat_word(ps, "true") || hlo_scan_eat_word(ps, "unit"))
            *out = hlo_attr_make_bool(name, true);
        else if (hlo_scan_eat_word(ps, "false"))
            *out = hlo_attr_make_bool(name, false);
        else
            return hlo_parse_fail(ps, "expected true or false");
        return true;
    case HLO_K_FLOAT: {
        float f;
        if (!parse_real(ps, TT_F32, &f) || (hlo_scan_eat(ps, ':') && !hlo_scan_identifier(ps, &ignored)))
            return false;
        *out = hlo_attr_make_float(name, (double)f);
        return true;
    }
    case HLO_K_ENUM:
        return hlo_parse_enum_word(ps, name, out);
    case HLO_K_ENUMS:
        return hlo_parse_enum_list(ps, name, out);
    case HLO_K_STRING:
        if (!hlo_scan_string(ps, &text))
            return false;
        *out = hlo_attr_make_text(ps->g, name, text);
        return true;
    case HLO_K_SYMBOL:
        if (!hlo_scan_symbol(ps, &text))
            return false;
        *out = hlo_attr_make_text(ps->g, name, text);
        return true;
    case HLO_K_DENSE:
        return hlo_parse_dense(ps, out);
    case HLO_K_DIMS:
        if (!hlo_scan_eat(ps, '#'))
            return hlo_parse_fail(ps, "expected dimension numbers");
        return parse_dims(ps, name, out);
    case HLO_K_RAW: {
        hlo_text raw;
        if (!hlo_scan_value_raw(ps, &raw))
            return false;
        *out = hlo_attr_make_text(ps->g, name, slice_copy(ps, raw));
        return true;
    }
    }
    return false;
}

/* #name on its own stands for what the module's head says it is. */
static const hlo_text *find_alias(hlo_parser *ps) {
    if (!hlo_scan_is(ps, '#'))
        return NULL;
    const char *before = ps->p++;
    hlo_text name = {NULL, 0};
    bool alone = hlo_scan_identifier(ps, &name) && !(ps->p < ps->end && *ps->p == '<');
    const char *after = ps->p;
    ps->p = before;
    for (int i = 0; alone && i < ps->n_aliases; i += 2)
        if (ps->aliases[i].n == name.n && !memcmp(ps->aliases[i].s, name.s, (size_t)name.n)) {
            ps->p = after;
            return &ps->aliases[i + 1];
        }
    return NULL;
}

static bool parse_aliased(hlo_parser *ps, hlo_attr_name name, const hlo_text *alias, hlo_attr *out) {
    const char *p = ps->p, *end = ps->end;
    ps->p = alias->s;
    ps->end = alias->s + alias->n;
    ps->alias_depth++;
    bool ok = parse_kind(ps, name, out);
    ps->alias_depth--;
    ps->p = p;
    ps->end = end;
    return ok;
}

static bool at_value_end(hlo_parser *ps, char close) {
    return hlo_scan_is(ps, ',') || hlo_scan_is(ps, close);
}

/* A known name whose value is not of its kind is kept as text, like an unknown one. */
static bool parse_value(hlo_parser *ps, hlo_attr_name name, const char *start, char close, hlo_attr *out) {
    const char *value = ps->p;
    if (name != HLO_ATTR_INVALID) {
        const hlo_text *alias = find_alias(ps);
        hlo_attr_kind kind = hlo_attr_name_kind(name);
        ps->quiet = kind != HLO_K_DENSE && kind != HLO_K_DIMS; /* those two no text can stand for */
        bool ok = alias ? parse_aliased(ps, name, alias, out) : parse_kind(ps, name, out);
        ok = ok && (at_value_end(ps, close) || hlo_parse_fail(ps, "expected ',' or '%c'", close));
        bool retry = !ok && ps->quiet;
        ps->quiet = false;
        if (!retry)
            return ok;
        ps->p = value;
    }
    hlo_text raw;
    if (!hlo_scan_value_raw(ps, &raw))
        return false;
    hlo_text whole = {start, (int)(raw.s + raw.n - start)};
    *out = hlo_attr_make_text(ps->g, HLO_A_UNKNOWN, slice_copy(ps, whole));
    return true;
}

/* "name" is the composite's; "value" is a constant's; elsewhere such words are anybody's. */
static hlo_attr_name name_for(hlo_op op, hlo_text text) {
    hlo_attr_name name = hlo_attr_name_find(text.s, text.n);
    if (name == HLO_A_COMPOSITE_NAME && op != HLO_COMPOSITE)
        return HLO_ATTR_INVALID;
    if (name == HLO_A_VALUE && op != HLO_CONSTANT && op != HLO_CHECK_EXPECT_EQ_CONST &&
        op != HLO_CHECK_EXPECT_ALMOST_EQ_CONST)
        return HLO_ATTR_INVALID;
    return name;
}

bool hlo_parse_attr_dict(hlo_parser *ps, hlo_op op, char close) {
    for (bool first = true; !hlo_scan_eat(ps, close); first = false) {
        if (!first && !hlo_scan_expect(ps, ','))
            return false;
        hlo_scan_space(ps);
        const char *start = ps->p;
        hlo_text text;
        char *quoted;
        if (hlo_scan_is(ps, '"')) {
            if (!hlo_scan_string(ps, &quoted))
                return false;
            text = (hlo_text){quoted, (int)strlen(quoted)};
        } else if (!hlo_scan_identifier(ps, &text)) {
            return hlo_parse_fail(ps, "expected an attribute name");
        }
        hlo_attr_name name = name_for(op, text);
        hlo_attr a;
        if (!hlo_scan_eat(ps, '=')) {
            if (name != HLO_ATTR_INVALID && hlo_attr_name_kind(name) == HLO_K_BOOL)
                a = hlo_attr_make_bool(name, true);
            else
                a = hlo_attr_make_text(ps->g, HLO_A_UNKNOWN,
                                       slice_copy(ps, (hlo_text){start, (int)(ps->p - start)}));
        } else if (!parse_value(ps, name, start, close, &a)) {
            return false;
        }
        if (ps->n_attrs > UINT16_MAX)
            return hlo_parse_fail(ps, "too many attributes");
        hlo_push_attr(ps, a);
    }
    return true;
}
