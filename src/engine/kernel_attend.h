/* kernel_attend.h - template: a tile of attention's scores becomes its weights, in place.
 *
 * Included with ATTEND(name) and ATTEND_STORE_BF16(p, vector, n) for each way to round weights to bf16. All rows' highest scores
 * come first, then all powers: a row does not wait for its own highest, and lanes of all rows are joined at once. Most scores are so
 * small that powers need no highest: a bold try leaves it out, and finds by the sums whether it may. */

INLINE vf ATTEND(highest)(const tt_dtype mask_type, const bool plain, float *scores, int64_t n, float scale, const void *mask) {
    vf best[4];
    int64_t i = 0;
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) best[j] = v_set(-INFINITY);
    for (; plain && i + 4 * SIMD_VL <= n; i += 4 * SIMD_VL)
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) best[j] = v_max(best[j], v_load(scores + i + j * SIMD_VL));
    for (; i < n; i += SIMD_VL) {
        vf s = v_load(scores + i);
        if (!plain) {
            s = masked(mask_type, mask, i, n - i, s * v_set(scale));
            v_store(scores + i, s);
        }
        best[0] = v_max(best[0], v_first_n(s, n - i, v_set(-INFINITY)));
    }
    return v_max(v_max(best[0], best[1]), v_max(best[2], best[3]));
}

INLINE vf ATTEND(powers)(const bool to_bf16, float *scores, int64_t n, int64_t width, vf factor, vf shift) {
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
        const vf e = i < n ? v_first_n(v_exp2_below(v_fma(v_load(scores + i), factor, shift)), n - i, v_zero()) : v_zero();
        sum += e;
        if (to_bf16)
            ATTEND_STORE_BF16(rounded + i, e, SIMD_VL);
        else
            v_store(scores + i, e);
    }
    return sum;
}

/* Powers of every row and their sums, a lane each. */
INLINE vf ATTEND(all)(const bool to_bf16, const eng_scores *t, float *scores, const int64_t *sees, float factor, const float *shift) {
    vf row[SIMD_VL];
    for (int64_t r = 0; r < SIMD_VL; r++)
        row[r] = r < t->rows ? ATTEND(powers)(to_bf16, scores + r * t->ld, sees[r], to_bf16 ? (t->keys + 1) / 2 * 2 : t->keys,
                                              v_set(factor), v_set(shift[r]))
                             : v_zero();
    return v_sums(row);
}

/* Scores become what they are above their row's highest: for those so large that their products with log2(e) round by more than powers
 * can be, as where all keys of a row are masked by the smallest number. */
static void ATTEND(lower)(const eng_scores *t, float *scores, const int64_t *sees, float scale, const float *top) {
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t i = 0; i < sees[r]; i += SIMD_VL)
            v_store(scores + r * t->ld + i, v_load(scores + r * t->ld + i) * v_set(scale) - v_set(top[r])); /* no multiply-add: top was rounded */
}

INLINE eng_attend_result ATTEND(typed)(const tt_dtype mask_type, const eng_scores *t, float *scores, eng_attended *seen) {
    const float log2e = 1.44269504f;
    const bool plain = !t->mask && t->scale > 0; /* the highest score is the highest product: scores need no pass to be scaled */
    float factor = plain ? t->scale * log2e : log2e;
    int64_t sees[SIMD_VL];
    float shift[SIMD_VL];
    for (int64_t r = 0; r < t->rows; r++) {
        const int64_t sees_r = t->first + r * t->more;
        sees[r] = sees_r < 0 ? 0 : sees_r > t->keys ? t->keys : sees_r;
    }
    const vf old = v_load(seen->total), before = v_select(old == v_zero(), v_set(-INFINITY), v_load(seen->top));
    vf top = v_load(seen->top), shrink = v_set(1);
    if (!t->bold) {
        vf row[SIMD_VL];
        for (int64_t r = 0; r < SIMD_VL; r++)
            row[r] = r < t->rows ? ATTEND(highest)(mask_type, plain, scores + r * t->ld, sees[r], t->scale,
                                                   t->mask ? t->mask + r * t->mask_row : NULL)
                                 : v_zero();
        top = v_max(before, v_tops(row) * v_set(plain ? t->scale : 1));
        shrink = v_select((top == before) | (old == v_zero()), v_set(1), v_exp(before - top));
    }
    const vf level = v_select(top == v_set(-INFINITY), v_zero(), top);
    v_store(shift, level * v_set(-log2e));
    if (v_bits(v_max(level, -level) > v_set(0x1p20f))) {
        v_store(shift, level);
        ATTEND(lower)(t, scores, sees, plain ? t->scale : 1, shift);
        v_store(shift, v_zero());
        factor = log2e;
    }
    const vf sum = t->to_bf16 ? ATTEND(all)(true, t, scores, sees, factor, shift) : ATTEND(all)(false, t, scores, sees, factor, shift);
    const vf total = v_fma(old, shrink, sum);
    const uint32_t rows = (1u << t->rows) - 1;
    if (t->bold && (v_bits((total > v_set(0x1p-20f)) & (total < v_set(0x1p30f))) & rows) != rows)
        return ENG_ATTEND_AGAIN;
    v_store(seen->top, top);
    v_store(seen->total, total);
    v_store(seen->shrink, shrink);
    v_store(seen->inverse, v_select(total == v_zero(), v_zero(), v_set(1) / total));
    return v_bits(shrink != v_set(1)) & rows ? ENG_ATTEND_SHRINKS : ENG_ATTEND_DONE;
}

static eng_attend_result ATTEND(rows)(const eng_scores *t, float *scores, eng_attended *seen) {
#define CALL(T) return ATTEND(typed)(T, t, scores, seen)
    if (!t->mask)
        CALL(TT_F32);
    else
        BY_MASK_TYPE(t->mask_type, CALL);
#undef CALL
}
#undef ATTEND
#undef ATTEND_STORE_BF16
