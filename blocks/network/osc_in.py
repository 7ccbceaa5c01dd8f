from warploom.api import Moment, Value, ValueBlock, osc_name, param, value_port
from warploom.engine.diagnostics import PatchError


class OscIn(
    ValueBlock,
    id="value.osc_in",
    title="OSC In",
    tags=("network", "udp", "remote", "touchosc", "control"),
):
    """Outputs the latest number received in an OSC message over UDP.

    The host 127.0.0.1 accepts messages from this machine only, 0.0.0.0 from the whole network. Several blocks can share
    a port. A message's address may be a pattern of OSC, such as `/fader/*`.
    """

    value: Value[float] = value_port(doc="The argument of the latest message; default before the first one.")
    received: Value[int] = value_port(doc="Number of messages received at the address.")
    address: str = param("/value", doc="Address of the message, such as /fader/1.")
    index: int = param(0, min=0, max=1000, structural=True, doc="Index of the message's argument, counted from 0.")
    port: int = param(9000, min=1, max=65_535, structural=True, doc="UDP port to listen on.")
    host: str = param("127.0.0.1", doc="Network address to listen on.")
    default: float = param(0.0, min=-1e9, max=1e9, doc="Output before the first message.")

    def source(self) -> str:
        """Return the name of the port to listen on."""
        return f"osc:{self.host.strip()}:{self.port}"

    def check(self) -> None:
        """Compute the message's names once."""
        if not self.address.startswith("/"):
            raise PatchError(f"address must begin with a slash, such as /fader/1, got {self.address!r}")
        if not self.host.strip():
            raise PatchError("host must be an address to listen at, such as 127.0.0.1, got nothing")
        self.name = osc_name(self.address, self.index, self.source())
        self.count_name = osc_name(self.address, "count", self.source())

    def update(self, now: Moment) -> None:
        """Read the table of inputs."""
        self.value = self.controls.get(self.name, self.default)
        # The name is there before the first message, so that a message's pattern can match it.
        self.received = round(self.controls.setdefault(self.count_name, 0.0))
