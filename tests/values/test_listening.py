"""OSC over loopback and MIDI over a fake device: messages, missing sources, and cleaning up."""

import math
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

import mido
import pytest
from pythonosc.osc_bundle_builder import OscBundleBuilder
from pythonosc.osc_message_builder import OscMessageBuilder
from pythonosc.udp_client import SimpleUDPClient

from tests.fuzzing import seeds
from tests.values import fake_midi
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.diagnostics import Severity
from warploom.engine.protocol.messages import FrameReport
from warploom.engine.values.sources import listening, midi
from warploom.engine.values.sources.listening import Inputs
from warploom.engine.values.sources.midi import MidiListener, midi_name
from warploom.engine.values.sources.osc import OscListener, osc_name

HOST = "127.0.0.1"


def step_until(engine: Engine, condition: Callable[[FrameReport], bool]) -> FrameReport:
    """Run frames until a report satisfies a condition."""
    reports = [engine.step()]

    def is_there() -> bool:
        reports.append(engine.step())
        return condition(reports[-1])

    until(is_there)
    return reports[-1]


def listeners() -> list[str]:
    """Return the names of the threads that listen."""
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("warploom-listener"))


@pytest.fixture
def port() -> int:
    """Return a UDP port that no one uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def osc(port: int) -> Iterator[tuple[Inputs, SimpleUDPClient]]:
    """Run a listener; return its table and a sender."""
    inputs = Inputs()
    listener = OscListener(f"osc:{HOST}:{port}", inputs)
    listener.start()
    with SimpleUDPClient(HOST, port) as client:
        until(lambda: _send(client, inputs))
        yield inputs, client
    listener.close()


def _send(client: SimpleUDPClient, inputs: Inputs) -> bool:
    """Send messages until someone listens."""
    client.send_message("/hello", 1.0)
    return "osc:/hello/0" in inputs.table


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Provide mido with a backend that has one device."""
    monkeypatch.setattr(listening, "RETRY_S", 0.01)
    monkeypatch.setattr(midi, "RETRY_S", 0.01)
    backend = mido.Backend("tests.values.fake_midi")
    for name in ("get_input_names", "open_input", "get_output_names", "open_output"):
        monkeypatch.setattr(mido, name, getattr(backend, name))
    fake_midi.devices[:] = ["Fake Keys 24:0"]
    fake_midi.busy.clear()
    fake_midi.sent.clear()
    yield "Fake Keys 24:0"
    assert not fake_midi.opened


def test_osc_arguments_get_names(osc: tuple[Inputs, SimpleUDPClient]) -> None:
    """Numbers and booleans are named by their place in the message, texts are left out, and messages are counted."""
    inputs, client = osc
    client.send_message("/mix", [0.5, "text", 7, True, b"blob"])
    client.send_message("/mix", [0.75, "text", 8, False])
    until(lambda: inputs.table.get(osc_name("/mix", "count")) == 2)
    mine = {name: value for name, value in inputs.table.items() if name.startswith("osc:/mix") and "@" not in name}
    assert mine == {"osc:/mix/0": 0.75, "osc:/mix/2": 8.0, "osc:/mix/3": 0.0, "osc:/mix/count": 2.0}


def test_osc_bundles_count_at_once_and_noise_is_left_out(osc: tuple[Inputs, SimpleUDPClient], port: int) -> None:
    """A bundle dated next year delays no later message, and bytes that are not OSC are ignored."""
    inputs, client = osc
    bundle = OscBundleBuilder(time.time() + 3e7)
    message = OscMessageBuilder("/later")
    message.add_arg(3.0)
    bundle.add_content(message.build())  # type: ignore[arg-type]  # the library accepts this
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as raw:
        for data in (b"", b"\x00", b"/x", b"#bundle\x00" + b"\xff" * 12, b"/a\x00\x00,f\x00\x00", b"\xff" * 2000):
            raw.sendto(data, (HOST, port))
    client.send(bundle.build())
    client.send_message("/now", 4)
    until(lambda: "osc:/now/0" in inputs.table)
    assert inputs.table["osc:/later/0"] == 3.0


