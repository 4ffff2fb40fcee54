/* test_hlo_text.c - StableHLO text in and out: identity of print and parse on samples, random graphs and
 * (where TT_STABLEHLO_TESTDATA names them) conformance programs; pretty forms; messages; and mutated text,
 * which must fail in peace.
 *
 * TT_FUZZ: how many mutated texts (default 3000). TT_SEED: where the random numbers start. */
#include "test.h"
#include "hlo_random.h"
#include <dirent.h>
#include <time.h>

static char *print(const hlo_graph *g) {
    tt_str s = {0};
    hlo_print(g, &s);
    return tt_str_take(&s);
}

/* parse(print(g)) is g: same text, same hash, verified. */
static void check_identity(const hlo_graph *g, const char *name) {
    tt_arena *a = tt_arena_create();
    char *text = print(g);
    hlo_graph *back = NULL;
    tt_status e = hlo_parse(a, text, strlen(text), &back);
    if (!e)
        e = hlo_verify(back);
    if (e) {
        fprintf(stderr, "%s: %s\n%s\n", name, tt_status_text(e), text);
        CHECK(!"printed program fails");
        tt_status_free(e);
    } else {
        char *again = print(back);
        CHECK_TEXT(again, text);
        bool equal = tt_hash_equal(hlo_graph_hash(g), hlo_graph_hash(back));
        CHECK(equal);
        if (!equal)
            fprintf(stderr, "%s\n", text);
        free(again);
    }
    free(text);
    tt_arena_destroy(a);
}

TEST(identity_samples) {
    for (int i = 0;; i++) {
        tt_arena *a = tt_arena_create();
        hlo_graph *g = samples_make(a, i);
        tt_status e = g ? hlo_graph_take_error(g) : NULL;
        if (g && !e) {
            CHECK_OK(hlo_verify(g));
            check_identity(g, g->name);
        }
        tt_status_free(e);
        tt_arena_destroy(a);
        if (!g)
            break;
    }
}

TEST(identity_random) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        tt_arena *a = tt_arena_create();
        hlo_graph *g = random_graph(a, seed, 60);
        CHECK_OK(hlo_graph_take_error(g));
        CHECK_OK(hlo_verify(g));
        check_identity(g, "random graph");
        tt_arena_destroy(a);
    }
}

static char *read_file(const char *path, size_t *out_length) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *out_length = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*out_length + 1);
    *out_length = fread(text, 1, *out_length, f);
    text[*out_length] = 0;
    fclose(f);
    return text;
}

TEST(identity_conformance) {
    const char *folder = getenv("TT_STABLEHLO_TESTDATA");
    DIR *dir = folder ? opendir(folder) : NULL;
    if (!dir)
        return;
    int n = 0, unknown = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[4096];
        size_t length, program_length;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        char *text = strstr(entry->d_name, ".mlir") ? read_file(path, &length) : NULL;
        const char *cursor = text, *program;
        while (text && hlo_text_next(&cursor, text + length, &program, &program_length)) {
            tt_arena *a = tt_arena_create();
            hlo_graph *g = NULL;
            tt_status e = hlo_parse(a, program, program_length, &g);
            if (e && (strstr(tt_status_message(e), "is unknown") ||
                      strstr(tt_status_message(e), "has no function"))) {
                unknown++;
            } else {
                n++;
                if (!e)
                    e = hlo_verify(g);
                if (e)
                    fprintf(stderr, "%s: %s\n", path, tt_status_text(e));
                CHECK(!e);
                if (g && !e)
                    check_identity(g, path);
            }
            tt_status_free(e);
            tt_arena_destroy(a);
        }
        free(text);
    }
    closedir(dir);
    printf("conformance: %d programs, %d with unknown ops\n", n, unknown);
    CHECK(n > 100);
}

/* ---- pretty forms ---- */

