/* loop_double_math.h - elementary functions of f64. Part of loop_kernels.h, once per instruction set: plain loops over blocks, which the
 * compiler makes vectors of; what a function does not do itself (`rare`: infinities, ends of ranges, NaN) goes to libm. Errors in ulp are
 * measured by tests/c/test_engine_loops.c. */

/* x rounded to a whole number that lies in the low bits of the sum: |x| < 2^51 */
#define DROUND 6755399441055744.0

/* e^r less 1 + r, over r^2: |r| up to ln2 / 2 */
DINLINE double dexp_of(double r) {
    double p = 2.09112987659401982e-9;
    p = dfma(p, r, 2.5100472505694996e-8);
    p = dfma(p, r, 2.7557282838800483e-7);
    p = dfma(p, r, 2.75572682769056962e-6);
    p = dfma(p, r, 2.48015873172287221e-5);
    p = dfma(p, r, 1.9841269863171556e-4);
    p = dfma(p, r, 1.38888888888865356e-3);
    p = dfma(p, r, 8.3333333333300382e-3);
    p = dfma(p, r, 4.16666666666666672e-2);
    p = dfma(p, r, 1.66666666666666675e-1);
    return dfma(p, r, 0.5);
}
/* p 2^n, n whole, in the low bits of t, from -2048 to 2047: in two steps, so that results below the normal range round once */
DINLINE double dscale(double p, double t) {
    const uint64_t k = (dbits(t) + 2048) & 4095, h = k >> 1;
    return p * dfrom((h - 1) << 52) * dfrom((k - h - 1) << 52);
}
DINLINE double dln2_less(double c, double n) { /* c - n ln2 */
    return dfma(n, -1.90821492927058770002e-10, dfma(n, -6.93147180369123816490e-1, c));
}
DINLINE double dexp(double x) {
    double c = x > 710 ? 710 : x;
    c = c < -746 ? -746 : c;
    const double t = dfma(c, 1.4426950408889634, DROUND), r = dln2_less(c, t - DROUND);
    return dscale(dfma(dfma(dexp_of(r), r, 1), r, 1), t);
}
DINLINE double dexp2(double x) { /* whole powers are exact */
    double c = x > 1025 ? 1025 : x;
    c = c < -1076 ? -1076 : c;
    const double t = c + DROUND, r = (c - (t - DROUND)) * 0.6931471805599453;
    return dscale(dfma(dfma(dexp_of(r), r, 1), r, 1), t);
}
DINLINE double dexpm1(double x) { /* 2 (q / 2^(1-n) + 2^(n-1) - 1/2), q = e^r - 1; of |x| below ln2 / 2 q itself */
    double c = x > 710 ? 710 : x;
    c = c < -40 ? -40 : c;
    const double t = dfma(c, 1.4426950408889634, DROUND), n = t - DROUND, r = dln2_less(c, n), q = dfma(dexp_of(r), r * r, r);
    const double half = dfrom((dbits(t) + 1022) << 52), far = dfma(half, q, half - 0.5) * 2; /* n = 1024 and more: half is large enough */
    return __builtin_copysign(n == 0 ? q : far, x);
}
DINLINE double dlog1p(double x) { /* log(u) + what u = 1 + x lost, over u */
    const double u = 1 + x;
    return __builtin_copysign(dlog(u) + (x - (u - 1)) / u, x);
}
DINLINE double dlogistic(double x) {
    return 1 / (1 + dexp(-x));
}
DINLINE double dtanh(double x) {
    double a = dabs(x);
    a = a > 22 ? 22 : a;
    const double t = dexpm1(a + a);
    return __builtin_copysign(t / (t + 2), x);
}
DINLINE double dsinh(double x) {
    const double e = dexpm1(dabs(x));
    return __builtin_copysign(0.5 * (e + e / (e + 1)), x);
}
DINLINE double dcosh(double x) {
    const double e = dexp(dabs(x));
    return dfma(0.5, e, 0.5 / e);
}