def _packet(chance: random.Random, depth: int = 0) -> bytes:
    """Return a message, or a bundle of packets."""
    if depth > 2 or chance.random() < 0.5:
        message = OscMessageBuilder("/" + "".join(chance.choice("ab/#,é") for _ in range(chance.randrange(9))))
        for _ in range(chance.randrange(5)):
            message.add_arg(chance.choice([1.0, -1, 2**31 - 1, "text", b"blob", True, None, [1, 2.0]]))
        return bytes(message.build().dgram)
    parts = [_packet(chance, depth + 1) for _ in range(chance.randrange(4))]
    return b"#bundle\0" + chance.randbytes(8) + b"".join(len(part).to_bytes(4, "big") + part for part in parts)


@pytest.mark.parametrize("seed", seeds(4))
def test_any_bytes_are_osc_or_left_out(seed: int) -> None:
    """Packets with other bytes are read or left out, whatever they hold."""
    chance, inputs = random.Random(seed), Inputs()
    listener = OscListener(f"osc:{HOST}:9", inputs)
    wild = b"\xff\xff\xff\xfc", b"\0\0\0\0", b"#bundle\0", b",i\0\0", b",tTFNIhdSrm[[]\0", b"\x7f" * 4, b""
    for _ in range(200):
        data = bytearray(_packet(chance))
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.randrange(5)] = chance.choice((*wild, chance.randbytes(5)))
        listener.receive(bytes(data))
    listener.release()
    assert all(isinstance(value, float) and math.isfinite(value) for value in inputs.table.values())


@pytest.mark.parametrize("size", [-4, 0, 5, 2**31 - 1])
def test_a_bundle_with_a_wrong_length_is_left_out(size: int) -> None:
    """A bundle whose part has a length that leads back, nowhere or beyond its end is left out."""
    inputs = Inputs()
    listener = OscListener(f"osc:{HOST}:9", inputs)
    message = OscMessageBuilder("/a")
    message.add_arg(1.0)
    listener.receive(b"#bundle\0" + bytes(8) + size.to_bytes(4, "big", signed=True) + message.build().dgram)
    deep = bytes(message.build().dgram)
    for _ in range(3000):
        deep = b"#bundle\0" + bytes(8) + len(deep).to_bytes(4, "big") + deep
    listener.receive(deep)
    long = OscMessageBuilder("/" + "x" * 60_000)
    long.add_arg(1.0)
    listener.receive(long.build().dgram)
    listener.release()
    assert not inputs.table


@pytest.mark.parametrize("seed", seeds(2))
def test_any_bytes_of_a_midi_device_are_messages_or_left_out(seed: int) -> None:
    """The bytes of a device, in any order, only set finite numbers."""
    chance, inputs = random.Random(seed), Inputs()
    listener, parser = MidiListener("midi:", inputs), mido.Parser()
    for _ in range(300):
        parser.feed(
            chance.randbytes(chance.randrange(5)) + chance.choice((b"\x90\x3c\x40", b"\xe0", b"\xf0", b"\xb1\1"))
        )
        for message in parser:
            listener._store(message)
    assert inputs.table and all(math.isfinite(value) for value in inputs.table.values())


@pytest.mark.feature("osc")
def test_osc_drives_a_patch(port: int) -> None:
    """OSC values reach a patch's block, and two blocks share a port, which the last one closes."""
    patch = Patch()
    one = patch.add("value.osc_in", port=port, address="/a", default=0.25)
    two = patch.add("value.osc_in", port=port, address="/b", index=1)
    with Engine(patch, device="host") as engine, SimpleUDPClient(HOST, port) as client:
        report = engine.step()
        assert report.values[str(one["value"])] == 0.25 and not report.diagnostics
        assert listeners() == [f"warploom-listener osc:{HOST}:{port}"]

        def came(report: FrameReport) -> bool:
            client.send_message("/a", 0.5)
            client.send_message("/b", [1, 2])
            return report.values[str(one["value"])] == 0.5 and report.values[str(two["value"])] == 2

        report = step_until(engine, came)
        assert report.values[str(one["received"])] >= 1
        patch.remove(one)
        engine.step()
        assert len(listeners()) == 1
        other = port - 1 if port > 2000 else port + 1
        patch.set(two, port=other)
        engine.step()
        until(lambda: listeners() == [f"warploom-listener osc:{HOST}:{other}"])
        patch.remove(two)
        engine.step()
        until(lambda: listeners() == [])
        patch.undo()
        engine.step()
        assert len(listeners()) == 1
    assert listeners() == []


