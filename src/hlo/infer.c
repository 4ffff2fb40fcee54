/* infer.c - result types: the dispatch over hlo.def's shape column, and the rules of elementwise ops.
 *
 * One rule both infers and checks, so builders (no types given) and hlo_verify (types given) cannot disagree.
 * Rules of shape ops, windows and control are in infer_shape.c, infer_window.c and infer_control.c. */
#include "hlo/internal.h"

/* Which classes of element types an op takes, as bits of 1 << tt_class. */
enum {
    P = 1 << TT_CLASS_PRED,
    S = 1 << TT_CLASS_SINT,
    U = 1 << TT_CLASS_UINT,
    F = 1 << TT_CLASS_FLOAT,
    X = 1 << TT_CLASS_COMPLEX
};
enum { ANY = P | S | U | F | X, INT = S | U, BITS = P | S | U, FX = F | X, NUM = S | U | F | X };

static unsigned classes_of(hlo_op op) {
    switch ((int)op) {
    case HLO_ABS:
    case HLO_SIGN:
        return S | F | X;
    case HLO_CEIL:
    case HLO_FLOOR:
    case HLO_ROUND_AFZ:
    case HLO_ROUND_EVEN:
    case HLO_IS_FINITE:
    case HLO_REDUCE_PRECISION:
    case HLO_COMPLEX:
    case HLO_CHLO_BESSEL_I1E:
    case HLO_CHLO_DIGAMMA:
    case HLO_CHLO_ERF:
    case HLO_CHLO_ERF_INV:
    case HLO_CHLO_ERFC:
    case HLO_CHLO_LGAMMA:
    case HLO_CHLO_NEXT_AFTER:
    case HLO_CHLO_IS_INF:
    case HLO_CHLO_POLYGAMMA:
    case HLO_CHLO_ZETA:
        return F;
    case HLO_CLZ:
    case HLO_CHLO_MULHI:
    case HLO_POPCNT:
    case HLO_SHIFT_LEFT:
    case HLO_SHIFT_RIGHT_ARITH:
    case HLO_SHIFT_RIGHT_LOGICAL:
        return INT;
    case HLO_NOT:
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
        return BITS;
    case HLO_NEGATE:
    case HLO_DIVIDE:
    case HLO_REMAINDER:
    case HLO_SUBTRACT:
    case HLO_POWER:
        return NUM;
    case HLO_CBRT:
    case HLO_COSINE:
    case HLO_EXP:
    case HLO_EXPM1:
    case HLO_IMAG:
    case HLO_LOG:
    case HLO_LOG1P:
    case HLO_LOGISTIC:
    case HLO_REAL:
    case HLO_RSQRT:
    case HLO_SINE:
    case HLO_SQRT:
    case HLO_TAN:
    case HLO_TANH:
    case HLO_ATAN2:
    case HLO_CHLO_ACOS:
    case HLO_CHLO_ACOSH:
    case HLO_CHLO_ASIN:
    case HLO_CHLO_ASINH:
    case HLO_CHLO_ATAN:
    case HLO_CHLO_ATANH:
    case HLO_CHLO_COSH:
    case HLO_CHLO_SINH:
    case HLO_CHLO_SQUARE:
    case HLO_CHLO_TAN:
    case HLO_CHLO_CONJ:
        return FX;
    }
    return ANY;
}

static tt_status check_elementwise(const hlo_graph *g, const hlo_node *n) {
    unsigned classes = classes_of((hlo_op)n->op);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        const hlo_type *t = HLO_OPERAND(i);
        HLO_NEED(classes >> tt_dtype_class(t->dtype) & 1,
                 "operand %u has element type %s, which the op does not take", i, tt_dtype_name(t->dtype));
        HLO_NEED(!i || hlo_type_equal(t, HLO_OPERAND(0)), "operands have types %s and %s; they must be equal",
                 HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(i));
    }
    if (n->op == HLO_REDUCE_PRECISION)
        HLO_NEED(hlo_attr_int(n, HLO_A_EXPONENT_BITS, 0) >= 1 &&
                     hlo_attr_int(n, HLO_A_MANTISSA_BITS, -1) >= 0,
                 "exponent_bits must be at least 1 and mantissa_bits at least 0");
    return TT_OK;
}

static tt_status hlo_rule_SAME(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    HLO_NEED(n->n_operands >= 1, "needs an operand");
    if (hlo_op_flags((hlo_op)n->op) & HLO_F_ELEM)
        TT_TRY(check_elementwise(g, n));
    else
        TT_TRY(hlo_check_shape_op(g, n, given, out));
    *out = *HLO_OPERAND(0);
    return TT_OK;
}

static tt_status hlo_rule_PRED(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    TT_TRY(check_elementwise(g, n));
    if (n->op == HLO_COMPARE) {
        static const char *const directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
        const char *direction = hlo_attr_text(n, HLO_A_COMPARISON_DIRECTION, "");
        bool known = false;
        for (int i = 0; i < 6; i++)
            known |= direction[0] == directions[i][0] && direction[1] == directions[i][1] && !direction[2];
        HLO_NEED(known, "comparison_direction '%s' is none of EQ NE LT LE GT GE", direction);
        HLO_NEED(!tt_is_complex(HLO_OPERAND(0)->dtype) || direction[1] == 'Q' || direction[0] == 'N',
                 "complex numbers have no order (%s)", direction);
    }
    *out = hlo_type_with(HLO_OPERAND(0), TT_PRED);
    return TT_OK;
}

