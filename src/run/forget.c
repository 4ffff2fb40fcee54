/* forget.c - bounds the memory of signatures and programs: beyond TORCH_TPU_PROGRAM_BYTES what was used longest ago is forgotten.
 *
 * Each use stamps a signature or a window's program with the number of the op call. When their sum passes the limit, the oldest are
 * destroyed until half of it is free, so the cost is spread over many calls. Tapes pin their signatures; recorded ops and what the last
 * calls used stay. A program that is needed again is compiled again (from the disk tier, where there is one). */
#include "base/env.h"
#include "base/log.h"
#include "base/map.h"
#include "run/internal.h"
#include <stdlib.h>

uint64_t tt_op_clock;
static int64_t held_bytes;

enum { JUST_USED = 256 }; /* calls: a caller of a caller may still hold these */

void tt_held_add(int64_t bytes) { held_bytes += bytes; }

typedef struct entry { uint64_t used; bool is_program; tt_hash key; } entry;

static int by_use(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

static entry *entries;
static int n_entries, cap_entries;

void tt_forget_offer(bool is_program, tt_hash key, uint64_t used) {
    if (used + JUST_USED > tt_op_clock) return;
    if (n_entries == cap_entries) entries = tt_realloc(entries, sizeof *entries * (size_t)(cap_entries = cap_entries ? 2 * cap_entries : 1024));
    entries[n_entries++] = (entry){used, is_program, key};
}

void tt_forget_if_full(void) {
    const int64_t limit = tt_env_int(TT_ENV_PROGRAM_BYTES);
    if (held_bytes <= limit) return;
    int64_t before = held_bytes;
    int i = 0;
    tt_windows_keep_signatures();
    tt_signatures_offer();
    tt_window_programs_offer();
    if (n_entries) qsort(entries, (size_t)n_entries, sizeof *entries, by_use);
    for (; i < n_entries && held_bytes > limit / 2; i++)
        if (entries[i].is_program) tt_window_program_forget(entries[i].key); else tt_signature_forget(entries[i].key);
    tt_executables_forget_unused();
    TT_LOG(1, "signatures and programs held %lld bytes, the limit is %lld: forgot the %d of %d used longest ago, %lld bytes", (long long)before,
           (long long)limit, i, n_entries, (long long)(before - held_bytes));
    tt_run_stats.forgotten += i;
    free(entries);
    entries = NULL;
    n_entries = cap_entries = 0;
}
