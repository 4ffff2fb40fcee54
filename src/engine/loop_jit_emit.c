/* loop_jit_emit.c - the frame of a compiled loop: registers by a linear scan, the loop around the steps, constants behind the code.
 *
 * The code takes (rdi: the slots' pointers, rsi: n). Its main loop does U vectors at a time, a second one the rest: with EVEX the last
 * vector under mask k1; with VEX whole vectors only, so n must be a multiple of 8. If values do not fit the registers a smaller U is
 * tried; registers that they leave keep constants. */
#include "engine/loop_jit_asm.h"

const uint8_t jit_array_register[12] = {RDX, R8, R9, R10, R11, RBX, RBP, R12, R13, R14, R15, RAX};
static const uint8_t saved[6] = {RBX, RBP, R12, R13, R14, R15};

/* All steps once, for U vectors. */
static bool body(assembler *s, int U, bool masked) {
    const jit_program *p = s->p;
    s->U = U;
    s->masked = masked;
    s->free_groups = (uint32_t)((1ull << (s->registers / U)) - 1);
    s->free_masks = (1u << (6 / U)) - 1;
    for (int i = 0; i < p->n_values; i++)
        s->where[i] = s->last[i] = -1;
    for (int i = 0; i < p->n_steps; i++) {
        const jit_step *q = &p->steps[i];
        int used[3] = {q->op == JIT_LOAD ? JIT_NONE : q->a, q->b, q->c};
        for (int k = 0; k < 3; k++)
            if (is_value(used[k]))
                s->last[used[k]] = i;
        if (q->op != JIT_STORE && s->last[q->d] < 0)
            s->last[q->d] = i; /* perhaps never read */
    }
    for (int i = 0; i < p->n_steps && !s->failed; i++) {
        if (p->lanes == 16)
            jit_evex_step(s, &p->steps[i], i);
        else
            jit_vex_step(s, &p->steps[i], i);
        if (p->steps[i].op != JIT_STORE)
            release(s, p->steps[i].d, i);
    }
    return !s->failed;
}

/* ---- the function ---- */

static void rex_slots(assembler *s, int code, int reg, int slot) { /* code reg, [rdi + 8 * slot] */
    byte(s, 0x48 | (reg >> 3) << 2);
    byte(s, code);
    byte(s, 0x87 | (reg & 7) << 3);
    word(s, (uint32_t)(8 * slot));
}

static void rex_move_from_slots(assembler *s, int reg, int slot) {
    rex_slots(s, 0x8b, reg, slot);
}

static void move_stack(assembler *s, int code, const jit_program *p) { /* add or sub rsp: room for the uniforms */
    byte(s, 0x48), byte(s, 0x81), byte(s, code), word(s, (uint32_t)(32 * p->n_uniforms));
}

static void prologue(assembler *s) {
    const jit_program *p = s->p;
    for (int i = 0; i < 6; i++) {
        if (saved[i] >= 8)
            byte(s, 0x41);
        byte(s, 0x50 | (saved[i] & 7));
    }
    if (p->lanes == 8)
        move_stack(s, 0xec, p); /* sub */
    for (int i = 0; i < p->n_constants; i++)
        if (s->constant_register[i] >= 0)
            jit_evex_constant(s, i);
}

/* What the slots say. */
static void begin_row(assembler *s) {
    const jit_program *p = s->p;
    for (int i = 0; i < p->n_uniforms; i++) { /* a spread tile's first vector */
        rex_move_from_slots(s, RAX, p->uniform_slot[i]);
        byte(s, 0x31), byte(s, 0xc9); /* xor ecx, ecx */
        if (p->lanes == 16)
            jit_evex_uniform(s, i);
        else
            jit_vex_uniform(s, i);
    }
    for (int i = 0; i < p->n_arrays; i++)
        rex_move_from_slots(s, jit_array_register[i], p->array_slot[i]);
    byte(s, 0x31), byte(s, 0xc9);
    if (p->rows)
        rex_slots(s, 0x8b, 6, -1); /* mov rsi, [rdi - 8] */
}

