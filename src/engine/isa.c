/* isa.c - asks the processor once what it has: the level whose kernels run, and by name what else was seen.
 *
 * The level comes from the compiler's CPUID helpers, which also ask whether the system saves the registers. The names come from
 * tables: a feature without kernels of its own (AMX, AVX10, SVE) is seen, said in the log, and the best level below it runs. */
#include "engine/isa.h"
#include "base/env.h"
#include "base/log.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static _Atomic int limit = ENG_ISA_AVX512_BF16;
static eng_isa detected;
static char features[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const names[] = {"portable", "avx2", "avx512", "avx512_bf16"};

typedef struct feature {
    const char *name;
    uint8_t word, bit;
} feature;

#if defined(__x86_64__)
enum { LEAF1_C, LEAF7_B, LEAF7_D, LEAF7_1_A, LEAF7_1_D, WORDS };
static const feature table[] = {
    {"sse4_2", LEAF1_C, 20},     {"avx", LEAF1_C, 28},         {"fma", LEAF1_C, 12},         {"f16c", LEAF1_C, 29},
    {"avx2", LEAF7_B, 5},        {"avx512f", LEAF7_B, 16},     {"avx512bw", LEAF7_B, 30},    {"avx512_fp16", LEAF7_D, 23},
    {"avx512_bf16", LEAF7_1_A, 5}, {"avx_vnni", LEAF7_1_A, 4}, {"avx10", LEAF7_1_D, 19},     {"amx_tile", LEAF7_D, 24},
    {"amx_bf16", LEAF7_D, 22},   {"amx_int8", LEAF7_D, 25},    {"amx_fp16", LEAF7_1_A, 21},  {"amx_complex", LEAF7_1_D, 8},
};

static void read_words(uint64_t *words) {
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d))
        words[LEAF1_C] = c;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;
    words[LEAF7_B] = b;
    words[LEAF7_D] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        words[LEAF7_1_A] = a;
        words[LEAF7_1_D] = d;
    }
}

static eng_isa level_of_processor(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c") ||
        !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
        return ENG_ISA_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512cd"))
        return ENG_ISA_AVX2;
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni") ? ENG_ISA_AVX512_BF16 : ENG_ISA_AVX512;
}
#elif defined(__aarch64__)
enum { HWCAP, HWCAP2, WORDS };
static const feature table[] = { /* bits of the kernel's interface; NEON and FMA every 64-bit ARM has */
    {"asimd", HWCAP, 1},  {"fp16", HWCAP, 10},   {"dotprod", HWCAP, 20}, {"sve", HWCAP, 22},   {"sve2", HWCAP2, 1},
    {"i8mm", HWCAP2, 13}, {"bf16", HWCAP2, 14},  {"sme", HWCAP2, 23},    {"sme2", HWCAP2, 37},
};

static void read_words(uint64_t *words) {
    words[HWCAP] = getauxval(AT_HWCAP);
    words[HWCAP2] = getauxval(AT_HWCAP2);
}

static eng_isa level_of_processor(void) { return ENG_ISA_PORTABLE; }
#else
enum { WORDS = 1 };
static const feature table[] = {{"", 0, 0}};
static void read_words(uint64_t *words) { (void)words; }
static eng_isa level_of_processor(void) { return ENG_ISA_PORTABLE; }
#endif

static void detect(void) {
    uint64_t words[WORDS] = {0};
    size_t n = 0;
    read_words(words);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (words[table[i].word] >> table[i].bit & 1)
            n += (size_t)snprintf(features + n, sizeof features - n, "%s%s", n ? " " : "", table[i].name);
    detected = level_of_processor();
    const char *wanted = tt_env_text(TT_ENV_ISA);
    int most = ENG_ISA_AVX512_BF16;
    for (int i = 0; i <= ENG_ISA_AVX512_BF16; i++)
        if (!strcmp(wanted, names[i]))
            most = i;
    if (*wanted && strcmp(wanted, names[most]))
        tt_log_write(0, "engine: TORCH_TPU_ISA=%s is none of portable, avx2, avx512, avx512_bf16; ignored", wanted);
    if ((int)detected > most)
        detected = (eng_isa)most;
    TT_LOG(1, "engine: kernels=%s processor=\"%s\"", names[detected], features);
}

eng_isa eng_isa_level(void) {
    pthread_once(&once, detect);
    int most = atomic_load_explicit(&limit, memory_order_relaxed);
    return (int)detected < most ? detected : (eng_isa)most;
}

eng_isa eng_isa_limit(eng_isa most) {
    atomic_store_explicit(&limit, (int)most, memory_order_relaxed);
    return eng_isa_level();
}

const char *eng_isa_name(eng_isa isa) {
    return names[isa];
}

const char *eng_isa_features(void) {
    pthread_once(&once, detect);
    return features;
}
