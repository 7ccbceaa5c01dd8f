"""Oracles of the functions: numpy and C's library, both in f64, for f32, and mpmath for f64."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mpmath
import numpy as np

from warploom.engine.types import Array


def _round_away(x: Array) -> Array:
    whole = np.trunc(np.abs(x))
    return np.copysign(whole + (np.abs(x) - whole >= 0.5), x)


def _fraction(x: Array) -> Array:
    """Return x - floor(x), which rounding may make 1. The kernels then return the largest number below 1."""
    return np.asarray(x - np.floor(x))


#: Functions in f64. They also decide which results are NaN, infinite or zero.
NUMPY: dict[str, Callable[..., Array]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "pow": np.power,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "hypot": np.hypot,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "round_away": _round_away,
    "fract": _fraction,
    "fmod": np.fmod,
    "mod": np.mod,
    "erf": np.vectorize(math.erf),
    "erfc": np.vectorize(math.erfc),
}


def _power(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    return mpmath.power(abs(x), y) * (-1 if x < 0 and y % 2 == 1 else 1)


#: Exact functions of finite numbers, for results that are finite and not zero.
MPMATH: dict[str, Callable[..., mpmath.mpf]] = {
    **{name: getattr(mpmath, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh")},
    **{name: getattr(mpmath, name) for name in ("tanh", "asinh", "acosh", "atanh", "exp", "expm1", "log", "log1p")},
    **{name: getattr(mpmath, name) for name in ("log10", "sqrt", "hypot", "floor", "ceil", "erf", "erfc")},
    "exp2": lambda x: mpmath.power(2, x),
    "exp10": lambda x: mpmath.power(10, x),
    "log2": lambda x: mpmath.log(x) / mpmath.ln2,
    "pow": _power,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "trunc": lambda x: mpmath.sign(x) * mpmath.floor(abs(x)),
    "round": mpmath.nint,
    "round_away": lambda x: mpmath.sign(x) * mpmath.floor(abs(x) + 0.5),
    "fract": lambda x: x - mpmath.floor(x),
}


def exact(name: str, arguments: Sequence[Array], at: Iterable[int]) -> list[mpmath.mpf]:
    """Return exact results, to 70 digits, for some elements of the arrays."""
    function = MPMATH[name]
    with mpmath.workprec(240):
        return [function(*(mpmath.mpf(float(array[i])) for array in arguments)) for i in at]


def hard_angles(dtype: type[np.floating[Any]], exponents: range) -> Array:
    """Return floats m 2^e, for each exponent e, that are closer to a multiple of pi / 2 than any with a smaller m.

    These m are the denominators of the convergents of 2^e / (pi / 2).
    """
    precision = np.finfo(dtype).nmant + 1
    found = []
    with mpmath.workprec(1300):
        for exponent in exponents:
            rest, before, last = mpmath.ldexp(2 / mpmath.pi, exponent), 0, 1
            while last < 2**precision:
                found.append(np.ldexp(dtype(last), exponent))
                rest = 1 / (rest - mpmath.floor(rest))
                before, last = last, int(rest) * last + before
    return np.array(found, dtype)
