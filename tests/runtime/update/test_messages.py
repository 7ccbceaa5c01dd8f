"""Whatever well-typed messages come, from however many threads, the engine keeps running.

Each message that cannot be followed is reported by one event; all others are followed in the order in which they came.
"""

import threading
import time
from collections import deque
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tests.runtime.small_blocks  # noqa: F401 - defines block types
from tests.fuzzing import many
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Connection, Node, PortRef
from warploom.engine.protocol.messages import (
    Edited,
    KernelFilesChanged,
    Message,
    Reset,
    SaveOutputs,
    SetFusing,
    SetInput,
    SetPacing,
    SetProfiling,
    SetRunning,
    SetTime,
)
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.sampling import ObservePorts, picture_of

TYPES = ("test_small.make", "math.scale_offset", "buffer.constant", "control.if", "control.for", "control.every")
TYPES += (
    "value.slider",
    "value.expression",
    "io.array",
    "io.external",
    "buffer.frame_delay",
    "buffer.state",
    "io.viewer",
)
TYPES += ("buffer.slice", "test_small.bump", "test_small.pour", "no.such")
NUMBERS = (0, 1, -1, 2, True, 0.0, -0.0, 0.5, 1e30, -1e300, 5e-324, float("nan"), float("inf"))
VALUES = (
    *NUMBERS,
    None,
    "",
    "3",
    "f32",
    "no",
    [1],
    {},
    (),
    object(),
    np.ones(3, np.float32),
    np.array(["a"]),
    Path("x"),
)

ids = st.sampled_from(("a", "b", "c", "d", "e", "f"))
ports = st.builds(
    PortRef, ids, st.sampled_from(("x", "out", "value", "scale", "offset", "condition", "due", "count", "no"))
)
connections = st.builds(Connection, ports, ports)
scopes = ids | st.sampled_from(("", "a.else", "b.no", "gone", "a.b.c"))
names = st.sampled_from(
    ("value", "scale", "offset", "count", "shape", "dtype", "size", "data", "array", "setting", "no")
)
values = st.sampled_from(VALUES)
nodes = st.builds(
    Node,
    id=ids | st.sampled_from(("", "x/y", "x.y")),
    type=st.sampled_from(TYPES),
    region=scopes,
    parameters=st.dictionaries(names, values, max_size=2),
)
positions = st.tuples(st.floats(), st.floats())
any_change = st.one_of(
    *[st.builds(changes.NodeAdded, nodes)] * 3,
    st.builds(changes.NodeRemoved, nodes),
    *[st.builds(changes.Connected, connections)] * 3,
    st.builds(changes.Disconnected, connections),
    *[st.builds(changes.ParameterChanged, ids, names, values, values)] * 3,
    st.builds(changes.NodeMoved, ids, positions, positions),
    st.builds(changes.NodeRenamed, ids, st.text(max_size=3), st.text(max_size=3)),
    st.builds(changes.NodeColoured, ids, st.text(max_size=3), st.text(max_size=3)),
    st.builds(changes.NodeCommented, ids, st.text(max_size=3), st.text(max_size=3)),
    st.builds(changes.NodeRegionChanged, ids, scopes, scopes),
    st.builds(changes.BlockTypesChanged, st.frozensets(st.sampled_from(TYPES), max_size=3)),
)
sizes, places = st.tuples(*[st.integers(1, 300)] * 2), st.tuples(*[st.integers(0, 300)] * 2)
rates = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
pictures = st.builds(picture_of, ids, st.just(()) | sizes, st.none() | rates, st.none() | places)
pacings = st.just(Pacing.free()) | rates.filter(lambda rate: rate > 100).map(Pacing.fixed)  # frames must come soon
messages = st.one_of(
    *[any_change] * 6,
    st.builds(Edited, st.lists(any_change, max_size=5).map(tuple), st.booleans()),
    st.builds(KernelFilesChanged, st.frozensets(st.sampled_from((Path("no.cu"), Path("/"), Path("buffers.cu"))))),
    st.builds(ObservePorts, st.dictionaries(ids, pictures, max_size=3)),
    st.builds(SetRunning, st.booleans(), st.none() | st.integers(0, 3)),
    st.builds(SetPacing, pacings),
    st.builds(SetProfiling, st.sampled_from(ProfilingLevel)),
    st.builds(SetFusing, st.booleans()),
    st.just(Reset()),
    st.builds(SaveOutputs, st.none() | ids),
    st.builds(SetInput, st.text(max_size=3), st.floats()),
    st.builds(SetTime, st.floats(0, 1e9)),
)


