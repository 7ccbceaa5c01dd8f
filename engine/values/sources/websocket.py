"""WebSocket: numbers and arrays from web pages and other programs, and to them.

Numbers are in JSON objects, with a name for each. An array is a binary message, an NPY file; its name is the path of
the address at which a client connects, such as ws://127.0.0.1:9980/points.
"""

import io
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from warploom.engine.arguments import checked
from warploom.engine.types.arrays import Array
from warploom.engine.values.sources.listening import LONGEST_NAME, Inputs, Listener, Unavailable

#: The largest text and array, and the most connections of one port.
_MOST_BYTES, _MOST_IN_ARRAY, _MOST_CONNECTIONS = 1 << 16, 1 << 28, 64
#: The deepest object or list that is read.
_DEEPEST = 8
#: The most names under which numbers and arrays are sent, and arrays are kept; the arrays of the oldest names go.
_MOST_SENT, _MOST_ARRAYS = 1000, 64
_NO_ARRAY: Array = np.empty(0)
#: How often a client that has left is noticed, in seconds.
_LOOK_S = 1.0
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

    A message to send is a name and a number, or a name and an array that doesn't change afterwards. Clients get the
    newest numbers of all names, and the newest array of their path, when they connect, and those that have changed
    afterwards; a slow client gets only the newest ones.
    """

    def __init__(self, source: str, inputs: Inputs) -> None:
        super().__init__(source, inputs)
        self._counting = threading.Lock()
        self._connections = 0
        #: The newest number of each name, and how many were sent before it.
        self._newest: dict[str, tuple[int, float]] = {}
        self._arrays: dict[str, tuple[int, Array]] = {}
        self._sent = 0
        #: The newest array that came under each name that was asked for, and how many.
        self._came: dict[str, tuple[int, bytes] | None] = {}
        self._changed = threading.Condition()

    def send(self, message: tuple[str, float | Array]) -> None:
        """Have a number or an array sent under a name."""
        name, value = message[0][:LONGEST_NAME], message[1]
        with self._changed:
            if isinstance(value, np.ndarray):
                _make_room(self._arrays, name)
                self._arrays[name] = self._sent + 1, value
            elif name in self._newest or len(self._newest) < _MOST_SENT:
                self._newest[name] = self._sent + 1, value
            else:
                return
            self._sent += 1
            self._changed.notify_all()

    def newest_array(self, name: str) -> tuple[int, bytes] | None:
        """Return the newest array that came under a name, as an NPY file, and how many came; None for none."""
        with self._counting:
            _make_room(self._came, name)
            return self._came.setdefault(name, None)

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
            server = serve(self._receive, host, int(port), max_size=_MOST_IN_ARRAY, close_timeout=0.2, compression=None)
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

        name = _array_name(connection)
        with self._counting:
            self._connections += 1
            is_refused = self._connections > _MOST_CONNECTIONS
        if not is_refused:
            threading.Thread(
                target=self._send_to, args=(connection, name), name=f"warploom-{self.source}-sender", daemon=True
            ).start()
        try:
            while not (is_refused or self.stopping.is_set()):
                with suppress(TimeoutError, ValueError, RecursionError):  # a text that is no JSON is left out
                    message = connection.recv(timeout=0.2)
                    if name and isinstance(message, bytes):
                        self._keep_array(name, message)
                    elif len(message) > _MOST_BYTES:
                        connection.close(1009, f"a message without a path may have {_MOST_BYTES} bytes")
                    else:
                        self.store(json.loads(message))
        except ConnectionClosed:
            pass
        finally:
            with self._counting:
                self._connections -= 1

    def _keep_array(self, name: str, message: bytes) -> None:
        with self._counting:
            if name in self._came:
                before = self._came[name]
                self._came[name] = (1 if before is None else before[0] + 1), message

    def _send_to(self, connection: Any, array_name: str) -> None:
        """Send numbers, and the arrays of a name, to one client until it is disconnected.

        This has a thread of its own, since a client may be slow.
        """
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
                    at, array = self._arrays.get(array_name, (0, _NO_ARRAY))
                    is_new, known = at > known, self._sent
                if news:
                    connection.send(json.dumps(news))
                if is_new:
                    connection.send(_npy_parts(array))
                if not (news or is_new) and connection.close_code is not None:
                    return

    def store(self, message: object) -> None:
        """Store the numbers of one message."""
        for source in ("", self.source):
            for name, value in numbers_in(message):
                self.inputs.set(websocket_name(name, source), value)
            self.inputs.add(websocket_name("", source), 1)


def _make_room(known: dict[str, Any], name: str) -> None:
    while name not in known and len(known) >= _MOST_ARRAYS:
        del known[next(iter(known))]


def _array_name(connection: Any) -> str:
    """Return the name of a client's arrays: the path of the address that it has asked for."""
    try:
        return unquote(urlsplit(connection.request.path).path).strip("/")
    except ValueError:
        return ""


def _npy_parts(array: Array) -> Iterator[bytes | memoryview]:
    """Yield an NPY file in parts, without another copy of the array."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    yield head.getvalue()
    if array.size:
        yield array.reshape(-1).view(np.uint8).data
