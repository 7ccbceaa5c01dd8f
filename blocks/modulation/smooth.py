import math

from warploom.api import Moment, Value, ValueBlock, param, value_port

#: The shortest time constant, below any frame time; a shorter one would overflow.
_AT_ONCE_S = 1e-9


class Smooth(ValueBlock, id="value.smooth", tags=("damp", "lag", "filter", "ease", "follow")):
    """Follows `input` smoothly, in the same time at every frame rate.

    "exponential" starts fast and slows down: 63 % of a step is done after `time`, and 95 % after three times as long.
    "damped" moves like a critically damped spring: it also starts slowly, takes about as long, and from rest never
    overshoots a constant input.
    """

    value: Value[float] = value_port(doc="The smoothed number.")
    speed: Value[float] = value_port(unit="1/s", doc="Rate of change of the output.")
    input: float = param(0.0, min=-1e9, max=1e9, doc="The number to follow.")
    time: float = param(0.3, min=0, max=3600, unit="s", doc="Time constant; 0 follows at once.")
    mode: str = param(
        "exponential",
        choices=("exponential", "damped"),
        doc="How a change starts: fast (exponential) or slowly (damped).",
    )

    bypass_ports = {"value": "input"}  # noqa: RUF012 - read by `Block`
    at: float | None = None
    velocity: float = 0.0

    def start(self) -> None:
        """Start at the input."""
        self.at, self.velocity = None, 0.0

    def update(self, now: Moment) -> None:
        """Advance by the exact solution for a constant input, which does not depend on the number of steps."""
        target, time_s, elapsed_s = self.input, self.time, self.elapsed_s(now)
        at = target if self.at is None else self.at
        if time_s < _AT_ONCE_S:
            at, self.velocity = target, 0.0
        elif self.mode == "exponential":
            at = target + (at - target) * math.exp(-elapsed_s / time_s)
            self.velocity = (target - at) / time_s
        elif elapsed_s > 0:
            rate = 2.0 / time_s
            away = at - target
            push = (self.velocity + rate * away) * elapsed_s
            left = math.exp(-rate * elapsed_s)
            at = target + (away + push) * left
            self.velocity = (self.velocity - rate * push) * left
        self.value = self.at = at
        self.speed = self.velocity
