/* test_pjrt.c - PJRT conformance: what our client and JAX rely on, on any plugin.
 *
 * TT_TEST_PLUGIN=path ./test_pjrt [name ...]. Run on XLA:CPU it checks the tests; run on the engine it checks
 * the engine. Values are checked against arithmetic done here. */
#include "pjrt_test.h"
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

static const char ADD[] =
    "module @add { func.func public @main(%a: tensor<256xf32>, %b: tensor<256xf32>) -> tensor<256xf32> {\n"
    "  %0 = stablehlo.add %a, %b : tensor<256xf32>\n  return %0 : tensor<256xf32>\n} }\n";

TEST(plugin_and_attributes) {
    setup();
    CHECK(api->version.major == 0);
    CHECK(api->version.minor >= 81);
    tt_pjrt_plugin_attributes a = {0};
    OK(Plugin_Attributes, a);
    CHECK(a.count > 0);
    if (!is_engine)
        return;
    int missing = 0;
    for (int s = 0; s < TT_PJRT_N_SLOTS; s++)
        CHECK(api->fn[s] != NULL);
#define PJRT(slot, c, engine, args)                                                                          \
    if (!engine) {                                                                                           \
        tt_pjrt_none none = {sizeof none, NULL};                                                             \
        CHECK(!good(api->fn[TT_PJRT_##slot](&none)));                                                        \
        CHECK(last_code == 12 && strstr(last_error, "PJRT_" #slot " "));                                     \
        missing++;                                                                                           \
    }
#include "tables/pjrt.def"
#undef PJRT
    CHECK(missing > 10);
}

TEST(small_args_are_refused) {
    setup();
    size_t few[2] = {16, 0};
    CHECK(!good(api->fn[TT_PJRT_Client_PlatformName](few)));
    CHECK(last_code == 3);
}

TEST(client_options_and_devices) {
    setup();
    tt_pjrt_named_value o = {.struct_size = sizeof o,
                             .name = "no_such_option",
                             .name_size = 14,
                             .type = TT_PJRT_VALUE_INT64,
                             .int64 = 1,
                             .value_size = 1};
    tt_pjrt_client_create c = {.options = &o, .n_options = 1};
    CHECK(!good(CALL(Client_Create, c)));
    CHECK(last_code == 3 && strstr(last_error, "no_such_option"));
    tt_pjrt_get_array d = {.object = client};
    OK(Client_AddressableDevices, d);
    CHECK(d.count == 4);
    for (size_t i = 0; i < d.count; i++) {
        tt_pjrt_get_pointer p = {.object = device_at((int)i)};
        OK(Device_GetDescription, p);
        tt_pjrt_get_int id = {.object = p.value};
        OK(DeviceDescription_Id, id);
        CHECK(id.value == (int)i);
        tt_pjrt_string kind = {.object = p.value};
        OK(DeviceDescription_Kind, kind);
        CHECK(kind.size > 0);
        tt_pjrt_get_pointer m = {.object = device_at((int)i)};
        OK(Device_DefaultMemory, m);
        CHECK(m.value != NULL);
    }
    tt_pjrt_client_lookup l = {.client = client, .id = 77};
    CHECK(!good(CALL(Client_LookupDevice, l)));
}

TEST(compile_errors_are_errors) {
    setup();
    CHECK(!compile_for("module { func.func @main( }", 1, 1, 0));
    CHECK(last_code != 0 && last_error[0]);
    CHECK(!compile_for("not a program at all", 1, 1, 0));
    CHECK(!compile_for("module { func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = "
                       "stablehlo.no_such_op %a : tensor<4xf32>\n return %0 : tensor<4xf32> } }",
                       1, 1, 0));
    CHECK(!compile_for("module { func.func @main(%a: tensor<4xf32>, %b: tensor<5xf32>) -> tensor<4xf32> {\n"
                       " %0 = \"stablehlo.add\"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>\n "
                       "return %0 : tensor<4xf32> } }",
                       1, 1, 0));
    tt_pjrt_program p = {.struct_size = sizeof p,
                         .code = (char *)(uintptr_t)ADD,
                         .code_size = sizeof ADD - 1,
                         .format = "nonsense",
                         .format_size = 8};
    tt_pjrt_client_compile a = {
        .client = client, .program = &p, .options = "\x1a\x04\x20\x01\x28\x01", .options_size = 6};
    CHECK(!good(CALL(Client_Compile, a)));
}

TEST(run_add) {
    setup();
    float a[256], b[256], r[256];
    fill(a, 256, 1), fill(b, 256, .5f);
    tt_pjrt_loaded *l = compile(ADD);
    tt_pjrt_buffer *in[2] = {put_f32(256, a), put_f32(256, b)}, *out[1];
    tt_pjrt_event *done = NULL;
    CHECK(run_with(l, 2, in, out, &done, NULL, 0));
    CHECK(await_event(done));
    CHECK(get(out[0], r, sizeof r));
    for (int i = 0; i < 256; i++)
        CHECK(r[i] == a[i] + b[i]);
    tt_pjrt_get_array dims = {.object = out[0]};
    OK(Buffer_Dimensions, dims);
    CHECK(dims.count == 1 && ((const int64_t *)dims.items)[0] == 256);
    tt_pjrt_get_int type = {.object = out[0]};
    OK(Buffer_ElementType, type);
    CHECK(type.value == TT_PJRT_TYPE_F32);
    tt_pjrt_get_size bytes = {.object = out[0]};
    OK(Buffer_OnDeviceSizeInBytes, bytes);
    CHECK(bytes.value == 1024);
    drop(out[0]), drop(in[0]), drop(in[1]);
    loaded_destroy(l);
}

TEST(results_may_be_params_constants_or_twice_the_same) {
    setup();
    float a[4] = {1, 2, 3, 4}, r[4];
    tt_pjrt_loaded *l =
        compile("module { func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, "
                "tensor<2x2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {\n"
                " %c = stablehlo.constant dense<[5.0, 6.0]> : tensor<2xf32>\n %0 = stablehlo.add %a, %a : "
                "tensor<4xf32>\n"
                " %1 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<2x2xf32>\n %i = stablehlo.iota dim = "
                "0 : tensor<4xi32>\n"
                " return %a, %a, %1, %c, %0, %0, %i : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, "
                "tensor<2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32> } }");
    if (!l)
        return;
    tt_pjrt_buffer *in[1] = {put_f32(4, a)}, *out[7];
    if (run(l, 1, in, out)) {
        for (int k = 0; k < 3; k++)
            CHECK(get(out[k], r, 16) && !memcmp(r, a, 16));
        CHECK(get(out[3], r, 8) && r[0] == 5 && r[1] == 6);
        for (int k = 4; k < 6; k++)
            CHECK(get(out[k], r, 16) && r[0] == 2 && r[3] == 8);
        int32_t iota[4];
        CHECK(get(out[6], iota, 16) && iota[0] == 0 && iota[3] == 3);
        for (int k = 0; k < 7; k++)
            drop(out[k]);
    }
    drop(in[0]);
    loaded_destroy(l);
}

TEST(bad_arguments) {
    setup();
    float a[256] = {0};
    tt_pjrt_loaded *l = compile(ADD);
    int64_t n = 256;
    tt_pjrt_buffer *good_one = put_f32(256, a), *shorter = put_f32(128, a),
                   *elsewhere = put_on(1, TT_PJRT_TYPE_F32, 1, &n, NULL, 0, a), *out[1] = {NULL};
    tt_pjrt_buffer *few[1] = {good_one}, *shape[2] = {good_one, shorter}, *device[2] = {good_one, elsewhere};
    CHECK(!run_with(l, 1, few, out, NULL, NULL, 0));
    CHECK(!run_with(l, 2, shape, out, NULL, NULL, 0));
    CHECK(!run_with(l, 2, device, out, NULL, NULL, 0));
    drop(good_one), drop(shorter), drop(elsewhere);
    loaded_destroy(l);
}

TEST(strided_and_laid_out_host_arrays) {
    setup();
    float m[12], r[12];
    for (int i = 0; i < 12; i++)
        m[i] = (float)i;
    int64_t dims[2] = {3, 4}, column_major[2] = {4, 12};
    tt_pjrt_buffer *b = put_on(0, TT_PJRT_TYPE_F32, 2, dims, column_major, TT_PJRT_ONLY_DURING_CALL, m);
    CHECK(get(b, r, 48));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            CHECK(r[i * 4 + k] == m[i + k * 3]);
    int64_t order[2] = {0, 1};
    tt_pjrt_layout layout = {
        .struct_size = sizeof layout,
        .type = TT_PJRT_LAYOUT_TILED,
        .tiled = {.struct_size = sizeof layout.tiled, .minor_to_major = order, .n_minor_to_major = 2}};
    tt_pjrt_buffer_to_host a = {.source = b, .layout = &layout, .host = r, .host_size = 48};
    CHECK(good(CALL(Buffer_ToHostBuffer, a)) && await_event(a.event));
    CHECK(!memcmp(r, m, 48));
    tt_pjrt_buffer_to_host ask = {.source = b};
    OK(Buffer_ToHostBuffer, ask);
    CHECK(ask.host_size == 48);
    drop(b);
    int64_t every_other[1] = {8}, six = 6; /* a strided vector, and a reversed one */
    b = put_on(0, TT_PJRT_TYPE_F32, 1, &six, every_other, TT_PJRT_ONLY_DURING_CALL, m);
    CHECK(get(b, r, 24) && r[0] == 0 && r[5] == 10);
    drop(b);
    if (is_engine) {
        int64_t back[1] = {-4};
        b = put_on(0, TT_PJRT_TYPE_F32, 1, &six, back, TT_PJRT_ONLY_DURING_CALL, m + 5);
        CHECK(get(b, r, 24) && r[0] == 5 && r[5] == 0);
        drop(b);
        b = put_f32(12, m);
        CHECK(!get(b, r, 47));
        drop(b);
    }
}

TEST(scalars_and_empty_arrays) {
    setup();
    float x = 2.5f, r = 0;
    tt_pjrt_loaded *l = compile(
        "module { func.func @main(%a: tensor<f32>, %b: tensor<0x3xf32>) -> (tensor<f32>, tensor<0x3xf32>) {\n"
        " %0 = stablehlo.multiply %a, %a : tensor<f32>\n %1 = stablehlo.add %b, %b : tensor<0x3xf32>\n "
        "return %0, %1 : tensor<f32>, tensor<0x3xf32> } }");
    int64_t empty[2] = {0, 3};
    tt_pjrt_buffer *in[2] = {put_on(0, TT_PJRT_TYPE_F32, 0, NULL, NULL, 0, &x),
                             put_on(0, TT_PJRT_TYPE_F32, 2, empty, NULL, 0, &x)},
                   *out[2];
    if (l && run(l, 2, in, out)) {
        CHECK(get(out[0], &r, 4) && r == 6.25f);
        CHECK(get(out[1], &r, 0));
        drop(out[0]), drop(out[1]);
    }
    drop(in[0]), drop(in[1]);
    loaded_destroy(l);
}

TEST(zero_copy_aliases_and_says_when_done) {
    setup();
    int64_t n = 1024;
    float *host = aligned_alloc(64, 4096), r[1024];
    fill(host, 1024, 1);
    tt_pjrt_buffer_from_host a = {.client = client,
                                  .data = host,
                                  .type = TT_PJRT_TYPE_F32,
                                  .dims = &n,
                                  .n_dims = 1,
                                  .semantics = TT_PJRT_ZERO_COPY,
                                  .device = device_at(0)};
    OK(Client_BufferFromHostBuffer, a);
    CHECK(get(a.buffer, r, 4096) && !memcmp(r, host, 4096));
    CHECK(pointer_of(a.buffer) == host);
    drop(a.buffer);
    CHECK(await_event(a.done_with_host));
    free(host);
}

static const char DONATE[] =
    "module { func.func @main(%a: tensor<1024xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<1024xf32>) -> "
    "tensor<1024xf32> {\n"
    " %0 = stablehlo.add %a, %b : tensor<1024xf32>\n return %0 : tensor<1024xf32> } }";
static const char DONOR[] =
    "module { func.func @main(%a: tensor<1024xf32> {jax.buffer_donor = true}, %b: tensor<1024xf32>) -> "
    "tensor<1024xf32> {\n"
    " %0 = stablehlo.add %a, %b : tensor<1024xf32>\n return %0 : tensor<1024xf32> } }";

static void donate(const char *text) {
    float a[1024], b[1024], r[1024];
    fill(a, 1024, 1), fill(b, 1024, 2);
    tt_pjrt_loaded *l = compile(text);
    tt_pjrt_buffer *in[2] = {put_f32(1024, a), put_f32(1024, b)}, *out[1];
    void *before = pointer_of(in[0]);
    CHECK(run(l, 2, in, out));
    CHECK(is_deleted(in[0]) && !is_deleted(in[1]));
    CHECK(!in_place() || pointer_of(out[0]) == before);
    CHECK(get(out[0], r, 4096) && r[77] == a[77] + b[77]);
    CHECK(!run_with(l, 2, in, out + 0, NULL, NULL, 0)); /* it is gone */
    CHECK(!get(in[0], r, 4096));
    drop(in[0]);
    /* not donated when the caller says so */
    int64_t keep = 0;
    tt_pjrt_buffer *again[2] = {put_f32(1024, a), in[1]}, *out2[1];
    before = pointer_of(again[0]);
    CHECK(run_with(l, 2, again, out2, NULL, &keep, 1));
    CHECK(!is_deleted(again[0]) && pointer_of(out2[0]) != before);
    CHECK(get(again[0], r, 4096) && !memcmp(r, a, 4096));
    CHECK(get(out2[0], r, 4096) && r[77] == a[77] + b[77]);
    drop(again[0]), drop(in[1]), drop(out[0]), drop(out2[0]);
    loaded_destroy(l);
}

TEST(donation_by_alias) {
    setup();
    donate(DONATE);
}

TEST(donation_by_donor) {
    setup();
    donate(DONOR);
}

TEST(donation_spares_memory_that_others_hold) {
    setup();
    if (!is_engine)
        return; /* others fail or wait here */
    float a[1024], b[1024], r[1024];
    fill(a, 1024, 1), fill(b, 1024, 2);
    tt_pjrt_loaded *l = compile(DONATE);
    tt_pjrt_buffer *in[2] = {put_f32(1024, a), put_f32(1024, b)}, *out[1];
    tt_pjrt_object o = {.object = in[0]};
    OK(Buffer_IncreaseExternalReferenceCount, o);
    float *held = pointer_of(in[0]);
    CHECK(run(l, 2, in, out));
    CHECK(get(out[0], r, 4096) && r[10] == a[10] + b[10]);
    CHECK(!memcmp(held, a, 4096)); /* still what it was */
    tt_pjrt_object o2 = {.object = in[0]};
    OK(Buffer_DecreaseExternalReferenceCount, o2);
    CHECK(!good(CALL(Buffer_DecreaseExternalReferenceCount, o2)));
    drop(in[0]), drop(in[1]), drop(out[0]);
    /* zero-copy host memory is never written */
    float *host = aligned_alloc(64, 4096);
    memcpy(host, a, 4096);
    int64_t n = 1024;
    tt_pjrt_buffer *in2[2] = {put_on(0, TT_PJRT_TYPE_F32, 1, &n, NULL, TT_PJRT_ZERO_COPY, host),
                              put_f32(1024, b)};
    CHECK(run(l, 2, in2, out));
    CHECK(!memcmp(host, a, 4096));
    CHECK(get(out[0], r, 4096) && r[10] == a[10] + b[10]);
    drop(in2[0]), drop(in2[1]), drop(out[0]);
    loaded_destroy(l);
    free(host);
}

/* ---- asynchrony ---- */
static _Atomic int called;
static void on_ready(tt_pjrt_error *error, void *context) {
    CHECK(good(error));
    CHECK(context == &called);
    called++;
}

TEST(asynchronous_runs_keep_order) {
    setup();
    enum { N = 256, CHAIN = 20 };
    char text[1024];
    snprintf(
        text, sizeof text,
        "module { func.func @main(%%a: tensor<%dx%dxf32>, %%b: tensor<%dx%dxf32>) -> tensor<%dx%dxf32> {\n"
        " %%0 = \"stablehlo.dot_general\"(%%a, %%b) {dot_dimension_numbers = "
        "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : "
        "(tensor<%dx%dxf32>, tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n return %%0 : tensor<%dx%dxf32> } }",
        N, N, N, N, N, N, N, N, N, N, N, N, N, N);
    tt_pjrt_loaded *l = compile(text);
    if (!l)
        return;
    float *a = calloc(N * N, 4), *b = calloc(N * N, 4), *r = calloc(N * N, 4);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            a[i * N + k] = (float)(i + k);
            b[i * N + (i + 1) % N] = 1; /* a permutation: each product rotates columns by one */
        }
    int64_t dims[2] = {N, N};
    tt_pjrt_buffer *x = put_on(0, TT_PJRT_TYPE_F32, 2, dims, NULL, 0, a),
                   *p = put_on(0, TT_PJRT_TYPE_F32, 2, dims, NULL, 0, b);
    tt_pjrt_event *last = NULL;
    for (int i = 0; i < CHAIN; i++) {
        tt_pjrt_buffer *in[2] = {x, p}, *out[1];
        CHECK(run_with(l, 2, in, out, i == CHAIN - 1 ? &last : NULL, NULL, 0));
        drop(x); /* deleted while runs that use it may still be queued */
        x = out[0];
    }
    tt_pjrt_event_on_ready o = {.event = last, .callback = on_ready, .context = &called};
    called = 0;
    OK(Event_OnReady, o);
    tt_pjrt_get_pointer ready = {.object = x};
    OK(Buffer_ReadyEvent, ready);
    CHECK(get(x, r, N * N * 4));
    CHECK(await_event(last));
    for (int spins = 0; !called && spins < 1000; spins++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK(called == 1);
    tt_pjrt_get_bool is = {.object = ready.value};
    OK(Event_IsReady, is);
    CHECK(is.value);
    CHECK(await_event(ready.value));
    bool right = true;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            right &= r[i * N + (k + CHAIN) % N] == a[i * N + k];
    CHECK(right);
    drop(x), drop(p);
    loaded_destroy(l);
    free(a), free(b), free(r);
}

/* ---- several devices ---- */
static void run_many(const char *text, int replicas, int partitions, int n_out,
                     const float *want /* [device][n_out] */) {
    tt_pjrt_loaded *l = compile_for(text, replicas, partitions, 0);
    if (!l) {
        test_failures++;
        fprintf(stderr, "compile: %.800s\n", last_error);
        return;
    }
    enum { N = 8 };
    int64_t n = N;
    tt_pjrt_buffer *in[4], *out[4];
    tt_pjrt_buffer *const *args[4];
    tt_pjrt_buffer **outs[4];
    tt_pjrt_event *done[4];
    for (int d = 0; d < 4; d++) {
        float x[N];
        for (int i = 0; i < N; i++)
            x[i] = (float)((d + 1) * 100 + i);
        in[d] = put_on(d, TT_PJRT_TYPE_F32, 1, &n, NULL, 0, x);
        args[d] = in + d;
        outs[d] = out + d;
    }
    for (int repeat = 0; repeat < 20; repeat++) {
        struct {
            tt_pjrt_execute_options o;
            char tail[TT_PJRT_TAIL];
        } options = {.o = {.struct_size = sizeof options, .launch_id = repeat}};
        tt_pjrt_execute a = {.executable = l,
                             .options = &options.o,
                             .arguments = args,
                             .n_devices = 4,
                             .n_args = 1,
                             .outputs = outs,
                             .complete_events = done};
        OK(LoadedExecutable_Execute, a);
        for (int d = 0; d < 4; d++) {
            float r[32];
            CHECK(await_event(done[d]));
            CHECK(get(out[d], r, (size_t)n_out * 4));
            CHECK(!memcmp(r, want + d * n_out, (size_t)n_out * 4));
            drop(out[d]);
        }
    }
    for (int d = 0; d < 4; d++)
        drop(in[d]);
    loaded_destroy(l);
}

#define SUM_REGION                                                                                           \
    "({\n ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n %s = stablehlo.add %p, %q : tensor<f32>\n "              \
    "\"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n })"

TEST(all_reduce_over_replicas) {
    setup();
    float want[4][8];
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 8; i++)
            want[d][i] = (float)(1000 + 4 * i);
    run_many(
        "module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
        "tensor<8xf32> {\n"
        " %0 = \"stablehlo.all_reduce\"(%x) " SUM_REGION
        " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<8xf32>) -> tensor<8xf32>\n"
        " return %0 : tensor<8xf32> } }",
        4, 1, 8, want[0]);
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 8; i++)
            want[d][i] = d < 2 ? (float)(300 + 2 * i) : (float)(700 + 2 * i);
    run_many(
        "module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
        "tensor<8xf32> {\n"
        " %0 = \"stablehlo.all_reduce\"(%x) " SUM_REGION
        " {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>} : (tensor<8xf32>) -> tensor<8xf32>\n"
        " return %0 : tensor<8xf32> } }",
        4, 1, 8, want[0]);
}

TEST(all_reduce_over_partitions) {
    setup();
    float want[4][8];
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 8; i++)
            want[d][i] = (float)(1000 + 4 * i);
    run_many("module attributes {mhlo.num_partitions = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
             "tensor<8xf32> {\n"
             " %0 = \"stablehlo.all_reduce\"(%x) " SUM_REGION
             " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, "
             "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : "
             "(tensor<8xf32>) -> tensor<8xf32>\n"
             " return %0 : tensor<8xf32> } }",
             1, 4, 8, want[0]);
}

TEST(gather_scatter_permute) {
    setup();
    float gathered[4][32], scattered[4][2], permuted[4][8], exchanged[4][8];
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 32; i++)
            gathered[d][i] = (float)((i / 8 + 1) * 100 + i % 8);
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 8; i++) {
            if (i < 2)
                scattered[d][i] = (float)(1000 + 4 * (d * 2 + i));
            permuted[d][i] = d ? (float)(d * 100 + i) : 0;
            exchanged[d][i] = (float)((i / 2 + 1) * 100 + d * 2 + i % 2);
        }
    run_many("module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
             "tensor<32xf32> {\n"
             " %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, "
             "2, 3]]> : tensor<1x4xi64>} : (tensor<8xf32>) -> tensor<32xf32>\n"
             " return %0 : tensor<32xf32> } }",
             4, 1, 32, gathered[0]);
    run_many("module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
             "tensor<2xf32> {\n"
             " %0 = \"stablehlo.reduce_scatter\"(%x) " SUM_REGION
             " {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : "
             "(tensor<8xf32>) -> tensor<2xf32>\n"
             " return %0 : tensor<2xf32> } }",
             4, 1, 2, scattered[0]);
    run_many("module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
             "tensor<8xf32> {\n"
             " %0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1], [1, 2], [2, "
             "3]]> : tensor<3x2xi64>} : (tensor<8xf32>) -> tensor<8xf32>\n"
             " return %0 : tensor<8xf32> } }",
             4, 1, 8, permuted[0]);
    run_many("module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
             "tensor<8xf32> {\n"
             " %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, "
             "split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : "
             "(tensor<8xf32>) -> tensor<8xf32>\n"
             " return %0 : tensor<8xf32> } }",
             4, 1, 8, exchanged[0]);
}

