"""OSC without a block: messages set live parameters, and values are sent when they change."""

import errno
import logging
import math
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pythonosc.osc_packet import OscPacket
from pythonosc.udp_client import SimpleUDPClient

from tests.fuzzing import seeds
from tests.values.running import Running, doubling
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.blocktypes.updated_blocks import Moment
from warploom.engine.patch.organise.osc import Osc, OscOut
from warploom.engine.patch.organise.osc_addresses import osc_table
from warploom.engine.protocol.messages import ReleaseOsc, SetRunning
from warploom.engine.runtime.update import updater
from warploom.engine.runtime.update.prepare import prepare
from warploom.engine.types import NAMED, DType, Struct, f32, float3
from warploom.engine.values.osc_control import MOST_LOGGED, encoded

HOST = "127.0.0.1"


@pytest.fixture
def receiver() -> Iterator[socket.socket]:
    """Return a socket to send to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind((HOST, 0))
        made.setblocking(False)
        yield made


def received(receiver: socket.socket) -> list[tuple[str, list[Any]]]:
    """Return the messages that have arrived."""
    found = []
    while True:
        try:
            data = receiver.recv(65_536)
        except BlockingIOError:
            return found
        message = OscPacket(data).messages[0].message
        found.append((message.address, message.params))


def free_port() -> int:
    """Return a UDP port that no one uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def test_messages_set_live_values_and_values_are_sent(
    receiver: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    """A message is a parameter write and no edit; a person's value and `ReleaseOsc` take the parameter back."""
    patch, port = Patch(), free_port()
    saxpy = doubling(patch)
    patch.rename(saxpy, "Soft Glow")
    patch.annotate(Osc(port=port, to=f"{HOST}:{receiver.getsockname()[1]}"))
    for name in ("a", "out"):
        patch.annotate(OscOut(node="saxpy", port=name))
    edits = patch.history.names
    with Engine(patch, device="host") as engine, SimpleUDPClient(HOST, port) as client:

        def send(value: Any, found: float, address: str = "/soft_glow/a") -> None:
            def is_set() -> bool:
                client.send_message(address, value)
                engine.step()
                return float(engine.read(saxpy["out"])[0]) == found

            until(is_set)

        engine.step()
        send(5.0, 5.0)
        assert engine.step().values == {"saxpy.a": 5.0}
        assert patch.value("saxpy", "a") == 2.0 and patch.history.names == edits
        send(6, 6.0, "/saxpy/a")
        with caplog.at_level(logging.WARNING, "warploom.engine.values.osc_control"):
            for _ in range(3):
                send(1e9, 10.0)
        assert [r.getMessage() for r in caplog.records] == [
            "OSC message to /soft_glow/a: value must be at most 10.0, got 1000000000.0; it is kept at that"
        ]
        patch.set(saxpy, a=3.0)
        time.sleep(0.05)
        engine.step()
        patch.set(saxpy, a=4.0)
        engine.step()
        assert engine.read(saxpy["out"])[0] == 4.0
        send(7.0, 7.0)
        time.sleep(0.05)
        engine.step()
        engine.post(ReleaseOsc())
        assert engine.step().values == {} and engine.read(saxpy["out"])[0] == 4.0
        sent = received(receiver)
        values = [params[0] for address, params in sent if address == "/soft_glow/a"]
        assert values[0] == 2.0 and values[-1] == 4.0 and all(a != b for a, b in pairwise(values))
        arrays = [params for address, params in sent if address == "/soft_glow/out"]
        np.testing.assert_array_equal(arrays[-1], 4.0 * np.arange(1, 6))
        engine.start()
        engine.post(SetRunning(False))

        def is_shown() -> bool:  # also while the engine is paused
            client.send_message("/soft_glow/a", 8.0)
            return float(engine.read(saxpy["out"])[0]) == 8.0

        until(is_shown)
        engine.stop()
        patch.annotate(Osc(port=0))
        engine.step()
        assert not engine.core.context.value_graph.is_listening


def test_a_port_in_use_and_a_stranger_are_one_problem_each() -> None:
    """A taken port is a warning that goes when the port does; an untrusted patch sends to this machine only."""
    patch = Patch()
    doubling(patch)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((HOST, 0))
        port = taken.getsockname()[1]
        patch.trusted = False
        patch.annotate(Osc(port=port, to="10.1.2.3:9001"))
        patch.annotate(OscOut(node="saxpy", port="a"))
        with Engine(patch, device="host") as engine:
            until(lambda: len(engine.step().diagnostics) == 2)
            heard, sent = engine.step().diagnostics
            assert heard.message.startswith(f"OSC must be able to listen at {HOST}, port {port}, got: ")
            assert sent.message == "OSC must be sent to this machine only, such as 127.0.0.1, got 10.1.2.3"
            patch.remove_annotation("osc")
            assert engine.step().diagnostics == ()


def test_a_loop_of_messages_settles(receiver: socket.socket) -> None:
    """What is sent and comes back is sent once; a loop that adds goes on once a frame at most, up to the bound."""
    patch = Patch()
    patch.add("value.slider", node_id="c", setting=0.1)
    patch.annotate(Osc(port=9000, to=f"{HOST}:{receiver.getsockname()[1]}"))
    patch.annotate(OscOut(node="c", port="setting"))
    graph = Running(patch).graph
    graph.set_osc(osc_table(patch))
    for more, most in ((0.0, 2), (0.25, 5)):
        messages = 0
        for _ in range(50):
            graph.update(Moment())
            for address, params in received(receiver):
                messages += 1
                graph.inputs.keep(graph.osc.table.source, address, [params[0] + more])
        assert messages <= most
        graph.inputs.keep(graph.osc.table.source, "/c/setting", [0.2])
    graph.close()


class Body(Struct):
    """A struct with a vector."""

    mass: f32
    at: float3


@pytest.mark.parametrize("dtype", [*NAMED.values(), Body], ids=str)
def test_arrays_of_every_element_type_are_sent(dtype: DType, receiver: socket.socket) -> None:
    """A message has the first numbers: those of vectors and structs one by one, complex ones as two."""
    patch = Patch()
    patch.add("io.array", node_id="a")
    patch.annotate(OscOut(node="a", port="out", to=f"{HOST}:{receiver.getsockname()[1]}"))
    graph = Running(patch).graph
    graph.set_osc(osc_table(patch))
    data = (np.arange(dtype.size_bytes * 70) % 2).astype(np.uint8)
    array = np.ndarray((70, *dtype.numpy.shape), dtype.numpy.base, data)
    graph.osc.send_array(graph.osc.table.outs[0], array)
    graph.close()
    parts = [array["mass"][:, None], array["at"]] if dtype.fields else [array]
    if array.dtype.kind == "c":
        parts = [array.real[:, None], array.imag[:, None]]
    expected = np.concatenate(parts, -1).ravel()[:64]
    ((_, found),) = received(receiver)
    np.testing.assert_array_equal(found, expected.astype(np.float32) if expected.dtype.kind == "f" else expected)


def test_parameters_of_every_kind_are_sent_or_left_out(receiver: socket.socket) -> None:
    """An array's first numbers are sent, and numbers and texts; objects can't be."""
    patch = Patch()
    patch.add("kernel.graph", node_id="k")
    patch.add("io.array", node_id="a", data=np.array([[1 + 2j]], np.complex64))
    patch.annotate(Osc(to=f"{HOST}:{receiver.getsockname()[1]}"))
    for node, name in (("k", "graph"), ("k", "constants"), ("k", "amount"), ("a", "data")):
        patch.annotate(OscOut(node=node, port=name))
    with Engine(patch, device="host") as engine:
        engine.step()
    assert dict(received(receiver)) == {"/k/amount": [1.0], "/k/constants": [""], "/a/data": [1.0, 2.0]}


def test_a_block_that_comes_during_a_job_is_sent(receiver: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its edit waits for the job, and the request to send its output does not."""
    patch, may_finish = Patch(), threading.Event()
    patch.add("io.array", data=np.ones(3, np.float32))

    def slow(*arguments: Any, **more: Any) -> Any:
        assert may_finish.wait()
        return prepare(*arguments, **more)

    with Engine(patch, device="host") as engine:
        engine.step()
        monkeypatch.setattr(updater, "prepare", slow)
        patch.add("io.array", data=np.ones(3, np.float32))
        engine.core.frame(free_running=True)
        patch.add("io.array", node_id="late", data=np.full(3, 7.0, np.float32))
        patch.annotate(OscOut(node="late", port="out", to=f"{HOST}:{receiver.getsockname()[1]}"))
        engine.core.frame(free_running=True)
        may_finish.set()
        until(lambda: engine.step() is not None and received(receiver) == [("/late/out", [7.0] * 3)])


def test_what_could_not_be_sent_is_sent_later(receiver: socket.socket) -> None:
    """Without a network there is a warning, which goes when the value could be sent, though it has not changed."""
    patch = Patch()
    patch.add("value.slider", node_id="c", setting=0.5)
    patch.annotate(OscOut(node="c", port="setting", to=f"{HOST}:{receiver.getsockname()[1]}"))
    graph = Running(patch).graph
    graph.set_osc(osc_table(patch))

    class Broken:
        def sendto(self, *_: object) -> None:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    whole, graph.osc._socket = graph.osc._socket, Broken()  # type: ignore[assignment]
    graph.update(Moment())
    (told,) = graph.diagnostics
    assert told.message.endswith("got: Network is unreachable") and told.node == "c"
    graph.osc._socket = whole
    graph.update(Moment())
    assert graph.diagnostics == () and received(receiver) == [("/c/setting", [0.5])]
    graph.close()


_VALUES = (0.5, -3, 7, 1e30, True, "text", None, b"blob", math.nan, math.inf, [1.0], 2**40)
_CONVERT: dict[str, Any] = {"float": float, "int": round, "bool": bool}


@pytest.mark.parametrize("seed", seeds(3))
def test_random_messages(seed: int) -> None:
    """Whatever is sent, each parameter has the last value that it can take, within its bounds; the log stays short."""
    random.seed(seed)
    patch = Patch()
    saxpy = doubling(patch)
    lfo = patch.add("value.lfo")
    driver = patch.add("value.slider")
    patch.connect(driver["value"], lfo["offset"])
    patch.annotate(Osc(port=9000))
    running = Running(patch)
    graph, now = running.graph, Moment()
    graph.set_osc(osc_table(patch))
    places = [
        (node, name)
        for node in patch.nodes
        for name in (*running.registry.placed[node].block_type.parameters, "nothing", "")
    ]
    expected: dict[tuple[str, str], Any] = {}
    for _ in range(300):
        node, name = random.choice(places)
        address = random.choice([f"/{node}/{name}", f"/{node}/{name}", f"{node}", f"//{name}", "/" * 600])
        arguments = random.choices(_VALUES, k=random.choice((0, 1, 1, 1, 2)))
        graph.inputs.keep(graph.osc.table.source, address, arguments)
        spec = running.registry.placed[node].block_type.parameters.get(name)
        is_number = bool(arguments) and isinstance(arguments[0], int | float) and math.isfinite(arguments[0])
        is_free = address == f"/{node}/{name}" and (node, name) != ("lfo", "offset")
        if is_free and spec is not None and not spec.structural and spec.type in _CONVERT and is_number:
            convert = _CONVERT[spec.type]
            low, high = spec.bounds
            value = convert(arguments[0])
            value = value if low is None else max(value, convert(low))
            expected[node, name] = value if high is None else min(value, convert(high))
        graph.update(now)
    for (node, name), value in expected.items():
        assert running.parameters.values[node][name] == pytest.approx(value, rel=1e-6), (node, name)
    assert len(graph.osc._logged) <= MOST_LOGGED
    assert {
        (port.node, port.port) for port in graph.osc.held
    } == expected.keys()  # a message that can't be taken sets nothing
    graph.osc.release()
    for node, name in expected:
        assert running.parameters.values[node][name] == patch.value(node, name)
    assert saxpy.id in patch.nodes


@pytest.mark.parametrize("seed", seeds(3))
def test_what_is_encoded_is_read_by_others(seed: int) -> None:
    """python-osc reads what was encoded; numbers without an integer's range are floats."""
    random.seed(seed)
    for _ in range(100):
        numbers = random.uniform(-1e3, 1e3), random.getrandbits(70) - 2**69
        values = tuple(random.choices((*numbers, True, False, "a" * random.randrange(9)), k=random.randrange(5)))
        message = OscPacket(encoded("/a/b", values)).messages[0].message
        assert message.address == "/a/b" and len(message.params) == len(values)
        for value, found in zip(values, message.params, strict=True):
            if type(value) is int and not -(2**63) <= value < 2**63:
                value = float(value)
            assert found == (struct.unpack(">f", struct.pack(">f", value))[0] if type(value) is float else value)
