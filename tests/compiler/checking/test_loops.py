"""The shape of a loop follows from its blocks: it must fit all around the loop, and is never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.support.descriptions import array, graph, i, node, o, ref
from tests.compiler.support.regions import messages
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.types import Shape, any_type, f32, s32

_PORTS = {
    "mix": (i("a"), i("b"), o(shape="same(a)")),  # b may have any size
    "select": (i("a"), i("b", shape="same(a)"), o(shape="same(a)")),
    "add": (i("a"), i("b"), o(shape="broadcast(a, b)")),
}


def delay(name: str = "d") -> BlockNode:
    """Return a block that outputs the previous frame's `x`, in the shape of `like` if that is connected."""
    ports = (i("like", any_type, optional=True), i("x", any_type, delayed=True))
    return node(name, *ports, o("out", any_type, shape="same(like, x)", dtype_rule="same(like, x)"), entries=())


def loop(kind: str, *, fed: str, late: str, shape: Shape = (600, 800)) -> GraphDescription:
    """Return a loop in which a source is combined with the delayed result."""
    wires = [f"s.out m.{fed}", f"d.out m.{late}", "m.out d.x"]
    return graph(array("s", *shape), delay(), node("m", *_PORTS[kind]), wires=wires)


@pytest.mark.parametrize("kind", _PORTS)
@pytest.mark.parametrize(("fed", "late"), [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("shape", [(600, 800), (7,), (1, 1, 3), ()])
def test_inputs_of_a_loop_decide_its_shape(kind: str, fed: str, late: str, shape: Shape) -> None:
    """The loop's shape is that of its source, as if the source were connected to `like`."""
    patch = loop(kind, fed=fed, late=late, shape=shape)
    checked = check_description(patch)
    assert checked.errors == ()
    told = graph(*patch.nodes, wires=[*map(_wire, patch.connections), "s.out d.like"])
    assert (
        checked.layouts[ref("d.out")] == check_description(told).layouts[ref("d.out")] == checked.layouts[ref("s.out")]
    )


def _wire(connection: Any) -> str:
    return f"{connection.source} {connection.target}"


def test_the_element_type_is_found_too() -> None:
    """A loop ignores a source whose element type it can't have, and takes type and shape from the other source."""
    ports = (i("a", any_type), i("mask", s32), o("out", any_type, shape="same(a)", dtype_rule="same(a)"))
    wires = ["mask.out m.mask", "d.out m.a", "m.out n.a", "s.out n.b", "n.out d.x"]
    patch = graph(
        node("mask", o("out", s32, shape="[9]")), array("s", 5), delay(), node("m", *ports), node("n", *_PORTS["mix"]),
        wires=wires,
    )  # fmt: skip
    assert messages(patch) == []
    layout = check_description(patch).layouts[ref("d.out")]
    assert (layout.dtype, layout.shape) == (f32, (5,))


def test_a_loop_of_one_block_has_no_shape() -> None:
    """A loop without a source has no shape, and the error lists its blocks from the delay on."""
    patch = graph(delay(), node("next", i("x", any_type), o()), wires=["d.out next.x", "next.out d.x"])
    assert messages(patch) == [("d", "x", "shapes must not follow from themselves, got d -> next -> d")]


def test_two_shapes_that_would_both_do_are_not_chosen_from() -> None:
    """If two sources suggest different shapes that both fit, the error states both, and `like` decides."""
    wires = ["d.out m.a", "p.out m.b", "m.out n.a", "q.out n.b", "n.out d.x"]
    blocks = (array("p", 2, 2), array("q", 3, 3), delay(), node("m", *_PORTS["mix"]), node("n", *_PORTS["mix"]))
    ((place, port, message),) = messages(graph(*blocks, wires=wires))
    assert (place, port) == ("d", "x")
    assert message == "shape of the loop d -> m -> n -> d must follow from one block, got f32 [2, 2] or f32 [3, 3]"
    assert messages(graph(*blocks, wires=[*wires, "q.out d.like"])) == []


def test_a_shape_that_grows_round_the_loop_is_refused() -> None:
    """A loop whose shape would have to grow in each frame is an error at the delay."""
    double = node("m", i("a"), i("b"), o(shape="[a.dim0 + b.dim0]"))
    patch = graph(array("s", 4), delay(), double, wires=["d.out m.a", "s.out m.b", "m.out d.x"])
    assert [(place, port) for place, port, _ in messages(patch)] == [("d", "x")]


def test_an_error_before_a_loop_is_not_reported_twice() -> None:
    """An error of a loop's source is reported once, at the source."""
    source = node("s", i(), o())
    patch = graph(source, delay(), node("m", *_PORTS["mix"]), wires=["s.out m.b", "d.out m.a", "m.out d.x"])
    assert [(place, port) for place, port, _ in messages(patch)] == [("s", "x")]


def test_a_loop_follows_its_source_when_that_changes() -> None:
    """After an edit of a loop's source, the check with the earlier result equals a full check."""
    before = check_description(loop("mix", fed="b", late="a", shape=(4, 4)))
    patch = loop("mix", fed="b", late="a", shape=(5, 3))
    kept = {n.id: n for n in before.description.nodes}
    patch = GraphDescription((patch.nodes[0], kept["d"], kept["m"]), patch.connections)
    after, whole = check_description(patch, before), check_description(patch)
    assert after.layouts == whole.layouts
    assert {layout.shape for layout in after.layouts.values()} == {(5, 3)}


# Any loop


@dataclass(frozen=True)
class Case:
    """Sources, blocks of two inputs each, and delays; every cycle passes through a delay."""

    sources: tuple[Shape, ...]
    blocks: tuple[tuple[str, str, str], ...]  # the kind, and the blocks that are its sources
    delayed: tuple[str, ...]  # the source of each delay

    @property
    def patch(self) -> GraphDescription:
        nodes = [array(f"s{k}", *shape) for k, shape in enumerate(self.sources)]
        nodes += [delay(f"d{k}") for k in range(len(self.delayed))]
        nodes += [node(f"m{k}", *_PORTS[kind]) for k, (kind, _, _) in enumerate(self.blocks)]
        wires = [f"{name}.out d{k}.x" for k, name in enumerate(self.delayed)]
        wires += [
            f"{fed}.out m{k}.{p}" for k, (_, *both) in enumerate(self.blocks) for p, fed in zip("ab", both, strict=True)
        ]
        return graph(*nodes, wires=wires)

    def before(self, delayed: int) -> Case:
        """Keep only the blocks from which a delay's input follows: others don't decide its shape.

        The others become copies of a source.
        """
        needed = {self.delayed[delayed]}
        for _ in self.blocks + self.delayed:
            needed |= {name for k, (_, *both) in enumerate(self.blocks) if f"m{k}" in needed for name in both}
            needed |= {name for k, name in enumerate(self.delayed) if f"d{k}" in needed}
        blocks = (block if f"m{k}" in needed else ("mix", "s0", "s0") for k, block in enumerate(self.blocks))
        late = (name if k == delayed or f"d{k}" in needed else "s0" for k, name in enumerate(self.delayed))
        return Case(self.sources, tuple(blocks), tuple(late))

    def answers(self) -> list[tuple[Shape, ...]]:
        """Return all combinations of the delays' shapes that fit everywhere."""
        return [late for late in product(SHAPES, repeat=len(self.delayed)) if self.holds(late)]

    def holds(self, late: tuple[Shape, ...]) -> bool:
        """Return whether everything fits if the delays have these shapes; numpy decides which shapes broadcast."""
        known = {f"s{k}": shape for k, shape in enumerate(self.sources)}
        known |= {f"d{k}": shape for k, shape in enumerate(late)}
        for k, (kind, first, second) in enumerate(self.blocks):
            a, b = known[first], known[second]
            if kind == "select" and a != b:
                return False
            try:
                known[f"m{k}"] = np.broadcast_shapes(a, b) if kind == "add" else a
            except ValueError:
                return False
        return all(known[name] == shape for name, shape in zip(self.delayed, late, strict=True))


SHAPES: tuple[Shape, ...] = ((1,), (2,), (3,), (2, 1), (2, 3))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw loops of up to five blocks through up to two delays."""
    sources = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=2))
    count = draw(st.integers(1, 2))
    names = [*(f"s{k}" for k in range(len(sources))), *(f"d{k}" for k in range(count))]
    blocks = []
    for k in range(draw(st.integers(1, 5))):
        one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        blocks.append((draw(st.sampled_from(sorted(_PORTS))), one, other))
        names.append(f"m{k}")
    return Case(tuple(sources), tuple(blocks), tuple(draw(st.sampled_from(names)) for _ in range(count)))


@given(cases())
def test_shapes_that_are_found_hold_and_the_only_answer_is_found(case: Case) -> None:
    """A shape that the check reports fits everywhere, and if only one shape fits, the check reports it."""
    checked = check_description(case.patch)
    if not checked.errors:
        found = tuple(checked.layouts[ref(f"d{k}.out")].shape for k in range(len(case.delayed)))
        assert case.holds(found)
    parts = [case.before(k) for k in range(len(case.delayed))]
    if all(len(part.answers()) == 1 for part in parts):
        assert [check_description(part.patch).errors for part in parts] == [()] * len(parts)
