/* test_programs.c - what a plugin makes of programs: control flow, work in place, and random programs against plain arithmetic.
 *
 * TT_TEST_PLUGIN=path ./test_programs [name ...], as test_pjrt.c. */
#include "pjrt_test.h"
#include <math.h>

/* ---- control flow, in-place updates ---- */
TEST(while_loops) {
    setup();
    /* carries: counter, a buffer updated in place at the counter, a pair that swaps, an accumulator that uses
     * an outer value */
    tt_pjrt_loaded *l = compile(
        "module { func.func @main(%n: tensor<i32>, %x: tensor<8xf32>, %k: tensor<f32>) -> (tensor<i32>, "
        "tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) {\n"
        " %zero = stablehlo.constant dense<0> : tensor<i32>\n %f0 = stablehlo.constant dense<0.0> : "
        "tensor<f32>\n %f1 = stablehlo.constant dense<1.0> : tensor<f32>\n"
        " %r:5 = \"stablehlo.while\"(%zero, %x, %f0, %f1, %f0) ({\n ^bb0(%i: tensor<i32>, %b: tensor<8xf32>, "
        "%p: tensor<f32>, %q: tensor<f32>, %s: tensor<f32>):\n"
        "  %c = \"stablehlo.compare\"(%i, %n) {comparison_direction = #stablehlo<comparison_direction LT>} : "
        "(tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  \"stablehlo.return\"(%c) : (tensor<i1>) -> ()\n }, {\n ^bb0(%i: tensor<i32>, %b: tensor<8xf32>, "
        "%p: tensor<f32>, %q: tensor<f32>, %s: tensor<f32>):\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n  %j = stablehlo.add %i, %one : tensor<i32>\n"
        "  %v = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>\n  %w = stablehlo.reshape %v : "
        "(tensor<f32>) -> tensor<1xf32>\n"
        "  %u = \"stablehlo.dynamic_update_slice\"(%b, %w, %i) : (tensor<8xf32>, tensor<1xf32>, tensor<i32>) "
        "-> tensor<8xf32>\n"
        "  %t = stablehlo.add %s, %k : tensor<f32>\n"
        "  \"stablehlo.return\"(%j, %u, %q, %p, %t) : (tensor<i32>, tensor<8xf32>, tensor<f32>, tensor<f32>, "
        "tensor<f32>) -> ()\n"
        " }) : (tensor<i32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<i32>, "
        "tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>)\n"
        " return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<i32>, tensor<8xf32>, tensor<f32>, tensor<f32>, "
        "tensor<f32> } }");
    if (!l)
        return;
    for (int n = 0; n < 7; n++) {
        int32_t trips = n, i = -1;
        float x[8] = {9, 9, 9, 9, 9, 9, 9, 9}, k = .5f, r[8], p = -1, q = -1, s = -1;
        tt_pjrt_buffer *in[3] = {put_on(0, TT_PJRT_TYPE_S32, 0, NULL, NULL, 0, &trips), put_f32(8, x),
                                 put_on(0, TT_PJRT_TYPE_F32, 0, NULL, NULL, 0, &k)},
                       *out[5];
        if (!run(l, 3, in, out))
            break;
        CHECK(get(out[0], &i, 4) && i == n);
        CHECK(get(out[1], r, 32));
        for (int e = 0; e < 8; e++)
            CHECK(r[e] == (e < n ? (float)e : 9));
        CHECK(get(out[2], &p, 4) && get(out[3], &q, 4) && p == (float)(n % 2) && q == (float)(1 - n % 2));
        CHECK(get(out[4], &s, 4) && s == .5f * (float)n);
        CHECK(get(in[1], r, 32) && !memcmp(r, x, 32)); /* the argument is not touched */
        for (int e = 0; e < 5; e++)
            drop(out[e]);
        for (int e = 0; e < 3; e++)
            drop(in[e]);
    }
    loaded_destroy(l);
}

