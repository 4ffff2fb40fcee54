/* test_base.c - arenas, errors, environment, hash, map and element types. Narrow floats are judged by the
 * compiler's _Float16, by published values of the 8-bit formats, and by brute force over all codes. */
#include "test.h"
#include "base/arena.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/env.h"
#include "base/log.h"
#include "base/map.h"
#include "base/status.h"
#include <math.h>
#include <pthread.h>

TEST(arena) {
    tt_arena *a = tt_arena_create();
    size_t first = tt_arena_bytes(a);
    char *kept = tt_arena_printf(a, "%s %d", "kept", 1);
    tt_arena_mark mark = tt_arena_mark_get(a);
    for (int i = 0; i < 2000; i++) {
        unsigned char *p = tt_arena_alloc(a, (size_t)i);
        CHECK(((uintptr_t)p & 15) == 0);
        for (int k = 0; k < i; k++)
            CHECK(p[k] == 0);
        memset(p, 0xAB, (size_t)i);
    }
    CHECK(tt_arena_bytes(a) > 2000 * 1000);
    tt_arena_rewind(a, mark);
    CHECK(tt_arena_bytes(a) == first);
    CHECK_TEXT(kept, "kept 1");
    char *dirty = tt_arena_alloc(a, 100);
    for (int k = 0; k < 100; k++)
        CHECK(dirty[k] == 0); /* zeroed again though the memory was used before */
    char *big = tt_arena_alloc(a, 100 << 20);
    big[(100 << 20) - 1] = 1;
    tt_arena_reset(a);
    CHECK(tt_arena_bytes(a) == first);
    char *text = tt_arena_printf(a, "%*d", 1000, 7);
    CHECK(strlen(text) == 1000 && text[999] == '7');
    tt_arena_destroy(a);
    tt_arena_destroy(NULL);
}

TEST(text) {
    tt_str s = {0};
    for (int i = 0; i < 1000; i++)
        tt_str_printf(&s, "%d,", i);
    CHECK(s.length == 10 * 2 + 90 * 3 + 900 * 4);
    tt_str_append(&s, "x\0y", 3);
    CHECK(s.data[s.length - 1] == 'y' && s.data[s.length] == 0);
    char *taken = tt_str_take(&s);
    CHECK(!s.data && !strncmp(taken, "0,1,2,", 6));
    free(taken);
    tt_str_printf(&s, "%*d", 5000, 1);
    CHECK(s.length == 5000);
    tt_str_deinit(&s);
    taken = tt_str_take(&s);
    CHECK_TEXT(taken, "");
    free(taken);
}

static tt_status fails(int depth) {
    if (!depth)
        TT_FAIL(OUT_OF_RANGE, "index %d is outside %d", 7, 5);
    TT_TRY_IN(fails(depth - 1), "frame %d", depth);
    return TT_OK;
}

TEST(status) {
    tt_status e = fails(6);
    CHECK(tt_status_code(e) == TT_OUT_OF_RANGE);
    CHECK_TEXT(tt_status_message(e), "index 7 is outside 5");
    int saved = tt_log_level;
    tt_log_level = 0;
    CHECK_TEXT(tt_status_text(e),
               "index 7 is outside 5\n  in frame 1\n  in frame 2\n  in frame 3\n  in frame 4");
    tt_log_level = saved;
    tt_status_free(e);
    tt_status_free(NULL);
    CHECK(tt_status_code(TT_OK) == TT_OK_CODE);
    CHECK_TEXT(tt_code_name(TT_INVALID_ARGUMENT), "INVALID_ARGUMENT");
    CHECK_TEXT(tt_code_name(TT_OK_CODE), "OK");
}

