/* test_hlo_build.c - builders: inferred types, refused operands, folds, the comparators' meaning (run here,
 * on doubles), and the whole-graph edits: splice, inline, dead nodes, hash. */
#include "test.h"
#include "hlo_random.h"
#include <stdarg.h>

static tt_arena *arena;
static hlo_graph *g;

static void begin(void) {
    arena = tt_arena_create();
    g = samples_begin(arena, "test");
}

static void end(void) {
    CHECK_OK(hlo_graph_take_error(g));
    tt_arena_destroy(arena);
}

static hlo_ref param(tt_dtype d, int rank, ...) {
    hlo_type t = {.dtype = d, .rank = rank};
    va_list args;
    va_start(args, rank);
    for (int i = 0; i < rank; i++)
        t.dims[i] = va_arg(args, int);
    va_end(args);
    return hlo_param(g, &t);
}

static void check_type(hlo_ref r, const char *want) {
    CHECK(r && !g->error);
    CHECK_TEXT(r ? hlo_type_print(arena, hlo_type_of(g, r)) : "none", want);
}

/* The builder failed, saying this; the graph may be used again. */
static void check_error(hlo_ref r, const char *message) {
    CHECK(r == HLO_NONE);
    tt_status e = hlo_graph_take_error(g);
    CHECK(e != TT_OK);
    if (e && !strstr(tt_status_message(e), message)) {
        fprintf(stderr, "have: %s\nwant: %s\n", tt_status_message(e), message);
        CHECK(!"message");
    }
    tt_status_free(e);
}

static int count_nodes(const hlo_graph *graph) {
    return graph->funcs[0]->body->n_nodes;
}

TEST(types) {
    begin();
    hlo_ref x = param(TT_F32, 3, 2, 3, 4), y = param(TT_F32, 2, 4, 5), z = param(TT_C64, 1, 8);
    int64_t one = 1, d3[] = {4, 3, 2};
    check_type(hlo_add(g, x, x), "tensor<2x3x4xf32>");
    check_type(hlo_unary(g, HLO_ABS, z), "tensor<8xf32>");
    check_type(hlo_unary(g, HLO_IMAG, z), "tensor<8xf32>");
    check_type(hlo_compare(g, "LT", x, x), "tensor<2x3x4xi1>");
    check_type(hlo_reshape(g, x, 3, d3), "tensor<4x3x2xf32>");
    check_type(hlo_transpose(g, x, (int64_t[]){2, 0, 1}), "tensor<4x2x3xf32>");
    check_type(hlo_reduce(g, HLO_ADD, x, HLO_NONE, 1, &one), "tensor<2x4xf32>");
    check_type(hlo_reduce_keep(g, HLO_ADD, x, HLO_NONE, 1, &one), "tensor<2x1x4xf32>");
    check_type(hlo_slice(g, x, (int64_t[]){0, 0, 1}, (int64_t[]){2, 3, 4}, (int64_t[]){1, 2, 2}),
               "tensor<2x2x2xf32>");
    check_type(
        hlo_pad(g, y, hlo_scalar(g, TT_F32, 0), (int64_t[]){1, -2}, (int64_t[]){2, 0}, (int64_t[]){1, 0}),
        "tensor<10x3xf32>");
    check_type(hlo_matmul(g, param(TT_BF16, 3, 7, 2, 4), param(TT_BF16, 3, 7, 4, 5), 1, TT_F32, NULL),
               "tensor<7x2x5xf32>");
    check_type(hlo_convert(g, x, TT_PRED), "tensor<2x3x4xi1>");
    check_type(hlo_convert(g, z, TT_I32), "tensor<8xi32>");
    end();
}

TEST(bitcasts) {
    begin();
    hlo_ref x = param(TT_F32, 2, 3, 2);
    check_type(hlo_bitcast(g, x, TT_U32), "tensor<3x2xui32>");
    check_type(hlo_bitcast(g, x, TT_U16), "tensor<3x2x2xui16>");
    check_type(hlo_bitcast(g, x, TT_U64), "tensor<3xui64>");
    check_error(hlo_bitcast(g, param(TT_F32, 1, 3), TT_U64), "bitcast_convert");
    end();
}