/* ---- circles ---- */
/* x less n pi/2, |x| up to 1e6: n in the low bits of *t. Where little is left of much it is not exact enough. */
DINLINE double dquarter(double x, double *t) {
    *t = dfma(x, 0.63661977236758134, DROUND);
    const double n = *t - DROUND, r = x - n * 1.57079632673412561417, w = n * 6.07710050630396597660e-11; /* products are exact */
    const double s = r - w, b = s - r, lost = (r - (s - b)) - (w + b);
    return s + (lost - n * 2.02226624879595063154e-21);
}
DINLINE int64_t dquarter_rare(double x, double r, double t) {
    return (!(dabs(x) <= 1e6)) | ((dabs(r) < 0x1p-20) & (t != DROUND));
}
DINLINE double dsin_of(double r) {
    double z = r * r, p = 1.5917848524808261e-10;
    p = dfma(p, z, -2.50511279440141876e-8);
    p = dfma(p, z, 2.75573160838163586e-6);
    p = dfma(p, z, -1.98412698367224178e-4);
    p = dfma(p, z, 8.33333333333092456e-3);
    p = dfma(p, z, -1.66666666666666646e-1);
    return dfma(p * z, r, r);
}
DINLINE double dcos_of(double r) { /* 1 - z/2, what that lost, and the rest */
    double z = r * r, h = 0.5 * z, w = 1 - h, p = -1.13824567780613058e-11;
    p = dfma(p, z, 2.08761438279931325e-9);
    p = dfma(p, z, -2.75573172600088382e-7);
    p = dfma(p, z, 2.48015872987430693e-5);
    p = dfma(p, z, -1.38888888888873823e-3);
    p = dfma(p, z, 4.16666666666666654e-2);
    return w + dfma(p * z, z, (1 - w) - h);
}
DINLINE double dsincos(double x, uint64_t quadrant, int64_t *rare) {
    double t, r = dquarter(x, &t);
    const uint64_t q = dbits(t) + quadrant;
    *rare = dquarter_rare(x, r, t);
    const double v = q & 1 ? dcos_of(r) : dsin_of(r);
    return dfrom(dbits(v) ^ (q & 2) << 62);
}
DINLINE double dsine(double x, int64_t *rare) {
    const double v = dsincos(x, 0, rare);
    return dabs(x) < 0x1p-27 ? x : v;
}
DINLINE double dcosine(double x, int64_t *rare) {
    return dsincos(x, 1, rare);
}
DINLINE double dtan(double x, int64_t *rare) {
    double t, r = dquarter(x, &t), s = dsin_of(r), c = dcos_of(r);
    const int odd = dbits(t) & 1;
    *rare = dquarter_rare(x, r, t);
    const double v = (odd ? -c : s) / (odd ? s : c);
    return dabs(x) < 0x1p-27 ? x : v;
}
/* of t in [0, 1] */
DINLINE double datan_of(double t) {
    double z = t * t, p = 1.80619546186121522e-5;
    p = dfma(p, z, -1.99961893779013821e-4);
    p = dfma(p, z, 1.04960350849685151e-3);
    p = dfma(p, z, -3.49588597391630952e-3);
    p = dfma(p, z, 8.36893117845016214e-3);
    p = dfma(p, z, -1.55351524754141761e-2);
    p = dfma(p, z, 2.3696731580048622e-2);
    p = dfma(p, z, -3.12771890669963848e-2);
    p = dfma(p, z, 3.74948681253524711e-2);
    p = dfma(p, z, -4.26035663260165213e-2);
    p = dfma(p, z, 4.73774957952777897e-2);
    p = dfma(p, z, -5.25797333428411081e-2);
    p = dfma(p, z, 5.88150687779365607e-2);
    p = dfma(p, z, -6.66656469928910421e-2);
    p = dfma(p, z, 7.69229897103321692e-2);
    p = dfma(p, z, -9.09090859089193423e-2);
    p = dfma(p, z, 1.11111110934908281e-1);
    p = dfma(p, z, -1.42857142853841315e-1);
    p = dfma(p, z, 1.99999999999975322e-1);
    p = dfma(p, z, -3.33333333333333303e-1);
    return dfma(p * z, t, t);
}
#define DPI 3.141592653589793
#define DPI_REST 1.2246467991473532e-16
DINLINE double datan(double x) {
    const double a = dabs(x), far = 1 / a, r = datan_of(a > 1 ? far : a);
    return __builtin_copysign(a > 1 ? (DPI / 2 - r) + DPI_REST / 2 : r, x);
}
DINLINE double datan2(double y, double x) { /* the smaller over the larger; 0 / 0 is 0 and inf / inf 1 */
    const double a = dabs(y), b = dabs(x), most = a > b ? a : b, least = a > b ? b : a, part = least / most;
    double t = least == most ? (most == 0 ? 0.0 : 1.0) : part, r = datan_of(t);
    const double steep = (DPI / 2 - r) + DPI_REST / 2;
    r = a > b ? steep : r;
    const double back = (DPI - r) + DPI_REST;
    r = __builtin_copysign(__builtin_copysign(1, x) < 0 ? back : r, y);
    return (x != x) | (y != y) ? x + y : r;
}
/* of t in [0, 1/2], z its square */
DINLINE double dasin_of(double t, double z) {
    double p = 2.87578513674215647e-2;
    p = dfma(p, z, -1.48518870712472032e-2);
    p = dfma(p, z, 1.74008794426940224e-2);
    p = dfma(p, z, 5.4575067186403583e-3);
    p = dfma(p, z, 1.03228143501857793e-2);
    p = dfma(p, z, 1.14791774151849059e-2);
    p = dfma(p, z, 1.39712129735529333e-2);
    p = dfma(p, z, 1.73523927208699729e-2);
    p = dfma(p, z, 2.23721729421498879e-2);
    p = dfma(p, z, 3.03819441385312473e-2);
    p = dfma(p, z, 4.46428571463554298e-2);
    p = dfma(p, z, 7.49999999999843293e-2);
    p = dfma(p, z, 1.66666666666666678e-1);
    return dfma(p * z, t, t);
}
DINLINE double dasin(double x) {
    const double a = dabs(x), z = (1 - a) * 0.5, s = __builtin_sqrt(z), r = dasin_of(a < 0.5 ? a : s, a < 0.5 ? a * a : z);
    return __builtin_copysign(a < 0.5 ? r : (DPI / 2 - 2 * r) + DPI_REST / 2, x);
}
DINLINE double dacos(double x) {
    const double a = dabs(x), z = (1 - a) * 0.5, s = __builtin_sqrt(z), r = dasin_of(a < 0.5 ? a : s, a < 0.5 ? a * a : z);
    const double middle = DPI / 2 - (__builtin_copysign(r, x) - DPI_REST / 2), back = DPI - (2 * r - DPI_REST);
    return a < 0.5 ? middle : x < 0 ? back : 2 * r;
}

