"""DMX over networks: the channels of a universe, by sACN (ANSI E1.31) or Art-Net."""

import select
import socket
import struct
import time
from typing import NamedTuple

from warploom.engine.arguments import checked
from warploom.engine.values.sources.listening import Inputs, Listener, Unavailable

#: The UDP ports of the protocols.
PORTS = {"sacn": 5568, "artnet": 6454}
#: A universe has so many channels, of 8 bits each.
CHANNELS = 512
_MOST_BYTES = 1500
#: After so long without packets of a higher priority, a source of a lower one is heard (E1.31, 6.7.1).
_LOSS_S = 2.5
_ARTNET_HEAD, _ARTNET_DMX = b"Art-Net\0", 0x5000


@checked()
def dmx_name(protocol: str, universe: int, channel: int) -> str:
    """Return the name of a channel, from 1; `protocol` is one of PORTS."""
    return f"{protocol}:{universe}:{channel}"


class DmxPacket(NamedTuple):
    """The levels of a universe, from 0 to 255 each, and the priority of their source."""

    universe: int
    levels: bytes
    priority: int = 100


def read_sacn(data: bytes) -> DmxPacket | None:
    """Return the levels in a packet of E1.31; None for anything else, for previews, and for other start codes."""
    from sacn.messages.data_packet import DataPacket

    try:
        packet = DataPacket.make_data_packet(tuple(data))
    except (TypeError, ValueError, IndexError):
        return None
    if packet.option_PreviewData or packet.dmxStartCode:
        return None
    count = min(int.from_bytes(data[123:125], "big") - 1, len(data) - 126)
    return DmxPacket(packet.universe, bytes(packet.dmxData[: max(count, 0)]), packet.priority)


def read_artnet(data: bytes) -> DmxPacket | None:
    """Return the levels in a packet of Art-Net; None for anything else."""
    if len(data) < 18 or not data.startswith(_ARTNET_HEAD):
        return None
    code, universe = struct.unpack_from("<H", data, 8)[0], struct.unpack_from("<H", data, 14)[0]
    count = struct.unpack_from(">H", data, 16)[0]
    if code != _ARTNET_DMX or count > CHANNELS:
        return None
    return DmxPacket(universe & 0x7FFF, data[18 : 18 + count])


class DmxListener(Listener):
    """Listens to one universe. A source is "sacn:UNIVERSE" or "artnet:UNIVERSE"; values are 0 to 255.

    With sACN, packets of the highest priority are heard; with equal priorities, the newest.
    """

    def __init__(self, source: str, inputs: Inputs) -> None:
        super().__init__(source, inputs)
        self._wake_read, self._wake_write = socket.socketpair()
        self._levels = b""
        self._priority, self._heard_s = 0, 0.0

    def listen(self) -> None:
        """Receive packets until `close`. Raise Unavailable without the library, or when the port is taken."""
        protocol, _, universe = self.source.partition(":")
        if protocol == "sacn":
            try:
                import sacn  # noqa: F401 - only `read_sacn` uses it
            except ImportError as problem:
                text = "sACN must have the library sacn, got none"
                raise Unavailable(text, "pip install 'warploom[network]'") from problem
        number, read = int(universe), {"sacn": read_sacn, "artnet": read_artnet}[protocol]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            try:
                # Several blocks and programs on one machine may listen to the same port.
                for option in ("SO_REUSEADDR", "SO_REUSEPORT"):
                    if hasattr(socket, option):
                        server.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
                server.bind(("", PORTS[protocol]))
                if protocol == "sacn":
                    group = socket.inet_aton(f"239.255.{number >> 8}.{number & 255}") + socket.inet_aton("0.0.0.0")
                    server.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
            except OSError as problem:
                text = f"{self.source} must be there to listen to, got: {problem.strerror or problem}"
                raise Unavailable(text, "close the program that uses the port, or connect a network") from problem
            self.ready()
            while not self.stopping.is_set():
                ready, _, _ = select.select([server, self._wake_read], [], [])
                if server in ready and (packet := read(server.recv(_MOST_BYTES))) and packet.universe == number:
                    self.receive(packet, time.monotonic())

    def receive(self, packet: DmxPacket, now_s: float) -> None:
        """Store the channels that changed."""
        if packet.priority < self._priority and now_s - self._heard_s < _LOSS_S:
            return
        self._priority, self._heard_s = packet.priority, now_s
        before, self._levels = self._levels, packet.levels
        for place, level in enumerate(packet.levels):
            if place >= len(before) or before[place] != level:
                self.inputs.set(f"{self.source}:{place + 1}", level)

    def wake(self) -> None:
        """End the wait for packets."""
        self._wake_write.send(b"x")

    def release(self) -> None:
        """Close the sockets that end the wait."""
        self._wake_read.close()
        self._wake_write.close()
