/* fast_rng.c - rng_bit_generator: Philox-4x32-10 and Threefry-2x32-20 over many counters at once, bit for bit what XLA gives.
 *
 * The calls of a block run side by side in arrays that the compiler vectorises; how calls and elements belong together is in
 * ref_rng.c. */
#include "engine/fast.h"
#include <stdlib.h>
#include <string.h>

enum { CALLS = 256 };

typedef struct generator {
    uint64_t key, low, high;
    tt_dtype dtype;
    int size;
    int64_t n;
    char *out;
    int64_t length, half, inner; /* Threefry in 32 bits: the dim whose neighbours share a call */
} generator;

static FAST_CLONES void philox_block(uint64_t key, const uint64_t *restrict low, const uint64_t *restrict high, uint32_t (*restrict out)[CALLS]) {
    uint32_t *restrict o0 = out[0], *restrict o1 = out[1], *restrict o2 = out[2], *restrict o3 = out[3];
    for (int i = 0; i < CALLS; i++) {
        uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
        uint32_t a = (uint32_t)low[i], b = (uint32_t)(low[i] >> 32), c = (uint32_t)high[i], d = (uint32_t)(high[i] >> 32);
#pragma GCC unroll 10
        for (int round = 0; round < 10; round++) {
            uint64_t p = (uint64_t)a * 0xD2511F53, q = (uint64_t)c * 0xCD9E8D57;
            a = (uint32_t)(q >> 32) ^ b ^ k0;
            b = (uint32_t)q;
            c = (uint32_t)(p >> 32) ^ d ^ k1;
            d = (uint32_t)p;
            k0 += 0x9E3779B9;
            k1 += 0xBB67AE85;
        }
        o0[i] = a, o1[i] = b, o2[i] = c, o3[i] = d;
    }
}

#define TURN(r) x += y, y = (y << (r) | y >> (32 - (r))) ^ x
static FAST_CLONES void threefry_block(uint64_t key, const uint64_t *restrict counter, uint32_t (*restrict out)[CALLS]) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), k2 = k0 ^ k1 ^ 0x1BD11BDA;
    uint32_t *restrict o0 = out[0], *restrict o1 = out[1];
    for (int i = 0; i < CALLS; i++) {
        uint32_t x = (uint32_t)counter[i] + k0, y = (uint32_t)(counter[i] >> 32) + k1;
        TURN(13), TURN(15), TURN(26), TURN(6);
        x += k1, y += k2 + 1;
        TURN(17), TURN(29), TURN(16), TURN(24);
        x += k2, y += k0 + 2;
        TURN(13), TURN(15), TURN(26), TURN(6);
        x += k0, y += k1 + 3;
        TURN(17), TURN(29), TURN(16), TURN(24);
        x += k1, y += k2 + 4;
        TURN(13), TURN(15), TURN(26), TURN(6);
        x += k2, y += k0 + 5;
        o0[i] = x, o1[i] = y;
    }
}

static inline void put(char *dst, int size, uint64_t word) {
    memcpy(dst, &word, (size_t)size);
}

static void philox_range(void *context, int64_t from, int64_t to) { /* in calls */
    const generator *r = context;
    uint64_t low[CALLS], high[CALLS];
    uint32_t w[4][CALLS];
    int64_t per_call = r->size == 8 ? 2 : 4;
    for (int64_t at = from; at < to; at += CALLS) {
        for (int i = 0; i < CALLS; i++) {
            low[i] = r->low + (uint64_t)(at + i);
            high[i] = r->high + (low[i] < r->low);
        }
        philox_block(r->key, low, high, w);
        int64_t calls = loop_min(CALLS, to - at), first = at * per_call;
        bool whole = first + calls * per_call <= r->n;
        char *dst = r->out + first * r->size;
        for (int64_t i = 0; i < calls; i++, dst += per_call * r->size) {
            if (per_call == 2 && whole) {
                uint32_t all[4] = {w[0][i], w[1][i], w[2][i], w[3][i]};
                memcpy(dst, all, 16);
            } else if (r->size == 4 && whole) {
                uint32_t all[4] = {w[0][i], w[1][i], w[2][i], w[3][i]};
                memcpy(dst, all, 16);
            } else {
                for (int64_t k = 0; k < per_call && first + i * per_call + k < r->n; k++)
                    put(dst + k * r->size, r->size, per_call == 2 ? (uint64_t)w[2 * k + 1][i] << 32 | w[2 * k][i] : w[k][i]);
            }
        }
    }
}