/* The op of a one-op function, printed: what the pretty form came out as. */
static void check_pretty(const char *params, const char *statement, const char *result, const char *want) {
    char text[4096], line[4096] = "";
    snprintf(text, sizeof text, "func.func @main(%s) -> %s {\n  %s\n  return %%r : %s\n}\n", params, result,
             statement, result);
    tt_arena *a = tt_arena_create();
    hlo_graph *g = NULL;
    tt_status e = hlo_parse(a, text, strlen(text), &g);
    if (!e)
        e = hlo_verify(g);
    if (e) {
        fprintf(stderr, "%s\n%s\n", text, tt_status_text(e));
        CHECK(!"pretty form fails");
        tt_status_free(e);
    } else {
        char *printed = print(g), *last = strstr(printed, "    return"), *first = strstr(printed, "{\n    %");
        if (last && first)
            snprintf(line, sizeof line, "%.*s", (int)(last - first - 6), first + 6);
        while (*line && line[strlen(line) - 1] == '\n')
            line[strlen(line) - 1] = 0;
        CHECK_TEXT(line, want);
        free(printed);
    }
    tt_arena_destroy(a);
}

TEST(pretty) {
#define T "tensor<2x3xf32>"
    check_pretty("%a: " T ", %b: " T, "%r = stablehlo.add %a, %b : " T, T,
                 "%0 = \"stablehlo.add\"(%arg0, %arg1) : (" T ", " T ") -> " T);
    check_pretty("%a: " T ", %b: " T,
                 "%r = stablehlo.compare  LT, %a, %b,  FLOAT : (" T ", " T ") -> tensor<2x3xi1>",
                 "tensor<2x3xi1>",
                 "%0 = \"stablehlo.compare\"(%arg0, %arg1) {comparison_direction = "
                 "#stablehlo<comparison_direction LT>, "
                 "compare_type = #stablehlo<comparison_type FLOAT>} : (" T ", " T ") -> tensor<2x3xi1>");
    check_pretty("%a: " T, "%r = stablehlo.slice %a [0:2, 1:3:2] : (" T ") -> tensor<2x1xf32>",
                 "tensor<2x1xf32>",
                 "%0 = \"stablehlo.slice\"(%arg0) {start_indices = array<i64: 0, 1>, limit_indices = "
                 "array<i64: 2, 3>, "
                 "strides = array<i64: 1, 2>} : (" T ") -> tensor<2x1xf32>");
    check_pretty("%a: " T ", %p: tensor<2x3xi1>", "%r = stablehlo.select %p, %a, %a : tensor<2x3xi1>, " T, T,
                 "%0 = \"stablehlo.select\"(%arg1, %arg0, %arg0) : (tensor<2x3xi1>, " T ", " T ") -> " T);
    check_pretty(
        "%a: " T ", %b: tensor<3x4xf32>",
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : "
        "(" T ", tensor<3x4xf32>) -> tensor<2x4xf32>",
        "tensor<2x4xf32>",
        "%0 = \"stablehlo.dot_general\"(%arg0, %arg1) {dot_dimension_numbers = "
        "#stablehlo.dot<lhs_contracting_dimensions"
        " = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, "
        "#stablehlo<precision HIGHEST>]} : (" T ", tensor<3x4xf32>) -> tensor<2x4xf32>");
    check_pretty("%a: " T ", %z: tensor<f32>",
                 "%r = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] : (" T
                 ", tensor<f32>) -> tensor<2xf32>",
                 "tensor<2xf32>",
                 "%0 = \"stablehlo.reduce\"(%arg0, %arg1) ({\n    ^bb0(%arg2: tensor<f32>, %arg3: "
                 "tensor<f32>):\n      %1 = "
                 "\"stablehlo.maximum\"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n      "
                 "\"stablehlo.return\"(%1)"
                 " : (tensor<f32>) -> ()\n    }) {dimensions = array<i64: 1>} : (" T
                 ", tensor<f32>) -> tensor<2xf32>");
    check_pretty("%a: tensor<1x4x4x2xf32>, %w: tensor<3x3x2x5xf32>",
                 "%r = stablehlo.convolution(%a, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
                 "window = {stride = "
                 "[1, 1], pad = [[1, 1], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, "
                 "feature_group_count = "
                 "1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x4x4x5xf32>",
                 "tensor<1x4x4x5xf32>",
                 "%0 = \"stablehlo.convolution\"(%arg0, %arg1) {dimension_numbers = #stablehlo.conv<[b, 0, "
                 "1, f]x[0, 1, i, o]->"
                 "[b, 0, 1, f]>, window_strides = array<i64: 1, 1>, padding = dense<[[1, 1], [1, 1]]> : "
                 "tensor<2x2xi64>, "
                 "window_reversal = array<i1: false, true>, batch_group_count = 1 : i64, feature_group_count "
                 "= 1 : i64} : "
                 "(tensor<1x4x4x2xf32>, tensor<3x3x2x5xf32>) -> tensor<1x4x4x5xf32>");
    check_pretty(
        "%a: " T, "%r = stablehlo.reduce_precision %a, format = e5m10 : " T, T,
        "%0 = \"stablehlo.reduce_precision\"(%arg0) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (" T
        ") -> " T);
    check_pretty("%a: " T,
                 "%r = \"stablehlo.abs\"(%a) {foo.bar = [1, \"x}\"], unit} : (" T ") -> " T
                 " loc(\"x\"(#loc1))",
                 T, "%0 = \"stablehlo.abs\"(%arg0) {foo.bar = [1, \"x}\"], unit} : (" T ") -> " T);
#undef T
}

