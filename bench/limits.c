/* limits.c - what one core of this machine can do: read and triad bandwidth from memory, and multiply-add peaks of f32 and, where the processor
 * has them, of bf16 pairs. Prints one line of JSON; the best of many tries, since others use the machine. cc -O2 -march=native */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { LANES = 16, N = 1 << 25, TRIES = 24 };
typedef float vec __attribute__((vector_size(4 * LANES)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float sink;

static void fill_line(vec *at, vec value) { /* past the caches where we know how */
#ifdef __AVX512F__
    _mm512_stream_ps((float *)at, (__m512)value);
#else
    *at = value;
#endif
}

/* In as many streams: which number suits the prefetchers differs. */
static double read_rate(const vec *x, size_t streams) {
    vec sum[8] = {{0}};
    const size_t part = N / LANES / streams;
    double start = now();
    for (size_t i = 0; i < part; i += 8)
        for (size_t s = 0; s < streams; s++)
            for (int j = 0; j < 8; j++)
                sum[j] += x[s * part + i + (size_t)j];
    double seconds = now() - start;
    for (int j = 0; j < 8; j++)
        sink += sum[j][0];
    return 4.0 * N / seconds;
}

static double triad_rate(vec *a, const vec *b, const vec *c) {
    double start = now();
    for (size_t i = 0; i < N / LANES; i++)
        fill_line(&a[i], b[i] + 0.5f * c[i]);
    return 12.0 * N / (now() - start);
}

static double f32_rate(void) {
    enum { CHAINS = 12, STEPS = 4000000 };
    vec acc[CHAINS], a = (vec){0} + 0.999f, b = (vec){0} + 1e-3f;
    for (int j = 0; j < CHAINS; j++)
        acc[j] = (vec){0} + (float)j;
    double start = now();
    for (int i = 0; i < STEPS; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < CHAINS; j++)
            acc[j] = acc[j] * a + b;
        __asm__ volatile("" : "+x"(a), "+x"(b));
    }
    double seconds = now() - start;
    for (int j = 0; j < CHAINS; j++)
        sink += acc[j][0];
    return 2.0 * LANES * CHAINS * STEPS / seconds;
}

static double bf16_rate(void) {
#ifdef __AVX512BF16__
    enum { CHAINS = 12, STEPS = 4000000 };
    __m512 acc[CHAINS];
    __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f80), b = a;
    for (int j = 0; j < CHAINS; j++)
        acc[j] = _mm512_set1_ps((float)j);
    double start = now();
    for (int i = 0; i < STEPS; i++) {
#pragma GCC unroll 12
        for (int j = 0; j < CHAINS; j++)
            acc[j] = _mm512_dpbf16_ps(acc[j], a, b);
        __asm__ volatile("" : "+v"(a), "+v"(b));
    }
    double seconds = now() - start;
    for (int j = 0; j < CHAINS; j++)
        sink += _mm512_cvtss_f32(acc[j]);
    return 4.0 * LANES * CHAINS * STEPS / seconds;
#else
    return 0;
#endif
}

int main(void) {
    vec *x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = aligned_alloc(4096, 4 * N);
        if (!x[i])
            return 1;
        memset(x[i], 0, 4 * N);
    }
    double best[4] = {0};
    for (int t = 0; t < TRIES; t++) {
        double rate[4] = {read_rate(x[t % 3], (size_t)1 << t % 4), triad_rate(x[0], x[1], x[2]), f32_rate(), bf16_rate()};
        for (int i = 0; i < 4; i++)
            best[i] = rate[i] > best[i] ? rate[i] : best[i];
    }
    printf("{\"read\": %.4g, \"triad\": %.4g, \"f32\": %.4g, \"bf16\": %.4g}\n", best[0], best[1], best[2], best[3]);
    return sink > 1e30f;
}
