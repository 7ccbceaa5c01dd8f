"""With any bytes in a frame, the engine keeps running, and reports each invalid message once."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from warploom.engine.diagnostics import Severity
from warploom.engine.patch.changes import Connected, Connection, Node, NodeAdded, ParameterChanged, PortRef
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.child.encoding import (
    Answered,
    Asked,
    Failed,
    FromEngine,
    Refused,
    ToEngine,
    UseFiles,
    encode,
    make_decoder,
)
from warploom.engine.protocol.child.frames import read_frame, write_frame
from warploom.engine.protocol.messages import ObserveProfile, SetProfiling, SetRunning
from warploom.engine.protocol.questions import Open, Question, Read, Step
from warploom.engine.protocol.sampling import ObservePorts, Sampling, picture_of
from warploom.engine.runtime.serve import serve

GOOD: tuple[Any, ...] = (
    NodeAdded(Node(id="a", type="io.array", parameters={"data": np.arange(6, dtype=np.float32).reshape(2, 3)})),
    NodeAdded(Node(id="b", type="io.load_image", parameters={"file": Path("a") / "b.png"})),
    Connected(Connection(PortRef("a", "out"), PortRef("b", "x"))),
    ParameterChanged("a", "gain", 1.5, None),
    ObservePorts({"a": picture_of("a", (3, 4), 0.5, None)}),
    ObservePorts({"a": Sampling(PortRef("a", "out"), ((0, 3),), (4,), probe=(2,), bins=8, rate=0.5)}),
    SetRunning(True, 3),
    SetProfiling(ProfilingLevel.NONE),
    ObserveProfile(True),
    UseFiles(Path("x"), (Path("y"),)),
    Asked(7, Read(PortRef("a", "out"))),
    Asked(8, Open("host", ProfilingLevel.NONE, 0.1)),
)
TAGS = (
    "type",
    "number",
    "question",
    "node",
    "id",
    "parameters",
    "change",
    *(type(message).__name__ for message in GOOD),
)
decode = make_decoder(ToEngine).decode

things = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=9)
    | st.sampled_from(TAGS)
    | st.builds(msgspec.msgpack.Ext, st.integers(-2, 5), st.binary(max_size=40)),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(TAGS) | st.integers(0, 3), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Return a message that was truncated, or with some bytes changed or missing."""
    frame = bytearray(encode(draw(st.sampled_from(GOOD))))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(frame) - 1))
        match draw(st.sampled_from(("cut", "other", "gone", "more"))):
            case "cut":
                frame = frame[: max(place, 1)]
            case "other":
                frame[place] = draw(st.integers(0, 255))
            case "gone" if len(frame) > 1:
                del frame[place]
            case _:
                frame[place:place] = draw(st.binary(max_size=5))
    return bytes(frame)


@st.composite
def ill_typed(draw: st.DrawFn) -> bytes:
    """Return a message with one field, at any depth, replaced by another value."""
    whole: Any = msgspec.msgpack.decode(encode(draw(st.sampled_from(GOOD))))
    part = whole
    while True:
        key = draw(st.sampled_from(sorted(part, key=str)))
        if not isinstance(part[key], dict) or not part[key] or draw(st.booleans()):
            part[key] = draw(things)
            return msgspec.msgpack.encode(whole)
        part = part[key]


def is_no_message(frame: bytes) -> bool:
    """Return whether the decoder refuses the bytes, for any reason."""
    try:
        decode(frame)
    except Exception:  # noqa: BLE001 - any error counts
        return True
    return False


DEEP = [b"\x91" * depth + b"\xc0" for depth in (5000, 500_000)]
anything = st.binary(max_size=60) | things.map(msgspec.msgpack.encode) | damaged() | ill_typed() | st.sampled_from(DEEP)
frames = anything.filter(is_no_message)


class Wire:
    """An engine that is served in this process, seen from the client's end of the pipe."""

    def __init__(self) -> None:
        there, self.sink = self._pipe()
        self.source, back = self._pipe()
        self._decode = make_decoder(FromEngine).decode
        self._thread = threading.Thread(target=self._serve, args=(there, back))
        self._thread.start()
        self._numbers = 1000

    @staticmethod
    def _pipe() -> tuple[Any, Any]:
        source, sink = os.pipe()
        return os.fdopen(source, "rb"), os.fdopen(sink, "wb")

    def _serve(self, source: Any, sink: Any) -> None:
        with source, sink, suppress(BrokenPipeError):
            serve(source, sink)

    def send(self, *frames: bytes) -> None:
        """Send some frames."""
        for frame in frames:
            write_frame(self.sink, frame)
        self.sink.flush()

    def ask(self, question: Question[Any]) -> tuple[Answered | Refused, list[Failed | Refused]]:
        """Return the answer to a question, and the reports before it."""
        self._numbers += 1
        self.send(encode(Asked(self._numbers, question)))
        told: list[Failed | Refused] = []
        while (frame := read_frame(self.source)) is not None:
            match self._decode(frame):
                case Answered(number) | Refused(number) as answer if number == self._numbers:
                    return answer, told
                case Failed() | Refused() as item:
                    told.append(item)
        raise AssertionError("the engine must run on")

    def close(self) -> None:
        """End the engine."""
        self.sink.close()
        while read_frame(self.source) is not None:
            pass
        self._thread.join()
        self.source.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    """An engine that runs a constant."""
    made = Wire()
    answer, told = made.ask(Open("host", ProfilingLevel.NONE, 1 / 60))
    assert isinstance(answer, Answered) and not told
    made.send(encode(NodeAdded(Node(id="one", type="buffer.constant", parameters={"value": 2.5}))))
    yield made
    made.close()


def test_invalid_messages_are_reported_and_the_engine_runs_on(wire: Wire) -> None:
    """Unknown tags, wrong types, truncated or damaged frames, and endless structures are each reported."""

    @settings(max_examples=many(100))
    @given(st.lists(frames, min_size=1, max_size=5))
    def law(wrong: list[bytes]) -> None:
        wire.send(*wrong)
        answer, told = wire.ask(Step())
        assert isinstance(answer, Answered)
        assert len(told) == len(wrong)
        for item in told:
            text = item.message if isinstance(item, Refused) else item.diagnostic.message
            assert text.startswith("message must have values of its types, got ") and len(text) > 50
            assert isinstance(item, Refused) or item.diagnostic.severity is Severity.ERROR
        answer, _ = wire.ask(Read(PortRef("one", "out")))
        assert isinstance(answer, Answered)
        assert make_decoder(np.ndarray).decode(answer.answer).tolist() == [2.5]

    law()


@pytest.mark.parametrize(
    ("path", "folders"), [(Path("a\0b"), ()), (None, (Path("a\0b"),)), (None, (Path("x" * 9000),))]
)
def test_impossible_file_names_are_reported(wire: Wire, path: Path | None, folders: tuple[Path, ...]) -> None:
    """Impossible file names are reported, and the engine continues with the files that it had."""
    wire.send(encode(UseFiles(path, folders)))
    answer, told = wire.ask(Step())
    assert isinstance(answer, Answered) and len(told) == 1


def test_an_engine_is_opened_once(wire: Wire) -> None:
    """A second request to open the engine is refused, and the open engine continues."""
    answer, _ = wire.ask(Open("host", ProfilingLevel.NONE, 1 / 60))
    assert isinstance(answer, Refused) and "must be opened once" in answer.message
    assert isinstance(wire.ask(Step())[0], Answered)
