"""Every mistake in a patch is reported on its node while the last good graph runs; a correction clears the error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.small_blocks import Pair, array, bump, zeros
from warploom import Engine, Patch, UpdateLevel
from warploom.api import Block, BlockBuilder, Kernel, Out, f32, port
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError, Severity
from warploom.engine.patch.changes import Connected, Connection, Disconnected, NodeRegionChanged, PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import KernelFilesChanged, NodeState
from warploom.engine.runtime.check.check_patch import check_patch

#: A mistake: the nodes, one of which reports the mistake, words of the message, and a function that corrects it.
Mistake = tuple[set[str], str, Callable[[], None]]


@pytest.fixture(autouse=True)
def lost_kernels() -> None:
    """Define blocks whose kernel file, or whose entry point, does not exist."""

    class Lost(Block, id="test_small.lost"):
        """Has no kernel."""

        out: Out[f32] = port(shape="[1]", doc="Nothing.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(Kernel("nowhere.cu", "make"), num_threads=1, args=(self.out, 1.0, 1))

    class Misnamed(Block, id="test_small.misnamed"):
        """Names a kernel that its file does not have."""

        out: Out[f32] = port(shape="[1]", doc="Nothing.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(Kernel("buffers.cu", "nobody"), num_threads=1, args=(self.out, 1.0, 1))


def _tie(patch: Patch, source: PortRef, target: PortRef) -> Callable[[], None]:
    """Make a connection that the patch's rules would refuse, as a file may have; return a function that removes it."""
    before = patch.source_of(target)
    wrong = Connection(source, target)
    right = Connection(before, target) if before else None
    patch.restore([*([Disconnected(right)] if right else []), Connected(wrong)])
    return lambda: patch.restore([Disconnected(wrong), *([Connected(right)] if right else [])])


def _removal(patch: Patch, *nodes: NodeRef) -> Callable[[], None]:
    def remove() -> None:
        for node in nodes:
            patch.remove(node)

    return remove


def _scale(patch: Patch, source: NodeRef) -> NodeRef:
    node = patch.add("math.scale_offset", scale=2.0)
    patch.connect(source["out"], node["x"])
    return node


def cycle(patch: Patch) -> Mistake:
    """A ring of three blocks."""
    first = _scale(patch, array(patch, 1))
    middle = _scale(patch, first)
    last = _scale(patch, middle)
    return {first.id, middle.id, last.id}, "depend on themselves", _tie(patch, last["out"], first["x"])


def cycle_through_a_region(patch: Patch) -> Mistake:
    """A block in a loop feeds one outside, which feeds another in the loop."""
    loop = patch.add("control.for", count=1)
    inside = _scale(patch, array(patch, 1))
    outside = _scale(patch, inside)
    other = _scale(patch, array(patch, 1))
    patch.move_into([inside, other], loop)
    return {loop.id, outside.id, other.id}, "depend on themselves", _tie(patch, outside["out"], other["x"])


def wrong_type(patch: Patch) -> Mistake:
    """An f64 array at an input of f32."""
    target = bump(patch, zeros(patch))
    double = patch.add("io.array", data=np.ones(3))
    return {target.id}, "elements must be f32", _tie(patch, double["out"], target["x"])


def wrong_type_that_only_shows_in_shapes(patch: Patch) -> Mistake:
    """An array of f64 behind a block that takes any type."""
    target = bump(patch, zeros(patch))
    copy = patch.add("buffer.copy")
    patch.connect(patch.add("io.array", data=np.ones(3))["out"], copy["x"])
    return {target.id}, "elements must be f32", _tie(patch, copy["out"], target["x"])


def missing_kernel(patch: Patch) -> Mistake:
    """A block whose kernel file is missing."""
    node = patch.add("test_small.lost")
    return {node.id}, "nowhere.cu", _removal(patch, node)


def missing_entry(patch: Patch) -> Mistake:
    """A block whose file lacks its kernel."""
    node = patch.add("test_small.misnamed")
    return {node.id}, "nobody", _removal(patch, node)


def enormous(patch: Patch) -> Mistake:
    """A buffer of 200 GB."""
    node = patch.add("buffer.state", shape="50_000, 1_000_000")
    return {node.id}, f"{200e9 / 2**30:.0f} GB", lambda: patch.set(node, shape="5")


def uncountable(patch: Patch) -> Mistake:
    """More elements than 32 bits count."""
    node = patch.add("buffer.constant", shape="50_000, 50_000")
    return {node.id}, "must be below 2^31 along each axis", lambda: patch.set(node, shape="5")


