/* ref_rng.c - reference kernels of rng_bit_generator (bit-exact with XLA) and rng.
 *
 * THREE_FRY is Threefry-2x32 with 20 rounds, PHILOX Philox-4x32 with 10 (Salmon et al., SC 2011); DEFAULT is PHILOX, as on XLA's CPU
 * and GPU. The state is {key, counter} or {key, counter low, counter high}; types under 32 bits take the low bits of 32-bit words. */
#include "engine/ref.h"
#include <math.h>
#include <stdatomic.h>

static uint32_t rotate(uint32_t x, int by) {
    return x << by | x >> (32 - by);
}

static void threefry(uint64_t key, uint64_t counter, uint32_t *out) {
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t k[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0}, x = (uint32_t)counter, y = (uint32_t)(counter >> 32);
    k[2] = k[0] ^ k[1] ^ 0x1BD11BDA;
    x += k[0], y += k[1];
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            x += y;
            y = rotate(y, rotations[round & 1][i]) ^ x;
        }
        x += k[(round + 1) % 3];
        y += k[(round + 2) % 3] + round + 1;
    }
    out[0] = x, out[1] = y;
}

static void philox(uint64_t key, uint64_t low, uint64_t high, uint32_t *out) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
        uint64_t a = (uint64_t)x[0] * 0xD2511F53, b = (uint64_t)x[2] * 0xCD9E8D57;
        uint32_t y[4] = {(uint32_t)(b >> 32) ^ x[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ k1, (uint32_t)a};
        memcpy(x, y, sizeof x);
    }
    memcpy(out, x, sizeof x);
}

/* ---- rng_bit_generator ---- */
typedef struct generator { uint64_t key, low, high; bool threefry; } generator;

static void put_word(tt_dtype t, void *dst, int64_t i, uint64_t word) {
    int size = tt_dtype_size(t);
    memcpy((char *)dst + i * size, &word, (size_t)size); /* little endian: the low bytes */
    if (ref_bits(t) < 8)
        tt_element_set_int(t, (char *)dst + i * size, (int64_t)word);
}

static void threefry64(const generator *r, tt_dtype t, void *dst, int64_t n, uint64_t *out_used) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t w[2];
        threefry(r->key, r->low + (uint64_t)i, w);
        put_word(t, dst, i, (uint64_t)w[1] << 32 | w[0]);
    }
    *out_used = (uint64_t)n;
}

/* Both words of a call go to neighbours along one dimension: the first even one, else the largest. */
static void threefry32(const generator *r, const hlo_type *t, void *dst, uint64_t *out_used) {
    int split = -1;
    for (int d = 0; d < t->rank && split < 0; d++)
        split = t->dims[d] % 2 == 0 ? d : -1;
    for (int d = 0; d < t->rank && (split < 0 || t->dims[split] % 2); d++)
        if (split < 0 || t->dims[d] > t->dims[split])
            split = d;
    int64_t inner = 1, length = split < 0 ? 1 : t->dims[split], half = (length + 1) / 2, n = hlo_type_elements(t);
    for (int d = split + 1; split >= 0 && d < t->rank; d++)
        inner *= t->dims[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t o = i / (length * inner), s = i / inner % length, k = i % inner;
        uint32_t w[2];
        threefry(r->key, r->low + (uint64_t)((o * half + s / 2) * inner + k), w);
        put_word(t->dtype, dst, i, w[s & 1]);
    }
    *out_used = (uint64_t)(n ? n / length * half : 0);
}

static void philox_fill(const generator *r, tt_dtype t, void *dst, int64_t n, uint64_t *out_used) {
    int per_call = tt_dtype_size(t) == 8 ? 2 : 4;
    for (int64_t i = 0; i < n; i += per_call) {
        uint32_t w[4];
        uint64_t low = r->low + (uint64_t)(i / per_call);
        philox(r->key, low, r->high + (low < r->low), w);
        for (int64_t k = 0; k < per_call && i + k < n; k++)
            put_word(t, dst, i + k, per_call == 2 ? (uint64_t)w[2 * k + 1] << 32 | w[2 * k] : w[k]);
    }
    *out_used = (uint64_t)((n + per_call - 1) / per_call);
}

/* A state of u32 words is read as the u64 words it spells. */
REF_KERNEL(rng_bit_generator) {
    (void)run, (void)g;
    const char *algorithm = hlo_attr_text(node, HLO_A_RNG_ALGORITHM, "DEFAULT");
    uint64_t state[3] = {0}, used = 0;
    int64_t bytes = hlo_type_bytes(&in->type);
    hlo_type bits = out[1].type;
    TT_CHECK(node->n_results == 2 && (bytes == 16 || bytes == 24) && hlo_type_bytes(&out->type) == bytes, INVALID_ARGUMENT,
             "rng_bit_generator with a state of %lld bytes", (long long)bytes);
    TT_CHECK(!tt_is_complex(bits.dtype), UNIMPLEMENTED, "rng_bit_generator of %s", tt_dtype_name(bits.dtype));
    memcpy(state, in->data, (size_t)bytes);
    /* a state of two words has the key for the counter's high word, which XLA does too */
    generator r = {state[0], state[1], bytes == 24 ? state[2] : state[0], !strcmp(algorithm, "THREE_FRY")};
    TT_CHECK(r.threefry || !strcmp(algorithm, "PHILOX") || !strcmp(algorithm, "DEFAULT"), INVALID_ARGUMENT, "rng algorithm %s", algorithm);
    if (!r.threefry)
        philox_fill(&r, bits.dtype, out[1].data, ref_count(out + 1), &used);
    else if (tt_dtype_size(bits.dtype) == 8)
        threefry64(&r, bits.dtype, out[1].data, ref_count(out + 1), &used);
    else
        threefry32(&r, &bits, out[1].data, &used);
    state[1] += used;
    state[2] += state[1] < used && !r.threefry;
    memcpy(out->data, state, (size_t)bytes);
    return TT_OK;
}

/* ---- rng: a stream of the process, not reproducible by contract ---- */
static double next_uniform(void) {
    static _Atomic uint64_t counter;
    uint32_t w[2];
    threefry(0x853C49E6748FEA9Bull, atomic_fetch_add(&counter, 1), w);
    return (double)(((uint64_t)w[1] << 32 | w[0]) >> 11) * 0x1p-53;
}

REF_KERNEL(rng) {
    (void)run, (void)g;
    bool normal = !strcmp(hlo_attr_text(node, HLO_A_RNG_DISTRIBUTION, "UNIFORM"), "NORMAL");
    tt_dtype t = out->type.dtype;
    int size = ref_size(out);
    double a = tt_element_get(in->type.dtype, in->data), b = tt_element_get(in[1].type.dtype, in[1].data);
    if (tt_is_complex(t))
        REF_UNSUPPORTED(g, node, t);
    for (int64_t i = 0; i < ref_count(out); i++) {
        double u = next_uniform();
        double v = normal ? a + b * sqrt(-2 * log1p(-u)) * cos(2 * M_PI * next_uniform()) : a + (b - a) * u;
        if (!tt_is_float(t))
            v = floor(v);
        tt_element_set(t, (char *)out->data + i * size, v);
        if (!normal && tt_is_float(t) && tt_element_get(t, (char *)out->data + i * size) >= b) /* rounded up to the open end */
            tt_element_set(t, (char *)out->data + i * size, a);
    }
    return TT_OK;
}
