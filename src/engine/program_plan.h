/* program_plan.h - inside program*.c: what a plan is made of.
 *
 * A plan runs one block (the entry function, or a region). Every value has a place: a base and an offset.
 * Bases are the constants, the slab, the block's parameters (a region's captured outer values follow its own)
 * and its results; a run fills in their addresses. */
#ifndef ENG_PROGRAM_PLAN_H
#define ENG_PROGRAM_PLAN_H
#include "base/arena.h"
#include "base/map.h"
#include "engine/memory.h"
#include "engine/program.h"

enum { BASE_CONSTANTS, BASE_SLAB, BASE_NOTHING, BASE_SLICE, BASE_PARAMS }; /* NOTHING: NULL, or see eng_band.passing; SLICE: a task's memory of a band */

typedef struct eng_place {
    int32_t base;
    int64_t offset;
} eng_place;

typedef enum eng_step_kind {
    STEP_KERNEL,
    STEP_LOOP,
    STEP_COMPOSITE,
    STEP_COPY,
    STEP_UPDATE,
    STEP_MOVE, /* copies by pieces; node: the last of the chain */
    STEP_FILL, /* node: a constant of one value */
    STEP_WHILE,
    STEP_BRANCH
} eng_step_kind;

/* Of a loop whose result are rows of a larger array: that is its last input, and its output what becomes of it (program_into.c). */
typedef struct eng_into {
    int64_t bytes;              /* of the whole */
    int64_t start, row, apart;  /* bytes before the first row; elements of a row; bytes from row to row */
} eng_into;

typedef struct eng_step {
    eng_step_kind kind;
    int n_in, n_out;
    int band;               /* of the plan, -1: none */
    int rows;               /* a slot plus 1: of the rows that tt.sum_rows writes, or of a gradient; 0: none */
    const eng_loop *loop;
    const eng_into *into;   /* of a loop, or NULL */
    eng_place *places;      /* n_in, then n_out */
    const hlo_node *node;   /* what it computes; of a loop its last member; NULL: a copy. A small loop needs nothing below */
    int old, zero;          /* of a loop with rows: the table among the inputs, the gradient */
    eng_kernel kernel, fallback;
    eng_composite_fn composite;
    const char *attributes; /* of the composite */
    const struct fast_move *move;
    const struct fast_piece *update; /* STEP_UPDATE: how the part lies; NULL: dense */
    int64_t *slice_bytes;      /* of a band, in slices: per place in the task's memory the bytes of a slice, else 0; NULL: runs before them */
    const hlo_type **types;    /* likewise; NULL for loops and copies */
    int64_t bytes;             /* STEP_COPY */
    int first_tensor;          /* in the frame */
    int n_blocks, first_child; /* regions: their plans, and their frames in the frame */
    eng_plan **blocks;
    eng_place *slabs; /* of the regions, inside this plan's slab */
    /* captured outer values: the places after n_in of a region's plan (WHILE, BRANCH), or what eng_run.env
     * finds (KERNEL) */
    int n_captures;
    const hlo_ref *captures;
    eng_place *capture_places;
    const hlo_type **capture_types;
    int first_capture;
    eng_place *other;       /* WHILE: second buffer of each carried value; base -1: its body works in place */
    bool *carried_in_place; /* WHILE: init already is where the result goes */
} eng_step;

/* Steps [first, first + n) that run slice by slice (program_bands.c). */
typedef struct eng_band {
    int first, n;
    int64_t slices, at_once; /* in all; that a task takes through the steps */
    int64_t scratch_bytes;   /* a task's values that nobody else reads */
    bool head;               /* the first step is a product, which the last, a loop, follows part by part; the others run before */
    bool passing;            /* and which has no memory: a run finds addresses for it, of which a kernel that does not hand it over makes use */
} eng_band;

