/* kernels_avx512.c - the kernels for AVX-512 (F, BW, VL, DQ), and a second table whose bf16 products use
 * vdpbf16ps. Called only where isa.c found them. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,bmi,bmi2,prefer-vector-width=512")
#define SIMD 512
#include "engine/kernel_all.h"

#pragma GCC push_options
#pragma GCC target("avx512bf16")
INLINE vf v_dot_pairs(vf a, vf b, vf c) {
    return (vf)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
}
/* Sums of pairs: the processor has flushed their denormals already, as it does here. */
INLINE void store_two(uint16_t *p, vf low, vf high) {
    _mm512_storeu_si512(p, (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low));
}
#define TILE_ROUND   store_two
#define TILE(name)   pair_##name
#define TILE_T       float
#define TILE_V       vf
#define TILE_VL      SIMD_VL
#define TILE_LOAD    v_load
#define TILE_LOAD_N  v_load_n
#define TILE_STORE   v_store
#define TILE_STORE_N v_store_n
#define TILE_SET     v_set
#define TILE_FMA     v_dot_pairs
#include "engine/kernel_tile.h"
#define DOTS(name)   dots_pair_##name
#define DOTS_KIND    WORD_PAIR
#define DOTS_FMA     v_dot_pairs
#include "engine/kernel_dots.h"
#define STREAM(name) stream_pair_##name
#define STREAM_KIND  WORD_PAIR
#define STREAM_FMA   v_dot_pairs
#include "engine/kernel_stream.h"
INLINE void store_pairs(void *p, vf v, int64_t n) {
    _mm256_mask_storeu_epi16(p, v_lanes(n), (__m256i)_mm512_cvtneps_pbh((__m512)v));
}
#define ATTEND(name)      attend_pair_##name
#define ATTEND_STORE_BF16 store_pairs
#include "engine/kernel_attend.h"
/* Two vectors, rounded, as the words of a pair of rows; those that are not to be joined as rows too. */
INLINE void store_words(float *words, vf first, vf second, uint16_t *rows, int64_t row) {
    static const uint16_t order[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                       8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
    v_store(words, (vf)_mm512_permutexvar_epi16(_mm512_loadu_si512(order), both));
    if (rows) {
        _mm256_storeu_si256((__m256i *)(void *)rows, _mm512_castsi512_si256(both));
        _mm256_storeu_si256((__m256i *)(void *)(rows + row), _mm512_extracti64x4_epi64(both, 1));
    }
}
static void attend_backward_pair(const eng_weighing *t, const float *scores, const float *dp, int64_t ld, float *p, float *ds,
                                 uint16_t *ds_rows) {
#define CALL(T)                                                                                              \
    for (int64_t i = 0; i < t->width; i += SIMD_VL) {                                                        \
        vf p0, p1, ds0, ds1;                                                                                 \
        weigh(T, &t[0], scores, dp, i, &p0, &ds0);                                                           \
        weigh(T, &t[1], scores + ld, dp + ld, i, &p1, &ds1);                                                 \
        store_words(p + i, p0, p1, NULL, 0);                                                                 \
        store_words(ds + i, ds0, ds1, ds_rows + i, 2 * ld);                                                  \
    }
    BY_MASK_TYPE(t->mask_type, CALL);
#undef CALL
}
static void narrow_pair_rows(tt_dtype type, void *dst, int64_t ldd, const float *src, int64_t ld, int64_t rows, int64_t n) {
    if (type != TT_BF16) {
        narrow_rows(type, dst, ldd, src, ld, rows, n);
        return;
    }
    uint16_t *to = dst;
    for (int64_t r = 0; r < rows; r++, to += ldd, src += ld) {
        int64_t i = 0;
        for (; i + 32 <= n; i += 32)
            store_two(to + i, v_load(src + i), v_load(src + i + 16));
        for (; i < n; i += 16)
            store_pairs(to + i, v_load_n(src + i, n - i), n - i);
    }
}
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512vnni")
typedef uint32_t vu __attribute__((vector_size(64)));
INLINE vu u_load(const uint32_t *p) { return (vu)_mm512_loadu_si512(p); }
INLINE vu u_load_n(const uint32_t *p, int64_t n) { return (vu)_mm512_maskz_loadu_epi32(v_lanes(n), p); }
INLINE void u_store(uint32_t *p, vu v) { _mm512_storeu_si512(p, (__m512i)v); }
INLINE void u_store_n(uint32_t *p, vu v, int64_t n) { _mm512_mask_storeu_epi32(p, v_lanes(n), (__m512i)v); }
INLINE vu u_set(uint32_t x) { return (vu)_mm512_set1_epi32((int)x); }
INLINE vu u_dot_quads(vu a, vu b, vu c) { return (vu)_mm512_dpbusd_epi32((__m512i)c, (__m512i)a, (__m512i)b); }
#define TILE(name)   quad_##name
#define TILE_T       uint32_t
#define TILE_V       vu
#define TILE_VL      SIMD_VL
#define TILE_LOAD    u_load
#define TILE_LOAD_N  u_load_n
#define TILE_STORE   u_store
#define TILE_STORE_N u_store_n
#define TILE_SET     u_set
#define TILE_FMA     u_dot_quads
#include "engine/kernel_tile.h"
#pragma GCC pop_options

#define FLAVOR_QUADS                                                                                         \
    {.mr = TILE_MR,                                                                                          \
     .nr = 2 * SIMD_VL,                                                                                      \
     .per_word = 1,                                                                                          \
     .word_bytes = 4,                                                                                        \
     .element_bytes = 4,                                                                                     \
     .sum = TT_I32,                                                                                          \
     .tile = TILE_LIST(quad_packed_),                                                                        \
     .lanes = TILE_LIST(quad_lanes_),                                                                        \
     .direct = {TILE_LIST(quad_direct1_), TILE_LIST(quad_direct2_)},                                         \
     .pack_cols = pack_cols_f32,                                                                             \
     .pack_rows = pack_rows_f32}
#define FLAVOR_PAIRS                                                                                         \
    {.mr = TILE_MR,                                                                                          \
     .nr = 2 * SIMD_VL,                                                                                      \
     .per_word = 2,                                                                                          \
     .word_bytes = 4,                                                                                        \
     .element_bytes = 2,                                                                                     \
     .sum = TT_F32,                                                                                          \
     .tile = TILE_LIST(pair_packed_),                                                                        \
     .lanes = TILE_LIST(pair_lanes_),                                                                        \
     .lay = lay_pair,                                                                                        \
     .words = words_pair,                                                                                    \
     .unlay = unlay,                                                                                         \
     .direct = {TILE_LIST(pair_direct1_), TILE_LIST(pair_direct2_)},                                         \
     .rounded = TILE_LIST(pair_rounded_),                                                                    \
     .pack_cols = pack_cols_pair,                                                                            \
     .pack_rows = pack_rows_pair,                                                                            \
     .dot_rows = DOTS_ROWS,                                                                                  \
     .dots = DOTS_LIST(dots_pair_),                                                                          \
     .pack_dots = dots_pair_pack,                                                                            \
     .stream = stream_pair_all}
#define AVX512_TABLE(BF16, QUADS, ATTEND, PAIR, NARROW)                                                                         \
    {.f32 = FLAVOR_WIDENED(f32, 4, DIRECT_F32),                                                              \
     .quads = QUADS,                                                                                         \
     .bf16 = BF16,                                                                                           \
     .f16 = FLAVOR_WIDENED(f16, 2, {{NULL}}),                                                                \
     .f64 = FLAVOR_F64,                                                                                      \
     .attend = ATTEND,                                                                                       \
     .attend_backward_pair = PAIR,                                                                           \
     .narrow_rows = NARROW,                                                                                  \
     KERNELS_SHARED}

const eng_kernels eng_kernels_avx512 = AVX512_TABLE(FLAVOR_WIDENED(bf16, 2, {{NULL}}), {0}, attend_rows, NULL, narrow_rows);
const eng_kernels eng_kernels_avx512_bf16 = AVX512_TABLE(FLAVOR_PAIRS, FLAVOR_QUADS, attend_pair_rows, attend_backward_pair, narrow_pair_rows);
#endif
