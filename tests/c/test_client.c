/* test_client.c - the PJRT client against a real plugin: values, donation, serialising, errors, and a fault
 * at every call. The plugin: $TORCH_TPU_TEST_PLUGIN, else the engine where it was built; without one the
 * tests that need it are skipped. */
#include "base/env.h"
#include "pjrt/call.h"
#include "pjrt/client.h"
#include "pjrt/options.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char add_program[] =
    "module @add {\n"
    "  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> (tensor<2x3xf32>, "
    "tensor<3x2xf32>) {\n"
    "    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>\n"
    "    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
    "    return %0, %1 : tensor<2x3xf32>, tensor<3x2xf32>\n"
    "  }\n"
    "}\n";
static const char donate_program[] = "module @donate {\n"
                                     "  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 "
                                     ": i32}, %arg1: tensor<4xf32>) -> tensor<4xf32> {\n"
                                     "    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>\n"
                                     "    return %0 : tensor<4xf32>\n"
                                     "  }\n"
                                     "}\n";
static const int64_t dims23[2] = {2, 3}, dims4[1] = {4};

static const char *plugin_path(void) {
    const char *path = getenv("TORCH_TPU_TEST_PLUGIN");
    if (path)
        return path;
    static const char *const places[] = {"build/pjrt_cpu.so", "pjrt_cpu.so"};
    for (size_t i = 0; i < 2; i++)
        if (!access(places[i], R_OK))
            return places[i][0] == 'b' ? "./build/pjrt_cpu.so" : "./pjrt_cpu.so";
    return NULL;
}

/* Any status that must be OK; its text is shown. */
static int good(tt_status s) {
    if (!s)
        return 1;
    fprintf(stderr, "unexpected: %s\n", tt_status_text(s));
    tt_status_free(s);
    return 0;
}

static int fails_with(tt_status s, tt_code code, const char *part) {
    int ok = s && tt_status_code(s) == code && strstr(tt_status_text(s), part);
    if (!ok)
        fprintf(stderr, "got: %s\n", s ? tt_status_text(s) : "no error");
    tt_status_free(s);
    return ok;
}

TEST(options_bytes) {
    tt_str s;
    CHECK(good(tt_options_encode(-1, 1, 1, NULL, &s)));
    /* executable_build_options { device_ordinal: -1 num_replicas: 1 num_partitions: 1 } */
    static const unsigned char bare[] = {0x1a, 15,   0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                         0xff, 0xff, 0xff, 0x01, 0x20, 1,    0x28, 1};
    CHECK(s.length == sizeof bare && !memcmp(s.data, bare, sizeof bare));
    tt_str_deinit(&s);
    CHECK(good(tt_options_encode(2, 1, 1, "a=true\nbc=7\n", &s)));
    static const unsigned char tail[] = {0x4a, 9,    0x08, 1,    0x10, 1,   0x1a, 3, 0x0a, 1,
                                         2,    0x3a, 7,    0x0a, 1,    'a', 0x12, 2, 0x10, 1,
                                         0x3a, 8,    0x0a, 2,    'b',  'c', 0x12, 2, 0x18, 7};
    CHECK(s.length == sizeof bare + sizeof tail && !memcmp(s.data + sizeof bare, tail, sizeof tail));
    tt_str_deinit(&s);
    CHECK(fails_with(tt_options_encode(0, 1, 1, "novalue", &s), TT_INVALID_ARGUMENT, "novalue"));
}

TEST(not_a_plugin) {
    tt_client *c;
    CHECK(fails_with(tt_client_create("/nonexistent/plugin.so", 1, &c), TT_NOT_FOUND,
                     "/nonexistent/plugin.so") &&
          !c);
    CHECK(fails_with(tt_client_create("/etc/passwd", 1, &c), TT_FAILED_PRECONDITION, "/etc/passwd") && !c);
    CHECK(fails_with(tt_client_create("libm.so.6", 1, &c), TT_FAILED_PRECONDITION, "GetPjrtApi") && !c);
    CHECK(fails_with(tt_client_create("", 1, &c), TT_INVALID_ARGUMENT, "TORCH_TPU_PLUGIN") && !c);
}

