/* fast_attention_grad.c - the gradient of scaled dot product attention: probabilities come again from scores
 * and logsumexp, block by block. Part of composite.c.
 *
 * With P = exp(scale Q K^T + mask - lse), D = rowsum(dO O): dV = P^T dO, dS = scale P (dO V^T - D), dQ = dS
 * K, dK = dS^T Q. Sums are f32; where bf16 is multiplied in pairs, so are P and dS, rounded; other 16-bit heads are widened first.
 * A task owns a key head and all queries of its group, so sums have one order. */
#include "engine/fast_attention.h"
#include <math.h>
#include <string.h>

/* LD: of scores; rows a power of two apart would share a set of L1. */
enum { QUERIES = 16 * ENG_MAX_MR, KEYS = 256, LD = KEYS + 16 };

typedef struct backward {
    attention a;
    const eng_flavor *f; /* what tiles multiply */
    bool pairs;
    const char *grad, *out;
    const float *lse;
    char *dq, *dk, *dv;
} backward;

/* One query head with its key head, as elements that tiles multiply. */
typedef struct head {
    int64_t b, h;
    const char *q, *k, *v, *grad;
    float *dq, *dk, *dv, *delta;
    char *keys, *values;                     /* of a block of keys, as panels of K^T and V^T */
    attention_right k_rows, q_rows, grad_rows; /* of the block, and of all queries, as rows of words */
    float *scores, *dp, *p, *ds;             /* of a block of queries: the first two of a tile in pairs, else the same as the last two */
    char *ds_rows;                           /* ds of a tile by queries */
} head;

static attention_right from_row(const backward *p, attention_right m, int64_t row) {
    m.at = (const char *)m.at + row / p->f->per_word * m.ld * 4;
    return m;
}

/* Rows [count, n] as tiles read them from the right: as they lie, or packed into *work. */
static attention_right rows_of_words(const backward *p, const char *from, int64_t count, int64_t n, char **work) {
    const eng_flavor *f = p->f;
    if (!p->pairs)
        return (attention_right){from, n, f->nr * 4};
    const attention_right out = {*work, f->nr, eng_words(f, count) * f->nr * 4};
    for (int64_t j = 0; j < n; j += f->nr, *work += out.panel)
        f->pack_rows(*work, f->nr, f->nr, from + j * 2, n, eng_min(n - j, f->nr), count);
    return out;
}

/* Scores and dp of a tile's queries become weights and their gradients; zero beyond what is seen, up to `width`. */
static void weigh(const backward *p, const head *t, int64_t q0, int64_t i, int64_t rows, int64_t k0, int64_t keys, int64_t width) {
    const attention *a = &p->a;
    const float *lse = p->lse + (t->b * a->h + t->h) * a->l;
    eng_weighing row[ENG_MAX_MR + 1] = {{0}};
    for (int64_t r = 0; r < rows; r++) {
        const int64_t query = q0 + i + r, n = a->causal ? eng_max(0, eng_min(keys, query + 1 - k0)) : keys;
        row[r] = (eng_weighing){.n = n, .width = width, .scale = a->scale, .lse = lse[query] == -INFINITY ? 0 : lse[query],
                                .delta = t->delta[query], .mask_type = a->mask_type,
                                .mask = attention_mask(a, t->b, t->h, query, k0)};
    }
    for (int64_t r = 0; r < rows && p->pairs; r += 2)
        a->kernels->attend_backward_pair(&row[r], t->scores + r * LD, t->dp + r * LD, LD, t->p + (i + r) / 2 * LD, t->ds + (i + r) / 2 * LD,
                                         (uint16_t *)(void *)t->ds_rows + r * 2 * LD);
    for (int64_t r = 0; r < rows && !p->pairs; r++)
        a->kernels->attend_backward(&row[r], t->scores + (i + r) * LD, t->dp + (i + r) * LD);
}

