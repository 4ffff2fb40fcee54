/* parse_scan.c - the parser's bottom layer: characters, numbers, strings, SSA names and types.
 *
 * Names and types are looked up by hash, so a program costs time linear in its length. Never reads past end.
 */
#include "hlo/parse.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hlo_parse_fail(hlo_parser *ps, const char *format, ...) {
    if (ps->error || ps->quiet)
        return false;
    int line = 1, column = 1;
    const char *at = ps->alias_depth ? NULL : ps->p; /* inside an alias the cursor is elsewhere */
    for (const char *c = ps->text; at && c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ps->error = TT_ERROR(INVALID_ARGUMENT, "StableHLO text, line %d, column %d: %s", line, column, message);
    return false;
}

/* ---- characters ---- */

void hlo_scan_space_slow(hlo_parser *ps) {
    const char *p = ps->p, *end = ps->end;
    for (; p < end; p++) {
        if (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
            continue;
        if (*p != '/' || end - p < 2 || p[1] != '/')
            break;
        const char *line = memchr(p, '\n', (size_t)(end - p));
        p = line ? line : end - 1;
    }
    ps->p = p;
}

bool hlo_scan_eat_text(hlo_parser *ps, const char *text) {
    hlo_scan_space(ps);
    size_t n = strlen(text);
    if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, text, n))
        return false;
    ps->p += n;
    return true;
}

static bool word_characters[256];