def test_a_taken_port_is_reported_until_it_is_free(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node says which port is taken and what to do; once the port is free, the block listens without an edit."""
    monkeypatch.setattr(listening, "RETRY_S", 0.01)
    patch = Patch()
    patch.add("value.osc_in", node_id="osc", port=port)
    patch.add("value.time", node_id="time")
    with Engine(patch, device="host") as engine:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind((HOST, port))
            report = step_until(engine, lambda report: bool(report.diagnostics))
            (told,) = report.diagnostics
            assert (told.severity, told.node) == (Severity.WARNING, "osc")
            assert told.message.startswith(
                f"OSC must be able to listen at 127.0.0.1, port {port}, got: Address already"
            )
            assert told.remedy == "close the program that uses the port, or choose another one"
            assert report.values["time.frame"] == report.frame
        step_until(engine, lambda report: not report.diagnostics)


@pytest.mark.parametrize("host", ["nowhere.invalid", "300.1.2.3", ""])
def test_an_invalid_address_is_reported(host: str, port: int) -> None:
    """An invalid address is reported, even an empty one, which to a socket means all interfaces."""
    patch = Patch()
    patch.add("value.osc_in", port=port, host=host)
    with Engine(patch, device="host") as engine:
        if host:
            report = step_until(engine, lambda report: bool(report.diagnostics))
            assert "OSC must be able to listen at" in report.diagnostics[0].message
        else:
            assert engine.step().diagnostics[0].message.startswith("host must be an address to listen at")
            assert listeners() == []


def test_a_bad_osc_address_is_reported() -> None:
    """A bad OSC address is reported before anything listens."""
    patch = Patch()
    patch.add("value.osc_in", address="fader")
    with Engine(patch, device="host") as engine:
        assert "address must begin with a slash" in engine.step().diagnostics[0].message
        assert listeners() == []


@pytest.mark.parametrize(
    ("module", "type_id", "told", "remedy"),
    [
        ("pythonosc.osc_packet", "value.osc_in", "OSC must have the library python-osc", "pip install python-osc"),
        (
            "mido",
            "value.midi_in",
            "MIDI must have the libraries mido and python-rtmidi",
            "pip install mido python-rtmidi",
        ),
    ],
)
def test_a_missing_library_is_reported(
    module: str, type_id: str, told: str, remedy: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library is imported only by a block that needs it; if it is missing, the node says what to install."""
    monkeypatch.setitem(sys.modules, module, None)
    patch = Patch()
    patch.add(type_id, node_id="block", **({"port": port} if "osc" in type_id else {}))
    with Engine(patch, device="host") as engine:
        (item,) = step_until(engine, lambda report: bool(report.diagnostics)).diagnostics
    assert item.node == "block" and item.message.startswith(told) and item.remedy == remedy


def test_values_are_sent_to_a_midi_device(device: str) -> None:
    """A message is sent when its MIDI value changes; a note goes down and up, and is released at the end."""
    patch = Patch()
    knob = patch.add("io.midi_out", node_id="knob", number=74, channel=3, input=1.0)
    key = patch.add("io.midi_out", node_id="key", kind="note", number=60)
    patch.add("io.midi_out", node_id="wheel", kind="pitch", input=-1.0, device="keys")
    with Engine(patch, device="host") as engine:
        for knob_at, key_at in ((1.0, 0.0), (1.0, 0.5), (0.999, 0.5), (0.0, 0.0), (0.0, 1.0)):
            patch.set(knob, input=knob_at)
            patch.set(key, input=key_at)
            values = engine.step().values
        assert (values["knob.sent"], values["key.sent"], values["wheel.sent"]) == (2, 3, 1)
        until(lambda: len(fake_midi.sent) == 6)
    assert [text for text in fake_midi.sent if "pitch" in text] == ["pitchwheel channel=0 pitch=-8192 time=0"]
    assert [text for text in fake_midi.sent if "control" in text] == [
        f"control_change channel=2 control=74 value={value} time=0" for value in (127, 0)
    ]
    assert [text for text in fake_midi.sent if "note" in text] == [
        f"note_on channel=0 note=60 velocity={velocity} time=0" for velocity in (64, 0, 127, 0)
    ]


def test_a_midi_device_that_is_plugged_in_gets_the_newest_values(device: str) -> None:
    """Without a device, the node names those that are there; one that is connected later gets the newest value."""
    fake_midi.devices[:] = ["Other"]
    patch = Patch()
    knob = patch.add("io.midi_out", node_id="knob", device="keys", input=1.0)
    with Engine(patch, device="host") as engine:
        (item,) = step_until(engine, lambda report: bool(report.diagnostics)).diagnostics
        assert item.message == "MIDI must have a device called 'keys' to send to, got Other"
        patch.set(knob, input=0.0)
        engine.step()
        fake_midi.devices.append(device)
        until(lambda: fake_midi.sent and "value=0" in fake_midi.sent[-1])
        step_until(engine, lambda report: not report.diagnostics)


def test_midi_messages_get_names(device: str) -> None:
    """MIDI values are named by channel and for any channel; a note with velocity 0 is a release; notes are counted."""
    inputs = Inputs()
    listener = MidiListener("midi:fake", inputs)
    listener.start()
    until(lambda: device in fake_midi.opened)
    fake_midi.play(device, "control_change", channel=2, control=74, value=100)
    fake_midi.play(device, "note_on", channel=0, note=60, velocity=90)
    fake_midi.play(device, "note_on", channel=0, note=60, velocity=0)
    fake_midi.play(device, "note_on", channel=0, note=60, velocity=80)
    fake_midi.play(device, "note_on", channel=0, note=62, velocity=70)
    fake_midi.play(device, "note_off", channel=0, note=62, velocity=64)
    fake_midi.play(device, "pitchwheel", channel=15, pitch=-8192)
    fake_midi.play(device, "clock")
    listener.close()
    assert {name: value for name, value in inputs.table.items() if "@" not in name} == {
        "midi:cc:0:74": 100,
        "midi:cc:3:74": 100,
        "midi:note:0:60": 80,
        "midi:note:1:60": 80,
        "midi:strikes:0:60": 2,
        "midi:strikes:1:60": 2,
        "midi:note:0:62": 0,
        "midi:note:1:62": 0,
        "midi:strikes:0:62": 1,
        "midi:strikes:1:62": 1,
        "midi:pitch:0": -8192,
        "midi:pitch:16": -8192,
    }
    assert inputs.table[midi_name("cc", 3, 74, "midi:fake")] == 100


def test_midi_drives_a_patch(device: str) -> None:
    """Controllers drive parameters from 0 to 1, notes by velocity, and the pitch wheel from -1 to 1."""
    patch = Patch()
    knob = patch.add("value.midi_in", number=74, default=0.5)
    note = patch.add("value.midi_in", kind="note", number=60, channel=1)
    bend = patch.add("value.midi_in", kind="pitch")
    with Engine(patch, device="host") as engine:
        assert engine.step().values[str(knob["value"])] == 0.5
        until(lambda: device in fake_midi.opened)
        assert listeners() == ["warploom-listener midi:"]
        fake_midi.play(device, "control_change", channel=5, control=74, value=127)
        fake_midi.play(device, "note_on", channel=0, note=60, velocity=64)
        fake_midi.play(device, "pitchwheel", channel=0, pitch=-4096)
        values = engine.step().values
        assert (values[str(knob["value"])], values[str(knob["raw"])]) == (1.0, 127)
        assert values[str(note["value"])] == pytest.approx(64 / 127) and values[str(note["strikes"])] == 1
        assert values[str(bend["value"])] == -0.5
    assert listeners() == []


def test_midi_devices_come_and_go(device: str) -> None:
    """A device that is missing, busy or unplugged is reported, and used again by itself once it is back."""
    patch = Patch()
    patch.add("value.midi_in", device="keys")
    fake_midi.devices.clear()
    with Engine(patch, device="host") as engine:

        def told(text: str) -> bool:
            step_until(engine, lambda report: any(text in item.message for item in report.diagnostics))
            return True

        assert told("MIDI must have a device called 'keys' to listen to, got none")
        fake_midi.devices.append("Other 1")
        assert told("got Other 1")
        fake_midi.busy.add(device)
        fake_midi.devices.append(device)
        assert told(f"MIDI device {device} must be free, got OSError: device is busy")
        fake_midi.busy.clear()
        step_until(engine, lambda report: not report.diagnostics)
        fake_midi.devices.remove(device)
        assert told(f"MIDI device {device} must be connected, got it unplugged")
        assert not fake_midi.opened
        fake_midi.devices.append(device)
        step_until(engine, lambda report: not report.diagnostics)
