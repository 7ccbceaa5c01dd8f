"""Whatever a block's author writes, an error marks only that block; the engine and all other blocks go on."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import Engine, Patch
from engine.api import (
    Block,
    BlockBuilder,
    GraphBuilder,
    In,
    Kernel,
    Moment,
    OpGraph,
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
from engine.descriptions.entries import StatusKind
from engine.descriptions.extents import Extent
from engine.diagnostics import Diagnostic, Severity, WarploomError
from engine.patch.document import NodeRef
from engine.protocol.messages import NodeState
from engine.runtime.check.check_patch import check_patch
from tests.fuzzing import many
from tests.runtime.small_blocks import bump
from tests.waiting import next_report

NOTHING = Path(__file__).parent / "nothing.cu"
Action = Callable[[Any, BlockBuilder], object]
#: The current `describe` of the block under test.
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
        """Sets whatever the test says."""

        acts: ClassVar[Callable[[Any], object]] = lambda block: None
        value: Value[float] = value_port(doc="A number.")
        rate: float = param(1.0, doc="A rate.")

        def update(self, now: Moment) -> None:
            type(self).acts(self)


class Evil:
    """Fails in every special method."""

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
            *(Extent("out.size"), Extent("out.dim7"), Extent("nobody"), Extent("1 // 0")),
            *(Extent(5), Extent("(" * 250), Kernel("nowhere.cu", "no"), Kernel(str(NOTHING), "no"), object(), print),  # type: ignore[arg-type]
            *(np.ones(3, np.float32), np.ones((0, 2)), np.array([object()]), np.ones(2, "f2"), np.array("text")),
            np.ma.array([1.0, 2.0, 3.0], "f4", mask=[False, True, False]),
            *(SliceView(0, 1), ReshapeView((-1,)), ReshapeView((-7, 0)), TransposeView((0,)), ReinterpretView(u8)),
            *(StatusKind.APPENDED, "appended", Path("a/b"), Kernel(str(NOTHING), "nothing"), Kernel("k" * 300, "x")),
            *(Block, BlockBuilder.frame),
        )
    ],
    *(lambda block, build: block.x, lambda block, build: block.out, lambda block, build: block.a),
    *(lambda block, build: block.n, lambda block, build: block.free),
    *(lambda block, build: block.count, lambda block, build: build, lambda block, build: block),
    *(lambda block, build: block.x.size, lambda block, build: block.out.dim(0) // 2, lambda block, build: block.n / 2),
    *(lambda block, build: build.element_type(block.x), lambda block, build: block.x.size * 10**15),
    *(lambda block, build: block.other.last(2) + 1, lambda block, build: block.x.size % (block.x.size - 3)),
]


def _fine(value: object) -> Action:
    return lambda block, build: value


def _own(name: str) -> Action:
    return lambda block, build: getattr(block, name)


#: Those that are likely to harm: no memory, and numbers below 0.
HARMFUL: list[Action] = [_own("other"), _fine(-1), _fine(Extent("x.size - 99"))]
THINGS += HARMFUL


X, OUT, COUNT, FREE = map(_own, ("x", "out", "count", "free"))


def _size(block: Any, build: BlockBuilder) -> object:
    return block.x.size


def _word(block: Any, build: BlockBuilder) -> object:
    return build.buffer(f"word{len(build.commit().buffers)}", u32, "[1]")


def _halved() -> OpGraph:
    """Return a graph that writes half of x to out."""
    g = GraphBuilder()
    half = g.add("op.multiply", a=g.add("op.input", "x")["value"], b=0.5)
    g.add("op.output", "out", value=half["out"])
    return g.graph()


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
    "compute": (BlockBuilder.compute, {"graph": _fine(_halved()), "over": X}),
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


def test_every_public_call_is_tried() -> None:
    """The table below has every argument of every call."""
    public = {name: call for name, call in inspect.getmembers(BlockBuilder, callable) if not name.startswith("_")}
    for name, call in {**public, "describe_if": describe_if, "describe_for": describe_for}.items():
        assert set(inspect.signature(call).parameters) - {"self", "build"} == set(CALLS[name][1]), name


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """Return a call, and for some of its arguments the value that replaces the good one."""
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
        self.begin()

    def begin(self) -> None:
        """Begin with an engine of its own."""
        self.patch = Patch()
        self.state = bump(self.patch, self.patch.add("buffer.state", shape="3", dtype="f32"))
        self.engine = Engine(self.patch, device="host")
        self.frames = 0
        self.check()

    def hurry(self) -> None:
        """Give up code early, so that a test of code that does not return is short."""
        for code in (self.engine.core.context.code, self.engine.core.context.services.code):
            code.limit_s, code.wall_limit_s = 0.2, 2.0

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
            assert report.nodes[node].state in (NodeState.ERROR, NodeState.INCOMPLETE) and first.remedy, first
        return found

    def place(self) -> NodeRef:
        """Place the block under test, with an input."""
        node = self.patch.add("test_authors.wild")
        self.patch.connect(self.state["out"], node["x"])
        return node


@pytest.fixture
def running(blocks: None) -> Iterator[Running]:
    """One engine for all examples of a test; another after each that fails."""
    made = Running()
    yield made
    made.engine.close()


def _try(running: Running, act: Action) -> Diagnostic | None:
    """Place a block whose `describe` does something, run it, check it and remove it; return its error, if any."""
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
        try:
            _try(running, _act(asked))
        except BaseException:
            running.engine.close()
            running.begin()
            raise

    for name in ("describe_if", "describe_while", "describe_for"):
        for argument in CALLS[name][1]:
            for thing in HARMFUL:
                law = example([(name, {argument: THINGS.index(thing)})])(law)
    law()


class Unspeakable(BaseException):
    """Fails when it is printed."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


