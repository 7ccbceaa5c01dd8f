"""The part of the curves that is shown: which time and value lie at which pixel, and the marks along both."""

import math
from collections.abc import Iterator

from warploom.engine.patch.animation.curves import Course
from warploom.engine.patch.animation.keys import Curve

#: The least shown time and value; the least distance of marks in pixels.
_LEAST_S, _LEAST_VALUE = 1e-3, 1e-6
MARK_PX = 64
_STEPS = (1, 2, 5)


class Scale:
    """Maps times and values to pixels of an area of some width and height."""

    def __init__(self) -> None:
        self.left_s, self.span_s = 0.0, 10.0
        self.low, self.range = 0.0, 1.0
        self.width, self.height = 1.0, 1.0

    def x(self, time_s: float) -> float:
        """Return the pixel of a time."""
        return (time_s - self.left_s) / self.span_s * self.width

    def y(self, value: float) -> float:
        """Return the pixel of a value, from the top."""
        return min(max((1 - (value - self.low) / self.range) * self.height, -1e6), 1e6)

    def time_s(self, x: float) -> float:
        """Return the time at a pixel."""
        return self.left_s + x / self.width * self.span_s

    def value(self, y: float) -> float:
        """Return the value at a pixel."""
        return self.low + (1 - y / self.height) * self.range

    def pan(self, x: float, y: float) -> None:
        """Move what is shown by pixels."""
        self.left_s -= x / self.width * self.span_s
        self.low += y / self.height * self.range

    def zoom(self, x: float, y: float, across: float, up: float) -> None:
        """Show so many times as much, with the point at these pixels in its place."""
        time_s, value = self.time_s(x), self.value(y)
        self.span_s = min(max(self.span_s * across, _LEAST_S), 1e7)
        self.range = min(max(self.range * up, _LEAST_VALUE), 1e39)
        self.left_s = time_s - x / self.width * self.span_s
        self.low = value - (1 - y / self.height) * self.range

    def fit(self, curves: list[Curve], end_s: float) -> None:
        """Show all of some curves, or the whole film if there are none."""
        times = [key.time for curve in curves for key in curve]
        first, last = (min(times), max(times)) if len(times) > 1 else (0.0, end_s)
        last = last if last > first else first + 1.0
        self.left_s, self.span_s = first - 0.06 * (last - first), 1.12 * (last - first)
        self.fit_values(curves)

    def fit_values(self, curves: list[Curve]) -> None:
        """Show all values of some curves at the shown times, and those of all keys."""
        values = [key.value for curve in curves for key in curve]
        for curve in curves:
            course = Course(curve)
            values += [course.at(self.left_s + part * self.span_s / 64) for part in range(65)]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        room = 0.12 * (high - low) or max(abs(high), 1.0) / 2
        self.low, self.range = low - room, high - low + 2 * room

    def frames(self, rate: float) -> Iterator[int]:
        """Yield the frames to mark, in a step that leaves room for their numbers."""
        step = max(math.ceil(_round(MARK_PX * self.span_s * rate / self.width)), 1)
        first = max(math.ceil(self.left_s * rate / step), 0)
        yield from range(first * step, math.floor((self.left_s + self.span_s) * rate) + 1, step)

    def values(self) -> Iterator[float]:
        """Yield the values to mark."""
        step = _round(MARK_PX / 2 * self.range / self.height)
        for index in range(math.ceil(self.low / step), math.floor((self.low + self.range) / step) + 1):
            yield index * step


def _round(number: float) -> float:
    """Return the next number that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(number))
    return next((step * power for step in _STEPS if step * power >= number), 10 * power)
