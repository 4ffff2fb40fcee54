/* signature.h - between op.c, which keys calls, and signature.c, which lowers them. */
#ifndef TT_SIGNATURE_H
#define TT_SIGNATURE_H
#include "run/internal.h"

enum { TT_PLAIN_ARGS = 64 };
/* What keying a call finds out about it. Arrays live in the call arena. */
typedef struct tt_key {
    tt_hash full;
    bool plain; uint64_t plain_args;  /* arguments that are lists of whole values, bit by bit; plain: so is the one at hand, so far */
    bool of_family;                   /* without the values of runtime scalars */
    int n_storages, cap_storages; tt_storage **storages; /* distinct, in order of appearance; storage->mark is the number */
    int n_slots, cap_slots; tt_slot *slots; double *slot_f64; int64_t *slot_i64;
} tt_key;

/* in_order.c: does an element of this list op read what one before it writes? Then its parts are to be called one after another. */
bool tt_list_meets(const tt_call *, const tt_key *);
TT_MUST_CHECK tt_status tt_list_in_order(const tt_call *, tt_arena *scratch);

tt_strided tt_strided_of(const tt_tensor *);
/* Lowers; out_baked: arguments whose numbers shaped the graph. The signature owns its arena. */
TT_MUST_CHECK tt_status tt_sig_create(const tt_call *, const tt_key *, bool use_slots, tt_arena *scratch, uint64_t *out_baked, tt_sig **out);
#endif
