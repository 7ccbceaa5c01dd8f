from warploom.api import Moment, Value, ValueBlock, param, value_port, websocket_name
from warploom.engine.diagnostics import PatchError


class WebSocketIn(
    ValueBlock,
    id="value.websocket_in",
    title="WebSocket In",
    tags=("web", "browser", "page", "json", "network", "javascript"),
):
    """Outputs the latest number that a web page or another program has sent under a name.

    A message is JSON: an object such as {"speed": 0.4, "pad": {"x": 1}} has the numbers speed and pad/x, and a number
    alone is called value. In a page, `new WebSocket("ws://127.0.0.1:9980").send(JSON.stringify({speed: 0.4}))` sends
    one. The host 127.0.0.1 accepts this machine only, 0.0.0.0 the whole network. Several blocks can share a port.
    """

    value: Value[float] = value_port(doc="The latest number; default before the first one.")
    received: Value[int] = value_port(doc="Number of messages received at the port.")
    name: str = param("value", doc="Name of the number, such as speed or pad/x.")
    port: int = param(9980, min=1, max=65_535, structural=True, doc="TCP port to listen on.")
    host: str = param("127.0.0.1", doc="Network address to listen on.")
    default: float = param(0.0, min=-1e9, max=1e9, doc="Output before the first message.")

    def source(self) -> str:
        """Return the name of the port to listen on."""
        return f"websocket:{self.host.strip()}:{self.port}"

    def check(self) -> None:
        """Compute the names of the inputs once."""
        if not self.host.strip():
            raise PatchError("host must be an address to listen at, such as 127.0.0.1, got nothing")
        self.input, self.count = websocket_name(self.name.strip("/ "), self.source()), websocket_name("", self.source())

    def update(self, now: Moment) -> None:
        """Read the table of inputs."""
        self.value = self.controls.get(self.input, self.default)
        self.received = round(self.controls.get(self.count, 0.0))
