/* loop_plan.h - a compiled loop, between loop_create.c (which makes it) and loop_run.c (which runs it).
 *
 * The iteration space is N elements in row-major order, also seen as dims[n_dims] where sources need coordinates. Slots name
 * tiles: sources first, then outputs, then temporaries. Instructions run in order on each tile. */
#ifndef ENG_LOOP_PLAN_H
#define ENG_LOOP_PLAN_H
#include "engine/loop.h"

typedef enum loop_source_kind {
    LOOP_DIRECT,   /* element i of the iteration space is element i of the array */
    LOOP_SCALAR,   /* one element for all */
    LOOP_MAP,      /* offset + sum of coordinate * stride */
    LOOP_IOTA,     /* the same sum is the value */
} loop_source_kind;

typedef struct loop_source {
    loop_source_kind kind;
    tt_dtype dtype;
    int size;                /* bytes of an element */
    int input;               /* index of the loop's inputs; -1: constant */
    const void *constant;
    int64_t offset;
    const int64_t *strides;  /* n_dims, elements */
    int rank;                /* while being planned: the shape it was read in */
    const int64_t *dims;
    bool uniform;            /* the code reads one vector of it a row: what the row has everywhere */
    /* > 0: the first `period` elements, which repeat over the iteration space, are copied to a buffer of this many before a task begins
     * (over these dims and strides from `period_offset` on), and strides and offset then are those of the buffer */
    int64_t period, period_offset;
    int period_rank;
    const int64_t *period_dims, *period_strides;
    bool period_counts;      /* it was an iota */
} loop_source;

typedef struct loop_instr {
    loop_kernel kernel;
    int d, a, b, c;          /* slots; unused ones name slot d */
    uint16_t op;
    uint8_t in, out, direction; /* what the kernel was found by */
} loop_instr;

struct eng_loop {
    int64_t n;               /* elements */
    int n_dims;
    int64_t *dims;
    int n_sources, n_outputs, n_temps, n_slots, n_instrs, n_inputs;
    loop_source *sources;
    loop_instr *instrs;
    int n_maps, *maps;       /* sources that need coordinates */
    int n_moving, *moving;   /* slots of arrays whose element i is that of the iteration space */
    int *output_size;        /* bytes of an element */
    int64_t tile;            /* most elements of one tile */
    int64_t row, chunks;     /* row > 0: tiles are `chunks` pieces of each row of dims[n_dims - 1] = row elements; else they run across rows */
    int64_t n_tiles, tiles_per_task, n_tasks;
    size_t temp_bytes, scratch_bytes;
    bool plain;              /* one instruction, direct sources: no tiles needed */
    bool has_maps;
    void (*code)(const void *const *slots, int64_t n); /* the instructions as machine code (loop_jit.c), or NULL */
    void (*rows)(const void *const *slots, int64_t n); /* the same for rows one after the other, or NULL: see loop_jit.h */
    void (*streams)(const void *const *slots, int64_t n); /* the same with stores past the caches to arrays at multiples of 64 bytes, or NULL */
    int whole;               /* code takes multiples of so many elements */
};

/* The tile program's cost in units of about a quarter nanosecond per element. */
int64_t loop_weight(const eng_loop *l);
#endif
