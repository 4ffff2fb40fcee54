/* loop_jit_vex.c - the steps of a compiled loop as AVX2 instructions: VEX encoding, masks as vectors of ones and zeros, constants spread
 * in the pool behind the code, uniforms spread on the stack, register 15 for what an instruction cannot take where it lies. See
 * loop_jit_asm.h. */
#include "engine/loop_jit_asm.h"

enum { SCRATCH = 15, XMM = 0, YMM = 1 };

/* ---- instructions ---- */

static void head(assembler *s, opcode o, int reg, int second, int base, int length) {
    byte(s, 0xc4);
    byte(s, !(reg & 8) << 7 | 1 << 6 | !(base & 8) << 5 | o.map);
    byte(s, (o.prefix & W1) | (~second & 15) << 3 | length << 2 | (o.prefix & 3));
    byte(s, o.code);
}

static void with_register(assembler *s, opcode o, int reg, int second, int rm, int length) {
    head(s, o, reg, second, rm, length);
    byte(s, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* [base + rcx * 2^scale + displacement] */
static void with_array(assembler *s, opcode o, int reg, int base, int scale, int displacement, int length) {
    head(s, o, reg, 0, base, length);
    byte(s, 0x84 | (reg & 7) << 3);
    byte(s, scale << 6 | RCX << 3 | (base & 7));
    word(s, (uint32_t)displacement);
}

static int vector_of(const assembler *s, int v, int u) {
    return s->where[v] * s->U + u;
}

/* The last operand is any value; `tail` bytes of the instruction follow it. */
static void with_value(assembler *s, opcode o, int reg, int second, int v, int u, int tail) {
    if (is_value(v)) {
        with_register(s, o, reg, second, vector_of(s, v, u), YMM);
    } else if (is_constant(v)) {
        head(s, o, reg, second, 0, YMM);
        byte(s, 0x05 | (reg & 7) << 3);
        constant_here(s, v - JIT_CONSTANT, tail);
    } else {
        head(s, o, reg, second, 0, YMM);
        byte(s, 0x84 | (reg & 7) << 3);
        byte(s, 0x24);
        word(s, (uint32_t)(32 * (v - JIT_UNIFORM)));
    }
}

static const opcode MOVE = {M0F, NP, 0x10}, MOVE_OUT = {M0F, NP, 0x11}, XOR = {M0F, P66, 0xef};

/* A register that holds v. */
static int in_register(assembler *s, int v, int u) {
    if (is_value(v))
        return vector_of(s, v, u);
    with_value(s, MOVE, SCRATCH, 0, v, u, 0);
    return SCRATCH;
}

static void invert(assembler *s, int d, int a) {
    with_value(s, XOR, d, a, JIT_CONSTANT + s->p->n_constants, 0, 0); /* the pool ends with ones */
}

static void binary(assembler *s, const jit_step *q, int at, opcode o, bool commutes) {
    bool swap = commutes && !is_value(q->a);
    int a = swap ? q->b : q->a, b = swap ? q->a : q->b;
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++)
        with_value(s, o, vector_of(s, q->d, u), in_register(s, a, u), b, u, 0);
}

static void unary(assembler *s, const jit_step *q, int at, opcode o, int imm) {
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++) {
        with_value(s, o, vector_of(s, q->d, u), 0, q->a, u, imm >= 0);
        if (imm >= 0)
            byte(s, imm);
    }
}

static void shift(assembler *s, const jit_step *q, int at, int extension) {
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++) {
        with_register(s, (opcode){M0F, P66, 0x72}, extension, vector_of(s, q->d, u), in_register(s, q->a, u), YMM);
        byte(s, q->imm);
    }
}

