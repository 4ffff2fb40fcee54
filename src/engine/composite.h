/* composite.h - the kernels behind stablehlo.composite ops of our lowerings, one function a name. */
#ifndef ENG_COMPOSITE_H
#define ENG_COMPOSITE_H
#include "engine/fast_gemm.h"

double eng_composite_attr_double(const char *attributes, const char *name, double fallback);
bool eng_composite_attr_bool(const char *attributes, const char *name, bool fallback);

/* eng_composite_fn; operands and results as composite.c lists and checks them. */
tt_status eng_softmax(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_softmax_backward(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_layer_norm(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_layer_norm_backward(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_rms_norm(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_sdpa(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_sdpa_backward(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_integer_product(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_resample(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_pick(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_running_extreme(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_search(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_adaptive_max_pool(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_max_pool(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_max_pool_backward(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_embedding_bag(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_nll_loss(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_cross_entropy(const char *attributes, const eng_tensor *in, eng_tensor *out);
tt_status eng_sum_rows(const char *attributes, const eng_tensor *in, eng_tensor *out);
/* The same. *rows: what was known of the table before, and is now; NULL: nothing. */
tt_status eng_sum_rows_noted(const eng_tensor *in, eng_tensor *out, struct eng_rows **rows);
#endif