def _raise(problem: BaseException) -> Action:
    def act(block: Any, build: BlockBuilder) -> None:
        raise problem

    return act


def _recurse(block: Any, build: BlockBuilder) -> None:
    _recurse(block, build)


def _exhaust(block: Any, build: BlockBuilder) -> None:
    bytearray(2**62)


RAISING = [
    *map(_raise, (KeyboardInterrupt(), SystemExit(3), GeneratorExit(), asyncio.CancelledError(), StopIteration())),
    *map(
        _raise, (Unspeakable(), Exception("\ud800" * 9000), SyntaxError("no"), BaseExceptionGroup("x", [SystemExit()]))
    ),
    *(_recurse, _exhaust),
]


@pytest.mark.parametrize("act", RAISING)
def test_whatever_a_block_raises_marks_it(running: Running, act: Action) -> None:
    """The error has the file and the line of the block's code, and what was raised."""
    problem = _try(running, act)
    assert problem is not None
    assert problem.file == __file__ and problem.line and "describe of test_authors.wild raised " in problem.message


def _loop(block: Any, build: BlockBuilder) -> None:
    while True:
        pass


#: Ends what block code was left behind in.
_over = threading.Event()


def _stubborn(block: Any, build: BlockBuilder) -> None:
    while not _over.is_set():
        with suppress(BaseException):
            _over.wait(0.01)


@pytest.fixture
def ends_with_the_test() -> Iterator[None]:
    """Let block code that was given up return when the test is over."""
    _over.clear()
    yield
    _over.set()


@pytest.mark.parametrize("act", [_loop, _stubborn, lambda block, build: _over.wait()])
def test_describe_that_does_not_return_is_abandoned_and_reported(
    running: Running, ends_with_the_test: None, act: Action
) -> None:
    """Blocks with the same values share one attempt; other edits are applied, and another value is tried."""
    running.hurry()
    asked: list[int] = []

    def describe(block: Any, build: BlockBuilder) -> None:
        asked.append(block.n)
        if block.n == 4:
            act(block, build)

    action[0] = describe
    nodes = [running.place(), running.place()]
    found = running.check()
    assert set(found) == {node.id for node in nodes}
    for (problem,) in found.values():
        assert "describe of test_authors.wild must return within 0.2 s" in problem.message
        assert problem.file == __file__ and problem.line
    other = running.patch.add("math.scale_offset", scale=3.0)
    running.patch.connect(running.state["out"], other["x"])
    assert set(running.check()) == set(found)
    assert running.engine.read(other["out"]).tolist() == [3 * running.frames] * 3
    assert asked == [4]
    for node in nodes:
        running.patch.set(node, n=5)
    assert not running.check()
    for node in (*nodes, other):
        running.patch.remove(node)


@st.composite
def value_acts(draw: st.DrawFn) -> Callable[[Any], object]:
    """Draw what `update` of a value block does: it sets its value to anything, or raises anything."""
    kind = draw(st.integers(0, 2))
    thing = THINGS[draw(st.integers(0, 80))]
    if kind == 0:
        problem = draw(st.sampled_from(RAISING))
        return lambda block: problem(block, None)  # type: ignore[arg-type]
    if kind == 1:
        return lambda block: block.__dict__.pop("value")

    def say(block: Any) -> None:
        block.value = thing(block, None)  # type: ignore[arg-type]

    return say