/* d = a * b + c or - c, over whichever dies, else over a copy of c. */
static void fused(assembler *s, const jit_step *q, int at) {
    const uint8_t minus = (uint8_t)(2 * q->imm);
    const opcode f132 = {M38, P66, 0x98 + minus}, f213 = {M38, P66, 0xa8 + minus}, f231 = {M38, P66, 0xb8 + minus};
    bool swap = !is_value(q->a) || (is_value(q->b) && !dies(s, q->a, at) && dies(s, q->b, at));
    int a = swap ? q->b : q->a, b = swap ? q->a : q->b, c = q->c;
    bool over_c = c != a && c != b && inherit(s, q, c, at), over_a = !over_c && a != c && inherit(s, q, a, at);
    if (!over_c && !over_a)
        s->where[q->d] = (int16_t)take(s, &s->free_groups);
    for (int u = 0; u < s->U && !s->failed; u++) {
        int d = vector_of(s, q->d, u);
        if (over_a && is_value(b)) {
            with_value(s, f213, d, b == a ? d : vector_of(s, b, u), c, u, 0);
        } else if (over_a) {
            with_value(s, f132, d, in_register(s, c, u), b, u, 0);
        } else {
            if (!over_c)
                with_value(s, MOVE, d, 0, c, u, 0);
            with_value(s, f231, d, in_register(s, a, u), b, u, 0);
        }
    }
    release(s, q->a, at);
    release(s, q->b, at);
    release(s, q->c, at);
}

static void blend(assembler *s, const jit_step *q, int at) {
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++) {
        with_value(s, (opcode){M3A, P66, 0x4a}, vector_of(s, q->d, u), in_register(s, q->b, u), q->a, u, 1);
        byte(s, vector_of(s, q->c, u) << 4);
    }
}

static void compare(assembler *s, const jit_step *q, int at) {
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++) {
        with_value(s, (opcode){M0F, NP, 0xc2}, vector_of(s, q->d, u), in_register(s, q->a, u), q->b, u, 1);
        byte(s, q->imm);
    }
}

/* There are only = and >, the first operand a register. */
static void compare_int(assembler *s, const jit_step *q, int at) {
    enum { EQ, LT, LE, NE = 4 };
    bool swap = q->imm == LT, is_inverse = q->imm == LE || q->imm == NE;
    int a = swap ? q->b : q->a, b = swap ? q->a : q->b;
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++) {
        int d = vector_of(s, q->d, u);
        with_value(s, (opcode){M0F, P66, q->imm == EQ || q->imm == NE ? 0x76 : 0x66}, d, in_register(s, a, u), b, u, 0);
        if (is_inverse)
            invert(s, d, d);
    }
}

static void mask_not(assembler *s, const jit_step *q, int at) {
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++)
        invert(s, vector_of(s, q->d, u), vector_of(s, q->a, u));
}

static void half(assembler *s, const jit_step *q, int at) {
    begin(s, q, at);
    for (int u = 0; u < s->U && !s->failed; u++) {
        int d = vector_of(s, q->d, u);
        with_register(s, (opcode){M3A, P66, 0x1d}, in_register(s, q->a, u), 0, d, YMM);
        byte(s, 8);
        with_register(s, (opcode){M38, P66, 0x13}, d, 0, d, YMM);
    }
}

/* ---- memory ---- */

static void widen(assembler *s, tt_dtype t, int v, int base, int u) {
    switch ((int)t) {
    case TT_F32:
    case TT_I32: with_array(s, MOVE, v, base, 2, u * 32, YMM); break;
    case TT_BF16:
        with_array(s, (opcode){M38, P66, 0x33}, v, base, 1, u * 16, YMM);
        with_register(s, (opcode){M0F, P66, 0x72}, 6, v, v, YMM);
        byte(s, 16);
        break;
    case TT_F16: with_array(s, (opcode){M38, P66, 0x13}, v, base, 1, u * 16, YMM); break;
    default:
        with_array(s, (opcode){M38, P66, 0x31}, v, base, 0, u * 8, YMM);
        with_register(s, XOR, SCRATCH, SCRATCH, SCRATCH, YMM);
        with_register(s, (opcode){M0F, P66, 0x66}, v, v, SCRATCH, YMM);
    }
}

static void load(assembler *s, const jit_step *q) {
    s->where[q->d] = (int16_t)take(s, &s->free_groups);
    for (int u = 0; u < s->U && !s->failed; u++)
        widen(s, (tt_dtype)q->imm, vector_of(s, q->d, u), jit_array_register[q->a], u);
}

/* The low halves of v's lanes, `bits` to the right, side by side in the scratch register. */
static void pack(assembler *s, int v, int bits) {
    with_register(s, (opcode){M0F, P66, 0x72}, 2, SCRATCH, v, YMM);
    byte(s, bits);
    with_register(s, (opcode){M38, P66, 0x2b}, SCRATCH, SCRATCH, SCRATCH, YMM); /* within each half of the register */
    with_register(s, (opcode){M3A, P66 | W1, 0x00}, SCRATCH, 0, SCRATCH, YMM);
    byte(s, 0x08);
}