def undefined(patch: Patch) -> Mistake:
    """A region output without a default that is read outside."""
    choice = patch.add("control.if")
    patch.connect(array(patch, 1)["out"], choice["condition"])
    made = patch.add("test_small.strict", region=choice)
    reader = _scale(patch, made)
    return {made.id}, "left undefined", lambda: patch.move_into(reader, choice)


def wide_struct(patch: Patch) -> Mistake:
    """A port whose struct is larger than the kernel's."""
    node = patch.add("test_small.make_wide_pairs")
    return {node.id}, "WidePair", _removal(patch, node)


def impossible_shape(patch: Patch) -> Mistake:
    """Three numbers plus four."""
    total, four = patch.add("math.add"), array(patch, 1, 2, 3, 4)
    patch.connect(array(patch, 1, 2, 3)["out"], total["x"])
    patch.connect(four["out"], total["y"])
    return {total.id}, "4", lambda: patch.set(four, data=np.ones(3, np.float32))


MISTAKES = [
    cycle,
    cycle_through_a_region,
    wrong_type,
    wrong_type_that_only_shows_in_shapes,
    missing_kernel,
    missing_entry,
    enormous,
    uncountable,
    undefined,
    wide_struct,
    impossible_shape,
]


def good_patch() -> tuple[Patch, NodeRef, NodeRef]:
    """A patch that multiplies a count of frames."""
    patch = Patch()
    state = bump(patch, patch.add("buffer.state", shape="3", dtype="f32"))
    return patch, state, _scale(patch, state)


