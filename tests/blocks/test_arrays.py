"""Arithmetic, copies and fills against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Engine, Patch, UpdateLevel
from tests.fuzzing import many

SHAPES = [(1,), (257,), (3, 5, 7)]


def _binary(block: str, x: Any, y: Any, **parameters: Any) -> Any:
    patch = Patch()
    node = patch.add(block, **parameters)
    for port, data in (("x", x), ("y", y)):
        patch.connect(patch.add("io.array", data=data)["out"], node[port])
    with Engine(patch, device="host") as engine:
        report = engine.step()
        assert not report.diagnostics, report.diagnostics
        return engine.read(node["out"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("block", "expected"), [("math.add", np.add), ("math.multiply", np.multiply)])
def test_arithmetic_equals_numpy(block: str, expected: Any, shape: tuple[int, ...]) -> None:
    """Element by element, whatever the shape."""
    x, y = np.random.default_rng(1).normal(size=(2, *shape)).astype(np.float32)
    np.testing.assert_array_equal(_binary(block, x, y), expected(x, y))


@settings(max_examples=many(8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(count=st.integers(1, 700), a=st.floats(-10, 10, width=32))
def test_saxpy_equals_numpy(count: int, a: float) -> None:
    """a * x + y, for any length."""
    x = np.linspace(-3, 7, count, dtype=np.float32)
    y = np.cos(x)
    np.testing.assert_allclose(_binary("math.saxpy", x, y, a=a), a * x + y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("block", ["math.saxpy", "math.add", "math.multiply"])
def test_operands_of_different_shapes_are_refused(block: str) -> None:
    """A shorter y would be read beyond its end."""
    patch = Patch()
    node = patch.add(block)
    patch.connect(patch.add("io.array", data=np.zeros(300, np.float32))["out"], node["x"])
    patch.connect(patch.add("io.array", data=np.zeros(299, np.float32))["out"], node["y"])
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
    assert (problem.node, problem.port) == (node.id, "y")
    assert "must be of shape [300]" in problem.message and "got [299]" in problem.message


def test_scale_offset_is_live() -> None:
    """scale * x + offset, and new values cost a parameter write."""
    x = np.arange(10, dtype=np.float32)
    patch = Patch()
    node = patch.add("math.scale_offset", scale=2.0, offset=-1.0)
    patch.connect(patch.add("io.array", data=x)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), 2 * x - 1)
        patch.set(node, scale=-0.5, offset=4.0)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(node["out"]), -0.5 * x + 4)


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "f2", "f8"])
def test_copy_takes_any_type(dtype: str) -> None:
    """The copy has the source's type, shape and contents."""
    data = np.arange(15).reshape(3, 5).astype(dtype)
    patch = Patch()
    node = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=data)["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        out = engine.read(node["out"])
    assert out.dtype == data.dtype
    np.testing.assert_array_equal(out, data)


def test_copy_keeps_what_an_image_was(photograph: Any) -> None:
    """Elements may be vectors."""
    patch = Patch()
    source, node = patch.add("io.image_array", data=photograph), patch.add("buffer.copy")
    patch.connect(source["out"], node["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), engine.read(source["out"]))


def test_fill_is_live() -> None:
    """Every element has the value, and the value can change."""
    patch = Patch()
    node = patch.add("buffer.fill", count=1001, value=2.5)
    with Engine(patch, device="host") as engine:
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), np.full(1001, 2.5, np.float32))
        patch.set(node, value=-7.0)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_array_equal(engine.read(node["out"]), np.full(1001, -7, np.float32))