TEST(programs_on_other_devices_and_copies) {
    setup();
    float a[256], r[256];
    fill(a, 256, 3);
    int64_t n = 256;
    tt_pjrt_loaded *l = compile_for(ADD, 1, 1, 2);
    tt_pjrt_get_array d = {.object = l};
    OK(LoadedExecutable_AddressableDevices, d);
    CHECK(d.count == 1 && ((tt_pjrt_device *const *)d.items)[0] == device_at(2));
    tt_pjrt_buffer *x = put_on(0, TT_PJRT_TYPE_F32, 1, &n, NULL, 0, a), *out[1];
    tt_pjrt_buffer_copy_to c = {.buffer = x, .target = device_at(2)};
    OK(Buffer_CopyToDevice, c);
    tt_pjrt_get_pointer on = {.object = c.copy};
    OK(Buffer_Device, on);
    CHECK(on.value == device_at(2));
    tt_pjrt_buffer *in[2] = {c.copy, c.copy};
    CHECK(run(l, 2, in, out));
    CHECK(get(out[0], r, 1024) && r[9] == 2 * a[9]);
    drop(x), drop(c.copy), drop(out[0]);
    loaded_destroy(l);
    CHECK(!compile_for(ADD, 1, 1, 40));
    CHECK(!compile_for(ADD, 8, 1, 0));
}

