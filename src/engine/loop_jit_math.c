/* loop_jit_math.c - elementwise ops as steps of the emitter, each the same arithmetic in the same order as in loop_vector.h. */
#include "engine/loop_jit.h"
#include <math.h>

#define P jit_program *p
#define EMIT(name, op) static int name(P, int a, int b) { return jit_emit(p, op, a, b, JIT_NONE, 0); }
EMIT(add, JIT_ADD)
EMIT(sub, JIT_SUB)
EMIT(mul, JIT_MUL)
EMIT(div_, JIT_DIV)
EMIT(max_x86, JIT_MAX)
EMIT(min_x86, JIT_MIN)
EMIT(and_, JIT_AND)
EMIT(or_, JIT_OR)
EMIT(xor_, JIT_XOR)
EMIT(add_int, JIT_ADD_INT)
EMIT(sub_int, JIT_SUB_INT)

static int k(P, double x) { return jit_number(p, (float)x); }
static int fma_(P, int a, int b, int c) { return jit_emit(p, JIT_FMA, a, b, c, 0); }
static int fms(P, int a, int b, int c) { return jit_emit(p, JIT_FMA, a, b, c, 1); }
static int rounded(P, int a, int mode) { return jit_emit(p, JIT_ROUND, a, JIT_NONE, JIT_NONE, mode); }
static int root(P, int a) { return jit_emit(p, JIT_SQRT, a, JIT_NONE, JIT_NONE, 0); }
static int shift(P, jit_op op, int a, int by) { return jit_emit(p, op, a, JIT_NONE, JIT_NONE, by); }
/* a * 2^n. Where no instruction does it: in two steps, as in loop_vector.h. */
static int scale2(P, int a, int n) {
    if (p->lanes == 16)
        return jit_emit(p, JIT_SCALE, a, n, JIT_NONE, 0);
    int whole = jit_emit(p, JIT_TO_INT, n, JIT_NONE, JIT_NONE, 0), first = shift(p, JIT_SAR, whole, 1), bias = jit_bits(p, 127);
    int x = shift(p, JIT_SHL, add_int(p, first, bias), 23), y = shift(p, JIT_SHL, add_int(p, sub_int(p, whole, first), bias), 23);
    return mul(p, mul(p, a, x), y);
}
static int test(P, int a, int b, int predicate) { return jit_emit(p, JIT_COMPARE, a, b, JIT_NONE, predicate); }
enum { EQ = 0x00, LT = 0x11, LE = 0x12, NE = 0x04, GE_SWAP = 0x12 };
static int sel(P, int mask, int a, int b) { return jit_emit(p, JIT_BLEND, a, b, mask, 0); }
static int magnitude(P, int a) { return and_(p, a, jit_bits(p, 0x7fffffff)); }
/* min(|a|, |b|); where one is a NaN, either of them */
static int smaller_magnitude(P, int a, int b) {
    return p->lanes == 16 ? jit_emit(p, JIT_SMALLER_MAGNITUDE, a, b, JIT_NONE, 0) : min_x86(p, a, magnitude(p, b));
}
static int with_sign(P, int m, int sign) {
    if (p->lanes == 16)
        return jit_emit(p, JIT_TERNARY, m, sign, jit_bits(p, 0x80000000u), 0xd8); /* the third chooses */
    int s = and_(p, sign, jit_bits(p, 0x80000000u));
    return or_(p, and_(p, m, jit_bits(p, 0x7fffffff)), s);
}
static int keep_nan(P, int x, int r) { return sel(p, test(p, x, x, NE), x, r); }

static int polynomial(P, int x, int n, const double *c) { /* c[0] x^(n-1) + ... */
    int r = k(p, c[0]);
    for (int i = 1; i < n; i++)
        r = fma_(p, r, x, k(p, c[i]));
    return r;
}
#define POLYNOMIAL(x, ...) polynomial(p, x, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (const double[]){__VA_ARGS__})

/* An operand that is a number, which relu and clamps have, spares most of an extreme: the processor's gives the other one where that is a
 * NaN or both are zero, which is wrong only where the number is the zero that wins. */
