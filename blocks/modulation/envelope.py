import math

from warploom.api import Moment, Value, ValueBlock, param, value_port

#: The shortest time constant, below any frame time; a shorter one would overflow.
_AT_ONCE_S = 1e-9


class Envelope(ValueBlock, id="value.envelope", tags=("attack", "release", "follower", "level", "music", "fade")):
    """Follows a number that rises and falls at different speeds.

    A short attack with a long release turns the jumps of a level, such as that of a bass drum, into flashes that die
    away. 63 % of a step is done after `attack` or `release`, at every frame rate.
    """

    value: Value[float] = value_port(doc="The number that follows.")
    input: float = param(0.0, min=-1e9, max=1e9, doc="The number to follow.")
    attack: float = param(0.01, min=0, max=3600, unit="s", doc="Time constant of rising; 0 rises at once.")
    release: float = param(0.3, min=0, max=3600, unit="s", doc="Time constant of falling; 0 falls at once.")

    bypass_ports = {"value": "input"}  # noqa: RUF012 - read by `Block`
    at: float | None = None

    def start(self) -> None:
        """Start at the input."""
        self.at = None

    def update(self, now: Moment) -> None:
        """Advance by the exact solution for a constant input."""
        target, elapsed_s = self.input, self.elapsed_s(now)
        at = target if self.at is None else self.at
        time_s = self.attack if target > at else self.release
        left = math.exp(-elapsed_s / time_s) if time_s > _AT_ONCE_S else 0.0
        self.value = self.at = target + (at - target) * left