__attribute__((constructor)) static void fill_word_characters(void) {
    for (int c = 0; c < 128; c++)
        word_characters[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                             c == '_' || c == '$' || c == '.';
}

static inline bool is_word(char c) {
    return word_characters[(unsigned char)c];
}

bool hlo_scan_eat_word(hlo_parser *ps, const char *word) {
    const char *before = ps->p;
    if (!hlo_scan_eat_text(ps, word))
        return false;
    if (ps->p < ps->end && is_word(*ps->p)) {
        ps->p = before;
        return false;
    }
    return true;
}

bool hlo_scan_expect(hlo_parser *ps, char c) {
    if (hlo_scan_eat(ps, c))
        return true;
    return hlo_parse_fail(ps, "expected '%c'", c);
}

bool hlo_scan_expect_text(hlo_parser *ps, const char *text) {
    if (hlo_scan_eat_text(ps, text))
        return true;
    return hlo_parse_fail(ps, "expected '%s'", text);
}

bool hlo_scan_identifier(hlo_parser *ps, hlo_text *out) {
    hlo_scan_space(ps);
    const char *s = ps->p;
    if (s >= ps->end || !is_word(*s) || (*s >= '0' && *s <= '9') || *s == '.')
        return false;
    while (ps->p < ps->end && is_word(*ps->p))
        ps->p++;
    *out = (hlo_text){s, (int)(ps->p - s)};
    return true;
}

bool hlo_text_is(hlo_text a, const char *text) {
    return (size_t)a.n == strlen(text) && !memcmp(a.s, text, (size_t)a.n);
}

bool hlo_scan_int(hlo_parser *ps, int64_t *out) {
    hlo_scan_space(ps);
    bool negative = ps->p < ps->end && *ps->p == '-';
    const char *p = ps->p + negative;
    if (p >= ps->end || *p < '0' || *p > '9')
        return hlo_parse_fail(ps, "expected an integer");
    uint64_t v = 0;
    bool overflow = false;
    for (; p < ps->end && *p >= '0' && *p <= '9'; p++)
        overflow |= __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    if (overflow || v > (uint64_t)INT64_MAX + negative)
        return hlo_parse_fail(ps, "integer does not fit 64 bits");
    ps->p = p;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool hlo_scan_string(hlo_parser *ps, char **out) {
    if (!hlo_scan_eat(ps, '"'))
        return hlo_parse_fail(ps, "expected a string");
    const char *s = ps->p;
    while (ps->p < ps->end && *ps->p != '"')
        ps->p += *ps->p == '\\' && ps->end - ps->p > 1 ? 2 : 1;
    if (ps->p >= ps->end)
        return hlo_parse_fail(ps, "string has no end");
    char *text = tt_arena_alloc(ps->g->arena, (size_t)(ps->p - s) + 1), *t = text;
    for (; s < ps->p; s++) {
        if (*s != '\\') {
            *t++ = *s;
            continue;
        }
        s++; /* in range: the loop above took two */
        int high = hex_digit(*s), low = s + 1 < ps->p ? hex_digit(s[1]) : -1;
        if (high >= 0 && low >= 0) {
            *t++ = (char)(high << 4 | low);
            s++;
        } else {
            *t++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
        }
    }
    ps->p++;
    *out = text;
    return true;
}

bool hlo_scan_symbol(hlo_parser *ps, char **out) {
    if (!hlo_scan_eat(ps, '@'))
        return hlo_parse_fail(ps, "expected a symbol (@name)");
    if (ps->p < ps->end && *ps->p == '"')
        return hlo_scan_string(ps, out);
    const char *s = ps->p;
    while (ps->p < ps->end && (is_word(*ps->p) || *ps->p == '-'))
        ps->p++;
    if (s == ps->p)
        return hlo_parse_fail(ps, "expected a name after @");
    char *text = tt_arena_alloc(ps->g->arena, (size_t)(ps->p - s) + 1);
    memcpy(text, s, (size_t)(ps->p - s));
    *out = text;
    return true;
}

/* Text that is kept as written, brackets balanced, up to a comma, a bracket that was open before, or the end
 * of the line. */
static bool scan_raw(hlo_parser *ps, bool line, hlo_text *out) {
    hlo_scan_space(ps);
    const char *s = ps->p;
    char close[128];
    int depth = 0;
    for (; ps->p < ps->end; ps->p++) {
        char c = *ps->p;
        if (c == '"') {
            for (ps->p++; ps->p < ps->end && *ps->p != '"'; ps->p++)
                ps->p += *ps->p == '\\' && ps->end - ps->p > 1;
            if (ps->p >= ps->end)
                return hlo_parse_fail(ps, "string has no end");
        } else if (c == '(' || c == '[' || c == '{' || c == '<') {
            if (depth == (int)sizeof close)
                return hlo_parse_fail(ps, "brackets are nested deeper than %d", (int)sizeof close);
            close[depth++] = c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : '>';
        } else if (c == '/' && ps->end - ps->p > 1 && ps->p[1] == '/' && !line) {
            return hlo_parse_fail(
                ps, "a comment inside a value"); /* printed on one line, it would swallow the rest */
        } else if (c == '-' && ps->end - ps->p > 1 && ps->p[1] == '>') {
            ps->p++;
        } else if (c == ')' || c == ']' || c == '}' || c == '>') {
            if (!depth)
                break;
            if (close[--depth] != c)
                return hlo_parse_fail(ps, "expected '%c'", close[depth]);
        } else if (!depth && c == (line ? '\n' : ',')) {
            break;
        }
    }
    if (depth)
        return hlo_parse_fail(ps, "expected '%c' before the end", close[depth - 1]);
    if (memchr(s, 0, (size_t)(ps->p - s)))
        return hlo_parse_fail(ps, "a zero byte inside a value");
    const char *e = ps->p;
    while (e > s && (e[-1] == ' ' || e[-1] == '\n' || e[-1] == '\t' || e[-1] == '\r'))
        e--;
    *out = (hlo_text){s, (int)(e - s)};
    return true;
}

bool hlo_scan_value_raw(hlo_parser *ps, hlo_text *out) {
    return scan_raw(ps, false, out);
}

bool hlo_scan_line_raw(hlo_parser *ps, hlo_text *out) {
    return scan_raw(ps, true, out);
}

bool hlo_scan_skip_loc(hlo_parser *ps) {
    const char *before = ps->p;
    if (!hlo_scan_eat_word(ps, "loc"))
        return true;
    if (!hlo_scan_eat(ps, '(')) {
        ps->p = before;
        return true;
    }
    hlo_text ignored;
    do {
        if (!hlo_scan_value_raw(ps, &ignored))
            return false;
    } while (hlo_scan_eat(ps, ','));
    return hlo_scan_expect(ps, ')');
}

void *hlo_parse_grow(void *data, int n, int *cap, size_t size) {
    if (n < *cap)
        return data;
    *cap = *cap ? *cap * 2 : 32;
    return tt_realloc(data, (size_t)*cap * size);
}

bool hlo_scan_int_list(hlo_parser *ps, int *out_n, int64_t **out_v) {
    int64_t *v = NULL;
    int n = 0, cap = 0;
    bool ok = hlo_scan_expect(ps, '[');
    while (ok && !hlo_scan_eat(ps, ']')) {
        ok = !n || hlo_scan_expect(ps, ',');
        v = hlo_parse_grow(v, n, &cap, sizeof *v);
        if (ok && hlo_scan_eat_word(ps, "true"))
            v[n++] = 1;
        else if (ok && hlo_scan_eat_word(ps, "false"))
            v[n++] = 0;
        else
            ok = ok && hlo_scan_int(ps, &v[n++]);
    }
    if (ok) {
        *out_n = n;
        *out_v = tt_arena_copy(ps->g->arena, v, sizeof *v * (size_t)n);
    }
    free(v);
    return ok;
}

/* ---- stacks ---- */

void hlo_push_ref(hlo_parser *ps, hlo_ref r) {
    ps->refs = hlo_parse_grow(ps->refs, ps->n_refs, &ps->cap_refs, sizeof *ps->refs);
    ps->refs[ps->n_refs++] = r;
}

void hlo_push_type(hlo_parser *ps, const hlo_type *t) {
    ps->types = hlo_parse_grow(ps->types, ps->n_types, &ps->cap_types, sizeof *ps->types);
    ps->types[ps->n_types++] = t;
}

void hlo_push_attr(hlo_parser *ps, hlo_attr a) {
    ps->attrs = hlo_parse_grow(ps->attrs, ps->n_attrs, &ps->cap_attrs, sizeof *ps->attrs);
    ps->attrs[ps->n_attrs++] = a;
}

void hlo_push_block(hlo_parser *ps, hlo_block *b) {
    ps->blocks = hlo_parse_grow(ps->blocks, ps->n_blocks, &ps->cap_blocks, sizeof *ps->blocks);
    ps->blocks[ps->n_blocks++] = b;
}

/* ---- SSA names ---- */

static uint32_t slice_hash(hlo_text s) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.s[i]) * 16777619u;
    return h ^ h >> 15;
}

