"""Regions in the engine: their results, the cost of their edits, and their outputs when they are skipped."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.conftest import Kernels
from tests.runtime.small_blocks import Bump, add_to, array, bump, zeros
from warploom import Engine, Patch, UpdateLevel
from warploom.api import (
    Block,
    BlockBuilder,
    Composite,
    CompositeBuilder,
    Out,
    any_type,
    bf16,
    boolean,
    c64,
    f16,
    port,
    s16,
    uchar4,
)
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import DeviceError, Mend, Severity
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import NodeState, SetKernelTimeLimit
from warploom.engine.types import DType


def read(engine: Engine, node: NodeRef, port: str = "out") -> list[Any]:
    """Return the contents of a port, as a list."""
    return engine.read(node[port]).tolist()  # type: ignore[no-any-return]


def _loops(patch: Patch, counts: list[int], around: NodeRef | str = "") -> NodeRef:
    """Place nested For blocks and return the innermost."""
    for count in counts:
        around = patch.add("control.for", count=count, region=around)
    assert isinstance(around, NodeRef)
    return around


@pytest.mark.parametrize("counts", [[], [2], [1000, 1000]])
def test_a_loop_that_is_stopped_is_named_as_the_patch_names_it(counts: list[int]) -> None:
    """A loop that is stopped is reported as the outermost loop, whose iterations are counted."""
    patch = Patch()
    outer = patch.add("control.while", limit=10_000_000)
    patch.connect(array(patch, np.ones(1, np.float32))["out"], outer["condition"])
    bump(patch, zeros(patch), _loops(patch, counts, outer))
    device = HostDevice(cores=1)
    with Engine(patch, device=device) as engine:
        engine.post(SetKernelTimeLimit(0.25))
        with pytest.raises(DeviceError, match=rf"^node {outer.id}: loop must end by itself, got [\d,]+ turns.* 0.25 s"):
            engine.step()
        report = engine.take_report()
    device.close()
    assert report is not None and [item.node for item in report.diagnostics if item.severity == "error"] == [outer.id]
    assert [item.mend for item in report.diagnostics if item.severity == "error"] == [Mend.LIFT_LIMIT]


@pytest.mark.parametrize("counts", [[2, 3, 4], [1, 0, 5], [3, 1, 1, 2], [0, 2, 2]])
def test_the_turns_of_nested_loops_multiply(counts: list[int]) -> None:
    """A value that each turn of nested loops changes counts the product of all counts, which may be 0."""
    patch = Patch()
    last = bump(patch, zeros(patch), _loops(patch, counts))
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            assert not engine.step().diagnostics
            assert read(engine, last) == [np.prod(counts)]


@given(
    kinds=st.lists(st.sampled_from(["for", "if", "while", "then", "else"]), min_size=3, max_size=4),
    numbers=st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
@settings(max_examples=many(15))
def test_regions_of_all_kinds_nest(kinds: list[str], numbers: list[int]) -> None:
    """A block runs as often as the product of all regions around it: iterations of loops, 0 or 1 for branches."""
    patch = Patch()
    around: NodeRef | str = ""
    expected = 1
    for kind, number in zip(kinds, numbers, strict=False):
        if kind == "for":
            around = patch.add("control.for", count=number, region=around)
            expected *= number
            continue
        if kind == "while":
            # The number is made again in each iteration of the outer loops, so that it counts down each time.
            left = patch.add("buffer.constant", value=float(number), region=around)
            region = patch.add("control.while", region=around)
            patch.connect(left["out"], region["condition"])
            bump(patch, left, region, amount=-1.0)
            expected *= number
            around = region
            continue
        condition = array(patch, number)
        region = patch.add("control.if" if kind == "if" else "control.if_else", region=around)
        patch.connect(condition["out"], region["condition"])
        around = region.otherwise if kind == "else" else region
        expected *= int((number != 0) != (kind == "else"))
    last = bump(patch, zeros(patch), around)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            assert not [d for d in engine.step().diagnostics if d.severity is Severity.ERROR]
            assert read(engine, last) == [expected]


def test_the_index_of_each_of_three_loops_is_right_inside() -> None:
    """The blocks sum 9 i + 3 j + k over all iterations; after the loops, each index is its count."""
    patch = Patch()
    total = zeros(patch)
    loops = [patch.add("control.for", count=2)]
    for count in (3, 4):
        loops.append(patch.add("control.for", count=count, region=loops[-1]))
    store = total
    for loop, factor in zip(loops, (9.0, 3.0, 1.0), strict=True):
        number = patch.add("buffer.convert", dtype="f32", region=loops[-1])
        patch.connect(loop["index"], number["x"])
        scaled = patch.add("math.scale_offset", scale=factor, region=loops[-1])
        patch.connect(number["out"], scaled["x"])
        store = add_to(patch, store, scaled, "out", loops[-1])
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            assert not engine.step().diagnostics
            expected = sum(9 * i + 3 * j + k for i in range(2) for j in range(3) for k in range(4))
            assert read(engine, store) == [expected]
            assert [read(engine, loop, "index") for loop in loops] == [[2], [3], [4]]


@pytest.mark.parametrize(("block", "expected"), [("make", [1.5] * 3), ("make_four", [[1.5] * 4] * 3)])
def test_a_skipped_output_holds_what_it_declares(block: str, expected: list[Any]) -> None:
    """Each element of a skipped output is the default for all readers, even if the region ran before."""
    patch = Patch()
    count = patch.add("control.for", count=0)
    made = patch.add(f"test_small.{block}", region=count)
    copy = patch.add("buffer.copy")
    patch.connect(made["out"], copy["x"])
    with Engine(patch, device="host") as engine:
        for turns in (0, 1, 0, 0):
            patch.set(count, count=turns)
            assert not engine.step().diagnostics
            wanted = expected if not turns else [[7, 8, 9, 10]] * 3 if block == "make_four" else [7] * 3
            assert read(engine, copy) == wanted
            assert read(engine, made) == wanted


@pytest.mark.parametrize(
    ("dtype", "expected"), [(bf16, 0x3FC0), (f16, 1.5), (s16, 1), (boolean, True), (c64, 1.5 + 1.5j), (uchar4, [1] * 4)]
)
def test_defaults_are_numbers_of_the_type(dtype: DType, expected: object) -> None:
    """Each number of a default is the nearest one of its type; bf16 is compared by its bits."""

    class Typed(Block, id="test_small.typed"):
        """Never runs."""

        out: Out[any_type] = port(dtype="given", shape="[3]", default=1.5, doc="Ones and a half.")

        def describe(self, build: BlockBuilder) -> None:
            build.define(self.out, dtype=dtype)
            build.fill(self.out, 0)

    patch = Patch()
    loop = patch.add("control.for", count=0)
    made, copy = patch.add("test_small.typed", region=loop), patch.add("buffer.copy")
    patch.connect(made["out"], copy["x"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        assert read(engine, copy) == [expected] * 3


def test_a_default_is_filled_in_each_turn_of_the_loop_around() -> None:
    """In a loop, an If that is skipped after the first turn outputs its default, not the first turn's result."""
    patch = Patch()
    total, once = zeros(patch, 3), zeros(patch, value=1.0)
    loop = patch.add("control.for", count=3)
    choice = patch.add("control.if", region=loop)
    patch.connect(once["out"], choice["condition"])
    made = patch.add("test_small.make", region=choice)
    store = add_to(patch, total, made, "out", loop)
    off = patch.add("test_small.bump", region=loop, amount=-0.5)
    half = patch.add("math.scale_offset", region=loop, scale=0.0, offset=0.0)
    patch.connect(store["out"], half["x"])  # the condition changes after the branch
    patch.connect(once["out"], off["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        # The condition is 1, 0.5 and 0 in the three iterations.
        assert read(engine, store) == [7 + 7 + 1.5] * 3


def test_an_output_that_must_not_leave_its_region_is_refused() -> None:
    """The error names the node, the port and a remedy; inside the region the output may be read."""
    patch = Patch()
    choice = patch.add("control.if")
    patch.connect(array(patch, 0)["out"], choice["condition"])
    made = patch.add("test_small.strict", region=choice)
    inside = patch.add("buffer.copy", region=choice)
    patch.connect(made["out"], inside["x"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        outside = patch.add("buffer.copy")
        patch.connect(made["out"], outside["x"])
        (problem,) = engine.step().diagnostics
        assert (problem.node, problem.port) == (made.id, "out")
        assert "left undefined" in problem.message and problem.expected and problem.found and problem.remedy
        patch.disconnect(outside["x"])
        patch.remove(outside)
        assert not engine.step().diagnostics


def test_a_live_parameter_inside_three_regions_is_hot() -> None:
    """A live parameter inside three regions is HOT, and the next frame has the value."""
    patch = Patch()
    inner = _loops(patch, [2, 2])
    choice = patch.add("control.if", region=inner)
    patch.connect(array(patch, 1)["out"], choice["condition"])
    last = bump(patch, zeros(patch), choice)
    with Engine(patch, device="host") as engine:
        engine.step()
        for amount in (2.5, -1.0, 0.0):
            patch.set(last, amount=amount)
            assert engine.step().update_level is UpdateLevel.HOT
            assert read(engine, last) == [4 * amount]
        patch.set(inner, count=5)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.step().update_level is UpdateLevel.NONE


def test_a_kernel_that_is_saved_inside_a_body_is_swapped(kernels: Kernels) -> None:
    """A saved kernel inside a body is swapped at level CODE; a broken one leaves the last good version running."""
    patch = Patch()
    loop = _loops(patch, [3])
    scale = patch.add("test_run.scale", factor=3.0, region=loop)
    patch.connect(array(patch, 2)["out"], scale["x"])
    store = add_to(patch, zeros(patch), scale, "out", loop)
    with Engine(patch, device="host") as engine:
        engine.step()
        assert read(engine, store) == [18]
        text = (kernels.folder / "scale.cu").read_text()
        engine.post(kernels.write("scale.cu", text.replace("x[i] * factor", "x[i] - factor")))
        assert engine.step().update_level is UpdateLevel.CODE
        assert read(engine, store) == [-3]
        engine.post(kernels.write("scale.cu", "nonsense"))
        report = engine.step()
        assert [d.node for d in report.diagnostics] == [scale.id]
        assert read(engine, store) == [-3]
        engine.post(kernels.write("scale.cu", text))
        assert not engine.step().diagnostics
        assert read(engine, store) == [18]


@pytest.mark.parametrize("limit", [0, 2])
def test_the_warning_of_a_limit_goes_when_the_loop_is_mended(limit: int) -> None:
    """The warning of a loop's limit shows the number of turns, and is gone in the first frame after the edit."""
    patch = Patch()
    left = zeros(patch, value=3)
    loop = patch.add("control.while", limit=limit)
    patch.connect(left["out"], loop["condition"])
    last = bump(patch, left, loop, amount=-1.0)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            report = engine.step()
            (problem,) = report.diagnostics
            assert (problem.severity, problem.node) == (Severity.WARNING, loop.id)
            assert f"more than {limit} turns" in problem.message and problem.remedy
            assert report.nodes[loop.id].state is NodeState.WARNING
            assert read(engine, last) == [3 - limit]
        patch.set(loop, limit=3)
        report = engine.step()
        assert report.update_level is UpdateLevel.HOT
        assert not report.diagnostics and report.nodes[loop.id].state is NodeState.OK
        assert read(engine, last) == [0]
        patch.set(loop, limit=limit)
        assert len(engine.step().diagnostics) == 1
        patch.set(left, value=float(limit))
        assert not engine.step().diagnostics


def test_one_stopped_turn_among_many_is_reported() -> None:
    """An inner loop that is stopped only in the first turn of the outer loop is reported."""
    patch = Patch()
    outer = _loops(patch, [3])
    inner = patch.add("control.for", limit=1, region=outer)
    wanted = zeros(patch, value=2)
    patch.connect(wanted["out"], inner["counts"])
    last = bump(patch, zeros(patch), inner)
    bump(patch, wanted, outer, amount=-1.0)
    with Engine(patch, device="host") as engine:
        for _ in range(2):
            assert [d.node for d in engine.step().diagnostics] == [inner.id]
            assert read(engine, last) == [1 + 1 + 0]


@pytest.fixture
def thrice() -> type[Composite]:
    """Define a composite of a loop that adds to its own copy of the input three times."""

    class Thrice(Composite, id="test_small.thrice"):
        """Add three times."""

        def compose(self, build: CompositeBuilder) -> None:
            copy = build.add_child("buffer.copy", "copy")
            loop = build.add_child("control.for", "loop", count=3)
            more = build.add_child(Bump, "more", region=loop)
            build.connect_children(copy["out"], more["x"])
            build.expose_input("x", copy["x"])
            build.expose_output("out", more["out"])
            build.expose_parameter("amount", more)
            build.expose_parameter("count", loop)

    return Thrice


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_composite_that_holds_a_loop_runs_inside_loops(thrice: type[Composite], depth: int) -> None:
    """A composite with a loop runs inside loops, and its exposed parameters are HOT."""
    patch = Patch()
    around = _loops(patch, [2] * depth) if depth else ""
    inside = patch.add("test_small.thrice", region=around)
    patch.connect(array(patch, 1, 2)["out"], inside["x"])
    total = add_to(patch, zeros(patch, 2), inside, "out", around)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        assert read(engine, total) == [4 * 2**depth, 5 * 2**depth]
        patch.set(inside, amount=0.5, count=4)
        assert engine.step().update_level is UpdateLevel.HOT
        assert read(engine, total) == [3 * 2**depth, 4 * 2**depth]
        assert read(engine, inside) == [3, 4]


def test_a_block_may_move_in_and_out_of_a_region() -> None:
    """Moving a block into or out of a region is a rebuild with a new engine's results."""
    patch = Patch()
    outer = _loops(patch, [3])
    inner = _loops(patch, [2], outer)
    last = bump(patch, zeros(patch))
    with Engine(patch, device="host") as engine:
        for region, expected in (("", 1), (outer, 3), (inner, 6), (outer, 3), ("", 1), (inner, 6)):
            patch.move_into(last, region)
            engine.step()
            assert read(engine, last) == [expected]
            with Engine(patch, device="host") as other:
                other.step()
                assert read(other, last) == [expected]


def test_removing_a_region_leaves_what_was_inside_running() -> None:
    """The contents of a removed region run once a frame, and undo restores the loop."""
    patch = Patch()
    loop = _loops(patch, [4])
    last = bump(patch, zeros(patch), loop)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.remove(loop)
        assert not engine.step().diagnostics
        assert read(engine, last) == [1]
        patch.undo()
        assert not engine.step().diagnostics
        assert read(engine, last) == [4]


def test_empty_regions_run_with_a_warning() -> None:
    """An empty For of three iterations runs with a warning, and its index is 3 afterwards."""
    patch = Patch()
    loop = _loops(patch, [3])
    with Engine(patch, device="host") as engine:
        (problem,) = engine.step().diagnostics
        assert (problem.severity, problem.node) == (Severity.WARNING, loop.id)
        assert read(engine, loop, "index") == [3]


def test_both_branches_may_change_the_same_buffer() -> None:
    """Both branches may change one buffer in place, since only one of them runs."""
    patch = Patch()
    total, decide = zeros(patch, value=10), zeros(patch)
    choice = patch.add("control.if_else")
    patch.connect(decide["out"], choice["condition"])
    first = bump(patch, total, choice, amount=1.0)
    second = bump(patch, total, choice.otherwise, amount=2.0)
    with Engine(patch, device="host") as engine:
        for value, expected in ((0.0, 12), (1.0, 11), (-0.0, 12), (-3.0, 11)):
            patch.set(decide, value=value)
            assert not engine.step().diagnostics
            assert read(engine, first) == read(engine, second) == [expected]


def test_defaults_of_a_skipped_region_do_not_depend_on_the_source() -> None:
    """Computed buffers, uploaded arrays, user memory and views read as zeros until the region runs again."""
    patch = Patch()
    number = patch.add("buffer.constant", value=0.0)
    region = patch.add("control.if")
    patch.connect(number["out"], region["condition"])
    own = np.full(4, 3, np.float32)
    made = [
        patch.add("buffer.constant", value=3.0, shape="4", region=region),
        patch.add("io.array", data=own.copy(), region=region),
        patch.add("io.external", array=own, region=region),
        patch.add("buffer.slice", region=region),
        patch.add("math.scale_offset", region=region),
    ]
    patch.connect(made[1]["out"], made[3]["x"])
    patch.connect(made[2]["out"], made[4]["x"])
    readers = [patch.add("math.scale_offset", scale=2.0) for _ in made]
    for node, reader in zip(made, readers, strict=True):
        patch.connect(node["out"], reader["x"])
    alone = patch.add("io.array", data=own.copy(), region=region)  # no block reads this array
    with Engine(patch, device="host") as engine:
        for value in (1.0, 0.0, 1.0, 0.0):
            patch.set(number, value=value)
            assert not engine.step().diagnostics
            for reader in readers:
                assert engine.read(reader["out"]).tolist() == [6 * value] * 4
            for node in (*made[:3], alone):
                assert engine.read(node["out"]).tolist() == [3 * value] * 4
    assert own.tolist() == [3] * 4
