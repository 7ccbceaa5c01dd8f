"""OSC: messages over UDP, with each argument under the name of its address."""

import logging
import select
import socket
from contextlib import suppress
from typing import Any

from warploom.engine.arguments import checked
from warploom.engine.values.sources.listening import Inputs, Listener, Unavailable
from warploom.engine.values.sources.osc_patterns import is_pattern, matching

_log = logging.getLogger(__name__)
#: The largest UDP datagram.
_MOST_BYTES = 65_536
#: How many datagrams are taken from the system at once, and the bytes of them that it is asked to keep.
_AT_ONCE, _MOST_QUEUED_BYTES = 1000, 4 << 20
#: How a bundle begins; the bytes before its first part, which has a length; and how deep bundles may be in each other.
_BUNDLE, _HEAD_BYTES, _DEEPEST = b"#bundle\0", 16, 16


@checked()
def osc_name(address: str, index: int | str = 0, source: str = "") -> str:
    """Return the name of a message's argument; the index "count" is the number of messages received."""
    return f"osc:{address}/{index}" + (f"@{source.removeprefix('osc:')}" if source else "")


def _check_bundle(data: bytes, depth: int = 0) -> None:
    """Raise ValueError unless the parts of a bundle are messages or bundles; the library reads a wrong length for ever.

    A message is left to the library.
    """
    if not data.startswith(_BUNDLE):
        return
    at = _HEAD_BYTES
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        part = data[at + 4 : at + 4 + max(size, 0)]
        if size <= 0 or len(part) < size or not part.startswith((b"/", _BUNDLE)) or depth == _DEEPEST:
            raise ValueError(f"bundle must hold messages, and at most {_DEEPEST} bundles in each other")
        _check_bundle(part, depth + 1)
        at += 4 + size


class OscListener(Listener):
    """Listens to one UDP port. A source is "osc:HOST:PORT", with the local address to bind.

    Numbers and booleans are stored. Strings, blobs, and packets that aren't OSC are ignored, since anybody may send
    them. The messages of a bundle take effect on arrival, whatever their time tag.
    """

    def __init__(self, source: str, inputs: Inputs) -> None:
        super().__init__(source, inputs)
        self._wake_read, self._wake_write = socket.socketpair()

    def listen(self) -> None:
        """Receive datagrams until `close`. Raise Unavailable without python-osc, or when the port is taken."""
        try:
            import pythonosc.osc_packet  # noqa: F401 - only `receive` uses it
        except ImportError as problem:
            raise Unavailable("OSC must have the library python-osc, got none", "pip install python-osc") from problem
        host, _, port = self.source.removeprefix("osc:").rpartition(":")
        if not (host and port.isdigit()):  # without a host, sockets would listen to the whole network
            text = f"OSC must be listened to at a host and port such as osc:127.0.0.1:9000, got {self.source}"
            raise Unavailable(text, "correct the block's source")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            try:
                server.bind((host, int(port)))
            except OSError as problem:
                text = f"OSC must be able to listen at {host}, port {port}, got: {problem.strerror or problem}"
                raise Unavailable(text, "close the program that uses the port, or choose another one") from problem
            server.setblocking(False)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _MOST_QUEUED_BYTES)
            self.ready()
            while not self.stopping.is_set():
                select.select([server, self._wake_read], [], [])
                # The system keeps few datagrams, and reading one as OSC takes longer than a burst takes to send it. So
                # of several messages with one address, the newest is read, and the others are counted.
                waiting: dict[object, tuple[bytes, int]] = {}
                with suppress(OSError):  # there are no more, or an earlier one of this socket was refused
                    for number in range(_AT_ONCE):
                        data = server.recv(_MOST_BYTES)
                        place: object = number
                        if data.startswith(b"/"):
                            address, _, tags = data.partition(b",")
                            place = address, tags.partition(b"\0")[0]
                        waiting[place] = data, waiting.pop(place, (data, 0))[1] + 1
                for data, count in waiting.values():
                    self.receive(data, count)

    def receive(self, data: bytes, count: int = 1) -> None:
        """Store the messages of a packet, which has come `count` times; ignore one that isn't OSC."""
        from pythonosc.osc_packet import OscPacket

        try:
            _check_bundle(data)
            messages = [timed.message for timed in OscPacket(data).messages]
        except Exception as problem:  # noqa: BLE001 - anybody may send anything, and the library raises anything
            _log.debug("a packet at %s that is no OSC was left out: %s", self.source, problem)
            return
        for message in messages:
            self._store(message.address, message.params, count)

    def wake(self) -> None:
        """End the wait for datagrams."""
        self._wake_write.send(b"x")

    def release(self) -> None:
        """Close the sockets that end the wait."""
        self._wake_read.close()
        self._wake_write.close()

    def _store(self, address: str, arguments: list[Any], count: int) -> None:
        self.inputs.keep(self.source, address, arguments)
        for each in self._meant(address) if is_pattern(address) else (address,):
            for source in ("", self.source):
                for index, value in enumerate(arguments):
                    if isinstance(value, (bool, int, float)):
                        self.inputs.set(osc_name(each, index, source), value)
                self.inputs.add(osc_name(each, "count", source), count)

    def _meant(self, pattern: str) -> list[str]:
        """Return the addresses that a pattern matches, of those that blocks wait for or that messages came to."""
        end = osc_name("", "count", self.source).removeprefix("osc:")
        names = [name for name in list(self.inputs.table) if name.startswith("osc:/") and name.endswith(end)]
        return matching(pattern, (name[len("osc:") : -len(end)] for name in names))
