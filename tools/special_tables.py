"""Writes src/aten/special_tables.inc: Chebyshev coefficients for special functions, computed from mpmath (pip install mpmath).

The series of the Bessel functions stop where their terms fall below 1e-17 of the largest, which is enough for f64; a lowering for f32 takes
as many terms as it needs. The others are for f32 only: 2e-9. `python tools/special_tables.py > src/aten/special_tables.inc`
"""

from mpmath import airyai, besseli, besselj, besselk, bessely, cos, erfc, exp, log, mp, mpf, pi, sin, sqrt

mp.dps = 60


def coefficients(f, wide):
    """c[k] with f(t) = sum of c[k] T_k(t) on [-1, 1]; c[0] is halved already."""
    n = 100 if wide else 48
    at = [cos(pi * (2 * j + 1) / (2 * n)) for j in range(n)]
    values = [f(t) for t in at]
    c = [2 * sum(v * cos(k * pi * (2 * j + 1) / (2 * n)) for j, v in enumerate(values)) / n for k in range(n)]
    c[0] /= 2
    limit = max(abs(x) for x in c) * mpf("1e-17" if wide else "2e-9")
    while len(c) > 1 and abs(c[-1]) < limit:
        c.pop()
    assert len(c) < n - 4, "does not converge"
    return c


def table(name, meaning, f):
    wide = name.startswith(("cheb_i", "cheb_j", "cheb_k", "cheb_y"))
    c = coefficients(f, wide)
    numbers = ", ".join(mp.nstr(x, 20 if wide else 12, strip_zeros=False, min_fixed=0, max_fixed=0) for x in c)
    print(f"/* {meaning} */\nstatic const double {name}[] = {{{numbers}}};")


def on(low, high):
    """t in [-1, 1] to [low, high]."""
    return lambda t: low + (high - low) * (t + 1) / 2


def modulus(x, j, y, shift):
    """P and Q of J = sqrt(2/(pi x)) (P cos(x - shift) - Q sin(x - shift)), Y = sqrt(2/(pi x)) (P sin + Q cos)."""
    a, s = sqrt(pi * x / 2), x - shift
    return a * (j * cos(s) + y * sin(s)), a * (y * cos(s) - j * sin(s))


def bessel_far(order, which):
    shift = pi / 4 + order * pi / 2

    def f(z):  # z = 8/x
        if z < mpf("1e-12"):
            z = mpf("1e-12")
        x = 8 / z
        p, q = modulus(x, besselj(order, x), bessely(order, x), shift)
        return p if which == 0 else q / z

    return f


