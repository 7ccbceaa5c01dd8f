"""DMX over networks, WebSocket and gamepads: real packets, clients and virtual pads, and what is not there."""

import ctypes
import io
import json
import os
import random
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacn.messages.data_packet import DataPacket
from websockets.sync.client import connect

from tests.values.test_listening import step_until
from tests.waiting import until
from warploom import Engine, Patch
from warploom.blocks.controller.gamepad import Gamepad
from warploom.engine.values.sources import listening
from warploom.engine.values.sources.dmx import DmxListener, DmxPacket, read_artnet, read_sacn
from warploom.engine.values.sources.gamepad import GamepadListener
from warploom.engine.values.sources.listening import Inputs
from warploom.engine.values.sources.websocket import WebSocketListener, numbers_in

HOST = "127.0.0.1"


def sacn_packet(universe: int, levels: bytes, priority: int = 100, *, preview: bool = False) -> bytes:
    packet = DataPacket(tuple(range(16)), "tests", universe, tuple(levels.ljust(512, b"\0")), priority)
    packet.option_PreviewData = preview
    return bytes(packet.getBytes())


def artnet_packet(universe: int, levels: bytes) -> bytes:
    head = b"Art-Net\0" + struct.pack("<H", 0x5000) + bytes([0, 14, 0, 0]) + struct.pack("<H", universe)
    return head + struct.pack(">H", len(levels)) + levels


@pytest.mark.parametrize("universe", [1, 255, 256, 63999])
def test_packets_hold_a_universe(universe: int) -> None:
    """Both protocols give the universe and its levels; the highest universe of Art-Net has 15 bits."""
    levels = bytes(range(256)) * 2
    assert read_sacn(sacn_packet(universe, levels, 7)) == DmxPacket(universe, levels, 7)
    assert read_sacn(sacn_packet(universe, levels, preview=True)) is None
    short = universe & 0x7FFF
    for count in (2, 33, 512):
        assert read_artnet(artnet_packet(short, levels[:count])) == DmxPacket(short, levels[:count])


def test_other_packets_are_left_out() -> None:
    """Anybody may send anything to these ports."""
    rng = random.Random(7)
    whole = [sacn_packet(1, b"\1\2"), artnet_packet(1, b"\1\2")]
    for _ in range(200):
        data = bytearray(rng.choice(whole))
        for _ in range(rng.randrange(4)):
            data[rng.randrange(min(len(data), 130))] = rng.randrange(256)
        cut = bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        for read in (read_sacn, read_artnet):
            packet = read(cut)
            assert packet is None or len(packet.levels) <= 512


def test_a_higher_priority_is_heard_until_it_is_lost() -> None:
    """A lower priority is heard 2.5 s after the last packet of the higher one (E1.31, 6.7.1)."""
    inputs = Inputs()
    listener = DmxListener("sacn:1", inputs)
    for priority, level, now_s, heard in ((100, 1, 0.0, 1), (50, 2, 1.0, 1), (100, 3, 2.0, 3), (50, 4, 4.6, 4)):
        listener.receive(DmxPacket(1, bytes([level]), priority), now_s)
        assert inputs.table["sacn:1:1"] == heard
    listener.release()


@pytest.mark.parametrize(("protocol", "port"), [("sACN", 5568), ("Art-Net", 6454)])
def test_channels_of_a_desk_drive_values(protocol: str, port: int) -> None:
    """Levels become 0 to 1; with a fine channel there are 65536 steps; other universes are not heard."""
    packet = sacn_packet if protocol == "sACN" else artnet_packet
    patch = Patch()
    desk = {"protocol": protocol, "universe": 9, "default": 0.25}
    coarse = patch.add("value.dmx_in", channel=3, **desk)
    fine = patch.add("value.dmx_in", channel=1, fine=True, **desk)
    with Engine(patch, device="host") as engine, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as desk_socket:
        assert engine.step().values[f"{coarse.id}.value"] == 0.25

        def send(levels: bytes, universe: int = 9) -> None:
            desk_socket.sendto(packet(universe, levels), (HOST, port))

        def is_heard(report: Any) -> bool:
            send(b"\x80\x01\xff", 8)
            send(b"\x80\x01\x33")
            return bool(report.values[f"{coarse.id}.value"] == pytest.approx(0.2))

        report = step_until(engine, is_heard)
        assert report.values[f"{fine.id}.raw"] == 0x8001
        assert report.values[f"{fine.id}.value"] == pytest.approx(0x8001 / 65535)


