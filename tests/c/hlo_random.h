/* hlo_random.h - random valid programs for the tests of hlo/ (and for anybody who wants to feed programs to a
 * plugin). */
#ifndef HLO_RANDOM_H
#define HLO_RANDOM_H
#include "hlo_samples.h"

typedef struct random_state {
    uint64_t s;
} random_state;

static uint32_t random_next(random_state *r) {
    r->s = r->s * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t x = r->s ^ r->s >> 33;
    return (uint32_t)(x * 0xff51afd7ed558ccdull >> 32);
}

static uint32_t random_below(random_state *r, uint32_t n) {
    return n ? random_next(r) % n : 0;
}

static hlo_ref random_reduce(hlo_graph *g, random_state *r, hlo_ref x) {
    static const hlo_op ops[] = {HLO_ADD, HLO_MAXIMUM, HLO_MINIMUM, HLO_MULTIPLY};
    const hlo_type *t = hlo_type_of(g, x);
    int64_t dim = random_below(r, (uint32_t)t->rank);
    if (!t->rank)
        return x;
    if (random_below(r, 4) == 0) {
        hlo_ref value, index;
        hlo_reduce_arg(g, HLO_MAXIMUM, x, (int)dim, TT_I64, &value, &index);
        return random_below(r, 2) ? value : index;
    }
    return hlo_reduce_keep(g, ops[random_below(r, 4)], x, HLO_NONE, 1, &dim);
}

static hlo_ref random_shape_op(hlo_graph *g, random_state *r, hlo_ref x) {
    hlo_type t = *hlo_type_of(g, x);
    int64_t v[HLO_MAX_RANK], w[HLO_MAX_RANK];
    switch (random_below(r, 6)) {
    case 0:
        for (int i = 0; i < t.rank; i++)
            v[i] = t.rank - 1 - i;
        return hlo_transpose(g, x, v);
    case 1:
        v[0] = hlo_type_elements(&t);
        return hlo_reshape(g, x, 1, v);
    case 2:
        for (int i = 0; i < t.rank; i++) {
            v[i] = random_below(r, 2) && t.dims[i] > 1;
            w[i] = t.dims[i];
        }
        return hlo_slice(g, x, v, w, NULL);
    case 3:
        for (int i = 0; i < t.rank; i++) {
            v[i] = random_below(r, 2);
            w[i] = random_below(r, 2);
        }
        return hlo_pad(g, x, hlo_scalar(g, t.dtype, 0.5), v, w, NULL);
    case 4:
        return t.rank ? hlo_concatenate(g, 2, (hlo_ref[]){x, x}, (int)random_below(r, (uint32_t)t.rank)) : x;
    default:
        if (t.rank > 4)
            return x;
        v[0] = 2;
        for (int i = 0; i < t.rank; i++)
            v[i + 1] = t.dims[i];
        return hlo_broadcast_to(g, x, t.rank + 1, v);
    }
}

/* n draws: each takes a value made before (small ones, so that shapes do not explode) and makes another. */
__attribute__((unused)) static hlo_graph *random_graph(tt_arena *a, uint64_t seed, int n) {
    static const hlo_op unary[] = {HLO_NEGATE, HLO_ABS},
                        real[] = {HLO_EXP, HLO_TANH, HLO_LOG, HLO_FLOOR, HLO_CHLO_ERF},
                        binary[] = {HLO_ADD, HLO_MULTIPLY, HLO_SUBTRACT, HLO_MAXIMUM};
    static const tt_dtype types[] = {TT_F32, TT_BF16, TT_I32, TT_F64, TT_I64, TT_F16};
    random_state r = {seed * 7919 + 1};
    hlo_graph *g = samples_begin(a, "random");
    hlo_ref *values = TT_NEW_N(a, hlo_ref, n + 8);
    int count = 0;
    for (int i = 0; i < 4; i++) {
        int64_t dims[3] = {1 + random_below(&r, 3), 2 + random_below(&r, 4), 3};
        values[count++] =
            samples_param(g, samples_type(types[random_below(&r, 6)], dims, (int)random_below(&r, 4)));
    }
    for (int i = 0; i < n && !g->error; i++) {
        hlo_ref x = values[random_below(&r, (uint32_t)count)], y = HLO_NONE;
        hlo_type t = *hlo_type_of(g, x);
        if (hlo_type_elements(&t) > 4096 || t.rank > 5) {
            int64_t all[HLO_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
            x = hlo_reduce(g, HLO_MAXIMUM, x, HLO_NONE, t.rank, all);
            t = *hlo_type_of(g, x);
        }
        switch (random_below(&r, 8)) {
        case 0:
            y = hlo_unary(g, unary[random_below(&r, 2)], x);
            break;
        case 1:
            y = tt_is_float(t.dtype) ? hlo_unary(g, real[random_below(&r, 5)], x) : hlo_convert(g, x, TT_F32);
            break;
        case 2:
            y = hlo_binary(g, binary[random_below(&r, 4)], x, x);
            break;
        case 3:
            y = hlo_binary(g, binary[random_below(&r, 4)], x,
                           hlo_splat_like(g, x, (double)random_below(&r, 100) / 7));
            break;
        case 4:
            y = hlo_convert(g, x, types[random_below(&r, 6)]);
            break;
        case 5:
            y = random_reduce(g, &r, x);
            break;
        case 6:
            y = random_shape_op(g, &r, x);
            break;
        default:
            y = hlo_select(g, hlo_compare(g, "GT", x, hlo_splat_like(g, x, 1)), x, hlo_splat_like(g, x, 0));
            break;
        }
        values[count++] = y;
    }
    hlo_ref results[3] = {values[count - 1], values[count / 2], values[count / 3]};
    hlo_return(g, 3, results);
    return g;
}
#endif