static tt_status hlo_rule_ABS(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    TT_TRY(check_elementwise(g, n));
    *out = hlo_type_with(HLO_OPERAND(0), tt_dtype_real(HLO_OPERAND(0)->dtype));
    return TT_OK;
}

static tt_status hlo_rule_REAL(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    return hlo_rule_ABS(g, n, given, out);
}

static tt_status hlo_rule_COMPLEX(const hlo_graph *g, const hlo_node *n, const hlo_type *given,
                                  hlo_type *out) {
    (void)given;
    TT_TRY(check_elementwise(g, n));
    tt_dtype d = HLO_OPERAND(0)->dtype;
    HLO_NEED(d == TT_F32 || d == TT_F64, "parts are %s; only f32 and f64 have a complex type",
             tt_dtype_name(d));
    *out = hlo_type_with(HLO_OPERAND(0), d == TT_F32 ? TT_C64 : TT_C128);
    return TT_OK;
}

static tt_status hlo_rule_CLAMP(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    (void)given;
    const hlo_type *x = HLO_OPERAND(1);
    for (uint32_t i = 0; i < 3; i += 2) {
        const hlo_type *t = HLO_OPERAND(i);
        HLO_NEED(t->dtype == x->dtype && (t->rank == 0 || hlo_dims_equal(t, x)),
                 "bound %s does not fit operand %s", HLO_OPERAND_TEXT(i), HLO_OPERAND_TEXT(1));
    }
    *out = *x;
    return TT_OK;
}

static tt_status hlo_rule_SELECT(const hlo_graph *g, const hlo_node *n, const hlo_type *given,
                                 hlo_type *out) {
    (void)given;
    const hlo_type *p = HLO_OPERAND(0), *a = HLO_OPERAND(1);
    HLO_NEED(p->dtype == TT_PRED && (p->rank == 0 || hlo_dims_equal(p, a)), "predicate %s does not fit %s",
             HLO_OPERAND_TEXT(0), HLO_OPERAND_TEXT(1));
    HLO_NEED(hlo_type_equal(a, HLO_OPERAND(2)), "branches have types %s and %s; they must be equal",
             HLO_OPERAND_TEXT(1), HLO_OPERAND_TEXT(2));
    *out = *a;
    return TT_OK;
}

static tt_status hlo_rule_GIVEN(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    HLO_NEED(given || !n->n_results, "the result type must be given");
    for (int i = 0; i < n->n_results; i++)
        out[i] = given[i];
    return hlo_check_given(g, n, given, out);
}

static hlo_rule *const rules[HLO_N_OPS] = {
#define HLO(name, text, n_operands, shape, flags) [HLO_##name] = hlo_rule_##shape,
#include "tables/hlo.def"
#undef HLO
};

/* Ops whose result may have another element type than the rule says: they accumulate wider, or were given so.
 */
static bool dtype_is_free(unsigned op) {
    switch (op) {
    case HLO_DOT_GENERAL:
    case HLO_CONVOLUTION:
    case HLO_REDUCE:
    case HLO_REDUCE_WINDOW:
    case HLO_SCATTER:
        return true;
    }
    return false;
}

tt_status hlo_infer(const hlo_graph *g, const hlo_node *n, const hlo_type *given, hlo_type *out) {
    if (n->op == HLO_INVALID || n->op >= HLO_N_OPS || (hlo_op_flags((hlo_op)n->op) & HLO_F_PSEUDO))
        TT_FAIL(INTERNAL, "op %u cannot be a node of a block", n->op);
    int want = hlo_op_operands((hlo_op)n->op);
    HLO_NEED(want < 0 || (int)n->n_operands == want, "has %u operands, takes %d", n->n_operands, want);
    for (uint32_t i = 0; i < n->n_operands; i++)
        HLO_NEED(n->operands[i] > 0 && n->operands[i] < g->n_nodes && HLO_OPERAND(i),
                 "operand %u is no value", i);
    bool multi = hlo_op_flags((hlo_op)n->op) & HLO_F_MULTI;
    bool effect = hlo_op_flags((hlo_op)n->op) & HLO_F_EFFECT;
    HLO_NEED(n->n_results == 1 || multi || (effect && !n->n_results), "has %u results", n->n_results);
    TT_TRY(rules[n->op](g, n, given, out));
    for (int i = 0; i < n->n_results; i++) {
        HLO_NEED(hlo_type_valid(&out[i]), "result type %s is out of range",
                 hlo_type_print(g->arena, &out[i]));
        if (!given)
            continue;
        bool same =
            dtype_is_free(n->op) ? hlo_dims_equal(&out[i], &given[i]) : hlo_type_equal(&out[i], &given[i]);
        HLO_NEED(same, "result %d has type %s, inferred %s", i, hlo_type_print(g->arena, &given[i]),
                 hlo_type_print(g->arena, &out[i]));
        out[i] = given[i];
    }
    return TT_OK;
}

bool hlo_dims_distinct(hlo_ints dims, int rank) {
    uint32_t seen = 0;
    for (int i = 0; i < dims.n; i++) {
        if (dims.v[i] < 0 || dims.v[i] >= rank || (seen >> dims.v[i] & 1))
            return false;
        seen |= 1u << dims.v[i];
    }
    return true;
}

bool hlo_ints_contain(hlo_ints dims, int64_t dim) {
    for (int i = 0; i < dims.n; i++)
        if (dims.v[i] == dim)
            return true;
    return false;
}
