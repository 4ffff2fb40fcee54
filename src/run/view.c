/* view.c - decodes (sizes, strides, offset) over a dense row-major value into slice, reshape, transpose and broadcast.
 *
 * Method: sort the view's dims by stride, coalesce neighbours that walk memory contiguously, and look for a radix system
 * (units t[0] > t[1] > ..., each dividing the one before) in which every dim is one digit and no digit carries. Then the view is a
 * strided slice of the value reshaped to those digits. Units are taken from the value's own strides where possible, so that
 * slices happen in its own shape. What has no such system (overlapping windows, odd diagonals) is a gather by
 * linear index. 44 models' reads: 99.96 % decode without a gather. */
#include "run/view.h"
#include <string.h>

enum { MAX = HLO_MAX_RANK };

typedef struct digit { int64_t n, s; int dim; } digit; /* n steps of stride s; dim: the view's */

/* The plan, in the order it is applied to the value. */
typedef struct plan {
    int base_rank; int64_t base_start[MAX], base_limit[MAX]; bool crop; /* 1. bounding box of leading dims */
    int rank; int64_t shape[MAX]; bool reshape;                          /* 2. digits */
    int64_t start[MAX], count[MAX], step[MAX]; bool slice, stepped;      /* 3. strided slice */
    int n_members; digit members[MAX];                                   /* 4. reshape to the view's dims, strides descending */
    int order[MAX]; bool transposed;                                     /* 5. order[i]: member that is the view's i-th real dim */
} plan;

static int64_t gcd(int64_t a, int64_t b) {
    while (b) { int64_t t = a % b; a = b; b = t; }
    return a < 0 ? -a : a;
}

/* Can digit d sit at unit u below unit `prev`, with everything inner (extent `inner`) not carrying into it? */
static bool digit_fits(const digit *d, int64_t u, int64_t prev, int64_t offset, int64_t inner) {
    int64_t at = offset % prev / u, step = d->s / u;
    return at + (d->n - 1) * step < prev / u && offset % prev % u + inner < u;
}

static int64_t inner_extent(const digit *d, int n, int from) {
    int64_t extent = 0;
    for (int q = from; q < n; q++) extent += (d[q].n - 1) * d[q].s;
    return extent;
}

/* Chooses units for digits k..n-1 below `prev`; backtracks; prefers the value's own strides. */
static bool choose_units(const digit *d, int n, int k, int64_t prev, int64_t offset, const int64_t *own, int n_own, int64_t *units) {
    if (k == n) return true;
    int64_t candidates[MAX + 3]; int n_candidates = 0;
    for (int j = 0; j < n_own; j++)
        if (own[j] <= d[k].s && d[k].s % own[j] == 0 && prev % own[j] == 0) candidates[n_candidates++] = own[j];
    if (prev % d[k].s == 0) candidates[n_candidates++] = d[k].s;
    candidates[n_candidates++] = gcd(d[k].s, prev);
    int64_t inner = inner_extent(d, n, k + 1);
    for (int i = 0; i < n_candidates; i++) {
        int64_t u = candidates[i]; bool seen = false;
        for (int q = 0; q < i; q++) seen |= candidates[q] == u;
        if (seen || u >= prev || !digit_fits(&d[k], u, prev, offset, inner)) continue;
        units[k] = u;
        if (choose_units(d, n, k + 1, u, offset, own, n_own, units)) return true;
    }
    return false;
}

