"""Block code that raises, or does not return, marks its block; frames and all other blocks continue."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.model.authors import THINGS, Action, Running, action, try_block
from tests.waiting import next_report
from warploom import Engine, Patch
from warploom.api import (
    BlockBuilder,
)
from warploom.blocks.buffer import fill
from warploom.engine.diagnostics import WarploomError
from warploom.engine.user_code.limits import TimeLimits


class Unspeakable(BaseException):
    """An exception that fails when it is printed."""

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
    """Whatever a block's code raises is an error at its node, with the exception and the code's file and line."""
    problem = try_block(running, act)
    assert problem is not None
    assert problem.file == __file__ and problem.line and "describe of test_authors.wild raised " in problem.message


def test_an_attribute_that_ports_lack_is_explained(running: Running) -> None:
    """The remedy for `self.out.shape` lists what a port has while its block describes its launches."""
    problem = try_block(running, lambda block, build: block.out.shape)
    assert problem is not None and "has no attribute 'shape'" in problem.message
    assert problem.remedy.startswith("a port has counter, dim, ") and problem.remedy.endswith("such as out.dim(0)")


def _loop(block: Any, build: BlockBuilder) -> None:
    while True:
        pass


#: Events that let abandoned block code return.
_over = threading.Event()


def _stubborn(block: Any, build: BlockBuilder) -> None:
    while not _over.is_set():
        with suppress(BaseException):
            _over.wait(0.01)


@pytest.fixture
def ends_with_the_test() -> Iterator[None]:
    """Let abandoned block code return when the test is over."""
    _over.clear()
    yield
    _over.set()


def test_a_block_of_the_library_may_read_a_large_file(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit is for a person's code; a library block that reads for longer is described all the same."""
    running.hurry()
    read = fill.Fill.describe

    def slow(block: Any, build: BlockBuilder) -> None:
        since = time.thread_time()
        while time.thread_time() < since + 0.4:
            pass
        read(block, build)

    monkeypatch.setattr(fill.Fill, "describe", slow)
    node = running.patch.add("buffer.fill", value=7.0, count=2)
    assert not running.check()
    assert running.engine.read(node["out"]).tolist() == [7, 7]
    running.patch.remove(node)


@pytest.mark.parametrize("act", [_loop, _stubborn, lambda block, build: _over.wait()])
def test_describe_that_does_not_return_is_abandoned_and_reported(
    running: Running, ends_with_the_test: None, act: Action
) -> None:
    """A describe that doesn't return is reported once for equal blocks, and another value is tried."""
    running.hurry()
    asked: list[int] = []

    def describe(block: Any, build: BlockBuilder) -> None:
        asked.append(block.n)
        for output in (block.out, block.free, block.count):
            build.fill(output)
        if block.n == 4:
            act(block, build)

    action[0] = describe
    nodes = [running.place(), running.place()]
    found = running.check()
    assert set(found) == {node.id for node in nodes}
    for (problem,) in found.values():
        assert "describe of test_authors.wild must finish within 0.2 s" in problem.message
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
    """Draw an `update` for a value block, which sets any value or raises any exception."""
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
    """Whatever a value block raises or sets, at most its own node has an error, and its value stays finite."""
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
    """An update that doesn't return is reported and not run again until its block changes; frames continue."""
    running.hurry()
    number = running.patch.add("test_authors.number")
    kind: Any = running.patch.catalogue.require("test_authors.number")
    kind.acts = staticmethod(lambda block: _loop(block, None))  # type: ignore[arg-type]
    for _ in range(3):
        (problem,) = running.check()[number.id]
        assert "update of test_authors.number must finish within 0.2 s" in problem.message and problem.line
    kind.acts = staticmethod(lambda block: None)
    assert set(running.check()) == {number.id}
    running.patch.set(number, rate=2.0)
    assert not running.check()


@pytest.mark.parametrize("is_removed", [False, True])
def test_frames_go_on_while_an_update_takes_long(running: Running, is_removed: bool) -> None:
    """During a slow update, frames continue with the driven parameter's last value."""
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
    engine.core.context.code.limits = TimeLimits(600.0, 600.0)  # longer than the test waits
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


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("where", ["describe", "update"])
def test_closing_does_not_wait_for_a_block(where: str) -> None:
    """The engine can be closed while a block's code has not returned."""
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
    """Calls of the engine with values of wrong types raise a WarploomError with the rule."""
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
