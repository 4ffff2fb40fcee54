/* memory.h - a virtual chip's memory: counted, limited, cached. Below the buffers; knows nothing of PJRT
 * objects. */
#ifndef ENG_MEMORY_H
#define ENG_MEMORY_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct eng_memory eng_memory; /* thread-safe */
typedef struct eng_memory_stats {
    int64_t in_use, peak, limit, largest, cached; /* bytes; in use and peak by size class */
    int64_t n_allocs, n_live;                     /* since creation; now */
} eng_memory_stats;

eng_memory *eng_memory_create(int device, int64_t limit /* 0: the host's memory */);
void eng_memory_destroy(eng_memory *); /* blocks still out stay valid, but must not be freed any more */
/* 64-byte aligned, contents undefined; bytes 0 is fine. RESOURCE_EXHAUSTED names the sizes. */
TT_MUST_CHECK tt_status eng_memory_alloc(eng_memory *, int64_t bytes, void **out);
void eng_memory_free(eng_memory *, void *block, int64_t bytes /* as given to alloc */);

/* What is known of a block: the first `bytes` of it are zero but for the rows at[k] * pitch .., each named once. Made by malloc. */
typedef struct eng_rows {
    int64_t bytes, pitch, n, capacity;
    struct eng_rows *next; /* the rest: of blocks that wait */
    void *block;
    int class_;
    bool old;
    int32_t at[];
} eng_rows;
/* A block that was freed with its rows, if there is one: *out_rows is the caller's, NULL where contents are undefined. */
TT_MUST_CHECK tt_status eng_memory_alloc_rows(eng_memory *, int64_t bytes, void **out, eng_rows **out_rows);
void eng_memory_free_rows(eng_memory *, void *block, int64_t bytes, eng_rows *take /* NULL is fine */);
/* Fails when `bytes` more could never fit, without allocating: a program is refused before it is queued. */
TT_MUST_CHECK tt_status eng_memory_check(eng_memory *, int64_t bytes);
void eng_memory_stats_get(eng_memory *, eng_memory_stats *out);
void eng_memory_trim(eng_memory *); /* gives cached blocks back to the system */
/* Tests only. A freed block that nobody takes goes back to the system after one to two periods of 5,000 ms. */
void eng_memory_period(int ms);
#endif