TEST(serialise_and_load) {
    setup();
    tt_pjrt_loaded *l = compile(ADD);
    tt_pjrt_get_pointer e = {.object = l};
    OK(LoadedExecutable_GetExecutable, e);
    tt_pjrt_executable_serialize s = {.executable = e.value};
    OK(Executable_Serialize, s);
    char *copy = malloc(s.size);
    memcpy(copy, s.data, s.size);
    size_t size = s.size;
    s.free_owner(s.owner);
    tt_pjrt_get_size outputs = {.object = e.value};
    OK(Executable_NumOutputs, outputs);
    CHECK(outputs.value == 1);
    tt_pjrt_string f = {.object = e.value};
    OK(Executable_Fingerprint, f);
    CHECK(f.size > 0);
    tt_pjrt_compiled_memory_stats stats = {.executable = e.value};
    OK(Executable_GetCompiledMemoryStats, stats);
    CHECK(stats.argument == 2048 && stats.output == 1024);
    tt_pjrt_object d = {.object = e.value};
    OK(Executable_Destroy, d);
    loaded_destroy(l);
    tt_pjrt_deserialize_and_load load = {.client = client, .data = copy, .size = size};
    OK(Executable_DeserializeAndLoad, load);
    float a[256], r[256];
    fill(a, 256, 1);
    tt_pjrt_buffer *in[2] = {put_f32(256, a), put_f32(256, a)}, *out[1];
    CHECK(run(load.executable, 2, in, out) && get(out[0], r, 1024) && r[200] == 2 * a[200]);
    drop(in[0]), drop(in[1]), drop(out[0]);
    loaded_destroy(load.executable);
    if (is_engine)
        for (size_t at = 0; at < size; at += 7) { /* a damaged one is refused, always */
            copy[at] ^= 1;
            tt_pjrt_deserialize_and_load bad = {.client = client, .data = copy, .size = size};
            CHECK(!good(CALL(Executable_DeserializeAndLoad, bad)));
            copy[at] ^= 1;
            tt_pjrt_deserialize_and_load cut = {.client = client, .data = copy, .size = at};
            CHECK(!good(CALL(Executable_DeserializeAndLoad, cut)));
        }
    free(copy);
}