static void store(assembler *s, const jit_step *q, int at) {
    int base = jit_array_register[q->d];
    for (int u = 0; u < s->U && !s->failed; u++) {
        int v = in_register(s, q->a, u);
        switch (q->imm) {
        case TT_F32:
        case TT_I32: with_array(s, MOVE_OUT, v, base, 2, u * 32, YMM); break;
        case TT_BF16:
            pack(s, v, 16);
            with_array(s, MOVE_OUT, SCRATCH, base, 1, u * 16, XMM);
            break;
        case TT_F16:
            with_array(s, (opcode){M3A, P66, 0x1d}, v, base, 1, u * 16, YMM);
            byte(s, 8);
            break;
        default:
            pack(s, v, 31);
            with_register(s, (opcode){M0F, P66, 0x67}, SCRATCH, SCRATCH, SCRATCH, XMM);
            with_array(s, (opcode){M0F, P66, 0xd6}, SCRATCH, base, 0, u * 8, XMM);
        }
    }
    release(s, q->a, at);
}

void jit_vex_step(assembler *s, const jit_step *q, int at) {
    switch (q->op) {
    case JIT_LOAD: load(s, q); break;
    case JIT_STORE: store(s, q, at); break;
    case JIT_ADD: binary(s, q, at, (opcode){M0F, NP, 0x58}, true); break;
    case JIT_SUB: binary(s, q, at, (opcode){M0F, NP, 0x5c}, false); break;
    case JIT_MUL: binary(s, q, at, (opcode){M0F, NP, 0x59}, true); break;
    case JIT_DIV: binary(s, q, at, (opcode){M0F, NP, 0x5e}, false); break;
    case JIT_MAX: binary(s, q, at, (opcode){M0F, NP, 0x5f}, false); break;
    case JIT_MIN: binary(s, q, at, (opcode){M0F, NP, 0x5d}, false); break;
    case JIT_AND:
    case JIT_MASK_AND: binary(s, q, at, (opcode){M0F, P66, 0xdb}, true); break;
    case JIT_OR:
    case JIT_MASK_OR: binary(s, q, at, (opcode){M0F, P66, 0xeb}, true); break;
    case JIT_XOR:
    case JIT_MASK_XOR: binary(s, q, at, XOR, true); break;
    case JIT_ADD_INT: binary(s, q, at, (opcode){M0F, P66, 0xfe}, true); break;
    case JIT_SUB_INT: binary(s, q, at, (opcode){M0F, P66, 0xfa}, false); break;
    case JIT_SQRT: unary(s, q, at, (opcode){M0F, NP, 0x51}, -1); break;
    case JIT_ROUND: unary(s, q, at, (opcode){M3A, P66, 0x08}, q->imm); break;
    case JIT_TO_FLOAT: unary(s, q, at, (opcode){M0F, NP, 0x5b}, -1); break;
    case JIT_TO_INT: unary(s, q, at, (opcode){M0F, PF3, 0x5b}, -1); break;
    case JIT_SHR: shift(s, q, at, 2); break;
    case JIT_SHL: shift(s, q, at, 6); break;
    case JIT_SAR: shift(s, q, at, 4); break;
    case JIT_FMA: fused(s, q, at); break;
    case JIT_BLEND: blend(s, q, at); break;
    case JIT_COMPARE: compare(s, q, at); break;
    case JIT_COMPARE_INT: compare_int(s, q, at); break;
    case JIT_TO_HALF_AND_BACK: half(s, q, at); break;
    case JIT_MASK_NOT: mask_not(s, q, at); break;
    default: s->failed = true; /* JIT_SCALE: the expansion made multiplications of it */
    }
}

void jit_vex_uniform(assembler *s, int i) {
    widen(s, s->p->uniform_dtype[i], SCRATCH, RAX, 0);
    head(s, MOVE_OUT, SCRATCH, 0, 0, YMM); /* vmovups [rsp + 32 i], scratch */
    byte(s, 0x84 | (SCRATCH & 7) << 3);
    byte(s, 0x24);
    word(s, (uint32_t)(32 * i));
}
