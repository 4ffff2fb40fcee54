/* loop_double.h - functions of f32 whose way there is f64, which leaves one rounding: powers and the gamma functions. Part of
 * loop_kernels.h, once per instruction set: plain loops over blocks, which the compiler makes vectors of. */
#if LOOP_FMA
#define dfma(a, b, c) __builtin_fma(a, b, c)
#else
#define dfma(a, b, c) ((a) * (b) + (c))
#endif

enum { DBLOCK = 64 };

/* ---- powers ----
 * 2^(y log2 |x|); zeros, infinities and NaNs go to libm. */
DINLINE double power_of(float x, float y, int *rare) {
    int32_t bits, whole = y == __builtin_rintf(y);
    float a = __builtin_fabsf(x), m, half = y * 0.5f;
    memcpy(&bits, &a, 4);
    *rare = !(a >= 1.17549435e-38f && a < __builtin_inff() && __builtin_fabsf(y) < 1e30f);
    int32_t e = (bits - 0x3f3504f3) >> 23, mb = (int32_t)((uint32_t)bits - ((uint32_t)e << 23)); /* m in [sqrt(1/2), sqrt(2)) */
    memcpy(&m, &mb, 4);
    double s = ((double)m - 1) / ((double)m + 1), z = s * s;
    double l = 2.8853900817779268 / 15;
    l = dfma(l, z, 2.8853900817779268 / 13);
    l = dfma(l, z, 2.8853900817779268 / 11);
    l = dfma(l, z, 2.8853900817779268 / 9);
    l = dfma(l, z, 2.8853900817779268 / 7);
    l = dfma(l, z, 2.8853900817779268 / 5);
    l = dfma(l, z, 2.8853900817779268 / 3);
    l = dfma(l, z, 2.8853900817779268);
    double t = (double)y * dfma(l, s, (double)e);
    t = t > 200 ? 200 : t < -200 ? -200 : t;
    double n = __builtin_rint(t), f = (t - n) * 0.6931471805599453;
    double r = 1.0 / 40320;
    r = dfma(r, f, 1.0 / 5040);
    r = dfma(r, f, 1.0 / 720);
    r = dfma(r, f, 1.0 / 120);
    r = dfma(r, f, 1.0 / 24);
    r = dfma(r, f, 1.0 / 6);
    r = dfma(r, f, 0.5);
    r = dfma(r, f, 1);
    r = dfma(r, f, 1);
    uint64_t scale = (uint64_t)((int64_t)(int32_t)n + 1023) << 52;
    double two_n;
    memcpy(&two_n, &scale, 8);
    r *= two_n;
    int negative = x < 0, odd = whole & (half != __builtin_rintf(half));
    r = negative & odd ? -r : r;
    return negative & !whole ? __builtin_nan("") : r;
}

/* Wherever the base is 2, by a function of its own. */
static void powers_of_two(float *d, const float *b, int64_t n) {
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        st_F(d + i, vexp2(ld_F(b + i)));
    if (i < n)
        stp_F(d + i, vexp2(ldp_F(b + i, n - i)), n - i);
}

static void power_block(float *d, const float *a, const float *b, int64_t n) {
    int rare[DBLOCK], twos = 0, any_rare = 0;
    float r[DBLOCK], two[DBLOCK];
    for (int64_t i = 0; i < n; i++)
        twos += a[i] == 2;
    if (twos)
        powers_of_two(two, b, n);
    for (int64_t i = 0; i < n; i++) {
        r[i] = (float)power_of(a[i], b[i], &rare[i]);
        any_rare |= rare[i];
    }
    for (int64_t i = 0; any_rare && i < n; i++)
        r[i] = rare[i] ? __builtin_powf(a[i], b[i]) : r[i];
    for (int64_t i = 0; i < n; i++)
        d[i] = twos && a[i] == 2 ? two[i] : r[i];
}

/* ---- gamma functions ---- */
/* log(x), x positive and normal: m in [sqrt(1/2), sqrt(2)), and its logarithm by that of (1 + s) / (1 - s) */
DINLINE double dlog(double x) {
    const uint64_t half = 0x3fe6a09e667f3bcd, from = (uint64_t)1 << 62, top = 0xfff0000000000000;
    uint64_t bits, t, mb, kb;
    double m, k;
    memcpy(&bits, &x, 8);
    t = bits - half + from; /* the exponent plus 1024 is its top */
    mb = bits - (t & top) + from;
    kb = t >> 52 | 0x4330000000000000;
    memcpy(&m, &mb, 8);
    memcpy(&k, &kb, 8);
    k -= 4503599627370496.0 + 1024;
    double f = m - 1, s = f / (f + 2), z = s * s, square = 0.5 * f * f, r = 2.0 / 19;
    r = dfma(r, z, 2.0 / 17);
    r = dfma(r, z, 2.0 / 15);
    r = dfma(r, z, 2.0 / 13);
    r = dfma(r, z, 2.0 / 11);
    r = dfma(r, z, 2.0 / 9);
    r = dfma(r, z, 2.0 / 7);
    r = dfma(r, z, 2.0 / 5);
    r = dfma(r, z, 2.0 / 3);
    r = dfma(s, dfma(r, z, square), k * 1.90821492927058770002e-10);
    return dfma(k, 6.93147180369123816490e-1, -((square - r) - f));
}

