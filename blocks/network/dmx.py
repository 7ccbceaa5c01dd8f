"""Levels for lights, as packets of sACN (ANSI E1.31) and Art-Net."""

import ipaddress
import socket
import uuid
from typing import Any

import numpy as np

from warploom.api import DMX_CHANNELS, DMX_PORTS
from warploom.engine.diagnostics import PatchError, cut

#: The engine's names of the protocols, by the names that a person chooses from.
PROTOCOLS = {"sACN": "sacn", "Art-Net": "artnet"}


class DmxSender:
    """Sends universes to a host, or with sACN to everybody if the host is ""."""

    def __init__(self, protocol: str, universe: int, host: str, priority: int) -> None:
        self._protocol, self._universe = protocol, universe
        try:
            ipaddress.IPv4Address(host or "0.0.0.0")
        except ValueError:  # to look a name up takes long
            raise PatchError(f"host must be an IP address such as 192.168.1.20, got {cut(host, 100)}") from None
        if protocol == "sACN":
            if not 1 <= universe <= 63999:
                raise PatchError(f"universe of sACN must be from 1 to 63999, got {universe}")
            try:
                from sacn.messages.data_packet import DataPacket
            except ImportError:
                text = "sACN must have the library sacn, got none; type: pip install 'warploom[network]'"
                raise PatchError(text) from None
            self._packet: Any = DataPacket(
                tuple(uuid.uuid4().bytes), "Warploom", universe, (0,) * DMX_CHANNELS, priority
            )
            host = host or self._packet.calculate_multicast_addr()
        self._sequence = 0
        self._address = (host or "255.255.255.255", DMX_PORTS[PROTOCOLS[protocol]])
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)

    def send(self, levels: np.ndarray[Any, Any]) -> str:
        """Send levels, uint8 of shape (channels,). Return why that failed, or "" if it did not."""
        try:
            self._socket.sendto(self.packet(levels.tobytes()), self._address)
        except OSError as problem:
            return f"levels must reach {self._address[0]}, got: {problem.strerror or problem}"
        return ""

    def packet(self, levels: bytes) -> bytes:
        """Return the next packet. Art-Net sends an even number of channels."""
        self._sequence = self._sequence % 255 + 1
        if self._protocol == "Art-Net":
            held = levels + b"\0" * (len(levels) % 2)
            head = b"Art-Net\0\x00\x50\x00\x0e" + bytes([self._sequence, 0])
            return head + self._universe.to_bytes(2, "little") + len(held).to_bytes(2, "big") + held
        self._packet.sequence = self._sequence
        self._packet.dmxData = tuple(levels.ljust(DMX_CHANNELS, b"\0"))
        return bytes(self._packet.getBytes())

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
