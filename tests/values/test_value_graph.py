"""The value graph: order, rounding and bounds, failing blocks, and no allocation in steady state."""

import gc
import random
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values.running import STEP_S, Running, moments
from warploom import Patch, api, blocks
from warploom.api import Block, Moment, ValueBlock
from warploom.engine.diagnostics import PatchError, Severity
from warploom.engine.patch.changes import Connected, Connection, PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.values.value_graph import TELL_INTERVAL_NS


def is_raised_at(file: str | None, line: int | None) -> bool:
    """Return whether this line of a file is where the tests' block raises."""
    return bool(file and line) and "raise self.gives[1]" in Path(str(file)).read_text().splitlines()[int(line or 0) - 1]


def test_every_block_sees_the_values_of_this_frame() -> None:
    """A chain of expressions has no delay, whatever the order in which its blocks were placed."""
    patch = Patch()
    nodes = [patch.add("value.expression", node_id=f"n{i}", text="a + 1", a=0.0) for i in (2, 0, 3, 1)]
    by_id = {node.id: node for node in nodes}
    for i in range(3):
        patch.connect(by_id[f"n{i}"]["value"], by_id[f"n{i + 1}"]["a"])
    got = Running(patch).run(2, *(by_id[f"n{i}"]["value"] for i in range(4)))
    np.testing.assert_array_equal(got, [[1, 2, 3, 4]] * 2)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_values_do_not_depend_on_the_order_of_edits(seed: int, count: int) -> None:
    """Any graph of expressions has numpy's values, whatever the order in which it was built."""
    chance = random.Random(seed)
    texts = [f"{chance.choice(['a + b', 'a * b - c', 'max(a, b)', 'sin(a) + c', 'a - t'])}" for _ in range(count)]
    edges = [
        (source, target, name)
        for target in range(count)
        for name in "abc"
        if target and chance.random() < 0.6
        for source in [chance.randrange(target)]
    ]
    rows = []
    for _ in range(2):
        patch = Patch()
        places = list(range(count))
        chance.shuffle(places)
        nodes: dict[int, NodeRef] = {}
        for i in places:
            nodes[i] = patch.add("value.expression", node_id=f"n{i}", text=texts[i], a=0.25, b=0.5, c=0.75)
        chance.shuffle(edges)
        for source, target, name in edges:
            patch.connect(nodes[source]["value"], nodes[target][name])
        rows.append(Running(patch).run(3, *(nodes[i]["value"] for i in range(count))))
    np.testing.assert_array_equal(*rows)
    for frame in range(3):
        seen: list[float] = []
        for i in range(count):
            numbers = {"a": 0.25, "b": 0.5, "c": 0.75, "t": frame * STEP_S, "sin": np.sin, "max": max}
            numbers |= {name: seen[source] for source, target, name in edges if target == i}
            seen.append(float(eval(texts[i], numbers)))
        np.testing.assert_allclose(rows[0][frame], np.clip(seen, -1e9, 1e9), rtol=1e-9, atol=1e-9)


