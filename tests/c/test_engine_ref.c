/* test_engine_ref.c - the reference kernels where a program cannot check itself: failures, and whole ranges of small types.
 *
 * Values are compared with C's own arithmetic and with base's one-element conversions; tests/hlo/ has one program per op. */
#include "engine/ref.h"
#include "hlo/build.h"
#include "hlo/text.h"
#include "test.h"
#include <math.h>

/* One program under construction and its run. */
typedef struct fixture { tt_arena *arena; hlo_graph *g; eng_tensor in[4], out[4]; int n_in; } fixture;

static fixture begin(void) {
    fixture f = {.arena = tt_arena_create()};
    f.g = hlo_graph_create(f.arena, "m");
    hlo_func_begin(f.g, "main", true);
    return f;
}

static hlo_ref input(fixture *f, tt_dtype t, int rank, const int64_t *dims, void *data) {
    hlo_type type = hlo_type_make(t, rank, dims);
    f->in[f->n_in++] = (eng_tensor){type, data};
    return hlo_param(f->g, &type);
}

/* Ends the program, runs it; gives the code and copies the message out. */
static tt_code run(fixture *f, int n, const hlo_ref *results, char *message, size_t bytes) {
    hlo_return(f->g, n, results);
    eng_run r = {.arena = f->arena, .n_devices = 1};
    tt_status error = hlo_graph_take_error(f->g);
    if (!error)
        error = hlo_verify(f->g);
    if (!error)
        error = eng_ref_block(&r, f->g, f->g->funcs[0]->body, f->in, NULL, NULL, f->out);
    tt_code code = tt_status_code(error);
    snprintf(message, bytes, "%s", error ? tt_status_message(error) : "");
    tt_status_free(error);
    return code;
}

static void end(fixture *f) {
    tt_arena_destroy(f->arena);
}

