/* kernel_attend.h - template: a row of a block of attention's scores becomes its weights.
 *
 * Included with ATTEND(name) and ATTEND_STORE_BF16(p, vector, n) for each way to round weights to bf16. */

INLINE float ATTEND(typed)(const tt_dtype mask_type, const bool to_bf16, float *scores, int64_t n, int64_t width,
                           float scale, const void *mask, float *top, void *out) {
    const float log2e = 1.44269504f;
    const bool plain = !mask && scale > 0; /* the highest score is the highest product: scores need no pass to be scaled */
    vf best = v_set(-INFINITY);
    if (plain)
        EACH_VECTOR(n, best = v_max(best, v_first_n(v_load_n(scores + i, left), left, v_set(-INFINITY))););
    else
        EACH_VECTOR(n, const vf s = masked(mask_type, mask, i, left, v_load_n(scores + i, left) * v_set(scale));
                    v_store_n(scores + i, s, left); best = v_max(best, v_first_n(s, left, v_set(-INFINITY))););
    const float seen = v_top(best) * (plain ? scale : 1);
    if (seen > *top || seen != seen)
        *top = seen;
    const vf shift = v_set(*top == -INFINITY ? 0.f : -*top * log2e), factor = v_set(plain ? scale * log2e : log2e);
    vf sum = v_zero();
    int64_t i = 0;
    for (; i + SIMD_VL <= n; i += SIMD_VL) {
        const vf e = v_exp2_below(v_fma(v_load(scores + i), factor, shift));
        sum += e;
        if (to_bf16)
            ATTEND_STORE_BF16((uint16_t *)out + i, e, SIMD_VL);
        else
            v_store((float *)out + i, e);
    }
    for (; i < width; i += SIMD_VL) {
        vf e = v_zero();
        if (i < n)
            e = v_first_n(v_exp2_below(v_fma(v_load_n(scores + i, n - i), factor, shift)), n - i, v_zero());
        sum += e;
        if (to_bf16)
            ATTEND_STORE_BF16((uint16_t *)out + i, e, width - i);
        else
            v_store_n((float *)out + i, e, width - i);
    }
    return v_sum(sum);
}

static float ATTEND(row)(float *scores, int64_t n, int64_t width, float scale, tt_dtype mask_type, const void *mask,
                         float *top, bool to_bf16, void *out) {
#define CALL(T)                                                                                              \
    return to_bf16 ? ATTEND(typed)(T, true, scores, n, width, scale, mask, top, out)                         \
                   : ATTEND(typed)(T, false, scores, n, width, scale, mask, top, out)
    BY_MASK_TYPE(mask_type, CALL);
#undef CALL
}
#undef ATTEND
#undef ATTEND_STORE_BF16
