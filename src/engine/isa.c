/* isa.c - asks the processor once, through the compiler's CPUID helpers, for what the kernels need.
 * Knows no kernel. */
#include "engine/isa.h"
#include <stdatomic.h>

static _Atomic int limit = ENG_ISA_AVX512_BF16;
static _Atomic int detected = -1;

static eng_isa detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return ENG_ISA_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return ENG_ISA_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? ENG_ISA_AVX512_BF16 : ENG_ISA_AVX512;
#else
    return ENG_ISA_PORTABLE;
#endif
}

eng_isa eng_isa_level(void) {
    int level = atomic_load_explicit(&detected, memory_order_relaxed);
    if (level < 0) {
        level = (int)detect();
        atomic_store_explicit(&detected, level, memory_order_relaxed);
    }
    int most = atomic_load_explicit(&limit, memory_order_relaxed);
    return (eng_isa)(level < most ? level : most);
}

eng_isa eng_isa_limit(eng_isa most) {
    atomic_store_explicit(&limit, (int)most, memory_order_relaxed);
    return eng_isa_level();
}

const char *eng_isa_name(eng_isa isa) {
    static const char *const names[] = {"portable", "avx2", "avx512", "avx512_bf16"};
    return names[isa];
}