/* ---- error functions ---- */
DINLINE double derf_of(double x) { /* |x| up to 1 */
    double z = x * x, p = 5.9571761477489114e-11;
    p = dfma(p, z, -1.13728488567916937e-9);
    p = dfma(p, z, 1.46597752740474358e-8);
    p = dfma(p, z, -1.6350312701054695e-7);
    p = dfma(p, z, 1.6461000484121368e-6);
    p = dfma(p, z, -1.49255952668311816e-5);
    p = dfma(p, z, 1.20553311116427109e-4);
    p = dfma(p, z, -8.54832698083378991e-4);
    p = dfma(p, z, 5.22397762481801447e-3);
    p = dfma(p, z, -2.68661706450767932e-2);
    p = dfma(p, z, 1.12837916709548787e-1);
    p = dfma(p, z, -3.76126389031837481e-1);
    p = dfma(p, z, 1.28379167095512574e-1);
    return dfma(p, x, x);
}
/* erfc(a) = exp(-a^2) p(t) / (1 + 2a), t = (a - 2) / (a + 2), a from 1/2 to 28. The square in two parts. */
DINLINE double derfc_of(double a) {
    const double t = (a - 2) / (a + 2), high = dfrom(dbits(a) & ~(uint64_t)0x7ffffff), low = a - high;
    const double s = a * a, lost = ((high * high - s) + 2 * high * low) + low * low;
    double p = -1.02290585391480551e-7;
    p = dfma(p, t, 1.84605829874570246e-7);
    p = dfma(p, t, 3.45473409309545146e-7);
    p = dfma(p, t, -3.87766535851992442e-7);
    p = dfma(p, t, -9.77696633465426025e-7);
    p = dfma(p, t, -5.60517785292008604e-7);
    p = dfma(p, t, 1.55026718276942633e-6);
    p = dfma(p, t, 5.1500063807027843e-6);
    p = dfma(p, t, 3.70719268778969283e-6);
    p = dfma(p, t, -1.34686683983111978e-5);
    p = dfma(p, t, -3.6425802176593488e-5);
    p = dfma(p, t, -1.51487619016838069e-6);
    p = dfma(p, t, 1.51040104316633414e-4);
    p = dfma(p, t, 2.06367880655261833e-4);
    p = dfma(p, t, -4.54340982402033782e-4);
    p = dfma(p, t, -1.45681400276388721e-3);
    p = dfma(p, t, 1.27133897909626922e-3);
    p = dfma(p, t, 8.72265387844923972e-3);
    p = dfma(p, t, -8.03401508301889565e-3);
    p = dfma(p, t, -5.42200009921072945e-2);
    p = dfma(p, t, 1.64051280033454056e-1);
    p = dfma(p, t, -1.66030397615288662e-1);
    p = dfma(p, t, -9.27638265857460766e-2);
    p = dfma(p, t, 1.27697838155252872);
    const double q = p / (1 + 2 * a);
    return dexp(-s) * dfma(-lost, q, q);
}
DINLINE double derf(double x) {
    double a = dabs(x);
    a = a > 6 ? 6 : a;
    const double far = 1 - derfc_of(a > 1 ? a : 1);
    return __builtin_copysign(a > 1 ? far : derf_of(a), x); /* NaN by the second */
}
DINLINE double derfc(double x) {
    double a = dabs(x);
    a = a > 28 ? 28 : a;
    const double far = derfc_of(a > 0.5 ? a : 0.5), near = 1 - derf_of(x);
    return a > 0.5 ? (x < 0 ? 2 - far : far) : near;
}

