/* kernel_attend.h - template: a tile of attention's scores becomes its weights, in place.
 *
 * Included with ATTEND(name) and ATTEND_STORE_BF16(p, vector, n) for each way to round weights to bf16. All rows' highest scores
 * come first, then all powers: a row does not wait for its own highest. */

INLINE float ATTEND(highest)(const tt_dtype mask_type, const bool plain, float *scores, int64_t n, float scale, const void *mask) {
    vf best[4];
    int64_t i = 0;
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) best[j] = v_set(-INFINITY);
    for (; plain && i + 4 * SIMD_VL <= n; i += 4 * SIMD_VL)
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) best[j] = v_max(best[j], v_load(scores + i + j * SIMD_VL));
    for (; i < n; i += SIMD_VL) {
        vf s = v_load_n(scores + i, n - i);
        if (!plain) {
            s = masked(mask_type, mask, i, n - i, s * v_set(scale));
            v_store_n(scores + i, s, n - i);
        }
        best[0] = v_max(best[0], v_first_n(s, n - i, v_set(-INFINITY)));
    }
    return v_top(v_max(v_max(best[0], best[1]), v_max(best[2], best[3])));
}

INLINE float ATTEND(powers)(const bool to_bf16, float *scores, int64_t n, int64_t width, float factor_, float shift_) {
    const vf shift = v_set(shift_), factor = v_set(factor_);
    uint16_t *const rounded = (uint16_t *)(void *)scores;
    vf sum = v_zero();
    int64_t i = 0;
    for (; i + SIMD_VL <= n; i += SIMD_VL) {
        const vf e = v_exp2_below(v_fma(v_load(scores + i), factor, shift));
        sum += e;
        if (to_bf16)
            ATTEND_STORE_BF16(rounded + i, e, SIMD_VL);
        else
            v_store(scores + i, e);
    }
    for (; i < width; i += SIMD_VL) {
        vf e = v_zero();
        if (i < n)
            e = v_first_n(v_exp2_below(v_fma(v_load_n(scores + i, n - i), factor, shift)), n - i, v_zero());
        sum += e;
        if (to_bf16)
            ATTEND_STORE_BF16(rounded + i, e, width - i);
        else
            v_store_n(scores + i, e, width - i);
    }
    return v_sum(sum);
}

INLINE void ATTEND(typed)(const tt_dtype mask_type, const eng_scores *t, float *scores, float *top, float *sums) {
    const float log2e = 1.44269504f;
    const bool plain = !t->mask && t->scale > 0; /* the highest score is the highest product: scores need no pass to be scaled */
    const float factor = plain ? t->scale * log2e : log2e;
    const int64_t width = t->to_bf16 ? (t->keys + 1) / 2 * 2 : t->keys;
    int64_t sees[ENG_MAX_MR];
    for (int64_t r = 0; r < t->rows; r++) {
        const int64_t sees_r = t->first + r * t->more;
        sees[r] = sees_r < 0 ? 0 : sees_r > t->keys ? t->keys : sees_r;
        const float best = ATTEND(highest)(mask_type, plain, scores + r * t->ld, sees[r], t->scale,
                                           t->mask ? t->mask + r * t->mask_row : NULL) * (plain ? t->scale : 1);
        if (best > top[r] || best != best)
            top[r] = best;
    }
    for (int64_t r = 0; r < t->rows; r++) {
        const float shift = top[r] == -INFINITY ? 0.f : -top[r] * log2e;
        sums[r] = t->to_bf16 ? ATTEND(powers)(true, scores + r * t->ld, sees[r], width, factor, shift)
                             : ATTEND(powers)(false, scores + r * t->ld, sees[r], width, factor, shift);
    }
}

static void ATTEND(rows)(const eng_scores *t, float *scores, float *top, float *sums) {
#define CALL(T) ATTEND(typed)(T, t, scores, top, sums)
    if (!t->mask)
        CALL(TT_F32);
    else
        BY_MASK_TYPE(t->mask_type, CALL);
#undef CALL
}
#undef ATTEND
#undef ATTEND_STORE_BF16