/* Fills steps 2 and 3 of the plan for digits d over a frame of `rank` dims; false when no radix system fits. */
static bool plan_digits(const int64_t *dims, int rank, const digit *d, int n, int64_t offset, plan *p) {
    int64_t own[MAX], units[MAX], total = 1; int n_own = 0;
    for (int i = rank - 1; i >= 0; i--) total *= dims[i];
    for (int64_t stride = total, i = 0; i < rank; i++) {
        stride /= dims[i];
        if (!n_own || own[n_own - 1] != stride) own[n_own++] = stride;
    }
    if (n) {
        int64_t candidates[MAX + 3]; int n_candidates = 0; bool found = false;
        for (int j = 0; j < n_own; j++)
            if (own[j] <= d[0].s && d[0].s % own[j] == 0) candidates[n_candidates++] = own[j];
        candidates[n_candidates++] = d[0].s;
        candidates[n_candidates++] = gcd(d[0].s, total);
        for (int i = 0; i < n_candidates && !found; i++) {
            int64_t u = candidates[i];
            if (total % u || offset % u + inner_extent(d, n, 1) >= u) continue;
            units[0] = u;
            found = choose_units(d, n, 1, u, offset, own, n_own, units);
        }
        if (!found) return false;
    }
    int64_t prev = total;
    p->rank = 0;
    for (int k = 0; k < n; k++) {
        p->shape[p->rank] = prev / units[k]; p->start[p->rank] = offset % prev / units[k];
        p->count[p->rank] = d[k].n; p->step[p->rank++] = d[k].s / units[k];
        prev = units[k];
    }
    if (prev > 1 || !n) {
        if (p->rank == MAX) return false;
        p->shape[p->rank] = prev; p->start[p->rank] = offset % prev; p->count[p->rank] = 1; p->step[p->rank++] = 1;
    }
    return true;
}

static bool same_but_ones(const int64_t *a, int n_a, const int64_t *b, int n_b) {
    int i = 0, j = 0;
    for (;;) {
        while (i < n_a && a[i] == 1) i++;
        while (j < n_b && b[j] == 1) j++;
        if (i == n_a || j == n_b) return i == n_a && j == n_b;
        if (a[i++] != b[j++]) return false;
    }
}

/* Splits coalesced digits at the frame's own dims, so that the slice happens there. 0: no room. */
static int split_at_dims(const digit *g, int n, const int64_t *dims, int rank, int64_t total, digit *out) {
    int m = 0;
    for (int i = 0; i < n; i++) {
        digit rest = g[i]; int64_t stride = total;
        for (int j = 0; j < rank; j++) {
            stride /= dims[j];
            if (stride <= rest.s || rest.n * rest.s <= stride || stride % rest.s || rest.n * rest.s % stride) continue;
            if (m >= MAX - 1) return 0;
            out[m++] = (digit){rest.n * rest.s / stride, stride, 0};
            rest.n = stride / rest.s;
        }
        if (m >= MAX - 1) return 0;
        out[m++] = rest;
    }
    return m;
}

/* Tries the three digit sets over one frame and keeps the cheapest plan in *best. */
static void try_frame(const int64_t *dims, int rank, int64_t offset, const digit *groups, int n_groups, const digit *d, int n,
                      const plan *frame, int *best_cost, plan *best) {
    int64_t total = 1;
    for (int i = 0; i < rank; i++) total *= dims[i];
    digit split[MAX];
    for (int alternative = 0; alternative < 3; alternative++) {
        plan p = *frame; bool ok;
        if (alternative == 0) {
            int m = split_at_dims(groups, n_groups, dims, rank, total, split);
            ok = (m || !n_groups) && plan_digits(dims, rank, split, m, offset, &p);
        } else {
            ok = plan_digits(dims, rank, alternative == 1 ? groups : d, alternative == 1 ? n_groups : n, offset, &p);
        }
        if (!ok) continue;
        p.reshape = !same_but_ones(dims, rank, p.shape, p.rank);
        p.slice = p.stepped = false;
        for (int i = 0; i < p.rank; i++) {
            if (p.count[i] != p.shape[i]) p.slice = true;
            if (p.step[i] != 1) p.stepped = true;
        }
        int cost = 4 * p.reshape + p.crop + p.slice;
        if (cost < *best_cost) { *best_cost = cost; *best = p; }
    }
}