class Mute(Exception):
    """An exception whose message can't be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


BAD = [
    (
        (1.0, ZeroDivisionError("division by zero"), 0),
        "update of test_values.given raised ZeroDivisionError: division by",
    ),
    ((1.0, Mute(), 0), "update of test_values.given raised Mute: its message can't be read"),
    ((1.0, SystemExit(3), 0), "update of test_values.given raised SystemExit: 3"),
    ((1.0, PatchError("number must be good, got a bad one"), 0), "number must be good, got a bad one"),
    ((float("nan"), 1, True), "output value must be a finite number, got nan"),
    ((float("inf"), 1, True), "output value must be a finite number, got inf"),
    (("text", 1, True), "output value must be a finite number, got 'text'"),
    ((None, 1, True), "output value must be a finite number, got None"),
    ((1.0, float("-inf"), True), "output count must be a finite number, got -inf"),
    ((10**400, 1, True), "output value must be a finite number"),
    ((1.0, 2**63, True), "output count must be a whole number of 64 bits, got 9223372036854775808"),
]


@pytest.mark.parametrize(("gives", "told"), BAD, ids=[told[:40] for _, told in BAD])
def test_a_failing_block_is_reported_and_the_rest_runs_on(given_block: type[ValueBlock], gives: Any, told: str) -> None:
    """A failing block keeps the last values of all outputs, and its diagnostic ends once an update succeeds."""
    patch = Patch()
    node, after = patch.add("test_values.given", node_id="bad"), patch.add("value.expression", text="a + frame")
    patch.connect(node["value"], after["a"])
    running = Running(patch)
    block = running.blocks["bad"]
    assert isinstance(block, given_block)
    block.gives = (5.0, 7, True)
    running.run(1)
    block.gives = gives
    ports = [node["value"], node["count"], node["on"], after["value"]]
    np.testing.assert_array_equal(running.run(2, *ports), [[5, 7, 1, 5], [5, 7, 1, 6]])
    (diagnostic,) = running.graph.diagnostics
    assert diagnostic.severity is Severity.ERROR and diagnostic.node == "bad"
    assert diagnostic.message.startswith(told)
    if "raised" in told:
        assert is_raised_at(diagnostic.file, diagnostic.line)
    block.gives = (1.0, 2, False)
    np.testing.assert_array_equal(running.run(1, *ports), [[1, 2, 0, 1]])
    assert running.graph.diagnostics == ()


def test_diagnostics_that_change_in_every_frame_are_sent_at_an_interval(
    target: type[Block], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning of a value that is out of bounds in every other frame stays; new diagnostics are sent at once."""
    now_ns = 10**12
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now_ns)
    patch = Patch()
    text, driven = patch.add("value.expression", text="5 if frame % 2 else 0"), patch.add(target.id, node_id="driven")
    patch.connect(text["value"], driven["number"])
    running = Running(patch)
    update, moment = running.graph.update, Moment(0, 0.0, STEP_S)

    def frame(number: int, *, fresh: bool = False) -> tuple[bool, int]:
        moment.frame = number
        return update(moment, fresh=fresh), len(running.graph.diagnostics)

    assert frame(0) == (False, 0)
    assert frame(1) == (True, 1)  # a node that had no diagnostics so far
    assert [frame(number) for number in (2, 3, 4)] == [(False, 1)] * 3
    now_ns += TELL_INTERVAL_NS
    assert frame(4) == (True, 0)
    assert frame(5) == (True, 1)
    assert frame(6, fresh=True) == (True, 0)
    assert frame(7) == (True, 1)
    running.graph.disconnect(Connection(text["value"], driven["number"]))
    running.graph.remove(text.id)
    running.registry.unregister(text.id)
    assert frame(8) == (False, 1) and not running.graph.is_empty
    now_ns += TELL_INTERVAL_NS
    assert frame(9) == (True, 0) and running.graph.is_empty


@pytest.mark.parametrize("source", [None, 9000, b"osc:127.0.0.1:9000"])
def test_a_source_that_is_no_text_is_reported(
    given_block: type[ValueBlock], monkeypatch: pytest.MonkeyPatch, source: object
) -> None:
    """A user's block may return a source of any type; if it is no text, its node has the error and the rest runs."""
    monkeypatch.setattr(given_block, "source", lambda self: source)
    patch = Patch()
    patch.add("test_values.given", node_id="bad")
    clock = patch.add("value.time", node_id="time")
    running = Running(patch)
    assert running.run(3, clock["frame"])[-1] == 2
    (told,) = running.graph.diagnostics
    assert told.node == "bad" and told.message.endswith(f"must be a text such as 'osc:127.0.0.1:9000', got {source!r}")


