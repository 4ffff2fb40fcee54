/* loop_jit_asm.h - between the frame of compiled loops (loop_jit_emit.c) and the two encoders of their steps: EVEX (AVX-512, 16 lanes,
 * 32 registers, masks in k registers) and VEX (AVX2, 8 lanes, 16 registers, masks in vectors).
 *
 * A value occupies a group of U registers, one for each of the U vectors that a turn of the loop does. Groups are handed out in order of
 * the steps and given back after the last use. */
#ifndef ENG_LOOP_JIT_ASM_H
#define ENG_LOOP_JIT_ASM_H
#include "engine/loop_jit.h"
#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
extern const uint8_t jit_array_register[12];
enum { NP, P66, PF3, PF2 };
enum { M0F = 1, M38, M3A };
enum { W1 = 0x80 }; /* beside a prefix: operands of 64 bits, or of 16 */
enum { MOST_FIXUPS = 16384, JIT_ONES = 8 }; /* behind the constants: 32 bytes that encoders need, as wide as so many words */

typedef struct opcode { uint8_t map, prefix, code; } opcode;
typedef struct fixup { uint32_t at, end; int constant; } fixup;

typedef struct assembler {
    const jit_program *p;
    uint8_t *out;
    size_t n, room;
    int lanes, U;                     /* elements of a vector; vectors of a turn */
    bool masked, failed;              /* masked: loads and stores go under k1 */
    int registers, peak;              /* vectors that groups are made of; most groups that there were at once */
    int constant_register[JIT_MOST_CONSTANTS]; /* EVEX: set before the loop; -1: spread where it is read */
    int scratch[2], scratch_constant[2];       /* EVEX: registers for those that are not, and what they hold */
    int16_t where[JIT_MOST_STEPS];    /* value: its group */
    int last[JIT_MOST_STEPS];
    uint32_t free_groups, free_masks;
    fixup *fixups;
    int n_fixups;
} assembler;

static inline void byte(assembler *s, int b) {
    if (s->n < s->room)
        s->out[s->n] = (uint8_t)b;
    else
        s->failed = true;
    s->n++;
}

static inline void word(assembler *s, uint32_t w) {
    for (int i = 0; i < 4; i++)
        byte(s, (int)(w >> (8 * i)));
}

static inline bool is_value(int v) {
    return v >= 0 && v < JIT_CONSTANT;
}
static inline bool is_constant(int v) {
    return v >= JIT_CONSTANT && v < JIT_UNIFORM;
}

static inline int take(assembler *s, uint32_t *pool) {
    if (!*pool) {
        s->failed = true;
        return 0;
    }
    int g = __builtin_ctz(*pool);
    *pool &= *pool - 1;
    if (pool == &s->free_groups && g >= s->peak)
        s->peak = g + 1;
    return g;
}

static inline bool dies(const assembler *s, int v, int at) {
    return is_value(v) && s->last[v] == at;
}

static inline void release(assembler *s, int v, int at) {
    if (!dies(s, v, at) || s->where[v] < 0)
        return;
    uint32_t bit = 1u << s->where[v];
    if (s->p->is_mask[v] && s->lanes == 16)
        s->free_masks |= bit;
    else
        s->free_groups |= bit;
    s->last[v] = -1; /* once, when it is both operands */
}

/* Constant number `constant` is what the four bytes here lead to; `tail` bytes of the instruction follow them. */
static inline void constant_here(assembler *s, int constant, int tail) {
    if (s->n_fixups == MOST_FIXUPS) {
        s->failed = true;
        return;
    }
    s->fixups[s->n_fixups++] = (fixup){(uint32_t)s->n, (uint32_t)(s->n + 4) + (uint32_t)tail, constant};
    word(s, 0);
}

/* The result's group is that of v, if v dies here. */
static inline bool inherit(assembler *s, const jit_step *q, int v, int at) {
    if (!dies(s, v, at))
        return false;
    s->where[q->d] = s->where[v];
    s->last[v] = -1;
    return true;
}

/* Gives back what dies here, then takes the result's registers: each instruction reads its operands before it writes. */
static inline void begin(assembler *s, const jit_step *q, int at) {
    release(s, q->a, at);
    release(s, q->b, at);
    release(s, q->c, at);
    s->where[q->d] = (int16_t)take(s, &s->free_groups);
}

/* The code of one step, at index `at`; what sets uniform i, its tile's address in rax and rcx 0; a constant that stays in a register. */
void jit_evex_step(assembler *, const jit_step *, int at);
void jit_evex_uniform(assembler *, int i);
void jit_evex_constant(assembler *, int i);
void jit_vex_step(assembler *, const jit_step *, int at);
void jit_vex_uniform(assembler *, int i);
#endif