static bool is_number(P, int v, uint32_t *out_bits) {
    if (v < JIT_CONSTANT || v >= JIT_UNIFORM)
        return false;
    *out_bits = p->constants[v - JIT_CONSTANT];
    return (*out_bits & 0x7fffffff) <= 0x7f800000;
}

static int relu(P, int x) {
    /* a digit each for positive, negative, inf, -inf, one, zero, NaN, quiet NaN, last to first: 1 stays, 8 becomes +0 */
    if (p->lanes == 16)
        return jit_emit(p, JIT_RELU, x, jit_bits(p, 0x18181811), JIT_NONE, 0);
    return add(p, max_x86(p, k(p, 0), x), k(p, 0));
}

static int maximum(P, int a, int b) {
    uint32_t bits;
    if (is_number(p, a, &bits)) {
        int swap = a;
        a = b, b = swap;
    }
    if (is_number(p, b, &bits))
        return bits ? max_x86(p, b, a) : relu(p, a);
    int m = sel(p, test(p, a, b, EQ), and_(p, a, b), max_x86(p, a, b));
    return keep_nan(p, a, m);
}
static int minimum(P, int a, int b) {
    uint32_t bits;
    if (is_number(p, a, &bits)) {
        int swap = a;
        a = b, b = swap;
    }
    if (is_number(p, b, &bits) && bits != 0x80000000u)
        return min_x86(p, b, a);
    int m = sel(p, test(p, a, b, EQ), or_(p, a, b), min_x86(p, a, b));
    return keep_nan(p, a, m);
}

static int exponential(P, int x) {
    int c = min_x86(p, k(p, 89), max_x86(p, k(p, -104), x));
    int n = rounded(p, mul(p, c, k(p, 1.44269504088896341f)), 8);
    int r = fma_(p, n, k(p, -0.693145752f), c);
    r = fma_(p, n, k(p, -1.42860677e-6f), r);
    int e = POLYNOMIAL(r, 1.37805939e-3f, 8.37312452e-3f, 4.16695364e-2f, 1.66664720e-1f, 4.99999851e-1f, 1, 1);
    return scale2(p, e, n);
}

static int logistic(P, int x) {
    int e = exponential(p, or_(p, x, jit_bits(p, 0x80000000u)));
    int top = sel(p, test(p, x, k(p, 0), LT), e, k(p, 1));
    return div_(p, top, add(p, e, k(p, 1)));
}

static int tanh_(P, int x) {
    int a = magnitude(p, x), z = mul(p, x, x);
    int s = POLYNOMIAL(z, -5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f);
    s = fma_(p, mul(p, s, z), x, x);
    int c = min_x86(p, k(p, 20), a), e = exponential(p, add(p, c, c));
    int t = sub(p, k(p, 1), div_(p, k(p, 2), add(p, e, k(p, 1))));
    t = sel(p, test(p, a, k(p, 0.625f), LT), s, t);
    return with_sign(p, t, x);
}

/* Steps of the form below come between those of the one above, each of which waits for the one before. */
static int erf_(P, int x) {
    static const double below[] = {-6.20325562e-4f, 5.03218127e-3f, -2.67914627e-2f, 1.12824552e-1f, -3.76125515e-1f, 1.28379151e-1f};
    static const double power[] = {1.32257072e-3f, 9.67176259e-3f, 5.55089153e-2f, 2.40222365e-1f, 6.93146825e-1f, 1};
    static const double above[] = {3.09897820e-4f, -4.64807032e-3f, 3.30553055e-2f, -1.51911438e-1f, -9.17108655e-1f, -1.62811375e0f};
    int s = mul(p, x, x), t = smaller_magnitude(p, k(p, 4), x), large = test(p, k(p, 0.765625f), s, LT), q = k(p, below[0]), r = k(p, above[0]);
    int step = 1;
    for (int i = 1; i < 6; i++) {
        r = fma_(p, r, t, k(p, above[i]));
        if (i % 2)
            q = fma_(p, q, s, k(p, below[step++]));
    }
    int n = rounded(p, mul(p, r, t), 8), f = fms(p, r, t, n), e = k(p, power[0]);
    for (int i = 1; i < 6; i++) {
        e = fma_(p, e, f, k(p, power[i]));
        if (step < 6)
            q = fma_(p, q, s, k(p, below[step++]));
    }
    q = fma_(p, q, x, x);
    return sel(p, large, with_sign(p, sub(p, k(p, 1), scale2(p, e, n)), x), q);
}