/* Real dims (n > 1, stride != 0) sorted by descending stride. False: negative strides, out of range, or overlap. */
static bool sort_dims(const tt_strided *v, int64_t total, digit *d, int *out_n, int64_t *out_extent) {
    int n = 0; int64_t extent = 0;
    if (v->rank > MAX) return false;
    for (int i = 0; i < v->rank; i++) {
        if (v->dims[i] <= 1 || !v->strides[i]) continue;
        if (v->strides[i] < 0) return false;
        d[n++] = (digit){v->dims[i], v->strides[i], i};
        extent += (v->dims[i] - 1) * v->strides[i];
    }
    if (v->offset < 0 || v->offset + extent >= total) return false;
    for (int i = 1; i < n; i++) {
        digit x = d[i]; int j = i;
        for (; j && d[j - 1].s < x.s; j--) d[j] = d[j - 1];
        d[j] = x;
    }
    int64_t inner = 0;
    for (int i = n - 1; i >= 0; i--) {
        if (d[i].s <= inner) return false;
        inner += (d[i].n - 1) * d[i].s;
    }
    *out_n = n; *out_extent = extent;
    return true;
}

static bool decode(const hlo_type *base, const tt_strided *v, plan *out) {
    int64_t total = hlo_type_elements(base), extent;
    digit d[MAX], groups[MAX]; int n, n_groups = 0;
    if (!sort_dims(v, total, d, &n, &extent)) return false;
    for (int i = 0; i < n; i++) {
        if (n_groups && groups[n_groups - 1].s == d[i].n * d[i].s) { groups[n_groups - 1].n *= d[i].n; groups[n_groups - 1].s = d[i].s; }
        else groups[n_groups++] = d[i];
    }
    int best_cost = 1 << 30;
    for (int frame = 0; frame < 2 && best_cost > 0; frame++) {
        plan p = {.base_rank = base->rank};
        int64_t dims[MAX], offset = v->offset, rest = total; int rank = 0; bool leading = frame;
        for (int i = 0; i < base->rank; i++) {
            p.base_start[i] = 0; p.base_limit[i] = base->dims[i];
            rest /= base->dims[i];
            if (!leading) { dims[rank++] = base->dims[i]; continue; }
            int64_t low = offset / rest, high = (offset + extent) / rest;
            p.base_start[i] = low; p.base_limit[i] = high + 1;
            p.crop |= low || high + 1 != base->dims[i];
            offset -= low * rest;
            if (high != low) { dims[rank++] = high - low + 1; leading = false; }
        }
        if (frame && !p.crop) break;
        if (!rank) dims[rank++] = 1;
        try_frame(dims, rank, offset, groups, n_groups, d, n, &p, &best_cost, out);
    }
    if (best_cost == 1 << 30) return false;
    out->n_members = n; out->transposed = false;
    memcpy(out->members, d, sizeof d);
    int k = 0;
    for (int i = 0; i < v->rank; i++)
        for (int q = 0; q < n; q++)
            if (d[q].dim == i) out->order[k++] = q;
    for (int i = 0; i < n; i++) out->transposed |= out->order[i] != i;
    return true;
}

/* ---- dtype views ---- */

static hlo_ref flat(hlo_graph *g, hlo_ref x, int64_t n) { return hlo_reshape(g, x, 1, (int64_t[]){n}); }

static hlo_ref half(hlo_graph *g, hlo_ref pairs, int64_t n, int which) {
    return flat(g, hlo_slice_dim(g, pairs, 1, which, which + 1, 1), n);
}