TEST(branches) {
    setup();
    tt_pjrt_loaded *l =
        compile("module { func.func @main(%c: tensor<i1>, %i: tensor<i32>, %x: tensor<4xf32>) -> "
                "(tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {\n"
                " %y = stablehlo.add %x, %x : tensor<4xf32>\n"
                " %r:2 = \"stablehlo.if\"(%c) ({\n  %m = stablehlo.multiply %y, %x : tensor<4xf32>\n  "
                "\"stablehlo.return\"(%m, %x) : (tensor<4xf32>, tensor<4xf32>) -> ()\n }, {\n"
                "  \"stablehlo.return\"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> ()\n }) : (tensor<i1>) "
                "-> (tensor<4xf32>, tensor<4xf32>)\n"
                " %s = \"stablehlo.case\"(%i) ({\n  \"stablehlo.return\"(%x) : (tensor<4xf32>) -> ()\n }, "
                "{\n  \"stablehlo.return\"(%y) : (tensor<4xf32>) -> ()\n }, {\n"
                "  %z = stablehlo.subtract %x, %y : tensor<4xf32>\n  \"stablehlo.return\"(%z) : "
                "(tensor<4xf32>) -> ()\n }) : (tensor<i32>) -> tensor<4xf32>\n"
                " return %r#0, %r#1, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> } }");
    if (!l)
        return;
    float x[4] = {1, -2, 3, 5}, r[4];
    for (int k = -1; k < 5; k++) {
        uint8_t c = k & 1;
        int32_t index = k;
        tt_pjrt_buffer *in[3] = {put_on(0, TT_PJRT_TYPE_PRED, 0, NULL, NULL, 0, &c),
                                 put_on(0, TT_PJRT_TYPE_S32, 0, NULL, NULL, 0, &index), put_f32(4, x)},
                       *out[3];
        if (!run(l, 3, in, out))
            break;
        CHECK(get(out[0], r, 16) && r[1] == (c ? 8 : -2));
        CHECK(get(out[1], r, 16) && r[1] == (c ? -2 : -4));
        CHECK(get(out[2], r, 16) && r[1] == (k == 0 ? -2 : k == 1 ? -4 : 2));
        for (int e = 0; e < 3; e++)
            drop(out[e]), drop(in[e]);
    }
    loaded_destroy(l);
}

TEST(updates_of_donated_arguments_are_in_place) {
    setup();
    tt_pjrt_loaded *l =
        compile("module { func.func @main(%c: tensor<64x32xf32> {tf.aliasing_output = 0 : i32}, %u: "
                "tensor<1x32xf32>, %i: tensor<i32>) -> tensor<64x32xf32> {\n"
                " %z = stablehlo.constant dense<0> : tensor<i32>\n"
                " %0 = \"stablehlo.dynamic_update_slice\"(%c, %u, %i, %z) : (tensor<64x32xf32>, "
                "tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<64x32xf32>\n"
                " return %0 : tensor<64x32xf32> } }");
    if (!l)
        return;
    float cache[64 * 32] = {0}, row[32], r[64 * 32];
    int64_t dims[2] = {64, 32}, row_dims[2] = {1, 32};
    tt_pjrt_buffer *c = put_on(0, TT_PJRT_TYPE_F32, 2, dims, NULL, 0, cache);
    void *at = pointer_of(c);
    for (int32_t i = 0; i < 70; i += 23) {
        for (int k = 0; k < 32; k++)
            row[k] = (float)(i * 100 + k);
        memcpy(cache + (i < 63 ? i : 63) * 32, row, 128);
        tt_pjrt_buffer *in[3] = {c, put_on(0, TT_PJRT_TYPE_F32, 2, row_dims, NULL, 0, row),
                                 put_on(0, TT_PJRT_TYPE_S32, 0, NULL, NULL, 0, &i)},
                       *out[1];
        CHECK(run(l, 3, in, out));
        for (int k = 0; k < 3; k++)
            drop(in[k]);
        c = out[0];
        CHECK(!in_place() || pointer_of(c) == at);
    }
    CHECK(get(c, r, sizeof r) && !memcmp(r, cache, sizeof r));
    drop(c);
    loaded_destroy(l);
}

