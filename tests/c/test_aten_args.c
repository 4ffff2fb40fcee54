/* test_aten_args.c - promotion, broadcasting, dims and output strides. Expected values were read off PyTorch 2.13. */
#include "test.h"
#include "aten/lower.h"
#include "hlo/text.h"

static tt_arena *arena;
static tt_lower L;

static void begin(int n_args, const tt_arg *args) {
    arena = tt_arena_create();
    L = (tt_lower){.g = hlo_graph_create(arena, "test"), .arena = arena, .args = args, .n_args = n_args};
    hlo_func_begin(L.g, "main", true);
}

static void end(void) {
    CHECK_OK(hlo_graph_take_error(L.g));
    tt_arena_destroy(arena);
}

TEST(promote) {
    static const struct { tt_dtype a, b, want; } rows[] = {
        {TT_U8, TT_I8, TT_I16}, {TT_U8, TT_I64, TT_I64}, {TT_PRED, TT_U8, TT_U8}, {TT_I64, TT_F16, TT_F16},
        {TT_F16, TT_BF16, TT_F32}, {TT_BF16, TT_F64, TT_F64}, {TT_C64, TT_F64, TT_C128}, {TT_I32, TT_C64, TT_C64},
        {TT_I8, TT_I16, TT_I16}, {TT_F32, TT_F32, TT_F32}, {TT_U16, TT_I32, TT_DTYPE_NONE}, {TT_U32, TT_F32, TT_F32},
        {TT_F8E5M2, TT_F32, TT_DTYPE_NONE}, {TT_F8E5M2, TT_F8E5M2, TT_F8E5M2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(lower_promote(rows[i].a, rows[i].b) == rows[i].want);
        CHECK(lower_promote(rows[i].b, rows[i].a) == rows[i].want);
    }
}

static tt_dtype result_type(int n, const tt_tensor *tensors) {
    const tt_tensor *all[3];
    for (int i = 0; i < n; i++)
        all[i] = &tensors[i];
    return lower_result_type(&L, n, all);
}

TEST(result_type) {
    begin(0, NULL);
    int64_t dims[1] = {3};
    tt_tensor i32 = {.dims = dims, .rank = 1, .dtype = TT_I32}, bf16 = {.dims = dims, .rank = 1, .dtype = TT_BF16};
    tt_tensor f64_0 = {.dtype = TT_F64}, i64_0 = {.dtype = TT_I64}, number = {.dtype = TT_F64, .wrapped = true};
    tt_tensor flag = {.dims = dims, .rank = 1, .dtype = TT_PRED}, whole = {.dtype = TT_I64, .wrapped = true};
    CHECK(result_type(2, (tt_tensor[]){i32, number}) == TT_F32);   /* int tensor and 2.5: the default float */
    CHECK(result_type(2, (tt_tensor[]){i32, f64_0}) == TT_F64);    /* a 0-dim f64 tensor is of a higher class */
    CHECK(result_type(2, (tt_tensor[]){bf16, f64_0}) == TT_BF16);  /* of the same class: the dim tensor decides */
    CHECK(result_type(2, (tt_tensor[]){bf16, i64_0}) == TT_BF16);
    CHECK(result_type(2, (tt_tensor[]){i32, i64_0}) == TT_I32);
    CHECK(result_type(2, (tt_tensor[]){flag, whole}) == TT_I64);
    CHECK(result_type(2, (tt_tensor[]){i64_0, number}) == TT_F32);
    CHECK(result_type(2, (tt_tensor[]){f64_0, number}) == TT_F64);
    end();
}

TEST(broadcast) {
    hlo_type a = hlo_type_make(TT_F32, 3, (const int64_t[]){2, 1, 4}), b = hlo_type_make(TT_F32, 2, (const int64_t[]){3, 1}), r;
    const hlo_type *both[2] = {&a, &b};
    CHECK_OK(lower_broadcast_shape(2, both, &r));
    CHECK(r.rank == 3 && r.dims[0] == 2 && r.dims[1] == 3 && r.dims[2] == 4);
    b.dims[1] = 5;
    tt_status e = lower_broadcast_shape(2, both, &r);
    CHECK(e && tt_status_code(e) == TT_INVALID_ARGUMENT);
    CHECK_TEXT(e ? tt_status_message(e) : "",
               "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 2");
    tt_status_free(e);
}

TEST(dims) {
    begin(0, NULL);
    CHECK(lower_dim(&L, -1, 3) == 2);
    CHECK(lower_dim(&L, 0, 0) == 0 && lower_dim(&L, -1, 0) == 0);
    CHECK_OK(hlo_graph_take_error(L.g));
    lower_dim(&L, 3, 2);
    tt_status e = hlo_graph_take_error(L.g);
    CHECK(e && tt_status_code(e) == TT_OUT_OF_RANGE);
    CHECK_TEXT(e ? tt_status_message(e) : "", "Dimension out of range (expected to be in range of [-2, 1], but got 3)");
    tt_status_free(e);
    end();
}

static void check_order(int n, const tt_tensor *in, int rank, const int64_t *dims, const int *want) {
    begin(0, NULL);
    const tt_tensor *all[2] = {&in[0], n > 1 ? &in[1] : NULL};
    hlo_type t = hlo_type_make(TT_F32, rank, dims);
    lower_out_pointwise(&L, hlo_param(L.g, &t), n, all);
    CHECK(L.n_outs == 1 && L.outs[0].tag == TT_OUT_TENSOR);
    for (int i = 0; i < rank; i++)
        CHECK(L.outs[0].order[i] == want[i]);
    end();
}

TEST(strides) {
    /* channels_last with a per-channel bias stays channels_last: (60, 1, 15, 3) in PyTorch */
    const int64_t image[4] = {2, 3, 4, 5}, last[4] = {60, 1, 15, 3}, bias[3] = {3, 1, 1}, bias_strides[3] = {1, 1, 1};
    tt_tensor x = {.dims = image, .strides = last, .rank = 4, .dtype = TT_F32};
    tt_tensor b = {.dims = bias, .strides = bias_strides, .rank = 3, .dtype = TT_F32};
    check_order(2, (tt_tensor[]){x, b}, 4, image, (const int[]){0, 2, 3, 1});
    /* t() + t() is transposed, t() + contiguous follows the first */
    const int64_t dims[2] = {4, 3}, turned[2] = {1, 4}, plain[2] = {3, 1};
    tt_tensor t = {.dims = dims, .strides = turned, .rank = 2, .dtype = TT_F32}, c = t;
    c.strides = plain;
    check_order(2, (tt_tensor[]){t, t}, 2, dims, (const int[]){1, 0});
    check_order(2, (tt_tensor[]){t, c}, 2, dims, (const int[]){1, 0});
    check_order(2, (tt_tensor[]){c, t}, 2, dims, (const int[]){0, 1});
}

TEST(rows) {
    int kind = -1;
    const tt_row *add = tt_row_find("add.Tensor", &kind);
    CHECK(add && kind == 0);
    CHECK(tt_row_find("add_.Tensor", &kind) == add && kind == 1);
    CHECK(tt_row_find("add.out", &kind) == add && kind == 2);
    CHECK(!tt_row_find("no_such_op", &kind));
    for (int i = 0; i < tt_n_rows; i++) {
        CHECK(tt_rows[i].lower);
        CHECK(tt_rows[i].name[0] || tt_rows[i].inplace[0]);
        if (tt_rows[i].name[0]) /* no name twice */
            CHECK(tt_row_find(tt_rows[i].name, &kind) == &tt_rows[i]);
    }
}

/* x + 0.1 for bf16: the number is not rounded to bf16 before the sum is. */
TEST(mixed_rounds_once) {
    const int64_t dims[1] = {2}, strides[1] = {1};
    tt_tensor x = {.dims = dims, .strides = strides, .rank = 1, .dtype = TT_BF16};
    tt_arg args[3] = {{.tag = TT_ARG_TENSOR, .u.tensor = &x}, {.tag = TT_ARG_DOUBLE, .u.d = 0.1}, {.tag = TT_ARG_INT, .u.i = 1}};
    begin(3, args);
    hlo_type t = hlo_type_make(TT_BF16, 1, dims);
    x.value = hlo_param(L.g, &t);
    L.row = tt_row_find("add.Scalar", &(int){0});
    CHECK_OK(L.row->lower(&L));
    CHECK(L.n_outs == 1 && hlo_type_of(L.g, L.outs[0].value)->dtype == TT_BF16);
    hlo_return(L.g, 1, &L.outs[0].value);
    tt_str text = {0};
    hlo_print(L.g, &text);
    CHECK(strstr(text.data, "\"stablehlo.add\"") && strstr(text.data, "tensor<2xf32>"));
    tt_str_deinit(&text);
    end();
}