/* The value's bytes as elements of dtype; the shape is kept where the width is, else flat. */
static hlo_ref reinterpret(hlo_graph *g, hlo_ref x, tt_dtype to) {
    if (!x) return HLO_NONE;
    hlo_type type = *hlo_type_of(g, x); tt_dtype from = type.dtype;
    if (from == to) return x;
    if ((from == TT_PRED && to == TT_U8) || (from == TT_U8 && to == TT_PRED)) return hlo_convert(g, x, to);
    if (from == TT_PRED) return reinterpret(g, hlo_convert(g, x, TT_U8), to);
    if (to == TT_PRED) return hlo_convert(g, reinterpret(g, x, TT_U8), to);
    int64_t n = hlo_type_elements(&type);
    if (tt_is_complex(from)) {
        int64_t pair[2] = {n, 1};
        hlo_ref parts[2] = {hlo_reshape(g, hlo_unary(g, HLO_REAL, x), 2, pair), hlo_reshape(g, hlo_unary(g, HLO_IMAG, x), 2, pair)};
        return reinterpret(g, flat(g, hlo_concatenate(g, 2, parts, 1), 2 * n), to);
    }
    if (tt_is_complex(to)) {
        x = reinterpret(g, x, tt_dtype_real(to));
        int64_t m = hlo_type_elements(hlo_type_of(g, x)) / 2;
        hlo_ref pairs = hlo_reshape(g, x, 2, (int64_t[]){m, 2});
        return hlo_complex(g, half(g, pairs, m, 0), half(g, pairs, m, 1));
    }
    int wide = tt_dtype_size(from), narrow = tt_dtype_size(to);
    if (wide == narrow) return hlo_bitcast(g, x, to);
    if (wide > narrow) return flat(g, hlo_bitcast(g, flat(g, x, n), to), n * (wide / narrow));
    int64_t per = narrow / wide;
    return hlo_bitcast(g, hlo_reshape(g, x, 2, (int64_t[]){n / per, per}), to);
}

/* Elements of a value that fill whole elements of a wider dtype; all of them but for odd ends. */
static int64_t whole_elements(const hlo_type *type, tt_dtype to) {
    int64_t n = hlo_type_elements(type), from = tt_dtype_size(type->dtype), wide = tt_dtype_size(to);
    return n * from / wide * wide / from;
}

/* ---- reading ---- */

static hlo_ref linear_index(hlo_graph *g, const tt_strided *v, int64_t total) {
    hlo_type type = hlo_type_make(total < INT32_MAX ? TT_I32 : TT_I64, v->rank, v->dims);
    hlo_ref index = hlo_splat_int(g, &type, v->offset);
    for (int i = 0; i < v->rank; i++)
        if (v->dims[i] > 1 && v->strides[i])
            index = hlo_add(g, index, hlo_mul(g, hlo_iota(g, &type, i), hlo_splat_int(g, &type, v->strides[i])));
    int64_t n = hlo_type_elements(&type);
    return hlo_reshape(g, index, 2, (int64_t[]){n, 1});
}

