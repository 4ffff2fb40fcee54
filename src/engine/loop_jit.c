/* loop_jit.c - compiles a loop's instructions to machine code where the CPU and the loop allow it.
 *
 * Values stay in registers from load to store, so a chain costs one pass and no tiles. Code lives in one arena that is mapped
 * twice, writable and executable; equal loops share code, and nothing is freed, so what it can take is bounded by distinct loops. When
 * memory may not be made executable, or the arena is full, loops run their tile kernels, which give the same bits. */
#include "engine/loop_jit.h"
#include "base/env.h"
#include "base/hash.h"
#include "engine/isa.h"
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool has_long_nan(const jit_program *p, int v) {
    if (v >= JIT_UNIFORM)
        return p->uniform_dtype[v - JIT_UNIFORM] != TT_BF16;
    if (v >= JIT_CONSTANT)
        return (p->constants[v - JIT_CONSTANT] & 0x7fffffff) > 0x7f800000 && (p->constants[v - JIT_CONSTANT] & 0xffff);
    return v >= 0 && p->long_nan[v];
}

int jit_emit(jit_program *p, jit_op op, int a, int b, int c, int imm) {
    jit_step q = {(uint16_t)op, (uint16_t)imm, 0, a, b, c};
    if (a == -1 && op != JIT_LOAD)
        p->failed = true;
    for (int i = p->n_steps - 1; i >= 0 && i > p->n_steps - 24; i--) { /* the same again */
        const jit_step *o = &p->steps[i];
        if (o->op == q.op && o->imm == q.imm && o->a == a && o->b == b && o->c == c && op > JIT_STORE && op < JIT_COMPARE)
            return o->d;
    }
    if (p->n_steps == JIT_MOST_STEPS) {
        p->failed = true;
        return 0;
    }
    q.d = p->n_values++;
    bool long_a = has_long_nan(p, a), long_b = has_long_nan(p, b), computes = op < JIT_COMPARE || op == JIT_BLEND;
    p->long_nan[q.d] = op == JIT_LOAD ? imm != TT_BF16 : op == JIT_AND ? long_a && long_b : computes && (long_a || long_b || has_long_nan(p, c));
    p->is_mask[q.d] = op == JIT_COMPARE || op == JIT_COMPARE_INT || (op >= JIT_MASK_AND && op <= JIT_MASK_NOT) || (op == JIT_LOAD && imm == TT_PRED);
    p->steps[p->n_steps++] = q;
    return q.d;
}

int jit_bits(jit_program *p, uint32_t bits) {
    for (int i = 0; i < p->n_constants; i++)
        if (p->constants[i] == bits)
            return JIT_CONSTANT + i;
    if (p->n_constants == JIT_MOST_CONSTANTS) {
        p->failed = true;
        return JIT_CONSTANT;
    }
    p->constants[p->n_constants] = bits;
    return JIT_CONSTANT + p->n_constants++;
}

int jit_number(jit_program *p, float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return jit_bits(p, u);
}

enum { SHORT = 512 }; /* elements of a row that cost no more than a call */

static bool lane_type(int t) {
    return t == TT_F32 || t == TT_BF16 || t == TT_F16 || t == TT_PRED || t == TT_I32;
}

static int add_array(jit_program *p, int slot) {
    for (int i = 0; i < p->n_arrays; i++)
        if (p->array_slot[i] == slot)
            return i;
    if (p->n_arrays == 11) {
        p->failed = true;
        return 0;
    }
    p->array_slot[p->n_arrays] = slot;
    return p->n_arrays++;
}

/* A source's value: a constant, a register set before the loop, or a load. */
static int read_source(jit_program *p, const eng_loop *l, int i) {
    const loop_source *s = &l->sources[i];
    if (!lane_type(s->dtype)) {
        p->failed = true;
        return 0;
    }
    if (s->kind == LOOP_SCALAR && s->input < 0 && s->dtype != TT_PRED) {
        const char *e = (const char *)s->constant + s->offset * s->size;
        if (s->dtype == TT_I32) {
            uint32_t u;
            memcpy(&u, e, 4);
            return jit_bits(p, u);
        }
        float f;
        if (s->dtype == TT_F32)
            memcpy(&f, e, 4);
        else
            f = (float)tt_element_get(s->dtype, e);
        return jit_number(p, f);
    }
    bool same_in_row = s->kind == LOOP_MAP && l->row && !s->strides[l->n_dims - 1] && s->dtype != TT_PRED && p->n_uniforms < 6;
    if (s->kind == LOOP_SCALAR || same_in_row) {
        if (s->dtype == TT_PRED || p->n_uniforms == 8) {
            p->failed = true;
            return 0;
        }
        p->uniform_slot[p->n_uniforms] = i;
        p->uniform_dtype[p->n_uniforms] = s->dtype;
        return JIT_UNIFORM + p->n_uniforms++;
    }
    return jit_emit(p, JIT_LOAD, add_array(p, i), JIT_NONE, JIT_NONE, s->dtype);
}