/* sin(pi f) and cos(pi f), |f| up to a half */
DINLINE double dsinpi(double f) {
    double z = f * f, r = 5.39266466260812849e-10;
    r = dfma(r, z, -2.29484289972698731e-8);
    r = dfma(r, z, 7.95205400147551278e-7);
    r = dfma(r, z, -2.19153534478302158e-5);
    r = dfma(r, z, 4.66302805767612564e-4);
    r = dfma(r, z, -7.37043094571435078e-3);
    r = dfma(r, z, 8.21458866111282288e-2);
    r = dfma(r, z, -0.599264529320792077);
    r = dfma(r, z, 2.55016403987734544);
    r = dfma(r, z, -5.16771278004997003);
    return f * dfma(r, z, 3.14159265358979324);
}
DINLINE double dcospi(double f) {
    double z = f * f, r = -7.70070713060135338e-11;
    r = dfma(r, z, 3.60473079746250093e-9);
    r = dfma(r, z, -1.38789524622137721e-7);
    r = dfma(r, z, 4.30306958703294701e-6);
    r = dfma(r, z, -1.04638104924845707e-4);
    r = dfma(r, z, 1.92957430940392305e-3);
    r = dfma(r, z, -2.580689139001406e-2);
    r = dfma(r, z, 0.235330630358893205);
    r = dfma(r, z, -1.3352627688545895);
    r = dfma(r, z, 4.05871212641676822);
    r = dfma(r, z, -4.93480220054467931);
    return dfma(r, z, 1);
}

/* Of |x|. Around its zeros (x - 1) (x - 2) p(x); else Stirling's series, below 8 from x + 8 down:
 * u = x (x + 7), so that x (x + 1) ... (x + 7) = u (u + 6) (u + 10) (u + 12). */
DINLINE double lgamma_of(float x) {
    double y = (double)__builtin_fabsf(x), t = y - 1.625, p = 1.0997741731610621e-4;
    p = dfma(p, t, -1.7500765356713978e-4);
    p = dfma(p, t, -1.4104809059647696e-5);
    p = dfma(p, t, -1.6967594680077615e-5);
    p = dfma(p, t, 3.9976937960627465e-4);
    p = dfma(p, t, -6.638769055458293e-4);
    p = dfma(p, t, 9.6688208925311007e-4);
    p = dfma(p, t, -1.7721280624428926e-3);
    p = dfma(p, t, 3.3239003868963359e-3);
    p = dfma(p, t, -6.2213079972915283e-3);
    p = dfma(p, t, 1.1991256762388167e-2);
    p = dfma(p, t, -2.4194008142204768e-2);
    p = dfma(p, t, 5.2579451036631065e-2);
    p = dfma(p, t, -1.3157900028420005e-1);
    p = dfma(p, t, 4.6580963720958086e-1);
    double u = y * (y + 7), product = u * (u + 6) * (u + 10) * (u + 12);
    double w = y < 8 ? y + 8 : y, r = 1 / w, q = r * r, s = 1.0 / 1188;
    s = dfma(s, q, -1.0 / 1680);
    s = dfma(s, q, 1.0 / 1260);
    s = dfma(s, q, -1.0 / 360);
    s = dfma(s, q, 1.0 / 12);
    double far = dfma(w - 0.5, dlog(w), -w) + dfma(s, r, 0.918938533204672742);
    double moved = dlog(y < 8 ? product : 1.0);
    far -= moved;
    far = y > 0.75 && y < 2.5 ? (y - 1) * (y - 2) * p + 0.0 : far; /* +0 at 1 */
    return y == 0 || y == __builtin_inf() ? __builtin_inf() : far;
}

/* log(pi / |x sin(pi x)|): what lgamma(x) and lgamma(-x) add up to */
DINLINE double lgamma_reflected(float x) {
    double y = (double)__builtin_fabsf(x), f = y - __builtin_rint(y), s = __builtin_fabs(dsinpi(f)) * y;
    return f == 0 ? __builtin_inf() : dlog(3.14159265358979324 / s);
}