/* ---- errors that come later, memory ---- */
TEST(memory_is_counted_limited_and_returned) {
    setup();
    if (!is_engine)
        return;
    float a[1024] = {0};
    int64_t before = in_use(), huge = (int64_t)1 << 38;
    tt_pjrt_buffer *b = put_f32(1024, a);
    CHECK(in_use() == before + 4096);
    drop(b);
    CHECK(in_use() == before);
    tt_pjrt_create_uninitialized u = {
        .client = client, .dims = &huge, .n_dims = 1, .type = TT_PJRT_TYPE_F32, .device = device_at(0)};
    CHECK(!good(CALL(Client_CreateUninitializedBuffer, u)));
    CHECK(last_code == 8 && strstr(last_error, "1099511627776"));
    tt_pjrt_loaded *l = compile("module { func.func @main(%a: tensor<f32>) -> tensor<274877906944xf32> {\n"
                                " %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> "
                                "tensor<274877906944xf32>\n return %0 : tensor<274877906944xf32> } }");
    tt_pjrt_buffer *in[1] = {put_on(0, TT_PJRT_TYPE_F32, 0, NULL, NULL, 0, a)}, *out[1] = {NULL};
    CHECK(!run_with(l, 1, in, out, NULL, NULL, 0));
    CHECK(last_code == 8);
    drop(in[0]);
    loaded_destroy(l);
    CHECK(in_use() == before);
}

