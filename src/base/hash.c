/* hash.c - 128 bits of bytes: two multiply-and-fold lanes of 16 bytes each, finished with the length.
 *
 * Not cryptographic. Host byte order: hashes are compared on machines of one kind only (the key of a
 * shared cache includes the plugin, hence the kind). */
#include "base/hash.h"
#include <string.h>

static inline uint64_t fold(uint64_t x, uint64_t y) {
    __extension__ typedef unsigned __int128 u128;
    u128 m = (u128)x * y;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t load(const unsigned char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static const uint64_t K0 = 0x9E3779B97F4A7C15ull, K1 = 0xD6E8FEB86659FD93ull, K2 = 0xA0761D6478BD642Full,
                      K3 = 0xE7037ED1A0B428DBull;

tt_hash tt_hash_bytes(const void *data, size_t bytes, tt_hash seed) {
    const unsigned char *p = data;
    size_t left = bytes;
    uint64_t a = seed.a ^ K0, b = seed.b ^ K1;
    while (left >= 32) {
        uint64_t w0 = load(p), w1 = load(p + 8), w2 = load(p + 16), w3 = load(p + 24);
        a = fold(a ^ w0 ^ K2, w1 ^ K0) + w2;
        b = fold(b ^ w2 ^ K3, w3 ^ K1) + w0;
        p += 32;
        left -= 32;
    }
    unsigned char tail[32] = {0};
    if (left)
        memcpy(tail, p, left);
    uint64_t w0 = load(tail), w1 = load(tail + 8), w2 = load(tail + 16), w3 = load(tail + 24);
    a = fold(a ^ w0 ^ K2, w1 ^ K0) + w2;
    b = fold(b ^ w2 ^ K3, w3 ^ K1) + w0;
    a ^= (uint64_t)bytes;
    tt_hash h = {fold(a ^ K1, b ^ K2) ^ b, fold(b ^ K0 ^ bytes, a ^ K3) + a};
    h.a = fold(h.a ^ K3, K0) ^ h.b;
    return h;
}