TEST(errors) {
    begin();
    hlo_ref x = param(TT_F32, 2, 2, 3), y = param(TT_F32, 2, 3, 2), i = param(TT_I32, 2, 2, 3),
            p = param(TT_PRED, 2, 2, 3);
    check_error(hlo_add(g, x, y), "stablehlo.add: operands have types tensor<2x3xf32> and tensor<3x2xf32>");
    check_error(hlo_add(g, x, i), "must be equal");
    check_error(hlo_add(g, x, HLO_NONE), "no value");
    check_error(hlo_unary(g, HLO_SINE, i), "element type i32");
    check_error(hlo_binary(g, HLO_SHIFT_LEFT, x, x), "element type f32");
    check_error(hlo_binary(g, HLO_SUBTRACT, p, p), "element type i1");
    check_error(hlo_select(g, i, x, x), "predicate");
    check_error(hlo_reshape(g, x, 1, (int64_t[]){7}), "cannot become");
    check_error(hlo_transpose(g, x, (int64_t[]){0, 0}), "permutation");
    check_error(hlo_broadcast_to(g, x, 2, (int64_t[]){2, 4}), "does not broadcast");
    check_error(hlo_broadcast_to(g, x, 1, (int64_t[]){3}), "more dimensions");
    check_error(hlo_slice(g, x, (int64_t[]){0, 0}, (int64_t[]){2, 4}, NULL), "outside dimension 1");
    check_error(hlo_slice_dim(g, x, 2, 0, 1, 1), "outside rank");
    check_error(hlo_concatenate(g, 2, (hlo_ref[]){x, y}, 0), "differ outside dimension");
    check_error(hlo_reduce(g, HLO_ADD, x, HLO_NONE, 2, (int64_t[]){0, 0}), "repeat");
    check_error(hlo_reduce(g, HLO_DIVIDE, x, HLO_NONE, 1, (int64_t[]){0}), "no reduction");
    check_error(hlo_matmul(g, x, x, 0, TT_DTYPE_NONE, NULL), "contracting dims");
    check_error(hlo_dynamic_slice(g, x, (hlo_ref[]){x, x}, (int64_t[]){1, 1}), "not an integer scalar");
    check_error(hlo_cholesky(g, x, true), "square");
    check_error(hlo_iota(g, hlo_type_of(g, x), 2), "iota_dimension");
    check_error(hlo_param(g, &(hlo_type){.dtype = TT_F32, .rank = 2, .dims = {INT64_MAX, 2}}),
                "out of range");
    check_error(hlo_broadcast_in_dim(g, x, 17, (int64_t[17]){0}, (int64_t[]){0, 1}), "rank 17");
    /* the first error stays */
    hlo_add(g, x, y);
    hlo_unary(g, HLO_SINE, i);
    check_error(HLO_NONE, "stablehlo.add");
    end();
}

TEST(folds) {
    begin();
    hlo_ref x = param(TT_F32, 2, 2, 3), k = param(TT_I32, 1, 4), one = hlo_splat_like(g, x, 1),
            zero = hlo_splat_like(g, x, 0);
    int64_t same[] = {2, 3}, flat[] = {6};
    CHECK(hlo_reshape(g, x, 2, same) == x);
    CHECK(hlo_reshape(g, hlo_reshape(g, x, 1, flat), 2, same) == x);
    CHECK(hlo_transpose(g, x, (int64_t[]){0, 1}) == x);
    CHECK(hlo_transpose(g, hlo_transpose(g, x, (int64_t[]){1, 0}), (int64_t[]){1, 0}) == x);
    CHECK(hlo_broadcast_to(g, x, 2, same) == x);
    CHECK(hlo_slice(g, x, (int64_t[]){0, 0}, same, NULL) == x);
    CHECK(hlo_convert(g, x, TT_F32) == x);
    CHECK(hlo_concatenate(g, 1, &x, 0) == x);
    CHECK(hlo_mul(g, x, one) == x && hlo_mul(g, one, x) == x && hlo_div(g, x, one) == x &&
          hlo_sub(g, x, zero) == x);
    CHECK(hlo_add(g, x, zero) != x); /* -0 + 0 is +0 */
    CHECK(hlo_sub(g, x, hlo_splat_like(g, x, -0.0)) != x);
    CHECK(hlo_add(g, k, hlo_splat_like(g, k, 0)) == k);
    double v;
    hlo_ref wide = hlo_broadcast_to(g, hlo_scalar(g, TT_F32, 2.5), 2, same);
    CHECK(hlo_node_at(g, wide)->op == HLO_CONSTANT && hlo_constant_splat(g, wide, &v) && v == 2.5);
    hlo_ref narrow = hlo_convert(g, hlo_scalar(g, TT_F32, 0.1), TT_BF16);
    CHECK(hlo_constant_splat(g, narrow, &v) && v == 0.10009765625);
    CHECK(!hlo_constant_splat(g, hlo_convert(g, hlo_scalar(g, TT_F32, 1e9), TT_I16),
                              &v)); /* out of range: the device decides */
    CHECK(!hlo_constant_splat(g, hlo_convert(g, hlo_scalar_int(g, TT_I64, INT64_MAX), TT_F32),
                              &v)); /* would round twice */
    CHECK(hlo_constant_splat(g, hlo_convert(g, hlo_scalar_int(g, TT_I64, 300), TT_U8), &v) && v == 44);
    CHECK(hlo_constant_splat(g, hlo_min_value(g, hlo_type_of(g, k)), &v) && v == INT32_MIN);
    CHECK(hlo_constant_splat(g, hlo_min_value(g, hlo_type_of(g, x)), &v) && v == -INFINITY);
    hlo_type f8 = {.dtype = TT_F8E4M3FN};
    CHECK(hlo_constant_splat(g, hlo_max_value(g, &f8), &v) && v == 448);
    end();
}