/* Rows i .. of a block of queries meet `keys` keys of a block. */
static void query_tile(const backward *p, const head *t, int64_t q0, int64_t i, int64_t rows, int64_t k0, int64_t keys, int64_t nk) {
    const attention *a = &p->a;
    const eng_flavor *f = p->f;
    const int64_t words = eng_words(f, a->e), value_words = eng_words(f, a->ev), at = p->pairs ? 0 : i * LD;
    attention_multiply(f, words, (attention_left){t->q + (q0 + i) * words * 4, words * 4, 4}, rows,
                       (attention_right){t->keys, f->nr, words * f->nr * 4}, keys, true, t->scores + at, LD, false, NULL);
    attention_multiply(f, value_words, (attention_left){t->grad + (q0 + i) * value_words * 4, value_words * 4, 4}, rows,
                       (attention_right){t->values, f->nr, value_words * f->nr * 4}, keys, true, t->dp + at, LD, false, NULL);
    weigh(p, t, q0, i, rows, k0, keys, eng_min(nk, keys + ENG_MAX_MR)); /* tiles of keys read so far */
    attention_multiply(f, eng_words(f, keys), (attention_left){p->pairs ? t->ds_rows : (char *)(t->dp + at), LD * 4, 4}, rows, t->k_rows,
                       a->e, false, t->dq + (q0 + i) * a->e, a->e, true, NULL);
}

static void block(const backward *p, const head *t, int64_t q0, int64_t nq, int64_t k0, int64_t nk) {
    const attention *a = &p->a;
    const eng_flavor *f = p->f;
    const int64_t mr = eng_round_up(eng_even_rows(f, nq), 2), kr = eng_even_rows(f, nk); /* pairs are of one tile: mr is even */
    for (int64_t i = 0; i < nq; i += mr) {
        const int64_t rows = eng_min(nq - i, mr), keys = a->causal ? eng_min(nk, q0 + i + rows - k0) : nk;
        if (keys > 0)
            query_tile(p, t, q0, i, rows, k0, keys, nk);
    }
    for (int64_t j = 0; j < nk; j += kr) {
        const int64_t first = a->causal ? eng_max(0, k0 + j - q0) / 2 * 2 : 0, rows = eng_min(nk - j, kr); /* who sees them */
        if (first >= nq)
            break;
        const int64_t words = eng_words(f, nq - first), at = first / f->per_word * LD + j;
        attention_multiply(f, words, (attention_left){t->p + at, 4, LD * 4}, rows, from_row(p, t->grad_rows, q0 + first), a->ev, false,
                           t->dv + (k0 + j) * a->ev, a->ev, true, NULL);
        attention_multiply(f, words, (attention_left){t->ds + at, 4, LD * 4}, rows, from_row(p, t->q_rows, q0 + first), a->e, false,
                           t->dk + (k0 + j) * a->e, a->e, true, NULL);
    }
}

static void query_head(const backward *p, head *t, char *work) {
    const attention *a = &p->a;
    const eng_flavor *f = p->f;
    const int64_t words = eng_words(f, a->e), value_words = eng_words(f, a->ev), bytes = p->pairs ? 2 : 4;
    for (int64_t k0 = 0; k0 < a->s && !(a->causal && k0 >= a->l); k0 += KEYS) {
        const int64_t nk = eng_min(a->s - k0, KEYS);
        for (int64_t j = 0; j < nk; j += f->nr) {
            const int64_t n = eng_min(nk - j, f->nr);
            f->pack_cols(t->keys + j * words * 4, f->nr, f->nr, t->k + (k0 + j) * a->e * bytes, a->e, n, a->e);
            f->pack_cols(t->values + j * value_words * 4, f->nr, f->nr, t->v + (k0 + j) * a->ev * bytes, a->ev, n, a->ev);
        }
        char *rest = work;
        t->k_rows = rows_of_words(p, t->k + k0 * a->e * bytes, nk, a->e, &rest);
        for (int64_t q0 = a->causal ? k0 / QUERIES * QUERIES : 0; q0 < a->l; q0 += QUERIES)
            block(p, t, q0, eng_min(a->l - q0, QUERIES), k0, nk);
    }
}

