"""Whatever a block's author writes marks that block; the engine and all other blocks go on, and mending it heals."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Engine, Patch
from engine.api import (
    Block,
    BlockBuilder,
    In,
    Kernel,
    Moment,
    Out,
    ReinterpretView,
    ReshapeView,
    SliceView,
    TransposeView,
    Value,
    ValueBlock,
    any_type,
    describe_for,
    describe_if,
    describe_while,
    f32,
    param,
    port,
    u8,
    u32,
    value_port,
)
from engine.blocktypes.entries import StatusKind
from engine.blocktypes.extents import Extent
from engine.diagnostics import Diagnostic, Severity
from engine.patch.document import NodeRef
from engine.protocol.messages import NodeState
from engine.runtime.check.check_patch import check_patch
from tests.fuzzing import many
from tests.runtime.small_blocks import bump

NOTHING = Path(__file__).parent / "nothing.cu"
Action = Callable[[Any, BlockBuilder], object]
#: What `describe` of the block under test does now.
action: list[Action] = [lambda block, build: None]
HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def blocks() -> None:
    """Define the blocks whose code is random."""

    class Wild(Block, id="test_authors.wild"):
        """Does whatever the test says."""

        x: In[f32] = port(doc="X.")
        other: In[any_type] = port(doc="Of any type.", optional=True, advised=False)
        out: Out[f32] = port(shape="same(x)", doc="Out.")
        free: Out[any_type] = port(shape="[1]", dtype="given", doc="Of any type.")
        count: Out[u32] = port(shape="[1]", doc="A number.")
        a: float = param(1.0, doc="A.")
        n: int = param(4, structural=True, doc="N.")

        def describe(self, build: BlockBuilder) -> None:
            build.define(self.free, dtype=f32)
            action[0](self, build)

    class Number(ValueBlock, id="test_authors.number"):
        """Says whatever the test says."""

        acts: ClassVar[Callable[[Any], object]] = lambda block: None
        value: Value[float] = value_port(doc="A number.")
        rate: float = param(1.0, doc="A rate.")

        def update(self, now: Moment) -> None:
            type(self).acts(self)


class Evil:
    """Fails at whatever Python asks of it."""

    def fail(self, *_: object) -> Any:
        raise ZeroDivisionError("evil")

    __repr__ = __str__ = __index__ = __float__ = __len__ = __iter__ = __eq__ = __bool__ = fail
    __hash__ = __add__ = __radd__ = __getitem__ = fail  # type: ignore[assignment]


class Whole(int):
    """A whole number that is never equal to another."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("whole")

    __hash__ = int.__hash__


