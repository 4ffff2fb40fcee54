/* kernel_tiles.h - template: convolutions of 3x3 windows by fewer products where channels lie innermost; a vector of channels as lanes, so
 * that nothing is turned. A dimension is one of three kinds, a plane is two of the same:
 *   near:   two outputs of step 1 from four elements, by four products in place of six (Winograd's F(2, 3));
 *   apart:  two outputs of step 2 from five elements, by five: F(2, 2) of the even ones, and the odd ones as they are;
 *   spread: four outputs of two phases (the gradient of step 2) from three elements, by five: F(2, 2) of the phase of two taps, and two of
 *           the phase of one, which starts `shift` elements later. */

INLINE void tiles_b(const eng_tiles_kind kind, int64_t shift, const vf in[5], vf out[5]) {
    if (kind == ENG_TILES_NEAR) {
        out[0] = in[0] - in[2];
        out[1] = in[1] + in[2];
        out[2] = in[2] - in[1];
        out[3] = in[1] - in[3];
    } else if (kind == ENG_TILES_APART) {
        out[0] = in[0] - in[2];
        out[1] = in[2];
        out[2] = in[4] - in[2];
        out[3] = in[1];
        out[4] = in[3];
    } else {
        out[0] = in[0] - in[1];
        out[1] = in[1];
        out[2] = in[2] - in[1];
        out[3] = shift ? in[1] : in[0];
        out[4] = shift ? in[2] : in[1];
    }
}

INLINE void tiles_a(const eng_tiles_kind kind, const vf m[5], vf out[4]) {
    if (kind == ENG_TILES_NEAR) {
        out[0] = m[0] + m[1] + m[2];
        out[1] = m[1] - m[2] - m[3];
    } else if (kind == ENG_TILES_APART) {
        out[0] = m[0] + m[1] + m[3];
        out[1] = m[1] + m[2] + m[4];
    } else {
        out[0] = m[0] + m[1];
        out[1] = m[1] + m[2];
        out[2] = m[3];
        out[3] = m[4];
    }
}

/* Taps of a dimension, of the kinds with steps those of F(2, 2) before the other, become four. */
INLINE void tiles_g(const eng_tiles_kind kind, vf w[4]) {
    if (kind == ENG_TILES_NEAR) {
        winograd_g(w);
        return;
    }
    w[3] = w[2];
    w[2] = w[1];
    w[1] = w[0] + w[2];
}

/* Copies n floats; true: one is no number or beyond ENG_WINOGRAD_MOST. */
static bool tiles_copy(const float *x, int64_t n, float *to) {
    vi bad = {};
    EACH_VECTOR(n, {
        const vf v = v_load_n(x + i, left);
        bad |= ((vi)v & 0x7fffffff) > ENG_WINOGRAD_MOST;
        v_store_n(to + i, v, left);
    });
    return v_bits(bad) != 0;
}

INLINE void tiles_x_of(const eng_tiles_kind kind, const eng_tiles *t, const float *x, int64_t n, float *to) {
    const int in = kind == ENG_TILES_NEAR ? 4 : kind == ENG_TILES_APART ? 5 : 3, products = kind == ENG_TILES_NEAR ? 4 : 5;
    for (int64_t i = 0; i < n; i++, x += t->next, to += t->tile)
        for (int64_t c = 0; c < t->channels; c += SIMD_VL) {
            vf columns[5][5];
            const int64_t left = t->channels - c;
            _Pragma("GCC unroll 5") for (int j = 0; j < in; j++) {
                vf line[5];
                _Pragma("GCC unroll 5") for (int r = 0; r < in; r++) line[r] = v_load(x + r * t->row + j * t->column + c);
                tiles_b(kind, t->shift_y, line, columns[j]);
            }
            _Pragma("GCC unroll 5") for (int r = 0; r < products; r++) {
                vf line[5], out[5];
                _Pragma("GCC unroll 5") for (int j = 0; j < in; j++) line[j] = columns[j][r];
                tiles_b(kind, t->shift, line, out);
                _Pragma("GCC unroll 5") for (int q = 0; q < products; q++) {
                    if (left >= SIMD_VL)
                        v_store(to + (r * products + q) * t->product + c, out[q]);
                    else
                        v_store_n(to + (r * products + q) * t->product + c, out[q], left);
                }
            }
        }
}