def _errors(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return [d for d in diagnostics if d.severity is Severity.ERROR]


def _told(problem: Diagnostic, words: str) -> bool:
    return words in f"{problem.message} {problem.expected} {problem.found}" and bool(problem.remedy)


def errors_without_a_device(patch: Patch) -> set[str | None]:
    """Return the nodes with errors that `warploom check` reports."""
    return {d.node for d in check_patch(patch) if d.severity is Severity.ERROR}


@pytest.mark.parametrize("make", MISTAKES, ids=lambda make: make.__name__)
def test_a_mistake_is_reported_while_the_good_graph_runs_on(make: Callable[[Patch], Mistake]) -> None:
    """A mistake is reported at its node with a remedy while frames continue, and a correction clears the error."""
    patch, state, scaled = good_patch()
    with Engine(patch, device="host") as engine:
        engine.step()
        nodes, words, mend = make(patch)
        for frame in (1, 2, 3):
            patch.set(scaled, scale=float(frame))
            report = engine.step()
            (problem,) = _errors(report.diagnostics)
            assert problem.node in nodes and _told(problem, words), problem
            if make not in (missing_kernel, missing_entry, uncountable):  # these errors have no such values
                assert problem.expected and problem.found, problem
            assert report.nodes[problem.node or ""].state is NodeState.ERROR
            assert report.nodes[scaled.id].state is NodeState.OK
            assert report.frame == frame
            assert engine.read(state["out"]).tolist() == [frame + 1] * 3
            assert engine.read(scaled["out"]).tolist() == [(frame + 1) * frame] * 3
        if make not in (enormous, wide_struct):  # only a device or a compiled kernel reveals these mistakes
            assert errors_without_a_device(patch) == {problem.node}
        mend()
        report = engine.step()
        assert report.update_level is UpdateLevel.COLD or make in (missing_kernel, missing_entry)
        assert not _errors(report.diagnostics)
        assert not {NodeState.ERROR, NodeState.IDLE} & {found.state for found in report.nodes.values()}
        assert engine.read(state["out"]).tolist() == [5] * 3


@pytest.mark.parametrize("block", ["reduce.sum", "filter.mean", "filter.weighted", "filter.morphology"])
def test_kernels_that_count_with_32_bits_refuse_more(block: str) -> None:
    """A kernel whose threads each take several elements is refused when it would have 2^31 of them or more."""
    patch = Patch()
    many = patch.add("buffer.state", shape="32_768, 65_536", dtype="u8" if block == "filter.morphology" else "f32")
    node = patch.add(block)
    patch.connect(many["out"], node["x" if block == "reduce.sum" else "image"])
    if block == "filter.weighted":
        patch.connect(patch.add("io.array", data=np.ones((3, 3), np.float32))["out"], node["weights"])
    assert node.id in errors_without_a_device(patch)
    patch.set(many, shape="32_767, 65_536")
    assert not errors_without_a_device(patch)


def test_all_mistakes_are_reported_at_once() -> None:
    """Each of several mistakes gives one error, which goes when that mistake is corrected."""
    patch, state, _ = good_patch()
    makes = [make for make in MISTAKES if make not in (enormous, wide_struct)]
    with Engine(patch, device="host") as engine:
        engine.step()
        made = [make(patch) for make in makes]
        while made:
            found = _errors(engine.step().diagnostics)
            assert len(found) == len(made), found
            for nodes, words, _ in made:
                assert len([d for d in found if d.node in nodes and _told(d, words)]) == 1, words
            made.pop(0)[2]()
        assert not _errors(engine.step().diagnostics)
        assert engine.read(state["out"]).tolist() == [len(makes) + 2] * 3


def break_by_cycle(patch: Patch, chain: list[NodeRef]) -> Callable[[], None]:
    """The end feeds the start."""
    return _tie(patch, chain[-1]["out"], chain[0]["x"])


def break_by_type(patch: Patch, chain: list[NodeRef]) -> Callable[[], None]:
    """The start gets f64."""
    return _tie(patch, patch.add("io.array", data=np.ones(3))["out"], chain[0]["x"])


def break_by_size(patch: Patch, chain: list[NodeRef]) -> Callable[[], None]:
    """The constant that feeds the block is 200 GB large."""
    source = patch["constant"]
    patch.set(source, shape="50_000, 1_000_000")
    return lambda: patch.set(source, shape="3")


def break_by_shape(patch: Patch, chain: list[NodeRef]) -> Callable[[], None]:
    """A sum gets a buffer of another shape."""
    return _tie(patch, array(patch, 1, 2)["out"], patch["add"]["y"])


def break_by_region(patch: Patch, chain: list[NodeRef]) -> Callable[[], None]:
    """The second block moves into the first one, which is not a region block."""
    patch.restore([NodeRegionChanged(chain[1].id, chain[0].id, "")])
    return lambda: patch.restore([NodeRegionChanged(chain[1].id, "", chain[0].id)])


@pytest.mark.parametrize("spoil", [break_by_cycle, break_by_type, break_by_size, break_by_shape, break_by_region])
def test_an_edit_that_breaks_a_running_block_stops_nothing(
    spoil: Callable[[Patch, list[NodeRef]], Callable[[], None]],
) -> None:
    """After an edit that breaks a block, the last good graph continues, and a correction keeps the state."""
    patch, state, _ = good_patch()
    chain = [_scale(patch, zeros(patch, 3, value=1.0))]
    chain += [_scale(patch, chain[0])]
    chain += [_scale(patch, chain[1])]
    total = patch.add("math.add")
    patch.connect(chain[2]["out"], total["x"])
    patch.connect(state["out"], total["y"])
    with Engine(patch, device="host") as engine:
        engine.step()
        mend = spoil(patch, chain)
        for frame in (2, 3, 4):
            patch.set(chain[1], scale=float(frame))
            report = engine.step()
            assert _errors(report.diagnostics)
            assert engine.read(total["out"]).tolist() == [4 * frame + frame] * 3
        mend()
        assert not _errors(engine.step().diagnostics)
        assert engine.read(total["out"]).tolist() == [4 * 4 + 5] * 3


def test_undo_heals_a_buffer_that_is_too_large() -> None:
    """Undoing a buffer that is too large clears the error, and the attempt leaves no memory in use."""
    patch, _, _ = good_patch()
    with Engine(patch, device="host") as engine:
        used = engine.step().statistics.pool_used_bytes
        with patch.edit("Add"):
            nodes, _, _ = enormous(patch)
        assert {d.node for d in _errors(engine.step().diagnostics)} == nodes
        patch.undo()
        assert not engine.step().diagnostics
        assert engine.step().statistics.pool_used_bytes == used


def test_a_struct_that_is_right_runs_beside_one_that_is_wrong() -> None:
    """Of two blocks with one kernel, the one with a wrong struct is reported and the other one runs."""
    patch, _, _ = good_patch()
    pairs = patch.add("test_small.make_pairs")
    with Engine(patch, device="host") as engine:
        engine.step()
        wide = patch.add("test_small.make_wide_pairs")
        assert [d.node for d in _errors(engine.step().diagnostics)] == [wide.id]
        found = engine.read(pairs["out"])
        assert found["first"].tolist() == [0, 0.5, 1, 1.5] and found["second"].tolist() == [0, 1, 2, 3]


def test_a_kernel_that_is_saved_with_another_struct_is_not_swapped_in(tmp_path: Path) -> None:
    """The saved kernel would write past the elements; the last good one runs until the struct is right again."""
    file = tmp_path / "pairs.cu"
    text = (Path(__file__).parents[1] / "small_blocks.cu").read_text()
    file.write_text(text)

    class Pairs(Block, id="test_small.pairs"):
        """Make pairs with a kernel that is edited."""

        out: Out[Pair] = port(shape="[4]", doc="Half its number, and its number.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(Kernel(str(file), "make_pairs"), num_threads=4, args=(self.out, 4))

    def save(new: str) -> KernelFilesChanged:
        file.write_text(new)
        return KernelFilesChanged(frozenset({file.resolve()}))

    patch, state, _ = good_patch()
    pairs = patch.add("test_small.pairs")
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.post(save(text.replace("    unsigned second;", "    unsigned second;\n    float third;")))
        for frame in (2, 3):
            report = engine.step()
            (problem,) = report.diagnostics
            assert problem.node == pairs.id and "Pair" in problem.message and problem.expected and problem.found
            assert report.nodes[state.id].state is NodeState.OK
            assert engine.read(pairs["out"])["second"].tolist() == [0, 1, 2, 3]
            assert engine.read(state["out"]).tolist() == [frame] * 3
        engine.post(save(text.replace("0.5f * i", "2.0f * i")))
        assert not engine.step().diagnostics
        assert engine.read(pairs["out"])["first"].tolist() == [0, 2, 4, 6]


def test_a_missing_input_holds_only_what_needs_it() -> None:
    """A missing input affects only its block, which keeps the old one; other edits apply."""
    patch, state, scaled = good_patch()
    last = _scale(patch, scaled)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.disconnect(scaled["x"])
        other = _scale(patch, state)
        behind = _scale(patch, scaled)
        report = engine.step()
        assert {d.node for d in _errors(report.diagnostics)} == {scaled.id}
        assert engine.read(other["out"]).tolist() == [4] * 3
        assert engine.read(last["out"]).tolist() == [8] * 3
        assert report.nodes[behind.id].state is NodeState.IDLE
        assert report.nodes[behind.id].message == f"not running: it waits for {scaled.id}, which is incomplete"
        patch.remove(other)
        patch.set(last, scale=5.0)
        report = engine.step()
        assert other.id not in report.nodes and engine.read(last["out"]).tolist() == [30] * 3
        patch.connect(state["out"], scaled["x"])
        assert not _errors(engine.step().diagnostics)
        assert engine.read(behind["out"]).tolist() == [16] * 3


def test_a_removed_source_runs_on_while_a_block_needs_it() -> None:
    """The source keeps its value while other blocks come and go, also ones of its own type."""
    patch, state, scaled = good_patch()
    last = _scale(patch, scaled)
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(scaled, scale=3.0)
        engine.step()
        patch.remove(scaled)
        for count in (3, 4):
            other = patch.add("math.scale_offset", scale=2.0)
            patch.connect(state["out"], other["x"])
            report = engine.step()
            assert {d.node for d in _errors(report.diagnostics)} == {last.id}
            assert engine.read(last["out"]).tolist() == [count * 6] * 3
            assert engine.read(other["out"]).tolist() == [count * 2] * 3
        patch.remove(last)
        assert not _errors(engine.step().diagnostics)


@pytest.mark.parametrize("wrong", [None, 5, b"x", ["x"], object(), Patch])
def test_edits_with_values_of_wrong_types_are_refused_and_change_nothing(wrong: object) -> None:
    """An edit with a value of a wrong type raises a PatchError, and changes nothing."""
    patch = Patch()
    saxpy = patch.add("math.saxpy", node_id="saxpy")
    before = {**patch.nodes}
    value: Any = wrong
    calls: list[Callable[[], object]] = [
        lambda: patch.add(value),
        lambda: patch.add("math.saxpy", position=value),
        lambda: patch.connect(value, saxpy["x"]),
        lambda: patch.connect(saxpy["out"], value),
        lambda: patch.set(value, a=1.0),
        lambda: patch.move(saxpy, value),
        lambda: Engine(value, device="host"),
    ]
    if wrong is not None:
        calls += [lambda: patch.add("math.saxpy", node_id=value), lambda: patch.add("math.saxpy", region=value)]
    for call in calls:
        with pytest.raises(PatchError, match="must"):
            call()
    assert patch.nodes == before
    with pytest.raises(DeviceError, match="device must be"):
        Engine(patch, device=value)
