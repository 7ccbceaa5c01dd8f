from warploom.api import Moment, Value, ValueBlock, param, value_port


class Ramp(ValueBlock, id="value.ramp", tags=("line", "envelope", "fade", "tween", "animate", "phasor")):
    """Outputs a ramp from `from_value` to `to_value` in `duration` seconds, repeatedly or once.

    "loop" jumps back to the start, "ping-pong" runs back, and "once" stays at the end. The ramp starts when the block
    is added, and restarts each time `trigger` becomes true. After a change of `duration`, it continues from its
    position.
    """

    value: Value[float] = value_port(doc="Current value of the ramp.")
    progress: Value[float] = value_port(doc="Share of the ramp that is done, from 0 to 1.")
    done: Value[bool] = value_port(doc='True after a ramp in the mode "once" has reached its end.')
    from_value: float = param(0.0, min=-1e9, max=1e9, doc="Value at the start.")
    to_value: float = param(1.0, min=-1e9, max=1e9, doc="Value at the end.")
    duration: float = param(2.0, min=0.001, max=3600, unit="s", doc="Time from one end to the other.")
    mode: str = param("loop", choices=("loop", "once", "ping-pong"), doc="What happens at the end.")
    easing: str = param("linear", choices=("linear", "smooth"), doc="Shape of the ramp; smooth begins and ends slowly.")
    trigger: bool = param(False, doc="Restarts the ramp when it becomes true.")

    ways: float = 0.0  # number of completed passes from one end to the other
    was_triggered: bool = False

    def start(self) -> None:
        """Start at the first value."""
        self.ways, self.was_triggered = 0.0, False

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Return parameters that go over the whole range."""
        return {"from_value": low, "to_value": high}

    def update(self, now: Moment) -> None:
        """Advance by the time since the previous frame."""
        self.ways += self.elapsed_s(now) / self.duration
        trigger = self.trigger
        if trigger and not self.was_triggered:
            self.ways = 0.0
        self.was_triggered = trigger
        mode = self.mode
        if mode == "once":
            self.ways = min(self.ways, 1.0)
            done = self.ways
        elif mode == "loop":
            self.ways %= 1.0
            done = self.ways
        else:
            self.ways %= 2.0
            done = min(self.ways, 2.0 - self.ways)
        self.progress = done
        self.done = mode == "once" and done >= 1.0
        if self.easing == "smooth":
            done = done * done * (3.0 - 2.0 * done)
        self.value = self.from_value * (1.0 - done) + self.to_value * done