static bool slice_equal(hlo_text a, hlo_text b) {
    return a.n == b.n && !memcmp(a.s, b.s, (size_t)a.n);
}

/* Inserted in order of definition, so that the last one in is never in the way of an older one's probing. */
static void rehash(hlo_parser *ps) {
    ps->n_slots = ps->n_slots ? ps->n_slots * 2 : 256;
    free(ps->slots);
    ps->slots = tt_calloc(ps->n_slots, sizeof *ps->slots);
    for (int i = 0; i < ps->n_names; i++) {
        uint32_t k = ps->names[i].hash & (ps->n_slots - 1);
        while (ps->slots[k])
            k = (k + 1) & (ps->n_slots - 1);
        ps->slots[k] = (uint32_t)i + 1;
    }
}

static uint32_t *find_slot(const hlo_parser *ps, hlo_text name, uint32_t hash) {
    uint32_t k = hash & (ps->n_slots - 1);
    while (ps->slots[k] &&
           (ps->names[ps->slots[k] - 1].hash != hash || !slice_equal(ps->names[ps->slots[k] - 1].text, name)))
        k = (k + 1) & (ps->n_slots - 1);
    return &ps->slots[k];
}

bool hlo_names_define(hlo_parser *ps, hlo_text name, hlo_ref first, uint32_t count) {
    if ((uint32_t)ps->n_names * 2 >= ps->n_slots)
        rehash(ps);
    uint32_t hash = slice_hash(name), *slot = find_slot(ps, name, hash);
    if (*slot)
        return hlo_parse_fail(ps, "%%%.*s is defined twice", name.n > 60 ? 60 : name.n, name.s);
    ps->names = hlo_parse_grow(ps->names, ps->n_names, &ps->cap_names, sizeof *ps->names);
    ps->names[ps->n_names++] = (hlo_name){name, hash, count, first};
    *slot = (uint32_t)ps->n_names;
    return true;
}

void hlo_names_pop(hlo_parser *ps, int n_names) {
    while (ps->n_names > n_names) {
        hlo_name *last = &ps->names[ps->n_names - 1];
        *find_slot(ps, last->text, last->hash) = 0;
        ps->n_names--;
    }
}

bool hlo_scan_value_name(hlo_parser *ps, hlo_text *out) {
    if (!hlo_scan_eat(ps, '%'))
        return hlo_parse_fail(ps, "expected a value (%%name)");
    const char *s = ps->p;
    while (ps->p < ps->end && (is_word(*ps->p) || *ps->p == '-'))
        ps->p++;
    if (s == ps->p)
        return hlo_parse_fail(ps, "expected a name after %%");
    *out = (hlo_text){s, (int)(ps->p - s)};
    return true;
}

bool hlo_parse_value(hlo_parser *ps, hlo_ref *out) {
    hlo_text name;
    int64_t index = 0;
    if (!hlo_scan_value_name(ps, &name))
        return false;
    if (ps->p < ps->end && *ps->p == '#') {
        ps->p++;
        if (!hlo_scan_int(ps, &index))
            return false;
    }
    uint32_t slot = ps->n_slots ? *find_slot(ps, name, slice_hash(name)) : 0;
    if (!slot)
        return hlo_parse_fail(ps, "%%%.*s is not defined before its use", name.n > 60 ? 60 : name.n, name.s);
    const hlo_name *found = &ps->names[slot - 1];
    if (index < 0 || index >= found->count)
        return hlo_parse_fail(ps, "%%%.*s has %u results", name.n > 60 ? 60 : name.n, name.s, found->count);
    *out = found->first + (hlo_ref)index;
    return true;
}

