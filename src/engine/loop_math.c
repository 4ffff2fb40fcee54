/* loop_math.c - which tile kernels this CPU runs, and vector math for the engine's other kernels.
 *
 * Largest errors over all f32 in ulp, AVX-512 and AVX2 (tests/c measures them): see docs/engine.md. */
#include "engine/loop.h"
#include <stdatomic.h>
#include <string.h>

static _Atomic int limit = LOOP_ISA_AVX512;

static loop_isa detect(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return LOOP_ISA_BASE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return LOOP_ISA_AVX512;
    return LOOP_ISA_AVX2; /* every CPU with AVX2 has F16C */
#else
    return LOOP_ISA_BASE;
#endif
}

loop_isa loop_cpu(void) {
    static _Atomic int found = -1;
    int isa = atomic_load_explicit(&found, memory_order_relaxed);
    if (isa < 0) {
        isa = (int)detect();
        atomic_store_explicit(&found, isa, memory_order_relaxed);
    }
    int most = atomic_load_explicit(&limit, memory_order_relaxed);
    return (loop_isa)(isa < most ? isa : most);
}

void loop_cpu_limit(loop_isa isa) {
    atomic_store(&limit, (int)isa);
}

loop_kernel loop_find(int op, tt_dtype in, tt_dtype out, int direction) {
    loop_isa isa = loop_cpu();
    loop_kernel k = isa == LOOP_ISA_AVX512 ? loop_find_avx512(op, in, out, direction)
                    : isa == LOOP_ISA_AVX2 ? loop_find_avx2(op, in, out, direction)
                                           : loop_find_base(op, in, out, direction);
    return k ? k : loop_find_rare(op, in, out, direction);
}

int loop_direction_parse(const char *text) {
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    for (int i = 0; i < 6; i++)
        if (!strcmp(text, names[i]))
            return i;
    return -1;
}

loop_kernel loop_find_node(const hlo_graph *g, const hlo_node *node) {
    if (!(hlo_op_flags((hlo_op)node->op) & HLO_F_ELEM) || !node->type || !node->n_operands)
        return NULL;
    int direction = 0;
    if (node->op == HLO_COMPARE) {
        const char *kind = hlo_attr_text(node, HLO_A_COMPARE_TYPE, "");
        direction = loop_direction_parse(hlo_attr_text(node, HLO_A_COMPARISON_DIRECTION, ""));
        if (direction < 0 || !strcmp(kind, "TOTALORDER"))
            return NULL;
    }
    tt_dtype in = hlo_type_of(g, node->operands[node->op == HLO_SELECT || node->op == HLO_CLAMP ? 1 : 0])->dtype;
    return loop_find(node->op, in, node->type->dtype, direction);
}

#define VECTOR(name, op)                                                      \
    void name(float *dst, const float *src, int64_t n) {                      \
        loop_find(op, TT_F32, TT_F32, 0)(dst, src, NULL, NULL, n);            \
    }
VECTOR(eng_vexp, HLO_EXP)
VECTOR(eng_vtanh, HLO_TANH)
VECTOR(eng_verf, HLO_CHLO_ERF)
VECTOR(eng_vlog, HLO_LOG)
