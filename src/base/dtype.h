/* dtype.h - element types, from tables/dtype.def. Knows nothing of tensors. */
#ifndef TT_DTYPE_H
#define TT_DTYPE_H
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_dtype {
    TT_DTYPE_NONE = 0,
#define DTYPE(name, mlir, bits, class_, torch, pjrt) TT_##name,
#include "tables/dtype.def"
#undef DTYPE
    TT_N_DTYPES
} tt_dtype;

typedef enum tt_class { TT_CLASS_PRED, TT_CLASS_SINT, TT_CLASS_UINT, TT_CLASS_FLOAT, TT_CLASS_COMPLEX } tt_class;

const char *tt_dtype_name(tt_dtype);      /* "f32", "TT_DTYPE_NONE" gives "none" */
int tt_dtype_size(tt_dtype);              /* bytes an element takes in a dense host array */
tt_class tt_dtype_class(tt_dtype);
int tt_dtype_to_torch(tt_dtype);          /* c10::ScalarType or -1 */
tt_dtype tt_dtype_from_torch(int scalar_type); /* TT_DTYPE_NONE where we have none */
int tt_dtype_to_pjrt(tt_dtype);
tt_dtype tt_dtype_from_pjrt(int buffer_type);
tt_dtype tt_dtype_from_name(const char *name, int length); /* "bf16", "complex<f32>" */
static inline bool tt_is_float(tt_dtype d) { return tt_dtype_class(d) == TT_CLASS_FLOAT; }
static inline bool tt_is_complex(tt_dtype d) { return tt_dtype_class(d) == TT_CLASS_COMPLEX; }
static inline bool tt_is_int(tt_dtype d) { tt_class c = tt_dtype_class(d); return c == TT_CLASS_SINT || c == TT_CLASS_UINT; }
/* The real type of a complex one (f32 for complex<f32>); others give themselves. */
tt_dtype tt_dtype_real(tt_dtype);

/* One element: value <-> bytes of a dense array. Rounds to nearest even; saturates nowhere (wraps like C). */
double tt_element_get(tt_dtype, const void *element);            /* the real part of a complex one */
void tt_element_set(tt_dtype, void *element, double value);
int64_t tt_element_get_int(tt_dtype, const void *element);       /* integers and pred, exact */
void tt_element_set_int(tt_dtype, void *element, int64_t value);
uint16_t tt_f32_to_bf16(float); float tt_bf16_to_f32(uint16_t);
uint16_t tt_f32_to_f16(float);  float tt_f16_to_f32(uint16_t);

#ifdef __cplusplus
}
#endif
#endif
