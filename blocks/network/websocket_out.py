from warploom.api import Moment, Value, ValueBlock, param, value_port
from warploom.engine.diagnostics import PatchError


class WebSocketOut(
    ValueBlock,
    id="io.websocket_out",
    title="WebSocket Out",
    tags=("web", "browser", "page", "json", "network", "javascript", "send"),
):
    """Sends a value to all web pages and programs that are connected to a port.

    A message is a JSON object such as {"speed": 0.4}, with the newest values of all blocks that send at the port. It is
    sent when a value changes, and when a page connects: `socket.onmessage = event => JSON.parse(event.data).speed`. In
    a page, `socket = new WebSocket("ws://127.0.0.1:9980")` connects. A page that reads slowly gets the newest values
    only. WebSocket In receives at the same port. The host 127.0.0.1 accepts this machine only, 0.0.0.0 the whole
    network. The library websockets must be installed.
    """

    sent: Value[int] = value_port(doc="Number of values sent.")
    input: float = param(0.0, min=-1e9, max=1e9, doc="Value to send.")
    name: str = param("value", doc="Name of the value, such as speed.")
    port: int = param(9980, min=1, max=65_535, structural=True, doc="TCP port to listen on.")
    host: str = param("127.0.0.1", doc="Network address to listen on.")

    last: tuple[str, float] | None = None

    def source(self) -> str:
        """Return the name of the port to listen on."""
        return f"websocket:{self.host.strip()}:{self.port}"

    def check(self) -> None:
        """Refuse an empty host or name."""
        for name, value in (("host", self.host), ("name", self.name)):
            if not value.strip():
                raise PatchError(f"{name} must be a text such as {self.parameters[name].default}, got nothing")

    def start(self) -> None:
        """Send the next value, even if it is the last one."""
        self.last, self.sent = None, 0

    def update(self, now: Moment) -> None:
        """Send a value that has changed."""
        message = self.name.strip(), self.input
        if self.listener is not None and message != self.last:
            self.last = message
            self.listener.send(message)
            self.sent += 1
