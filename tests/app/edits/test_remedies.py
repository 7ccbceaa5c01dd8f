"""Each remedy's button fixes its problem in one undo step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from warploom.app.edits.compatible import ends
from warploom.app.edits.remedies import Remedy, connection_remedies, remedies
from warploom.engine.diagnostics import Diagnostic, Mend, PatchError, error
from warploom.engine.inner_patches.op_patch import OpPatch
from warploom.engine.patch.changes import Mode, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch
from warploom.engine.runtime.check.check_patch import check_patch


def ref(text: str) -> PortRef:
    """Return the port that is written as "node.port"."""
    return PortRef(*text.split("."))


def build(nodes: dict[str, tuple[str, dict[str, Any]]], *wires: str) -> Patch:
    """Return a patch of nodes, by id, with connections such as "a.out b.x"."""
    patch = Patch()
    for name, (kind, values) in nodes.items():
        patch.add(kind, node_id=name, **values)
    for wire in wires:
        patch.connect(*map(ref, wire.split()))
    return patch


def size(patch: Patch, node: str) -> tuple[float, float]:
    """Return the size that each block has on this canvas."""
    return 120.0, 60.0


def images(**sizes: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return a square image node of the given width for each name."""
    return {name: ("image.noise", {"width": size, "height": size}) for name, size in sizes.items()}


DELAY: dict[str, tuple[str, dict[str, Any]]] = {"d": ("buffer.frame_delay", {})}
MIX: tuple[str, dict[str, Any]] = ("image.mix", {})