/* The whole life of a client; gives the first error. *out_right is false on a wrong value. */
static tt_status life(const char *path, bool *out_right) {
    tt_client *c = NULL;
    tt_executable *add = NULL, *again = NULL;
    tt_buffer *x = NULL, *y = NULL, *copy = NULL, *out[2] = {NULL, NULL};
    tt_event *event = NULL;
    void *bytes = NULL;
    size_t length = 0;
    float a[6] = {0, 1, 2, 3, 4, 5}, b[6] = {10, 10, 10, 10, 10, 10}, r[6] = {0}, t[6] = {0}, z[6] = {0};
    tt_device_memory memory;
    tt_status s = tt_client_create(path, 2, &c);
    if (!s)
        s = tt_client_compile(c, 0, add_program, sizeof add_program - 1, NULL, &add);
    if (!s)
        s = tt_buffer_from_host(c, 0, TT_F32, 2, dims23, a, false, &x);
    if (!s)
        s = tt_buffer_from_host(c, 0, TT_F32, 2, dims23, b, true, &y);
    if (!s)
        s = tt_executable_run(add, 2, (tt_buffer *[]){x, y}, NULL, NULL, out);
    if (!s)
        s = tt_buffer_ready_event(out[0], &event);
    if (!s)
        s = tt_event_wait(event);
    if (!s)
        s = tt_buffer_to_host(out[0], r, sizeof r);
    if (!s)
        s = tt_buffer_to_host(out[1], t, sizeof t);
    if (!s)
        *out_right = *out_right && r[5] == 15 && t[0] == 10 && t[1] == 13 && t[2] == 11;
    if (!s)
        s = tt_buffer_copy_to_device(out[0], 1, &copy);
    if (!s)
        s = tt_buffer_to_host(copy, z, sizeof z);
    if (!s)
        *out_right = *out_right && !memcmp(z, r, sizeof r) && tt_buffer_device(copy) == 1;
    if (!s)
        s = tt_executable_serialize(add, &bytes, &length);
    if (!s)
        s = tt_client_load(c, 0, bytes, length, &again);
    if (!s)
        s = tt_client_memory(c, 0, &memory);
    tt_event_destroy(event);
    for (int i = 0; i < 2; i++)
        tt_buffer_release(out[i]);
    tt_buffer_release(copy);
    tt_buffer_release(x);
    tt_buffer_release(y);
    tt_executable_release(add);
    tt_executable_release(again);
    free(bytes);
    tt_client_release(c);
    return s;
}

TEST(life_of_a_client) {
    const char *path = plugin_path();
    if (!path)
        return;
    bool right = true;
    CHECK(good(life(path, &right)));
    CHECK(right);
    tt_buffer_stats stats;
    tt_buffer_stats_get(0, &stats);
    CHECK(stats.live_bytes == 0 && stats.live_buffers == 0 && stats.peak_bytes >= 96);
}

TEST(fault_at_every_call) {
    const char *path = plugin_path();
    if (!path)
        return;
    int n = 1, done = 0;
    for (; n < 300 && !done; n++) {
        bool right = true;
        tt_pjrt_fault_set(n);
        tt_status s = life(path, &right);
        done = tt_pjrt_fault_left() > 0;
        tt_pjrt_fault_set(0);
        CHECK(right);
        /* tt_client_memory and IsReady may swallow an error; every other call passes it on. */
        CHECK(done ? s == NULL : s != NULL && strstr(tt_status_text(s), "on purpose"));
        tt_status_free(s);
        tt_buffer_stats stats[2];
        tt_buffer_stats_get(0, &stats[0]);
        tt_buffer_stats_get(1, &stats[1]);
        CHECK(stats[0].live_buffers == 0 && stats[1].live_buffers == 0);
    }
    CHECK(done && n > 15);
}

