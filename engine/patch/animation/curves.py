"""Curves: the value of a parameter at any time, from its keys.

Between two keys a curve is a polynomial of the third degree in the time since the first one: the Bezier curve whose
handles are a third of the way from each key, along the tangents.
"""

from bisect import bisect_right

from warploom.engine.patch.animation.keys import Curve, Ease, Key

#: A key counts from this time before it on: times of frames are rounded otherwise than those of keys.
EARLY_S = 1e-6


class Course:
    """A curve, prepared to be evaluated in every frame."""

    __slots__ = ("_parts", "_times")

    def __init__(self, curve: Curve) -> None:
        self._times = [key.time - EARLY_S for key in curve]
        self._parts = [
            (key.time, *coefficients(curve, index)) if index + 1 < len(curve) else (key.time, key.value, 0.0, 0.0, 0.0)
            for index, key in enumerate(curve)
        ]

    def at(self, time_s: float) -> float:
        """Return the value at a time; before the first key and after the last one it is theirs."""
        index = bisect_right(self._times, time_s) - 1
        if index < 0:
            return self._parts[0][1]
        begin, a, b, c, d = self._parts[index]
        t = time_s - begin
        return a + t * (b + t * (c + t * d))


def coefficients(curve: Curve, index: int) -> tuple[float, float, float, float]:
    """Return the polynomial from a key to the next, the constant first."""
    key, other = curve[index], curve[index + 1]
    span = other.time - key.time
    mean = (other.value - key.value) / span
    if key.ease is Ease.HOLD:
        return key.value, 0.0, 0.0, 0.0
    if key.ease is Ease.LINEAR:
        return key.value, mean, 0.0, 0.0
    start, end = slope_after(curve, index), slope_before(curve, index + 1)
    return key.value, start, (3 * mean - 2 * start - end) / span, (start + end - 2 * mean) / (span * span)


def slope_before(curve: Curve, index: int) -> float:
    """Return the slope with which a smooth way arrives at a key."""
    given = curve[index].before
    return _usual(curve, index) if given is None else given


def slope_after(curve: Curve, index: int) -> float:
    """Return the slope with which a smooth way leaves a key."""
    given = curve[index].after
    return _usual(curve, index) if given is None else given


def _usual(curve: Curve, index: int) -> float:
    """Return the slope of a key that has none: flat at the ends and where the curve turns, else between both sides.

    The harmonic mean keeps the curve between its keys.
    """
    if not 0 < index < len(curve) - 1:
        return 0.0
    one, key, two = curve[index - 1 : index + 2]
    left, right = _mean(one, key), _mean(key, two)
    if left == 0 or right == 0 or (left < 0) != (right < 0):
        return 0.0
    # The longer side counts less, so that a short way is not overshot.
    before, after = key.time - one.time, two.time - key.time
    weight, other = 2 * after + before, after + 2 * before
    return (weight + other) / (weight / left + other / right)


def _mean(one: Key, two: Key) -> float:
    return (two.value - one.value) / (two.time - one.time)