static int operands_of(int op) {
    static const int8_t n[HLO_N_OPS] = {
#define HLO(name, text, n_operands, shape, flags) [HLO_##name] = n_operands,
#include "tables/hlo.def"
#undef HLO
    };
    return n[op];
}

static bool exact(int op) { /* the result of 16-bit operands fits 16 bits */
    switch (op) {
    case HLO_ABS: case HLO_NEGATE: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_SELECT: case HLO_CLAMP: case HLO_FLOOR: case HLO_CEIL:
    case HLO_ROUND_EVEN: case HLO_SIGN: return true;
    default: return false;
    }
}

static void translate(jit_program *p, const eng_loop *l) {
    int value[512];
    bool rounded[512] = {false}; /* to bf16, with low halves that are still to be cleared */
    if (l->n_slots > 512) {
        p->failed = true;
        return;
    }
    for (int i = 0; i < l->n_slots; i++)
        value[i] = JIT_NONE;
    for (int i = 0; i < l->n_instrs && !p->failed; i++) {
        const loop_instr *q = &l->instrs[i];
        int slots[3] = {q->a, q->b, q->c}, x[3];
        int n = operands_of(q->op);
        if (n < 1 || n > 3 || !lane_type(q->in) || !lane_type(q->out)) {
            p->failed = true;
            return;
        }
        for (int k = 0; k < n; k++) {
            if (value[slots[k]] == JIT_NONE && slots[k] < l->n_sources)
                value[slots[k]] = read_source(p, l, slots[k]);
            if (rounded[slots[k]]) {
                value[slots[k]] = jit_clear(p, value[slots[k]]);
                rounded[slots[k]] = false;
            }
            x[k] = value[slots[k]];
        }
        for (int k = n; k < 3; k++)
            x[k] = x[0];
        int v = jit_expand(p, q, x);
        if (v < 0) {
            p->failed = true;
            return;
        }
        bool rounds = !exact(q->op) && !(q->op == HLO_CONVERT && (q->in == q->out || q->in == TT_PRED));
        if (rounds)
            v = jit_round(p, (tt_dtype)q->out, v);
        rounded[q->d] = rounds && q->out == TT_BF16;
        value[q->d] = v;
        if (q->d >= l->n_sources && q->d < l->n_sources + l->n_outputs) {
            jit_emit(p, JIT_STORE, v, JIT_NONE, JIT_NONE, q->out);
            p->steps[p->n_steps - 1].d = add_array(p, q->d);
        }
    }
}

/* Whether loads need not put each element into a lane of its own: order within a turn does not matter if it is the same for all arrays. */
static void choose_pairs(jit_program *p) {
    p->pairs = p->lanes == 16;
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].op <= JIT_STORE && p->steps[i].imm != TT_BF16)
            p->pairs = false;
    int mask = p->pairs ? jit_bits(p, 0xffff0000u) : JIT_NONE;
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].op == JIT_LOAD)
            p->steps[i].c = mask;
}

/* ---- code memory ---- */

enum { ARENA = 64 << 20, MOST_CODE = 1 << 16, TABLE = 1 << 14 };