TEST(environment) {
    setenv("TORCH_TPU_VIRTUAL_CHIPS", "8", 1);
    setenv("TORCH_TPU_LAUNCH_BLOCKING", "yes", 1);
    setenv("TORCH_TPU_CACHE_BYTES", "many", 1);
    unsetenv("TORCH_TPU_PLUGIN");
    tt_env_reload();
    CHECK(tt_env_int(TT_ENV_VIRTUAL_CHIPS) == 8 && tt_env_is_set(TT_ENV_VIRTUAL_CHIPS));
    CHECK(tt_env_int(TT_ENV_LAUNCH_BLOCKING) == 1);
    CHECK(tt_env_int(TT_ENV_CACHE_BYTES) == 4294967296); /* unreadable: the default */
    CHECK_TEXT(tt_env_text(TT_ENV_PLUGIN), "");
    CHECK(!tt_env_is_set(TT_ENV_PLUGIN));
    const char *before = tt_env_text(TT_ENV_VIRTUAL_CHIPS);
    setenv("TORCH_TPU_VIRTUAL_CHIPS", "4", 1);
    CHECK(tt_env_int(TT_ENV_VIRTUAL_CHIPS) == 8); /* read once */
    tt_env_reload();
    CHECK(tt_env_int(TT_ENV_VIRTUAL_CHIPS) == 4);
    CHECK_TEXT(before, "8"); /* borrowed text stays */
    unsetenv("TORCH_TPU_VIRTUAL_CHIPS");
    tt_env_reload();
}

static void *read_environment(void *context) {
    for (int i = 0; i < 1000; i++)
        *(int64_t *)context += tt_env_int((tt_env)(i % TT_N_ENV)) != -1;
    return NULL;
}

TEST(environment_threads) {
    pthread_t threads[4];
    int64_t counts[4] = {0};
    tt_env_reload();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, read_environment, &counts[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(counts[i] == 1000);
    }
}

TEST(hash) {
    /* no collisions among short strings, and each bit of the input changes about half of the output */
    enum { N = 20000 };
    tt_map *m = tt_map_create();
    for (uint32_t i = 0; i < N; i++) {
        char text[16];
        int n = snprintf(text, sizeof text, "%x", i * 2654435761u);
        CHECK(!tt_map_put(m, tt_hash_bytes(text, (size_t)n, (tt_hash){1, 2}), (void *)(uintptr_t)(i + 1)));
    }
    tt_map_destroy(m);
    unsigned char data[100] = {0};
    tt_hash base = tt_hash_bytes(data, sizeof data, (tt_hash){0, 0});
    int flips = 0;
    for (int bit = 0; bit < 800; bit++) {
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        tt_hash h = tt_hash_bytes(data, sizeof data, (tt_hash){0, 0});
        flips += __builtin_popcountll(h.a ^ base.a) + __builtin_popcountll(h.b ^ base.b);
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    CHECK(flips > 800 * 55 && flips < 800 * 73);
    for (size_t n = 1; n < 100; n++) /* zeros of different lengths differ */
        CHECK(!tt_hash_equal(tt_hash_bytes(data, n, (tt_hash){0, 0}),
                             tt_hash_bytes(data, n - 1, (tt_hash){0, 0})));
}

TEST(map) {
    tt_map *m = tt_map_create();
    uint64_t seed = 1;
    void *shadow[512] = {0};
    size_t count = 0;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t k = seed >> 33 & 511;
        tt_hash key = {k, k * 7};
        if (seed >> 20 & 1) {
            void *value = (void *)(uintptr_t)(i + 1);
            CHECK(tt_map_put(m, key, value) == shadow[k]);
            count += !shadow[k];
            shadow[k] = value;
        } else {
            CHECK(tt_map_remove(m, key) == shadow[k]);
            count -= shadow[k] != NULL;
            shadow[k] = NULL;
        }
        CHECK(tt_map_count(m) == count);
    }
    size_t cursor = 0, seen = 0;
    tt_hash key;
    void *value;
    while (tt_map_next(m, &cursor, &key, &value)) {
        CHECK(shadow[key.a] == value && tt_map_find(m, key) == value);
        seen++;
    }
    CHECK(seen == count);
    tt_map_destroy(m);
}

