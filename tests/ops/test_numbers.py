"""Every op that computes component by component, on every type, over edge values and random ones."""

import zlib

import numpy as np
import pytest

from engine.device.device import Device
from engine.ops import OPS, GraphBuilder, OpGraph
from tests.ops import reference
from tests.ops.reference import Array, Reference, assert_same
from tests.ops.running import run

_SIZE = 1027
_FLOAT = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 1e-3, 0.1, np.inf, -np.inf, np.nan)


def _samples(kind: str, salt: str) -> Array:
    """Return edge values, each meeting each other in some element, and random numbers."""
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
    """Return a graph of one op each, all fed by the inputs a, b and c."""
    g = GraphBuilder()
    inputs = [g.add("op.input", name, type=kind)["value"] for name in "abc"]
    for name in names:
        ports = [port.name for port in OPS[f"op.{name}"].inputs]
        operands = {port: inputs[at % 3] for at, port in enumerate(ports)}
        g.add("op.output", f"out_{name}", value=g.add(f"op.{name}", name, **operands)["out"])
    return g.graph()


def _names(kind: str) -> list[str]:
    tables = [reference.NUMERIC, reference.FLOATS, reference.COMPARISON, reference.BOOLEAN, {"select": None}]
    if kind != "boolean":
        tables.append({"reinterpret": None})
    if kind[0] != "f":
        tables += [reference.WHOLE, reference.WHOLE_OR_BOOLEAN]
    return [name for table in tables for name in table]


@pytest.mark.parametrize("kind", reference.NUMPY)
def test_ops_give_what_numpy_gives(device: Device, kind: str) -> None:
    """Bit for bit, but for the bits of NaNs."""
    graph = _graph(_names(kind), kind)
    inputs = {name: _samples(kind, name) for name in "abc"}
    expected = Reference(graph, inputs, (_SIZE,)).outputs()
    found = run(device, graph, inputs, _SIZE)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert_same(found[name], array, f"{name} of {kind}")


def test_conversions_truncate_saturate_and_wrap(device: Device) -> None:
    """Every type to every other: floats saturate, whole numbers wrap."""
    g = GraphBuilder()
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
    """An op that is added to these categories is added to the tests' evaluator too."""
    compared = {name for kind in reference.NUMPY for name in _names(kind)} | {"convert", "any", "all"}
    categories = ("Arithmetic", "Shaping", "Logic", "Bits", "Conversion")
    assert {op.id for op in OPS.values() if op.category in categories} == {f"op.{name}" for name in compared}
