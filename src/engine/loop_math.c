/* loop_math.c - which tile kernels this CPU runs, and vector math for the engine's other kernels.
 *
 * Largest errors over all f32, in ulp, with FMA: exp 0.83, expm1 1.35, log 0.75, log1p 1.44, tanh 1.24, erf 1.25, logistic 2.02,
 * sine 1.41, cosine 1.40, rsqrt 1.48, erf_inv 3.1, power 0.51; without FMA none is above 3.4 (tests/c/test_engine_loops.c).
 * Of f64, where measured: exp 1.1, expm1 1.9, log 0.9, log1p 1.3, sine and cosine 1.4, tan 2.6, tanh 2.6, erf 1.1, erfc 3.5, asin 2.0, atan 1.9. */
#include "engine/isa.h"
#include "engine/loop.h"
#include <string.h>

loop_kernel loop_find(int op, tt_dtype in, tt_dtype out, int direction) {
    eng_isa isa = eng_isa_level();
    loop_kernel k = isa >= ENG_ISA_AVX512  ? loop_find_avx512(op, in, out, direction)
                    : isa == ENG_ISA_AVX2 ? loop_find_avx2(op, in, out, direction)
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
    if (node->n_attrs && hlo_attr_find(node, HLO_A_TT_BOUNDS)) /* it may fail, which loops cannot */
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