TEST(checked) {
    int64_t r = 5;
    size_t z = 5;
    CHECK(tt_add_i64(1, 2, &r) && r == 3);
    CHECK(!tt_add_i64(INT64_MAX, 1, &r) && r == 3);
    CHECK(!tt_mul_i64(INT64_MAX / 2, 3, &r) && !tt_sub_i64(INT64_MIN, 1, &r));
    CHECK(!tt_mul_size(SIZE_MAX / 2, 3, &z) && !tt_add_size(SIZE_MAX, 1, &z) && z == 5);
}

TEST(dtype_table) {
    CHECK(tt_dtype_from_name("bf16", 4) == TT_BF16 && tt_dtype_from_name("complex<f32>", 12) == TT_C64);
    CHECK(tt_dtype_from_name("f3", 2) == TT_DTYPE_NONE && tt_dtype_from_name("f322", 4) == TT_DTYPE_NONE);
    CHECK(tt_dtype_from_torch(6) == TT_F32 && tt_dtype_from_torch(-1) == TT_DTYPE_NONE &&
          tt_dtype_to_torch(TT_I4) == -1);
    CHECK(tt_dtype_from_pjrt(13) == TT_BF16 && tt_dtype_size(TT_C128) == 16 && tt_dtype_size(TT_PRED) == 1);
    CHECK(tt_dtype_real(TT_C128) == TT_F64 && tt_dtype_real(TT_I8) == TT_I8);
    CHECK(tt_is_float(TT_F8E8M0FNU) && tt_is_int(TT_U2) && !tt_is_int(TT_PRED) && tt_is_complex(TT_C64));
    for (int d = 1; d < TT_N_DTYPES; d++) {
        CHECK(tt_dtype_from_name(tt_dtype_name((tt_dtype)d), (int)strlen(tt_dtype_name((tt_dtype)d))) ==
              (tt_dtype)d);
        CHECK(tt_dtype_from_pjrt(tt_dtype_to_pjrt((tt_dtype)d)) == (tt_dtype)d);
    }
    CHECK_TEXT(tt_dtype_name(TT_DTYPE_NONE), "none");
}

TEST(half) {
    for (uint32_t i = 0; i < 65536; i++) {
        _Float16 h;
        uint16_t bits = (uint16_t)i;
        memcpy(&h, &bits, 2);
        float have = tt_f16_to_f32(bits), want = (float)h;
        CHECK(have == want || (isnan(have) && isnan(want)));
        CHECK(isnan(have) || tt_f32_to_f16(have) == bits);
    }
    for (uint64_t i = 0; i < 1000000; i++) {
        uint32_t u = (uint32_t)(i * 4398037);
        float f;
        memcpy(&f, &u, 4);
        _Float16 h = (_Float16)f;
        uint16_t want, bf;
        memcpy(&want, &h, 2);
        CHECK(isnan(f) || tt_f32_to_f16(f) == want);
        tt_element_set(TT_BF16, &bf, (double)f);
        CHECK(isnan(f) ? isnan(tt_bf16_to_f32(tt_f32_to_bf16(f))) : bf == tt_f32_to_bf16(f));
    }
}

/* Rounding to an 8-bit format is to the nearest of its values, found by looking at all of them. */
static void check_nearest(tt_dtype d) {
    for (int i = -3000; i < 3000; i++) {
        double v = i < 0 ? -exp2(-i * 0.01 - 20) : exp2(i * 0.01 - 20), best = INFINITY;
        unsigned char code;
        tt_element_set(d, &code, v);
        double have = tt_element_get(d, &code);
        for (int c = 0; c < 256; c++) {
            unsigned char each = (unsigned char)c;
            double w = tt_element_get(d, &each);
            if (isfinite(w) && fabs(w - v) < fabs(best - v))
                best = w;
        }
        if (isfinite(have))
            CHECK(fabs(have - v) == fabs(best - v));
        else
            CHECK(fabs(v) > fabs(best)); /* only past the largest */
    }
}

