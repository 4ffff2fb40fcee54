/* hlo_samples.h - small valid programs: one for each op of hlo.def that can be judged by an outside parser,
 * built with the builders. The tests print, parse, verify and hash them. */
#ifndef HLO_SAMPLES_H
#define HLO_SAMPLES_H
#include "hlo/build.h"
#include "hlo/text.h"
#include <math.h>

#define F32(...) samples_type(TT_F32, (int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8))
#define TYPE(d, ...)                                                                                         \
    samples_type(TT_##d, (int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8))

static hlo_type samples_type(tt_dtype d, const int64_t *dims, int n) {
    return hlo_type_make(d, n, dims);
}

static hlo_ref samples_param(hlo_graph *g, hlo_type t) {
    return hlo_param(g, &t);
}

static hlo_graph *samples_begin(tt_arena *a, const char *name) {
    hlo_graph *g = hlo_graph_create(a, name);
    hlo_func_begin(g, "main", true);
    return g;
}

static void samples_while_cond(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    (void)context;
    *out = hlo_compare(g, "LT", p[0], hlo_scalar_int(g, TT_I32, 10));
}

static void samples_while_body(hlo_graph *g, void *context, const hlo_ref *p, hlo_ref *out) {
    (void)context;
    out[0] = hlo_add(g, p[0], hlo_scalar_int(g, TT_I32, 2));
    out[1] = hlo_mul(g, p[1], p[1]);
}

static hlo_block *samples_branch(hlo_graph *g, hlo_ref x, hlo_op op) {
    hlo_block *saved, *b = hlo_block_begin(g, &saved);
    hlo_ref r = hlo_binary(g, op, x, x);
    hlo_return(g, 1, &r);
    hlo_block_end(g, saved);
    return b;
}

/* An elementwise op on the first element types it takes; NULL where it is no plain elementwise op. */
static hlo_graph *samples_elementwise(tt_arena *a, hlo_op op, tt_dtype d) {
    hlo_graph *g = samples_begin(a, "elementwise");
    int n = hlo_op_operands(op);
    hlo_type t = samples_type(d, (int64_t[]){2, 3}, 2);
    hlo_ref x[3], r;
    for (int i = 0; i < n; i++)
        x[i] = hlo_param(g, &t);
    if (op == HLO_REDUCE_PRECISION) {
        hlo_attr attrs[2] = {hlo_attr_make_int(HLO_A_EXPONENT_BITS, 5),
                             hlo_attr_make_int(HLO_A_MANTISSA_BITS, 10)};
        r = hlo_make(g, op, 1, x, 2, attrs, 0, NULL, 1, NULL);
    } else {
        r = hlo_make(g, op, n, x, 0, NULL, 0, NULL, 1, NULL);
    }
    hlo_return(g, 1, &r);
    return g;
}

static void samples_shapes(hlo_graph *g) {
    hlo_ref x = samples_param(g, F32(4, 6)), r[16];
    int n = 0;
    r[n++] = hlo_reshape(g, x, 3, (int64_t[]){2, 2, 6});
    r[n++] = hlo_transpose(g, x, (int64_t[]){1, 0});
    r[n++] = hlo_broadcast_in_dim(g, x, 3, (int64_t[]){5, 4, 6}, (int64_t[]){1, 2});
    r[n++] = hlo_slice(g, x, (int64_t[]){0, 1}, (int64_t[]){4, 6}, (int64_t[]){1, 2});
    r[n++] =
        hlo_pad(g, x, hlo_scalar(g, TT_F32, 0.1), (int64_t[]){1, -1}, (int64_t[]){0, 2}, (int64_t[]){0, 1});
    r[n++] = hlo_concatenate(g, 2, (hlo_ref[]){x, x}, 1);
    r[n++] = hlo_reverse(g, x, 2, (int64_t[]){0, 1});
    hlo_ref zero = hlo_scalar_int(g, TT_I32, 1), starts[2] = {zero, zero};
    r[n++] = hlo_dynamic_slice(g, x, starts, (int64_t[]){2, 3});
    r[n] = hlo_dynamic_update_slice(g, x, r[n - 1], starts);
    n++;
    hlo_type t = TYPE(I64, 3, 5);
    r[n++] = hlo_iota(g, &t, 1);
    r[n++] = hlo_bitcast(g, x, TT_I32);
    r[n++] = hlo_bitcast(g, x, TT_U16);
    hlo_attr sizes = hlo_attr_make_ints(g, HLO_A_BROADCAST_SIZES, 1, (int64_t[]){2});
    r[n++] = hlo_make(g, HLO_BROADCAST, 1, &x, 1, &sizes, 0, NULL, 1, NULL);
    hlo_type scalar = hlo_type_make(TT_I32, 0, NULL);
    hlo_attr dim = hlo_attr_make_int(HLO_A_DIMENSION, 1);
    r[n++] = hlo_make(g, HLO_GET_DIMENSION_SIZE, 1, &x, 1, &dim, 0, NULL, 1, &scalar);
    hlo_return(g, n, r);
}

static void samples_gather(hlo_graph *g) {
    hlo_ref x = samples_param(g, F32(5, 4)), indices = samples_param(g, TYPE(I32, 3, 1)),
            updates = samples_param(g, F32(3, 4));
    static const int64_t zero[] = {0}, one[] = {1};
    hlo_dims gather = {
        .kind = HLO_DIMS_GATHER, .a = {1, one}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_dims scatter = {
        .kind = HLO_DIMS_SCATTER, .a = {1, one}, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_dims batched = {.kind = HLO_DIMS_GATHER,
                        .b = {1, one},
                        .c = {1, zero},
                        .d = {1, zero},
                        .e = {1, one},
                        .index_vector_dim = 1};
    hlo_ref r[4] = {hlo_gather(g, x, indices, &gather, (int64_t[]){1, 4}, "index_select"),
                    hlo_scatter(g, x, indices, updates, &scatter, HLO_ADD, false, NULL),
                    hlo_scatter(g, x, indices, updates, &scatter, HLO_INVALID, true, "index_copy")};
    r[3] = hlo_gather(g, x, samples_param(g, TYPE(I64, 5, 1)), &batched, (int64_t[]){1, 1}, NULL);
    hlo_return(g, 4, r);
}

static void samples_reductions(hlo_graph *g) {
    hlo_ref x = samples_param(g, F32(4, 6)), y = samples_param(g, TYPE(I32, 4, 6)),
            p = samples_param(g, TYPE(PRED, 4, 6));
    hlo_ref r[16];
    int n = 0;
    r[n++] = hlo_reduce(g, HLO_ADD, x, HLO_NONE, 1, (int64_t[]){1});
    r[n++] = hlo_reduce_keep(g, HLO_MAXIMUM, x, HLO_NONE, 2, (int64_t[]){0, 1});
    r[n++] = hlo_reduce(g, HLO_MINIMUM, y, HLO_NONE, 1, (int64_t[]){0});
    r[n++] = hlo_reduce(g, HLO_AND, p, HLO_NONE, 1, (int64_t[]){0});
    r[n++] = hlo_reduce(g, HLO_OR, p, HLO_NONE, 1, (int64_t[]){0});
    r[n++] = hlo_reduce(g, HLO_AND, y, HLO_NONE, 1, (int64_t[]){0});
    hlo_reduce_arg(g, HLO_MAXIMUM, x, 1, TT_I64, &r[n], &r[n + 1]);
    n += 2;
    hlo_reduce_arg(g, HLO_MINIMUM, y, 0, TT_I32, &r[n], &r[n + 1]);
    n += 2;
    hlo_window w = {.size = (int64_t[]){2, 3},
                    .stride = (int64_t[]){2, 1},
                    .padding_low = (int64_t[]){1, 0},
                    .dilation = (int64_t[]){1, 2}};
    r[n++] = hlo_reduce_window(g, HLO_ADD, x, HLO_NONE, &w);
    hlo_window pool = {.size = (int64_t[]){2, 2}, .stride = (int64_t[]){2, 2}};
    r[n++] = hlo_select_and_scatter(g, x, samples_param(g, F32(2, 3)), HLO_NONE, "GE", &pool);
    hlo_return(g, n, r);
}

static void samples_sorts(hlo_graph *g) {
    hlo_ref x = samples_param(g, F32(4, 6)), y = samples_param(g, TYPE(I32, 4, 6)), r[6];
    hlo_sort(g, 2, (hlo_ref[]){x, y}, 1, false, true, r);
    hlo_sort(g, 2, (hlo_ref[]){y, x}, 0, true, false, r + 2);
    hlo_top_k(g, x, 3, r + 4, r + 5);
    hlo_return(g, 6, r);
}

static void samples_products(hlo_graph *g) {
    hlo_ref a = samples_param(g, TYPE(BF16, 2, 3, 4)), b = samples_param(g, TYPE(BF16, 2, 4, 5)), r[8];
    int n = 0;
    r[n++] = hlo_matmul(g, a, b, 1, TT_F32, "HIGHEST");
    static const int64_t zero[] = {0}, one[] = {1}, two[] = {2};
    hlo_dims d = {.kind = HLO_DIMS_DOT, .a = {1, zero}, .b = {1, zero}, .c = {1, two}, .d = {1, one}};
    r[n++] = hlo_dot_general(g, a, b, &d, TT_DTYPE_NONE, "DEFAULT");
    hlo_ref x = samples_param(g, F32(1, 4, 8, 9)), w = samples_param(g, F32(6, 2, 3, 3));
    static const int64_t nchw[] = {0, 1, 2, 3}, oihw[] = {1, 0, 2, 3};
    hlo_conv c = {.dims = {.kind = HLO_DIMS_CONV, .a = {4, nchw}, .b = {4, oihw}, .c = {4, nchw}},
                  .stride = (int64_t[]){2, 1},
                  .padding_low = (int64_t[]){1, 1},
                  .padding_high = (int64_t[]){0, 1},
                  .rhs_dilation = (int64_t[]){1, 2},
                  .window_reversal = (int64_t[]){0, 1},
                  .feature_groups = 2,
                  .batch_groups = 1};
    r[n++] = hlo_convolution(g, x, w, &c, TT_DTYPE_NONE, "HIGH");
    hlo_ref vector[2] = {samples_param(g, F32(3, 4)), samples_param(g, F32(4, 5))};
    hlo_type t = F32(3, 5);
    r[n++] = hlo_make(g, HLO_DOT, 2, vector, 0, NULL, 0, NULL, 1, &t);
    hlo_return(g, n, r);
}

static void samples_linalg(hlo_graph *g) {
    hlo_ref a = samples_param(g, F32(2, 3, 3)), b = samples_param(g, F32(2, 3, 4)),
            z = samples_param(g, TYPE(C64, 4, 8)), r[8];
    int n = 0;
    r[n++] = hlo_cholesky(g, a, true);
    r[n++] = hlo_triangular_solve(g, a, b, true, true, false, "ADJOINT");
    r[n++] = hlo_fft(g, z, "FFT", 1, (int64_t[]){8});
    r[n++] = hlo_fft(g, z, "IRFFT", 2, (int64_t[]){4, 14});
    r[n++] = hlo_fft(g, samples_param(g, F32(4, 9)), "RFFT", 1, (int64_t[]){9});
    hlo_type bits = TYPE(U32, 5);
    hlo_rng_bits(g, samples_param(g, TYPE(U64, 2)), "THREE_FRY", &bits, &r[n], &r[n + 1]);
    n += 2;
    hlo_return(g, n, r);
}

static void samples_batch_norm(hlo_graph *g) {
    hlo_ref x = samples_param(g, F32(2, 3, 4)), s = samples_param(g, F32(3)), o = samples_param(g, F32(3)),
            r[7];
    hlo_attr attrs[2] = {hlo_attr_make_float(HLO_A_EPSILON, 1e-5), hlo_attr_make_int(HLO_A_FEATURE_INDEX, 1)};
    hlo_type t[3] = {F32(2, 3, 4), F32(3), F32(3)};
    hlo_ref v = hlo_make(g, HLO_BATCH_NORM_TRAINING, 3, (hlo_ref[]){x, s, o}, 2, attrs, 0, NULL, 3, t);
    hlo_ref w =
        hlo_make(g, HLO_BATCH_NORM_GRAD, 5, (hlo_ref[]){x, s, v + 1, v + 2, x}, 2, attrs, 0, NULL, 3, t);
    for (int i = 0; i < 3; i++) {
        r[i] = v + (hlo_ref)i;
        r[3 + i] = w + (hlo_ref)i;
    }
    r[6] = hlo_make(g, HLO_BATCH_NORM_INFERENCE, 5, (hlo_ref[]){x, s, o, v + 1, v + 2}, 2, attrs, 0, NULL, 1,
                    NULL);
    hlo_return(g, 7, r);
}

static void samples_control(hlo_graph *g) {
    hlo_ref i = samples_param(g, hlo_type_make(TT_I32, 0, NULL)), x = samples_param(g, F32(3)), r[12];
    hlo_ref p = samples_param(g, hlo_type_make(TT_PRED, 0, NULL));
    int n = 0;
    hlo_while(g, 2, (hlo_ref[]){i, x}, samples_while_cond, samples_while_body, NULL, r);
    n += 2;
    hlo_type t = F32(3);
    hlo_block *branches[3] = {samples_branch(g, x, HLO_ADD), samples_branch(g, r[1], HLO_MULTIPLY),
                              samples_branch(g, x, HLO_DIVIDE)};
    r[n++] = hlo_make(g, HLO_CASE, 1, &i, 0, NULL, 3, branches, 1, &t);
    hlo_block *two[2] = {samples_branch(g, x, HLO_ADD), samples_branch(g, x, HLO_SUBTRACT)};
    r[n++] = hlo_make(g, HLO_IF, 1, &p, 0, NULL, 2, two, 1, &t);
    hlo_ref params[1], inner;
    hlo_composite c =
        hlo_composite_begin(g, "tt.softmax", "causal = true, scale = 1.25e-01 : f64", 1, &x, params);
    inner = hlo_unary(g, HLO_EXP, params[0]);
    hlo_composite_end(g, &c, 1, &inner, &r[n]);
    hlo_attr callee = hlo_attr_make_text(g, HLO_A_CALLEE, "tt.softmax");
    n++;
    r[n++] = hlo_make(g, HLO_CALL, 1, &x, 1, &callee, 0, NULL, 1, &t);
    hlo_type pair[2] = {t, t};
    hlo_ref both = hlo_make(g, HLO_OPTIMIZATION_BARRIER, 2, (hlo_ref[]){x, r[1]}, 0, NULL, 0, NULL, 2, pair);
    r[n++] = both;
    r[n++] = both + 1;
    hlo_custom_call(g, "Sharding", "with \"quotes\"", false, 1, &x, 1, &t, &r[n]);
    n++;
    hlo_block *saved, *region = hlo_block_begin(g, &saved);
    hlo_type scalar = hlo_type_make(TT_F32, 0, NULL);
    hlo_ref e = hlo_param(g, &scalar), f = hlo_unary(g, HLO_TANH, e);
    hlo_return(g, 1, &f);
    hlo_block_end(g, saved);
    hlo_attr dims = hlo_attr_make_ints(g, HLO_A_DIMENSIONS, 1, (int64_t[]){0});
    r[n++] = hlo_make(g, HLO_MAP, 1, &x, 1, &dims, 1, &region, 1, &t);
    hlo_return(g, n, r);
}

static hlo_block *samples_sum(hlo_graph *g) {
    hlo_type scalar = hlo_type_make(TT_F32, 0, NULL);
    hlo_block *saved, *b = hlo_block_begin(g, &saved);
    hlo_ref p = hlo_param(g, &scalar), q = hlo_param(g, &scalar), r = hlo_add(g, p, q);
    hlo_return(g, 1, &r);
    hlo_block_end(g, saved);
    return b;
}

static void samples_collectives(hlo_graph *g) {
    g->n_replicas = 2;
    hlo_ref x = samples_param(g, F32(4, 6)), r[12];
    int n = 0;
    hlo_attr channel =
        hlo_attr_make_text(g, HLO_A_CHANNEL_HANDLE, "#stablehlo.channel_handle<handle = 1, type = 0>");
    hlo_attr groups = hlo_attr_make_ints2d(g, HLO_A_REPLICA_GROUPS, 1, 2, (int64_t[]){0, 1});
    hlo_attr global = hlo_attr_make_bool(HLO_A_USE_GLOBAL_DEVICE_IDS, true);
    hlo_attr pairs = hlo_attr_make_ints2d(g, HLO_A_SOURCE_TARGET_PAIRS, 2, 2, (int64_t[]){0, 1, 1, 0});
    hlo_type t = F32(4, 6), wide = F32(8, 6), narrow = F32(2, 6);
    hlo_block *sum = samples_sum(g), *sum2 = samples_sum(g);
    r[n++] = hlo_make(g, HLO_ALL_REDUCE, 1, &x, 3, (hlo_attr[]){groups, channel, global}, 1, &sum, 1, &t);
    r[n++] = hlo_make(g, HLO_ALL_GATHER, 1, &x, 2,
                      (hlo_attr[]){hlo_attr_make_int(HLO_A_ALL_GATHER_DIM, 0), groups}, 0, NULL, 1, &wide);
    r[n++] =
        hlo_make(g, HLO_REDUCE_SCATTER, 1, &x, 2,
                 (hlo_attr[]){hlo_attr_make_int(HLO_A_SCATTER_DIMENSION, 0), groups}, 1, &sum2, 1, &narrow);
    hlo_type exchanged = F32(2, 12);
    r[n++] = hlo_make(g, HLO_ALL_TO_ALL, 1, &x, 4,
                      (hlo_attr[]){hlo_attr_make_int(HLO_A_SPLIT_DIMENSION, 0),
                                   hlo_attr_make_int(HLO_A_CONCAT_DIMENSION, 1),
                                   hlo_attr_make_int(HLO_A_SPLIT_COUNT, 2), groups},
                      0, NULL, 1, &exchanged);
    r[n++] = hlo_make(g, HLO_COLLECTIVE_PERMUTE, 1, &x, 1, &pairs, 0, NULL, 1, &t);
    r[n++] = hlo_make(g, HLO_COLLECTIVE_BROADCAST, 1, &x, 1, &groups, 0, NULL, 1, &t);
    hlo_type id = hlo_type_make(TT_U32, 0, NULL);
    r[n++] = hlo_make(g, HLO_REPLICA_ID, 0, NULL, 0, NULL, 0, NULL, 1, &id);
    r[n++] = hlo_make(g, HLO_PARTITION_ID, 0, NULL, 0, NULL, 0, NULL, 1, &id);
    hlo_type token = hlo_type_make(TT_TOKEN, 0, NULL);
    r[n++] = hlo_make(g, HLO_AFTER_ALL, 0, NULL, 0, NULL, 0, NULL, 1, &token);
    hlo_return(g, n, r);
}

/* Every element type: a splat, a short list, a long one, and the odd values of floats. */
static void samples_constants(hlo_graph *g) {
    hlo_ref r[6 * TT_N_DTYPES];
    int n = 0;
    for (int d = 1; d < TT_N_DTYPES; d++) {
        if (d == TT_TOKEN)
            continue;
        hlo_type scalar = hlo_type_make((tt_dtype)d, 0, NULL),
                 list = hlo_type_make((tt_dtype)d, 2, (int64_t[]){2, 3}),
                 big = hlo_type_make((tt_dtype)d, 2, (int64_t[]){5, 41}),
                 none = hlo_type_make((tt_dtype)d, 2, (int64_t[]){0, 3});
        unsigned char data[205 * 16];
        int size = tt_dtype_size((tt_dtype)d);
        for (int i = 0; i < 205; i++)
            tt_element_set((tt_dtype)d, data + (size_t)i * (size_t)size,
                           (i * 37 % 101 - 50) * (tt_is_float((tt_dtype)d) ? 0.37 : 1));
        r[n++] = hlo_splat(g, &scalar, 1);
        r[n++] = hlo_constant(g, &list, data);
        r[n++] = hlo_constant(g, &big, data);
        r[n++] = hlo_constant(g, &none, data);
        r[n++] = hlo_min_value(g, &scalar);
        r[n++] = hlo_max_value(g, &list);
    }
    hlo_return(g, n, r);
}

static void samples_donation(hlo_graph *g) {
    hlo_ref x = samples_param(g, F32(3)), y = samples_param(g, F32(3)), r = hlo_add(g, x, y);
    g->funcs[0]->alias[0] = 0;
    g->funcs[0]->donated[1] = true;
    hlo_return(g, 1, &r);
}

static void samples_mixed(hlo_graph *g) {
    hlo_ref x = samples_param(g, F32(3)), y = samples_param(g, F32(3)), p = hlo_compare(g, "GE", x, y), r[16];
    int n = 0;
    r[n++] = hlo_select(g, p, x, y);
    r[n++] = hlo_clamp(g, hlo_scalar(g, TT_F32, -1), x, y);
    r[n++] = hlo_convert(g, x, TT_BF16);
    r[n++] = hlo_convert(g, x, TT_PRED);
    r[n++] = hlo_convert(g, x, TT_C64);
    r[n] = hlo_convert(g, r[n - 1], TT_I64);
    n++;
    r[n++] = hlo_complex(g, x, y);
    r[n] = hlo_unary(g, HLO_REAL, r[n - 1]);
    r[n + 1] = hlo_unary(g, HLO_IMAG, r[n - 1]);
    n += 2;
    r[n++] = hlo_convert(g, hlo_iota(g, &(hlo_type){.dtype = TT_I64, .rank = 1, .dims = {3}}, 0), TT_F16);
    hlo_return(g, n, r);
}

typedef struct sample {
    const char *name;
    void (*build)(hlo_graph *);
} sample;

static const sample samples[] = {
    {"shapes", samples_shapes},         {"gather", samples_gather},     {"reductions", samples_reductions},
    {"sorts", samples_sorts},           {"products", samples_products}, {"linalg", samples_linalg},
    {"batch_norm", samples_batch_norm}, {"control", samples_control},   {"collectives", samples_collectives},
    {"constants", samples_constants},   {"donation", samples_donation}, {"mixed", samples_mixed},
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

/* Sample i of all: first the table, then each elementwise op on each element type it takes. NULL past the
 * end; a graph with its error set where the op does not take the type. */
__attribute__((unused)) static hlo_graph *samples_make(tt_arena *a, int i) {
    if (i < N_SAMPLES) {
        hlo_graph *g = samples_begin(a, samples[i].name);
        samples[i].build(g);
        return g;
    }
    static const tt_dtype types[] = {TT_F32, TT_I32, TT_PRED, TT_C64, TT_U8, TT_F64, TT_BF16};
    i -= N_SAMPLES;
    int op = HLO_ABS + i / 7;
    if (op >= HLO_CLAMP)
        return NULL;
    if (op == HLO_CONVERT || op == HLO_COMPARE || op == HLO_UNIFORM_QUANTIZE || op == HLO_UNIFORM_DEQUANTIZE)
        return samples_begin(a, "empty");
    return samples_elementwise(a, (hlo_op)op, types[i % 7]);
}
#endif
