/* fft_lines.h - template: complex Fourier transforms of REAL, forward; included by fast_fft.c for float and double.
 *
 * All work is on rows of LANES numbers (a vector V), real and imaginary parts apart: a transform along the rows' order, of all lanes side
 * by side (Stockham's, in passes of small factors). A line of n = n1 n2 elements is n1 rows of n2 lanes: transformed along n1, turned by
 * roots, transposed, transformed along n2. An inverse is the same with real and imaginary parts exchanged coming and going. */

typedef REAL NAME(vec) __attribute__((vector_size(64), may_alias));
#define V     NAME(vec)
#define LANES ((int64_t)(64 / sizeof(REAL)))

/* y = FFT of R numbers, for odd R by pairs k and R - k; c, s: cos and sin of 2 pi k / R */
static inline __attribute__((always_inline)) void NAME(odd)(int64_t r, const REAL *c, const REAL *s, const V *ar, const V *ai, V *br, V *bi) {
    V pr[MOST_FACTOR / 2 + 1], pi[MOST_FACTOR / 2 + 1], mr[MOST_FACTOR / 2 + 1], mi[MOST_FACTOR / 2 + 1];
    br[0] = ar[0];
    bi[0] = ai[0];
    for (int64_t k = 1; k <= r / 2; k++) {
        pr[k] = ar[k] + ar[r - k];
        pi[k] = ai[k] + ai[r - k];
        mr[k] = ar[k] - ar[r - k];
        mi[k] = ai[k] - ai[r - k];
        br[0] += pr[k];
        bi[0] += pi[k];
    }
    for (int64_t j = 1; j <= r / 2; j++) {
        V evenr = ar[0], eveni = ai[0], oddr = {0}, oddi = {0};
        for (int64_t k = 1, at = j; k <= r / 2; k++, at += j, at -= at >= r ? r : 0) {
            evenr += pr[k] * c[at];
            eveni += pi[k] * c[at];
            oddr += mi[k] * s[at];
            oddi += mr[k] * s[at];
        }
        br[j] = evenr + oddr;
        bi[j] = eveni - oddi;
        br[r - j] = evenr - oddr;
        bi[r - j] = eveni + oddi;
    }
}

static inline __attribute__((always_inline)) void NAME(four)(const V *ar, const V *ai, V *br, V *bi) {
    const V s02r = ar[0] + ar[2], s02i = ai[0] + ai[2], d02r = ar[0] - ar[2], d02i = ai[0] - ai[2];
    const V s13r = ar[1] + ar[3], s13i = ai[1] + ai[3], d13r = ar[1] - ar[3], d13i = ai[1] - ai[3];
    br[0] = s02r + s13r, bi[0] = s02i + s13i;
    br[1] = d02r + d13i, bi[1] = d02i - d13r;
    br[2] = s02r - s13r, bi[2] = s02i - s13i;
    br[3] = d02r - d13i, bi[3] = d02i + d13r;
}

static inline __attribute__((always_inline)) void NAME(eight)(const V *ar, const V *ai, V *br, V *bi) {
    const REAL h = (REAL)0.70710678118654752440;
    V er[4], ei[4], orr[4], oi[4], xr[4], xi[4];
    for (int k = 0; k < 4; k++)
        er[k] = ar[2 * k], ei[k] = ai[2 * k], orr[k] = ar[2 * k + 1], oi[k] = ai[2 * k + 1];
    NAME(four)(er, ei, xr, xi);
    NAME(four)(orr, oi, er, ei); /* odd ones, to be turned by eighths */
    const V t1r = (er[1] + ei[1]) * h, t1i = (ei[1] - er[1]) * h, t3r = (ei[3] - er[3]) * h, t3i = -(er[3] + ei[3]) * h;
    br[0] = xr[0] + er[0], bi[0] = xi[0] + ei[0], br[4] = xr[0] - er[0], bi[4] = xi[0] - ei[0];
    br[1] = xr[1] + t1r, bi[1] = xi[1] + t1i, br[5] = xr[1] - t1r, bi[5] = xi[1] - t1i;
    br[2] = xr[2] + ei[2], bi[2] = xi[2] - er[2], br[6] = xr[2] - ei[2], bi[6] = xi[2] + er[2];
    br[3] = xr[3] + t3r, bi[3] = xi[3] + t3i, br[7] = xr[3] - t3r, bi[7] = xi[3] - t3i;
}