TEST(eighth) {
    static const struct {
        tt_dtype d;
        unsigned char code;
        double value;
    } known[] = {
        {TT_F8E4M3FN, 0x7E, 448},     {TT_F8E4M3FN, 0x01, 0x1p-9},  {TT_F8E4M3FN, 0x38, 1},
        {TT_F8E5M2, 0x7B, 57344},     {TT_F8E5M2, 0x01, 0x1p-16},   {TT_F8E5M2, 0x7C, INFINITY},
        {TT_F8E4M3FNUZ, 0x7F, 240},   {TT_F8E5M2FNUZ, 0x7F, 57344}, {TT_F8E4M3B11FNUZ, 0x7F, 30},
        {TT_F8E4M3, 0x77, 240},       {TT_F8E3M4, 0x6F, 15.5},      {TT_F8E8M0FNU, 127, 1},
        {TT_F8E8M0FNU, 254, 0x1p127}, {TT_F8E8M0FNU, 0, 0x1p-127},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        unsigned char code;
        CHECK(tt_element_get(known[i].d, &known[i].code) == known[i].value);
        tt_element_set(known[i].d, &code, known[i].value);
        CHECK(code == known[i].code);
    }
    for (int d = 1; d < TT_N_DTYPES; d++) {
        if (!tt_is_float((tt_dtype)d) || tt_dtype_size((tt_dtype)d) != 1)
            continue;
        for (int c = 0; c < 256; c++) {
            unsigned char code = (unsigned char)c, back;
            double v = tt_element_get((tt_dtype)d, &code);
            tt_element_set((tt_dtype)d, &back, v);
            CHECK(isnan(v) ? isnan(tt_element_get((tt_dtype)d, &back)) : back == code);
        }
        if (d != TT_F8E8M0FNU)
            check_nearest((tt_dtype)d);
    }
}

TEST(integers) {
    static const tt_dtype all[] = {TT_I8,  TT_I16, TT_I32, TT_I64, TT_U8, TT_U16,
                                   TT_U32, TT_U64, TT_I4,  TT_U4,  TT_I2, TT_U2};
    static const int bits[] = {8, 16, 32, 64, 8, 16, 32, 64, 4, 4, 2, 2};
    for (int i = 0; i < 12; i++) {
        bool is_signed = tt_dtype_class(all[i]) == TT_CLASS_SINT;
        int64_t low = is_signed ? INT64_MIN >> (64 - bits[i]) : 0;
        int64_t high = is_signed ? INT64_MAX >> (64 - bits[i]) : (int64_t)(UINT64_MAX >> (64 - bits[i]));
        unsigned char e[8];
        tt_element_set_int(all[i], e, low);
        CHECK(tt_element_get_int(all[i], e) == low);
        tt_element_set_int(all[i], e, high);
        CHECK(tt_element_get_int(all[i], e) == high);
        if (bits[i] < 64) { /* wraps */
            tt_element_set_int(all[i], e, high + 1);
            CHECK(tt_element_get_int(all[i], e) == low);
        }
        tt_element_set(all[i], e, 1.9);
        CHECK(tt_element_get_int(all[i], e) == 1 || bits[i] < 2);
    }
    uint64_t u;
    tt_element_set(TT_U64, &u, 18446744073709549568.0);
    CHECK(u == 18446744073709549568ull && tt_element_get(TT_U64, &u) == 18446744073709549568.0);
    unsigned char p;
    tt_element_set(TT_PRED, &p, 0.5);
    CHECK(p == 1 && tt_element_get(TT_PRED, &p) == 1);
    float complex_element[2] = {1, 2};
    tt_element_set(TT_C64, complex_element, 3);
    CHECK(complex_element[0] == 3 && complex_element[1] == 0 && tt_element_get(TT_C64, complex_element) == 3);
}