typedef struct entry { uint64_t a, b; uint32_t at; } entry;
static struct { pthread_mutex_t lock; uint8_t *write, *run; size_t used; bool tried; entry *table; int n; } memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool map_memory(void) {
    if (memory.tried)
        return memory.run != NULL;
    memory.tried = true;
#if defined(__x86_64__) && defined(__linux__)
    int fd = memfd_create("torch_tpu-loops", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    void *w = MAP_FAILED, *x = MAP_FAILED;
    if (!ftruncate(fd, ARENA)) {
        w = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        x = mmap(NULL, ARENA, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (w == MAP_FAILED || x == MAP_FAILED) {
        if (w != MAP_FAILED)
            munmap(w, ARENA);
        if (x != MAP_FAILED)
            munmap(x, ARENA);
        return false;
    }
    memory.write = w;
    memory.run = x;
    memory.table = tt_calloc(TABLE, sizeof *memory.table);
    return true;
#else
    return false;
#endif
}

static jit_code place(const jit_program *p) {
    tt_hash h = tt_hash_bytes(p->steps, sizeof *p->steps * (size_t)p->n_steps, (tt_hash){0});
    h = tt_hash_bytes(p->constants, 4 * (size_t)p->n_constants, h);
    h = tt_hash_bytes(p->uniform_slot, sizeof p->uniform_slot + sizeof p->uniform_dtype, h);
    h = tt_hash_bytes(p->array_slot, sizeof *p->array_slot * (size_t)p->n_arrays, h);
    h = tt_hash_bytes(&p->lanes, sizeof p->lanes, h);
    h = tt_hash_bytes(&p->rows, sizeof p->rows, h);
    h.a |= 1; /* 0 is a free place */
    entry *e = &memory.table[h.b & (TABLE - 1)];
    while (e->a && (e->a != h.a || e->b != h.b))
        e = e + 1 == memory.table + TABLE ? memory.table : e + 1;
    if (!e->a) {
        if (memory.used + MOST_CODE > ARENA || memory.n > TABLE / 2)
            return NULL;
        size_t size = jit_assemble(p, memory.write + memory.used, MOST_CODE);
        if (!size)
            return NULL;
        *e = (entry){h.a, h.b, (uint32_t)memory.used};
        memory.n++;
        memory.used += (size + 63) & ~(size_t)63;
    }
    jit_code code;
    void *at = memory.run + e->at;
    memcpy(&code, &at, sizeof code);
    return code;
}

static jit_code place_locked(const jit_program *p) {
    pthread_mutex_lock(&memory.lock);
    jit_code code = map_memory() ? place(p) : NULL;
    pthread_mutex_unlock(&memory.lock);
    return code;
}

bool jit_takes_rows(const eng_loop *l) {
    bool takes = eng_isa_level() >= ENG_ISA_AVX512 && tt_env_int(TT_ENV_JIT) && l->n_dims > 1 && l->n_slots <= JIT_ROW_SLOTS;
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        const int64_t step = s->kind == LOOP_MAP ? s->strides[l->n_dims - 1] : 1;
        takes &= lane_type(s->dtype) && s->kind != LOOP_IOTA && (step == 1 || (step == 0 && s->size == 4));
    }
    for (int i = 0; i < l->n_instrs; i++)
        takes &= lane_type(l->instrs[i].in) && lane_type(l->instrs[i].out);
    return takes;
}

/* One instruction is as fast without code, unless stores go past the caches, rows are spread for it, or short. */
static bool is_simple(const eng_loop *l) {
    bool spreads = l->row && l->row <= SHORT && jit_takes_rows(l);
    for (int i = 0; i < l->n_sources; i++)
        spreads |= l->row && l->sources[i].kind == LOOP_MAP && !l->sources[i].strides[l->n_dims - 1];
    return l->plain || (l->n_instrs < 2 && !spreads);
}

void jit_compile(eng_loop *l, bool large) {
    eng_isa level = eng_isa_level();
    l->whole = level >= ENG_ISA_AVX512 ? 1 : 8;
    bool one = is_simple(l);
    if (level < ENG_ISA_AVX2 || (one && (!large || level < ENG_ISA_AVX512)) || !tt_env_int(TT_ENV_JIT))
        return;
    static _Thread_local jit_program program; /* cleared, so that it hashes by what it says */
    jit_program *p = &program;
    p->n_steps = p->n_values = p->n_constants = p->n_uniforms = p->n_arrays = 0;
    p->lanes = level >= ENG_ISA_AVX512 ? 16 : 8;
    p->has_dot = level >= ENG_ISA_AVX512_BF16;
    p->failed = p->streams = p->rows = false;
    memset(p->uniform_slot, 0, sizeof p->uniform_slot);
    memset(p->uniform_dtype, 0, sizeof p->uniform_dtype);
    translate(p, l);
    choose_pairs(p);
    if (p->failed)
        return;
    l->code = place_locked(p);
    l->plain &= !l->code;
    for (int i = 0; l->code && i < p->n_uniforms; i++)
        l->sources[p->uniform_slot[i]].uniform = true;
    if (!l->code || p->lanes == 8)
        return;
    if (l->row && l->row <= SHORT && jit_takes_rows(l)) {
        p->rows = true;
        l->rows = place_locked(p);
        p->rows = false;
    }
    if (!large)
        return;
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].op == JIT_STORE)
            p->steps[i].imm |= JIT_STREAM;
    p->streams = true;
    l->streams = place_locked(p);
}
