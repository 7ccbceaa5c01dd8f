from engine.api import Moment, Value, ValueBlock, param, value_port

_LEAST, _MOST = -(2**31), 2**31 - 1


class Counter(ValueBlock, id="value.counter", tags=("count", "edge", "trigger", "step", "sequence")):
    """Count how often `up` became true, less how often `down` did.

    It counts from `low` to `high`, both included, and then begins at the other end, or with `wrap` off stays there.
    `reset` brings it back to `low` for as long as it is true. To count when a number rises above something, put an
    Expression such as a > 0.5 before it.
    """

    count: Value[int] = value_port(doc="The count.")
    wrapped: Value[bool] = value_port(doc="True in the frame in which it went beyond an end.")
    up: bool = param(False, doc="Counts up when this becomes true.")
    down: bool = param(False, doc="Counts down when this becomes true.")
    reset: bool = param(False, doc="Back to low.")
    step: int = param(1, min=1, max=1_000_000, doc="How far one count goes.")
    low: int = param(0, min=_LEAST, max=_MOST, doc="The least count, and the first.")
    high: int = param(1_000_000, min=_LEAST, max=_MOST, doc="The highest count.")
    wrap: bool = param(True, doc="Go on at the other end; otherwise stay at this one.")

    counted: int | None = None
    was_up: bool | None = None
    was_down: bool | None = None

    def start(self) -> None:
        """Begin at low; what is true already does not count."""
        self.counted, self.was_up, self.was_down = None, None, None

    def update(self, now: Moment) -> None:
        """Count what became true since the frame before."""
        up, down, low, high = self.up, self.down, self.low, max(self.low, self.high)
        count = low if self.counted is None or self.reset else self.counted
        if not self.reset:
            count += self.step * ((up and self.was_up is False) - (down and self.was_down is False))
        self.was_up, self.was_down = up, down
        self.wrapped = not low <= count <= high
        if self.wrapped:
            count = low + (count - low) % (high - low + 1) if self.wrap else min(max(count, low), high)
        self.count = self.counted = count