/* ---- random programs: planning, aliases and in-place work against plain arithmetic ---- */
static uint64_t seed;
static int pick(int n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

TEST(random_programs) {
    setup();
    enum { ROUNDS = 150, N = 24, MAX = 40 };
    for (int round = 0; round < ROUNDS; round++) {
        seed = (uint64_t)round * 7919 + 1;
        float values[MAX][N];
        int n_params = 1 + pick(4), n = 0, shape[MAX]; /* 0: 24, 1: 4x6, 2: 6x4 */
        static const char *const types[] = {"tensor<24xf32>", "tensor<4x6xf32>", "tensor<6x4xf32>"};
        char *text = malloc(20000), *at = text;
        at += sprintf(at, "module { func.func @main(");
        bool donated[4];
        for (; n < n_params; n++) {
            donated[n] = pick(2);
            shape[n] = pick(3);
            at += sprintf(at, "%s%%v%d: %s%s", n ? ", " : "", n, types[shape[n]],
                          donated[n] ? " {jax.buffer_donor = true}" : "");
            for (int k = 0; k < N; k++)
                values[n][k] = (float)(pick(200) - 100) / 8;
        }
        char *signature = at;
        at += sprintf(at, ") -> (                                                                            "
                          "                                                            ) {\n");
        at += sprintf(at, " %%zero = stablehlo.constant dense<0> : tensor<i32>\n %%two = stablehlo.constant "
                          "dense<2> : tensor<i32>\n");
        int count = n_params + 3 + pick(MAX - 12);
        for (; n < count; n++) {
            int a = pick(n), b = pick(n);
            for (int tries = 0; shape[b] != shape[a] && tries < 20; tries++)
                b = pick(n);
            if (shape[b] != shape[a])
                b = a;
            const char *t = types[shape[a]];
            shape[n] = shape[a];
            switch (pick(7)) {
            case 0:
                at += sprintf(at, " %%v%d = stablehlo.add %%v%d, %%v%d : %s\n", n, a, b, t);
                for (int k = 0; k < N; k++)
                    values[n][k] = values[a][k] + values[b][k];
                break;
            case 1:
                at += sprintf(at, " %%v%d = stablehlo.maximum %%v%d, %%v%d : %s\n", n, a, b, t);
                for (int k = 0; k < N; k++)
                    values[n][k] = fmaxf(values[a][k], values[b][k]);
                break;
            case 2:
                at += sprintf(at, " %%v%d = stablehlo.negate %%v%d : %s\n", n, a, t);
                for (int k = 0; k < N; k++)
                    values[n][k] = -values[a][k];
                break;
            case 3: /* another name for the same bytes */
                shape[n] = pick(3);
                at +=
                    sprintf(at, " %%v%d = stablehlo.reshape %%v%d : (%s) -> %s\n", n, a, t, types[shape[n]]);
                memcpy(values[n], values[a], sizeof values[n]);
                break;
            case 4: { /* a contiguous part written over another value: [8, 16) of a into [2, 10) of b */
                int x = -1, y = -1;
                for (int k = 0; k < n; k++)
                    if (!shape[k]) {
                        if (x < 0 || pick(2))
                            x = k;
                        if (y < 0 || pick(2))
                            y = k;
                    }
                if (x < 0) {
                    at += sprintf(at, " %%v%d = stablehlo.abs %%v%d : %s\n", n, a, t);
                    for (int k = 0; k < N; k++)
                        values[n][k] = fabsf(values[a][k]);
                    break;
                }
                shape[n] = 0;
                at += sprintf(
                    at,
                    " %%s%d = \"stablehlo.slice\"(%%v%d) {start_indices = array<i64: 8>, limit_indices = "
                    "array<i64: 16>, strides = array<i64: 1>} : (tensor<24xf32>) -> tensor<8xf32>\n",
                    n, x);
                at += sprintf(at,
                              " %%v%d = \"stablehlo.dynamic_update_slice\"(%%v%d, %%s%d, %%two) : "
                              "(tensor<24xf32>, tensor<8xf32>, tensor<i32>) -> tensor<24xf32>\n",
                              n, y, n);
                memcpy(values[n], values[y], sizeof values[n]);
                for (int k = 0; k < 8; k++)
                    values[n][2 + k] = values[x][8 + k];
                break;
            }
            case 5: { /* rows by columns */
                if (!shape[a]) {
                    at += sprintf(
                        at,
                        " %%v%d = \"stablehlo.reverse\"(%%v%d) {dimensions = array<i64: 0>} : (%s) -> %s\n",
                        n, a, t, t);
                    for (int k = 0; k < N; k++)
                        values[n][k] = values[a][N - 1 - k];
                    break;
                }
                int rows = shape[a] == 1 ? 4 : 6, columns = N / rows;
                shape[n] = 3 - shape[a];
                at += sprintf(
                    at,
                    " %%v%d = \"stablehlo.transpose\"(%%v%d) {permutation = array<i64: 1, 0>} : (%s) -> %s\n",
                    n, a, t, types[shape[n]]);
                for (int i = 0; i < rows; i++)
                    for (int k = 0; k < columns; k++)
                        values[n][k * rows + i] = values[a][i * columns + k];
                break;
            }
            default:
                at += sprintf(at, " %%v%d = stablehlo.subtract %%v%d, %%v%d : %s\n", n, a, b, t);
                for (int k = 0; k < N; k++)
                    values[n][k] = values[a][k] - values[b][k];
                break;
            }
        }
        int n_out = 1 + pick(5), outs[5];
        at += sprintf(at, " return ");
        char list[256] = "", *l_at = list;
        for (int k = 0; k < n_out; k++) {
            outs[k] = pick(3) ? n - 1 - pick(n < 8 ? n : 8) : pick(n);
            at += sprintf(at, "%s%%v%d", k ? ", " : "", outs[k]);
            l_at += sprintf(l_at, "%s%s", k ? ", " : "", types[shape[outs[k]]]);
        }
        sprintf(at, " : %s } }\n", list);
        memcpy(signature + 6, list, strlen(list));
        tt_pjrt_loaded *l = compile(text);
        tt_pjrt_buffer *in[4], *out[5];
        float r[N];
        static const int64_t dims[3][2] = {{24, 0}, {4, 6}, {6, 4}};
        for (int repeat = 0; l && repeat < 2; repeat++) {
            int64_t keep[4], n_keep = 0;
            for (int k = 0; k < n_params; k++) {
                in[k] = put_on(0, TT_PJRT_TYPE_F32, shape[k] ? 2 : 1, dims[shape[k]], NULL, 0, values[k]);
                if (repeat && pick(2))
                    keep[n_keep++] = k;
            }
            if (!run_with(l, n_params, in, out, NULL, keep, (int)n_keep)) {
                test_failures++;
                fprintf(stderr, "round %d: %s\n%s\n", round, last_error, text);
                break;
            }
            bool right = true;
            for (int k = 0; k < n_out; k++) {
                right &= get(out[k], r, sizeof r);
                for (int e = 0; e < N; e++)
                    right &= r[e] == values[outs[k]][e] || (isnan(r[e]) && isnan(values[outs[k]][e]));
            }
            for (int k = 0; k < n_params; k++)
                if (!is_deleted(in[k]))
                    right &= get(in[k], r, sizeof r) && !memcmp(r, values[k], sizeof r);
            if (!right) {
                test_failures++;
                fprintf(stderr, "round %d repeat %d is wrong:\n%s\n", round, repeat, text);
            }
            for (int k = 0; k < n_out; k++)
                drop(out[k]);
            for (int k = 0; k < n_params; k++)
                drop(in[k]);
        }
        if (l)
            loaded_destroy(l);
        free(text);
        if (test_failures > 3)
            return;
    }
}

TEST(zz_nothing_is_left) {
    setup();
    if (is_engine)
        CHECK(in_use() == 0);
    tt_pjrt_object d = {.object = client};
    OK(Client_Destroy, d);
    client = NULL;
    api = NULL; /* a test that follows makes its own */
}