TEST(a_failed_run_poisons_what_follows) {
    setup();
    if (!is_engine)
        return;
    /* a chip of 1 MiB: the fourth product of a queued chain does not fit */
    tt_pjrt_named_value o[2] = {{.struct_size = sizeof *o,
                                 .name = "n_devices",
                                 .name_size = 9,
                                 .type = TT_PJRT_VALUE_INT64,
                                 .int64 = 1,
                                 .value_size = 1},
                                {.struct_size = sizeof *o,
                                 .name = "memory_bytes",
                                 .name_size = 12,
                                 .type = TT_PJRT_VALUE_INT64,
                                 .int64 = 1 << 20,
                                 .value_size = 1}};
    tt_pjrt_client *saved = client;
    tt_pjrt_client_create c = {.options = o, .n_options = 2};
    OK(Client_Create, c);
    client = c.client;
    enum { N = 256 };
    char text[1024];
    snprintf(
        text, sizeof text,
        "module { func.func @main(%%a: tensor<%dx%dxf32>) -> tensor<%dx%dxf32> {\n"
        " %%0 = \"stablehlo.dot_general\"(%%a, %%a) {dot_dimension_numbers = "
        "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : "
        "(tensor<%dx%dxf32>, tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n return %%0 : tensor<%dx%dxf32> } }",
        N, N, N, N, N, N, N, N, N, N, N, N);
    tt_pjrt_loaded *l = compile(text);
    float *a = calloc(N * N, 4);
    int64_t dims[2] = {N, N};
    tt_pjrt_buffer *chain[6] = {put_on(0, TT_PJRT_TYPE_F32, 2, dims, NULL, 0, a)};
    bool refused = false;
    int made = 1;
    for (; made < 6 && !refused; made++)
        refused = !run_with(l, 1, chain + made - 1, chain + made, NULL, NULL, 0);
    if (refused) { /* at the call itself: then nothing was made */
        made--;
        CHECK(last_code == 8);
    } else {
        CHECK(!get(chain[5], a, N * N * 4));
        CHECK(last_code == 8 && strstr(last_error, "out of memory"));
        CHECK(!get(chain[5], a, N * N * 4)); /* again */
        tt_pjrt_get_pointer ready = {.object = chain[5]};
        OK(Buffer_ReadyEvent, ready);
        CHECK(!await_event(ready.value));
    }
    CHECK(get(chain[2], a, N * N * 4));
    for (int i = 0; i < made; i++)
        drop(chain[i]);
    loaded_destroy(l);
    tt_pjrt_object d = {.object = client};
    OK(Client_Destroy, d);
    client = saved;
    free(a);
}