def test_numbers_in_json_have_names() -> None:
    """Objects and lists give each number the path to it; texts, null and depths without end give none."""
    message = json.loads('{"a": 1, "b": {"c": [2.5, true, "x", null]}, "n": NaN}')
    assert [(n, v) for n, v in numbers_in(message) if v == v] == [("a", 1), ("b/c/0", 2.5), ("b/c/1", 1)]
    assert numbers_in(7) == [("value", 7)]
    assert numbers_in("7") == numbers_in(10**400) == []
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert numbers_in(deep) == []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def test_a_web_page_drives_values() -> None:
    """Two clients send to one port; text that is no JSON, and a message that is too large, do no harm."""
    port = free_port()
    patch = Patch()
    speed = patch.add("value.websocket_in", name="speed", port=port, default=0.5)
    y = patch.add("value.websocket_in", name="pad/y", port=port)
    with Engine(patch, device="host") as engine:
        assert engine.step().values[f"{speed.id}.value"] == 0.5
        until(lambda: engine.step() is not None and _listens(port))
        with connect(f"ws://{HOST}:{port}") as one, connect(f"ws://{HOST}:{port}") as two:
            one.send("no json")
            one.send(json.dumps({"speed": 4}))
            two.send(json.dumps({"pad": {"y": -1.5}}))
            report = step_until(
                engine, lambda r: (r.values[f"{speed.id}.value"], r.values[f"{y.id}.value"]) == (4, -1.5)
            )
            assert report.values[f"{y.id}.received"] == 2
            two.send("1" * 70_000)
            one.send(json.dumps({"speed": 5}))
            step_until(engine, lambda r: r.values[f"{speed.id}.value"] == 5)
    until(lambda: not any(t.name.startswith("warploom-websocket") for t in threading.enumerate()))


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def test_web_pages_get_values() -> None:
    """All pages get each change, and a page that comes later the newest values; one that reads nothing stops no one."""
    port = free_port()
    patch = Patch()
    speed = patch.add("io.websocket_out", name="speed", port=port, input=0.25)
    patch.add("io.websocket_out", name="gain", port=port, input=-3.0)
    back = patch.add("value.websocket_in", name="back", port=port)
    with ExitStack() as opened, Engine(patch, device="host") as engine:

        def page(**options: Any) -> Any:
            return opened.enter_context(connect(f"ws://{HOST}:{port}", close_timeout=0.2, **options))

        engine.step()
        (listener,) = engine.core.context.value_graph._listeners.open.values()
        until(lambda: _listens(port))
        pages = [page(), page()]
        page(max_queue=1)  # nobody reads what it gets
        assert [json.loads(each.recv()) for each in pages] == [{"speed": 0.25, "gain": -3.0}] * 2
        patch.set(speed, input=0.5)
        assert not engine.step().diagnostics and not engine.step().diagnostics
        assert [json.loads(each.recv()) for each in pages] == [{"speed": 0.5}] * 2
        assert engine.read(speed["sent"]) == 2
        pages[0].send(json.dumps({"back": 7}))
        step_until(engine, lambda r: r.values[f"{back.id}.value"] == 7)
        for number in range(900):
            listener.send((f"{number:0>400}", float(number)))
        until(lambda: f"{899:0>400}" in pages[0].recv())
        assert len(json.loads(page().recv())) == 902
    until(lambda: not any(t.name.startswith("warploom-websocket") for t in threading.enumerate()))


def test_arrays_come_and_go_as_files_of_numpy() -> None:
    """A buffer goes to all clients at its name, any type and shape; what one of them sends fills another buffer."""
    port = free_port()
    patch = Patch()
    rng = np.random.default_rng(0)
    source = patch.add("io.array", data=rng.normal(size=(3, 5)).astype(np.float32))
    out = patch.add("io.websocket_array_out", name="grid", port=port, rate=1000)
    patch.connect(source["out"], out["x"])
    back = patch.add("io.websocket_array_in", name="back", port=port, shape="4, 6", type="f32")
    with ExitStack() as opened, Engine(patch, device="host") as engine:
        engine.step()
        until(lambda: engine.step() is not None and _listens(port))

        def client(name: str) -> Any:
            return opened.enter_context(connect(f"ws://{HOST}:{port}/{name}", close_timeout=0.2, max_size=1 << 28))

        def received(at: Any) -> Any:
            engine.step()
            return np.load(io.BytesIO(at.recv(timeout=60)))

        one, two, other = client("grid"), client("grid/?page=2"), client("else")
        for each in (one, two):
            np.testing.assert_array_equal(received(each), source_data := engine.read(source["out"]))
            assert source_data.shape == (3, 5)
        for data in (np.arange(24, dtype=np.uint8), rng.normal(size=(2, 3, 4)) + 1j, np.zeros((700, 800), np.float32)):
            patch.set(source, data=data)
            found = received(one)
            while found.shape != data.shape:
                found = received(one)
            np.testing.assert_array_equal(found, data)
            assert found.dtype == data.dtype
        with pytest.raises(TimeoutError):
            other.recv(timeout=0)

        sender = client("back")
        assert not engine.read(back["out"]).any()
        sizes = np.ones((4, 6)), np.full((2, 3), 7.5, ">f4"), np.arange(5).reshape(1, 5), np.ones((0, 2))
        for number, data in enumerate(sizes, 1):
            sender.send(_npy(data))
            report = step_until(engine, lambda r, n=number: r.values[f"{back.id}.received"] == n)
            assert not report.diagnostics and report.values[f"{back.id}.rows"] == len(data)
            expected = np.zeros((4, 6), np.float32)
            expected[: data.shape[0], : data.shape[1]] = data
            np.testing.assert_array_equal(engine.read(back["out"]), expected)
    until(lambda: not any(t.name.startswith("warploom-websocket") for t in threading.enumerate()))


