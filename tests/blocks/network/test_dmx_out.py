"""Levels for lights: the packets that others receive."""

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.blocks.running import problems
from tests.fuzzing import many
from warploom import Engine, Patch
from warploom.blocks.network import dmx
from warploom.blocks.network.dmx import DmxSender
from warploom.engine.diagnostics import PatchError
from warploom.engine.values.sources.dmx import DmxPacket, read_artnet, read_sacn

HOST = "127.0.0.1"


@pytest.fixture(params=["sACN", "Art-Net"])
def desk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, socket.socket]]:
    """A protocol, and a socket that receives its packets."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind((HOST, 0))
        receiver.settimeout(20)
        monkeypatch.setitem(dmx.DMX_PORTS, dmx.PROTOCOLS[request.param], receiver.getsockname()[1])
        yield request.param, receiver


def _received(desk: tuple[str, socket.socket]) -> DmxPacket:
    packet = {"sACN": read_sacn, "Art-Net": read_artnet}[desk[0]](desk[1].recv(1500))
    assert packet is not None
    return packet


@settings(max_examples=many(20), deadline=None)
@given(st.binary(min_size=1, max_size=512), st.integers(1, 32767), st.sampled_from(["sACN", "Art-Net"]))
def test_packets_are_read_as_they_were_sent(levels: bytes, universe: int, protocol: str) -> None:
    """sACN is read by the library, Art-Net by its specification's offsets; packets are numbered."""
    sender = DmxSender(protocol, universe, HOST, 7)
    first, second = sender.packet(levels), sender.packet(levels)
    sender.close()
    assert first != second
    if protocol == "sACN":
        assert read_sacn(second) == DmxPacket(universe, levels.ljust(512, b"\0"), 7)
    else:
        assert second[:8] == b"Art-Net\0" and second[8:12] == b"\x00\x50\x00\x0e" and second[12] == 2
        count = int.from_bytes(second[16:18], "big")
        assert count % 2 == 0 and second[18:] == levels.ljust(count, b"\0")
        packet = read_artnet(second)
        assert packet is not None and packet.universe == universe


@pytest.mark.parametrize("count", [1, 33, 600])
def test_numbers_become_levels(desk: tuple[str, socket.socket], count: int) -> None:
    """0 and below are off, 1 and above 255, NaN is off; at most 512 channels are sent, 44 times a second."""
    rng = np.random.default_rng(3)
    numbers = rng.uniform(-0.2, 1.2, count).astype(np.float32)
    numbers[0] = np.nan
    patch = Patch()
    out = patch.add("io.dmx_out", protocol=desk[0], universe=5, host=HOST)
    patch.connect(patch.add("io.array", data=numbers)["out"], out["levels"])
    with Engine(patch, device="host") as engine:
        for _ in range(61):
            report = engine.step()
            assert not report.diagnostics
        sent = report.values[f"{out.id}.sent"]
    assert 25 <= sent <= 45
    packet = _received(desk)
    expected = (np.nan_to_num(numbers[:512]).clip(0, 1) * 255 + 0.5).astype(np.uint8).tobytes()
    assert packet.universe == 5 and packet.levels[: len(expected)] == expected


def test_wrong_addresses_are_named() -> None:
    """A name is no address, and sACN has no universe 0."""
    for values, text in (({"host": "desk.local"}, "must be an IP address"), ({"universe": 0}, "from 1 to 63999")):
        patch = Patch()
        out = patch.add("io.dmx_out", **values)
        patch.connect(patch.add("io.array")["out"], out["levels"])
        assert text in problems(patch, frames=2)[0][2]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only sACN needs it."""
    modules: Any = __import__("sys").modules
    monkeypatch.setitem(modules, "sacn.messages.data_packet", None)
    with pytest.raises(PatchError, match=r"pip install 'warploom\[network\]'"):
        DmxSender("sACN", 1, HOST, 100)
    DmxSender("Art-Net", 1, HOST, 100).close()