/* Element by element, or, where the last dim's lie side by side, run by run. */
static hlo_ref read_gather(hlo_graph *g, hlo_ref base, const tt_strided *v) {
    int64_t total = hlo_type_elements(hlo_type_of(g, base)), zero[1] = {0}, one[1] = {1}, n = v->rank ? v->dims[v->rank - 1] : 1;
    hlo_dims dims = {.kind = HLO_DIMS_GATHER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    tt_strided starts = *v;
    if (n > 1 && v->strides[v->rank - 1] == 1) {
        starts.rank--;
        dims.b.n = 0;
        dims.a = (hlo_ints){1, one};
    } else {
        n = 1;
    }
    hlo_ref picked = hlo_gather(g, flat(g, base, total), linear_index(g, &starts, total), &dims, &n, NULL);
    return hlo_reshape(g, picked, v->rank, v->dims);
}

static hlo_ref apply_frame(hlo_graph *g, hlo_ref base, const plan *p) {
    if (p->crop) base = hlo_slice(g, base, p->base_start, p->base_limit, NULL);
    return hlo_reshape(g, base, p->rank, p->shape);
}

/* From the slice to the view: its dims in their order, and those without a stride. */
static hlo_ref shape_members(hlo_graph *g, hlo_ref x, const tt_strided *v, const plan *p) {
    int64_t dims[MAX], order[MAX], mapping[MAX]; int n = 0;
    for (int i = 0; i < p->n_members; i++) { dims[i] = p->members[i].n; order[i] = p->order[i]; }
    x = hlo_reshape(g, x, p->n_members, dims);
    if (p->transposed) x = hlo_transpose(g, x, order);
    bool broadcast = false;
    for (int i = 0; i < v->rank; i++) {
        bool real = v->dims[i] > 1 && v->strides[i] != 0;
        broadcast |= v->dims[i] > 1 && !real;
        if (real) mapping[n++] = i;
    }
    return broadcast ? hlo_broadcast_in_dim(g, x, v->rank, v->dims, mapping) : hlo_reshape(g, x, v->rank, v->dims);
}

static hlo_ref read_plan(hlo_graph *g, hlo_ref base, const tt_strided *v, const plan *p) {
    hlo_ref x = apply_frame(g, base, p);
    if (p->slice || p->stepped) {
        int64_t limit[MAX];
        for (int i = 0; i < p->rank; i++) limit[i] = p->start[i] + (p->count[i] - 1) * p->step[i] + 1;
        x = hlo_slice(g, x, p->start, limit, p->step);
    }
    return shape_members(g, x, v, p);
}

/* ---- blocks that move ---- */

/* The view as a slice of step 1 of base itself: start and count per dim of base; the plan's members and order as decode's. */
static bool decode_block(const hlo_type *base, const tt_strided *v, plan *out) {
    int64_t unit[MAX], rest = v->offset, stride = 1, n;
    int member_of[MAX];
    memset(out, 0, sizeof *out);
    out->base_rank = out->rank = base->rank;
    for (int j = base->rank - 1; j >= 0; j--) {
        unit[j] = stride;
        stride *= base->dims[j];
        out->shape[j] = base->dims[j]; out->count[j] = out->step[j] = 1;
        member_of[j] = -1;
    }
    if (v->dtype != base->dtype || !stride) return false;
    for (int i = 0; i < v->rank; i++) {
        if (!v->dims[i]) return false;
        if (v->dims[i] == 1 || !v->strides[i]) continue;
        int j = 0;
        while (j < base->rank && (unit[j] != v->strides[i] || base->dims[j] < 2 || member_of[j] >= 0)) j++;
        if (j == base->rank) return false;
        member_of[j] = i; out->count[j] = v->dims[i];
    }
    for (int j = 0; j < base->rank; j++) {
        n = rest / unit[j];
        rest %= unit[j];
        if (n < 0 || n + out->count[j] > base->dims[j]) return false;
        out->start[j] = n;
        if (member_of[j] >= 0) out->members[out->n_members++] = (digit){out->count[j], unit[j], member_of[j]};
    }
    int k = 0;
    for (int i = 0; i < v->rank; i++)
        for (int q = 0; q < out->n_members; q++)
            if (out->members[q].dim == i) out->order[k++] = q;
    for (int i = 0; i < out->n_members; i++) out->transposed |= out->order[i] != i;
    return true;
}

static bool stays_put(int64_t size, int64_t start, int64_t count) {
    if (size % count || start % count) return false;
    int64_t tiles = size / count;
    return tiles <= 4 || (tiles <= 16 && count >= 8);
}

int tt_view_moves(const tt_strided *v, const hlo_type *base, int *out_dims, int64_t *out_starts) {
    int64_t n = 1; int found = 0;
    for (int i = 0; i < v->rank; i++) n *= v->dims[i];
    plan p;
    if (n >= hlo_type_elements(base) || !decode_block(base, v, &p)) return 0;
    for (int j = 0; j < p.rank; j++) {
        if (p.count[j] == p.shape[j] || stays_put(p.shape[j], p.start[j], p.count[j])) continue;
        out_dims[found] = j; out_starts[found++] = p.start[j];
    }
    return found;
}

static void block_starts(hlo_graph *g, const plan *p, const hlo_ref *starts, hlo_ref *out) {
    for (int j = 0; j < p->rank; j++) out[j] = starts[j] ? starts[j] : hlo_scalar_int(g, TT_I64, p->start[j]);
}

hlo_ref tt_view_read_at(hlo_graph *g, hlo_ref base, const tt_strided *v, const hlo_ref *starts) {
    plan p; hlo_ref at[MAX];
    if (!base || !decode_block(hlo_type_of(g, base), v, &p)) return tt_view_read(g, base, v);
    block_starts(g, &p, starts, at);
    return shape_members(g, hlo_dynamic_slice(g, base, at, p.count), v, &p);
}

hlo_ref tt_view_read(hlo_graph *g, hlo_ref base, const tt_strided *v) {
    if (!base) return HLO_NONE;
    hlo_type kept = *hlo_type_of(g, base);
    int64_t n = hlo_type_elements(&kept), whole = whole_elements(&kept, v->dtype);
    if (whole != n) base = hlo_slice_dim(g, flat(g, base, n), 0, 0, whole, 1);
    hlo_ref x = reinterpret(g, base, v->dtype);
    if (!x) return HLO_NONE;
    hlo_type want = hlo_type_make(v->dtype, v->rank, v->dims);
    if (!hlo_type_elements(&want)) return hlo_splat_int(g, &want, 0);
    hlo_type type = *hlo_type_of(g, x);
    if (tt_view_is_whole(v, &type)) return x;
    plan p;
    return decode(&type, v, &p) ? read_plan(g, x, v, &p) : read_gather(g, x, v);
}

/* ---- writing ---- */

static hlo_ref write_scatter(hlo_graph *g, hlo_ref base, const tt_strided *v, hlo_ref value) {
    hlo_type type = *hlo_type_of(g, base);
    int64_t total = hlo_type_elements(&type), n = hlo_type_elements(hlo_type_of(g, value)), zero[1] = {0};
    hlo_dims dims = {.kind = HLO_DIMS_SCATTER, .b = {1, zero}, .e = {1, zero}, .index_vector_dim = 1};
    hlo_ref out = hlo_scatter(g, flat(g, base, total), linear_index(g, v, total), flat(g, value, n), &dims, HLO_INVALID, true, NULL);
    return hlo_reshape(g, out, type.rank, type.dims);
}

static hlo_ref update_at(hlo_graph *g, hlo_ref x, hlo_ref update, int rank, const int64_t *start) {
    if (hlo_dims_equal(hlo_type_of(g, x), hlo_type_of(g, update))) return update;
    hlo_ref starts[MAX];
    for (int i = 0; i < rank; i++) starts[i] = hlo_scalar_int(g, TT_I32, start[i]);
    return hlo_dynamic_update_slice(g, x, update, starts);
}

/* Strided writes: the update spread out with interior padding, chosen by a mask spread the same way. */
static hlo_ref update_stepped(hlo_graph *g, hlo_ref x, hlo_ref update, const plan *p) {
    int64_t high[MAX], interior[MAX];
    for (int i = 0; i < p->rank; i++) {
        interior[i] = p->step[i] - 1;
        high[i] = p->shape[i] - p->start[i] - ((p->count[i] - 1) * p->step[i] + 1);
    }
    hlo_type mask_type = hlo_type_make(TT_PRED, p->rank, p->count);
    hlo_ref mask = hlo_pad(g, hlo_splat_int(g, &mask_type, 1), hlo_scalar_int(g, TT_PRED, 0), p->start, high, interior);
    hlo_ref zero = hlo_scalar_int(g, hlo_type_of(g, update)->dtype, 0);
    return hlo_select(g, mask, hlo_pad(g, update, zero, p->start, high, interior), x);
}

static hlo_ref members_to_slice(hlo_graph *g, hlo_ref value, const plan *p) {
    int64_t dims[MAX], back[MAX];
    for (int i = 0; i < p->n_members; i++) { dims[i] = p->members[p->order[i]].n; back[p->order[i]] = i; }
    value = hlo_reshape(g, value, p->n_members, dims);
    if (p->transposed) value = hlo_transpose(g, value, back);
    return hlo_reshape(g, value, p->rank, p->count);
}

static hlo_ref write_plan(hlo_graph *g, hlo_ref base, const plan *p, hlo_ref value) {
    hlo_type type = *hlo_type_of(g, base);
    value = members_to_slice(g, value, p);
    hlo_ref frame = p->crop ? hlo_slice(g, base, p->base_start, p->base_limit, NULL) : base;
    if (!frame || !value) return HLO_NONE;
    hlo_type frame_type = *hlo_type_of(g, frame);
    hlo_ref x = hlo_reshape(g, frame, p->rank, p->shape);
    x = p->stepped ? update_stepped(g, x, value, p) : update_at(g, x, value, p->rank, p->start);
    x = hlo_reshape(g, x, frame_type.rank, frame_type.dims);
    return p->crop ? update_at(g, base, x, type.rank, p->base_start) : x;
}

hlo_ref tt_view_write_at(hlo_graph *g, hlo_ref base, const tt_strided *v, hlo_ref value, const hlo_ref *starts) {
    plan p; hlo_ref at[MAX];
    if (!base || !value || !decode_block(hlo_type_of(g, base), v, &p)) return tt_view_write(g, base, v, value);
    block_starts(g, &p, starts, at);
    return hlo_dynamic_update_slice(g, base, members_to_slice(g, value, &p), at);
}

hlo_ref tt_view_write(hlo_graph *g, hlo_ref base, const tt_strided *v, hlo_ref value) {
    if (!base || !value) return HLO_NONE;
    hlo_type kept = *hlo_type_of(g, base);
    if (!hlo_type_elements(hlo_type_of(g, value))) return base;
    int64_t n = hlo_type_elements(&kept), whole = whole_elements(&kept, v->dtype);
    if (whole != n) { /* the odd end stays as it is */
        base = flat(g, base, n);
        hlo_ref parts[2] = {tt_view_write(g, hlo_slice_dim(g, base, 0, 0, whole, 1), v, value), hlo_slice_dim(g, base, 0, whole, n, 1)};
        return hlo_reshape(g, hlo_concatenate(g, 2, parts, 0), kept.rank, kept.dims);
    }
    hlo_ref x = reinterpret(g, base, v->dtype);
    if (!x) return HLO_NONE;
    hlo_type type = *hlo_type_of(g, x);
    plan p;
    if (tt_view_is_whole(v, &type)) x = value;
    else x = decode(&type, v, &p) ? write_plan(g, x, &p, value) : write_scatter(g, x, v, value);
    x = reinterpret(g, x, kept.dtype);
    return hlo_reshape(g, x, kept.rank, kept.dims);
}

bool tt_view_is_whole(const tt_strided *v, const hlo_type *base) {
    if (v->dtype != base->dtype || v->offset || v->rank != base->rank) return false;
    int64_t stride = 1;
    for (int i = v->rank - 1; i >= 0; i--) {
        if (v->dims[i] != base->dims[i] || (v->dims[i] > 1 && v->strides[i] != stride)) return false;
        stride *= v->dims[i];
    }
    return true;
}

bool tt_view_covers(const tt_strided *v, int64_t bytes, int *out_order) {
    int order[MAX], n_order = 0; int64_t n = 1, stride = 1;
    if (v->rank > MAX) return false;
    for (int i = 0; i < v->rank; i++) n *= v->dims[i];
    if (v->offset || n * tt_dtype_size(v->dtype) != bytes) return false;
    bool row_major = true;
    for (int i = v->rank - 1; i >= 0; i--) {
        row_major &= v->dims[i] == 1 || v->strides[i] == stride;
        stride *= v->dims[i];
    }
    for (int pass = 0; pass < 2; pass++) /* real dims by descending stride, then dims of size 1 */
        for (int i = 0; i < v->rank; i++) {
            if (!row_major && (v->dims[i] == 1) != (pass == 1)) continue;
            if (row_major && pass == 1) continue;
            int j = n_order++;
            if (!row_major && pass == 0)
                for (; j && v->strides[order[j - 1]] < v->strides[i]; j--) order[j] = order[j - 1];
            order[j] = i;
        }
    stride = 1;
    for (int i = v->rank - 1; i >= 0; i--) {
        int d = order[i];
        if (v->dims[d] > 1 && v->strides[d] != stride) return false;
        stride *= v->dims[d];
    }
    if (out_order) memcpy(out_order, order, sizeof(int) * (size_t)v->rank);
    return true;
}