/* ---- events of the caller ---- */
TEST(created_events) {
    setup();
    if (!tt_pjrt_has(api, TT_PJRT_Event_Set) || !is_engine)
        return;
    tt_pjrt_event_create c = {0};
    OK(Event_Create, c);
    tt_pjrt_get_bool ready = {.object = c.event};
    OK(Event_IsReady, ready);
    CHECK(!ready.value);
    tt_pjrt_event_set s = {.event = c.event, .code = 13, .message = "made up", .message_size = 7};
    OK(Event_Set, s);
    CHECK(!good(CALL(Event_Set, s)));
    CHECK(!await_event(c.event));
    CHECK(last_code == 13 && strstr(last_error, "made up"));
}

/* ---- threads ---- */
static void *hammer(void *context) {
    tt_pjrt_loaded *l = context;
    float a[256], r[256];
    for (int i = 0; i < 200; i++) {
        fill(a, 256, (float)i);
        tt_pjrt_buffer *in[2] = {put_f32(256, a), put_f32(256, a)}, *out[1], *out2[1];
        bool ok = run_with(l, 2, in, out, NULL, NULL, 0);
        tt_pjrt_buffer *second[2] = {out[0], in[0]};
        ok = ok && run_with(l, 2, second, out2, NULL, NULL, 0);
        drop(in[0]), drop(in[1]), drop(out[0]);
        ok = ok && get(out2[0], r, 1024);
        for (int k = 0; k < 256; k++)
            ok &= r[k] == 3 * a[k];
        drop(out2[0]);
        if (!ok)
            return "wrong";
    }
    return NULL;
}