def test_a_damaged_array_is_named_and_the_one_before_stays() -> None:
    """A message that is no array, is cut off, or doesn't fit has a warning until a good one comes."""
    port = free_port()
    patch = Patch()
    node = patch.add("io.websocket_array_in", port=port, shape="3", type="s32")
    good = _npy(np.array([1, 2, 3]))
    huge = good.replace(b"(3,)", b"(1" + b"0" * 17 + b",)")
    harms = {
        b"\x00\x01\x02": "must be an NPY file that fits, got: 3 other bytes",
        b"PK\x03\x04" + good: "other bytes",
        good[:-5]: "ends after 19 of 24 bytes",
        good[:40]: "got: ",
        huge: "ends after",
        _npy(np.array([1.5])): "elements of type float64 for int32",
        _npy(np.array(["a"])): "elements of type <U1 for int32",
        _npy(np.arange(4)): r"shape [4] for at most [3]",
        _npy(np.ones((1, 1), int)): r"shape [1, 1] for at most [3]",
        _npy(np.array([{}]), pickled=True): "elements of type object, which are no numbers",
    }
    with Engine(patch, device="host") as engine:
        until(lambda: engine.step() is not None and _listens(port))
        with connect(f"ws://{HOST}:{port}/array") as client:
            client.send(good)
            step_until(engine, lambda r: r.values[f"{node.id}.received"] == 1)
            for number, (message, text) in enumerate(harms.items(), 2):
                client.send(message)
                report = step_until(engine, lambda r, n=number: r.values[f"{node.id}.received"] == n)
                (told,) = report.diagnostics
                assert told.node == node.id and text in told.message and "array array" in told.message
                np.testing.assert_array_equal(engine.read(node["out"]), [1, 2, 3])
            client.send(_npy(np.array([9], np.int8)))
            report = step_until(engine, lambda r: r.values[f"{node.id}.rows"] == 1)
            assert not report.diagnostics
            np.testing.assert_array_equal(engine.read(node["out"]), [9, 0, 0])


def _npy(array: Any, *, pickled: bool = False) -> bytes:
    held = io.BytesIO()
    np.save(held, array, allow_pickle=pickled)
    return held.getvalue()


def test_a_port_in_use_is_named() -> None:
    """The block warns, and is heard when the port is free."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        patch = Patch()
        node = patch.add("value.websocket_in", port=taken.getsockname()[1])
        with Engine(patch, device="host") as engine:
            report = step_until(engine, lambda r: bool(r.diagnostics))
    assert report.diagnostics[0].node == node.id and "must be able to listen" in report.diagnostics[0].message


@pytest.mark.parametrize(
    ("library", "kind", "source"),
    [
        ("sacn", DmxListener, "sacn:1"),
        ("websockets.sync.server", WebSocketListener, "websocket:127.0.0.1:9"),
        ("pygame", GamepadListener, "gamepad:"),
    ],
)
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str, kind: Any, source: str) -> None:
    """The warning has the command that installs it."""
    monkeypatch.setitem(sys.modules, library, None)
    listener = kind(source, Inputs())
    with pytest.raises(listening.Unavailable) as refused:
        listener.listen()
    assert refused.value.remedy.startswith("pip install 'warploom[")
    listener.release()


class VirtualPad:
    """A pad that SDL makes up, which programs can't tell from a real one."""

    def __init__(self) -> None:
        import pygame
        from pygame._sdl2 import controller

        pygame.display.init()
        controller.init()
        (path,) = (Path(pygame.__file__).parents[1] / "pygame_ce.libs").glob("libSDL2-2*")
        self._sdl = ctypes.CDLL(str(path))
        self._sdl.SDL_JoystickOpen.restype = ctypes.c_void_p
        self._sdl.SDL_JoystickSetVirtualAxis.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int16]
        self._sdl.SDL_JoystickSetVirtualButton.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint8]
        self._index = self._sdl.SDL_JoystickAttachVirtual(1, 6, 15, 0)
        self._pad = self._sdl.SDL_JoystickOpen(self._index)

    def set(self, axis: int, value: int) -> None:
        self._sdl.SDL_JoystickSetVirtualAxis(self._pad, axis, value)

    def press(self, button: int, down: bool) -> None:
        self._sdl.SDL_JoystickSetVirtualButton(self._pad, button, down)

    def unplug(self) -> None:
        self._sdl.SDL_JoystickDetachVirtual(self._index)


