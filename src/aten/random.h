/* random.h - what random.c, random_gamma.c and random_count.c share: draws from the op's generator. */
#ifndef TT_RANDOM_H
#define TT_RANDOM_H
#include "aten/elem.h"

/* n words of 32 or 64 bits as [dims]. Each draw of an op goes on where the one before ended. */
hlo_ref random_words(tt_lower *L, tt_dtype bits, int rank, const int64_t *dims);
/* k / 2^digits, k of `digits` random bits: in [0, 1), exact in f32 (up to 24) or f64 (up to 53). */
hlo_ref random_uniform(tt_lower *L, tt_dtype in, int digits, int rank, const int64_t *dims);
/* (2k + 1) / 2^(digits + 1): in (0, 1), both ends open, exact. */
hlo_ref random_open(tt_lower *L, tt_dtype in, int rank, const int64_t *dims);
hlo_ref random_standard(tt_lower *L, tt_dtype in, int rank, const int64_t *dims); /* normal, mean 0, deviation 1 */
/* x, which fails with `message` unless `holds` is true everywhere, on an engine that can tell. */
hlo_ref random_checked(tt_lower *L, hlo_ref x, hlo_ref holds, const char *message);

/* ---- rejection: a loop that draws anew until every element has been accepted (random_gamma.c) ----
 * try: one attempt for all elements; writes the candidates and whether each is accepted. What it needs comes in values[n] (their types stay).
 * Elements that no attempt of `attempts` settled keep `fallback`. The op's generator moves by what all attempts would draw. */
typedef void (*random_try_fn)(tt_lower *L, void *context, const hlo_ref *values, hlo_ref *out_candidate, hlo_ref *out_accepted);
hlo_ref random_reject(tt_lower *L, int attempts, int n, const hlo_ref *values, hlo_ref fallback, random_try_fn, void *context);
#endif