/* ---- kernels ---- */
#define DOUBLE_PLAIN(name, f) PLAIN1(k_##name##_D, double, double, f(x))
/* `out` is what the function itself finds to be rare */
#define DOUBLE_RARE(name, call, is_rare, libm)                                \
    KERNEL(k_##name##_D) {                                                    \
        double *d = dv;                                                       \
        const double *a = av;                                                 \
        UNUSED3;                                                              \
        for (int64_t at = 0; at < n; at += DBLOCK) {                          \
            const int64_t m = loop_min(DBLOCK, n - at);                       \
            double r[DBLOCK];                                                 \
            int64_t rare[DBLOCK], any = 0;                                    \
            for (int64_t i = 0; i < m; i++) {                                 \
                const double x = a[at + i];                                   \
                int64_t out = 0;                                              \
                r[i] = call;                                                  \
                rare[i] = (is_rare) | out;                                    \
                any |= rare[i];                                               \
            }                                                                 \
            for (int64_t i = 0; any && i < m; i++)                            \
                if (rare[i])                                                  \
                    r[i] = libm(a[at + i]);                                   \
            memcpy(d + at, r, sizeof *d * (size_t)m);                         \
        }                                                                     \
    }
DOUBLE_PLAIN(exp, dexp)
DOUBLE_PLAIN(expm1, dexpm1)
DOUBLE_PLAIN(logistic, dlogistic)
DOUBLE_PLAIN(tanh, dtanh)
DOUBLE_PLAIN(atan, datan)
DOUBLE_PLAIN(asin, dasin)
DOUBLE_PLAIN(acos, dacos)
DOUBLE_PLAIN(erf, derf)
DOUBLE_PLAIN(erfc, derfc)
PLAIN2(k_atan2_D, double, double, datan2(x, y))
DOUBLE_RARE(log, dlog(x), !((x >= 0x1p-1022) & (x <= 0x1.fffffffffffffp1023)), __builtin_log)
DOUBLE_RARE(log1p, dlog1p(x), !((x > -1) & (x <= 0x1.fffffffffffffp1023)), __builtin_log1p)
DOUBLE_RARE(sine, dsine(x, &out), 0, __builtin_sin)
DOUBLE_RARE(cosine, dcosine(x, &out), 0, __builtin_cos)
DOUBLE_RARE(tan, dtan(x, &out), 0, __builtin_tan)
DOUBLE_RARE(sinh, dsinh(x), !(dabs(x) <= 709), __builtin_sinh)
DOUBLE_RARE(cosh, dcosh(x), !(dabs(x) <= 709), __builtin_cosh)

/* Powers of 2 by the function of that, where a block has no others; else by libm. */
KERNEL(k_power_D) {
    double *d = dv;
    const double *a = av, *b = bv;
    UNUSED3;
    for (int64_t at = 0; at < n; at += DBLOCK) {
        const int64_t end = loop_min(n, at + DBLOCK);
        int64_t others = 0;
        for (int64_t i = at; i < end; i++)
            others |= a[i] != 2;
        if (!others)
            _Pragma("GCC ivdep") for (int64_t i = at; i < end; i++) d[i] = dexp2(b[i]);
        else
            for (int64_t i = at; i < end; i++)
                d[i] = a[i] == 2 ? dexp2(b[i]) : __builtin_pow(a[i], b[i]);
    }
}
