/* lower.h - what a lowering sees, and what it gives back.
 *
 * A row of tables/aten.def names an ATen op and the C function that states its meaning as StableHLO. The
 * function runs once per signature (dtypes, shapes, strides, structural arguments); run/ keeps the
 * fragment. It is functional: values in, new values out; in-place, out= and views are run/'s business.
 * It knows neither storages nor devices nor PyTorch. */
#ifndef TT_LOWER_H
#define TT_LOWER_H
#include "hlo/build.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tt_arg_tag {
    TT_ARG_NONE, TT_ARG_TENSOR, TT_ARG_INT, TT_ARG_DOUBLE, TT_ARG_BOOL, TT_ARG_COMPLEX, TT_ARG_STRING,
    TT_ARG_INTS, TT_ARG_DOUBLES, TT_ARG_BOOLS,
    TT_ARG_TENSORS,     /* Tensor[] and Tensor?[]: elements may be NULL */
    TT_ARG_SCALARS,     /* Scalar[]: n tt_arg, INT DOUBLE BOOL or COMPLEX */
    TT_ARG_DEVICE, TT_ARG_GENERATOR,
} tt_arg_tag;

struct tt_storage;

/* A tensor argument. Filled by the bridge; `value` by run/ before the lowering is called. */
typedef struct tt_tensor {
    struct tt_storage *storage;      /* NULL: a 0-dim CPU tensor, given by number/integer */
    const int64_t *dims, *strides;   /* elements; borrowed from PyTorch for the call */
    int64_t offset;                  /* elements, from the start of the storage */
    int rank;
    tt_dtype dtype;
    bool wrapped;                    /* a Python number: does not decide dtypes of its own class */
    bool conj, neg;                  /* lazy bits; run/ resolves them in `value` */
    double number[2]; int64_t integer; /* host scalar: as double (re, im), and exact for integers */
    hlo_ref value;                   /* type: dtype and dims as above (logical order) */
} tt_tensor;

/* ScalarType, Layout and MemoryFormat arguments arrive as INT. */
typedef struct tt_arg {
    tt_arg_tag tag;
    int n;                           /* list or string length */
    union {
        int64_t i; double d; double c[2]; const char *s;
        const int64_t *ints; const double *doubles; const bool *bools;
        tt_tensor *tensor; tt_tensor *const *tensors; const struct tt_arg *scalars;
        struct { void *handle; uint64_t seed, offset; } generator;
    } u;
} tt_arg;

typedef struct tt_out {
    enum { TT_OUT_NONE, TT_OUT_TENSOR, TT_OUT_INT, TT_OUT_TENSORS_BEGIN /* the next n outs form a Tensor[] */ } tag;
    hlo_ref value;
    int64_t integer;                 /* TT_OUT_INT, and n of TT_OUT_TENSORS_BEGIN */
    int order[HLO_MAX_RANK];         /* memory order: order[0] is the slowest dim; identity = contiguous */
    const int64_t *strides;          /* NULL, or the dense strides to show, which may be odd for dims of size 1 */
    bool zeros;                      /* a new tensor of it is one that nobody has written yet */
} tt_out;

typedef struct tt_lower tt_lower;
typedef tt_status (*tt_lower_fn)(tt_lower *);

/* Row flags of aten.def, without TT_ROW_. */
enum {
    TT_ROW_RNG = 1,       /* takes a generator (or the default one); uses L->rng */
    TT_ROW_MUTATES = 2,   /* the `inplace` name is a mutating op of its own: its first outs are the new values of its mutated
                             arguments (schema order, lists flattened), then come its returns */
    TT_ROW_STATS = 4,     /* functional op that also updates args 3 and 4 (running stats): two extra outs after the returns
                             (TT_OUT_NONE when the argument is None or not updated) */
    TT_ROW_CREATES = 8,   /* has no tensor argument: the device comes from a device argument or the current device */
};

typedef struct tt_row {
    const char *name, *inplace, *out; /* "add.Tensor", "add_.Tensor", "add.out"; "" where there is none */
    tt_lower_fn lower;
    int param;                        /* for functions that serve many rows, usually an hlo_op */
    unsigned flags;
} tt_row;
extern const tt_row tt_rows[];
extern const int tt_n_rows;

struct tt_lower {
    hlo_graph *g;
    tt_arena *arena;                  /* call arena: scratch and outs */
    const tt_row *row;
    const tt_arg *args; int n_args;   /* functional schema order; trailing out= arguments removed */
    int n_outs, cap_outs; tt_out *outs;
    const char *precision;            /* for dots: "DEFAULT" "HIGH" "HIGHEST" */
    bool check_bounds;                /* mark indices with tt.bounds */
    hlo_ref rng;                      /* tensor<2xui64> {seed, offset}; HLO_NONE unless TT_ROW_RNG */
    uint64_t rng_used;                /* set by the lowering: by how much the generator's offset moves (4 x 32-bit blocks) */
    /* run/'s part: which scalar arguments were read as numbers (baked) and which only as values (slots) */
    uint64_t baked, slotted;
    hlo_ref *slots;                   /* per argument: a rank-0 f64 or i64 parameter, or HLO_NONE: use a constant */
    hlo_ref **list_slots;             /* per SCALARS or DOUBLES argument: NULL, or a slot per element */
};

