from warploom.api import Moment, Value, ValueBlock, param, value_port


class Gate(
    ValueBlock, id="value.gate", tags=("threshold", "trigger", "noise", "switch", "level", "music", "hysteresis")
):
    """Lets a number through while it is high enough.

    The gate opens when `input` reaches `threshold`, and closes when it falls by `margin` below that, so that a number
    that trembles around the threshold opens it once. It stays open for `hold` at least. Connect `opened` to the trigger
    of a Ramp, or to a Counter.
    """

    value: Value[float] = value_port(doc="The input while the gate is open, else 0.")
    is_open: Value[bool] = value_port(doc="True while the gate is open.")
    opened: Value[bool] = value_port(doc="True in the frame in which the gate opens.")
    input: float = param(0.0, min=-1e9, max=1e9, doc="The number to let through.")
    threshold: float = param(0.5, min=-1e9, max=1e9, doc="Number from which on the gate opens.")
    margin: float = param(0.05, min=0, max=1e9, doc="How far the input must fall below the threshold to close it.")
    hold: float = param(0.0, min=0, max=3600, unit="s", doc="Shortest time for which the gate is open.")

    open_s: float = 0.0

    def start(self) -> None:
        """Start closed."""
        self.is_open, self.open_s = False, 0.0

    def update(self, now: Moment) -> None:
        """Open or close the gate."""
        self.open_s += self.elapsed_s(now)
        was_open = self.is_open
        if self.input >= self.threshold:
            self.is_open = True
        elif self.input < self.threshold - self.margin and self.open_s > self.hold - 1e-9:
            self.is_open = False
        self.opened = self.is_open and not was_open
        if self.opened:
            self.open_s = 0.0
        self.value = self.input if self.is_open else 0.0