/* ---- types ---- */

/* After "tensor<": 2x3xf32> */
static bool parse_tensor(hlo_parser *ps, hlo_type *out) {
    *out = (hlo_type){.dtype = TT_DTYPE_NONE};
    hlo_scan_space(ps);
    while (ps->p < ps->end && ((*ps->p >= '0' && *ps->p <= '9') || *ps->p == '?' || *ps->p == '*')) {
        if (*ps->p == '?' || *ps->p == '*')
            return hlo_parse_fail(ps, "dynamic dimensions are not supported");
        if (out->rank == HLO_MAX_RANK)
            return hlo_parse_fail(ps, "rank is over %d", HLO_MAX_RANK);
        if (!hlo_scan_int(ps, &out->dims[out->rank++]) || !hlo_scan_expect(ps, 'x'))
            return false;
        hlo_scan_space(ps);
    }
    const char *s = ps->p;
    if (hlo_scan_eat_text(ps, "complex<")) {
        hlo_text part;
        if (!hlo_scan_identifier(ps, &part) || !hlo_scan_expect(ps, '>'))
            return hlo_parse_fail(ps, "expected complex<f32> or complex<f64>");
        out->dtype = hlo_text_is(part, "f32") ? TT_C64 : hlo_text_is(part, "f64") ? TT_C128 : TT_DTYPE_NONE;
    } else {
        hlo_text name;
        if (!hlo_scan_identifier(ps, &name))
            return hlo_parse_fail(ps, "expected an element type");
        out->dtype = tt_dtype_from_name(name.s, name.n);
    }
    if (out->dtype == TT_DTYPE_NONE) {
        int n = (int)(ps->p - s);
        ps->p = s;
        return hlo_parse_fail(ps, "element type '%.*s' is not supported", n > 40 ? 40 : n, s);
    }
    if (!hlo_scan_expect(ps, '>'))
        return false;
    if (!hlo_type_valid(out))
        return hlo_parse_fail(ps, "type %s is too large", hlo_type_print(ps->g->arena, out));
    return true;
}

static void cache_grow(hlo_parser *ps) {
    uint32_t old_cap = ps->cap_types_seen;
    hlo_cached_type *old = ps->types_seen;
    ps->cap_types_seen = old_cap ? old_cap * 2 : 128;
    ps->types_seen = tt_calloc(ps->cap_types_seen, sizeof *ps->types_seen);
    for (uint32_t i = 0; i < old_cap; i++) {
        if (!old[i].type)
            continue;
        uint32_t k = old[i].hash & (ps->cap_types_seen - 1);
        while (ps->types_seen[k].type)
            k = (k + 1) & (ps->cap_types_seen - 1);
        ps->types_seen[k] = old[i];
    }
    free(old);
}

/* The same text gives the same type: most types of a program are spelled many times. */
static bool parse_tensor_cached(hlo_parser *ps, const hlo_type **out) {
    const char *s = ps->p, *close = memchr(s, '>', (size_t)(ps->end - s));
    if (!close)
        return hlo_parse_fail(ps, "tensor type has no end");
    if (close + 1 < ps->end && close[1] == '>' && memchr(s, '<', (size_t)(close - s)))
        close++;
    hlo_text text = {s, (int)(close - s)};
    if (close - s > 400)
        return hlo_parse_fail(ps, "tensor type is too long");
    if (ps->n_types_seen * 2 >= ps->cap_types_seen)
        cache_grow(ps);
    uint32_t hash = slice_hash(text), k = hash & (ps->cap_types_seen - 1);
    for (; ps->types_seen[k].type; k = (k + 1) & (ps->cap_types_seen - 1)) {
        if (ps->types_seen[k].hash == hash && slice_equal(ps->types_seen[k].text, text)) {
            ps->p = close + 1;
            *out = ps->types_seen[k].type;
            return true;
        }
    }
    hlo_type t;
    if (!parse_tensor(ps, &t))
        return false;
    *out = hlo_type_keep(ps->g, &t);
    if (ps->p == close + 1) {
        ps->types_seen[k] = (hlo_cached_type){text, hash, *out};
        ps->n_types_seen++;
    }
    return true;
}

bool hlo_parse_type(hlo_parser *ps, const hlo_type **out) {
    if (hlo_scan_eat_text(ps, "tensor<"))
        return parse_tensor_cached(ps, out);
    if (hlo_scan_eat_text(ps, "!stablehlo.token")) {
        hlo_type token = {.dtype = TT_TOKEN};
        *out = hlo_type_keep(ps->g, &token);
        return true;
    }
    return hlo_parse_fail(ps, "expected a tensor type");
}