/* One pass: transforms of r m rows become r of m; `rows`: vectors in a row, with those of earlier passes. roots: of order r m `step`. */
static inline __attribute__((always_inline)) void NAME(pass)(int64_t r, int64_t m, int64_t rows, const V *xr, const V *xi, V *yr, V *yi,
                                                            const REAL *roots, int64_t n, int64_t step, const REAL *c, const REAL *s) {
    for (int64_t p = 0; p < m; p++) {
        for (int64_t q = 0; q < rows; q++) {
            V ar[MOST_FACTOR], ai[MOST_FACTOR], br[MOST_FACTOR], bi[MOST_FACTOR];
            ar[0] = ai[0] = (V){0};
            for (int64_t k = 0; k < r; k++) {
                ar[k] = xr[q + rows * (p + k * m)];
                ai[k] = xi[q + rows * (p + k * m)];
            }
            if (r == 2) {
                br[0] = ar[0] + ar[1], bi[0] = ai[0] + ai[1];
                br[1] = ar[0] - ar[1], bi[1] = ai[0] - ai[1];
            } else if (r == 4) {
                NAME(four)(ar, ai, br, bi);
            } else if (r == 8) {
                NAME(eight)(ar, ai, br, bi);
            } else {
                NAME(odd)(r, c, s, ar, ai, br, bi);
            }
            V *zr = yr + q + rows * r * p, *zi = yi + q + rows * r * p;
            zr[0] = br[0];
            zi[0] = bi[0];
            for (int64_t j = 1; j < r; j++) {
                const REAL wr = roots[j * p * step], wi = roots[n + j * p * step];
                zr[rows * j] = br[j] * wr - bi[j] * wi;
                zi[rows * j] = br[j] * wi + bi[j] * wr;
            }
        }
    }
}

#define PASS(r)                                                                                                            \
    static FAST_CLONES void NAME(pass_##r)(int64_t m, int64_t rows, const V *xr, const V *xi, V *yr, V *yi,                \
                                           const REAL *roots, int64_t n, int64_t step, const REAL *c, const REAL *s) {     \
        NAME(pass)(r, m, rows, xr, xi, yr, yi, roots, n, step, c, s);                                                      \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)
#undef PASS
static FAST_CLONES void NAME(pass_any)(int64_t r, int64_t m, int64_t rows, const V *xr, const V *xi, V *yr, V *yi, const REAL *roots,
                                       int64_t n, int64_t step, const REAL *c, const REAL *s) {
    NAME(pass)(r, m, rows, xr, xi, yr, yi, roots, n, step, c, s);
}

