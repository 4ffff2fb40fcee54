/* kernel_winograd.h - template: Winograd's F(2x2, 3x3). A tile of 4x4 elements of x gives 2x2 of y by 16 products in place of 36:
 * y = A' (G w G' * B' x B) A, where B and A only add and subtract and G halves.
 *
 * Rows of x are taken apart into pieces of `step` elements (the dilation, a power of two), even pieces and odd ones: tile t then
 * finds its columns at even[t], odd[t], even[t + step], odd[t + step], and neighbouring tiles are neighbouring lanes. */

INLINE vi winograd_lanes(void) {
    static const int32_t count[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    vi v;
    memcpy(&v, count, sizeof v);
    return v;
}

/* Taking a row of n apart; writes whole vectors, zeros after the row. */
static bool winograd_split(const float *x, int64_t n, int64_t step, float *even, float *odd) {
    const vi lane = winograd_lanes(), inside = lane & ((int32_t)step - 1);
    const vi first = ((lane - inside) << 1) + inside, second = first + (int32_t)step;
    vi bad = {};
    for (int64_t i = 0; i < n; i += 2 * SIMD_VL, even += SIMD_VL, odd += SIMD_VL) {
        const bool whole = i + 2 * SIMD_VL <= n;
        const vf a = whole ? v_load(x + i) : v_load_n(x + i, n - i), b = whole ? v_load(x + i + SIMD_VL) : v_load_n(x + i + SIMD_VL, n - i - SIMD_VL);
        bad |= (((vi)a & 0x7fffffff) > ENG_WINOGRAD_MOST) | (((vi)b & 0x7fffffff) > ENG_WINOGRAD_MOST);
        v_store(even, __builtin_shuffle(a, b, first));
        v_store(odd, __builtin_shuffle(a, b, second));
    }
    return v_bits(bad) != 0;
}

INLINE void winograd_b(vf d[4]) {
    const vf d1 = d[1];
    d[0] -= d[2];
    d[1] += d[2];
    d[2] -= d1;
    d[3] = d1 - d[3];
}

static void winograd_x(const float *const rows[4], int64_t odd, int64_t step, int64_t n, float *to, int64_t ld) {
    for (int64_t i = 0; i < n; i += SIMD_VL) {
        vf d[4][4];
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
            const float *at = rows[r] + i;
            d[r][0] = v_load(at);
            d[r][1] = v_load(at + odd);
            d[r][2] = v_load(at + step);
            d[r][3] = v_load(at + odd + step);
            winograd_b(d[r]);
        }
        _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) {
            vf column[4] = {d[0][q], d[1][q], d[2][q], d[3][q]};
            winograd_b(column);
            _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) v_store_n(to + (4 * r + q) * ld + i, column[r], n - i);
        }
    }
}

INLINE void winograd_g(vf w[4]) {
    const vf half = v_set(0.5f), ends = (w[0] + w[2]) * half, middle = w[1] * half;
    w[3] = w[2];
    w[2] = ends - middle;
    w[1] = ends + middle;
}

/* `w`: words of m rows, those of k and of taps so far apart; one vector holds the rows of a tile. Returns those that split would report. */
static uint32_t winograd_w(const float *w, int64_t k_words, int64_t tap_words, int64_t k, int64_t m, float *to, int64_t ld) {
    vi bad = {};
    for (int64_t i = 0; i < k; i++, w += k_words, to += m) {
        vf g[4][4];
        _Pragma("GCC unroll 3") for (int r = 0; r < 3; r++) {
            _Pragma("GCC unroll 3") for (int q = 0; q < 3; q++) {
                g[r][q] = v_load_n(w + (3 * r + q) * tap_words, m);
                bad |= ((vi)g[r][q] & 0x7fffffff) > ENG_WINOGRAD_MOST;
            }
            winograd_g(g[r]);
        }
        _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) {
            vf column[4] = {g[0][q], g[1][q], g[2][q]};
            winograd_g(column);
            _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) v_store_n(to + (4 * r + q) * ld, column[r], m);
        }
    }
    return v_bits(bad);
}

INLINE void winograd_a(const vf m[4], vf out[2]) {
    out[0] = m[0] + m[1] + m[2];
    out[1] = m[1] - m[2] - m[3];
}

/* Both rows of y of a tile's lanes, pieces even and odd in turn. */
INLINE void winograd_put(const vf out[2], vi low, vi high, float *y, int64_t left) {
    if (left >= 2 * SIMD_VL) {
        v_store(y, __builtin_shuffle(out[0], out[1], low));
        v_store(y + SIMD_VL, __builtin_shuffle(out[0], out[1], high));
        return;
    }
    v_store_n(y, __builtin_shuffle(out[0], out[1], low), left);
    if (left > SIMD_VL)
        v_store_n(y + SIMD_VL, __builtin_shuffle(out[0], out[1], high), left - SIMD_VL);
}