/* Of x > 0: the sum of 1 / (x + k), k < 8, goes off, if x is below 8, from the asymptotic series at x + 8. */
DINLINE double digamma_of(float x) {
    double y = (double)__builtin_fabsf(x), u = y * (y + 7), a = u * (u + 6), b = (u + 10) * (u + 12);
    double sum = (y + y + 7) * ((u + u + 6) * b + (u + u + 22) * a) / (a * b);
    double w = y < 8 ? y + 8 : y, r = 1 / w, q = r * r, s = 691.0 / 32760;
    s = dfma(s, q, -1.0 / 132);
    s = dfma(s, q, 1.0 / 240);
    s = dfma(s, q, -1.0 / 252);
    s = dfma(s, q, 1.0 / 120);
    s = dfma(s, q, -1.0 / 12);
    double v = dlog(w) + dfma(s, q, -0.5 * r);
    v = y < 8 ? v - sum : v;
    return y == __builtin_inf() ? y + (double)x : v;
}

/* 1 / |x| - pi / tan(pi x): digamma(x) less digamma(-x), x < 0 */
DINLINE double digamma_reflected(float x) {
    double y = (double)x, f = y - __builtin_rint(y);
    return f == 0 ? __builtin_nan("") : -1 / y - 3.14159265358979324 * dcospi(f) / dsinpi(f);
}

/* sign: whether the function of -x goes off */
#define GAMMA_BLOCK(name, sign, at_zero)                                      \
    static void name##_block(float *d, const float *a, int64_t n) {           \
        double r[DBLOCK];                                                     \
        int negative = 0;                                                     \
        for (int64_t i = 0; i < n; i++) {                                     \
            r[i] = name##_of(a[i]);                                           \
            negative |= a[i] <= 0;                                            \
        }                                                                     \
        for (int64_t i = 0; negative && i < n; i++) {                         \
            double v = name##_reflected(a[i]) sign r[i];                      \
            v = a[i] == 0 ? at_zero : v;                                      \
            r[i] = a[i] <= 0 && a[i] != -__builtin_inff() ? v : r[i];         \
        }                                                                     \
        for (int64_t i = 0; i < n; i++)                                       \
            d[i] = (float)r[i];                                               \
    }
GAMMA_BLOCK(lgamma, -, __builtin_inf())
GAMMA_BLOCK(digamma, +, __builtin_nan(""))

/* ---- kernels ---- */
#define DOUBLE1_F(name)                                                       \
    KERNEL(k_##name##_F) {                                                    \
        UNUSED3;                                                              \
        for (int64_t i = 0; i < n; i += DBLOCK)                               \
            name##_block((float *)dv + i, (const float *)av + i, loop_min(DBLOCK, n - i)); \
    }
#define DOUBLE1_HALF(name, L)                                                 \
    KERNEL(k_##name##_##L) {                                                  \
        float x[DBLOCK];                                                      \
        UNUSED3;                                                              \
        for (int64_t i = 0; i < n; i += DBLOCK) {                             \
            int64_t m = loop_min(DBLOCK, n - i);                              \
            k_convert_##L##_F(x, (const uint16_t *)av + i, NULL, NULL, m);    \
            name##_block(x, x, m);                                            \
            k_convert_F_##L((uint16_t *)dv + i, x, NULL, NULL, m);            \
        }                                                                     \
    }
#define DOUBLE1(name) DOUBLE1_F(name) DOUBLE1_HALF(name, B) DOUBLE1_HALF(name, H)
DOUBLE1(lgamma)
DOUBLE1(digamma)

KERNEL(k_power_F) {
    const float *a = av;
    int others = 0;
    UNUSED3;
    for (int64_t i = 0; i < n; i++)
        others |= a[i] != 2;
    if (!others) {
        powers_of_two(dv, bv, n);
        return;
    }
    for (int64_t i = 0; i < n; i += DBLOCK)
        power_block((float *)dv + i, (const float *)av + i, (const float *)bv + i, loop_min(DBLOCK, n - i));
}
#define HALF_POWER(L)                                                         \
    KERNEL(k_power_##L) {                                                     \
        float x[DBLOCK], y[DBLOCK];                                           \
        UNUSED3;                                                              \
        for (int64_t i = 0; i < n; i += DBLOCK) {                             \
            int64_t m = loop_min(DBLOCK, n - i);                              \
            k_convert_##L##_F(x, (const uint16_t *)av + i, NULL, NULL, m);    \
            k_convert_##L##_F(y, (const uint16_t *)bv + i, NULL, NULL, m);    \
            power_block(x, x, y, m);                                          \
            k_convert_F_##L((uint16_t *)dv + i, x, NULL, NULL, m);            \
        }                                                                     \
    }
HALF_POWER(B)
HALF_POWER(H)
