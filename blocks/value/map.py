from warploom.api import Moment, Value, ValueBlock, param, value_port
from warploom.engine.diagnostics import PatchError


class Map(ValueBlock, id="value.map", tags=("range", "scale", "remap", "linear", "clamp")):
    """Maps `input` from the range `from_low` to `from_high` to the range `to_low` to `to_high`.

    Either range can run downwards. With `clamp`, inputs outside the first range give the nearest end of the second.
    """

    value: Value[float] = value_port(doc="The number in the second range.")
    input: float = param(0.0, min=-1e9, max=1e9, doc="The number in the first range.")
    from_low: float = param(0.0, min=-1e9, max=1e9, doc="Start of the first range, which becomes to_low.")
    from_high: float = param(1.0, min=-1e9, max=1e9, doc="End of the first range, which becomes to_high.")
    to_low: float = param(0.0, min=-1e9, max=1e9, doc="Start of the second range.")
    to_high: float = param(1.0, min=-1e9, max=1e9, doc="End of the second range.")
    clamp: bool = param(True, doc="Keep the output within the second range.")

    bypass_ports = {"value": "input"}  # noqa: RUF012 - read by `Block`

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Return parameters that map to the range."""
        return {"to_low": low, "to_high": high}

    def update(self, now: Moment) -> None:
        """Map the input's position in the first range to the same position in the second."""
        low, high = self.from_low, self.from_high
        if low == high:
            raise PatchError(f"from_low and from_high must differ, got {low:g} for both")
        part = (self.input - low) / (high - low)
        if self.clamp:
            part = min(max(part, 0.0), 1.0)
        self.value = self.to_low * (1.0 - part) + self.to_high * part