static float table[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static hlo_dims row_dims(void) {
    static const int64_t zero = 0, one = 1;
    return (hlo_dims){.kind = HLO_DIMS_GATHER, .a = {1, &one}, .b = {1, &zero}, .e = {1, &zero}, .index_vector_dim = 1};
}

static tt_code gather_rows(int64_t *indices, const char *bounds, float *out, char *message, size_t bytes) {
    fixture f = begin();
    hlo_ref x = input(&f, TT_F32, 2, (int64_t[]){4, 3}, table), i = input(&f, TT_I64, 1, (int64_t[]){2}, indices);
    hlo_dims d = row_dims();
    hlo_ref r = hlo_gather(f.g, x, i, &d, (int64_t[]){1, 3}, bounds);
    tt_code code = run(&f, 1, &r, message, bytes);
    if (!code)
        memcpy(out, f.out[0].data, 6 * sizeof(float));
    end(&f);
    return code;
}

TEST(gather_out_of_range) {
    char message[256];
    float out[6];
    CHECK(gather_rows((int64_t[]){-1, 9}, NULL, out, message, sizeof message) == TT_OK_CODE);
    CHECK(out[0] == 0 && out[3] == 9);
    CHECK(gather_rows((int64_t[]){0, 3}, "index_select", out, message, sizeof message) == TT_OK_CODE);
    CHECK(gather_rows((int64_t[]){0, 4}, "index_select", out, message, sizeof message) == TT_OUT_OF_RANGE);
    CHECK(strstr(message, "index_select") && strstr(message, "index 4") && strstr(message, "size 4"));
    CHECK(gather_rows((int64_t[]){-1, 0}, "index_select", out, message, sizeof message) == TT_OUT_OF_RANGE);
}

static tt_code scatter_rows(int64_t *indices, const char *bounds, hlo_op combiner, float *out, char *message, size_t bytes) {
    fixture f = begin();
    float updates[6] = {100, 100, 100, 200, 200, 200};
    hlo_ref x = input(&f, TT_F32, 2, (int64_t[]){4, 3}, table), i = input(&f, TT_I64, 2, (int64_t[]){2, 1}, indices);
    hlo_ref u = input(&f, TT_F32, 2, (int64_t[]){2, 3}, updates);
    hlo_dims d = row_dims();
    d.kind = HLO_DIMS_SCATTER;
    hlo_ref r = hlo_scatter(f.g, x, i, u, &d, combiner, false, bounds);
    tt_code code = run(&f, 1, &r, message, bytes);
    if (!code)
        memcpy(out, f.out[0].data, 12 * sizeof(float));
    end(&f);
    return code;
}

TEST(scatter_out_of_range) {
    char message[256];
    float out[12];
    CHECK(scatter_rows((int64_t[]){-1, 1}, NULL, HLO_ADD, out, message, sizeof message) == TT_OK_CODE);
    CHECK(out[0] == 0 && out[3] == 203 && out[9] == 9);
    CHECK(scatter_rows((int64_t[]){2, 2}, NULL, HLO_INVALID, out, message, sizeof message) == TT_OK_CODE && out[6] == 200);
    CHECK(scatter_rows((int64_t[]){0, 4}, "index_add_", HLO_ADD, out, message, sizeof message) == TT_OUT_OF_RANGE);
    CHECK(strstr(message, "index 4") && strstr(message, "size 4"));
    CHECK(scatter_rows((int64_t[]){INT64_MIN, INT64_MAX}, NULL, HLO_ADD, out, message, sizeof message) == TT_OK_CODE);
    CHECK(!memcmp(out, table, sizeof out));
}

TEST(failed_check_names_the_element) {
    char message[256];
    fixture f = begin();
    float a[3] = {1, 2, 3}, b[3] = {1, 2.5f, 4};
    hlo_ref x = input(&f, TT_F32, 1, (int64_t[]){3}, a), y = input(&f, TT_F32, 1, (int64_t[]){3}, b), none;
    hlo_custom_call(f.g, "check.expect_close", NULL, true, 2, (hlo_ref[]){x, y}, 0, NULL, &none);
    CHECK(run(&f, 1, &x, message, sizeof message) == TT_FAILED_PRECONDITION);
    CHECK(strstr(message, "element 1 is 2, expected 2.5 (2 of 3"));
    end(&f);
}

TEST(unknown_things_are_named) {
    char message[256];
    fixture f = begin();
    float a[1] = {1};
    hlo_ref x = input(&f, TT_F32, 0, NULL, a), r;
    hlo_type t = *hlo_type_of(f.g, x);
    hlo_custom_call(f.g, "nobody_knows", NULL, false, 1, &x, 1, &t, &r);
    CHECK(run(&f, 1, &r, message, sizeof message) == TT_UNIMPLEMENTED && strstr(message, "nobody_knows"));
    end(&f);
}

TEST(endless_recursion_is_an_error) {
    static const char text[] = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
                               "  %r = func.call @main(%x) : (tensor<f32>) -> tensor<f32>\n"
                               "  return %r : tensor<f32>\n}\n";
    tt_arena *a = tt_arena_create();
    hlo_graph *g = NULL;
    float x = 1;
    eng_run r = {.arena = a, .n_devices = 1};
    eng_tensor in = {.type = {.dtype = TT_F32}, .data = &x}, out;
    tt_status error = hlo_parse(a, text, sizeof text - 1, &g);
    if (!error)
        error = eng_ref_block(&r, g, g->funcs[0]->body, &in, NULL, NULL, &out);
    CHECK(error != NULL);
    tt_status_free(error);
    tt_arena_destroy(a);
}

/* Every pair of 8-bit values against C's int arithmetic; n = 4: the same on i4. */
static void check_int_op(hlo_op op, tt_dtype t, int bits) {
    int half = 1 << (bits - 1), bad = 0;
    for (int x = -half; x < half; x++)
        for (int y = -half; y < half; y++) {
            int8_t a = (int8_t)x, b = (int8_t)y, r = 0;
            int want = op == HLO_ADD        ? x + y
                       : op == HLO_SUBTRACT ? x - y
                       : op == HLO_MULTIPLY ? x * y
                       : op == HLO_DIVIDE   ? (y ? x / y : -1)
                       : op == HLO_REMAINDER ? (y ? x % y : x)
                       : op == HLO_MAXIMUM  ? (x > y ? x : y)
                       : op == HLO_AND      ? (x & y)
                                            : (x ^ y);
            want = (want + half) & (2 * half - 1);
            CHECK(ref_binary(op, t, &r, &a, &b, 1));
            bad += r != want - half;
        }
    CHECK(bad == 0);
}

TEST(small_integers_whole_range) {
    static const hlo_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_DIVIDE, HLO_REMAINDER, HLO_MAXIMUM, HLO_AND, HLO_XOR};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        check_int_op(ops[i], TT_I8, 8);
        check_int_op(ops[i], TT_I4, 4);
        check_int_op(ops[i], TT_I2, 2);
    }
}