static void check_constant(const char *literal, const char *type, const char *want) {
    char statement[512], line[512];
    snprintf(statement, sizeof statement, "%%r = stablehlo.constant dense<%s> : %s", literal, type);
    snprintf(line, sizeof line, "%%0 = \"stablehlo.constant\"() {value = dense<%s> : %s} : () -> %s", want,
             type, type);
    check_pretty("", statement, type, line);
}

TEST(constants) {
    check_constant("1.0", "tensor<f32>", "1.000000e+00");
    check_constant("-0.0", "tensor<f32>", "-0.000000e+00");
    check_constant("0x7FC00000", "tensor<f32>", "0x7FC00000");
    check_constant("0xFF800000", "tensor<f32>", "0xFF800000");
    check_constant("0x3F800000", "tensor<f32>", "1.000000e+00");
    check_constant("3.40282347E+38", "tensor<f32>", "3.40282347e+38");
    check_constant("0.1", "tensor<f32>", "1.000000e-01");
    check_constant("0.1", "tensor<bf16>", "1.000977e-01");
    check_constant("0.1", "tensor<f64>", "1.000000e-01");
    check_constant("0.30000000000000004", "tensor<f64>", "3.0000000000000004e-01");
    check_constant("5e-324", "tensor<f64>", "4.940656e-324");
    check_constant("123456789012345678901234567890.0", "tensor<f64>", "1.2345678901234568e+29");
    check_constant("[true, false]", "tensor<2xi1>", "[true, false]");
    check_constant("[[1, -2], [3, 4]]", "tensor<2x2xi8>", "[[1, -2], [3, 4]]");
    check_constant("18446744073709551615", "tensor<ui64>", "18446744073709551615");
    check_constant("-9223372036854775808", "tensor<i64>", "-9223372036854775808");
    check_constant("\"0x000080400000A0C0\"", "tensor<2xf32>", "[4.000000e+00, -5.000000e+00]");
    check_constant("\"0x05\"", "tensor<3xi1>", "[true, false, true]");
    check_constant("(1.0,2.0)", "tensor<complex<f32>>", "(1.000000e+00, 2.000000e+00)");
    check_constant("[1, 1, 1]", "tensor<3xi32>", "1");
    check_constant("", "tensor<0x3xf32>", "");
    check_constant("448.0", "tensor<f8E4M3FN>", "4.480000e+02");
}

/* ---- failures ---- */

static void check_fails(const char *text, const char *message) {
    tt_arena *a = tt_arena_create();
    hlo_graph *g = NULL;
    tt_status e = hlo_parse(a, text, strlen(text), &g);
    if (!e)
        e = hlo_verify(g);
    CHECK(e && tt_status_code(e) == TT_INVALID_ARGUMENT);
    if (!strstr(tt_status_message(e), message)) {
        fprintf(stderr, "have: %s\nwant: %s\n", tt_status_message(e), message);
        CHECK(!"message");
    }
    tt_status_free(e);
    tt_arena_destroy(a);
}