/* ---- the meaning of comparators: blocks of scalars, run on doubles ---- */

static void run_block(const hlo_block *b, const double *args, double *out_results) {
    double *v = calloc(g->n_nodes, sizeof *v);
    for (int i = 0; i < b->n_params; i++)
        v[b->params[i]] = args[i];
    for (int i = 0; i < b->n_nodes; i++) {
        const hlo_node *n = hlo_node_at(g, b->nodes[i]);
        double a = v[n->operands[0]], c = n->n_operands > 1 ? v[n->operands[1]] : 0, r = 0;
        const char *direction = hlo_attr_text(n, HLO_A_COMPARISON_DIRECTION, "");
        switch ((int)n->op) {
        case HLO_COMPARE:
            r = !strcmp(direction, "LT")   ? a < c
                : !strcmp(direction, "GT") ? a > c
                : !strcmp(direction, "EQ") ? a == c
                : !strcmp(direction, "NE") ? a != c
                                           : NAN;
            break;
        case HLO_OR:
            r = a != 0 || c != 0;
            break;
        case HLO_AND:
            r = a != 0 && c != 0;
            break;
        case HLO_NOT:
            r = a == 0;
            break;
        case HLO_SELECT:
            r = a != 0 ? c : v[n->operands[2]];
            break;
        default:
            CHECK(!"an op that this test does not run");
        }
        v[b->nodes[i]] = r;
    }
    for (int i = 0; i < b->n_results; i++)
        out_results[i] = v[b->results[i]];
    free(v);
}

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

TEST(arg_reduction_means_what_pytorch_means) {
    const double pool[] = {NAN, -INFINITY, INFINITY, 0, 1, -1, 1, NAN};
    random_state r = {5};
    begin();
    hlo_ref x = param(TT_F32, 1, 6), value, index;
    for (int maximum = 0; maximum < 2; maximum++) {
        hlo_reduce_arg(g, maximum ? HLO_MAXIMUM : HLO_MINIMUM, x, 0, TT_I64, &value, &index);
        check_type(value, "tensor<f32>");
        check_type(index, "tensor<i64>");
        const hlo_block *region = hlo_node_at(g, hlo_node_at(g, value)->operands[0])->regions[0];
        for (int round = 0; round < 3000; round++) {
            double elements[6];
            int want = 0, order[6] = {0, 1, 2, 3, 4, 5};
            for (int i = 0; i < 6; i++) {
                elements[i] = pool[random_below(&r, 8)];
                bool better = maximum ? elements[i] > elements[want] : elements[i] < elements[want];
                if (!isnan(elements[want]) && (better || isnan(elements[i])))
                    want = i;
            }
            for (int i = 5; i > 0; i--) {
                int k = (int)random_below(&r, (uint32_t)i + 1), t = order[i];
                order[i] = order[k];
                order[k] = t;
            }
            /* any order, either side, and the start value anywhere: a device may do all that */
            double have[2] = {maximum ? -INFINITY : INFINITY, 0};
            for (int i = 0; i < 6; i++) {
                double element[2] = {elements[order[i]], order[i]}, args[4];
                bool left = random_below(&r, 2);
                memcpy(args, left ? have : element, sizeof have);
                memcpy(args + 2, left ? element : have, sizeof have);
                run_block(region, args, have);
            }
            CHECK(have[1] == want && same(have[0], elements[want]));
        }
    }
    end();
}

