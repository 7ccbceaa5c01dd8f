"""Each function agrees with numpy or mpmath for random bits, all exponents, edge values, and hard angles."""

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.ops.functions.oracles import MPMATH, NUMPY, exact, hard_angles
from tests.ops.functions.running import DTYPES, Array, apply, compiled
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Module
from warploom.engine.ops.functions import FUNCTIONS
from warploom.engine.ops.lowering.ptx import inlined

_NAMES = tuple(FUNCTIONS)


@pytest.fixture(scope="module", params=DTYPES)
def dtype(request: pytest.FixtureRequest) -> str:
    """Each dtype in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def module(device: Device, dtype: str) -> Module:
    """All functions for one dtype."""
    return device.load_module(compiled(_NAMES, dtype)[0])


def _signed(sizes: Array) -> Array:
    """Return distinct numbers with either sign."""
    return np.unique(np.concatenate((sizes, -sizes)).view(f"u{sizes.itemsize}")).view(sizes.dtype)


def special(dtype: str) -> Array:
    """Return numbers for which C's library has special rules."""
    limits = np.finfo(DTYPES[dtype])
    sizes = (0, limits.smallest_subnormal, limits.tiny, 0.5, 1, 2, 3, 2.0**limits.nmant + 1, limits.max, np.inf, np.nan)
    return _signed(np.array(sizes, DTYPES[dtype]))


def edges(dtype: str) -> Array:
    """Return numbers at which a function's code or domain changes, and their neighbours."""
    kind = DTYPES[dtype]
    halves = np.arange(0.25, 10, 0.25)
    ends = (38.53, 44.85, 88.72, 89.41, 103.97, 127.99, 149, 308.25, 323.3, 709.78, 710.47, 745.13, 1023.99, 1074)
    values = np.concatenate((halves, ends, np.pi * halves, 2.0 ** np.arange(-60, 60))).astype(kind)
    return np.concatenate(
        (special(dtype), *(_signed(np.nextafter(values, kind(to))) for to in (0, 1e4)), _signed(values))
    )


def samples(dtype: str, count: int, seed: int) -> Array:
    """Return numbers of all sizes, of medium size, and near 1."""
    random, kind = np.random.default_rng(seed), DTYPES[dtype]
    limits = np.finfo(kind)
    bits = random.integers(0, 2 ** (8 * limits.dtype.itemsize), count, f"u{limits.dtype.itemsize}", endpoint=False)
    medium = random.normal(size=count) * 10 ** random.uniform(-3, 2.5, count)
    near_one = 1 + random.normal(size=count) * 2 ** random.uniform(-limits.nmant, -1, count)
    signs = random.choice((-1, 1), count)
    parts = [bits.view(kind), medium.astype(kind), (signs * near_one).astype(kind)]
    return random.permutation(np.concatenate(parts))


def arguments(name: str, dtype: str) -> list[Array]:
    """Return the arguments for a function; f64 has fewer, since mpmath is slow."""
    count = 4000 if dtype == "f32" else 400
    if FUNCTIONS[name].arity == 1:
        return [np.concatenate((edges(dtype), samples(dtype, count, 1)))]
    grid = np.meshgrid(special(dtype), special(dtype))
    return [np.concatenate((axis.ravel(), samples(dtype, count, seed))) for seed, axis in enumerate(grid)]


@pytest.mark.parametrize("name", ["sin", "exp", "pow", "fmod", "hypot"])
def test_a_call_gives_the_bits_of_inlined_code(
    device: Device, optimised: Device, module: Module, dtype: str, name: str
) -> None:
    """Called and inlined code give the same bits for many threads, except for the bits of a NaN in f64."""
    inline, given = optimised.load_module(inlined(compiled((name,), dtype)[1])), arguments(name, dtype)
    found, expected = apply(device, module, name, given), apply(optimised, inline, name, given)
    if dtype == "f64":
        assert np.array_equal(np.isnan(found), np.isnan(expected))
        found[np.isnan(found)] = expected[np.isnan(expected)] = np.nan
    assert found.tobytes() == expected.tobytes()


def errors_in_ulp(results: Array, wanted: Sequence[Any], dtype: str) -> Array:
    """Return the errors of results in units in the last place of the wanted numbers, which are finite and not 0."""
    limits = np.finfo(DTYPES[dtype])
    end = mpmath.ldexp(1, int(limits.maxexp))  # infinity counts as the number after the largest

    def error(result: float, number: mpmath.mpf) -> float:
        difference = max(-end, min(mpmath.mpf(result), end)) - max(-end, min(number, end))
        exponent = min(max(mpmath.frexp(number)[1], limits.minexp + 1), limits.maxexp)
        return float(mpmath.ldexp(abs(difference), int(limits.nmant + 1 - exponent)))

    if dtype == "f32":
        reference = np.clip(np.array(wanted, np.float64), -float(end), float(end))
        exponents = np.clip(np.frexp(reference)[1], limits.minexp + 1, limits.maxexp)
        differences = np.clip(results.astype(np.float64), -float(end), float(end)) - reference
        return np.asarray(np.ldexp(np.abs(differences), limits.nmant + 1 - exponents))
    with mpmath.workprec(240):
        return np.array([error(*pair) for pair in zip(results.tolist(), map(mpmath.mpf, wanted), strict=True)])


@pytest.mark.parametrize("name", _NAMES)
def test_the_error_is_what_the_table_states(device: Device, module: Module, dtype: str, name: str) -> None:
    """Errors are at most `Function.ulp`, and NaN, infinities and zeros are where C's library has them."""
    given = arguments(name, dtype)
    results = apply(device, module, name, given)
    with np.errstate(all="ignore"):
        wanted = NUMPY[name](*(array.astype(np.float64) for array in given))
        rounded = wanted.astype(DTYPES[dtype])
    undefined = np.isnan(rounded)
    special = np.isinf(wanted) | (wanted == 0)
    differs = (results != rounded) | (np.signbit(results) != np.signbit(rounded))
    wrong = (np.isnan(results) != undefined) | (special & differs)
    assert not wrong.any(), ([array[wrong][:5] for array in given], results[wrong][:5])
    at = np.flatnonzero(~undefined & ~special)
    # The reference for f32 is numpy in f64, and for f64 it is mpmath.
    reference = list(wanted[at])
    if dtype == "f64" and name in MPMATH:
        plain = np.all([np.isfinite(array[at]) & (array[at] != 0) for array in given], axis=0)
        for place, number in zip(np.flatnonzero(plain), exact(name, given, at[plain]), strict=True):
            reference[place] = number
    errors = errors_in_ulp(results[at], reference, dtype)
    worst = int(np.argmax(errors))
    assert errors[worst] <= FUNCTIONS[name].ulp, [array[at[worst]] for array in given]


@pytest.mark.parametrize("name", ("sin", "cos", "tan"))
def test_angles_near_multiples_of_pi_half_are_reduced_exactly(
    device: Device, module: Module, dtype: str, name: str
) -> None:
    """Near multiples of pi / 2, where the reduction cancels all digits, errors are within the table's."""
    limits = np.finfo(DTYPES[dtype])
    exponents = range(-limits.nmant, limits.maxexp - limits.nmant - 1, 1 if dtype == "f32" else 16)
    angles = hard_angles(DTYPES[dtype], exponents)
    results = apply(device, module, name, [angles])
    wanted = exact(name, [angles], range(angles.size))
    assert errors_in_ulp(results, wanted, dtype).max() <= FUNCTIONS[name].ulp
