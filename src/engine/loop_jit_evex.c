/* loop_jit_evex.c - the steps of a compiled loop as AVX-512 instructions: EVEX encoding, masks in k2 to k7, uniforms and constants in the
 * last registers. A constant that has none is spread once for all vectors of a turn: an operand that spreads itself would take a load
 * for each. See loop_jit_asm.h. */
#include "engine/loop_jit_asm.h"

/* ---- instructions ---- */

/* P1 and P2 of EVEX; second: the register in vvvv. */
static void prefix(assembler *s, int p0, opcode o, int second, int length, int k, bool zero) {
    byte(s, 0x62);
    byte(s, p0 | o.map);
    byte(s, (~second & 15) << 3 | 4 | o.prefix);
    byte(s, zero << 7 | length << 5 | !(second & 16) << 3 | k);
    byte(s, o.code);
}

static void with_register(assembler *s, opcode o, int reg, int second, int rm, int length, int k, bool zero) {
    int p0 = !(reg & 8) << 7 | !(rm & 16) << 6 | !(rm & 8) << 5 | !(reg & 16) << 4;
    prefix(s, p0, o, second, length, k, zero);
    byte(s, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* [base + rcx * 2^scale + displacement] */
static void with_array(assembler *s, opcode o, int reg, int base, int scale, int displacement, int length, int k, bool zero) {
    int p0 = !(reg & 8) << 7 | 1 << 6 | !(base & 8) << 5 | !(reg & 16) << 4;
    prefix(s, p0, o, 0, length, k, zero);
    byte(s, 0x84 | (reg & 7) << 3);
    byte(s, scale << 6 | RCX << 3 | (base & 7));
    word(s, (uint32_t)displacement);
}

/* What lies in the pool at constant number `constant`. */
static void with_pool(assembler *s, opcode o, int reg, int constant, int length, int k, bool zero) {
    int p0 = !(reg & 8) << 7 | 1 << 6 | 1 << 5 | !(reg & 16) << 4;
    prefix(s, p0, o, 0, length, k, zero);
    byte(s, 0x05 | (reg & 7) << 3);
    constant_here(s, constant, 0);
}

static void vex(assembler *s, int prefix_, int map, bool long_, int code, int reg, int second, int rm) {
    if (map == M0F) {
        byte(s, 0xc5);
        byte(s, 0x80 | (~second & 15) << 3 | long_ << 2 | prefix_);
    } else {
        byte(s, 0xc4);
        byte(s, 0xe0 | map);
        byte(s, (~second & 15) << 3 | long_ << 2 | prefix_);
    }
    byte(s, code);
    byte(s, 0xc0 | reg << 3 | rm);
}

static int vector_of(const assembler *s, int v, int u) {
    if (v >= JIT_UNIFORM)
        return 31 - (v - JIT_UNIFORM);
    if (!is_constant(v))
        return s->where[v] * s->U + u;
    int kept = s->constant_register[v - JIT_CONSTANT];
    return kept >= 0 ? kept : s->scratch[s->scratch_constant[0] == v ? 0 : 1];
}
static int mask_of(const assembler *s, int v, int u) {
    return 2 + s->where[v] * s->U + u;
}

static void broadcast(assembler *s, int reg, int constant) {
    with_pool(s, (opcode){M38, P66, 0x18}, reg, constant, 2, 0, false);
}

/* Constants without a register are spread to a scratch register, of which a step needs two at most. */
static void bring_constants(assembler *s, const jit_step *q) {
    const int operands[3] = {q->op == JIT_LOAD ? JIT_NONE : q->a, q->b, q->c};
    s->scratch_constant[0] = s->scratch_constant[1] = JIT_NONE;
    for (int k = 0, n = 0; k < 3; k++) {
        int v = operands[k];
        if (!is_constant(v) || s->constant_register[v - JIT_CONSTANT] >= 0 || s->scratch_constant[0] == v || s->scratch_constant[1] == v)
            continue;
        if (n == 2) {
            s->failed = true;
            return;
        }
        s->scratch_constant[n] = v;
        broadcast(s, s->scratch[n++], v - JIT_CONSTANT);
    }
}

static const opcode MOVE = {M0F, NP, 0x28};

/* d = a op b, three operands; imm >= 0 follows. */
static void binary(assembler *s, const jit_step *q, int at, opcode o, int imm) {
    begin(s, q, at);
    for (int u = 0; u < s->U; u++) {
        with_register(s, o, vector_of(s, q->d, u), vector_of(s, q->a, u), vector_of(s, q->b, u), 2, 0, false);
        if (imm >= 0)
            byte(s, imm);
    }
}

/* d = f(a); imm >= 0 follows. */
static void unary(assembler *s, const jit_step *q, int at, opcode o, int imm) {
    begin(s, q, at);
    for (int u = 0; u < s->U; u++) {
        with_register(s, o, vector_of(s, q->d, u), 0, vector_of(s, q->a, u), 2, 0, false);
        if (imm >= 0)
            byte(s, imm);
    }
}

static void shift(assembler *s, const jit_step *q, int at, int extension) {
    begin(s, q, at);
    for (int u = 0; u < s->U; u++) {
        with_register(s, (opcode){M0F, P66, 0x72}, extension, vector_of(s, q->d, u), vector_of(s, q->a, u), 2, 0, false);
        byte(s, q->imm);
    }
}

/* An instruction that reads d, too, where `first` is: in its registers if it dies, else in a copy. */
static void accumulate(assembler *s, const jit_step *q, int at, opcode o, int first, int second, int third, int imm) {
    bool in_place = inherit(s, q, first, at);
    if (!in_place)
        s->where[q->d] = (int16_t)take(s, &s->free_groups);
    for (int u = 0; u < s->U; u++) {
        int d = vector_of(s, q->d, u);
        if (!in_place)
            with_register(s, MOVE, d, 0, vector_of(s, first, u), 2, 0, false);
        with_register(s, o, d, vector_of(s, second, u), vector_of(s, third, u), 2, 0, false);
        if (imm >= 0)
            byte(s, imm);
    }
    release(s, q->a, at);
    release(s, q->b, at);
    release(s, q->c, at);
}

/* d = a * b + c or - c, over whichever dies. */
static void fused(assembler *s, const jit_step *q, int at) {
    const uint8_t minus = (uint8_t)(2 * q->imm);
    const opcode f213 = {M38, P66, 0xa8 + minus}, f231 = {M38, P66, 0xb8 + minus};
    if (dies(s, q->c, at) || (!dies(s, q->a, at) && !dies(s, q->b, at)))
        accumulate(s, q, at, f231, q->c, q->a, q->b, -1);
    else if (dies(s, q->a, at))
        accumulate(s, q, at, f213, q->a, q->b, q->c, -1);
    else
        accumulate(s, q, at, f213, q->b, q->a, q->c, -1);
}

static void blend(assembler *s, const jit_step *q, int at) {
    int k[4] = {0};
    for (int u = 0; u < s->U; u++)
        k[u] = mask_of(s, q->c, u);
    begin(s, q, at);
    for (int u = 0; u < s->U; u++)
        with_register(s, (opcode){M38, P66, 0x65}, vector_of(s, q->d, u), vector_of(s, q->b, u), vector_of(s, q->a, u), 2, k[u], false);
}

static void compare(assembler *s, const jit_step *q, int at) {
    const opcode o = q->op == JIT_COMPARE ? (opcode){M0F, NP, 0xc2} : (opcode){M3A, P66, 0x1f};
    s->where[q->d] = (int16_t)take(s, &s->free_masks);
    for (int u = 0; u < s->U && !s->failed; u++) {
        with_register(s, o, mask_of(s, q->d, u), vector_of(s, q->a, u), vector_of(s, q->b, u), 2, 0, false);
        byte(s, q->imm);
    }
    release(s, q->a, at);
    release(s, q->b, at);
}

static void masks(assembler *s, const jit_step *q, int at) {
    static const uint8_t codes[] = {[JIT_MASK_AND] = 0x41, [JIT_MASK_OR] = 0x45, [JIT_MASK_XOR] = 0x47, [JIT_MASK_NOT] = 0x44};
    bool one = q->op == JIT_MASK_NOT;
    release(s, q->a, at);
    release(s, q->b, at);
    s->where[q->d] = (int16_t)take(s, &s->free_masks);
    for (int u = 0; u < s->U && !s->failed; u++)
        vex(s, NP, M0F, !one, codes[q->op], mask_of(s, q->d, u), one ? 0 : mask_of(s, q->a, u), mask_of(s, one ? q->a : q->b, u));
}

/* ---- memory ---- */

/* 32 elements of bf16: the even ones go to v, the odd ones to v + 1. */
static void load_pair(assembler *s, int v, int mask, int base, int u) {
    with_array(s, (opcode){M0F, NP, 0x10}, v + 1, base, 1, u * 32, 2, 0, false);
    with_register(s, (opcode){M0F, P66, 0x72}, 6, v, v + 1, 2, 0, false);
    byte(s, 16);
    with_register(s, (opcode){M0F, P66, 0xdb}, v + 1, v + 1, mask, 2, 0, false);
}

static void load(assembler *s, const jit_step *q) {
    int base = jit_array_register[q->a], k = s->masked ? 1 : 0;
    bool z = s->masked;
    tt_dtype t = (tt_dtype)q->imm;
    int group = take(s, &s->free_groups);
    if (s->failed)
        return;
    s->where[q->d] = (int16_t)group;
    if (t == TT_PRED) {
        s->where[q->d] = (int16_t)take(s, &s->free_masks);
        s->free_groups |= 1u << group;
    }
    for (int u = 0; u < s->U; u++) {
        int v = group * s->U + u;
        if (s->p->pairs && s->U > 1) {
            load_pair(s, v, vector_of(s, q->c, 0), base, u++);
            continue;
        }
        switch ((int)t) {
        case TT_F32:
        case TT_I32: with_array(s, (opcode){M0F, NP, 0x10}, v, base, 2, u * 64, 2, k, z); break;
        case TT_BF16:
            with_array(s, (opcode){M38, P66, 0x33}, v, base, 1, u * 32, 2, k, z);
            with_register(s, (opcode){M0F, P66, 0x72}, 6, v, v, 2, 0, false);
            byte(s, 16);
            break;
        case TT_F16: with_array(s, (opcode){M38, P66, 0x13}, v, base, 1, u * 32, 2, k, z); break;
        default:
            with_array(s, (opcode){M38, P66, 0x31}, v, base, 0, u * 16, 2, k, z);
            with_register(s, (opcode){M38, P66, 0x27}, mask_of(s, q->d, u), v, v, 2, 0, false);
        }
    }
}

/* The high halves of two vectors' lanes, side by side or by turns. */
static void store_brain_pair(assembler *s, int room, int v, int w, int base, int u, opcode move) {
    with_pool(s, (opcode){M0F, PF2 | W1, 0x6f}, room, s->p->n_constants + JIT_ONES, 2, 0, false);
    with_register(s, (opcode){M38, P66 | W1, 0x75}, room, v, w, 2, 0, false);
    with_array(s, move, room, base, 1, u * 32, 2, 0, false);
}

static void store(assembler *s, const jit_step *q, int at) {
    int base = jit_array_register[q->d], k = s->masked ? 1 : 0;
    tt_dtype t = (tt_dtype)(q->imm & ~JIT_STREAM);
    const opcode move = {M0F, NP, q->imm & JIT_STREAM && s->U > 1 ? 0x2b : 0x11}; /* vmovntps, vmovups */
    bool needs_room = t == TT_BF16 || t == TT_PRED;
    int group = needs_room ? take(s, &s->free_groups) : 0;
    for (int u = 0; u < s->U && !s->failed; u++) {
        int room = group * s->U + u, v = t == TT_PRED ? room : vector_of(s, q->a, u);
        switch ((int)t) {
        case TT_F32:
        case TT_I32: with_array(s, move, v, base, 2, u * 64, 2, k, false); break;
        case TT_BF16:
            if (s->U > 1) {
                store_brain_pair(s, room, v, vector_of(s, q->a, u + 1), base, u, move);
                u++;
                break;
            }
            with_register(s, (opcode){M0F, P66, 0x72}, 2, room, v, 2, 0, false);
            byte(s, 16);
            with_array(s, (opcode){M38, PF3, 0x33}, room, base, 1, u * 32, 2, k, false);
            break;
        case TT_F16:
            with_array(s, (opcode){M3A, P66, 0x1d}, v, base, 1, u * 32, 2, k, false);
            byte(s, 8);
            break;
        default: /* the mask's lanes of a vector of ones */
            with_pool(s, (opcode){M0F, PF2, 0x6f}, room, s->p->n_constants, 0, mask_of(s, q->a, u), true);
            with_array(s, (opcode){M0F, PF2, 0x7f}, room, base, 0, u * 16, 0, k, false);
        }
    }
    if (needs_room)
        s->free_groups |= 1u << group;
    release(s, q->a, at);
}

static void half(assembler *s, const jit_step *q, int at) {
    begin(s, q, at);
    for (int u = 0; u < s->U; u++) {
        int d = vector_of(s, q->d, u);
        with_register(s, (opcode){M3A, P66, 0x1d}, vector_of(s, q->a, u), 0, d, 2, 0, false);
        byte(s, 8);
        with_register(s, (opcode){M38, P66, 0x13}, d, 0, d, 2, 0, false);
    }
}

void jit_evex_step(assembler *s, const jit_step *q, int at) {
    bring_constants(s, q);
    switch (q->op) {
    case JIT_LOAD: load(s, q); break;
    case JIT_STORE: store(s, q, at); break;
    case JIT_ADD: binary(s, q, at, (opcode){M0F, NP, 0x58}, -1); break;
    case JIT_SUB: binary(s, q, at, (opcode){M0F, NP, 0x5c}, -1); break;
    case JIT_MUL: binary(s, q, at, (opcode){M0F, NP, 0x59}, -1); break;
    case JIT_DIV: binary(s, q, at, (opcode){M0F, NP, 0x5e}, -1); break;
    case JIT_MAX: binary(s, q, at, (opcode){M0F, NP, 0x5f}, -1); break;
    case JIT_MIN: binary(s, q, at, (opcode){M0F, NP, 0x5d}, -1); break;
    case JIT_AND: binary(s, q, at, (opcode){M0F, P66, 0xdb}, -1); break;
    case JIT_OR: binary(s, q, at, (opcode){M0F, P66, 0xeb}, -1); break;
    case JIT_XOR: binary(s, q, at, (opcode){M0F, P66, 0xef}, -1); break;
    case JIT_ADD_INT: binary(s, q, at, (opcode){M0F, P66, 0xfe}, -1); break;
    case JIT_SUB_INT: binary(s, q, at, (opcode){M0F, P66, 0xfa}, -1); break;
    case JIT_SCALE: binary(s, q, at, (opcode){M38, P66, 0x2c}, -1); break;
    case JIT_SQRT: unary(s, q, at, (opcode){M0F, NP, 0x51}, -1); break;
    case JIT_ROUND: unary(s, q, at, (opcode){M3A, P66, 0x08}, q->imm); break;
    case JIT_TO_FLOAT: unary(s, q, at, (opcode){M0F, NP, 0x5b}, -1); break;
    case JIT_SHR: shift(s, q, at, 2); break;
    case JIT_SHL: shift(s, q, at, 6); break;
    case JIT_SAR: shift(s, q, at, 4); break;
    case JIT_FMA: fused(s, q, at); break;
    case JIT_TERNARY: accumulate(s, q, at, (opcode){M3A, P66, 0x25}, q->a, q->b, q->c, q->imm); break;
    case JIT_DOT: accumulate(s, q, at, (opcode){M38, P66, 0x52}, q->c, q->a, q->b, -1); break;
    case JIT_RELU: binary(s, q, at, (opcode){M3A, P66, 0x54}, 0); break; /* vfixupimmps: what becomes of each class of numbers */
    case JIT_SMALLER_MAGNITUDE: binary(s, q, at, (opcode){M3A, P66, 0x50}, 0x0a); break; /* vrangeps */
    case JIT_BLEND: blend(s, q, at); break;
    case JIT_COMPARE:
    case JIT_COMPARE_INT: compare(s, q, at); break;
    case JIT_TO_HALF_AND_BACK: half(s, q, at); break;
    default: masks(s, q, at);
    }
}

void jit_evex_uniform(assembler *s, int i) {
    int v = 31 - i;
    tt_dtype t = s->p->uniform_dtype[i];
    if (s->p->rows && (t == TT_F32 || t == TT_I32)) {
        with_array(s, (opcode){M38, P66, 0x18}, v, RAX, 2, 0, 2, 0, false); /* vbroadcastss */
    } else if (t == TT_F32 || t == TT_I32) {
        with_array(s, (opcode){M0F, NP, 0x10}, v, RAX, 2, 0, 2, 0, false);
    } else if (t == TT_BF16) {
        with_array(s, (opcode){M38, P66, 0x33}, v, RAX, 1, 0, 2, 0, false);
        with_register(s, (opcode){M0F, P66, 0x72}, 6, v, v, 2, 0, false);
        byte(s, 16);
    } else {
        with_array(s, (opcode){M38, P66, 0x13}, v, RAX, 1, 0, 2, 0, false);
    }
}

void jit_evex_constant(assembler *s, int i) {
    broadcast(s, s->constant_register[i], i);
}