TEST(narrow_floats_every_value) {
    int bad = 0;
    for (int i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i, back;
        for (tt_dtype t = TT_F16; t; t = t == TT_F16 ? TT_BF16 : TT_DTYPE_NONE) {
            float f;
            ref_to_f32(t, &f, &h, 1);
            ref_from_f32(t, &back, &f, 1);
            double want = tt_element_get(t, &h);
            bad += isnan(want) ? !isnan(f) : (double)f != want || back != h;
        }
    }
    CHECK(bad == 0);
    uint32_t seed = 1;
    for (int i = 0; i < 1000000; i++) {
        uint16_t got, want;
        float f;
        seed = seed * 1664525 + 1013904223;
        uint32_t bits = seed;
        if (i & 1) /* where f16 is subnormal or normal */
            bits = (bits & 0x807FFFFF) | (100 + (seed >> 8) % 50) << 23;
        memcpy(&f, &bits, 4);
        ref_from_f32(TT_F16, &got, &f, 1);
        tt_element_set(TT_F16, &want, (double)f);
        bad += !isnan(f) && got != want;
    }
    CHECK(bad == 0);
}

static int by_value(const void *a, const void *b) {
    const int32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : 1;
}

TEST(sort_is_stable_at_any_length) {
    static int32_t keys[5000], values[5000], pairs[5000][2];
    char message[256];
    for (int64_t n = 1; n <= 5000; n = n * 3 + 1) {
        fixture f = begin();
        for (int i = 0; i < n; i++) {
            pairs[i][0] = keys[i] = (int32_t)((unsigned)i * 2654435761u >> 7) % 50;
            pairs[i][1] = values[i] = i;
        }
        hlo_ref x[2] = {input(&f, TT_I32, 1, &n, keys), input(&f, TT_I32, 1, &n, values)}, r[2];
        hlo_sort(f.g, 2, x, 0, false, true, r);
        CHECK(run(&f, 2, r, message, sizeof message) == TT_OK_CODE);
        qsort(pairs, (size_t)n, sizeof pairs[0], by_value);
        int bad = 0;
        for (int i = 0; i < n; i++)
            bad += ((int32_t *)f.out[0].data)[i] != pairs[i][0] || ((int32_t *)f.out[1].data)[i] != pairs[i][1];
        CHECK(bad == 0);
        end(&f);
    }
}

TEST(sums_round_once) {
    char message[256];
    int64_t n = 4096;
    uint16_t *x = calloc((size_t)n, 2), one = tt_f32_to_bf16(1);
    for (int i = 0; i < n; i++)
        x[i] = one;
    fixture f = begin();
    hlo_ref p = input(&f, TT_BF16, 1, &n, x), r = hlo_reduce(f.g, HLO_ADD, p, HLO_NONE, 1, (int64_t[]){0});
    CHECK(run(&f, 1, &r, message, sizeof message) == TT_OK_CODE);
    CHECK(tt_bf16_to_f32(*(uint16_t *)f.out[0].data) == 4096); /* step by step it would stop at 256 */
    end(&f);
    free(x);
}
