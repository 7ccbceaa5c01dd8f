"""Whatever an engine's process sends, its client raises Warploom's errors only, and ends."""

import os
import random
import threading
from contextlib import suppress
from typing import IO, Any

import msgspec
import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom import Patch, ProfilingLevel
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.changes import NodeRemoved
from warploom.engine.protocol.child.encoding import Alive, encode
from warploom.engine.protocol.child.frames import read_frame, write_frame
from warploom.engine.protocol.child.process import EngineProcess
from warploom.engine.protocol.child.shared_pictures import SharedPictures, make_descriptor
from warploom.engine.protocol.pipe import connect
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.serve import serve

_WILD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**40,
    2**64 - 1,
    0.5,
    float("nan"),
    "",
    "x" * 99,
    b"",
    b"\x00" * 99,
    [],
    {},
)
_WILD += ({"type": "ReportChange"}, [[]] * 9, msgspec.msgpack.Ext(1, b"\x93\x01\x02\x03"), msgspec.msgpack.Ext(5, b""))
_ALIVE = encode(Alive())


class Relay:
    """Stands for a process: an engine in threads of this one, whose frames are mutated on their way to the client.

    The connection ends soon after the first mutation, as a client may wait for an answer that was lost.
    """

    pid, args = 0, ()

    def __init__(self, chance: random.Random, pictures: SharedPictures) -> None:
        self._chance = chance
        to_engine, self.stdin = _pipe()
        self._from_engine, from_engine = _pipe()
        self.stdout, self._to_client = _pipe()
        #: How many frames pass before one is mutated, and then until the end.
        self._before, self._after = chance.randrange(12), chance.randrange(3)
        self._threads = [
            threading.Thread(target=self._serve, args=(to_engine, from_engine, pictures)),
            threading.Thread(target=self._pass_on),
        ]
        for thread in self._threads:
            thread.start()

    def kill(self) -> None:
        """End soon, since the client reads no further."""

    def wait(self) -> int:
        """Return the status at the end."""
        return 0

    def join(self) -> None:
        """Wait for all threads."""
        for thread in self._threads:
            thread.join()

    def _serve(self, source: IO[bytes], sink: IO[bytes], pictures: SharedPictures) -> None:
        with suppress(BrokenPipeError), source, sink:
            serve(source, sink, pictures)

    def _pass_on(self) -> None:
        with suppress(BrokenPipeError), self._from_engine as source:
            with self._to_client as sink:
                while self._after >= 0 and (frame := read_frame(source)) is not None:
                    self._before -= frame != _ALIVE
                    if self._before < 0:
                        frame = mutated(frame, self._chance)
                        self._after -= 1
                    write_frame(sink, frame)
                    sink.flush()
            while read_frame(source) is not None:  # the engine must not wait for room in the pipe
                pass


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    source, sink = os.pipe()
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")


def mutated(frame: bytes, chance: random.Random) -> bytes:
    """Return a frame with other bytes, or with another value at one place."""
    if chance.random() < 0.3:
        place, data = chance.randrange(len(frame)), bytearray(frame)
        data[place : place + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
        return bytes(data)
    whole: Any = msgspec.msgpack.decode(frame)
    if chance.random() < 0.3 and isinstance(answer := whole.get("answer"), bytes):
        return msgspec.msgpack.encode(whole | {"answer": mutated(answer, chance) if answer else b"\xc1"})
    part: Any = whole
    while isinstance(part, dict | list) and part:
        key = chance.choice(sorted(part, key=str)) if isinstance(part, dict) else chance.randrange(len(part))
        if not isinstance(part[key], dict | list) or chance.random() < 0.4:
            part[key] = _other_place(part[key], chance) if chance.random() < 0.8 else chance.choice(_WILD)
            return msgspec.msgpack.encode(whole)
        part = part[key]
    return msgspec.msgpack.encode(chance.choice(_WILD))


def _other_place(value: Any, chance: random.Random) -> Any:
    """Return a picture or an array with another digit in its place, type or shape; for anything else, a wild value."""
    if not isinstance(value, msgspec.msgpack.Ext):
        return chance.choice(_WILD)
    data = bytearray(value.data)
    digits = [at for at, byte in enumerate(data[:40]) if chr(byte).isdigit()]
    if digits:
        at = chance.choice(digits)
        data[at : at + 1] = chance.choice((b"-1", b"9", b"999999999", b"0", b"None", b"1.5"))
    return msgspec.msgpack.Ext(value.code, bytes(data))


@pytest.mark.parametrize("seed", seeds(8))
def test_a_client_survives_any_answers(seed: int) -> None:
    """Each question has an answer or one of Warploom's errors, reports and pictures are whole, and closing ends."""
    chance = random.Random(seed)
    descriptor = make_descriptor()
    assert descriptor is not None
    shared = SharedPictures(descriptor), SharedPictures(descriptor)
    os.close(descriptor)
    relay = Relay(chance, shared[1])
    process = EngineProcess(("engine",), relay, shared[0])  # type: ignore[arg-type]  # replaces a process
    patch = Patch()
    pixels = patch.add("image.checkerboard", width=8, height=8)
    viewer = patch.add("io.viewer", node_id="viewer")
    patch.connect(pixels["out"], viewer["image"])
    try:
        with connect(patch, process, "host", profiling=ProfilingLevel.NONE, waits=chance.random() < 0.5) as client:
            client.post(ObservePorts({"viewer": picture_of("viewer", (8, 8))}))
            for _ in range(4):
                for ask in (
                    client.step,
                    lambda: client.read(pixels["out"]).sum(),
                    lambda: client.cost_of(NodeRemoved(patch.nodes["viewer"])),
                    client.flight_record,
                    client.profile,
                ):
                    with suppress(WarploomError):
                        ask()
                    client.take_report()
                    client.take_events()
                    picture = client.take_sample("viewer")
                    assert picture is None or picture.data is None or np.asarray(picture.data).dtype == np.uint8
    except WarploomError:
        pass
    finally:
        relay.join()
