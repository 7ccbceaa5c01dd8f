from engine.api import Moment, Value, ValueBlock, param, value_port


class Ramp(ValueBlock, id="value.ramp", tags=("line", "envelope", "fade", "tween", "animate", "phasor")):
    """Go from `from_value` to `to_value` in `duration` seconds, again and again or once.

    loop jumps back to the start, ping-pong runs back, once stays at the end. It starts when it is placed, and restarts
    each time `trigger` becomes true. A new `duration` takes effect from where the ramp is.
    """

    value: Value[float] = value_port(doc="Where the ramp is.")
    progress: Value[float] = value_port(doc="How much of the way is done, from 0 to 1.")
    done: Value[bool] = value_port(doc="True once a ramp that goes once has come to its end.")
    from_value: float = param(0.0, min=-1e9, max=1e9, doc="Value at the beginning.")
    to_value: float = param(1.0, min=-1e9, max=1e9, doc="Value at the end.")
    duration: float = param(2.0, min=0.001, max=3600, unit="s", doc="How long one way takes.")
    mode: str = param("loop", choices=("loop", "once", "ping-pong"), doc="What happens at the end.")
    easing: str = param("linear", choices=("linear", "smooth"), doc="smooth begins and ends slowly.")
    trigger: bool = param(False, doc="Restarts when this becomes true.")

    ways: float = 0.0  # how many times the way from one end to the other has been gone
    was_triggered: bool = False

    def start(self) -> None:
        """Begin at the beginning."""
        self.ways, self.was_triggered = 0.0, False

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Go over the whole range."""
        return {"from_value": low, "to_value": high}

    def update(self, now: Moment) -> None:
        """Go on by what has passed since the frame before."""
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
