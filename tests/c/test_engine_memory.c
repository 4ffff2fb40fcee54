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
