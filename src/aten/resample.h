/* resample.h - weighted sums along dims, what interpolation and adaptive pooling are: each output of an axis is a sum of a few inputs. */
#ifndef TT_RESAMPLE_H
#define TT_RESAMPLE_H
#include "aten/pieces.h"

/* Output i is the sum over taps k of weight[k * out + i] x[at[k * out + i]]; at < 0: no such tap. */
typedef struct axis { int64_t in, out; int taps; int32_t *at; double *weight; } axis;

axis axis_make(tt_lower *, int64_t in, int64_t out, int64_t taps); /* of no taps yet */
axis axis_turned(tt_lower *, const axis *);                        /* the gradient's: from outputs to inputs */

/* x with its last n (1 to 3) dims resampled; x's type of float stays, sums are taken in its accumulation type. */
hlo_ref resample(tt_lower *, hlo_ref x, int n, const axis *axes);
#endif
