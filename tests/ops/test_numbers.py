"""Every op that computes component by component, on every type, with edge values and random values."""

import zlib

import numpy as np
import pytest
from scipy import special

from tests.ops import reference, reference_numbers
from tests.ops.reference import Reference, assert_same
from tests.ops.reference_numbers import Array
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OPS, OpGraph, OpGraphBuilder, compile_graph
from warploom.engine.ops.functions import FUNCTIONS

_SIZE = 1027
_FLOAT = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 1e-3, 0.1, np.inf, -np.inf, np.nan)


def _samples(kind: str, salt: str) -> Array:
    """Return edge values, so that each pair of them meets in some element, and random numbers."""
    dtype = np.dtype(reference.NUMPY[kind])
    random = np.random.default_rng(zlib.crc32(f"{kind} {salt}".encode()))
    if dtype.kind == "b":
        return random.integers(0, 2, _SIZE).astype(bool)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        edges = np.array([*_FLOAT, info.max, -info.max, info.tiny, info.smallest_subnormal, -info.smallest_subnormal])
        scale = np.exp2(random.uniform(-20, 20, _SIZE))
        rest = (random.normal(size=_SIZE) * scale).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        numbers = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, limits.max, limits.max - 1, limits.min, limits.min + 1]
        edges = np.array([*numbers, *([-1, -2, -7] if limits.min else [])], dtype)
        rest = random.integers(limits.min, limits.max, _SIZE, dtype=dtype, endpoint=True)
        rest[::2] >>= np.array(dtype.itemsize * 8 - 8, dtype)
    edges = edges.astype(dtype)
    count = len(edges)
    shift = {"a": 0, "b": 1, "c": 2}[salt]
    rest[: count * count] = np.roll(edges[np.arange(count * count) // (1, count, 5)[shift] % count], shift)
    return rest


def _graph(names: list[str], kind: str) -> OpGraph:
    """Return a graph with one of each op, all fed by the inputs a, b and c."""
    g = OpGraphBuilder()
    inputs = [g.add("op.input", name, type=kind)["value"] for name in "abc"]
    for name in names:
        ports = [port.name for port in OPS[f"op.{name}"].inputs]
        operands = {port: inputs[at % 3] for at, port in enumerate(ports)}
        g.add("op.output", f"out_{name}", value=g.add(f"op.{name}", name, **operands)["out"])
    return g.graph()


def _names(kind: str) -> list[str]:
    tables = [
        reference_numbers.NUMERIC,
        reference_numbers.FLOATS,
        reference_numbers.COMPARISON,
        reference_numbers.BOOLEAN,
        {"select": None},
    ]
    if kind != "boolean":
        tables.append({"reinterpret": None})
    if kind[0] != "f":
        tables += [reference_numbers.WHOLE, reference_numbers.WHOLE_OR_BOOLEAN]
    return [name for table in tables for name in table]


@pytest.mark.parametrize("kind", reference.NUMPY)
def test_ops_give_what_numpy_gives(device: Device, kind: str) -> None:
    """Ops on numbers equal numpy bit for bit, except for the bits of NaNs."""
    graph = _graph(_names(kind), kind)
    inputs = {name: _samples(kind, name) for name in "abc"}
    expected = Reference(graph, inputs, (_SIZE,)).outputs()
    found = run(device, graph, inputs, _SIZE)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert_same(found[name], array, f"{name} of {kind}")


def test_conversions_truncate_saturate_and_wrap(device: Device) -> None:
    """From every type to every other one, floats saturate and integers wrap."""
    g = OpGraphBuilder()
    inputs = {}
    for kind in reference.NUMPY:
        inputs[kind] = _samples(kind, "a")
        value = g.add("op.input", kind, type=kind)["value"]
        for to in reference.NUMPY:
            g.add("op.output", f"{kind}_to_{to}", value=g.add("op.convert", f"{kind}2{to}", x=value, type=to)["out"])
    expected = Reference(g.graph(), inputs, (_SIZE,)).outputs()
    for name, found in run(device, g.graph(), inputs, _SIZE).items():
        assert_same(found, expected[name], name)


def test_every_op_that_computes_by_component_is_compared() -> None:
    """Every op that computes by component is in the evaluator's table."""
    compared = (
        {name for kind in reference.NUMPY for name in _names(kind)} | {"convert", "any", "all"} | FUNCTIONS.keys()
    )
    categories = ("Arithmetic", "Functions", "Shaping", "Logic", "Bits", "Conversion")
    in_table = {op.id.removeprefix("op.") for op in OPS.values() if op.category in categories}
    assert in_table == compared - {"mod", "fmod"}


#: Names of functions that numpy or scipy calls differently.
_NAMES = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}


def _oracle(name: str, *operands: Array) -> Array:
    """Return a function's results in f64, for every type."""
    wide = [operand.astype(np.float64) for operand in operands]
    match name:
        case "fract":
            return wide[0] - np.floor(wide[0])
        case "round_away":
            return np.trunc(wide[0] + np.copysign(0.5, wide[0]))
        case "exp10" | "rsqrt":
            return 10 ** wide[0] if name == "exp10" else 1 / np.sqrt(wide[0])
        case "atan2" | "pow":
            return (np.arctan2 if name == "atan2" else np.power)(*wide)
    found = getattr(np, _NAMES.get(name, name), None) or getattr(special, name)
    return np.asarray(found(*wide))


def test_functions_are_those_of_their_names(device: Device) -> None:
    """Functions are within 3 units in the last place of numpy's or scipy's, or within 1e-4 if fast."""
    names = [name for name in FUNCTIONS if name not in ("mod", "fmod")]
    g = OpGraphBuilder()
    for name in names:
        op = OPS[f"op.{name}"]
        kinds = {"f32": {}} if not op.settings else {"f32": {}, "fast": {"precision": "fast"}}
        for kind, settings in {**kinds, "s32": {}}.items():
            if not (kind == "s32" and name != "floor" and name != "sin"):
                sources = [
                    g.add("op.input", f"{letter}_{name}_{kind}", type="f32" if kind != "s32" else kind)
                    for letter in "xy"
                ]
                ports = dict(
                    zip([port.name for port in op.inputs], [source["value"] for source in sources], strict=False)
                )
                g.add(
                    "op.output",
                    f"{name}_{kind}",
                    value=g.add(f"op.{name}", f"{name}-{kind}", **ports, **settings)["out"],
                )
    x, y = np.linspace(0.05, 0.95, 1023, dtype=np.float32), np.linspace(3, 1, 1023, dtype=np.float32)
    inputs = {}
    for port in compile_graph(g.graph()).inputs:
        letter, _, rest = port.name.partition("_")
        shifted = x + np.float32(1) if rest.startswith("acosh") else x
        inputs[port.name] = (
            (shifted if letter == "x" else y) if port.dtype == "f32" else np.arange(1023, dtype=np.int32)
        )
    found = run(device, g.graph(), inputs, 1023)
    for key, array in found.items():
        name, _, kind = key.rpartition("_")
        operands = [inputs[f"{letter}_{key}"] for letter in "xy"][: len(OPS[f"op.{name}"].inputs)]
        expected = _oracle(name, *operands)
        if kind == "fast":
            np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-4, err_msg=key)
        else:
            units = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
            assert (np.abs(array - expected) <= 3 * units).all(), key
