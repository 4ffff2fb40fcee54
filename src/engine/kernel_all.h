/* kernel_all.h - template: every kernel of one instruction set. A kernels_*.c file sets SIMD and the target,
 * includes this, and then lists its functions with the FLAVOR_ and KERNELS_ macros. */
#include "engine/kernels.h"
#include "engine/simd.h"

#if SIMD == 512
#define TILE_EACH(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define TILE_LIST(P)                                                                                         \
    {NULL, P##1, P##2, P##3, P##4, P##5, P##6, P##7, P##8, P##9, P##10, P##11, P##12, P##13, P##14}
#define TILE_MR 14
#elif SIMD == 256
#define TILE_EACH(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define TILE_LIST(P) {NULL, P##1, P##2, P##3, P##4, P##5, P##6}
#define TILE_MR      6
#else
#define TILE_EACH(X) X(1) X(2) X(3) X(4)
#define TILE_LIST(P) {NULL, P##1, P##2, P##3, P##4}
#define TILE_MR      4
#endif

#define TILE(name)   f32_##name
#define TILE_T       float
#define TILE_V       vf
#define TILE_VL      SIMD_VL
#define TILE_LOAD    v_load
#define TILE_LOAD_N  v_load_n
#define TILE_STORE   v_store
#define TILE_STORE_N v_store_n
#define TILE_SET     v_set
#define TILE_FMA     v_fma
#include "engine/kernel_tile.h"

#define TILE(name)   f64_##name
#define TILE_T       double
#define TILE_V       vd
#define TILE_VL      SIMD_DL
#define TILE_LOAD    d_load
#define TILE_LOAD_N  d_load_n
#define TILE_STORE   d_store
#define TILE_STORE_N d_store_n
#define TILE_SET     d_set
#define TILE_FMA     d_fma
#include "engine/kernel_tile.h"

#include "engine/kernel_pack.h"

/* Words of a column that pass at a time, columns that share a block of A, rows of A from which B is asked for. */
enum { DOTS_BLOCK = 512, DOTS_GROUP = 24, DOTS_ASK = 4 };

#define DOTS(name)   dots_f32_##name
#define DOTS_KIND    WORD_F32
#define DOTS_FMA     v_fma
#include "engine/kernel_dots.h"
#define STREAM(name) stream_f32_##name
#define STREAM_KIND  WORD_F32
#define STREAM_FMA   v_fma
#include "engine/kernel_stream.h"

#define DOTS(name)   dots_bf16_##name
#define DOTS_KIND    WORD_BF16
#define DOTS_FMA     v_fma
#include "engine/kernel_dots.h"
#define STREAM(name) stream_bf16_##name
#define STREAM_KIND  WORD_BF16
#define STREAM_FMA   v_fma
#include "engine/kernel_stream.h"

#define DOTS(name)   dots_f16_##name
#define DOTS_KIND    WORD_F16
#define DOTS_FMA     v_fma
#include "engine/kernel_dots.h"
#define STREAM(name) stream_f16_##name
#define STREAM_KIND  WORD_F16
#define STREAM_FMA   v_fma
#include "engine/kernel_stream.h"

#include "engine/kernel_conv.h"
#include "engine/kernel_depth.h"
#include "engine/kernel_winograd.h"
#include "engine/kernel_tiles.h"
#include "engine/kernel_pool.h"
#include "engine/kernel_row.h"
#define ATTEND(name) attend_##name
#define ATTEND_STORE_BF16(p, v, n) v_put_n(TT_BF16, p, 0, v, n)
#include "engine/kernel_attend.h"

#if SIMD == 512
#define DOTS_ROWS    8
#define DOTS_LIST(P) {NULL, P##1, P##2, P##3, P##4, P##5, P##6, P##7, P##8}
#else
#define DOTS_ROWS    4
#define DOTS_LIST(P) {NULL, P##1, P##2, P##3, P##4}
#endif

/* A type multiplied as f32: tiles of f32 words, packing that widens. Direct tiles need f32 in memory. */
#define FLAVOR_WIDENED(NAME, BYTES, DIRECT)                                                                  \
    {.mr = TILE_MR,                                                                                          \
     .nr = 2 * SIMD_VL,                                                                                      \
     .per_word = 1,                                                                                          \
     .word_bytes = 4,                                                                                        \
     .element_bytes = BYTES,                                                                                 \
     .sum = TT_F32,                                                                                          \
     .tile = TILE_LIST(f32_packed_),                                                                         \
     .lanes = TILE_LIST(f32_lanes_),                                                                         \
     .lay = lay_##NAME,                                                                                      \
     .words = words_##NAME,                                                                                  \
     .unlay = unlay,                                                                                         \
     .direct = DIRECT,                                                                                       \
     .pack_cols = pack_cols_##NAME,                                                                          \
     .pack_rows = pack_rows_##NAME,                                                                          \
     .dot_rows = DOTS_ROWS,                                                                                  \
     .dots = DOTS_LIST(dots_##NAME##_),                                                                      \
     .pack_dots = dots_##NAME##_pack,                                                                        \
     .stream = stream_##NAME##_all}
#define FLAVOR_F64                                                                                           \
    {.mr = TILE_MR,                                                                                          \
     .nr = 2 * SIMD_DL,                                                                                      \
     .per_word = 1,                                                                                          \
     .word_bytes = 8,                                                                                        \
     .element_bytes = 8,                                                                                     \
     .sum = TT_F64,                                                                                          \
     .tile = TILE_LIST(f64_packed_),                                                                         \
     .lanes = TILE_LIST(f64_lanes_),                                                                         \
     .lay = lay_f64,                                                                                         \
     .words = words_f64,                                                                                     \
     .unlay = unlay_f64,                                                                                     \
     .direct = {TILE_LIST(f64_direct1_), TILE_LIST(f64_direct2_)},                                           \
     .pack_cols = pack_cols_f64,                                                                             \
     .pack_rows = pack_rows_f64}
#define DIRECT_F32 {TILE_LIST(f32_direct1_), TILE_LIST(f32_direct2_)}
#define KERNELS_SHARED                                                                                       \
    .gather_rows = gather_rows, .gather_taps = gather_taps, .interleave = interleave, .taps_rows = taps_rows, .window_rows = window_rows, .taps_dots = taps_dots, .transpose = transpose,      \
    .depth_row = depth_row, .depth_grad = depth_grad,                                                        \
    .tiles_copy = tiles_copy, .tiles_x = tiles_x, .tiles_w = tiles_w, .tiles_y = tiles_y,                    \
    .winograd_split = winograd_split, .winograd_x = winograd_x, .winograd_w = winograd_w, .winograd_y = winograd_y,  \
    .winograd_grad_x = winograd_grad_x, .winograd_grad_y = winograd_grad_y, .winograd_grad_w = winograd_grad_w,  \
    .widen = widen, .narrow = narrow, .softmax = softmax, .softmax_backward = softmax_backward,              \
    .log_softmax_at = log_softmax_at,                                                                        \
    .norm = norm, .norm_backward = norm_backward, .attend_backward = attend_backward,      \
    .scale_rows = scale_rows, .row_dots = row_dots, .query_keys = query_keys, .query_values = query_values, .add = add, .larger_rows = larger_rows, .weigh_rows = weigh_rows, .sum_short_rows = sum_short_rows, .pick_row = pick_row
