/* table.c - the rows of tables/aten.def as an array, and the way from an op's name to its row.
 *
 * The bridge walks the rows to register them; run/ only carries row pointers. */
#include "aten/lower.h"
#include <pthread.h>
#include <string.h>

/* The flags column leaves TT_ROW_ out. */
enum { RNG = TT_ROW_RNG, MUTATES = TT_ROW_MUTATES, STATS = TT_ROW_STATS, CREATES = TT_ROW_CREATES };

#define ATEN(functional, inplace, out, lowering, param, flags) tt_status lowering(tt_lower *);
#include "tables/aten.def"
#undef ATEN

const tt_row tt_rows[] = {
#define ATEN(functional, inplace, out, lowering, param, flags) {functional, inplace, out, lowering, param, flags},
#include "tables/aten.def"
#undef ATEN
    {"", "", "", NULL, 0, 0},
};
const int tt_n_rows = (int)(sizeof tt_rows / sizeof tt_rows[0]) - 1;

enum { N_SLOTS = 8192 }; /* a power of two, well over three names a row */
static struct { const char *name; const tt_row *row; int kind; } slots[N_SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static unsigned slot_of(const char *name) {
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return (h ^ h >> 15) & (N_SLOTS - 1);
}

static void put(const char *name, const tt_row *row, int kind) {
    if (!name[0])
        return;
    unsigned i = slot_of(name);
    while (slots[i].name && strcmp(slots[i].name, name))
        i = (i + 1) & (N_SLOTS - 1);
    if (!slots[i].name) { /* the first row of a name wins */
        slots[i].name = name;
        slots[i].row = row;
        slots[i].kind = kind;
    }
}

static void fill(void) {
    for (int i = 0; i < tt_n_rows && i < N_SLOTS / 6; i++) {
        put(tt_rows[i].name, &tt_rows[i], 0);
        put(tt_rows[i].inplace, &tt_rows[i], 1);
        put(tt_rows[i].out, &tt_rows[i], 2);
    }
}

const tt_row *tt_row_find(const char *name, int *out_kind) {
    pthread_once(&once, fill);
    for (unsigned i = slot_of(name); slots[i].name; i = (i + 1) & (N_SLOTS - 1)) {
        if (strcmp(slots[i].name, name))
            continue;
        if (out_kind)
            *out_kind = slots[i].kind;
        return slots[i].row;
    }
    return NULL;
}
