/* fast_attention_grad.c - the gradient of scaled dot product attention: probabilities come again from scores
 * and logsumexp, block by block. Everything is f32; 16-bit heads are widened first. Part of composite.c.
 *
 * With P = exp(scale Q K^T + mask - lse), D = rowsum(dO O): dV = P^T dO, dS = scale P (dO V^T - D), dQ = dS
 * K, dK = dS^T Q. A task owns a key head and all queries of its group, so sums have one order. */
#include "engine/fast_attention.h"
#include <math.h>
#include <string.h>

enum { QUERIES = 64, KEYS = 128 };

typedef struct backward {
    attention a;
    const char *grad, *out;
    const float *lse;
    char *dq, *dk, *dv;
} backward;

/* One query head with its key head, as f32. */
typedef struct head {
    const float *q, *k, *v, *grad;
    float *dq, *dk, *dv, *delta;
    float *scores, *dp, *keys, *values; /* blocks; keys and values as panels of K^T and V^T */
} head;

/* c += a b; a[i][k] at a[i * row + k * step] (floats), b[k, n] row-major */
static void add_product(const eng_flavor *f, int64_t k, const float *a, int64_t row, int64_t step, int64_t m,
                        const float *b, int64_t ldb, int64_t n, float *c, int64_t ldc) {
    const int64_t mr = eng_even_rows(f, m);
    for (int64_t j = 0; j < n; j += f->nr)
        for (int64_t i = 0; i < m; i += mr) {
            const int64_t columns = eng_min(n - j, f->nr);
            f->direct[columns > f->nr / 2][eng_min(m - i, mr)](k, a + i * row, row * 4, step * 4, b + j, ldb,
                                                               c + i * ldc + j, ldc, true, columns);
        }
}

/* c = a b, a[m, k] rows, b in panels */
static void product(const eng_flavor *f, int64_t k, const float *a, int64_t m, const float *panels, int64_t n,
                    float *c) {
    const int64_t mr = eng_even_rows(f, m);
    for (int64_t j = 0; j < n; j += f->nr)
        for (int64_t i = 0; i < m; i += mr)
            f->direct[1][eng_min(m - i, mr)](k, a + i * k, k * 4, 4, panels + j * k, f->nr, c + i * KEYS + j,
                                             KEYS, false, eng_min(n - j, f->nr));
}

static void block(const backward *p, const head *t, int64_t b, int64_t h, int64_t q0, int64_t nq, int64_t k0,
                  int64_t nk) {
    const attention *a = &p->a;
    const eng_flavor *f = &a->kernels->f32;
    const float *lse = p->lse + (b * a->h + h) * a->l;
    product(f, a->e, t->q + q0 * a->e, nq, t->keys, nk, t->scores);
    product(f, a->ev, t->grad + q0 * a->ev, nq, t->values, nk, t->dp);
    for (int64_t i = 0; i < nq; i++) {
        const int64_t n = a->causal ? eng_max(0, eng_min(nk, q0 + i + 1 - k0)) : nk;
        const float shift = lse[q0 + i] == -INFINITY ? 0 : lse[q0 + i];
        a->kernels->attend_backward(t->scores + i * KEYS, t->dp + i * KEYS, n, nk, a->scale, a->mask_type,
                                    attention_mask(a, b, h, q0 + i, k0), shift, t->delta[q0 + i]);
    }
    add_product(f, nq, t->scores, 1, KEYS, nk, t->grad + q0 * a->ev, a->ev, a->ev, t->dv + k0 * a->ev, a->ev);
    add_product(f, nq, t->dp, 1, KEYS, nk, t->q + q0 * a->e, a->e, a->e, t->dk + k0 * a->e, a->e);
    add_product(f, nk, t->dp, KEYS, 1, nq, t->k + k0 * a->e, a->e, a->e, t->dq + q0 * a->e, a->e);
}

