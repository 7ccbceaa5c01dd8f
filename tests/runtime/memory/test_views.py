"""Views show parts of a buffer, or all of it in another form, without a copy."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.small_blocks import Array, bump, zeros
from warploom import Engine, Patch
from warploom.engine.diagnostics import Severity
from warploom.engine.patch.document import NodeRef


def _view(patch: Patch, source: NodeRef, block: str, **values: Any) -> NodeRef:
    node = patch.add(f"buffer.{block}", **values)
    patch.connect(source["out"], node["x"])
    return node


def _copied(patch: Patch, source: NodeRef) -> NodeRef:
    return _view(patch, source, "copy")


@given(st.integers(0, 10_000))
@settings(max_examples=many(15))
def test_views_of_views_are_numpys(seed: int) -> None:
    """Chains of slices, transposes, reshapes and other element types equal numpy's, read directly or copied."""
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 3)))
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    patch = Patch()
    node, values = patch.add("io.array", data=data), data
    # The engine's own memory, and the array that numpy's views refer to.
    node = _copied(patch, node)
    steps: list[tuple[NodeRef, Array]] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(["slice", "transpose", "reshape", "reinterpret"])
        if kind == "slice":
            axis = rng.randrange(values.ndim)
            start = rng.randrange(values.shape[axis])
            stop, step = rng.randint(start + 1, values.shape[axis]), rng.randint(1, 3)
            node = _view(patch, node, "slice", axis=axis, start=start, stop=stop, step=step)
            values = np.moveaxis(np.moveaxis(values, axis, 0)[start:stop:step], 0, axis)
        elif kind == "transpose":
            order = rng.sample(range(values.ndim), values.ndim)
            node = _view(patch, node, "transpose", order=", ".join(map(str, order)))
            values = values.transpose(order)
        elif values.flags.c_contiguous and kind == "reshape":
            node = _view(patch, node, "reshape", shape=f"{values.shape[0]}, -1")
            values = values.reshape(values.shape[0], -1)
        elif values.flags.c_contiguous and values.dtype == np.float32:
            node = _view(patch, node, "reinterpret", dtype="u16")
            values = values.view(np.uint16)
        steps.append((node, values))
    copies = [(_copied(patch, node), values) for node, values in steps]
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        for node, values in [*steps, *copies]:
            found = engine.read(node["out"])
            assert found.dtype == values.dtype
            np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("edges", [(0, 3), (2, 5), (6, 7), (0, 7)])
def test_an_in_place_block_on_a_slice_leaves_the_rest(edges: tuple[int, int]) -> None:
    """An in-place block on a slice changes only that part of the buffer."""
    start, stop = edges
    patch = Patch()
    whole = zeros(patch, 7, value=3.0)
    part = bump(patch, _view(patch, whole, "slice", start=start, stop=stop))
    expected = np.full(7, 3.0)
    expected[start:stop] += 1
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            assert not engine.step().diagnostics
            assert engine.read(whole["out"]).tolist() == expected.tolist()
            assert engine.read(part["out"]).tolist() == [4.0] * (stop - start)


def test_two_in_place_blocks_may_change_parts_without_a_common_byte() -> None:
    """Two in-place blocks may change parts without a common byte, after a reader of the whole, or in a loop."""
    patch = Patch()
    whole = zeros(patch, 9, value=1.0)
    before = patch.add("math.scale_offset", scale=10.0)
    patch.connect(whole["out"], before["x"])
    loop = patch.add("control.for", count=3)
    first = bump(patch, _view(patch, whole, "slice", stop=4), loop)
    bump(patch, _view(patch, whole, "slice", start=4, stop=6), amount=7.0)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        assert engine.read(whole["out"]).tolist() == [4, 4, 4, 4, 8, 8, 1, 1, 1]
        assert engine.read(before["out"]).tolist() == [10] * 9
        assert engine.read(first["out"]).tolist() == [4] * 4


def test_two_in_place_blocks_on_parts_with_a_common_element_are_refused() -> None:
    """In-place blocks on parts with a common element are an error with a remedy, and a Copy corrects the patch."""
    patch = Patch()
    whole = zeros(patch, 9)
    bump(patch, _view(patch, whole, "slice", stop=5))
    part = _view(patch, whole, "slice", start=4)
    second = bump(patch, part)
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
        assert problem.severity is Severity.ERROR and problem.node is not None and problem.node.startswith("bump")
        assert "Copy" in problem.remedy
        copy = _copied(patch, part)
        patch.connect(copy["out"], second["x"])
        assert not engine.step().diagnostics
        assert engine.read(second["out"]).tolist() == [1] * 5