@pytest.fixture
def pad(monkeypatch: pytest.MonkeyPatch) -> Iterator[VirtualPad]:
    """A pad that is connected."""
    monkeypatch.setattr(listening, "RETRY_S", 0.01)
    monkeypatch.setitem(os.environ, "SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(os.environ, "PYGAME_HIDE_SUPPORT_PROMPT", "1")
    made = VirtualPad()
    yield made
    made.unplug()


def test_a_gamepad_drives_values(pad: VirtualPad) -> None:
    """Sticks have y upwards and a dead zone that leaves no jump; presses are counted; a pad may come back."""
    patch = Patch()
    names = {"x": "left stick x", "y": "left stick y", "t": "right trigger", "a": "a"}
    nodes = {key: patch.add("value.gamepad", control=control, dead_zone=0.5) for key, control in names.items()}
    with Engine(patch, device="host") as engine:

        def values(report: Any) -> dict[str, float]:
            return {key: round(report.values[f"{node.id}.value"], 3) for key, node in nodes.items()}

        pad.set(0, -32768)
        pad.set(1, 24575)
        pad.set(5, 32767)
        step_until(engine, lambda r: values(r) == {"x": -1, "y": -0.5, "t": 1, "a": 0})
        pad.set(0, 16000)  # within the dead zone
        pad.press(0, True)
        report = step_until(engine, lambda r: values(r) == {"x": 0, "y": -0.5, "t": 1, "a": 1})
        assert report.values[f"{nodes['a'].id}.presses"] == 1
        assert not report.diagnostics
        pad.unplug()
        report = step_until(engine, lambda r: bool(r.diagnostics))
        assert "must be connected" in report.diagnostics[0].message or "got none" in report.diagnostics[0].message


def test_pads_are_offered_by_their_names(pad: VirtualPad) -> None:
    """The list has each pad that is connected, and one that is unplugged no longer."""
    (name,) = Gamepad.offered("device")
    patch = Patch()
    node = patch.add("value.gamepad", control="a", device=name)
    with Engine(patch, device="host") as engine:
        pad.press(0, True)
        step_until(engine, lambda r: r.values[f"{node.id}.value"] == 1)
        assert list(Gamepad.offered("device")) == [name]
        pad.press(0, False)  # the list leaves the pad open that is in use
        report = step_until(engine, lambda r: r.values[f"{node.id}.value"] == 0 or bool(r.diagnostics))
        assert not report.diagnostics
    pad.unplug()
    assert not Gamepad.offered("device")


def test_two_blocks_may_use_one_pad(pad: VirtualPad) -> None:
    """A pad stays open for one block while another one leaves it, or looks at its name."""
    patch = Patch()
    first = patch.add("value.gamepad", control="a")
    named = patch.add("value.gamepad", control="a", device="virtual")
    with Engine(patch, device="host") as engine:
        pad.press(0, True)
        step_until(engine, lambda r: [r.values[f"{node.id}.value"] for node in (first, named)] == [1, 1])
        patch.set(named, device="another")
        step_until(engine, lambda r: any(problem.node == named.id for problem in r.diagnostics))
        pad.press(0, False)
        report = step_until(engine, lambda r: not r.values[f"{first.id}.value"] or len(r.diagnostics) > 1)
        assert [problem.node for problem in report.diagnostics] == [named.id]


def test_without_a_pad_the_block_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for a pad, and names those that are there."""
    patch = Patch()
    patch.add("value.gamepad", device="no such pad")
    with Engine(patch, device="host") as engine:
        report = step_until(engine, lambda r: bool(r.diagnostics))
    assert "gamepads must have one called 'no such pad'" in report.diagnostics[0].message
