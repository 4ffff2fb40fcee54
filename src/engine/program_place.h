/* program_place.h - inside program_plan.c and program_place.c: a plan while it is being made. */
#ifndef ENG_PROGRAM_PLACE_H
#define ENG_PROGRAM_PLACE_H
#include "engine/program_plan.h"
#include <limits.h>

enum { ROOT_NONE = -1, ROOT_CONSTANTS = -2 }; /* eng_value_place.root otherwise indexes eng_builder.roots */
enum { ROOT_PARAM, ROOT_TEMP };
enum { LAST_RESULT = INT_MAX };

/* A piece of memory; values are (parts of) roots. */
typedef struct eng_root {
    int kind, param;
    int base;
    int64_t offset; /* -1: not placed yet */
    int64_t bytes;
    int def, latest, last; /* steps: first written, last written, last read */
    int merged;            /* the root whose memory it shares, -1 */
    int result;            /* that ends in it, -1 */
    int band, read_by;     /* that computes it in slices; that reads it in slices (program_bands.c); -1 */
    bool writable;         /* a param's memory may be overwritten once it is dead */
} eng_root;

/* A step before its values have places. */
typedef struct eng_draft {
    eng_step step;
    eng_value_place *values; /* n_in, then n_out */
    eng_value_place *captures;
    bool *over;       /* loops: [out * n_in + in]: out may overwrite in; NULL: never */
    bool in_slices;   /* of a band */
    int *slab_roots;  /* [block] */
    int *other_roots; /* WHILE: [carried], -1: in place */
    bool updates_rows; /* loops: step.old plus multiples of step.zero */
} eng_draft;

typedef struct eng_builder {
    eng_planner *p;
    eng_plan *plan;
    const hlo_block *block;
    bool *lazy;                 /* [position]: see eng_moves_find */
    const int *alias;           /* [own param]: the result it is meant for, -1; NULL: none */
    bool results_in_own_params; /* result i may end in parameter i only (while bodies) */
    int n_drafts, cap_drafts;
    eng_draft *drafts;
    int n_roots, cap_roots, cap_bands;
    eng_root *roots;
    eng_value_place *results;
    int64_t *result_bytes;
} eng_builder;

int eng_root_find(eng_builder *, int root); /* whose memory it shares */
void eng_rows_assign(eng_builder *);        /* after places are: which steps have rows (program_rows.c) */
/* Values that every loop that uses them computes (program_again.c). */
typedef struct eng_extra {
    int group, next;
} eng_extra;
typedef struct eng_again {
    bool *again; /* [position]: such a value */
    int *first;  /* [position]: the first of the groups that have the node as one more member, -1 */
    int n_extras, cap_extras;
    eng_extra *extras;
} eng_again;
void eng_again_find(eng_planner *, const hlo_block *, const int *group, int n_groups, eng_again *out);

int eng_root_new(eng_builder *, int kind, int64_t bytes, int def);
eng_value_place eng_value_find(eng_planner *, hlo_ref);
/* Can the last draft write the part that this update writes? Then it does, and the update needs no step. */
bool eng_into_take(eng_builder *, hlo_ref update);
void eng_bands_find(eng_builder *); /* program_bands.c */
bool eng_band_reads_slices(const eng_builder *, const eng_draft *, int input); /* and of the input nothing but its slice */
TT_MUST_CHECK tt_status eng_places_assign(eng_builder *); /* fills the plan */
#endif