#: What an author may pass, as functions of the block and its builder.
THINGS: list[Action] = [
    *[
        (lambda block, build, value=value: value)  # type: ignore[misc]
        for value in (
            *(None, True, False, -1, 0, 1, 2, 3, 300, 2**50, 2**63, 10**30, Whole(2), Evil()),
            *(
                0.5,
                4.0,
                -0.0,
                float("nan"),
                float("inf"),
                1j,
                np.float32(2),
                np.int64(3),
                np.uint8(200),
                np.bool_(True),
            ),
            *("", "x", "out", "[1]", "[n]", "[q]", "same(x)", "[x.size * 2]", "[2 ** 40]", "[5000, 5000, 5000]"),
            *("scalar", "data", "view", "\0", "\ud800", "a\nb", "[" * 300, "x" * 9000, b"bytes", "ünïcode", "[0]"),
            *((), (1,), [2, 3], (32.0,), (1, 2, 3, 4), (-1, 4), {}, {1}, range(3), "[1 // 0]"),
            *(float, int, f32, u8, u32, any_type),
            *(Extent("out.size"), Extent("out.dim7"), Extent("nobody"), Extent("1 // 0"), Extent("x.size - 99")),
            *(Extent(5), Extent("(" * 250), Kernel("nowhere.cu", "no"), Kernel(str(NOTHING), "no"), object(), print),  # type: ignore[arg-type]
            *(np.ones(3, np.float32), np.ones((0, 2)), np.array([object()]), np.ones(2, "f2"), np.array("text")),
            *(SliceView(0, 1), ReshapeView((-1,)), ReshapeView((-7, 0)), TransposeView((0,)), ReinterpretView(u8)),
            *(StatusKind.APPENDED, "appended", Path("a/b"), Kernel(str(NOTHING), "nothing"), Kernel("k" * 300, "x")),
            *(Block, BlockBuilder.frame),
        )
    ],
    *(lambda block, build: block.x, lambda block, build: block.out, lambda block, build: block.a),
    *(lambda block, build: block.n, lambda block, build: block.free, lambda block, build: block.other),
    *(lambda block, build: block.count, lambda block, build: build, lambda block, build: block),
    *(lambda block, build: block.x.size, lambda block, build: block.out.dim(0) // 2, lambda block, build: block.n / 2),
    *(lambda block, build: build.element_type(block.x), lambda block, build: block.x.size * 10**15),
    *(lambda block, build: block.other.last(2) + 1, lambda block, build: block.x.size % (block.x.size - 3)),
]


def _fine(value: object) -> Action:
    return lambda block, build: value


def _own(name: str) -> Action:
    return lambda block, build: getattr(block, name)


X, OUT, COUNT, FREE = map(_own, ("x", "out", "count", "free"))


def _size(block: Any, build: BlockBuilder) -> object:
    return block.x.size


def _word(block: Any, build: BlockBuilder) -> object:
    return build.buffer(f"word{len(build.commit().buffers)}", u32, "[1]")


#: Good arguments of every call that an author can make.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Action]]] = {
    "launch": (
        BlockBuilder.launch,
        {
            "kernel": _fine(Kernel(str(NOTHING), "nothing")),
            "num_threads": _size,
            "args": lambda b, _: (b.x, b.out, b.a, b.x.size),
            "thread_block": _fine(32),
            "shared_bytes": _fine(16),
            "count": _fine(None),
        },
    ),
    "fill": (BlockBuilder.fill, {"target": OUT, "value": _fine(1)}),
    "copy": (BlockBuilder.copy, {"target": OUT, "source": X}),
    "buffer": (
        BlockBuilder.buffer,
        {"name": _fine("mine"), "dtype": _fine(f32), "shape": _fine("same(x)"), "state": _fine(True)},
    ),
    "provide": (BlockBuilder.provide, {"port": OUT, "array": _fine(np.ones(3, np.float32))}),
    "view": (BlockBuilder.view, {"target": OUT, "source": X, "transform": _fine(SliceView(0))}),
    "adopt": (BlockBuilder.adopt, {"port": OUT, "array": _fine(np.ones(3, np.float32))}),
    "delay": (BlockBuilder.delay, {"target": OUT, "source": X, "initial": _fine(1.0)}),
    "define": (BlockBuilder.define, {"port": FREE, "dtype": _fine(f32), "shape": _fine("[2]")}),
    "element_type": (BlockBuilder.element_type, {"port": X}),
    "require": (BlockBuilder.require, {"extent": _size, "message": _fine("must have a size"), "port": X}),
    "report": (
        BlockBuilder.report,
        {"word": _word, "kind": _fine(StatusKind.STOPPED), "port": OUT, "capacity": lambda b, _: b.a},
    ),
    "control": (BlockBuilder.control, {"control": _fine(None)}),
    "compose": (BlockBuilder.compose, {"composition": _fine(None)}),
    "show": (BlockBuilder.show, {"pixels": X}),
    "save": (BlockBuilder.save, {"buffer": X, "path": _fine("a.npy")}),
    "argument": (BlockBuilder.argument, {"value": X}),
    "commit": (BlockBuilder.commit, {}),
    "describe_if": (describe_if, {"condition": X, "element": _fine(0), "otherwise": _fine(False)}),
    "describe_while": (
        describe_while,
        {"condition": X, "element": _fine(0), "turns": COUNT, "limit": lambda b, _: b.a},
    ),
    "describe_for": (
        describe_for,
        {"count": lambda b, _: b.a, "counts": X, "index": COUNT, "limit": lambda b, _: b.a},
    ),
    "dim": (lambda build, handle, axis: handle.dim(axis), {"handle": X, "axis": _fine(0)}),
    "stride": (lambda build, handle, axis: handle.stride(axis), {"handle": X, "axis": _fine(0)}),
    "last": (lambda build, handle, axis: handle.last(axis), {"handle": X, "axis": _fine(0)}),
    "last_stride": (lambda build, handle, axis: handle.last_stride(axis), {"handle": X, "axis": _fine(0)}),
    "plus": (lambda build, a, b: build.require(a + b, "sum"), {"a": _size, "b": _fine(1)}),
    "times": (lambda build, a, b: build.require(a * b // 3 % 7, "product"), {"a": _size, "b": _size}),
    "Kernel": (lambda build, file, entry: Kernel(file, entry), {"file": _fine("a.cu"), "entry": _fine("a")}),
    "SliceView": (
        lambda build, **given: build.view(given.pop("target"), given.pop("source"), SliceView(**given)),
        {"target": OUT, "source": X, "axis": _fine(0), "start": _fine(0), "stop": _fine(None), "step": _fine(1)},
    ),
    "ReshapeView": (lambda build, t, s, v: build.view(t, s, ReshapeView(v)), {"t": OUT, "s": X, "v": _fine((-1,))}),
    "TransposeView": (lambda build, t, s, v: build.view(t, s, TransposeView(v)), {"t": OUT, "s": X, "v": _fine((0,))}),
    "ReinterpretView": (
        lambda build, t, s, v: build.view(t, s, ReinterpretView(v)),
        {"t": FREE, "s": X, "v": _fine(u8)},
    ),
}


def test_every_public_call_is_among_those_that_are_tried() -> None:
    """With every argument that it takes."""
    public = {name: call for name, call in inspect.getmembers(BlockBuilder, callable) if not name.startswith("_")}
    for name, call in {**public, "describe_if": describe_if, "describe_for": describe_for}.items():
        assert set(inspect.signature(call).parameters) - {"self", "build"} == set(CALLS[name][1]), name


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """Return a call, and by argument which of the things replaces the good one."""
    name = draw(st.sampled_from(sorted(CALLS)))
    names = sorted(CALLS[name][1])
    wrong = draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
    return name, {argument: draw(st.integers(0, len(THINGS) - 1)) for argument in wrong}


def _act(asked: list[tuple[str, dict[str, int]]]) -> Action:
    def act(block: Any, build: BlockBuilder) -> None:
        for name, wrong in asked:
            call, good = CALLS[name]
            given = {key: (THINGS[wrong[key]] if key in wrong else make)(block, build) for key, make in good.items()}
            call(build, **given)

    return act


class Running:
    """An engine with a good graph, beside which a block of the test's is placed, tried and removed."""

    def __init__(self) -> None:
        self.patch = Patch()
        self.state = bump(self.patch, self.patch.add("buffer.state", shape="3", dtype="f32"))
        self.engine = Engine(self.patch, device="host")
        for code in (self.engine.core.context.code, self.engine.core.context.services.code):
            code._limit_s, code._wall_limit_s = 0.2, 0.6  # so that the test is short
        self.frames = 0
        self.check()

    def check(self) -> dict[str, list[Diagnostic]]:
        """Do a frame, in which the good graph goes on; return the errors by node."""
        report = self.engine.step()
        self.frames += 1
        assert self.engine.read(self.state["out"]).tolist() == [self.frames] * 3
        found: dict[str, list[Diagnostic]] = {}
        for item in report.diagnostics:
            if item.severity is Severity.ERROR:
                found.setdefault(str(item.node), []).append(item)
        for node, (first, *_) in found.items():
            assert report.nodes[node].state is NodeState.ERROR and first.remedy, first
        return found

    def place(self) -> NodeRef:
        """Place the block under test, with an input."""
        node = self.patch.add("test_authors.wild")
        self.patch.connect(self.state["out"], node["x"])
        return node


@pytest.fixture
def running(blocks: None) -> Iterator[Running]:
    """One engine for all examples of a test."""
    made = Running()
    yield made
    made.engine.close()


def _try(running: Running, act: Action) -> Diagnostic | None:
    """Place a block that does something, run it, have it checked and remove it; return its error, if any."""
    action[0] = act
    node = running.place()
    try:
        found = running.check()
        assert set(found) <= {node.id}, found
        assert check_patch(running.patch) is not None
        running.check()
    finally:
        running.patch.remove(node)
    assert not running.check()
    return found[node.id][0] if found else None


def test_no_call_of_the_builder_does_more_than_mark_its_block(running: Running) -> None:
    """Whatever is passed, one argument or several; afterwards the engine runs as before."""

    @settings(max_examples=many(60))
    @given(st.lists(calls(), min_size=1, max_size=3))
    def law(asked: list[tuple[str, dict[str, int]]]) -> None:
        _try(running, _act(asked))

    law()
