from warploom.api import LiveBlock, param
from warploom.engine.diagnostics import PatchError


class WebSocketArray(LiveBlock, abstract=True):
    """Sends or receives arrays under a name, at a port that several blocks can share."""

    name: str = param("array", doc="Name of the array: the path of the address at which programs connect.")
    port: int = param(9980, min=1, max=65_535, structural=True, doc="TCP port to listen on.")
    host: str = param("127.0.0.1", structural=True, doc="Network address to listen on.")

    def source(self) -> str:
        """Return the name of the port to listen on."""
        return f"websocket:{self.host.strip()}:{self.port}"

    def check(self) -> None:
        """Refuse an empty host or name."""
        for name, value in (("host", self.host), ("name", self.name)):
            if not value.strip("/ "):
                raise PatchError(f"{name} must be a text such as {self.parameters[name].default}, got nothing")
