/* hash.h - 128-bit non-cryptographic hash: cache keys and checksums of cache entries. */
#ifndef TT_HASH_H
#define TT_HASH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct tt_hash { uint64_t a, b; } tt_hash;
tt_hash tt_hash_bytes(const void *data, size_t bytes, tt_hash seed);
/* One word into a running hash: for keys built while recording. */
static inline void tt_hash_word(tt_hash *h, uint64_t word) {
    __extension__ typedef unsigned __int128 u128;
    u128 m = (u128)(h->a ^ word) * 0x9E3779B97F4A7C15ull;
    uint64_t low = (uint64_t)m, high = (uint64_t)(m >> 64);
    h->a = low ^ (h->b + 0xD6E8FEB86659FD93ull);
    h->b = (h->b << 29 | h->b >> 35) * 0xA0761D6478BD642Full + (high ^ word);
}
static inline int tt_hash_equal(tt_hash x, tt_hash y) { return x.a == y.a && x.b == y.b; }
#ifdef __cplusplus
}
#endif
#endif