CASES: dict[str, tuple[Callable[[], Patch], list[str]]] = {
    "a loop of two sizes": (
        lambda: build(
            {**images(p=4, q=6), **DELAY, "m": MIX, "n": MIX},
            "d.out m.a",
            "p.out m.b",
            "m.out n.a",
            "q.out n.b",
            "n.out d.x",
        ),
        ["Connect like to p.out", "Connect like to q.out"],
    ),
    "a view that has gaps": (
        lambda: build(
            {
                "z": ("io.array", {"data": np.ones((2, 2), np.float32)}),
                "t": ("buffer.transpose", {}),
                "s": ("math.saxpy", {}),
                "one": ("io.array", {"data": np.ones((2, 2), np.float32)}),
            },
            *("z.out t.x", "t.out s.x", "one.out s.y"),
        ),
        ["Insert Copy"],
    ),
    "another element type": (
        lambda: build(
            {
                "c": ("buffer.constant", {"dtype": "u32"}),
                "one": ("io.array", {"data": np.ones(1, np.float32)}),
                "s": ("math.saxpy", {}),
            },
            *("c.out s.x", "one.out s.y"),
        ),
        ["Insert Convert"],
    ),
    "other pixels": (
        lambda: build(
            {
                "p": ("io.image_array", {"data": np.ones((4, 4), np.float32), "pixels": "half4"}),
                "w": ("io.image_array", {"data": np.ones((3, 3), np.float32), "pixels": "uchar4"}),
                "c": ("signal.convolve", {}),
            },
            *("p.out c.image", "w.out c.weights"),
        ),
        ["Insert Convert Pixels"],
    ),
    "an image where single numbers are taken": (
        lambda: build({**images(p=4), "c": ("math.compare", {})}, "p.out c.x"),
        ["Insert Expression"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_click_mends_the_problem(case: str) -> None:
    """Each button solves the problem, so the check is clean afterwards, and undo brings the problem back."""
    make, titles = CASES[case]
    problems = check_patch(make())
    assert [[r.title for r in remedies(make(), p, size)] for p in problems] == [titles], problems
    for choice in range(len(titles)):
        patch = make()
        before, steps = dump_patch(patch), len(patch.history.names)
        (problem,) = check_patch(patch)
        edit = remedies(patch, problem, size)[choice].edit
        assert edit is not None
        edit()
        assert check_patch(patch) == []
        assert len(patch.history.names) == steps + 1
        patch.undo()
        assert dump_patch(patch) == before


def test_a_bypassed_block_that_passes_nothing_on_can_be_used_again() -> None:
    """What it feeds has a connection but gets nothing, since the formula makes vectors of numbers now."""
    patch = build({"n": ("buffer.constant", {}), "e": ("kernel.expression", {}), "s": ("reduce.sum", {})})
    patch.connect(ref("n.out"), ref("e.x"))
    patch.connect(ref("e.out"), ref("s.x"))
    patch.set_mode("e", "bypassed")
    assert check_patch(patch) == []
    patch.set("e", expression="vec(x, x, x, x).x")
    assert check_patch(patch) == []
    patch.set("e", expression="vec(x, x, x, x)")
    (problem,) = check_patch(patch)
    (remedy,) = remedies(patch, problem, size)
    assert remedy.title == "Use Expression again" and remedy.edit is not None
    remedy.edit()
    assert patch.nodes["e"].mode is Mode.ACTIVE


def test_a_loop_that_nothing_enters_asks_for_a_block() -> None:
    """For a loop without a source, the remedy is to search for a block for `like`."""
    patch = build({**DELAY, "c": ("buffer.copy", {})}, "d.out c.x", "c.out d.x")
    (problem,) = check_patch(patch)
    assert [(r.title, r.search) for r in remedies(patch, problem, size)] == [("Add a block for like …", ref("d.like"))]


def test_an_incomplete_block_asks_for_what_it_needs() -> None:
    """An incomplete block offers one search for each required input."""
    patch = build({"s": ("math.saxpy", {})})
    found = [remedy for problem in check_patch(patch) for remedy in remedies(patch, problem, size)]
    assert [remedy.search for remedy in found] == [ref("s.x"), ref("s.y")]
    assert all(problem.is_incomplete for problem in check_patch(patch))


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (error("a kernel failed", mend=Mend.RESTART), ("Start the engine", "restart_engine")),
        (error("a kernel failed", mend=Mend.TRY_AGAIN), ("Try again", "run_muted")),
        (error("files", node="s", file="/there/x.py", mend=Mend.TRUST), ("Trust this folder", "trust")),
        (error("a patch", node="s", mend=Mend.TRUST), ("Trust this patch", "trust")),
    ],
)
def test_some_problems_are_mended_by_a_command(problem: Diagnostic, expected: tuple[str, str]) -> None:
    """Some problems are solved by a command, which changes no patch."""
    (remedy,) = remedies(build({"s": ("math.saxpy", {})}), problem, size)
    assert (remedy.title, remedy.command) == expected


def test_a_kernel_over_its_limit_can_run_without_one() -> None:
    """The remedies for a kernel that exceeded its time limit are to lift the limit or to try again."""
    found = remedies(build({}), error("a kernel was stopped", mend=Mend.LIFT_LIMIT), size)
    assert [remedy.command for remedy in found] == ["lift_time_limit", "run_muted"]


def test_a_problem_of_a_block_that_is_gone_has_no_button() -> None:
    """A problem of a removed block has no remedies."""
    patch = build({"s": ("math.saxpy", {})})
    problems = check_patch(patch)
    patch.remove("s")
    assert [remedies(patch, problem, size) for problem in problems] == [[], []]


def refused(patch: Patch, start: str, end: str) -> list[Remedy]:
    """Return the remedies for a refused connection."""
    with pytest.raises(PatchError) as problem:
        patch.check_connection(*ends(patch, ref(start), ref(end)))
    return connection_remedies(patch, ref(start), ref(end), None, problem.value, size)


@pytest.mark.parametrize(("start", "end"), [("m.out", "m.b"), ("m.b", "m.out"), ("n.out", "m.b")])
def test_closing_a_loop_offers_a_frame_delay(start: str, end: str) -> None:
    """The remedy for a connection that closes a loop inserts a frame delay, after which the loop has no problems."""
    patch = build({**images(p=4), "m": MIX, "n": MIX, "v": ("io.viewer", {})}, "p.out m.a", "m.out n.a", "p.out n.b")
    (remedy,) = refused(patch, start, end)
    assert remedy.title == "Insert Frame Delay"
    assert remedy.edit is not None
    steps = len(patch.history.names)
    remedy.edit()
    assert len(patch.history.names) == steps + 1
    assert {problem.node for problem in check_patch(patch)} == {"v"}
    assert patch.source_of(ref("m.b")) == ref("frame_delay.out")


def test_another_type_offers_to_convert_numbers_and_to_take_a_component() -> None:
    """The remedy for different types is a conversion if both are numbers; a formula takes a component of a picture."""
    patch = build({**images(p=4), "c": ("reduce.count", {}), "s": ("math.saxpy", {}), "v": ("io.viewer", {})})
    assert [remedy.title for remedy in refused(patch, "p.out", "s.x")] == ["Insert Expression"]
    assert refused(patch, "c.out", "v.image") == []
    assert [remedy.title for remedy in refused(patch, "c.out", "s.x")] == ["Insert Convert"]


@pytest.mark.parametrize(("reads", "port"), [("x", "x"), ("image: f32, x, xx", "x"), ("x, image : u8", "image")])
def test_a_formula_reads_another_type_by_a_button(reads: str, port: str) -> None:
    """The input that a person drops an image on reads its elements afterwards; the other inputs stay as they are."""
    patch = build({**images(p=4), "e": ("kernel.expression", {"reads": reads, "expression": f"{port} * gain"})})
    before = {name: str(spec.dtype) for name, spec in patch.type_of(patch.nodes["e"]).ports.items()}
    (remedy,) = refused(patch, "p.out", f"e.{port}")
    assert remedy.title == f"Read {port} as float4" and remedy.edit is not None
    steps = len(patch.history.names)
    remedy.edit()
    assert len(patch.history.names) == steps + 1
    assert patch.source_of(ref(f"e.{port}")) == ref("p.out")
    after = {name: str(spec.dtype) for name, spec in patch.type_of(patch.nodes["e"]).ports.items()}
    assert after == {**before, port: "float4", "out": "float4"}


@pytest.mark.parametrize(
    ("op", "port", "settings"),
    [
        ("op.bit_not", "x", {}),
        ("op.bit_and", "a", {}),
        ("op.output", "value", {"type": "u8"}),
        ("op.output", "value", {"type": "s32"}),
    ],
)
def test_a_float_among_whole_numbers_is_converted_by_a_button(op: str, port: str, settings: dict[str, Any]) -> None:
    """In an op graph, a float among whole numbers offers a conversion op of the right type, in one undo step."""
    patch = OpPatch()
    patch.add("op.input", node_id="x")
    patch.add(op, node_id="last", position=(240, 0), **settings)
    patch.connect(PortRef("x", "value"), PortRef("last", port))
    before = patch.json()
    (problem,) = (item for item in patch.problems if item.port == port)
    (remedy,) = remedies(patch, problem, size)
    assert remedy.title == "Insert Convert" and remedy.edit is not None
    remedy.edit()
    assert not [item for item in patch.problems if item.port == port]
    assert patch.undo() == "Insert Convert"
    assert patch.json() == before


@pytest.mark.parametrize("gap", [20, 600])
def test_a_button_puts_a_block_between_neighbours(gap: float) -> None:
    """The new block is between the ends and covers nothing: what follows moves if the connection is too short."""
    patch = Patch()
    picture = patch.add("image.noise", node_id="picture")
    sum_ = patch.add("reduce.sum", node_id="sum", position=(120 + gap, 0))
    shown = patch.add("buffer.copy", node_id="shown", position=(240 + 2 * gap, 0))
    patch.connect(picture["out"], sum_["x"])
    patch.connect(sum_["out"], shown["x"])
    before = dump_patch(patch)
    (remedy,) = remedies(patch, check_patch(patch)[0], size)
    assert remedy.title == "Insert Expression" and remedy.edit is not None
    remedy.edit()
    order = [patch.nodes[node].position for node in ("picture", "expression", "sum", "shown")]
    assert all(after[0] - x > 120 and after[1] == y for (x, y), after in pairwise(order))
    assert (order[2] == (120 + gap, 0)) == (gap > 200)
    assert patch.undo() == "Insert Expression" and dump_patch(patch) == before
