/* splice.h - deep copies of blocks within hlo/. */
#ifndef HLO_SPLICE_H
#define HLO_SPLICE_H
#include "hlo/internal.h"

typedef struct hlo_copier {
    hlo_graph *g;            /* copies go to g->block */
    const hlo_graph *source; /* may be g itself */
    hlo_ref *map; /* source ref -> ref in g, at least source->n_nodes entries; parameters set by the caller */
    int depth;
} hlo_copier;

/* Failures are g's sticky error. */
void hlo_copy_block(hlo_copier *c, const hlo_block *from);
#endif