TEST(messages) {
    check_fails("", "no function");
    check_fails("module {", "expected func.func");
    check_fails("func.func @main() {\n  %0 = stablehlo.foo : tensor<f32>\n}",
                "line 2, column 8: op 'stablehlo.foo' is unknown");
    check_fails("func.func @main() {\n  %0 = stablehlo.abs %x : tensor<f32>\n}", "%x is not defined");
    check_fails("func.func @main(%a: tensor<?xf32>) {\n  return\n}", "dynamic dimensions");
    check_fails("func.func @main(%a: tensor<2xq8>) {\n  return\n}", "element type 'q8'");
    check_fails("func.func @main(%a: tensor<2xf32>, %a: tensor<2xf32>) {\n  return\n}", "defined twice");
    check_fails("func.func @main(%a: tensor<99999999999x99999999999xf32>) {\n  return\n}", "too large");
    check_fails("func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n  return %a : tensor<3xf32>\n}",
                "has type tensor<2xf32>");
    check_fails("func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n  return %a : tensor<2xf32>\n}",
                "its type says");
    check_fails("func.func @main(%a: tensor<2xf32>) {\n  %0 = stablehlo.reshape %a : (tensor<2xf32>) -> "
                "tensor<3xf32>\n  return\n}",
                "stablehlo.reshape: tensor<2xf32> cannot become tensor<3xf32>");
    check_fails("func.func @main() {\n  %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>\n  return\n}",
                "expected ','");
    check_fails("func.func @main() {\n  %0 = stablehlo.constant dense<\"0x00\"> : tensor<3xi32>\n  return\n}",
                "1 bytes");
    check_fails("func.func @main() { call @f() : () -> ()\n return }", "'f' does not exist");
    check_fails("func.func @f() { return }\nfunc.func @f() { return }", "defined twice");
}

TEST(nesting_is_bounded) {
    tt_str s = {0};
    tt_str_puts(&s, "func.func @main(%p: tensor<i1>) {\n");
    for (int i = 0; i < 5000; i++)
        tt_str_puts(&s, "\"stablehlo.if\"(%p) ({\n");
    check_fails(s.data, "nested deeper");
    s.length = 0;
    tt_str_puts(&s, "func.func @main(%p: tensor<i1>) {\n\"stablehlo.abs\"(%p) {x = ");
    for (int i = 0; i < 5000; i++)
        tt_str_puts(&s, "[");
    check_fails(s.data, "nested deeper");
    s.length = 0;
    for (int i = 0; i < 5000; i++)
        tt_str_printf(&s,
                      "func.func %s @f%d() { call @f%d() : () -> ()\n call @f%d() : () -> ()\n return }\n",
                      i ? "private" : "public", i, i + 1, i + 1);
    tt_str_puts(&s, "func.func private @f5000() { return }\n");
    tt_arena *a = tt_arena_create();
    hlo_graph *g = NULL;
    CHECK_OK(hlo_parse(a, s.data, s.length, &g));
    if (g) {
        hlo_graph_hash(g);
        tt_status e = hlo_inline(g, NULL);
        CHECK(e && strstr(tt_status_message(e), "nested deeper"));
        tt_status_free(e);
    }
    tt_arena_destroy(a);
    tt_str_deinit(&s);
}

/* ---- mutated text ---- */

