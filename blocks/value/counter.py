from warploom.api import Moment, Value, ValueBlock, param, value_port

_LEAST, _MOST = -(2**31), 2**31 - 1


class Counter(ValueBlock, id="value.counter", tags=("count", "edge", "trigger", "step", "sequence")):
    """Counts how often `up` becomes true, minus how often `down` does.

    The count goes from `low` to `high`, both included. Beyond an end, it continues at the other end, or stays if `wrap`
    is off. While `reset` is true, the count is `low`. To count how often a number rises above a threshold, put an
    Expression such as a > 0.5 before the block.
    """

    count: Value[int] = value_port(doc="The count.")
    wrapped: Value[bool] = value_port(doc="True in a frame in which the count passes an end.")
    up: bool = param(False, doc="Adds `step` when it becomes true.")
    down: bool = param(False, doc="Subtracts `step` when it becomes true.")
    reset: bool = param(False, doc="Sets the count to low while true.")
    step: int = param(1, min=1, max=1_000_000, doc="Amount of one step of the count.")
    low: int = param(0, min=_LEAST, max=_MOST, doc="Smallest count, which is also the first.")
    high: int = param(1_000_000, min=_LEAST, max=_MOST, doc="Largest count.")
    wrap: bool = param(True, doc="Continue at the other end; otherwise stay at the end.")

    counted: int | None = None
    was_up: bool | None = None
    was_down: bool | None = None

    def start(self) -> None:
        """Start at low; inputs that are already true don't count."""
        self.counted, self.was_up, self.was_down = None, None, None

    def update(self, now: Moment) -> None:
        """Count the inputs that became true since the previous frame."""
        up, down, low, high = self.up, self.down, self.low, max(self.low, self.high)
        count = low if self.counted is None or self.reset else self.counted
        if not self.reset:
            count += self.step * ((up and self.was_up is False) - (down and self.was_down is False))
        self.was_up, self.was_down = up, down
        self.wrapped = not low <= count <= high
        if self.wrapped:
            count = low + (count - low) % (high - low + 1) if self.wrap else min(max(count, low), high)
        self.count = self.counted = count