TEST(donation_and_errors) {
    const char *path = plugin_path();
    if (!path)
        return;
    tt_client *c;
    tt_executable *e;
    tt_buffer *x, *y, *out[1], *far;
    float a[4] = {1, 2, 3, 4}, r[4];
    CHECK(good(tt_client_create(path, 2, &c)));
    CHECK(good(tt_client_compile(c, 0, donate_program, sizeof donate_program - 1, NULL, &e)));
    CHECK(tt_executable_output_count(e) == 1);
    CHECK(good(tt_buffer_from_host(c, 0, TT_F32, 1, dims4, a, false, &x)));
    CHECK(good(tt_buffer_from_host(c, 0, TT_F32, 1, dims4, a, false, &y)));
    CHECK(tt_buffer_bytes(x) == 16 && tt_buffer_refs(x) == 1);
    /* Not donated although the program would: x must stay readable. */
    CHECK(good(tt_executable_run(e, 2, (tt_buffer *[]){x, y}, NULL, NULL, out)));
    CHECK(good(tt_buffer_to_host(x, r, sizeof r)) && r[3] == 4);
    tt_buffer_release(out[0]);
    CHECK(good(tt_executable_run(e, 2, (tt_buffer *[]){x, y}, (bool[]){true, false}, NULL, out)));
    CHECK(good(tt_buffer_to_host(out[0], r, sizeof r)) && r[3] == 8);
    tt_buffer_stats stats;
    tt_buffer_stats_get(0, &stats);
    CHECK(stats.live_buffers == 2);
    CHECK(fails_with(tt_buffer_to_host(out[0], r, 3), TT_INVALID_ARGUMENT, "3 bytes"));
    CHECK(good(tt_buffer_from_host(c, 1, TT_F32, 1, dims4, a, false, &far)));
    tt_buffer *none[1] = {NULL};
    CHECK(fails_with(tt_executable_run(e, 2, (tt_buffer *[]){far, y}, NULL, NULL, none), TT_INVALID_ARGUMENT,
                     "device 1") &&
          !none[0]);
    tt_executable *bad;
    tt_status s = tt_client_compile(c, 0, "not a program", 13, NULL, &bad);
    CHECK(s && !bad);
    tt_status_free(s);
    CHECK(fails_with(tt_client_compile(c, 9, add_program, sizeof add_program - 1, NULL, &bad),
                     TT_INVALID_ARGUMENT, "device index 9"));
    tt_buffer *empty;
    CHECK(fails_with(tt_buffer_from_host(c, 0, TT_F32, 1, (int64_t[]){INT64_MAX}, a, false, &empty),
                     TT_INVALID_ARGUMENT, "too large"));
    int64_t zero[1] = {0};
    CHECK(good(tt_buffer_from_host(c, 0, TT_F32, 1, zero, NULL, false, &empty)) &&
          tt_buffer_bytes(empty) == 0);
    CHECK(good(tt_buffer_to_host(empty, NULL, 0)));
    tt_buffer_release(empty);
    tt_buffer_release(far);
    tt_buffer_release(x);
    tt_buffer_release(y);
    tt_buffer_release(out[0]);
    tt_executable_release(e);
    tt_client_release(c);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Not asserted: prints what a run costs, plugin included. */
TEST(run_cost) {
    const char *path = plugin_path();
    if (!path)
        return;
    tt_client *c;
    tt_executable *e;
    tt_buffer *x, *out[2];
    float a[6] = {0};
    CHECK(good(tt_client_create(path, 1, &c)));
    CHECK(good(tt_client_compile(c, 0, add_program, sizeof add_program - 1, NULL, &e)));
    CHECK(good(tt_buffer_from_host(c, 0, TT_F32, 2, dims23, a, false, &x)));
    enum { N = 2000 };
    double best = 1;
    for (int k = 0; k < 5; k++) {
        double from = now();
        for (int i = 0; i < N; i++) {
            CHECK(good(tt_executable_run(e, 2, (tt_buffer *[]){x, x}, NULL, NULL, out)));
            tt_buffer_release(out[0]);
            tt_buffer_release(out[1]);
        }
        double each = (now() - from) / N;
        best = each < best ? each : best;
    }
    fprintf(stderr, "run and release of two outputs: %.0f ns on %s\n", best * 1e9, tt_client_platform(c));
    tt_buffer_release(x);
    tt_executable_release(e);
    tt_client_release(c);
}
