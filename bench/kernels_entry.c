/* kernels_entry.c - calls one engine kernel on plain arrays, for bench/kernels.py. Not part of the package. */
#include "engine/engine.h"
#include <string.h>

tt_status eng_fast_convolution(eng_run *, const hlo_graph *, const hlo_node *, const eng_tensor *, eng_tensor *);

static char not_mine;
tt_error *const eng_not_mine = (tt_error *)&not_mine; /* elsewhere in the engine */

static tt_arena *arena;

static eng_run begin(void) {
    if (!arena)
        arena = tt_arena_create();
    tt_arena_reset(arena);
    return (eng_run){.arena = arena};
}

/* 2-d; dims: {batch, feature, y, x} of x, {in, out, y, x} of w, {batch, feature, y, x} of y; padding low high low high. */
int bench_conv(const eng_tensor *x, const eng_tensor *w, eng_tensor *y, const int64_t *dims_x, const int64_t *dims_w,
               const int64_t *dims_y, const int64_t *padding, int64_t stride, int64_t base, int64_t dilation,
               int64_t reversed, int64_t groups, int64_t batch_groups) {
    eng_run run = begin();
    const int64_t strides[2] = {stride, stride}, bases[2] = {base, base}, dilations[2] = {dilation, dilation};
    const int64_t reversals[2] = {reversed, reversed};
    const hlo_dims numbers = {.kind = HLO_DIMS_CONV, .a = {4, dims_x}, .b = {4, dims_w}, .c = {4, dims_y}};
    const hlo_attr attrs[] = {{.name = HLO_A_DIMENSION_NUMBERS, .kind = HLO_K_DIMS, .dims = &numbers},
                              {.name = HLO_A_WINDOW_STRIDES, .kind = HLO_K_INTS, .n = 2, .ints = strides},
                              {.name = HLO_A_PADDING, .kind = HLO_K_INTS2D, .n = 4, .rows = 2, .ints = padding},
                              {.name = HLO_A_LHS_DILATION, .kind = HLO_K_INTS, .n = 2, .ints = bases},
                              {.name = HLO_A_RHS_DILATION, .kind = HLO_K_INTS, .n = 2, .ints = dilations},
                              {.name = HLO_A_WINDOW_REVERSAL, .kind = HLO_K_INTS, .n = 2, .ints = reversals},
                              {.name = HLO_A_FEATURE_GROUP_COUNT, .kind = HLO_K_INT, .n = 1, .one = groups},
                              {.name = HLO_A_BATCH_GROUP_COUNT, .kind = HLO_K_INT, .n = 1, .one = batch_groups}};
    const hlo_node node = {.op = HLO_CONVOLUTION, .n_results = 1, .n_attrs = 8, .n_operands = 2, .attrs = attrs};
    const eng_tensor in[2] = {*x, *w};
    return eng_fast_convolution(&run, NULL, &node, in, y) != TT_OK;
}

int bench_composite(const char *name, const char *attributes, int n_in, const eng_tensor *in, int n_out, eng_tensor *out) {
    eng_run run = begin();
    const hlo_attr attrs[2] = {{.name = HLO_A_COMPOSITE_NAME, .kind = HLO_K_STRING, .text = name},
                               {.name = HLO_A_COMPOSITE_ATTRIBUTES, .kind = HLO_K_RAW, .text = attributes}};
    const hlo_node node = {.op = HLO_COMPOSITE, .n_results = (uint16_t)n_out, .n_attrs = 2, .attrs = attrs,
                           .n_operands = (uint32_t)n_in};
    return eng_composite_run(&run, NULL, &node, in, out) != TT_OK;
}