struct eng_plan {
    int n_params, n_results, n_steps, n_tensors, n_children, n_bases; /* params: own, then captured */
    int n_own_params;
    eng_step *steps;
    int n_bands;
    eng_band *bands;
    eng_place *results; /* where each result is after the steps */
    bool *written;      /* [param]: written in place */
    int64_t slab_bytes;
    double flops, bytes, ns;
    int n_rows;
    eng_rows_slot *rows;
    int max_pointers; /* most inputs and outputs of a loop */
};

struct eng_frame {
    const eng_plan *plan;
    void **bases;
    eng_tensor *tensors;
    eng_frame **children;
    void **pointers; /* scratch of a step: of loops, and of while the current and the other buffers */
};

/* Compile time (program.c -> program_plan.c). */
typedef struct eng_value_place {
    int32_t root;
    int64_t offset;
} eng_value_place;
typedef struct eng_planner {
    tt_arena *arena, *temporary;
    hlo_graph *g;
    bool reference, excess_precision, collective;
    eng_value_place *values; /* [node]: in the plan being made; root -1: none yet */
    uint32_t *stamps;
    uint32_t stamp;            /* [node]: scratch of walks */
    int *positions;            /* [node]: in the block at hand */
    uint8_t *escapes;          /* [node]: how often the value is used outside its group, 2 for more */
    int64_t *constant_offsets; /* [node]: in the constants, -1 not there */
    int n_constants, cap_constants;
    hlo_ref *constants;
    int64_t constant_bytes;
    tt_map *loops; /* distinct ones so far, by their hash */
} eng_planner;
/* in_place: per own parameter, whether its memory may be written (NULL: none); alias: the result it is meant
 * for (-1: none; NULL: none). results_in_own_params: result i may end in parameter i's memory and in no other
 * parameter's. */
TT_MUST_CHECK tt_status eng_plan_block(eng_planner *, hlo_block *, int n_captures, const hlo_ref *captures,
                                       const bool *in_place, const int *alias, bool results_in_own_params,
                                       eng_plan **out);
/* Outer values used inside a node's regions, each once (temporary arena). */
void eng_captures_find(eng_planner *, const hlo_node *, int *out_n, hlo_ref **out_refs);
void eng_canonicalise(hlo_graph *, hlo_block *); /* program_fold.c */
/* A large constant of one value: what must have it in memory gets it written there, and what copies reads one element. */
bool eng_is_spread(const eng_planner *, const hlo_node *);
/* Where the node r stands in the block at hand, whose positions are set; -1: not there. */
static inline int eng_position(const eng_planner *p, const hlo_block *b, hlo_ref r) {
    const int at = p->positions[r];
    return at >= 0 && at < b->n_nodes && b->nodes[at] == r ? at : -1;
}
/* program_move.c: by position in the block (p->positions are set): which nodes are not computed, since what reads them reads through. */
void eng_moves_find(eng_planner *p, const hlo_block *, const int *group, const bool *is_result, bool *out_lazy);
/* The chain that ends at r, and what it reads (temporary arena); NULL: it is none. */
const struct fast_move *eng_move_make(eng_planner *, const hlo_block *, const bool *lazy, hlo_ref r, int *out_n_inputs, const hlo_ref **out_inputs);
/* How r lies in the value that it is read from, which lives as long as the plan. */
struct fast_piece *eng_move_view(eng_planner *, const hlo_block *, const bool *lazy, hlo_ref r, hlo_ref *out_base);
/* ---- rows (program_rows.c) ---- */
/* Is r a table plus multiples of something of its shape? */
bool eng_rows_find_update(const hlo_graph *, hlo_ref r, hlo_ref *out_table, hlo_ref *out_gradient);
/* Runs the step for these rows only; false: they do not do, nothing happened. */
bool eng_rows_run_update(const eng_step *, const eng_rows *, void *const *pointers);
bool eng_place_is_alias(const hlo_graph *, const hlo_node *,
                        int64_t *out_offset); /* the node's result is its operand's bytes */
#endif