static void mutate(random_state *r, tt_str *s) {
    static const char *const pieces[] = {"%0",
                                         "#1",
                                         "{",
                                         "}",
                                         "(",
                                         ")",
                                         "<",
                                         ">",
                                         "dense<",
                                         "tensor<",
                                         ": ",
                                         "->",
                                         "\"",
                                         "array<i64: ",
                                         "stablehlo.while",
                                         "\"stablehlo.reduce\"",
                                         "-1",
                                         "99999999999999999999",
                                         "0x",
                                         "e5",
                                         ",",
                                         "[[",
                                         "]]",
                                         "func.func",
                                         "^bb0(",
                                         "loc(",
                                         "#stablehlo.gather<",
                                         "1:2:3",
                                         "complex<",
                                         "\\"};
    int edits = 1 + (int)random_below(r, 4);
    for (int i = 0; i < edits && s->length > 2; i++) {
        size_t at = random_below(r, (uint32_t)s->length), n = random_below(r, 20);
        size_t from = random_below(r, (uint32_t)s->length);
        if (at + n > s->length)
            n = s->length - at;
        tt_str out = {0};
        tt_str_append(&out, s->data, at);
        switch (random_below(r, 6)) {
        case 0: /* drop */
            break;
        case 1: /* a random byte */
            tt_str_append(&out, (char[]){(char)random_below(r, 256)}, 1);
            break;
        case 2: { /* a piece of syntax */
            const char *piece = pieces[random_below(r, sizeof pieces / sizeof *pieces)];
            tt_str_puts(&out, piece);
            n = random_below(r, 2) ? n : 0;
            break;
        }
        case 3: /* twice */
            tt_str_append(&out, s->data + at, n);
            n = 0;
            break;
        case 4: /* from elsewhere */
            tt_str_append(&out, s->data + from, from + n > s->length ? s->length - from : n);
            break;
        case 5: /* another digit */
            if (s->data[at] >= '0' && s->data[at] <= '9') {
                tt_str_append(&out, (char[]){(char)('0' + random_below(r, 10))}, 1);
                n = 1;
            }
            break;
        }
        tt_str_append(&out, s->data + at + n, s->length - at - n);
        if (random_below(r, 40) == 0)
            out.length = random_below(r, (uint32_t)out.length + 1);
        tt_str_deinit(s);
        *s = out;
    }
}

/* Whatever parses and verifies must survive everything else that is done with programs. */
static bool exercise(const char *text, size_t length) {
    char *exact = malloc(length ? length : 1); /* no NUL, no slack: reads past the end are seen */
    memcpy(exact, text, length);
    tt_arena *a = tt_arena_create();
    hlo_graph *g = NULL;
    tt_status e = hlo_parse(a, exact, length, &g);
    CHECK(!e == !!g);
    bool good = false;
    if (!e)
        e = hlo_verify(g);
    if (!e) {
        good = true;
        check_identity(g, "mutated program");
        hlo_graph *copy = hlo_graph_create(a, "copy");
        hlo_func_begin(copy, "main", true);
        const hlo_block *body = g->funcs[0]->body;
        hlo_ref args[256], results[256];
        if (body->n_params < 256 && body->n_results < 256) {
            for (int i = 0; i < body->n_params; i++)
                args[i] = hlo_param(copy, hlo_type_of(g, body->params[i]));
            hlo_graph_splice(copy, g, args, results);
            hlo_return(copy, body->n_results, results);
            tt_status spliced = hlo_graph_take_error(copy);
            if (!spliced)
                CHECK_OK(hlo_verify(copy));
            tt_status_free(spliced);
        }
        e = hlo_inline(g, NULL);
        if (!e) {
            CHECK_OK(hlo_verify(g));
            hlo_dce(g);
            CHECK_OK(hlo_verify(g));
        }
    }
    tt_status_free(e);
    tt_arena_destroy(a);
    free(exact);
    return good;
}