def main():
    print(
        "/* special_tables.inc - Chebyshev coefficients of special functions; written by tools/special_tables.py. */"
    )
    small, far = on(0, 8), on(0, 1)
    table("cheb_i0_near", "exp(-x) I0(x), x in [0, 8]", lambda t: exp(-small(t)) * besseli(0, small(t)))
    table(
        "cheb_i0_far",
        "sqrt(x) exp(-x) I0(x), 8/x in [0, 1]",
        lambda t: (lambda x: sqrt(x) * exp(-x) * besseli(0, x))(8 / max(far(t), mpf("1e-6"))),
    )
    table("cheb_i1_near", "exp(-x) I1(x) / x, x in [0, 8]", lambda t: (lambda x: exp(-x) * besseli(1, x) / x)(max(small(t), mpf("1e-20"))))
    table(
        "cheb_i1_far",
        "sqrt(x) exp(-x) I1(x), 8/x in [0, 1]",
        lambda t: (lambda x: sqrt(x) * exp(-x) * besseli(1, x))(8 / max(far(t), mpf("1e-6"))),
    )
    two = on(0, 4)  # x^2
    table(
        "cheb_k0_near",
        "K0(x) + log(x/2) I0(x), x^2 in [0, 4]",
        lambda t: (lambda x: besselk(0, x) + log(x / 2) * besseli(0, x))(sqrt(max(two(t), mpf("1e-20")))),
    )
    table(
        "cheb_k1_near",
        "x (K1(x) - log(x/2) I1(x)), x^2 in [0, 4]",
        lambda t: (lambda x: x * (besselk(1, x) - log(x / 2) * besseli(1, x)))(
            sqrt(max(two(t), mpf("1e-20")))
        ),
    )
    table("cheb_i0_four", "I0(x), x^2 in [0, 4]", lambda t: besseli(0, sqrt(two(t))))
    table(
        "cheb_i1_four",
        "I1(x)/x, x^2 in [0, 4]",
        lambda t: (lambda x: besseli(1, x) / x)(sqrt(max(two(t), mpf("1e-20")))),
    )
    table(
        "cheb_k0_far",
        "sqrt(x) exp(x) K0(x), 2/x in [0, 1]",
        lambda t: (lambda x: sqrt(x) * exp(x) * besselk(0, x))(2 / max(far(t), mpf("1e-6"))),
    )
    table(
        "cheb_k1_far",
        "sqrt(x) exp(x) K1(x), 2/x in [0, 1]",
        lambda t: (lambda x: sqrt(x) * exp(x) * besselk(1, x))(2 / max(far(t), mpf("1e-6"))),
    )
    square = on(0, 64)  # x^2
    root = lambda t: sqrt(max(square(t), mpf("1e-20")))  # noqa: E731
    table("cheb_j0_near", "J0(x), x^2 in [0, 64]", lambda t: besselj(0, root(t)))
    table("cheb_j1_near", "J1(x)/x, x^2 in [0, 64]", lambda t: besselj(1, root(t)) / root(t))
    table(
        "cheb_y0_near",
        "Y0(x) - 2/pi log(x) J0(x), x^2 in [0, 64]",
        lambda t: bessely(0, root(t)) - 2 / pi * log(root(t)) * besselj(0, root(t)),
    )
    table(
        "cheb_y1_near",
        "(Y1(x) - 2/pi (log(x) J1(x) - 1/x))/x, x^2 in [0, 64]",
        lambda t: (
            (bessely(1, root(t)) - 2 / pi * (log(root(t)) * besselj(1, root(t)) - 1 / root(t))) / root(t)
        ),
    )
    eighth = on(0, 1)  # (8/x)^2
    for order in (0, 1):
        for which, name in ((0, "p"), (1, "q")):
            f = bessel_far(order, which)
            table(
                f"cheb_j{order}_{name}",
                f"{'P' if which == 0 else 'Q x/8'} of order {order}, (8/x)^2 in [0, 1]",
                lambda t, f=f: f(sqrt(max(eighth(t), mpf("1e-8")))),
            )
    three = on(mpf(-8), mpf(8))  # x^3
    cube = lambda t: (abs(three(t)) ** (mpf(1) / 3)) * (1 if three(t) >= 0 else -1)  # noqa: E731

    # Ai(x) = f(x^3) - x g(x^3); split by the cube roots of unity
    def split(t, part):
        w = mp.expjpi(mpf(2) / 3)
        z = mpf(cube(t))
        z = z if abs(z) > mpf("1e-10") else mpf("1e-10")
        a = [airyai(z), airyai(w * z), airyai(w * w * z)]
        if part == 0:
            return mp.re(sum(a) / 3)
        return -mp.re((a[0] + a[1] / w + a[2] / (w * w)) / 3 / z)

    table("cheb_ai_f", "f of Ai(x) = f - x g, x^3 in [-8, 8]", lambda t: split(t, 0))
    table("cheb_ai_g", "g of Ai(x) = f - x g, x^3 in [-8, 8]", lambda t: split(t, 1))
    zmin = mpf(2) / 3 * mpf(2) ** mpf(1.5)
    inverse = on(0, 1 / zmin)  # 1/zeta

    def airy_right(t):
        zeta = 1 / max(inverse(t), mpf("1e-4"))
        x = (mpf(3) / 2 * zeta) ** (mpf(2) / 3)
        return 2 * sqrt(pi) * x ** mpf(0.25) * exp(zeta) * airyai(x)

    table(
        "cheb_ai_right",
        "2 sqrt(pi) x^(1/4) exp(zeta) Ai(x), 1/zeta in [0, 0.5303], zeta = 2/3 x^1.5",
        airy_right,
    )

    def airy_left(t, which):
        zeta = 1 / max(inverse(t), mpf("1e-4"))
        x = (mpf(3) / 2 * zeta) ** (mpf(2) / 3)
        a, b, s = airyai(-x), mp.airybi(-x), zeta + pi / 4
        k = sqrt(pi) * x ** mpf(0.25)
        return k * (a * sin(s) + b * cos(s)) if which == 0 else k * (b * sin(s) - a * cos(s)) * zeta

    table(
        "cheb_ai_p",
        "P of Ai(-x) = (P sin(zeta + pi/4) - Q cos(zeta + pi/4)) / (sqrt(pi) x^(1/4))",
        lambda t: airy_left(t, 0),
    )
    table("cheb_ai_q", "Q zeta of the same", lambda t: airy_left(t, 1))

    def erfcx(t):  # t = 4/(4 + x)
        x = 4 / max((t + 1) / 2, mpf("1e-12")) - 4
        if x > 100:
            y = 1 / (2 * x * x)
            return (1 + 2 * x) / (x * sqrt(pi)) * (1 - y + 3 * y**2 - 15 * y**3 + 105 * y**4)
        return exp(x * x) * erfc(x) * (1 + 2 * x)

    table("cheb_erfcx", "(1 + 2x) exp(x^2) erfc(x), 4/(4 + x) in [0, 1]", erfcx)
    low, high = mpf(1) / 15, mpf(1) / mpf("1.2")

    def ndtri(t):  # z = 1/x, x = sqrt(-2 log p)
        x = 1 / on(low, high)(t)
        p = exp(-x * x / 2)
        # Newton on log of the tail, from a close start
        y = x - log(x) / x
        for _ in range(60):
            tail = erfc(y / sqrt(2)) / 2
            d = exp(-y * y / 2) / sqrt(2 * pi)
            y += (log(tail) - log(p)) * tail / d
        return (x - log(x) / x - y) * x

    table("cheb_ndtri", "x (x - log(x)/x + ndtri(p)), x = sqrt(-2 log p), 1/x in [1/15, 1/1.2]", ndtri)


main()
