#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the constants of src/base/det_lane.h and det.c: minimax polynomials by Remez exchange,
and the parts of pi/2 and ln 2. Needs mpmath."""
import mpmath as mp

mp.mp.prec = 400


def remez(f, weight, lo, hi, n, rounds=12):
    """Coefficients of the degree n-1 polynomial with least max |weight * (p - f)| on [lo, hi]."""
    grid = [lo + (hi - lo) * (1 - mp.cos(mp.pi * (i + mp.mpf(1) / 2) / 1000)) / 2 for i in range(1000)]
    value = [f(z) for z in grid]
    scale = [weight(z) for z in grid]
    node = [int((i + 0.5) * 1000 / (n + 1)) for i in range(n + 1)]
    for _ in range(rounds):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for i, k in enumerate(node):
            for j in range(n):
                a[i, j] = grid[k] ** j
            a[i, n] = (-1) ** i / scale[k]
            b[i] = value[k]
        c = mp.lu_solve(a, b)
        error = [scale[k] * (mp.polyval([c[j] for j in reversed(range(n))], grid[k]) - value[k]) for k in range(1000)]
        # one extremum from each run of equal sign
        best, runs = 0, []
        for k in range(1, 1001):
            if k == 1000 or (error[k] > 0) != (error[best] > 0):
                runs.append(best)
                best = k
            elif abs(error[k]) > abs(error[best]):
                best = k
        while len(runs) > n + 1:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < n + 1 or runs == node:
            break
        node = runs
    worst = max(abs(e) for e in error)
    return [c[j] for j in range(n)], worst


def show(name, f, weight, lo, hi, n):
    c, worst = remez(f, weight, mp.mpf(lo), mp.mpf(hi), n)
    print(f"/* {name}: error 2^{mp.nstr(mp.log(worst, 2), 4)} */")
    print(", ".join(float(x).hex() for x in c))


def series(f, n):
    """A function that is hard to evaluate near 0, by its Taylor series there."""
    t = mp.taylor(f, 0, n)
    return lambda z: mp.polyval(t[::-1], z)


def odd(f):
    return lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def split(x, bits):
    """Parts of x: len(bits) leading ones of the given widths, then a double."""
    out = []
    for b in bits:
        e = mp.floor(mp.log(abs(x), 2))
        part = mp.floor(x / mp.mpf(2) ** (e - b + 1)) * mp.mpf(2) ** (e - b + 1)
        out.append(float(part))
        x -= part
    return out + [float(x)]


q = (mp.pi / 4) ** 2 * mp.mpf("1.0001")
show("sin", odd(mp.sin), lambda z: z, 0, q, 6)
show("cos", lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2, 0, q, 6)
show("atan", odd(mp.atan), lambda z: z, 0, (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.0001"), 11)
show("asin", odd(mp.asin), lambda z: z, 0, mp.mpf("0.2501"), 13)
r = mp.log(2) / 2 * mp.mpf("1.001")
show("exp", lambda x: (mp.exp(x) - 1 - x) / x**2, lambda x: x**2, -r, r, 10)
s = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.001")
show("log", lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2 - 2 * z / 3) / z**2, lambda z: z**2, 0, s, 8)

for name, x, bits in [("pi/2", mp.pi / 2, [33, 33]), ("ln2", mp.log(2), [32]), ("pi", mp.pi, [53]),
                      ("pi/2", mp.pi / 2, [53]), ("pi/4", mp.pi / 4, [53]), ("2/3", mp.mpf(2) / 3, [53])]:
    print(name, ", ".join(v.hex() for v in split(x, bits)))
print("2/pi", float(2 / mp.pi).hex(), "1/ln2", float(1 / mp.log(2)).hex())
mp.mp.prec = 2000
bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1280))
print(", ".join(f"0x{bits >> (1280 - 64 * (i + 1)) & (2**64 - 1):016x}" for i in range(20)))
mp.mp.prec = 400
print("3 * fl(pi/4) - fl(3 * fl(pi/4))", float(3 * mp.mpf(float(mp.pi / 4)) - mp.mpf(3 * float(mp.pi / 4))).hex())
