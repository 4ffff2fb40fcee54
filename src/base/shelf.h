/* shelf.h - objects of one size that are made and dropped all the time, by any thread: those that were dropped wait for the next.
 *
 * malloc keeps but a handful of a size per thread at hand, and a step of an optimizer makes hundreds. */
#ifndef TT_SHELF_H
#define TT_SHELF_H
#include "base/arena.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct tt_shelf {
    atomic_flag busy;
    int n;
    void *first; /* linked through their first bytes */
} tt_shelf;
#define TT_SHELF {.busy = ATOMIC_FLAG_INIT}
enum { TT_SHELF_MOST = 4096 };

/* For a shelf always of the same size. */
static inline void *tt_shelf_take(tt_shelf *s, size_t bytes) {
    while (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire)) {
    }
    void *p = s->first;
    if (p) {
        memcpy(&s->first, p, sizeof p);
        s->n--;
    }
    atomic_flag_clear_explicit(&s->busy, memory_order_release);
    return p ? p : tt_malloc_lines(bytes);
}

static inline void tt_shelf_give(tt_shelf *s, void *p) {
#ifndef __SANITIZE_ADDRESS__
    while (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire)) {
    }
    const bool kept = s->n < TT_SHELF_MOST;
    if (kept) {
        memcpy(p, &s->first, sizeof p);
        s->first = p;
        s->n++;
    }
    atomic_flag_clear_explicit(&s->busy, memory_order_release);
    if (kept)
        return;
#endif
    free(p);
}
#endif
