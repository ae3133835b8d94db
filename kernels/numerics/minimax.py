"""Prints the polynomial coefficients of math_f32.h, math_f64.h, trig_f64.h, erf_f64.h and of the estimate in
kernels/activation/gelu_codes.h, with the error of each minimax.

Every polynomial is the Chebyshev interpolant of the named function on the named interval, computed
with 100 digits and then rounded to the working precision, lowest coefficient first.
Needs mpmath: python3 kernels/numerics/minimax.py
"""

import re
import struct

from mpmath import (atan, atanh, cos, erf, erfc, exp, expm1, fabs, log, log1p, lu_solve, matrix, mp,
                    mpf, pi, sin, sqrt)

mp.dps = 100
LN2, SQRT2 = log(2), sqrt(mpf(2))


def to_f32(v):
    return struct.unpack("f", struct.pack("f", float(v)))[0]


def hexf(v, single):
    return (re.sub(r"0{7}p", "p", to_f32(v).hex()) + "f") if single else float(v).hex()


def off_zero(x):
    """The functions below have a removable gap at 0."""
    return x if fabs(x) > mpf(10)**-15 else mpf(10)**-15


def minimax(name, f, lo, hi, degree, single):
    n = degree + 1
    lo, hi = mpf(lo), mpf(hi)
    nodes = [off_zero((lo + hi) / 2 + (hi - lo) / 2 * cos(pi * (2 * k + 1) / (2 * n)))
             for k in range(n)]
    a = matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            a[i, j] = x**j
    c = lu_solve(a, matrix([f(x) for x in nodes]))
    rounded = [mpf(to_f32(v)) if single else mpf(float(v)) for v in c]
    worst = mpf(0)
    for k in range(1, 400):
        x = off_zero(lo + (hi - lo) * k / 400)
        worst = max(worst, fabs(sum(rounded[j] * x**j for j in range(n)) - f(x)))
    print(f"{name}: degree {degree} on [{float(lo):.6g}, {float(hi):.6g}], error {float(worst):.2e}")
    for v in c:
        print("   ", hexf(v, single))


def odd_rest(f, z):
    """(f(sqrt z) / sqrt z - 1) / z, the tail of an odd function with f(x) ~ x."""
    s = sqrt(z)
    return (f(s) / s - 1) / z


def erfcx_of(u):
    """erfc(t) exp(t^2) * (t + 2) / 2 with u = (t - 2) / (t + 2)."""
    t = 2 * (1 + u) / (1 - u)
    return erfc(t) * exp(t * t) * (t + 2) / 2 if t < 60 else asymptotic_erfcx(t) * (t + 2) / 2


def asymptotic_erfcx(t):
    s, term = mpf(1), mpf(1)
    for k in range(1, 12):
        term *= -(2 * k - 1) / (2 * t * t)
        s += term
    return s / (t * sqrt(pi))


def main():
    half_ln2 = LN2 / 2 + mpf(2) ** -20
    for single in (True, False):
        bits = "f32" if single else "f64"
        minimax(f"{bits} (exp(r) - 1 - r) / r^2", lambda r: (expm1(r) - r) / r**2, -half_ln2, half_ln2,
            5 if single else 10, single)
        minimax(f"{bits} (2^r - 1) / r", lambda r: expm1(r * LN2) / r, -0.5, 0.5, 6 if single else 12,
            single)
    minimax("f32 (log(1+f) - f + f^2/2) / f^3", lambda f: (log1p(f) - f + f * f / 2) / f**3,
        1 / SQRT2 - 1, SQRT2 - 1, 8, True)
    minimax("f32 erf(x)/x - 1 in x^2", lambda z: erf(sqrt(z)) / sqrt(z) - 1, 0, mpf("0.9216"), 6, True)
    minimax("f32 -log(erfc(t))", lambda t: -log(erfc(t)), "0.9", "4", 9, True)
    step = mpf("4.85") / mpf("15.5")
    for i in range(16):
        minimax(f"f32 gelu(x) - x at steps of 4.85 / 15.5 from {i}",
            lambda d, i=i: -(i + d) * step / 2 * erfc((i + d) * step / SQRT2), -0.5 if i else 0, 0.5, 3, True)
    minimax("f64 (atanh(s)/s - 1 - s^2/3) / s^4 in s^2",
        lambda z: (odd_rest(atanh, z) - mpf(1) / 3) / z, 0, (3 - 2 * SQRT2)**2, 7, False)
    quarter = (pi / 4 + mpf(2) ** -20)**2
    minimax("f64 (sin(x)/x - 1) / x^2 in x^2", lambda z: odd_rest(sin, z), 0, quarter, 6, False)
    minimax("f64 (cos(x) - 1 + x^2/2) / x^4 in x^2", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, 0,
        quarter, 6, False)
    minimax("f64 (atan(x)/x - 1) / x^2 in x^2", lambda z: odd_rest(atan, z), 0, (SQRT2 - 1)**2, 12, False)
    minimax("f64 erf(x)/x - 1 in x^2", lambda z: erf(sqrt(z)) / sqrt(z) - 1, 0, 1, 13, False)
    minimax("f64 erfcx(t)(t+2)/2 in (t-2)/(t+2)", erfcx_of, -1, 1, 24, False)
    for name, value in (("ln2", LN2), ("log2(e)", 1 / LN2), ("log10(2)", LN2 / log(10)),
                        ("log10(e)", 1 / log(10)), ("pi/2", pi / 2), ("pi", pi), ("1/3", mpf(1) / 3)):
        parts, rest = [], value
        for _ in range(3):
            parts.append(float(rest).hex())
            rest -= mpf(float(rest))
        print(f"{name} in double parts: {' '.join(parts)}")
    mp.dps = 420
    bits = int(mp.floor(2 / pi * mpf(2)**1280))
    print("2/pi bits:", " ".join(f"0x{(bits >> (1280 - 64 * (k + 1))) & (2**64 - 1):016x}"
                                 for k in range(20)))


if __name__ == "__main__":
    main()