TEST(sort_order_is_pytorchs) {
    const double values[] = {-INFINITY, -1, -0.0, 0.0, 1, INFINITY, NAN};
    const int rank[] = {0, 1, 2, 2, 3, 4, 5};
    begin();
    hlo_ref x = param(TT_F32, 1, 6), out;
    for (int descending = 0; descending < 2; descending++) {
        hlo_sort(g, 1, &x, 0, descending, true, &out);
        const hlo_block *region = hlo_node_at(g, out)->regions[0];
        for (int i = 0; i < 7; i++)
            for (int k = 0; k < 7; k++) {
                double args[2] = {values[i], values[k]}, before;
                run_block(region, args, &before);
                CHECK(before == (descending ? rank[i] > rank[k] : rank[i] < rank[k]));
            }
    }
    end();
}

/* ---- edits ---- */

static hlo_graph *fragment(tt_arena *a) {
    hlo_graph *f = samples_begin(a, "fragment");
    hlo_type t = F32(2, 3);
    hlo_ref x = hlo_param(f, &t), p, inner, value;
    hlo_composite c = hlo_composite_begin(f, "tt.gelu", "tanh = true", 1, &x, &p);
    inner = hlo_unary(f, HLO_TANH, hlo_mul(f, p, p));
    hlo_composite_end(f, &c, 1, &inner, &value);
    hlo_ref pair[2];
    hlo_sort(f, 2, (hlo_ref[]){value, x}, 1, false, true, pair);
    hlo_return(f, 2, pair);
    return f;
}

TEST(splice) {
    begin();
    hlo_ref x = param(TT_F32, 2, 2, 3), r[2] = {x, x};
    for (int i = 0; i < 3; i++) {
        tt_arena *other =
            tt_arena_create(); /* the source goes before the window does; its memory may be the next one's */
        hlo_graph *f = fragment(other);
        CHECK_OK(hlo_graph_take_error(f));
        hlo_graph_splice(g, f, &r[0], r);
        tt_arena_destroy(other);
    }
    hlo_return(g, 2, r);
    CHECK_OK(hlo_graph_take_error(g));
    CHECK_OK(hlo_verify(g));
    CHECK(g->n_funcs == 2); /* one tt.gelu for all three */
    CHECK(count_nodes(g) == 6);
    end();
}

TEST(splice_keeps_different_functions) {
    begin();
    hlo_ref x = param(TT_F32, 2, 2, 3), r[2];
    tt_arena *other = tt_arena_create();
    hlo_graph *f = samples_begin(other, "other");
    hlo_type t = F32(2, 3);
    hlo_ref y = hlo_param(f, &t), p, inner, value;
    hlo_composite c = hlo_composite_begin(f, "tt.gelu", NULL, 1, &y, &p);
    inner = hlo_unary(f, HLO_CHLO_ERF, p);
    hlo_composite_end(f, &c, 1, &inner, &value);
    hlo_return(f, 1, &value);
    hlo_graph_splice(g, f, &x, r);
    hlo_graph_splice(g, fragment(other), &x, r);
    hlo_ref wrong = param(TT_F32, 1, 7);
    hlo_return(g, 1, r);
    CHECK_OK(hlo_verify(g));
    CHECK(g->n_funcs == 3);
    hlo_func_begin(g, "second", true);
    hlo_graph_splice(g, f, &wrong, r);
    check_error(r[0], "argument 0 of a fragment is not tensor<2x3xf32>");
    tt_arena_destroy(other);
    tt_arena_destroy(arena);
}

static bool keep_none(const char *name) {
    (void)name;
    return false;
}

static bool keep_gelu(const char *name) {
    return !strcmp(name, "tt.gelu");
}

TEST(inline_calls) {
    for (int keep = 0; keep < 2; keep++) {
        arena = tt_arena_create();
        g = fragment(arena);
        CHECK_OK(hlo_graph_take_error(g));
        CHECK_OK(hlo_inline(g, keep ? keep_gelu : keep_none));
        CHECK_OK(hlo_verify(g));
        CHECK(g->n_funcs == (keep ? 2 : 1));
        CHECK(count_nodes(g) == (keep ? 2 : 3));
        tt_arena_destroy(arena);
    }
    static const char text[] =
        "func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
        "  %0:2 = call @swap(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)\n"
        "  %1:2 = call @swap(%0#1, %0#0) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)\n"
        "  return %1#0, %1#1 : tensor<2xf32>, tensor<2xf32>\n}\n"
        "func.func private @swap(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
        "  %0 = call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>\n  return %b, %0 : tensor<2xf32>, "
        "tensor<2xf32>\n}\n"
        "func.func private @twice(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = stablehlo.add %a, %a : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n";
    arena = tt_arena_create();
    CHECK_OK(hlo_parse(arena, text, sizeof text - 1, &g));
    CHECK_OK(hlo_inline(g, NULL));
    CHECK_OK(hlo_verify(g));
    tt_str s = {0};
    hlo_print(g, &s);
    CHECK(strstr(
        s.data, "    %0 = \"stablehlo.add\"(%arg0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
                "    %1 = \"stablehlo.add\"(%0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
                "    return %arg0, %1 : tensor<2xf32>, tensor<2xf32>\n"));
    CHECK(g->n_funcs == 1);
    tt_str_deinit(&s);
    tt_arena_destroy(arena);
}