class Inbox(deque[Any]):
    """An inbox that records its messages in order."""

    def __init__(self) -> None:
        super().__init__()
        self.came: list[Message] = []
        self._lock = threading.Lock()

    def append(self, message: Any) -> None:
        with self._lock:
            self.came.append(message)
            super().append(message)


def followed(came: list[Message]) -> tuple[set[str], dict[PortRef, Connection], int]:
    """Return the expected patch after these messages, and the number of messages that could not be followed."""
    there: set[str] = set()
    wires: dict[PortRef, Connection] = {}
    refused = 0
    edits = (message.changes if isinstance(message, Edited) else (message,) for message in came)
    for message in chain.from_iterable(edits):
        match message:
            case changes.NodeAdded(node) if not node.id or node.id in there or {".", "/"} & set(node.id):
                refused += 1
            case changes.NodeAdded(node):
                there.add(node.id)
            case changes.NodeRemoved(node) if node.id in there:
                there.discard(node.id)
                wires = {t: c for t, c in wires.items() if node.id not in (c.source.node, t.node)}
            case changes.Connected(connection) if (
                connection.target not in wires
                and {
                    connection.source.node,
                    connection.target.node,
                }
                <= there
            ):
                wires[connection.target] = connection
            case changes.Disconnected(connection) if wires.get(connection.target) == connection:
                del wires[connection.target]
            case changes.NodeRemoved() | changes.Connected() | changes.Disconnected():
                refused += 1
            case changes.ParameterChanged(node=node_id) | changes.NodeRegionChanged(node=node_id):
                refused += node_id not in there
            case changes.NodeLooksChanged(node=node_id):
                refused += node_id not in there
    return there, wires, refused


def run(posted: list[list[Message]]) -> None:
    """Post lists of messages, each from its own thread, to an engine that runs another patch."""
    patch = Patch()
    patch.add("test_small.make", node_id="untouched", value=3.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        engine.core.inbox = engine._local.engine.inbox = inbox = Inbox()
        engine.transport.post = inbox.append  # type: ignore[method-assign]
        engine.take_events()
        engine.start(rate=None)
        posters = [threading.Thread(target=lambda own=own: [engine.post(message) for message in own]) for own in posted]
        for poster in posters:
            poster.start()
        for poster in posters:
            poster.join()
        engine.post(SetPacing(Pacing.free()))
        while inbox or engine.core.updates.pending:
            report = engine.take_report()
            assert report is None or not report.failed, report.diagnostics
            time.sleep(0.001)
        engine.stop()
        there, wires, refused = followed(inbox.came)
        report = engine.step()
        assert not report.failed
        assert engine.core.context.registry.placed.keys() == there | {"untouched"}
        assert engine.core.context._by_target == wires
        told = [e for e in engine.take_events() if isinstance(e, Diagnostic) and e.remedy.startswith("it is left out")]
        assert len(told) == refused
        assert all(item.node is not None for item in told)
        assert engine.read(PortRef("untouched", "out")).tolist() == [3.0] * 3


@settings(max_examples=many(6), deadline=None)
@given(st.lists(st.lists(messages, max_size=30), min_size=4, max_size=4))
def test_the_engine_survives_any_messages_from_four_threads(posted: list[list[Message]]) -> None:
    """After random messages from four threads, the patch follows those that apply, and the others are reported."""
    run(posted)
