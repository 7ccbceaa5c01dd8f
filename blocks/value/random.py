import math

from engine.api import Moment, Value, ValueBlock, param, value_port

_MASK = 2**64 - 1
#: So that the frame at which an interval ends is the first of the next, although its time is rounded.
_ROUNDING = 1e-9


class Random(ValueBlock, id="value.random", tags=("noise", "chance", "seed", "wander")):
    """Pick a number between `low` and `high`, in every frame or at an interval.

    The same seed gives the same number at the same frame (or, with an interval, at the same time), however often the
    patch is run. Between two picks the value is held, or interpolated smoothly. All numbers of the range are
    equally likely. A whole buffer of them is made by Uniform Numbers.
    """

    value: Value[float] = value_port(doc="The number picked; on its way to the next one when smooth.")
    low: float = param(0.0, min=-1e9, max=1e9, doc="The smallest number that is picked.")
    high: float = param(1.0, min=-1e9, max=1e9, doc="All picked numbers are below this one.")
    interval: float = param(0.0, min=0, max=3600, unit="s", doc="Time between picks; 0 picks in every frame.")
    smooth: bool = param(False, doc="Interpolate between picks; no effect when every frame picks.")
    seed: int = param(
        1, min=0, max=2**31 - 1, fresh=True, doc="Another seed gives other numbers; each new block has its own."
    )

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Pick from the whole range."""
        return {"low": low, "high": high}

    def update(self, now: Moment) -> None:
        """Pick by the number of the frame or of the interval."""
        if self.interval > 0:
            passed = now.time_s / self.interval + _ROUNDING
            index = math.floor(passed)
            part = passed - index
        else:
            index, part = now.frame, 0.0
        picked = uniform(self.seed, index)
        if self.smooth and part:
            picked += (uniform(self.seed, index + 1) - picked) * part * part * (3.0 - 2.0 * part)
        self.value = self.low + (self.high - self.low) * picked


def uniform(seed: int, index: int) -> float:
    """Return a number in [0, 1) that depends on both as good as by chance: SplitMix64 (Steele, Lea, Flood 2014)."""
    return (_scrambled(_scrambled(seed) + index) >> 11) / 2**53


def _scrambled(number: int) -> int:
    z = (number * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)
