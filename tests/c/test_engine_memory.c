/* test_engine_memory.c - the allocator under the engine's buffers: its counts, and that what was freed goes back to the system. */
#include "test.h"
#include "engine/memory.h"
#include <unistd.h>

static int64_t resident(void) {
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2)
        pages = -1;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static int64_t cached(eng_memory *m) {
    eng_memory_stats s;
    eng_memory_stats_get(m, &s);
    return s.cached;
}

static void *take(eng_memory *m, int64_t bytes) {
    void *p = NULL;
    CHECK_OK(eng_memory_alloc(m, bytes, &p));
    if (p)
        memset(p, 1, (size_t)bytes);
    return p;
}

TEST(counts) {
    eng_memory *m = eng_memory_create(0, 100 << 20);
    eng_memory_stats s;
    void *a = take(m, 1000), *b = take(m, 3 << 20), *none = NULL;
    eng_memory_stats_get(m, &s);
    CHECK(s.n_live == 2 && s.in_use >= 1000 + (3 << 20) && s.in_use < 5 << 20 && s.peak == s.in_use);
    tt_status e = eng_memory_alloc(m, 200 << 20, &none);
    CHECK(e && tt_status_code(e) == TT_RESOURCE_EXHAUSTED && !none);
    tt_status_free(e);
    eng_memory_free(m, a, 1000);
    eng_memory_free(m, b, 3 << 20);
    eng_memory_stats_get(m, &s);
    CHECK(s.n_live == 0 && s.in_use == 0);
    eng_memory_trim(m);
    CHECK(cached(m) == 0);
    eng_memory_destroy(m);
}

static void wait_until_small(eng_memory *m, int64_t most) {
    for (int i = 0; i < 200 && cached(m) > most; i++)
        usleep(20000);
}

TEST(peaks_go_back_to_the_system) {
    enum { N = 40, SMALL = 4000 };
    static void *blocks[N], *small[SMALL];
    eng_memory *m = eng_memory_create(0, 0);
    eng_memory_period(100);
    int64_t before = resident();
    for (int i = 0; i < N; i++)
        blocks[i] = take(m, 8 << 20);
    for (int i = 0; i < SMALL; i++)
        small[i] = take(m, 10000);
    int64_t peak = resident();
    CHECK(peak - before > (int64_t)300 << 20);
    for (int i = 0; i < N; i++)
        eng_memory_free(m, blocks[i], 8 << 20);
    for (int i = 0; i < SMALL; i++)
        eng_memory_free(m, small[i], 10000);
    wait_until_small(m, 16 << 20);
    CHECK(cached(m) <= 16 << 20);
    usleep(100000); /* the sweep that was begun ends */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(resident() - before < (peak - before) / 8);
#endif
    eng_memory_destroy(m);
    eng_memory_period(5000);
}

/* Blocks in steady use stay: a step's allocations make no system calls. */
TEST(blocks_in_use_stay) {
    eng_memory *m = eng_memory_create(0, 0);
    eng_memory_period(100);
    void *hot = NULL;
    int moved = 0;
    eng_memory_free(m, take(m, 64 << 20), 64 << 20); /* nobody wants it again */
    for (int i = 0; i < 100; i++) {
        void *p = take(m, 32 << 20);
        moved += hot && p != hot;
        hot = p;
        eng_memory_free(m, p, 32 << 20);
        usleep(1000);
    }
#ifndef __SANITIZE_ADDRESS__
    CHECK(moved < 10); /* a stalled machine may miss a period */
#endif
    wait_until_small(m, 33 << 20);
    CHECK(cached(m) <= 33 << 20);
    eng_memory_destroy(m);
    eng_memory_period(5000);
}

static eng_rows *one_row(int64_t bytes, int32_t at) {
    eng_rows *r = calloc(1, sizeof *r + sizeof *r->at);
    r->bytes = bytes, r->pitch = 64, r->n = r->capacity = 1;
    r->at[0] = at;
    return r;
}

/* A block that was freed with its rows comes back with them to whom asks for such, whole; to others it is a block like any. */
TEST(zeros_keep_their_rows) {
    enum { BYTES = 1 << 20, LESS = BYTES - 1000, MORE = BYTES + 4096 };
    eng_memory *m = eng_memory_create(0, 0);
    eng_rows *rows = NULL;
    void *a = NULL, *b = NULL;
    CHECK_OK(eng_memory_alloc_rows(m, BYTES, &a, &rows));
    CHECK(a && !rows);
    memset(a, 0, BYTES);
    ((char *)a)[64 * 3] = 1;
    eng_memory_free_rows(m, a, BYTES, one_row(BYTES, 3));
#ifndef __SANITIZE_ADDRESS__
    CHECK(cached(m) == BYTES);
    CHECK_OK(eng_memory_alloc_rows(m, LESS, &b, &rows));
    CHECK(b == a && rows && rows->at[0] == 3 && !((char *)b)[0] && ((char *)b)[64 * 3] == 1 && cached(m) == 0);
    eng_memory_free_rows(m, b, LESS, rows);
    rows = NULL;
    CHECK_OK(eng_memory_alloc(m, BYTES, &b));
    CHECK(b == a && cached(m) == 0);
    eng_memory_free_rows(m, b, LESS, one_row(LESS, 3));
    CHECK_OK(eng_memory_alloc_rows(m, BYTES, &b, &rows));
    CHECK(b == a && !rows); /* what lies behind LESS is not known */
    eng_memory_free(m, b, BYTES);
    CHECK_OK(eng_memory_alloc_rows(m, BYTES, &b, &rows));
    CHECK(b == a && !rows);
#else
    CHECK_OK(eng_memory_alloc(m, BYTES, &b));
#endif
    eng_memory_free_rows(m, b, BYTES, one_row(BYTES, 3));
    eng_memory_trim(m);
    CHECK(cached(m) == 0);
    for (int i = 0; i < 300; i++) { /* more than are kept with their rows */
        static void *blocks[300];
        blocks[i] = take(m, 100 << 10);
        for (int k = 0; i == 299 && k < 300; k++)
            eng_memory_free_rows(m, blocks[k], 100 << 10, one_row(100 << 10, 0));
    }
    eng_memory_destroy(m);
}