/* ---- arguments (aten/args.c). Indices are checked: a wrong tag is an INTERNAL error in L->g->error. ---- */
bool lower_has(tt_lower *L, int arg);                            /* present, not None, and (tensor) defined */
const tt_tensor *lower_tensor(tt_lower *L, int arg);
hlo_ref lower_value(tt_lower *L, int arg);                       /* the tensor argument's value */
int lower_tensors(tt_lower *L, int arg, tt_tensor *const **out); /* a list; returns n */
int64_t lower_int(tt_lower *L, int arg, int64_t fallback);       /* structural: becomes part of the signature */
double lower_double(tt_lower *L, int arg, double fallback);      /* structural too: use only where the value shapes the graph */
bool lower_bool(tt_lower *L, int arg, bool fallback);
hlo_ints lower_ints(tt_lower *L, int arg);                       /* n = 0 when None; a single INT gives n = 1 */
const char *lower_string(tt_lower *L, int arg, const char *fallback);
tt_dtype lower_dtype(tt_lower *L, int arg, tt_dtype fallback);   /* an optional ScalarType argument */
/* A Scalar (or float) argument as a rank-0 value of `dtype`: a constant, or a runtime parameter when run/ has seen it change.
 * Prefer this to lower_double. */
hlo_ref lower_scalar(tt_lower *L, int arg, tt_dtype dtype);
hlo_ref lower_scalar_at(tt_lower *L, int arg, int index, tt_dtype dtype); /* element of a SCALARS or DOUBLES list (ScalarList ops) */
hlo_ref lower_scalar_like(tt_lower *L, int arg, hlo_ref like);   /* broadcast to the type of like */
/* Fails as PyTorch does when a Scalar argument does not fit `dtype`; the number of a narrow type becomes part of the signature. */
TT_MUST_CHECK tt_status lower_scalar_fits(tt_lower *L, int arg, tt_dtype dtype);
tt_class lower_scalar_class(tt_lower *L, int arg);               /* PRED, SINT, FLOAT or COMPLEX, by tag */

/* ---- PyTorch's rules ---- */
int lower_dim(tt_lower *L, int64_t dim, int rank);               /* wraps negatives; PyTorch's IndexError text when out of range */
tt_dtype lower_promote(tt_dtype a, tt_dtype b);                  /* torch.promote_types */
/* torch.result_type over tensor arguments (dim > 0-dim > wrapped). */
tt_dtype lower_result_type(tt_lower *L, int n, const tt_tensor *const *tensors);
tt_dtype lower_default_float(void);                              /* f32; set from torch.get_default_dtype by the bridge */
void lower_set_default_float(tt_dtype);
tt_dtype lower_accumulate_dtype(tt_dtype);                       /* f32 for bf16/f16, else itself */
/* NumPy broadcast of n shapes; PyTorch's error text when they do not fit. */
tt_status lower_broadcast_shape(int n, const hlo_type *const *types, hlo_type *out);
hlo_ref lower_cast_broadcast(tt_lower *L, hlo_ref x, tt_dtype dtype, const hlo_type *shape); /* convert, then broadcast */

/* ---- results ---- */
void lower_out(tt_lower *L, hlo_ref value);                      /* contiguous */
void lower_out_zeros(tt_lower *L, const hlo_type *);              /* costs nothing until somebody looks at it */
void lower_out_ordered(tt_lower *L, hlo_ref value, const int *order);
/* Strides as TensorIterator would give an output computed from these inputs (channels_last and transposed stay so). */
void lower_out_pointwise(tt_lower *L, hlo_ref value, int n, const tt_tensor *const *inputs);
void lower_out_like(tt_lower *L, hlo_ref value, const tt_tensor *input); /* preserve_format of one input */
bool lower_suggests_channels_last(const tt_tensor *);
void lower_out_channels_last(tt_lower *L, hlo_ref value, bool channels_last); /* else contiguous */
void lower_out_suggested(tt_lower *L, hlo_ref value, const tt_tensor *input); /* suggest_memory_format of one input */
void lower_out_none(tt_lower *L);
void lower_out_int(tt_lower *L, int64_t);
void lower_out_list(tt_lower *L, int64_t n);                     /* the next n outs are one Tensor[] */

/* The rows by any of their three names; kind: 0 functional, 1 in-place, 2 out. NULL when there is none. */
const tt_row *tt_row_find(const char *name, int *out_kind);

#ifdef __cplusplus
}
#endif
#endif