static void tiles_x(const eng_tiles *t, const float *x, int64_t n, float *to) {
    if (t->kind == ENG_TILES_NEAR)
        tiles_x_of(ENG_TILES_NEAR, t, x, n, to);
    else if (t->kind == ENG_TILES_APART)
        tiles_x_of(ENG_TILES_APART, t, x, n, to);
    else
        tiles_x_of(ENG_TILES_SPREAD, t, x, n, to);
}

/* `width` rows of w side by side, k steps k_step apart, to sixteen places of vectors, each row floats after the one before; a bit for each
 * lane that copy would report. */
INLINE uint32_t tiles_w_of(const eng_tiles_kind kind, const float *w, const int64_t at[9], int64_t k_step, int64_t k, int64_t width, float *to,
                           int64_t row, int64_t place) {
    vi bad = {};
    for (int64_t i = 0; i < k; i++, w += k_step, to += row) {
        vf g[4][4];
        _Pragma("GCC unroll 3") for (int r = 0; r < 3; r++) {
            _Pragma("GCC unroll 3") for (int q = 0; q < 3; q++) {
                g[r][q] = v_load_n(w + at[3 * r + q], width);
                bad |= ((vi)g[r][q] & 0x7fffffff) > ENG_WINOGRAD_MOST;
            }
            tiles_g(kind, g[r]);
        }
        _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) {
            vf column[4] = {g[0][q], g[1][q], g[2][q]};
            tiles_g(kind, column);
            _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) v_store(to + (4 * r + q) * place, column[r]);
        }
    }
    return v_bits(bad);
}

static uint32_t tiles_w(eng_tiles_kind kind, const float *w, const int64_t at[9], int64_t k_step, int64_t k, int64_t width, float *to,
                        int64_t row, int64_t place) {
    if (kind == ENG_TILES_NEAR)
        return tiles_w_of(ENG_TILES_NEAR, w, at, k_step, k, width, to, row, place);
    return tiles_w_of(ENG_TILES_APART, w, at, k_step, k, width, to, row, place);
}

INLINE void tiles_y_of(const eng_tiles_kind kind, const eng_tiles_out *o, const float *sums, int64_t n, float *y) {
    const int outs = kind == ENG_TILES_SPREAD ? 4 : 2, products = kind == ENG_TILES_NEAR ? 4 : 5;
    for (int64_t i = 0; i < n; i++, sums += o->tile, y += o->next)
        for (int64_t c = 0; c < o->lanes; c += SIMD_VL) {
            vf half[4][5];
            const int64_t left = o->lanes - c;
            _Pragma("GCC unroll 5") for (int q = 0; q < products; q++) {
                vf column[5], out[4];
                _Pragma("GCC unroll 5") for (int r = 0; r < products; r++) column[r] = v_load(sums + (r * products + q) * o->product + c);
                tiles_a(kind, column, out);
                _Pragma("GCC unroll 4") for (int r = 0; r < outs; r++) half[r][q] = out[r];
            }
            _Pragma("GCC unroll 4") for (int r = 0; r < outs; r++) {
                vf out[4];
                tiles_a(kind, half[r], out);
                if (o->row[r] < 0)
                    continue;
                _Pragma("GCC unroll 4") for (int q = 0; q < outs; q++) {
                    float *to = y + o->row[r] + o->column[q] + c;
                    if (i >= o->inside[q])
                        continue;
                    if (left >= SIMD_VL)
                        v_store(to, out[q]);
                    else
                        v_store_n(to, out[q], left);
                }
            }
        }
}

static void tiles_y(eng_tiles_kind kind, const eng_tiles_out *o, const float *sums, int64_t n, float *y) {
    if (kind == ENG_TILES_NEAR)
        tiles_y_of(ENG_TILES_NEAR, o, sums, n, y);
    else if (kind == ENG_TILES_APART)
        tiles_y_of(ENG_TILES_APART, o, sums, n, y);
    else
        tiles_y_of(ENG_TILES_SPREAD, o, sums, n, y);
}
