/* ref_math.c - special functions libm lacks, in double, from their series and asymptotic expansions.
 *
 * Used by the reference kernels only; speed does not matter. Accuracy is a few ulp of double away from zeros. */
#include "engine/ref.h"
#include <math.h>

/* B_2k / (2k)!, k = 1..12, from the zeta values: B_2k/(2k)! = 2 (-1)^(k+1) zeta(2k) / (2 pi)^2k. */
static const double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6,
                                   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};
enum { N_BERNOULLI = sizeof bernoulli / sizeof bernoulli[0] };

/* Newton steps on erf (erfc in the tails, where erf is flat) from a rough start. */
double ref_erf_inv(double p) {
    if (isnan(p) || p < -1 || p > 1)
        return NAN;
    if (p == 1 || p == -1)
        return p * INFINITY;
    if (p == 0)
        return p;
    double a = fabs(p), l = log1p(-a * a), k = 4.3307467508 + l / 2; /* 2 / (pi 0.147) + l / 2: Winitzki's form */
    double x = sqrt(sqrt(k * k - l / 0.147) - k);
    for (int i = 0; i < 4; i++) {
        double error = a < 0.5 ? erf(x) - a : (1 - a) - erfc(x); /* 1 - a is exact from 0.5 on */
        double step = error / (1.1283791670955126 * exp(-x * x));
        x -= step / (1 + x * step);                              /* Halley */
    }
    return copysign(x, p);
}

double ref_lgamma(double x) {
    int sign;
    return isinf(x) ? INFINITY : lgamma_r(x, &sign);
}

double ref_digamma(double x) {
    if (isnan(x) || x == -INFINITY || (x <= 0 && floor(x) == x))
        return NAN;
    if (x == INFINITY)
        return x;
    long double r = 0, y = x;
    if (x < 0) { /* reflection; the fraction first, or tan loses it */
        long double f = y - rintl(y);
        r = -3.141592653589793238462643L / tanl(3.141592653589793238462643L * f);
        y = 1 - y;
    }
    for (; y < 16; y += 1)
        r -= 1 / y;
    long double inverse = 1 / (y * y), power = inverse, sum = 0;
    for (int k = 0; k < N_BERNOULLI; k++, power *= inverse)
        sum += (long double)bernoulli[k] / (2 * k + 2) * power;
    return (double)(r + logl(y) - 1 / (2 * y) - sum);
}

/* Hurwitz zeta by Euler-Maclaurin. */
double ref_zeta(double s, double q) {
    if (isnan(s) || isnan(q) || s < 1 || q < -1e6) /* no one asks further out; the sum would take forever */
        return NAN;
    if (s == 1)
        return INFINITY;
    if (q <= 0) {
        if (q == floor(q))
            return INFINITY;
        if (s != floor(s))
            return NAN;
    }
    long double sum = 0, a = q;
    int terms = 20;
    for (int i = 0; i < terms || a < 20; i++, a += 1)
        sum += powl(a, -(long double)s);
    long double t = powl(a, -(long double)s);
    sum += a * t / ((long double)s - 1) + t / 2;
    long double factor = s, fact = 2, p = t / a; /* s (s+1) ... (s+2k-2) a^-(s+2k-1) B_2k / (2k)! */
    for (int k = 0; k < N_BERNOULLI; k++) {
        long double term = factor * p * (long double)bernoulli[k] / fact;
        sum += term;
        long double m = 2 * k + 1;
        factor *= ((long double)s + m) * ((long double)s + m + 1);
        p /= a * a;
        fact *= (m + 2) * (m + 3);
        if (fabsl(term) < fabsl(sum) * 1e-21L)
            break;
    }
    return (double)sum;
}

double ref_polygamma(double n, double x) {
    if (isnan(n) || isnan(x) || n < 0 || n != floor(n))
        return NAN;
    if (n == 0)
        return ref_digamma(x);
    double sign = fmod(n, 2) == 0 ? -1 : 1;
    return sign * tgamma(n + 1) * ref_zeta(n + 1, x);
}

/* exp(-|x|) I1(x): the power series has no cancellation; far out the asymptotic one is exact to the last bit. */
double ref_bessel_i1e(double x) {
    long double y = fabsl((long double)x), sum, term;
    if (isnan(x))
        return x;
    if (isinf(x))
        return copysign(0.0, x);
    if (y < 40) {
        long double q = y * y / 4;
        sum = term = 1;
        for (int k = 1; term > sum * 1e-21L; k++)
            sum += term *= q / ((long double)k * (k + 1));
        sum *= y / 2 * expl(-y);
    } else {
        sum = term = 1;
        for (int k = 1; k < 30; k++) { /* ratio -(4 - (2k-1)^2) / (8 k y) */
            long double odd = 2 * k - 1;
            term *= -(4 - odd * odd) / (8 * k * y);
            sum += term;
        }
        sum /= sqrtl(2 * 3.141592653589793238462643L * y);
    }
    return (double)copysignl(sum, (long double)x);
}