/* n elements as tiles multiply them: themselves, or widened into *work, which moves on. */
static const char *wide(const backward *p, const char *from, int64_t n, char **work) {
    if (p->pairs || p->a.dtype == TT_F32)
        return from;
    char *to = *work;
    *work += n * 4;
    p->a.kernels->widen(p->a.dtype, (float *)(void *)to, from, n);
    return to;
}

/* n sums to be: the result itself, or scratch to be rounded from. */
static float *cleared(const attention *a, char *result, int64_t n, char **work) {
    char *sums = result;
    if (a->dtype != TT_F32) {
        sums = *work;
        *work += n * 4;
    }
    return memset(sums, 0, (size_t)n * 4);
}

static void *part(char **work, int64_t floats) {
    char *at = *work;
    *work += eng_round_up(floats, 16) * 4;
    return at;
}

static void key_head_task(void *context, int64_t task, int worker) {
    (void)worker;
    const backward *p = context;
    const attention *a = &p->a;
    const int64_t nr = p->f->nr, q_size = a->l * a->e, k_size = a->s * a->e, v_size = a->s * a->ev, o_size = a->l * a->ev;
    const int64_t columns = eng_round_up(a->e, nr) + eng_round_up(a->ev, nr); /* in panels */
    char *work = eng_scratch_need(ENG_SLOT_A, (size_t)((a->l + 2 * (q_size + k_size + v_size) + o_size + (2 * QUERIES + 3 * ENG_MAX_MR) * LD +
                                                        (a->l + 2 * (KEYS + nr)) * columns + 256) * 4));
    head t = {.b = task / a->hk};
    t.p = part(&work, QUERIES * LD);
    t.ds = part(&work, QUERIES * LD);
    t.scores = p->pairs ? part(&work, ENG_MAX_MR * LD) : t.p;
    t.dp = p->pairs ? part(&work, ENG_MAX_MR * LD) : t.ds;
    t.ds_rows = part(&work, ENG_MAX_MR * LD);
    t.keys = part(&work, (KEYS + nr) * a->e);
    t.values = part(&work, (KEYS + nr) * a->ev);
    t.delta = part(&work, a->l);
    t.k = wide(p, a->k + task * k_size * a->bytes, k_size, &work);
    t.v = wide(p, a->v + task * v_size * a->bytes, v_size, &work);
    t.dk = cleared(a, p->dk + task * k_size * a->bytes, k_size, &work);
    t.dv = cleared(a, p->dv + task * v_size * a->bytes, v_size, &work);
    char *const start = work;
    for (int64_t g = 0; g < a->group; g++) {
        t.h = task % a->hk * a->group + g;
        const int64_t at = t.b * a->h + t.h;
        work = start;
        t.q = wide(p, a->q + at * q_size * a->bytes, q_size, &work);
        t.grad = wide(p, p->grad + at * o_size * a->bytes, o_size, &work);
        t.dq = cleared(a, p->dq + at * q_size * a->bytes, q_size, &work);
        t.q_rows = rows_of_words(p, t.q, a->l, a->e, &work);
        t.grad_rows = rows_of_words(p, t.grad, a->l, a->ev, &work);
        a->kernels->row_dots(a->dtype, p->grad + at * o_size * a->bytes, p->out + at * o_size * a->bytes, a->l, a->ev, t.delta);
        query_head(p, &t, work);
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
    backward p = {.a = attention_of(attributes, &in[1], mask ? &in[4] : NULL),
                  .grad = in[0].data,
                  .out = in[4 + mask].data,
                  .lse = in[5 + mask].data,
                  .dq = out[0].data,
                  .dk = out[1].data,
                  .dv = out[2].data};
    p.pairs = p.a.f->per_word == 2 && p.a.e % 2 == 0 && p.a.ev % 2 == 0; /* rows are whole words */
    p.f = p.pairs ? p.a.f : &p.a.kernels->f32;
    eng_parallel(p.a.b * p.a.hk, key_head_task, &p);
    return TT_OK;
}