static void threefry64_range(void *context, int64_t from, int64_t to) {
    const generator *r = context;
    uint64_t counter[CALLS];
    uint32_t w[2][CALLS];
    for (int64_t at = from; at < to; at += CALLS) {
        for (int i = 0; i < CALLS; i++)
            counter[i] = r->low + (uint64_t)(at + i);
        threefry_block(r->key, counter, w);
        for (int64_t i = 0; i < loop_min(CALLS, to - at); i++)
            put(r->out + (at + i) * 8, 8, (uint64_t)w[1][i] << 32 | w[0][i]);
    }
}

/* Call c belongs to (o, h, k) of [outer][half][inner]: its words are elements (o, 2h, k) and, if the dim reaches, (o, 2h + 1, k). */
static void threefry32_range(void *context, int64_t from, int64_t to) {
    const generator *r = context;
    uint64_t counter[CALLS];
    uint32_t w[2][CALLS];
    for (int64_t at = from; at < to; at += CALLS) {
        for (int i = 0; i < CALLS; i++)
            counter[i] = r->low + (uint64_t)(at + i);
        threefry_block(r->key, counter, w);
        int64_t k = at % r->inner, h = at / r->inner % r->half, o = at / r->inner / r->half;
        for (int64_t i = 0; i < loop_min(CALLS, to - at); i++) {
            int64_t first = (o * r->length + 2 * h) * r->inner + k;
            put(r->out + first * r->size, r->size, w[0][i]);
            if (2 * h + 1 < r->length)
                put(r->out + (first + r->inner) * r->size, r->size, w[1][i]);
            if (++k == r->inner) {
                k = 0;
                if (++h == r->half) {
                    h = 0;
                    o++;
                }
            }
        }
    }
}

/* Neighbours along the first even dim share a call, else along the largest. */
static void split_dim(generator *r, const hlo_type *t) {
    int split = -1;
    for (int d = 0; d < t->rank && split < 0; d++)
        split = t->dims[d] % 2 == 0 ? d : -1;
    for (int d = 0; d < t->rank && (split < 0 || t->dims[split] % 2); d++)
        if (split < 0 || t->dims[d] > t->dims[split])
            split = d;
    r->inner = 1;
    r->length = split < 0 ? 1 : t->dims[split];
    r->half = (r->length + 1) / 2;
    for (int d = split + 1; split >= 0 && d < t->rank; d++)
        r->inner *= t->dims[d];
}

tt_status eng_fast_rng_bit_generator(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    const char *algorithm = hlo_attr_text(node, HLO_A_RNG_ALGORITHM, "DEFAULT");
    bool threefry = !strcmp(algorithm, "THREE_FRY");
    uint64_t state[3] = {0}, used;
    int64_t bytes = hlo_type_bytes(&in->type);
    const hlo_type *bits = &out[1].type;
    (void)run, (void)g;
    if (node->n_results != 2 || (bytes != 16 && bytes != 24) || hlo_type_bytes(&out->type) != bytes || !tt_is_int(bits->dtype) ||
        !loop_find(HLO_ADD, bits->dtype, bits->dtype, 0) || (!threefry && strcmp(algorithm, "PHILOX") && strcmp(algorithm, "DEFAULT")))
        return eng_not_mine;
    memcpy(state, in->data, (size_t)bytes);
    generator r = {.key = state[0], .low = state[1], .high = bytes == 24 ? state[2] : state[0], .dtype = bits->dtype, .out = out[1].data};
    r.size = tt_dtype_size(r.dtype);
    r.n = hlo_type_elements(bits);
    if (!threefry) {
        int64_t per_call = r.size == 8 ? 2 : 4;
        used = (uint64_t)((r.n + per_call - 1) / per_call);
        fast_ranges((int64_t)used, 1 << 13, philox_range, &r);
    } else if (r.size == 8) {
        used = (uint64_t)r.n;
        fast_ranges(r.n, 1 << 13, threefry64_range, &r);
    } else {
        split_dim(&r, bits);
        used = (uint64_t)(r.n ? r.n / r.length * r.half : 0);
        fast_ranges((int64_t)used, 1 << 13, threefry32_range, &r);
    }
    state[1] += used;
    state[2] += state[1] < used && !threefry;
    memcpy(out->data, state, (size_t)bytes);
    return TT_OK;
}