static const char seeds_text[] =
    "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
    "  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<i32>) -> "
    "(tensor<2x3xf32>, "
    "tensor<i32>) {\n"
    "    %c = stablehlo.constant dense<[[1.0, 2.0, 0x7FC00000], [4.0, -5.5e3, 6.0]]> : tensor<2x3xf32>\n"
    "    %0:2 = stablehlo.while(%i = %arg1, %x = %arg0) : tensor<i32>, tensor<2x3xf32>\n"
    "     cond {\n      %k = stablehlo.constant dense<5> : tensor<i32>\n      %p = stablehlo.compare LT, %i, "
    "%k, SIGNED : "
    "(tensor<i32>, tensor<i32>) -> tensor<i1>\n      stablehlo.return %p : tensor<i1>\n    } do {\n"
    "      %y = stablehlo.add %x, %c : tensor<2x3xf32>\n      %j = stablehlo.add %i, %i : tensor<i32>\n"
    "      stablehlo.return %j, %y : tensor<i32>, tensor<2x3xf32>\n    }\n"
    "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %1 = stablehlo.reduce(%0#1 init: %z) applies stablehlo.add across dimensions = [0, 1] : "
    "(tensor<2x3xf32>, tensor<f32>) -> "
    "tensor<f32>\n"
    "    %2 = call @f(%0#1, %1) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>\n"
    "    %3 = stablehlo.composite \"tt.g\" %2, %1 {composite_attributes = {a = 1 : i64}, decomposition = @f} "
    ": (tensor<2x3xf32>, "
    "tensor<f32>) -> tensor<2x3xf32>\n"
    "    %4 = stablehlo.dot_general %3, %c, batching_dims = [0] x [0], contracting_dims = [1] x [1], "
    "precision = [DEFAULT, DEFAULT] : "
    "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>\n"
    "    %5 = stablehlo.slice %4 [0:2:1] : (tensor<2xf32>) -> tensor<2xf32>\n"
    "    return %3, %0#0 : tensor<2x3xf32>, tensor<i32>\n  }\n"
    "  func.func private @f(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> tensor<2x3xf32> {\n"
    "    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x3xf32>\n"
    "    %1 = stablehlo.multiply %arg0, %0 : tensor<2x3xf32> loc(\"here\")\n    return %1 : "
    "tensor<2x3xf32>\n  }\n}\n";

TEST(mutations) {
    const char *count = getenv("TT_FUZZ"), *start = getenv("TT_SEED");
    long n = count ? atol(count) : 3000, good = 0;
    random_state r = {start ? strtoull(start, NULL, 10) : 12345};
    CHECK(exercise(seeds_text, sizeof seeds_text - 1));
    char *texts[N_SAMPLES + 1];
    for (int i = 0; i < N_SAMPLES; i++) {
        tt_arena *a = tt_arena_create();
        texts[i] = print(samples_make(a, i));
        tt_arena_destroy(a);
    }
    texts[N_SAMPLES] = strdup(seeds_text);
    for (long i = 0; i < n; i++) {
        tt_str s = {0};
        uint32_t which = random_below(&r, 2) ? N_SAMPLES : random_below(&r, N_SAMPLES + 1);
        tt_str_puts(&s, texts[which]);
        mutate(&r, &s);
        good += exercise(s.data ? s.data : "", s.length);
        tt_str_deinit(&s);
    }
    for (int i = 0; i <= N_SAMPLES; i++)
        free(texts[i]);
    CHECK(good > n / 100 && good < n);
}

/* ---- speed ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Reported, not judged: machines differ. TT_SPEED=1 prints microseconds a node. */
TEST(speed) {
    if (!getenv("TT_SPEED"))
        return;
    tt_arena *a = tt_arena_create();
    hlo_graph *g = random_graph(a, 7, 20000);
    CHECK_OK(hlo_graph_take_error(g));
    double n = g->n_nodes, t0 = now();
    char *text = print(g);
    double t1 = now();
    hlo_graph *back = NULL;
    CHECK_OK(hlo_parse(a, text, strlen(text), &back));
    double t2 = now();
    CHECK_OK(hlo_verify(back));
    double t3 = now();
    hlo_graph_hash(back);
    double t4 = now();
    hlo_dce(back);
    double t5 = now();
    printf("%.0f nodes, %zu bytes of text; us a node: print %.2f, parse %.2f, verify %.2f, hash %.2f, dce "
           "%.2f\n",
           n, strlen(text), (t1 - t0) / n * 1e6, (t2 - t1) / n * 1e6, (t3 - t2) / n * 1e6,
           (t4 - t3) / n * 1e6, (t5 - t4) / n * 1e6);
    free(text);
    tt_arena_destroy(a);
}
