/* loop_jit_evex.c - the steps of a compiled loop as AVX-512 instructions: EVEX encoding, constants spread by the operand that reads them,
 * masks in k2 to k7, uniforms in the last registers. See loop_jit_asm.h. */
#include "engine/loop_jit_asm.h"

/* ---- instructions ---- */

/* P1 and P2 of EVEX; second: the register in vvvv. */
static void prefix(assembler *s, int p0, opcode o, int second, int length, int k, bool zero, bool broadcast) {
    byte(s, 0x62);
    byte(s, p0 | o.map);
    byte(s, (~second & 15) << 3 | 4 | o.prefix);
    byte(s, zero << 7 | length << 5 | broadcast << 4 | !(second & 16) << 3 | k);
    byte(s, o.code);
}

static void with_register(assembler *s, opcode o, int reg, int second, int rm, int length, int k, bool zero) {
    int p0 = !(reg & 8) << 7 | !(rm & 16) << 6 | !(rm & 8) << 5 | !(reg & 16) << 4;
    prefix(s, p0, o, second, length, k, zero, false);
    byte(s, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* [base + rcx * 2^scale + displacement] */
static void with_array(assembler *s, opcode o, int reg, int base, int scale, int displacement, int length, int k, bool zero) {
    int p0 = !(reg & 8) << 7 | 1 << 6 | !(base & 8) << 5 | !(reg & 16) << 4;
    prefix(s, p0, o, 0, length, k, zero, false);
    byte(s, 0x84 | (reg & 7) << 3);
    byte(s, scale << 6 | RCX << 3 | (base & 7));
    word(s, (uint32_t)displacement);
}

/* Constant number `constant`, spread over the lanes; `tail` bytes of the instruction follow. */
static void with_constant(assembler *s, opcode o, int reg, int second, int constant, int length, bool broadcast, int k, bool zero, int tail) {
    int p0 = !(reg & 8) << 7 | 1 << 6 | 1 << 5 | !(reg & 16) << 4;
    prefix(s, p0, o, second, length, k, zero, broadcast);
    byte(s, 0x05 | (reg & 7) << 3);
    constant_here(s, constant, tail);
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
    return v >= JIT_UNIFORM ? 31 - (v - JIT_UNIFORM) : s->where[v] * s->U + u;
}
static int mask_of(const assembler *s, int v, int u) {
    return 2 + s->where[v] * s->U + u;
}

static void broadcast(assembler *s, int reg, int constant) {
    with_constant(s, (opcode){M38, P66, 0x18}, reg, 0, constant, 2, false, 0, false, 0);
}

static const opcode MOVE = {M0F, NP, 0x28};

/* d = a op b, three operands. */
static void binary(assembler *s, const jit_step *q, int at, opcode o, bool commutes) {
    int a = q->a, b = q->b;
    if (commutes && is_constant(a)) {
        a = q->b;
        b = q->a;
    }
    if (is_constant(a)) { /* the constant goes to d, which must not be b's register */
        s->where[q->d] = (int16_t)take(s, &s->free_groups);
        for (int u = 0; u < s->U && !s->failed; u++) {
            broadcast(s, vector_of(s, q->d, u), a - JIT_CONSTANT);
            if (is_constant(b))
                with_constant(s, o, vector_of(s, q->d, u), vector_of(s, q->d, u), b - JIT_CONSTANT, 2, true, 0, false, 0);
            else
                with_register(s, o, vector_of(s, q->d, u), vector_of(s, q->d, u), vector_of(s, b, u), 2, 0, false);
        }
        release(s, b, at);
        return;
    }
    release(s, a, at);
    release(s, b, at);
    s->where[q->d] = (int16_t)take(s, &s->free_groups);
    for (int u = 0; u < s->U && !s->failed; u++) {
        if (is_constant(b))
            with_constant(s, o, vector_of(s, q->d, u), vector_of(s, a, u), b - JIT_CONSTANT, 2, true, 0, false, 0);
        else
            with_register(s, o, vector_of(s, q->d, u), vector_of(s, a, u), vector_of(s, b, u), 2, 0, false);
    }
}

/* d = f(a); imm >= 0 follows. */
static void unary(assembler *s, const jit_step *q, int at, opcode o, int imm) {
    if (is_constant(q->a)) {
        s->failed = true;
        return;
    }
    release(s, q->a, at);
    s->where[q->d] = (int16_t)take(s, &s->free_groups);
    for (int u = 0; u < s->U && !s->failed; u++) {
        with_register(s, o, vector_of(s, q->d, u), 0, vector_of(s, q->a, u), 2, 0, false);
        if (imm >= 0)
            byte(s, imm);
    }
}

static void shift(assembler *s, const jit_step *q, int at, opcode o, int extension) {
    if (is_constant(q->a)) {
        s->failed = true;
        return;
    }
    release(s, q->a, at);
    s->where[q->d] = (int16_t)take(s, &s->free_groups);
    for (int u = 0; u < s->U && !s->failed; u++) {
        with_register(s, o, extension, vector_of(s, q->d, u), vector_of(s, q->a, u), 2, 0, false);
        byte(s, q->imm);
    }
}

/* d = a * b + c. The register that is overwritten is one that dies, else a copy. */
static void fused(assembler *s, const jit_step *q, int at) {
    int a = q->a, b = q->b, c = q->c, keep = JIT_NONE, form;
    if (is_constant(b)) {
        a = q->b;
        b = q->a;
    }
    if (is_constant(b)) {
        s->failed = true;
        return;
    }
    const opcode f132 = {M38, P66, 0x98}, f213 = {M38, P66, 0xa8}, f231 = {M38, P66, 0xb8};
    if (is_constant(c)) {
        form = 213;
        if (!is_constant(a) && dies(s, a, at))
            keep = a;
        else if (dies(s, b, at) && !is_constant(a)) {
            keep = b;
            b = a;
        }
    } else if (dies(s, c, at) && c != a && c != b) {
        form = 231;
        keep = c;
    } else if (is_constant(a)) {
        form = dies(s, b, at) && b != c ? 132 : 231;
        keep = form == 132 ? b : JIT_NONE;
    } else {
        form = dies(s, a, at) && a != c ? 213 : 231;
        keep = form == 213 ? a : JIT_NONE;
    }
    if (keep != JIT_NONE) {
        s->where[q->d] = s->where[keep];
        s->last[keep] = -1; /* passes its registers on */
    } else {
        s->where[q->d] = (int16_t)take(s, &s->free_groups);
    }
    for (int u = 0; u < s->U && !s->failed; u++) {
        int d = vector_of(s, q->d, u);
        int copied = form == 231 ? c : a;
        if (keep == JIT_NONE && is_constant(copied))
            broadcast(s, d, copied - JIT_CONSTANT);
        else if (keep == JIT_NONE)
            with_register(s, MOVE, d, 0, vector_of(s, copied, u), 2, 0, false);
        if (form == 213 && is_constant(c))
            with_constant(s, f213, d, vector_of(s, b, u), c - JIT_CONSTANT, 2, true, 0, false, 0);
        else if (form == 213)
            with_register(s, f213, d, vector_of(s, b, u), vector_of(s, c, u), 2, 0, false);
        else if (form == 132)
            with_constant(s, f132, d, vector_of(s, c, u), a - JIT_CONSTANT, 2, true, 0, false, 0);
        else if (is_constant(a))
            with_constant(s, f231, d, vector_of(s, b, u), a - JIT_CONSTANT, 2, true, 0, false, 0);
        else
            with_register(s, f231, d, vector_of(s, a, u), vector_of(s, b, u), 2, 0, false);
    }
    release(s, q->a, at);
    release(s, q->b, at);
    release(s, q->c, at);
}

static void blend(assembler *s, const jit_step *q, int at) {
    const opcode o = {M38, P66, 0x65};
    if (is_constant(q->b)) {
        s->where[q->d] = (int16_t)take(s, &s->free_groups);
        for (int u = 0; u < s->U && !s->failed; u++)
            broadcast(s, vector_of(s, q->d, u), q->b - JIT_CONSTANT);
    } else {
        release(s, q->b, at);
        release(s, q->a, at);
        s->where[q->d] = (int16_t)take(s, &s->free_groups);
    }
    for (int u = 0; u < s->U && !s->failed; u++) {
        int d = vector_of(s, q->d, u), other = is_constant(q->b) ? d : vector_of(s, q->b, u), k = mask_of(s, q->c, u);
        if (is_constant(q->a))
            with_constant(s, o, d, other, q->a - JIT_CONSTANT, 2, true, k, false, 0);
        else
            with_register(s, o, d, other, vector_of(s, q->a, u), 2, k, false);
    }
    release(s, q->a, at);
    release(s, q->c, at);
}

static void compare(assembler *s, const jit_step *q, int at) {
    const opcode o = q->op == JIT_COMPARE ? (opcode){M0F, NP, 0xc2} : (opcode){M3A, P66, 0x1f};
    int a = q->a, b = q->b, predicate = q->imm;
    if (is_constant(a)) {
        a = q->b;
        b = q->a;
        if (q->op == JIT_COMPARE)
            predicate = predicate == 0x11 ? 0x1e : predicate == 0x12 ? 0x1d : predicate;
        else
            predicate = predicate == 1 ? 6 : predicate == 2 ? 5 : predicate;
    }
    if (is_constant(a)) {
        s->failed = true;
        return;
    }
    s->where[q->d] = (int16_t)take(s, &s->free_masks);
    for (int u = 0; u < s->U && !s->failed; u++) {
        int d = mask_of(s, q->d, u);
        if (is_constant(b))
            with_constant(s, o, d, vector_of(s, a, u), b - JIT_CONSTANT, 2, true, 0, false, 1);
        else
            with_register(s, o, d, vector_of(s, a, u), vector_of(s, b, u), 2, 0, false);
        byte(s, predicate);
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
    for (int u = 0; u < s->U && !s->failed; u++) {
        int v = group * s->U + u;
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

static void store(assembler *s, const jit_step *q, int at) {
    int base = jit_array_register[q->d], k = s->masked ? 1 : 0;
    tt_dtype t = (tt_dtype)q->imm;
    bool needs_room = t == TT_BF16 || t == TT_PRED || is_constant(q->a);
    int group = needs_room ? take(s, &s->free_groups) : 0;
    for (int u = 0; u < s->U && !s->failed; u++) {
        int room = group * s->U + u, v = room;
        if (is_constant(q->a))
            broadcast(s, room, q->a - JIT_CONSTANT);
        else if (t != TT_PRED)
            v = vector_of(s, q->a, u);
        switch ((int)t) {
        case TT_F32:
        case TT_I32: with_array(s, (opcode){M0F, NP, 0x11}, v, base, 2, u * 64, 2, k, false); break;
        case TT_BF16:
            with_register(s, (opcode){M0F, P66, 0x72}, 2, room, v, 2, 0, false);
            byte(s, 16);
            with_array(s, (opcode){M38, PF3, 0x33}, room, base, 1, u * 32, 2, k, false);
            break;
        case TT_F16:
            with_array(s, (opcode){M3A, P66, 0x1d}, v, base, 1, u * 32, 2, k, false);
            byte(s, 8);
            break;
        default: /* the mask's lanes of a vector of ones */
            with_constant(s, (opcode){M0F, PF2, 0x6f}, room, 0, s->p->n_constants, 0, false, mask_of(s, q->a, u), true, 0);
            with_array(s, (opcode){M0F, PF2, 0x7f}, room, base, 0, u * 16, 0, k, false);
        }
    }
    if (needs_room)
        s->free_groups |= 1u << group;
    release(s, q->a, at);
}

static void half(assembler *s, const jit_step *q, int at) {
    if (is_constant(q->a)) {
        s->failed = true;
        return;
    }
    release(s, q->a, at);
    s->where[q->d] = (int16_t)take(s, &s->free_groups);
    for (int u = 0; u < s->U && !s->failed; u++) {
        int d = vector_of(s, q->d, u);
        with_register(s, (opcode){M3A, P66, 0x1d}, vector_of(s, q->a, u), 0, d, 2, 0, false);
        byte(s, 8);
        with_register(s, (opcode){M38, P66, 0x13}, d, 0, d, 2, 0, false);
    }
}

void jit_evex_step(assembler *s, const jit_step *q, int at) {
    switch (q->op) {
    case JIT_LOAD: load(s, q); break;
    case JIT_STORE: store(s, q, at); break;
    case JIT_ADD: binary(s, q, at, (opcode){M0F, NP, 0x58}, true); break;
    case JIT_SUB: binary(s, q, at, (opcode){M0F, NP, 0x5c}, false); break;
    case JIT_MUL: binary(s, q, at, (opcode){M0F, NP, 0x59}, true); break;
    case JIT_DIV: binary(s, q, at, (opcode){M0F, NP, 0x5e}, false); break;
    case JIT_MAX: binary(s, q, at, (opcode){M0F, NP, 0x5f}, false); break;
    case JIT_MIN: binary(s, q, at, (opcode){M0F, NP, 0x5d}, false); break;
    case JIT_AND: binary(s, q, at, (opcode){M0F, P66, 0xdb}, true); break;
    case JIT_OR: binary(s, q, at, (opcode){M0F, P66, 0xeb}, true); break;
    case JIT_XOR: binary(s, q, at, (opcode){M0F, P66, 0xef}, true); break;
    case JIT_ADD_INT: binary(s, q, at, (opcode){M0F, P66, 0xfe}, true); break;
    case JIT_SUB_INT: binary(s, q, at, (opcode){M0F, P66, 0xfa}, false); break;
    case JIT_SCALE: binary(s, q, at, (opcode){M38, P66, 0x2c}, false); break;
    case JIT_SQRT: unary(s, q, at, (opcode){M0F, NP, 0x51}, -1); break;
    case JIT_ROUND: unary(s, q, at, (opcode){M3A, P66, 0x08}, q->imm); break;
    case JIT_TO_FLOAT: unary(s, q, at, (opcode){M0F, NP, 0x5b}, -1); break;
    case JIT_SHR: shift(s, q, at, (opcode){M0F, P66, 0x72}, 2); break;
    case JIT_SHL: shift(s, q, at, (opcode){M0F, P66, 0x72}, 6); break;
    case JIT_SAR: shift(s, q, at, (opcode){M0F, P66, 0x72}, 4); break;
    case JIT_FMA: fused(s, q, at); break;
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
    if (t == TT_F32 || t == TT_I32) {
        with_array(s, (opcode){M0F, NP, 0x10}, v, RAX, 2, 0, 2, 0, false);
    } else if (t == TT_BF16) {
        with_array(s, (opcode){M38, P66, 0x33}, v, RAX, 1, 0, 2, 0, false);
        with_register(s, (opcode){M0F, P66, 0x72}, 6, v, v, 2, 0, false);
        byte(s, 16);
    } else {
        with_array(s, (opcode){M38, P66, 0x13}, v, RAX, 1, 0, 2, 0, false);
    }
}