TEST(many_threads) {
    setup();
    tt_pjrt_loaded *l = compile(ADD);
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, hammer, l);
    for (int i = 0; i < 6; i++) {
        void *result;
        pthread_join(threads[i], &result);
        CHECK(result == NULL);
    }
    loaded_destroy(l);
}

/* ---- every allocation failed once ---- */
static void drop_if(tt_pjrt_buffer *b) {
    if (b)
        drop(b);
}

/* Work whose every step may fail; whatever happens, all is given back and values are right or absent. True:
 * nothing failed. */
static bool fragile(void) {
    bool fine = true;
    float a[1024], b[1024], r[1024];
    fill(a, 1024, 1), fill(b, 1024, 2);
    tt_pjrt_loaded
        *l = compile(DONATE),
        *many = compile_for(
            "module attributes {mhlo.num_replicas = 4 : i32} { func.func @main(%x: tensor<8xf32>) -> "
            "tensor<8xf32> {\n"
            " %y = stablehlo.add %x, %x : tensor<8xf32>\n %t = \"stablehlo.reverse\"(%y) {dimensions = "
            "array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>\n"
            " %0 = \"stablehlo.all_reduce\"(%t) " SUM_REGION
            " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<8xf32>) -> tensor<8xf32>\n"
            " return %0 : tensor<8xf32> } }",
            4, 1, 0);
    tt_pjrt_buffer *in[2] = {put_f32(1024, a), put_f32(1024, b)}, *out[1] = {NULL};
    if (in[0] && in[1] && run_with(l, 2, in, out, NULL, NULL, 0)) {
        bool read = get(out[0], r, 4096);
        CHECK(!read || r[33] == a[33] + b[33]);
        fine &= read;
    } else {
        fine = false;
        if (in[0]) /* a run that was refused has not taken its argument */
            CHECK(get(in[0], r, 4096) && !memcmp(r, a, 4096));
    }
    drop_if(in[0]), drop_if(in[1]), drop_if(out[0]);
    int64_t n = 8;
    tt_pjrt_buffer *x[4], *y[4] = {NULL};
    tt_pjrt_buffer *const *args[4];
    tt_pjrt_buffer **outs[4];
    tt_pjrt_event *done[4] = {NULL};
    bool all = true;
    for (int d = 0; d < 4; d++) {
        x[d] = put_on(d, TT_PJRT_TYPE_F32, 1, &n, NULL, 0, a);
        all &= x[d] != NULL;
        args[d] = x + d, outs[d] = y + d;
    }
    if (all) {
        struct {
            tt_pjrt_execute_options o;
            char tail[TT_PJRT_TAIL];
        } options = {.o = {.struct_size = sizeof options}};
        tt_pjrt_execute e = {.executable = many,
                             .options = &options.o,
                             .arguments = args,
                             .n_devices = 4,
                             .n_args = 1,
                             .outputs = outs,
                             .complete_events = done};
        all = good(CALL(LoadedExecutable_Execute, e));
        for (int d = 0; d < 4 && all; d++) {
            await_event(done[d]);
            bool read = get(y[d], r, 32);
            CHECK(!read || r[0] == 8 * a[7]);
            fine &= read;
        }
    }
    for (int d = 0; d < 4; d++)
        drop_if(x[d]), drop_if(y[d]);
    loaded_destroy(l), loaded_destroy(many);
    CHECK(in_use() == 0);
    return fine && all;
}

TEST(failing_allocations) {
    setup();
    if (!is_engine || getenv("TORCH_TPU_FAULT"))
        return;
    bool came_through = false;
    for (int k = 1; k < 60 && !came_through; k++) {
        char command[600];
        const char *wrapper = getenv("MESON_EXE_WRAPPER"); /* what runs programs of another processor */
        snprintf(command, sizeof command, "TORCH_TPU_FAULT=alloc:%d %s %s fragile_work > /dev/null", k,
                 wrapper ? wrapper : "", test_argv[0]);
        int status = system(command);
        CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
        came_through = WEXITSTATUS(status) == 77; /* more allocations were allowed than it makes */
    }
    CHECK(came_through);
}

TEST(fragile_work) {
    const char *fault = getenv("TORCH_TPU_FAULT");
    if (!fault)
        return; /* only as a child of failing_allocations */
    setup();
    bool fine = fragile();
    tt_pjrt_object d = {.object = client};
    OK(Client_Destroy, d);
    if (fine && !test_failures)
        exit(77);
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