static void move_slot(assembler *s, int slot) {
    rex_slots(s, 0x8b, RAX, slot);
    rex_slots(s, 0x03, RAX, slot + JIT_ROW_SLOTS); /* add */
    rex_slots(s, 0x89, RAX, slot);
}

static void advance(assembler *s, int n) { /* add rcx, n; sub rsi, n */
    byte(s, 0x48), byte(s, 0x81), byte(s, 0xc1), word(s, (uint32_t)n);
    byte(s, 0x48), byte(s, 0x81), byte(s, 0xee), word(s, (uint32_t)n);
}

static size_t jump(assembler *s, int condition) { /* 0: always; patched later */
    if (condition) {
        byte(s, 0x0f);
        byte(s, condition);
    } else {
        byte(s, 0xe9);
    }
    word(s, 0);
    return s->n;
}

static void land(assembler *s, size_t from, size_t to) {
    int32_t distance = (int32_t)((int64_t)to - (int64_t)from);
    if (from <= s->room)
        memcpy(s->out + from - 4, &distance, 4);
}

static void last_lanes_mask(assembler *s) { /* k1: the lowest rsi lanes */
    if (s->p->n_arrays == 12)
        s->failed = true; /* rax is not free */
    byte(s, 0xb8), word(s, 0xffffffffu);                                       /* mov eax, -1 */
    byte(s, 0xc4), byte(s, 0xe2), byte(s, 0x48), byte(s, 0xf5), byte(s, 0xc0); /* bzhi eax, eax, esi */
    byte(s, 0xc5), byte(s, 0xf8), byte(s, 0x92), byte(s, 0xc8);                /* kmovw k1, eax */
}

/* While rsi >= least: U vectors. */
static bool loop(assembler *s, int U, int least, bool masked) {
    enum { JL = 0x8c };
    size_t top = s->n, to_end, back;
    byte(s, 0x48), byte(s, 0x81), byte(s, 0xfe), word(s, (uint32_t)least); /* cmp rsi, least */
    to_end = jump(s, JL);
    if (masked)
        last_lanes_mask(s);
    if (!body(s, U, masked))
        return false;
    advance(s, s->lanes * U);
    back = jump(s, 0);
    land(s, back, top);
    land(s, to_end, s->n);
    return true;
}

static bool assemble(assembler *s, int U) {
    bool masked = s->lanes == 16;
    s->n = 0;
    s->n_fixups = 0;
    s->failed = false;
    prologue(s);
    const size_t top = s->n;
    begin_row(s);
    if (!loop(s, U, s->lanes * U, false))
        return false;
    if ((masked || U > 1) && !loop(s, 1, masked ? 1 : s->lanes, masked))
        return false;
    if (s->p->rows) {
        enum { JNE = 0x85 };
        for (int i = 0; i < s->p->n_arrays; i++)
            move_slot(s, s->p->array_slot[i]);
        for (int i = 0; i < s->p->n_uniforms; i++)
            move_slot(s, s->p->uniform_slot[i]);
        rex_slots(s, 0xff, 1, -2); /* dec qword [rdi - 16] */
        land(s, jump(s, JNE), top);
    }
    if (s->lanes == 8)
        move_stack(s, 0xc4, s->p); /* add */
    for (int i = 5; i >= 0; i--) {
        if (saved[i] >= 8)
            byte(s, 0x41);
        byte(s, 0x58 | (saved[i] & 7));
    }
    if (s->p->streams)
        byte(s, 0x0f), byte(s, 0xae), byte(s, 0xf8); /* sfence: others see what was stored */
    byte(s, 0xc5), byte(s, 0xf8), byte(s, 0x77), byte(s, 0xc3); /* vzeroupper, ret */
    return !s->failed;
}