static void query_head(const backward *p, head *t, int64_t b, int64_t h) {
    const attention *a = &p->a;
    const eng_flavor *f = &a->kernels->f32;
    for (int64_t k0 = 0; k0 < a->s; k0 += KEYS) {
        const int64_t nk = eng_min(a->s - k0, KEYS);
        if (a->causal && k0 >= a->l)
            break;
        for (int64_t j = 0; j < nk; j += f->nr) {
            const int64_t n = eng_min(nk - j, f->nr);
            f->pack_cols(t->keys + j * a->e, f->nr, f->nr, t->k + (k0 + j) * a->e, a->e, n, a->e);
            f->pack_cols(t->values + j * a->ev, f->nr, f->nr, t->v + (k0 + j) * a->ev, a->ev, n, a->ev);
        }
        const int64_t first = a->causal ? k0 / QUERIES * QUERIES : 0;
        for (int64_t q0 = first; q0 < a->l; q0 += QUERIES)
            block(p, t, b, h, q0, eng_min(a->l - q0, QUERIES), k0, nk);
    }
}

/* n elements as f32: themselves, or widened into *work, which moves on. */
static const float *wide(const attention *a, const char *from, int64_t n, float **work) {
    if (a->dtype == TT_F32)
        return (const float *)(const void *)from;
    float *to = *work;
    *work += n;
    a->kernels->widen(a->dtype, to, from, n);
    return to;
}

/* n sums to be: the result itself, or scratch to be rounded from. */
static float *cleared(const attention *a, char *result, int64_t n, float **work) {
    float *sums = (float *)(void *)result;
    if (a->dtype != TT_F32) {
        sums = *work;
        *work += n;
    }
    memset(sums, 0, (size_t)n * 4);
    return sums;
}

static void key_head_task(void *context, int64_t task, int worker) {
    (void)worker;
    const backward *p = context;
    const attention *a = &p->a;
    const int64_t b = task / a->hk, hk = task % a->hk, nr = a->kernels->f32.nr;
    const int64_t q_size = a->l * a->e, k_size = a->s * a->e, v_size = a->s * a->ev, o_size = a->l * a->ev;
    const int64_t blocks = 2 * QUERIES * KEYS + (KEYS + nr) * (a->e + a->ev);
    float *work = eng_scratch_need(
        ENG_SLOT_A, (size_t)((a->l + o_size + 2 * (q_size + k_size + v_size) + o_size + blocks) * 4));
    head t;
    t.scores = work;
    t.dp = t.scores + QUERIES * KEYS;
    t.keys = t.dp + QUERIES * KEYS;
    t.values = t.keys + (KEYS + nr) * a->e;
    t.delta = t.values + (KEYS + nr) * a->ev;
    work = t.delta + a->l;
    t.k = wide(a, a->k + task * k_size * a->bytes, k_size, &work);
    t.v = wide(a, a->v + task * v_size * a->bytes, v_size, &work);
    t.dk = cleared(a, p->dk + task * k_size * a->bytes, k_size, &work);
    t.dv = cleared(a, p->dv + task * v_size * a->bytes, v_size, &work);
    float *const start = work;
    for (int64_t g = 0; g < a->group; g++) {
        const int64_t h = hk * a->group + g, at = b * a->h + h;
        work = start;
        t.q = wide(a, a->q + at * q_size * a->bytes, q_size, &work);
        t.grad = wide(a, p->grad + at * o_size * a->bytes, o_size, &work);
        t.dq = cleared(a, p->dq + at * q_size * a->bytes, q_size, &work);
        const float *out = wide(a, p->out + at * o_size * a->bytes, o_size, &work);
        for (int64_t i = 0; i < a->l; i++)
            t.delta[i] = a->kernels->dot(t.grad + i * a->ev, out + i * a->ev, a->ev);
        query_head(p, &t, b, h);
        if (a->dtype != TT_F32)
            a->kernels->narrow(a->dtype, p->dq + at * q_size * a->bytes, t.dq, q_size);
    }
    if (a->dtype != TT_F32) {
        a->kernels->narrow(a->dtype, p->dk + task * k_size * a->bytes, t.dk, k_size);
        a->kernels->narrow(a->dtype, p->dv + task * v_size * a->bytes, t.dv, v_size);
    }
}

tt_status eng_sdpa_backward(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const int mask = eng_composite_attr_bool(attributes, "has_mask", false);
    const backward p = {.a = attention_of(attributes, &in[1], mask ? &in[4] : NULL),
                        .grad = in[0].data,
                        .out = in[4 + mask].data,
                        .lse = in[5 + mask].data,
                        .dq = out[0].data,
                        .dk = out[1].data,
                        .dv = out[2].data};
    eng_parallel(p.a.b * p.a.hk, key_head_task, (void *)(uintptr_t)&p);
    return TT_OK;
}