def test_a_block_that_takes_long_is_checked_when_its_update_is_done(
    given_block: type[ValueBlock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block with a slow update is checked once the update is done, and other blocks are checked at once."""
    done, checked = threading.Event(), []
    monkeypatch.setattr(given_block, "update", lambda self, now: self.node == "quick" or done.wait())
    monkeypatch.setattr(given_block, "check", lambda self: checked.append(self.node))
    patch = Patch()
    for name in ("quick", "slow"):
        patch.add("test_values.given", node_id=name)
    graph = Running(patch).graph
    graph.update(Moment(), fresh=False)
    assert sorted(checked) == ["quick", "slow"]
    graph.set_parameter("quick", structural=True)
    for _ in range(5):
        graph.update(Moment(), fresh=False)
    assert sorted(checked) == ["quick", "quick", "slow"]
    done.set()
    graph.update(Moment())
    assert sorted(checked) == ["quick", "quick", "slow", "slow"]


def test_outputs_of_another_type_are_brought_to_their_own(given_block: type[ValueBlock]) -> None:
    """An output converts a numpy number, a whole number for a float, and a float for a whole number to its own type."""
    patch = Patch()
    node = patch.add("test_values.given", node_id="given")
    running = Running(patch)
    block = running.blocks["given"]
    assert isinstance(block, given_block)
    block.gives = (np.float32(2.5), 3.6, 1)
    np.testing.assert_array_equal(running.run(1, node["value"], node["count"], node["on"]), [[2.5, 4, 1]])
    assert [type(block.__dict__[name]) for name in ("value", "count", "on")] == [float, int, bool]


def test_a_bad_expression_is_reported_until_it_is_mended() -> None:
    """A bad expression is reported until it is corrected, and is checked only when its text changes."""
    patch = Patch()
    node = patch.add("value.expression", text="a +", a=2.0)
    running = Running(patch)
    running.run(3)
    assert running.graph.diagnostics[0].message.startswith("expression must be arithmetic, got 'a +'")
    running.parameters.set("expression", "text", "a + 1")
    running.graph.set_parameter("expression", structural=True)
    assert running.run(1, node["value"]) == 3.0 and running.graph.diagnostics == ()


def test_connections_that_no_edit_could_make_are_reported_and_ignored(target: type[Block]) -> None:
    """A cycle, an unknown output, or a driven structural parameter in a file is reported; the rest runs."""
    patch = Patch()
    for i in range(3):
        patch.add("value.expression", node_id=f"n{i}", text="a + 1", a=0.0)
    noise = patch.add("image.noise", node_id="noise")
    bad = [("n0.value", "n1.a"), ("n1.value", "n0.a"), ("n0.gone", "n2.a"), ("n2.value", "noise.width")]
    patch.restore([Connected(Connection(PortRef(*a.split(".")), PortRef(*b.split(".")))) for a, b in bad])
    running = Running(patch)
    got = running.run(1, *(PortRef(f"n{i}", "value") for i in range(3)))
    assert sorted(got[0]) == [1, 1, 2]
    told = sorted((item.node, item.message) for item in running.graph.diagnostics)
    assert len(told) == 3 and told[1][0] == "n2" and told[2] == (noise.id, told[2][1])
    assert "must not go in a circle, got" in told[0][1] and "must be one of value, got 'gone'" in told[1][1]
    assert "must be live to be driven" in told[2][1]


def test_blocks_begin_once_and_again_on_reset(given_block: type[ValueBlock]) -> None:
    """A block continues after an edit elsewhere, and restarts after a reset."""
    patch = Patch()
    lfo = patch.add("value.lfo", frequency=3.0)
    running = Running(patch)
    first = running.run(7, lfo["value"])
    running.graph.place(running.blocks["lfo"])
    assert running.graph.update(Moment(7, 7 * STEP_S, STEP_S)) is False
    assert running.graph.snapshot()["lfo.value"] == pytest.approx(np.sin(2 * np.pi * 3 * 7 * STEP_S))
    running.graph.begin_again()
    np.testing.assert_array_equal(running.run(7, lfo["value"]), first)


def test_a_thousand_frames_keep_no_memory(target: type[Block]) -> None:
    """After the first frames, no line of the engine keeps more memory with each frame."""
    patch = Patch()
    lfo = patch.add("value.lfo", frequency=1.3)
    chance = patch.add("value.random")
    text = patch.add("value.expression", text="a * sin(t) + (b if b > 0.5 else c)")
    others = [
        patch.add(f"value.{name}") for name in ("time", "ramp", "slider", "switch", "counter", "mouse", "keyboard")
    ]
    smooth = patch.add("value.smooth")
    driven = patch.add("test_values.target", node_id="driven")
    patch.connect(lfo["value"], text["a"])
    patch.connect(chance["value"], text["b"])
    patch.connect(text["value"], smooth["input"])
    patch.connect(smooth["value"], driven["wide"])
    patch.connect(lfo["value"], driven["whole"])
    assert len(others) == 7
    running = Running(patch)
    for now in moments(100):
        running.graph.update(now)
    gc.collect()
    now = Moment(100, 100 * STEP_S, STEP_S)
    update = running.graph.update
    code = [tracemalloc.Filter(True, str(Path(room.__file__).parent / "**")) for room in (api, blocks)]
    tracemalloc.start()
    try:
        update(now)
        before = tracemalloc.take_snapshot().filter_traces(code)
        for frame in range(101, 1101):
            now.frame, now.time_s = frame, frame * STEP_S
            update(now)
        after = tracemalloc.take_snapshot().filter_traces(code)
    finally:
        tracemalloc.stop()
    grown = [item for item in after.compare_to(before, "lineno") if item.count_diff > 10]
    assert not grown
