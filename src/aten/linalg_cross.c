/* linalg_cross.c - the cross product of vectors of three. */
#include "aten/pieces.h"

/* linalg_cross(self, other, *, dim); broadcasts */
LOWER(lower_cross) {
    hlo_graph *g = L->g;
    const tt_tensor *x[2] = {lower_tensor(L, 0), lower_tensor(L, 1)};
    TT_CHECK(x[0] && x[1] && x[0]->rank == x[1]->rank && x[0]->rank > 0, INVALID_ARGUMENT, "linalg.cross: inputs must have the same number of dimensions.");
    tt_dtype dtype = lower_result_type(L, 2, x);
    hlo_type a = hlo_type_make(dtype, x[0]->rank, x[0]->dims), b = hlo_type_make(dtype, x[1]->rank, x[1]->dims), t = a;
    const hlo_type *both[2] = {&a, &b};
    int dim = lower_dim(L, lower_int(L, 2, -1), a.rank);
    TT_TRY(hlo_graph_take_error(g));
    TT_CHECK(a.dims[dim] == 3 && b.dims[dim] == 3, INVALID_ARGUMENT, "linalg.cross: inputs dimension %d must have length 3. Got %lld and %lld", dim,
             (long long)a.dims[dim], (long long)b.dims[dim]);
    TT_TRY(lower_broadcast_shape(2, both, &t));
    t.dtype = dtype;
    hlo_ref u = lower_cast_broadcast(L, lower_value(L, 0), dtype, &t), v = lower_cast_broadcast(L, lower_value(L, 1), dtype, &t), turned[4];
    for (int k = 0; k < 4; k++) { /* u by one, u by two, v by one, v by two */
        int by = k % 2 + 1;
        hlo_ref w = k < 2 ? u : v, parts[2] = {hlo_slice_dim(g, w, dim, by, 3, 1), hlo_slice_dim(g, w, dim, 0, by, 1)};
        turned[k] = hlo_concatenate(g, 2, parts, dim);
    }
    lower_out(L, hlo_sub(g, hlo_mul(g, turned[0], turned[3]), hlo_mul(g, turned[1], turned[2])));
    return TT_OK;
}