/* Transforms n rows of `rows` vectors. a and b: real parts, then imaginary ones. Returns which of them has the result. */
static REAL *NAME(transform)(const fft_plan *f, int64_t rows, REAL *a, REAL *b) {
    const int64_t parts = f->n * rows;
    int64_t left = f->n, done = 1;
    for (int i = 0; i < f->n_factors; i++) {
        const int64_t r = f->factors[i], m = left / r, width = rows * done;
        const REAL *roots = f->roots, *c = (const REAL *)f->turns[i], *s = c ? c + r : NULL;
        const V *xr = (const V *)(void *)a, *xi = xr + parts;
        V *yr = (V *)(void *)b, *yi = yr + parts;
        switch (r) {
        case 2: NAME(pass_2)(m, width, xr, xi, yr, yi, roots, f->n, done, c, s); break;
        case 3: NAME(pass_3)(m, width, xr, xi, yr, yi, roots, f->n, done, c, s); break;
        case 4: NAME(pass_4)(m, width, xr, xi, yr, yi, roots, f->n, done, c, s); break;
        case 5: NAME(pass_5)(m, width, xr, xi, yr, yi, roots, f->n, done, c, s); break;
        case 8: NAME(pass_8)(m, width, xr, xi, yr, yi, roots, f->n, done, c, s); break;
        default: NAME(pass_any)(r, m, width, xr, xi, yr, yi, roots, f->n, done, c, s);
        }
        left = m;
        done *= r;
        REAL *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* ---- coming and going ---- */

/* n complex numbers apart and together; swap exchanges the parts, as inverses want it. */
static FAST_CLONES void NAME(part)(const REAL *z, int64_t n, bool swap, REAL *re, REAL *im) {
    REAL *first = swap ? im : re, *second = swap ? re : im;
    for (int64_t i = 0; i < n; i++) {
        first[i] = z[2 * i];
        second[i] = z[2 * i + 1];
    }
}

static FAST_CLONES void NAME(join)(const REAL *re, const REAL *im, int64_t n, bool swap, REAL scale, REAL *z) {
    const REAL *first = swap ? im : re, *second = swap ? re : im;
    for (int64_t i = 0; i < n; i++) {
        z[2 * i] = first[i] * scale;
        z[2 * i + 1] = second[i] * scale;
    }
}

/* (re, im) *= w */
static FAST_CLONES void NAME(turn)(REAL *re, REAL *im, const REAL *wr, const REAL *wi, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const REAL r = re[i] * wr[i] - im[i] * wi[i];
        im[i] = re[i] * wi[i] + im[i] * wr[i];
        re[i] = r;
    }
}

/* z[i] = scale x[i] w[i], complex; swap_x, swap_z: these have their parts exchanged */
static FAST_CLONES void NAME(multiply)(const REAL *x, bool swap_x, const REAL *w, int64_t n, REAL scale, bool swap_z, REAL *z) {
    for (int64_t i = 0; i < n; i++) {
        const REAL r = x[2 * i + swap_x] * scale, m = x[2 * i + 1 - swap_x] * scale;
        const REAL a = r * w[2 * i] - m * w[2 * i + 1], b = r * w[2 * i + 1] + m * w[2 * i];
        z[2 * i + swap_z] = a;
        z[2 * i + 1 - swap_z] = b;
    }
}

/* ---- lines ---- */

static int64_t NAME(padded)(int64_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

/* Up to LANES lines side by side: element i of line l at x + 2 (i * step + l * lane), likewise y. roots: NULL, or two tables of `columns`
 * by which the results are turned: element i of line l by coarse[i / COARSE][l] fine[i % COARSE][l]. */
static void NAME(side_by_side)(const fft_plan *f, const REAL *x, int64_t step, int64_t lane, REAL *y, int64_t y_step, int64_t y_lane,
                               int64_t lines, bool inverse, REAL scale, const REAL *roots, REAL *room) {
    const int64_t n = f->n, parts = n * LANES;
    REAL *a = room, *b = a + 2 * parts, *z = b + 2 * parts;
    if (lines < LANES)
        memset(z, 0, sizeof *z * (size_t)(2 * parts));
    const bool turned = lane != 1 && step == 1 && sizeof *z == 4;
    if (turned)
        eng_kernels_get()->transpose(8, z, LANES, x, lane, lines, n);
    for (int64_t i = 0; i < n; i++) {
        REAL *row = z + 2 * i * LANES;
        for (int64_t l = 0; l < lines && lane != 1 && !turned; l++)
            memcpy(row + 2 * l, x + 2 * (i * step + l * lane), 2 * sizeof *row);
        if (lane == 1)
            memcpy(row, x + 2 * i * step, sizeof *row * 2 * (size_t)lines);
    }
    NAME(part)(z, parts, inverse, a, a + parts);
    REAL *r = NAME(transform)(f, 1, a, b);
    for (int64_t i = 0; i < n && roots; i++) {
        const REAL *coarse = roots + i / COARSE * 2 * LANES, *fine = roots + (n / COARSE + 1 + i % COARSE) * 2 * LANES;
        NAME(turn)(r + i * LANES, r + parts + i * LANES, coarse, coarse + LANES, LANES);
        NAME(turn)(r + i * LANES, r + parts + i * LANES, fine, fine + LANES, LANES);
    }
    NAME(join)(r, r + parts, parts, inverse, scale, z);
    if (y_step == 1 && y_lane != 1 && sizeof *z == 4) {
        eng_kernels_get()->transpose(8, y, y_lane, z, LANES, n, lines);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const REAL *row = z + 2 * i * LANES;
        for (int64_t l = 0; l < lines && y_lane != 1; l++)
            memcpy(y + 2 * (i * y_step + l * y_lane), row + 2 * l, 2 * sizeof *row);
        if (y_lane == 1)
            memcpy(y + 2 * i * y_step, row, sizeof *row * 2 * (size_t)lines);
    }
}

/* One line, of n1 n2 elements. */
static void NAME(line_by_rows)(const fft_plan *f, const REAL *x, REAL *y, bool inverse, REAL scale, REAL *room) {
    const int64_t n1 = f->first->n, n2 = f->second->n, p1 = NAME(padded)(n1), p2 = NAME(padded)(n2), parts = n1 * p2, turned = n2 * p1;
    const int64_t most = parts > turned ? parts : turned;
    REAL *a = room, *b = a + 2 * most;
    for (int64_t i = 0; i < n1; i++) {
        NAME(part)(x + 2 * i * n2, n2, inverse, a + i * p2, a + parts + i * p2);
        memset(a + i * p2 + n2, 0, sizeof *a * (size_t)(p2 - n2));
        memset(a + parts + i * p2 + n2, 0, sizeof *a * (size_t)(p2 - n2));
    }
    REAL *r = NAME(transform)(f->first, p2 / LANES, a, b), *t = r == a ? b : a;
    NAME(turn)(r, r + parts, f->twiddles, (const REAL *)f->twiddles + parts, parts);
    if (p1 > n1)
        memset(t, 0, sizeof *t * 2 * (size_t)turned);
    for (int k = 0; k < 2; k++)
        eng_kernels_get()->transpose((int)sizeof(REAL), t + k * turned, p1, r + k * parts, p2, n1, n2);
    r = NAME(transform)(f->second, p1 / LANES, t, t == a ? b : a);
    if (p1 == n1) {
        NAME(join)(r, r + turned, turned, inverse, scale, y);
        return;
    }
    for (int64_t i = 0; i < n2; i++)
        NAME(join)(r + i * p1, r + turned + i * p1, n1, inverse, scale, y + 2 * i * n1);
}

/* exp(-2 pi i j k / n) for lanes j = first ..: k a multiple of COARSE, then k < COARSE. */
static void NAME(roots_of_columns)(const fft_plan *f, int64_t first, REAL *out) {
    const int64_t n1 = f->first->n, n_coarse = n1 / COARSE + 1;
    for (int64_t i = 0; i < n_coarse + COARSE; i++)
        for (int64_t l = 0; l < LANES; l++) {
            const int64_t k = i < n_coarse ? i * COARSE : i - n_coarse, j = (first + l) * k % f->n;
            const double *high = f->coarse + j / f->fine_n * 2, *low = f->fine + j % f->fine_n * 2;
            out[i * 2 * LANES + l] = (REAL)(high[0] * low[0] - high[1] * low[1]);
            out[i * 2 * LANES + LANES + l] = (REAL)(high[0] * low[1] + high[1] * low[0]);
        }
}

typedef struct NAME(long_line) { const fft_plan *f; const REAL *x; REAL *y, *between; bool inverse; REAL scale; } NAME(long_line);

static size_t NAME(side_room)(const fft_plan *f) {
    return (size_t)(6 * f->n + 2 * (f->n / COARSE + 1 + COARSE)) * LANES;
}

static void NAME(columns_range)(void *context, int64_t from, int64_t to) {
    const NAME(long_line) *p = context;
    const int64_t n2 = p->f->second->n;
    REAL *room = eng_scratch_need(ENG_SLOT_B, NAME(side_room)(p->f->first) * sizeof *room);
    REAL *roots = room + 6 * p->f->first->n * LANES;
    for (int64_t g = from; g < to; g++) {
        NAME(roots_of_columns)(p->f, g * LANES, roots);
        NAME(side_by_side)(p->f->first, p->x + 2 * g * LANES, n2, 1, p->between + 2 * g * LANES, n2, 1, loop_min(LANES, n2 - g * LANES),
                           p->inverse, 1, roots, room);
    }
}

static void NAME(rows_range)(void *context, int64_t from, int64_t to) {
    const NAME(long_line) *p = context;
    const int64_t n1 = p->f->first->n, n2 = p->f->second->n;
    REAL *room = eng_scratch_need(ENG_SLOT_B, NAME(side_room)(p->f->second) * sizeof *room);
    for (int64_t g = from; g < to; g++)
        NAME(side_by_side)(p->f->second, p->between + 2 * g * LANES * n2, 1, n2, p->y + 2 * g * LANES, n1, 1, loop_min(LANES, n1 - g * LANES),
                           p->inverse, p->scale, NULL, room);
}

/* A line that no cache holds; `between` has room for it. */
static void NAME(long_line_run)(const fft_plan *f, const REAL *x, REAL *y, bool inverse, REAL scale, REAL *between) {
    NAME(long_line) p = {f, x, y, between, inverse, scale};
    fast_ranges((f->second->n + LANES - 1) / LANES, 1, NAME(columns_range), &p);
    fast_ranges((f->first->n + LANES - 1) / LANES, 1, NAME(rows_range), &p);
}

/* One line of any length; x may be y. room: fft_room numbers. */
static void NAME(line)(const fft_plan *f, const REAL *x, REAL *y, bool inverse, REAL scale, REAL *room) {
    const int64_t n = f->n;
    if (f->kind == FFT_ROWS) {
        NAME(line_by_rows)(f, x, y, inverse, scale, room);
    } else if (f->kind == FFT_LONG) {
        NAME(long_line_run)(f, x, y, inverse, scale, room);
    } else if (f->kind == FFT_SIDE) {
        NAME(side_by_side)(f, x, 1, n, y, 1, n, 1, inverse, scale, NULL, room);
    } else { /* x_j c_j, convolved with the conjugate of the chirp c */
        const int64_t m = f->first->n;
        REAL *z = room, *rest = z + 2 * m;
        NAME(multiply)(x, inverse, f->chirp, n, 1, false, z);
        memset(z + 2 * n, 0, sizeof *z * 2 * (size_t)(m - n));
        NAME(line)(f->first, z, z, false, 1, rest);
        NAME(multiply)(z, false, f->filter, m, 1, false, z);
        NAME(line)(f->first, z, z, true, (REAL)1 / (REAL)m, rest);
        NAME(multiply)(z, false, f->chirp, n, scale, inverse, y);
    }
}

/* `count` lines that follow on. */
static void NAME(lines)(const fft_plan *f, const REAL *x, REAL *y, int64_t count, bool inverse, REAL scale, REAL *room) {
    const int64_t n = f->n;
    if (f->kind == FFT_SIDE)
        for (int64_t l = 0; l < count; l += LANES)
            NAME(side_by_side)(f, x + 2 * l * n, 1, n, y + 2 * l * n, 1, n, loop_min(LANES, count - l), inverse, scale, NULL, room);
    else
        for (int64_t l = 0; l < count; l++)
            NAME(line)(f, x + 2 * l * n, y + 2 * l * n, inverse, scale, room);
}

/* ---- a dim of an array ---- */

/* Half the transform of a real line that was the real part (of the imaginary one: exchange re and im) of a line with transform re + i im. */
static FAST_CLONES void NAME(half)(const REAL *re, const REAL *im, int64_t n, bool imaginary, REAL *y) {
    const REAL *x = imaginary ? im : re, *w = imaginary ? re : im, sign = imaginary ? -(REAL)0.5 : (REAL)0.5;
    y[0] = x[0];
    y[1] = 0;
    for (int64_t k = 1; k <= n / 2; k++) {
        y[2 * k] = (x[k] + x[n - k]) * (REAL)0.5;
        y[2 * k + 1] = (w[k] - w[n - k]) * sign;
    }
}

/* x1 + i x2, whole from their halves. */
static void NAME(whole)(const REAL *x1, const REAL *x2, int64_t n, REAL *z) {
    for (int64_t k = 0; k <= n / 2; k++) {
        const bool alone = k == 0 || 2 * k == n; /* these are real */
        const REAL ar = x1[2 * k], ai = alone ? 0 : x1[2 * k + 1], br = x2 ? x2[2 * k] : 0, bi = x2 && !alone ? x2[2 * k + 1] : 0;
        z[2 * k] = ar - bi;
        z[2 * k + 1] = ai + br;
        if (alone)
            continue;
        z[2 * (n - k)] = ar + bi;
        z[2 * (n - k) + 1] = br - ai;
    }
}

static void NAME(real_pairs)(const fft_dim *d, int64_t from, int64_t to, REAL *room) {
    const fft_plan *f = d->plan;
    const int64_t n = f->n, half = 2 * (n / 2 + 1), most = f->kind == FFT_SIDE ? LANES : 1;
    REAL *z = room, *rest = room + NAME(padded)(2 * n * most);
    for (int64_t q = from; q < to; q += most) {
        const int64_t count = loop_min(most, to - q);
        for (int64_t l = 0; l < count; l++) {
            const int64_t line = 2 * (q + l);
            const REAL *x = (const REAL *)d->x + line * (d->kind == FROM_REAL ? n : half);
            REAL *here = z + 2 * n * l;
            const bool two = line + 1 < d->outer;
            if (d->kind == TO_REAL)
                NAME(whole)(x, two ? x + half : NULL, n, here);
            else if (two)
                NAME(join)(x, x + n, n, false, 1, here);
            for (int64_t i = 0; i < n && d->kind == FROM_REAL && !two; i++) {
                here[2 * i] = x[i];
                here[2 * i + 1] = 0;
            }
        }
        NAME(lines)(f, z, z, count, d->inverse, d->inverse ? (REAL)1 / (REAL)n : 1, rest);
        for (int64_t l = 0; l < count; l++) {
            const int64_t line = 2 * (q + l);
            REAL *y = (REAL *)d->y + line * (d->kind == FROM_REAL ? half : n), *here = z + 2 * n * l;
            const bool two = line + 1 < d->outer;
            NAME(part)(here, n, false, rest, rest + n);
            if (d->kind == FROM_REAL) {
                NAME(half)(rest, rest + n, n, false, y);
                if (two)
                    NAME(half)(rest, rest + n, n, true, y + half);
            } else {
                memcpy(y, rest, sizeof *y * (size_t)(two ? 2 * n : n));
            }
        }
    }
}

/* Lines across the array, LANES side by side or one by one. */
static void NAME(across)(const fft_dim *d, int64_t item, REAL *room) {
    const fft_plan *f = d->plan;
    const int64_t n = f->n, groups = (d->inner + LANES - 1) / LANES, first = item % groups * LANES, lines = loop_min(LANES, d->inner - first);
    const int64_t at = 2 * (item / groups * n * d->inner + first);
    const REAL scale = d->inverse ? (REAL)1 / (REAL)n : 1, *x = (const REAL *)d->x + at;
    REAL *y = (REAL *)d->y + at;
    if (f->kind == FFT_SIDE) {
        NAME(side_by_side)(f, x, d->inner, 1, y, d->inner, 1, lines, d->inverse, scale, NULL, room);
        return;
    }
    REAL *z = room, *rest = room + NAME(padded)(2 * n);
    for (int64_t l = 0; l < lines; l++) {
        for (int64_t i = 0; i < n; i++)
            memcpy(z + 2 * i, x + 2 * (i * d->inner + l), 2 * sizeof *z);
        NAME(line)(f, z, z, d->inverse, scale, rest);
        for (int64_t i = 0; i < n; i++)
            memcpy(y + 2 * (i * d->inner + l), z + 2 * i, 2 * sizeof *z);
    }
}

static int64_t NAME(room)(const fft_plan *f) {
    switch (f->kind) {
    case FFT_SIDE: return 6 * f->n * LANES;
    case FFT_ROWS:
        return 4 * loop_max(f->first->n * NAME(padded)(f->second->n), f->second->n * NAME(padded)(f->first->n));
    case FFT_LONG: return 2 * f->n;
    default: return 2 * f->first->n + NAME(room)(f->first);
    }
}

static void NAME(dim_range)(void *context, int64_t from, int64_t to) {
    const fft_dim *d = context;
    const int64_t n = d->plan->n, own = d->kind == WHOLLY && d->inner == 1 ? 0 : NAME(padded)(2 * n * (d->kind == WHOLLY ? 1 : LANES));
    REAL *room = eng_scratch_need(ENG_SLOT_A, (size_t)(own + NAME(room)(d->plan)) * sizeof *room);
    if (d->kind != WHOLLY)
        NAME(real_pairs)(d, from, to, room);
    else if (d->inner == 1)
        NAME(lines)(d->plan, (const REAL *)d->x + 2 * from * n, (REAL *)d->y + 2 * from * n, to - from, d->inverse,
                    d->inverse ? (REAL)1 / (REAL)n : 1, room);
    for (int64_t i = from; i < to && d->kind == WHOLLY && d->inner > 1; i++)
        NAME(across)(d, i, room);
}
#undef V
#undef LANES
