"""Minimum and maximum follow numpy's rule, with -0 below 0, in expressions, fused chains, reductions and tensors."""

from typing import Any

import numpy as np
import pytest

from tests.fuzzing import FACTOR, seeds
from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.types import Array
from warploom.tensors import Tensor

NAMES = {"f2": "f16", "f4": "f32", "f8": "f64"}
#: The types of expressions that are tried without fusion too.
APART = ("f4",) if FACTOR == 1 else ("f2", "f4", "f8")


def numbers(rng: np.random.Generator, dtype: str, size: int) -> Array:
    """Return numbers that include NaNs of both signs, infinities, zeros of both signs, and subnormal ones."""
    info = np.finfo(dtype)
    special = [
        np.nan,
        -np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        0.25,
        1,
        -1,
        info.smallest_subnormal,
        -info.tiny / 2,
        info.max,
    ]
    made: Array = rng.normal(size=size).astype(dtype)
    places = rng.random(size) < 0.6
    made[places] = rng.choice(np.array(special, dtype), places.sum())
    return made


def extreme(a: Array, b: Array, *, largest: bool) -> Array:
    """Return numpy's extreme, except that -0 is below 0, which numpy does not distinguish."""
    found: Array = (np.maximum if largest else np.minimum)(a, b)
    signs = np.signbit(a) & np.signbit(b) if largest else np.signbit(a) | np.signbit(b)
    return np.where((a == 0) & (b == 0), np.where(signs, a.dtype.type(-0.0), a.dtype.type(0.0)), found)


def along(lines: Array, *, largest: bool) -> Array:
    """Return the extreme along the first axis."""
    found = lines[:1]
    for line in lines[1:]:
        found = extreme(found, line, largest=largest)
    return found


def clamp(x: Array, low: Array, high: Array) -> Array:
    return extreme(extreme(x, low, largest=True), high, largest=False)


def smoothstep(low: Array, high: Array, x: Array) -> Array:
    t = clamp((x - low) / (high - low), np.zeros_like(x), np.ones_like(x))
    return t * t * (3 - 2 * t)


FORMULAS: dict[str, Any] = {
    "max(x, y)": lambda x, y, z: extreme(x, y, largest=True),
    "min(x, y)": lambda x, y, z: extreme(x, y, largest=False),
    "max(x, y, z)": lambda x, y, z: extreme(extreme(x, y, largest=True), z, largest=True),
    "clamp(x, y, z)": clamp,
    "max(x, 0)": lambda x, y, z: extreme(x, np.zeros_like(x), largest=True),
    "min(0, x)": lambda x, y, z: extreme(x, np.zeros_like(x), largest=False),
    "max(-0.0, x)": lambda x, y, z: extreme(x, -np.zeros_like(x), largest=True),
    "min(x, -0.0)": lambda x, y, z: extreme(x, -np.zeros_like(x), largest=False),
    "max(min(x, 0.25), -0.25)": lambda x, y, z: clamp(x, np.full_like(x, -0.25), np.full_like(x, 0.25)),
    "saturate(x)": lambda x, y, z: clamp(x, np.zeros_like(x), np.ones_like(x)),
    "smoothstep(y, z, x)": lambda x, y, z: smoothstep(y, z, x),
}


def same(found: Array, expected: Array, what: str) -> None:
    np.testing.assert_array_equal(found, expected, what)
    numeric = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numeric], np.signbit(expected)[numeric], what)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize(
    ("fuse", "dtype"), [(True, "f2"), (True, "f4"), (True, "f8"), *((False, each) for each in APART)]
)
def test_expressions_and_reductions_have_one_rule(device: Device, dtype: str, fuse: bool, seed: int) -> None:
    """In expressions and reductions, any NaN makes the result NaN, and other extremes equal numpy's."""
    rng = np.random.default_rng([seed, ord(dtype[1])])
    x, y, z = (numbers(rng, dtype, int(size)) for size in [rng.choice([1, 3, 77, 1027])] * 3)
    computed = "f8" if dtype == "f8" else "f4"
    patch, ports = Patch(), {}
    sources = {name: patch.add("io.array", data=data) for name, data in (("x", x), ("y", y), ("z", z))}
    for formula in FORMULAS:
        reads = [name for name in "xyz" if name in formula.replace("max", "")]
        text = ", ".join(f"{name}: {NAMES[dtype]}" for name in reads)
        node = patch.add("kernel.expression", expression=formula, reads=text)
        for name in reads:
            patch.connect(sources[name]["out"], node[name])
        reduced = []
        for kind in ("largest", "smallest"):
            reduction = patch.add(f"reduce.{kind}")
            patch.connect(node["out"], reduction["x"])
            reduced.append(reduction["out"])
        ports[formula] = (node["out"], *reduced)
    with Engine(patch, device=device, fuse=fuse) as engine, np.errstate(all="ignore"):
        assert not engine.step().diagnostics
        for formula, (out, largest, smallest) in ports.items():
            expected = FORMULAS[formula](*(array.astype(computed) for array in (x, y, z)))
            found = engine.read(out)
            assert found.dtype == np.dtype(computed)
            same(found, expected, formula)
            same(engine.read(largest), along(expected, largest=True).astype(np.float32), formula)
            same(engine.read(smallest), along(expected, largest=False).astype(np.float32), formula)


@pytest.mark.parametrize("device_name", ["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_tensors_have_the_same_rule(device_name: str, dtype: str) -> None:
    """Tensors follow the rule element by element and along an axis, even if a reduction takes several steps."""
    rng = np.random.default_rng(ord(dtype[1]))
    a, b = numbers(rng, dtype, 3000), numbers(rng, dtype, 3000)
    x, y = (Tensor.from_numpy(array, device=device_name) for array in (a, b))
    same(x.maximum(y).numpy(), extreme(a, b, largest=True), "maximum")
    same(x.minimum(y).numpy(), extreme(a, b, largest=False), "minimum")
    for shape in ((3000, 1), (1000, 3), (30, 100)):
        square = a.reshape(shape)
        for axis in (0, 1):
            reshaped = x.reshape(shape)
            for name, largest in (("max", True), ("min", False)):
                expected = along(np.moveaxis(square, axis, 0), largest=largest)
                same(getattr(reshaped, name)(axis=axis).numpy().reshape(expected.shape), expected, f"{name} {shape}")
