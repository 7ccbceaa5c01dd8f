import math

from warploom.api import Moment, Value, ValueBlock, param, value_port


class Peak(ValueBlock, id="value.peak", tags=("hold", "largest", "maximum", "meter", "level", "music")):
    """Holds the largest input for a moment, then lets it fall.

    This is the mark above the bar of a level meter: it goes up with the input at once, stays for `hold`, and falls at
    an even speed until it meets the input.
    """

    value: Value[float] = value_port(doc="The peak: at least the input.")
    is_new: Value[bool] = value_port(doc="True in frames in which the input is the peak.")
    input: float = param(0.0, min=-1e9, max=1e9, doc="The number whose peaks are held.")
    hold: float = param(0.5, min=0, max=3600, unit="s", doc="Time for which a peak stays.")
    fall: float = param(1.0, min=0, max=1e9, unit="1/s", doc="Speed of falling afterwards; 0 keeps the largest input.")

    at: float = -math.inf
    held_s: float = 0.0

    def start(self) -> None:
        """Start at the input."""
        self.at = -math.inf

    def update(self, now: Moment) -> None:
        """Fall for the part of the frame after the hold."""
        elapsed_s = self.elapsed_s(now)
        falling_s = min(elapsed_s, max(0.0, self.held_s + elapsed_s - self.hold))
        self.held_s += elapsed_s
        fallen = self.at - falling_s * self.fall
        self.is_new = fallen <= self.input
        if self.is_new:
            self.held_s = 0.0
        self.value = self.at = max(self.input, fallen)
