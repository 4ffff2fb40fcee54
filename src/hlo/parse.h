/* parse.h - the parser's state and what its files share.
 *
 * Scannerless: one cursor over the text, no token stream. Functions return false on failure, with the error
 * recorded once. */
#ifndef HLO_PARSE_H
#define HLO_PARSE_H
#include "hlo/internal.h"

typedef struct hlo_text {
    const char *s;
    int n;
} hlo_text;

/* A name in scope: %name with count results, first, first + 1 ... */
typedef struct hlo_name {
    hlo_text text;
    uint32_t hash, count;
    hlo_ref first;
} hlo_name;

typedef struct hlo_cached_type {
    hlo_text text;
    uint32_t hash;
    const hlo_type *type;
} hlo_cached_type;

typedef struct hlo_parser {
    const char *text, *p, *end;
    hlo_graph *g;
    tt_status error;
    int depth, alias_depth;
    bool quiet; /* a failure is no error yet: something else will be tried */

    hlo_name *names; /* in order of definition; scopes pop from the end */
    int n_names, cap_names;
    uint32_t *slots, n_slots; /* open addressing: index into names + 1 */

    hlo_cached_type *types_seen; /* open addressing; text -> type */
    uint32_t n_types_seen, cap_types_seen;

    /* stacks shared by nested ops: each op works from where it found the top */
    hlo_ref *refs;
    int n_refs, cap_refs;
    const hlo_type **types;
    int n_types, cap_types;
    hlo_attr *attrs;
    int n_attrs, cap_attrs;
    hlo_block **blocks;
    int n_blocks, cap_blocks;

    hlo_name *pending;
    int n_pending, cap_pending; /* names to the left of '=' */
    hlo_text *aliases;
    int n_aliases, cap_aliases; /* name, value, name, value ... of #name = value */
} hlo_parser;

/* ---- parse_scan.c: characters, numbers, names, types ---- */
bool hlo_parse_fail(hlo_parser *ps, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hlo_scan_space_slow(hlo_parser *ps);
/* Past blanks and comments. */
static inline void hlo_scan_space(hlo_parser *ps) {
    if (ps->p < ps->end && (*ps->p <= ' ' || *ps->p == '/'))
        hlo_scan_space_slow(ps);
}
/* The next character, after space, is c; it is not taken. */
static inline bool hlo_scan_is(hlo_parser *ps, char c) {
    hlo_scan_space(ps);
    return ps->p < ps->end && *ps->p == c;
}
static inline bool hlo_scan_eat(hlo_parser *ps, char c) {
    if (!hlo_scan_is(ps, c))
        return false;
    ps->p++;
    return true;
}
bool hlo_scan_eat_text(hlo_parser *ps, const char *text); /* punctuation such as "->" */
bool hlo_scan_eat_word(hlo_parser *ps, const char *word); /* a whole identifier */
bool hlo_scan_expect(hlo_parser *ps, char c);
bool hlo_scan_expect_text(hlo_parser *ps, const char *text);
bool hlo_scan_identifier(hlo_parser *ps, hlo_text *out); /* letters digits _ $ . - no failure recorded */
bool hlo_scan_int(hlo_parser *ps, int64_t *out);
bool hlo_scan_string(hlo_parser *ps, char **out);       /* "..." with escapes decoded, arena copy */
bool hlo_scan_symbol(hlo_parser *ps, char **out);       /* @name or @"name" */
bool hlo_scan_value_raw(hlo_parser *ps, hlo_text *out); /* up to a , } > ) ] : of this level */
bool hlo_scan_line_raw(hlo_parser *ps,
                       hlo_text *out);  /* up to the end of a line on which no bracket is open */
bool hlo_scan_skip_loc(hlo_parser *ps); /* loc(...), if there */
bool hlo_scan_int_list(hlo_parser *ps, int *out_n, int64_t **out_v); /* [1, 2]; also [true, false] */
bool hlo_parse_type(hlo_parser *ps, const hlo_type **out);
bool hlo_text_is(hlo_text a, const char *text);

bool hlo_names_define(hlo_parser *ps, hlo_text name, hlo_ref first, uint32_t count);
void hlo_names_pop(hlo_parser *ps, int n_names);
bool hlo_parse_value(hlo_parser *ps, hlo_ref *out);      /* %name or %name#1 */
bool hlo_scan_value_name(hlo_parser *ps, hlo_text *out); /* %name, without # part */

void *hlo_parse_grow(void *data, int n, int *cap, size_t size);
void hlo_push_ref(hlo_parser *ps, hlo_ref r);
void hlo_push_type(hlo_parser *ps, const hlo_type *t);
void hlo_push_attr(hlo_parser *ps, hlo_attr a);
void hlo_push_block(hlo_parser *ps, hlo_block *b);

/* ---- parse_attr.c ---- */
bool hlo_parse_attr_dict(hlo_parser *ps, hlo_op op, char close); /* after the opening brace; pushes attrs */
bool hlo_parse_dense(hlo_parser *ps, hlo_attr *out);             /* dense<...> : type; name VALUE */
bool hlo_parse_conv_dims(hlo_parser *ps, hlo_attr *out);         /* [b, 0, f]x[0, i, o]->[b, 0, f] */
bool hlo_parse_enum_word(hlo_parser *ps, hlo_attr_name name, hlo_attr *out); /* FFT */
bool hlo_parse_enum_list(hlo_parser *ps, hlo_attr_name name,
                         hlo_attr *out); /* [DEFAULT, HIGH] or [#stablehlo<precision HIGH>] */

/* ---- parse.c ---- */
typedef struct hlo_frame {
    int refs, types, attrs, blocks;
} hlo_frame; /* tops of the stacks where an op began */
/* { statements }: into b. The names it defines, and its parameters defined since names_before, end with it.
 */
bool hlo_parse_body(hlo_parser *ps, hlo_block *b, int names_before);
bool hlo_parse_param(hlo_parser *ps, hlo_block *b, hlo_text name, const hlo_type *type);
bool hlo_parse_operands(hlo_parser *ps, char close); /* %a, %b close; pushes refs */
bool hlo_parse_type_tail(hlo_parser *ps, hlo_op op,
                         hlo_frame f); /* : types; checks operands, pushes the result types */

/* ---- parse_pretty.c ---- */
bool hlo_parse_pretty(hlo_parser *ps, hlo_op op, hlo_frame f); /* after the op's name: fills the stacks */
#endif