static void winograd_y(const eng_winograd_rows *w, const float *sums, int64_t m, float *y) {
    const int32_t s = (int32_t)w->step;
    const vi lane = winograd_lanes(), inside = lane & (s - 1); /* lane i of a row is of piece i / step */
    const vi low = ((lane & ~(2 * s - 1)) >> 1) + inside + (((lane & s) != 0) & SIMD_VL), high = low + SIMD_VL / 2;
    for (int64_t r = 0; r < m; r++, sums += w->sums_row, y += w->y_out)
        for (int64_t i = 0; 2 * i < w->count; i += SIMD_VL) {
            vf half[2][4], out[2][2];
            _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) {
                vf product[4], pair[2];
                _Pragma("GCC unroll 4") for (int p = 0; p < 4; p++) product[p] = v_load(sums + (4 * p + q) * w->ld + i);
                winograd_a(product, pair);
                half[0][q] = pair[0];
                half[1][q] = pair[1];
            }
            winograd_a(half[0], out[0]);
            winograd_put(out[0], low, high, y + 2 * i, w->count - 2 * i);
            if (!w->second)
                continue;
            winograd_a(half[1], out[1]);
            winograd_put(out[1], low, high, y + w->second + 2 * i, w->count - 2 * i);
        }
}

/* ---- gradients of weights: lanes are channels ---- */
/* Adds and subtracts four vectors: what a column of x becomes before it is multiplied. */
INLINE void winograd_column(const float *x, int64_t row, vf out[4]) {
    _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) out[r] = v_load(x + r * row);
    winograd_b(out);
}

static void winograd_grad_x(const float *x, int64_t row, int64_t column, int64_t n, float *to, int64_t next, int64_t ld) {
    vf d[4][4]; /* by column: a tile's last two are the next one's first */
    winograd_column(x, row, d[0]);
    winograd_column(x + column, row, d[1]);
    for (int64_t t = 0; t < n; t++, to += next) {
        x += 2 * column;
        winograd_column(x, row, d[2]);
        winograd_column(x + column, row, d[3]);
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
            vf line[4] = {d[0][r], d[1][r], d[2][r], d[3][r]};
            winograd_b(line);
            _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) v_store(to + (4 * r + q) * ld, line[q]);
            d[0][r] = d[2][r];
            d[1][r] = d[3][r];
        }
    }
}

INLINE void winograd_ends(vf a, vf b, vf out[4]) {
    out[0] = a;
    out[1] = a + b;
    out[2] = a - b;
    out[3] = -b;
}

static void winograd_grad_y(const float *y, int64_t row, int64_t column, int64_t n, int64_t m, float *to, int64_t ld) {
    for (int64_t t = 0; t < n; t++, y += 2 * column, to += m) {
        vf left[4], right[4];
        winograd_ends(v_load(y), v_load(y + row), left);
        winograd_ends(v_load(y + column), v_load(y + column + row), right);
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
            vf line[4];
            winograd_ends(left[r], right[r], line);
            _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) v_store_n(to + (4 * r + q) * ld, line[q], m);
        }
    }
}

INLINE void winograd_three(const vf m[4], vf out[3]) {
    const vf half = v_set(0.5f), sum = (m[1] + m[2]) * half;
    out[0] = m[0] + sum;
    out[1] = (m[1] - m[2]) * half;
    out[2] = sum + m[3];
}

static bool winograd_grad_w(const float *sums, int64_t ld, int64_t spans, int64_t span, int64_t n, float *to, int64_t to_ld) {
    vi bad = {};
    for (int64_t i = 0; i < n; i += SIMD_VL) {
        vf half[3][4], out[4][3];
        _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) {
            vf m[4], three[3];
            _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
                m[r] = v_load_n(sums + (4 * r + q) * ld + i, n - i);
                for (int64_t s = 1; s < spans; s++)
                    m[r] += v_load_n(sums + s * span + (4 * r + q) * ld + i, n - i);
                bad |= ((vi)m[r] & 0x7fffffff) > ENG_WINOGRAD_MOST;
            }
            winograd_three(m, three);
            _Pragma("GCC unroll 3") for (int r = 0; r < 3; r++) half[r][q] = three[r];
        }
        _Pragma("GCC unroll 3") for (int r = 0; r < 3; r++) {
            winograd_three(half[r], out[r]);
            _Pragma("GCC unroll 3") for (int q = 0; q < 3; q++) v_store_n(to + (3 * r + q) * to_ld + i, out[r][q], n - i);
        }
    }
    return v_bits(bad) != 0;
}
