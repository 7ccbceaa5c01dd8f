"""WebSocket: numbers from web pages and other programs, and to them, as JSON objects with a name for each number."""

import json
import socket
import struct
import threading
from contextlib import suppress
from typing import Any

from engine.arguments import checked
from engine.values.sources.listening import LONGEST_NAME, Inputs, Listener, Unavailable

#: The largest message, and the most connections of one port.
_MOST_BYTES, _MOST_CONNECTIONS = 1 << 16, 64
#: The deepest object or list that is read.
_DEEPEST = 8
#: The most names under which numbers are sent, and how often a client that has left is noticed, in seconds.
_MOST_SENT, _LOOK_S = 1000, 1.0
#: How long a client may read nothing before it is disconnected, in seconds.
_SEND_S = 1


@checked()
def websocket_name(name: str, source: str = "") -> str:
    """Return the name of an input; the name "" is the number of messages received."""
    return f"websocket:{name}" + (f"@{source.removeprefix('websocket:')}" if source else "")


def numbers_in(message: object, name: str = "", depth: int = 0) -> list[tuple[str, float]]:
    """Return the numbers of decoded JSON with their names: {"pad": {"x": 1, "y": [2, 3]}} has pad/x, pad/y/0, pad/y/1.

    A number alone is called "value". Texts are left out, as is what lies deeper than 8 levels.
    """
    if isinstance(message, (bool, int, float)):
        with suppress(OverflowError):
            return [(name or "value", float(message))]
    parts: Any = ()
    if isinstance(message, dict) and depth < _DEEPEST:
        parts = message.items()
    elif isinstance(message, list) and depth < _DEEPEST:
        parts = enumerate(message)
    found = []
    for key, part in parts:
        found += numbers_in(part, f"{name}/{key}" if name else str(key), depth + 1)
    return found


class WebSocketListener(Listener):
    """A server at one port, for any number of clients. A source is "websocket:HOST:PORT", with the address to bind.

    A message to send is a name and a number. Clients get the newest numbers of all names when they connect, and those
    that have changed afterwards; a slow client gets only the newest ones.
    """

    def __init__(self, source: str, inputs: Inputs) -> None:
        super().__init__(source, inputs)
        self._counting = threading.Lock()
        self._connections = 0
        #: The newest number of each name, and how many were sent before it.
        self._newest: dict[str, tuple[int, float]] = {}
        self._sent = 0
        self._changed = threading.Condition()

    def send(self, message: tuple[str, float]) -> None:
        """Have a number sent under a name."""
        name, value = message
        with self._changed:
            if name in self._newest or len(self._newest) < _MOST_SENT:
                self._sent += 1
                self._newest[name[:LONGEST_NAME]] = self._sent, value
                self._changed.notify_all()

    def wake(self) -> None:
        """End the waits for numbers to send."""
        with self._changed:
            self._changed.notify_all()

    def listen(self) -> None:
        """Serve until `close`. Raise Unavailable without the library, or when the port is taken."""
        try:
            from websockets.sync.server import serve
        except ImportError as problem:
            text = "WebSocket must have the library websockets, got none"
            raise Unavailable(text, "pip install 'warploom[network]'") from problem
        host, _, port = self.source.removeprefix("websocket:").rpartition(":")
        try:
            server = serve(self._receive, host, int(port), max_size=_MOST_BYTES, close_timeout=0.2)
        except OSError as problem:
            text = f"WebSocket must be able to listen at {host}, port {port}, got: {problem.strerror or problem}"
            raise Unavailable(text, "close the program that uses the port, or choose another one") from problem
        serving = threading.Thread(target=server.serve_forever, name=f"warploom-{self.source}", daemon=True)
        serving.start()
        self.ready()
        self.stopping.wait()
        self.wake()
        server.shutdown()  # clients are disconnected
        serving.join()

    def _receive(self, connection: Any) -> None:
        """Store the messages of one client; the library calls this on a thread for each of them."""
        from websockets.exceptions import ConnectionClosed

        with self._counting:
            self._connections += 1
            is_refused = self._connections > _MOST_CONNECTIONS
        if not is_refused:
            threading.Thread(
                target=self._send_to, args=(connection,), name=f"warploom-{self.source}-sender", daemon=True
            ).start()
        try:
            while not (is_refused or self.stopping.is_set()):
                with suppress(TimeoutError, ValueError, RecursionError):  # a text that is no JSON is left out
                    self.store(json.loads(connection.recv(timeout=0.2)))
        except ConnectionClosed:
            pass
        finally:
            with self._counting:
                self._connections -= 1

    def _send_to(self, connection: Any) -> None:
        """Send numbers to one client until it is disconnected, on a thread of its own: a client may be slow."""
        from websockets.exceptions import ConnectionClosed

        known = 0
        with suppress(ConnectionClosed, OSError):
            # A send to a client that reads nothing would block for ever, and with it the server's end.
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_S, 0))
            while not self.stopping.is_set():
                with self._changed:
                    if self._sent == known and not self.stopping.is_set():
                        self._changed.wait(_LOOK_S)
                    news = {name: value for name, (sent, value) in self._newest.items() if sent > known}
                    known = self._sent
                if news:
                    connection.send(json.dumps(news))
                elif connection.close_code is not None:
                    return

    def store(self, message: object) -> None:
        """Store the numbers of one message."""
        for source in ("", self.source):
            for name, value in numbers_in(message):
                self.inputs.set(websocket_name(name, source), value)
            self.inputs.add(websocket_name("", source), 1)