TEST(recursion_is_refused) {
    static const char text[] = "func.func @main() { call @f() : () -> ()\n return }\n"
                               "func.func private @f() { call @g() : () -> ()\n return }\n"
                               "func.func private @g() { call @f() : () -> ()\n return }\n";
    arena = tt_arena_create();
    CHECK_OK(hlo_parse(arena, text, sizeof text - 1, &g));
    hlo_graph_hash(g);
    tt_status e = hlo_inline(g, NULL);
    CHECK(e && strstr(tt_status_message(e), "calls itself"));
    tt_status_free(e);
    tt_arena_destroy(arena);
}

TEST(explosion_is_refused) {
    tt_str s = {0};
    tt_str_puts(&s, "func.func @main() { call @f0() : () -> ()\n return }\n");
    for (int i = 0; i < 60; i++)
        tt_str_printf(
            &s, "func.func private @f%d() { call @f%d() : () -> ()\n call @f%d() : () -> ()\n return }\n", i,
            i + 1, i + 1);
    tt_str_puts(&s, "func.func private @f60() { %0 = stablehlo.constant dense<1> : tensor<i32>\n return }\n");
    arena = tt_arena_create();
    CHECK_OK(hlo_parse(arena, s.data, s.length, &g));
    tt_status e = hlo_inline(g, NULL);
    CHECK(e && tt_status_code(e) == TT_RESOURCE_EXHAUSTED);
    tt_status_free(e);
    tt_str_deinit(&s);
    tt_arena_destroy(arena);
}

TEST(dead_nodes) {
    begin();
    hlo_ref x = param(TT_F32, 2, 2, 3), used = hlo_unary(g, HLO_TANH, x), unused = hlo_unary(g, HLO_EXP, x),
            pair[2], value;
    hlo_unary(g, HLO_LOG, unused);
    hlo_sort(g, 2, (hlo_ref[]){used, x}, 1, false, true, pair);
    hlo_custom_call(g, "quiet", NULL, false, 1, &x, 1, hlo_type_of(g, x), &value);
    hlo_custom_call(g, "loud", NULL, true, 1, &x, 1, hlo_type_of(g, x), &value);
    hlo_return(g, 1, &pair[1]);
    hlo_dce(g);
    CHECK(count_nodes(g) == 3); /* tanh, sort, loud */
    CHECK_OK(hlo_verify(g));
    end();
}

TEST(hashes) {
    tt_hash seen[64];
    for (int i = 0; i < 64; i++) {
        tt_arena *a = tt_arena_create();
        hlo_graph *first = random_graph(a, (uint64_t)i + 1, 30),
                  *again = random_graph(a, (uint64_t)i + 1, 30);
        again->name = "another name";
        seen[i] = hlo_graph_hash(first);
        CHECK(tt_hash_equal(seen[i], hlo_graph_hash(again)));
        for (int k = 0; k < i; k++)
            CHECK(!tt_hash_equal(seen[i], seen[k]));
        first->n_replicas = 2;
        CHECK(!tt_hash_equal(seen[i], hlo_graph_hash(first)));
        tt_arena_destroy(a);
    }
}

TEST(verify_finds) {
    begin();
    hlo_ref x = param(TT_F32, 1, 3), a = hlo_unary(g, HLO_TANH, x), b = hlo_unary(g, HLO_EXP, a);
    hlo_return(g, 1, &b);
    CHECK_OK(hlo_verify(g));
    hlo_block *body = g->funcs[0]->body;
    hlo_ref first = body->nodes[0];
    body->nodes[0] = body->nodes[1];
    body->nodes[1] = first;
    tt_status e = hlo_verify(g);
    CHECK(e && strstr(tt_status_message(e), "not defined before it"));
    tt_status_free(e);
    end();
}
