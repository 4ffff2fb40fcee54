/* loop_jit.h - loops as x86-64 code: between the loop compiler, the expansion of ops into machine-like steps, and the emitter.
 *
 * A step works on virtual registers of 16 (AVX-512) or 8 (AVX2) f32 or i32 lanes, or on masks of them; constants are steps' operands too. The expansion follows
 * loop_vector.h line by line, so that code and tile kernels agree bit for bit. */
#ifndef ENG_LOOP_JIT_H
#define ENG_LOOP_JIT_H
#include "engine/loop_plan.h"

typedef enum jit_op {
    JIT_LOAD, JIT_STORE,                    /* array a / d; imm: tt_dtype, of a store | JIT_STREAM; c of a load in pairs: the mask of high halves */
    JIT_ADD, JIT_SUB, JIT_MUL, JIT_DIV, JIT_MAX, JIT_MIN, JIT_SQRT, JIT_ROUND, JIT_SCALE,
    JIT_FMA,                                /* d = a * b + c; imm 1: - c */
    JIT_TERNARY,                            /* EVEX: imm is the table of a logic function of three */
    JIT_DOT,                                /* EVEX: d = c + a.low * b.low + a.high * b.high, signed halves of a lane */
    JIT_RELU,                               /* EVEX: b is its table */
    JIT_SMALLER_MAGNITUDE,                  /* EVEX: min(|a|, |b|) */
    JIT_AND, JIT_OR, JIT_XOR, JIT_ADD_INT, JIT_SUB_INT, JIT_SHR, JIT_SHL, JIT_SAR, JIT_TO_FLOAT, JIT_TO_INT, JIT_TO_HALF_AND_BACK,
    JIT_COMPARE, JIT_COMPARE_INT,           /* imm: predicate; d is a mask */
    JIT_BLEND,                              /* d = mask c ? a : b */
    JIT_MASK_AND, JIT_MASK_OR, JIT_MASK_XOR, JIT_MASK_NOT,
} jit_op;

/* Operand ids: virtual registers from 0, constants from JIT_CONSTANT, loop-invariant registers from JIT_UNIFORM. */
enum { JIT_CONSTANT = 1 << 16, JIT_UNIFORM = 1 << 17, JIT_NONE = -1, JIT_MOST_STEPS = 4096, JIT_MOST_CONSTANTS = 512 };
enum { JIT_STREAM = 1 << 8 }; /* a store past the caches */
typedef struct jit_step { uint16_t op, imm; int d, a, b, c; } jit_step; /* no padding: hashed */

typedef struct jit_program {
    int lanes;                              /* 16: EVEX code; 8: VEX */
    int n_steps, n_values, n_constants, n_uniforms, n_arrays;
    jit_step steps[JIT_MOST_STEPS];
    bool is_mask[JIT_MOST_STEPS];
    bool long_nan[JIT_MOST_STEPS];          /* a NaN there may have some of the 16 low bits set, which rounding would carry away */
    bool has_dot;                           /* the processor knows JIT_DOT */
    bool streams;                           /* some store does */
    bool rows;                              /* EVEX: the code goes from row to row. Before the slots it finds how many, then a row's elements; JIT_ROW_SLOTS
                                             * behind the first one how many bytes each moves by. Of what a row has everywhere the slot is the element. */
    bool pairs;                             /* EVEX, all arrays are bf16: two vectors are the even and the odd elements of 32 */
    uint32_t constants[JIT_MOST_CONSTANTS];
    int uniform_slot[8];  tt_dtype uniform_dtype[8];
    int array_slot[12];                     /* slots of the loop, in the order pointers are loaded */
    bool failed;
} jit_program;

int jit_emit(jit_program *, jit_op, int a, int b, int c, int imm);  /* the new value */
int jit_bits(jit_program *, uint32_t bits);                         /* a constant */
int jit_number(jit_program *, float);

/* loop_jit_math.c: the value of one elementwise op in f32 lanes (masks for preds), not yet rounded to 16 bits; -1: not known. */
int jit_expand(jit_program *, const loop_instr *, const int *operands);
int jit_round(jit_program *, tt_dtype, int value);                                /* to the dtype and back; f32 is itself. bf16: the low halves are left */
int jit_clear(jit_program *, int value);                                          /* ... for this to clear; stores need not */

/* loop_jit_emit.c: machine code into memory; returns its size, 0 if registers do not suffice. */
size_t jit_assemble(const jit_program *, uint8_t *out, size_t room);

/* loop_jit.c */
enum { JIT_ROW_SLOTS = 24 };
typedef void (*jit_code)(const void *const *slots, int64_t n);
/* Sets the loop's code, if it can be compiled; large: one whose arrays no cache holds, which also gets code that streams. */
void jit_compile(eng_loop *, bool large);
/* Will there be code for rows, if the loop goes by rows? (But for ops that are not known.) */
bool jit_takes_rows(const eng_loop *);
#endif