static int log_(P, int x) {
    int tiny = test(p, x, k(p, 1.17549435e-38f), LT), y = sel(p, tiny, mul(p, x, k(p, 8388608.0f)), x);
    int e = sub_int(p, and_(p, shift(p, JIT_SHR, y, 23), jit_bits(p, 255)), jit_bits(p, 126));
    int m = or_(p, and_(p, y, jit_bits(p, 0x007fffff)), jit_bits(p, 0x3f000000));
    int low = test(p, m, k(p, 0.707106781186547524f), LT);
    int ef = jit_emit(p, JIT_TO_FLOAT, e, JIT_NONE, JIT_NONE, 0);
    ef = sub(p, ef, sel(p, low, k(p, 1), k(p, 0)));
    ef = sub(p, ef, sel(p, tiny, k(p, 23), k(p, 0)));
    m = sub(p, add(p, m, sel(p, low, m, k(p, 0))), k(p, 1));
    int z = mul(p, m, m);
    int q = POLYNOMIAL(m, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                       2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
    int r = mul(p, mul(p, q, m), z);
    r = fma_(p, ef, k(p, -2.12194440e-4f), r);
    r = fma_(p, z, k(p, -0.5f), r);
    r = add(p, m, r);
    r = fma_(p, ef, k(p, 0.693359375f), r);
    r = sel(p, test(p, x, k(p, 0), EQ), k(p, -INFINITY), r);
    r = sel(p, test(p, x, k(p, 0), LT), jit_bits(p, 0x7fc00000), r);
    int through = jit_emit(p, JIT_MASK_OR, test(p, x, x, NE), test(p, x, k(p, INFINITY), EQ), JIT_NONE, 0);
    return sel(p, through, x, r);
}

static int sign(P, int x) {
    int through = jit_emit(p, JIT_MASK_OR, test(p, x, k(p, 0), EQ), test(p, x, x, NE), JIT_NONE, 0);
    return sel(p, through, x, with_sign(p, k(p, 1), x));
}

static int compare(P, const loop_instr *q, int a, int b) {
    static const int floats[6] = {EQ, NE, LT, LE, LT, LE}, ints[6] = {0, 4, 1, 2, 1, 2};
    bool swap = q->direction >= LOOP_GT;
    if (q->in == TT_I32)
        return jit_emit(p, JIT_COMPARE_INT, swap ? b : a, swap ? a : b, JIT_NONE, ints[q->direction]);
    return test(p, swap ? b : a, swap ? a : b, floats[q->direction]);
}

static int unary(P, int op, int x) {
    switch (op) {
    case HLO_ABS: return magnitude(p, x);
    case HLO_NEGATE: return xor_(p, x, jit_bits(p, 0x80000000u));
    case HLO_EXP: return exponential(p, x);
    case HLO_LOGISTIC: return logistic(p, x);
    case HLO_TANH: return tanh_(p, x);
    case HLO_CHLO_ERF: return erf_(p, x);
    case HLO_LOG: return log_(p, x);
    case HLO_SQRT: return root(p, x);
    case HLO_RSQRT: return div_(p, k(p, 1), root(p, x));
    case HLO_FLOOR: return rounded(p, x, 9);
    case HLO_CEIL: return rounded(p, x, 10);
    case HLO_ROUND_EVEN: return rounded(p, x, 8);
    case HLO_SIGN: return sign(p, x);
    case HLO_CHLO_SQUARE: return mul(p, x, x);
    case HLO_IS_FINITE: return test(p, magnitude(p, x), k(p, INFINITY), LT);
    case HLO_CHLO_IS_INF: return test(p, magnitude(p, x), k(p, INFINITY), EQ);
    default: return -1;
    }
}

static int convert(P, const loop_instr *q, int x) {
    bool from_float = q->in == TT_F32 || q->in == TT_BF16 || q->in == TT_F16, to_float = q->out == TT_F32 || q->out == TT_BF16 || q->out == TT_F16;
    if (from_float && to_float)
        return x;
    if (q->in == TT_PRED && to_float)
        return sel(p, x, k(p, 1), k(p, 0));
    if (q->in == TT_I32 && q->out == TT_F32)
        return jit_emit(p, JIT_TO_FLOAT, x, JIT_NONE, JIT_NONE, 0);
    if (from_float && q->out == TT_PRED)
        return test(p, x, k(p, 0), NE);
    return -1;
}

static int masks(P, int op, int a, int b) {
    switch (op) {
    case HLO_AND: return jit_emit(p, JIT_MASK_AND, a, b, JIT_NONE, 0);
    case HLO_OR: return jit_emit(p, JIT_MASK_OR, a, b, JIT_NONE, 0);
    case HLO_XOR: return jit_emit(p, JIT_MASK_XOR, a, b, JIT_NONE, 0);
    case HLO_NOT: return jit_emit(p, JIT_MASK_NOT, a, JIT_NONE, JIT_NONE, 0);
    default: return -1;
    }
}

static int integers(P, int op, int a, int b) {
    switch (op) {
    case HLO_ADD: return add_int(p, a, b);
    case HLO_SUBTRACT: return sub_int(p, a, b);
    case HLO_AND: return and_(p, a, b);
    case HLO_OR: return or_(p, a, b);
    case HLO_XOR: return xor_(p, a, b);
    default: return -1;
    }
}

int jit_expand(jit_program *p, const loop_instr *q, const int *x) {
    if (q->op == HLO_COMPARE)
        return q->in == TT_PRED ? -1 : compare(p, q, x[0], x[1]);
    if (q->op == HLO_CONVERT)
        return convert(p, q, x[0]);
    if (q->op == HLO_SELECT)
        return q->in == TT_PRED ? -1 : sel(p, x[0], x[1], x[2]);
    if (q->in == TT_PRED)
        return masks(p, q->op, x[0], x[1]);
    if (q->in == TT_I32)
        return integers(p, q->op, x[0], x[1]);
    switch (q->op) {
    case HLO_ADD: return add(p, x[0], x[1]);
    case HLO_SUBTRACT: return sub(p, x[0], x[1]);
    case HLO_MULTIPLY: return mul(p, x[0], x[1]);
    case HLO_DIVIDE: return div_(p, x[0], x[1]);
    case HLO_MAXIMUM: return maximum(p, x[0], x[1]);
    case HLO_MINIMUM: return minimum(p, x[0], x[1]);
    case HLO_CLAMP: return minimum(p, maximum(p, x[1], x[0]), x[2]);
    default: return unary(p, q->op, x[0]);
    }
}

/* To nearest even: adds half of the last place, less one where it is even. As a dot product of halves: bit 16 times 1, 1 times 0x7fff. */
int jit_round(jit_program *p, tt_dtype dtype, int v) {
    if (dtype == TT_F16)
        return jit_emit(p, JIT_TO_HALF_AND_BACK, v, JIT_NONE, JIT_NONE, 0);
    if (dtype != TT_BF16)
        return v;
    int r, one = jit_bits(p, 1);
    if (p->has_dot) {
        int pair = jit_emit(p, JIT_TERNARY, v, jit_bits(p, 0x10000), one, 0xea); /* v & bit | one */
        r = jit_emit(p, JIT_DOT, pair, jit_bits(p, 0x17fff), v, 0);
    } else {
        r = add_int(p, v, add_int(p, and_(p, shift(p, JIT_SHR, v, 16), one), jit_bits(p, 0x7fff)));
    }
    return v >= 0 && v < JIT_CONSTANT && !p->long_nan[v] ? r : sel(p, test(p, v, v, NE), or_(p, v, jit_bits(p, 0x00400000)), r);
}

int jit_clear(jit_program *p, int v) { return and_(p, v, jit_bits(p, 0xffff0000u)); }
