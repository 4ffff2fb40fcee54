/* program.h - a compiled program: a parsed graph turned into steps over a planned memory.
 *
 * Stands between the PJRT objects (plugin*.c), which own memory and order, and the kernels, which own
 * nothing. A program is immutable and shared; a frame is one device's working state of it and serves one run
 * at a time. */
#ifndef ENG_PROGRAM_H
#define ENG_PROGRAM_H
#include "engine/engine.h"
#include <stddef.h>

typedef struct eng_plan eng_plan;
typedef struct eng_frame eng_frame;

/* Where what is known of a table's rows comes from and goes to: a parameter, -1; a result, -1. Neither: it stays within the program. */
typedef struct eng_rows_slot {
    int param, result;
} eng_rows_slot;

typedef struct eng_program {
    tt_arena *arena; /* graph, plan, loops */
    hlo_graph *graph;
    eng_plan *plan;
    int n_params, n_results;
    const hlo_type **param_types, **result_types;
    bool *donated; /* [param]: the program says that it may be donated */
    bool *written; /* [param]: the plan writes into its memory: it must be owned by the run, or be a copy */
    int *result_in_param; /* [result]: the parameter whose memory it ends in, -1: memory of its own */
    int n_rows; /* slots */
    const eng_rows_slot *rows;
    int64_t slab_bytes, argument_bytes, output_bytes, alias_bytes, constant_bytes;
    int64_t n_replicas, n_partitions;
    double flops, bytes_accessed; /* estimates */
    int64_t estimate_ns;          /* of a run */
    bool collective;              /* devices must run it together */
    bool reference, excess_precision;
    void *constants; /* 64-byte aligned */
} eng_program;

/* Parses, verifies, inlines, folds, fuses and plans. */
TT_MUST_CHECK tt_status eng_program_create(const char *text, size_t length, bool reference, bool excess_precision,
                                           eng_program **out);
void eng_program_destroy(eng_program *);
/* Steps go over their values slice by slice (program_bands.c) if one that is read again has so many bytes: tests lower it. */
extern int64_t eng_bands_from;
int64_t eng_follow_count(void); /* how often a loop ran on part of a product: tests want to know that it does */
eng_frame *eng_frame_create(const eng_program *);
void eng_frame_destroy(eng_frame *);
/* params, results: one address each (a result that lives in a parameter's memory has that parameter's). slab:
 * slab_bytes. */
TT_MUST_CHECK tt_status eng_program_run(const eng_program *, eng_frame *, eng_run *, void *const *params,
                                        void *const *results, void *slab);

/* Copies of dense blocks, in parallel when large. */
void eng_copy_bytes(void *dst, const void *src, int64_t bytes);

/* ---- collectives (collective.c) ----
 * One launch of a program on several devices; each participant runs on its device's thread. */
typedef struct eng_launch eng_launch;
typedef struct eng_participant {
    eng_launch *launch;
    int index, replica, partition;
} eng_participant;
eng_launch *eng_launch_create(int n_replicas, int n_partitions); /* with one reference per participant */
void eng_launch_release(eng_launch *);
/* A participant that fails wakes the others: they fail with its message instead of waiting for ever. */
void eng_launch_fail(eng_launch *, const tt_error *borrowed);
eng_kernel eng_collective_kernel(int op); /* hlo_op; NULL: not a collective */
#endif
