/* fast_loss.c - the loss of rows of log-probabilities by their targets. Part of composite.c; knows no graph.
 * It reads an element a row, so it is not shared out: the sum is one, in double, in order. */
#include "engine/composite.h"

tt_status eng_nll_loss(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const tt_dtype dtype = in[0].type.dtype;
    const int64_t n = in[0].type.dims[0], classes = in[0].type.dims[1], size = tt_dtype_size(dtype), *target = in[1].data;
    const int64_t ignored = (int64_t)eng_composite_attr_double(attributes, "ignored", -100);
    const bool checked = eng_composite_attr_bool(attributes, "checked", false);
    double sum = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (target[i] == ignored)
            continue;
        TT_CHECK(!checked || (uint64_t)target[i] < (uint64_t)classes, OUT_OF_RANGE,
                 "stablehlo.gather of nll_loss: index %lld is out of bounds for dimension 0 with size %lld", (long long)target[i], (long long)classes);
        const int64_t class = eng_max(0, eng_min(target[i], classes - 1)); /* a gather clamps */
        sum -= tt_element_get(dtype, (const char *)in[0].data + (i * classes + class) * size);
        total++;
    }
    const float loss = (float)sum;
    tt_element_set(dtype, out[0].data, eng_composite_attr_bool(attributes, "mean", false) ? loss / (float)total : loss);
    tt_element_set(dtype, out[1].data, (float)total);
    return TT_OK;
}