def test_no_value_block_does_more_than_mark_itself(running: Running) -> None:
    """Whatever it raises or sets, the parameter that it drives keeps the last good value."""
    number = running.patch.add("test_authors.number")
    kind: Any = running.patch.catalogue.require("test_authors.number")
    scaled = running.patch.add("math.scale_offset")
    running.patch.connect(running.state["out"], scaled["x"])
    running.patch.connect(number["value"], scaled["scale"])

    @settings(max_examples=many(40))
    @given(value_acts())
    def law(act: Callable[[Any], object]) -> None:
        kind.acts = staticmethod(act)
        found = running.check()
        assert set(found) <= {number.id}
        value = float(running.engine.read(number["value"]))
        assert np.isfinite(value)
        kind.acts = staticmethod(lambda block: setattr(block, "value", 2.0))
        assert not running.check()
        assert running.engine.read(scaled["out"]).tolist() == [2.0 * running.frames] * 3

    law()


def test_an_update_that_does_not_return_is_not_tried_again_until_its_block_is_changed(running: Running) -> None:
    """Frames go on without it."""
    running.hurry()
    number = running.patch.add("test_authors.number")
    kind: Any = running.patch.catalogue.require("test_authors.number")
    kind.acts = staticmethod(lambda block: _loop(block, None))  # type: ignore[arg-type]
    for _ in range(3):
        (problem,) = running.check()[number.id]
        assert "update of test_authors.number must return within 0.2 s" in problem.message and problem.line
    kind.acts = staticmethod(lambda block: None)
    assert set(running.check()) == {number.id}
    running.patch.set(number, rate=2.0)
    assert not running.check()


@pytest.mark.parametrize("is_removed", [False, True])
def test_frames_go_on_while_an_update_takes_long(running: Running, is_removed: bool) -> None:
    """What it drives keeps the last value until it is done; a block that is removed meanwhile is forgotten."""
    number = running.patch.add("test_authors.number")
    kind: Any = running.patch.catalogue.require("test_authors.number")
    scaled = running.patch.add("math.scale_offset")
    running.patch.connect(running.state["out"], scaled["x"])
    running.patch.connect(number["value"], scaled["scale"])
    begun, end = threading.Event(), threading.Event()

    def wait(block: Any) -> None:
        begun.set()
        end.wait()
        block.value = 5.0

    kind.acts = staticmethod(lambda block: setattr(block, "value", 3.0))
    running.check()
    engine = running.engine
    engine.core.context.code.limit_s = engine.core.context.code.wall_limit_s = 600.0  # longer than the test waits
    kind.acts = staticmethod(wait)
    engine.start(rate=None)
    begun.wait()
    engine.take_report()
    first = next_report(engine, lambda report: True)
    report = next_report(engine, lambda report: report.frame > first.frame + 20)
    assert not report.diagnostics and report.values[f"{scaled.id}.scale"] == 3.0
    if is_removed:
        running.patch.remove(number)
        next_report(engine, lambda report: report.values.get(f"{scaled.id}.scale") is None)
    end.set()
    if not is_removed:
        next_report(engine, lambda report: report.values[f"{scaled.id}.scale"] == 5.0)
    engine.stop()


@pytest.mark.parametrize("where", ["describe", "update"])
def test_closing_does_not_wait_for_a_block(where: str) -> None:
    """The engine's thread and the worker are free, although the block's code has not returned."""
    begun, end, returned = threading.Event(), threading.Event(), threading.Event()

    def wait(block: Any, build: Any = None) -> None:
        begun.set()
        end.wait()
        returned.set()

    patch = Patch()
    patch.add("test_authors.number")
    kind: Any = patch.catalogue.require("test_authors.number")
    action[0] = wait if where == "describe" else lambda block, build: None
    kind.acts = staticmethod(wait if where == "update" else lambda block: None)
    patch.add("test_authors.wild")
    engine = Engine(patch, device="host")
    engine.start(rate=None)
    begun.wait()
    engine.close()
    assert not returned.is_set()
    end.set()


@pytest.mark.parametrize("wrong", [None, 1.5, "text", object(), [None]])
def test_calls_of_the_engine_with_wrong_types_raise_an_error_that_says_so(running: Running, wrong: Any) -> None:
    """They change nothing."""
    engine = running.engine
    for call in (
        engine.read,
        engine.trace,
        lambda folder: engine.save_outputs(123 if folder is None else folder),
        lambda rate: engine.start(rate=rate if isinstance(rate, (str, list)) else "fast"),  # type: ignore[arg-type]
        lambda pacing: engine.start(pacing=pacing if pacing is not None else 5),
        engine.watch_files,
        engine.cost_of,
    ):
        with pytest.raises(WarploomError, match="must be"):
            call(wrong)
    running.check()