/* EVEX: registers that groups leave over are the constants', those that are read most first. */
static void keep_constants(assembler *s, int registers) {
    const jit_program *p = s->p;
    int uses[JIT_MOST_CONSTANTS] = {0};
    for (int i = 0; i < p->n_constants; i++)
        s->constant_register[i] = -1;
    s->scratch[0] = 31 - p->n_uniforms;
    s->scratch[1] = s->scratch[0] - 1;
    s->registers = p->n_constants ? s->scratch[1] : s->scratch[0] + 1;
    if (!registers)
        return;
    for (int i = 0; i < p->n_steps; i++) {
        const jit_step *q = &p->steps[i];
        const int operands[3] = {q->op == JIT_LOAD ? JIT_NONE : q->a, q->b, q->c};
        for (int k = 0; k < 3; k++)
            if (is_constant(operands[k]))
                uses[operands[k] - JIT_CONSTANT]++;
    }
    bool all = p->n_constants <= registers + 2; /* then nothing needs the scratch registers */
    int next = all ? s->scratch[0] : s->scratch[1] - 1;
    for (int n = all ? p->n_constants : registers; n > 0; n--) {
        int most = 0;
        for (int i = 1; i < p->n_constants; i++)
            most = uses[i] > uses[most] ? i : most;
        s->constant_register[most] = next--;
        uses[most] = -1;
    }
    s->registers = next + 1;
}

/* With U vectors a turn, if values fit the registers; then again, with constants in what is left. */
static bool assemble_best(assembler *s, int U) {
    s->peak = 0;
    keep_constants(s, 0);
    if (s->p->lanes == 8)
        s->registers = 15;
    if (!assemble(s, U))
        return false;
    int left = s->registers - U * s->peak;
    if (s->p->lanes == 8 || !s->p->n_constants || left <= 0)
        return true;
    keep_constants(s, left);
    return assemble(s, U);
}

/* EVEX spreads words; VEX reads constants as whole vectors. Behind them what the encoders need: the bytes that preds are made of and which
 * words are high halves of lanes; all bits. */
static size_t write_pool(const jit_program *p, uint8_t *out) {
    size_t copies = p->lanes == 16 ? 1 : 8, n = 0;
    for (int i = 0; i < p->n_constants; i++)
        for (size_t k = 0; k < copies; k++, n += 4)
            memcpy(out + n, &p->constants[i], 4);
    memset(out + n, p->lanes == 16 ? 1 : 0xff, 4 * JIT_ONES);
    n += 4 * JIT_ONES;
    for (int i = 0; p->lanes == 16 && i < 32; i++, n += 2)
        memcpy(out + n, &(uint16_t){(uint16_t)(p->pairs ? (i | 1) + 32 * (i & 1) : 2 * i + 1)}, 2);
    return n;
}

size_t jit_assemble(const jit_program *p, uint8_t *out, size_t room) {
    static _Thread_local assembler s;
    static _Thread_local fixup fixups[MOST_FIXUPS];
    s.p = p;
    s.out = out;
    s.room = room;
    s.fixups = fixups;
    s.lanes = p->lanes;
    bool done = false;
    for (int U = 4; U && !done; U /= 2)
        done = assemble_best(&s, U);
    if (!done)
        return 0;
    size_t pool = (s.n + 63) & ~(size_t)63, each = p->lanes == 16 ? 4 : 32;
    if (pool + each * (size_t)p->n_constants + 4 * JIT_ONES + 64 > room)
        return 0;
    memset(out + s.n, 0xcc, pool - s.n);
    for (int i = 0; i < s.n_fixups; i++) {
        int32_t distance = (int32_t)(pool + each * (size_t)s.fixups[i].constant) - (int32_t)s.fixups[i].end;
        memcpy(out + s.fixups[i].at, &distance, 4);
    }
    return pool + write_pool(p, out + pool);
}
