import math

from warploom.api import Moment, Value, ValueBlock, param, value_port

_MASK = 2**64 - 1
#: Tolerance for rounded times, so that the frame at the end of an interval belongs to the next one.
_ROUNDING = 1e-9


class Random(ValueBlock, id="value.random", tags=("noise", "chance", "seed", "wander")):
    """Outputs a random number between `low` and `high`, picked in every frame or at an interval.

    In every run of the patch, the same seed gives the same number at the same frame or, with an interval, at the same
    time. Between two picks the value is held, or interpolated smoothly. All numbers of the range are equally likely.
    For a buffer of random numbers, use Uniform Numbers.
    """

    value: Value[float] = value_port(doc="The picked number; with smooth, interpolated towards the next one.")
    low: float = param(0.0, min=-1e9, max=1e9, doc="Smallest number.")
    high: float = param(1.0, min=-1e9, max=1e9, doc="Upper end of the range, not included.")
    interval: float = param(0.0, min=0, max=3600, unit="s", doc="Time between picks; 0 picks in every frame.")
    smooth: bool = param(False, doc="Interpolate between picks; no effect if the interval is 0.")
    seed: int = param(
        1, min=0, max=2**31 - 1, fresh=True, doc="Start of the random sequence; each new block has its own seed."
    )

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Return parameters that pick from the whole range."""
        return {"low": low, "high": high}

    def update(self, now: Moment) -> None:
        """Pick by the index of the frame or of the interval."""
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
    """Return a pseudo-random number in [0, 1) for a seed and an index: SplitMix64 (Steele, Lea, Flood 2014)."""
    return (_scrambled(_scrambled(seed) + index) >> 11) / 2**53


def _scrambled(number: int) -> int:
    z = (number * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)
