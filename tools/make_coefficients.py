"""Write engine/ops/functions/coefficients.py: minimax polynomials and constants. Needs mpmath.

Each polynomial minimises the relative error of the whole function, not of the polynomial alone. The exchange algorithm
runs on a grid of Chebyshev points, where mpmath computes the function once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpmath import mp, mpf

Real = Callable[[mpf], mpf]
mp.dps = 60
TARGET = Path(__file__).parents[1] / "engine" / "ops" / "functions" / "coefficients.py"
PRECISION = {"f32": 24, "f64": 53}


def fit(wanted: Real, weight: Real, low: mpf, high: mpf, degree: int) -> tuple[list[mpf], mpf]:
    """Return the polynomial p, lowest coefficient first, whose |p - wanted| weight has the least maximum, and that."""
    count = 32 * (degree + 2)
    middle, radius = (low + high) / 2, (high - low) / 2
    grid = [middle - radius * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    values, weights = [wanted(x) for x in grid], [weight(x) for x in grid]
    places = [round((i + 0.5) * count / (degree + 2)) for i in range(degree + 2)]
    for _ in range(40):
        rows = [[((grid[p] - middle) / radius) ** k for k in range(degree + 1)] + [(-1) ** i / weights[p]]
                for i, p in enumerate(places)]  # fmt: skip
        *scaled, level = mp.lu_solve(mp.matrix(rows), mp.matrix([values[p] for p in places]))
        errors = [(mp.polyval(scaled[::-1], (x - middle) / radius) - v) * w
                  for x, v, w in zip(grid, values, weights, strict=True)]  # fmt: skip
        runs: list[int] = []
        for i, error in enumerate(errors):
            if runs and (error > 0) == (errors[runs[-1]] > 0):
                if abs(error) > abs(errors[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > degree + 2:
            del runs[0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1]
        worst = max(abs(error) for error in errors)
        if len(runs) < degree + 2 or worst <= abs(level) * mpf("1.001"):
            break
        places = runs
    shifted = [mpf(0)] * (degree + 1)  # expand the powers of (x - middle) / radius
    for k, c in enumerate(scaled):
        for j in range(k + 1):
            shifted[j] += c / radius**k * mp.binomial(k, j) * (-middle) ** (k - j)
    return shifted, worst


def least(bits: mpf, wanted: Real, weight: Real, low: mpf, high: mpf) -> tuple[list[mpf], mpf]:
    """Return the fit of least degree whose error is at most 2^-bits."""
    for degree in range(2, 40):
        polynomial, error = fit(wanted, weight, low, high, degree)
        if error <= mpf(2) ** -bits:
            return polynomial, error
    raise ValueError(f"a degree below 40 must reach 2^-{bits}")


def of_square(function: Real, taken: Real, power: int, top: mpf) -> tuple[Real, Real, mpf, mpf]:
    """Return what to fit as a polynomial in z = x^2 up to x = `top` so that function(x) = taken(x) + x^power p(z)."""
    return (
        lambda z: (function(mp.sqrt(z)) - taken(mp.sqrt(z))) / mp.sqrt(z) ** power,
        lambda z: abs(mp.sqrt(z) ** power / function(mp.sqrt(z))),
        mpf(10) ** -12,
        top**2,
    )


def identity(x: mpf) -> mpf:
    return x


def power_of(base: int) -> tuple[Real, Real, mpf, mpf]:
    top = mp.log(2) / mp.log(base) * mpf("0.5005")
    return lambda x: (mp.power(base, x) - 1) / x, lambda x: abs(x) / mp.power(base, x), -top, top


def log_tail(z: mpf) -> mpf:
    s = mp.sqrt(z)
    return ((mp.log((1 + s) / (1 - s))) / s - 2 - 2 * z / 3) / z**2


HALF_LN2, QUARTER = mp.log(2) * mpf("0.5005"), mp.pi / 4 * mpf("1.01")
POLYNOMIALS: dict[str, tuple[str, tuple[Real, Real, mpf, mpf], int]] = {
    "EXP": ("exp(r) = 1 + r + r^2 p(r), |r| <= ln(2) / 2",
            (lambda r: (mp.expm1(r) - r) / r**2, lambda r: abs(r**2 / mp.expm1(r)), -HALF_LN2, HALF_LN2), 4),
    "EXP2": ("2^r = 1 + r p(r), |r| <= 1/2", power_of(2), 4),
    "EXP10": ("10^r = 1 + r p(r), |r| <= log10(2) / 2", power_of(10), 4),
    "LOG": ("log(1 + f) = f + f^2 p(f), sqrt(1/2) <= 1 + f <= sqrt(2)",
            (lambda f: (mp.log1p(f) - f) / f**2, lambda f: abs(f**2 / mp.log1p(f)),
             mp.sqrt(mpf("0.5")) - 1, mp.sqrt(2) - 1), 4),
    "LOG_TAIL": ("log((1 + s) / (1 - s)) = 2 s + 2/3 s^3 + s^5 p(s^2), |s| <= 3 - sqrt(8)",
                 (log_tail, lambda z: z**2 / 2, mpf(10) ** -6, (3 - mp.sqrt(8)) ** 2), 14),
    "SIN": ("sin(r) = r + r^3 p(r^2), |r| <= pi/4", of_square(mp.sin, identity, 3, QUARTER), 4),
    "COS": ("cos(r) = 1 - r^2 / 2 + r^4 p(r^2), |r| <= pi/4",
            of_square(mp.cos, lambda x: 1 - x * x / 2, 4, QUARTER), 4),
    "TAN": ("tan(r) = r + r^3 p(r^2), |r| <= pi/4", of_square(mp.tan, identity, 3, QUARTER), 4),
    "ASIN": ("asin(x) = x + x^3 p(x^2), |x| <= 1/2", of_square(mp.asin, identity, 3, mpf("0.5")), 4),
    "ATAN": ("atan(x) = x + x^3 p(x^2), |x| <= 1", of_square(mp.atan, identity, 3, mpf(1)), 4),
    "SINH": ("sinh(x) = x + x^3 p(x^2), |x| <= 1", of_square(mp.sinh, identity, 3, mpf(1)), 4),
    "TANH": ("tanh(x) = x + x^3 p(x^2), |x| <= 0.55", of_square(mp.tanh, identity, 3, mpf("0.55")), 4),
    "ERF": ("erf(x) = x + x p(x^2), |x| <= 1", of_square(mp.erf, identity, 1, mpf(1)), 4),
}  # fmt: skip
CONSTANTS: dict[str, mpf] = {
    "HALF_PI": mp.pi / 2,
    "LN2": mp.log(2),
    "LOG2_E": 1 / mp.log(2),
    "LOG10_2": mp.log10(2),
    "LOG10_E": mp.log10(mp.e),
    "LOG2_10": 1 / mp.log10(2),
    "TWO_OVER_PI": 2 / mp.pi,
    "TWO_THIRDS": mpf(2) / 3,
}


def scaled_erfc(dtype: str) -> tuple[str, tuple[Real, Real, mpf, mpf], int]:
    """Return the fit for erfc: exp(x^2) erfc(x) (1 + 2 x) in t, which maps [1/2, the last x] close to [-1, 1]."""
    last, k = mpf("10.2") if dtype == "f32" else mpf("27.4"), mpf(4)

    def wanted(t: mpf) -> mpf:
        x = k * (1 + t) / (1 - t)
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)

    text = "erfc(x) = exp(-x^2) (ERFC_FIRST + t p(t)) / (1 + 2 x), t = (x - 4) / (x + 4), 1/2 <= x"
    return text, (wanted, lambda t: 1 / wanted(t), (mpf("0.5") - k) / (mpf("0.5") + k), (last - k) / (last + k)), 4


def rounded(value: mpf, dtype: str) -> mpf:
    """Return the value rounded to a format."""
    with mp.workprec(PRECISION[dtype]):
        return +value


def written(value: mpf, dtype: str) -> str:
    return str(np.float32(float(rounded(value, dtype)))) if dtype == "f32" else repr(float(value))


def lines(name: str, comment: str, values: list[mpf], dtype: str) -> str:
    text, line = f'    # {comment}\n    "{name}": (', ""
    rows = []
    for value in values:
        item = written(value, dtype) + ", "
        if len(line) + len(item) > 104:
            rows.append(line.rstrip())
            line = ""
        line += item
    rows.append(line.rstrip())
    return text + "\n" + "\n".join(f"        {row}" for row in rows) + "\n    ),\n"


def main() -> None:
    """Write the file."""
    doc = "Polynomials, lowest coefficient first, and constants; written by tools/make_coefficients.py."
    out = [f'"""{doc}"""\n\nfrom fractions import Fraction\n\n# fmt: off\n']
    constants = dict(CONSTANTS)
    for dtype, bits in PRECISION.items():
        out.append(f"_{dtype.upper()} = {{\n")
        for name, (comment, what, guard) in {**POLYNOMIALS, "ERFC_REST": scaled_erfc(dtype)}.items():
            polynomial, error = least(bits + guard, *what)
            if name == "ERFC_REST":
                constants[f"ERFC_FIRST_{dtype}"], *polynomial = polynomial
            out.append(lines(name, f"{comment}; error 2^{float(mp.log(error, 2)):.1f}", polynomial, dtype))
        out.append("}\n")
    with mp.workprec(1400):
        words = int(mp.floor(2 / mp.pi * mpf(2) ** 1280))
    out.append("\n#: Constants with more digits than any format holds, which `ScalarValue.parts` splits.\n")
    out.append("CONSTANTS: dict[str, Fraction] = {\n")
    out += [f'    "{name}": Fraction("{mp.nstr(value, 60)}"),\n' for name, value in constants.items()]
    out.append("}\n")
    out.append('\nTABLES: dict[str, dict[str, tuple[float, ...]]] = {"f32": _F32, "f64": _F64}\n')
    out.append("\n#: The first 1,280 bits of 2 / pi after the point.\nTWO_OVER_PI_BITS = int(\n")
    text = f"{words:0320x}"
    out.append("".join(f'    "{text[i : i + 80]}"\n' for i in range(0, 320, 80)) + "    , 16)\n")
    TARGET.write_text("".join(out))


if __name__ == "__main__":
    main()
