"""Finds onsets and beats in the levels of a sound's bands, as they arrive frame by frame."""

import math
from collections import deque
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
#: Rises that are compared to find out whether another one is an onset, in seconds.
_COMPARED_S = 1.5
#: The rises that the tempo is found from, in seconds, and their distance on a regular grid.
_HEARD_S, _GRID_S = 8.0, 0.01
#: How often the tempo is looked for, and how long it takes to believe in another one.
_LOOK_S, _DOUBT_S = 0.25, 2.0
#: The tempo that most music has, in beats a second, and the width of the preference for it, in octaves.
_USUAL, _OCTAVES = 2.0, 1.2


class Rises:
    """How much levels have risen since the previous frame: the mean over all bands, falling ones counting as 0."""

    def __init__(self) -> None:
        self._before: Array | None = None

    def of(self, levels: Array) -> float:
        """Return the rise to these levels."""
        levels = np.asarray(levels, np.float64).ravel()
        before, self._before = self._before, levels
        if before is None or before.shape != levels.shape:
            return 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            rise = float(np.maximum(levels - before, 0).mean())
        return rise if math.isfinite(rise) else 0.0


class OnsetFinder:
    """Finds the frames in which a sound begins: those whose rise stands out from the rises before."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float]] = deque()
        self._last_s = -math.inf

    def is_onset(self, time_s: float, rise: float, threshold: float, distance_s: float) -> bool:
        """Return whether an onset is in this frame; onsets are at least `distance_s` apart.

        The rise must exceed `threshold` and the usual rises of the last moments.
        """
        while self._recent and self._recent[0][0] < time_s - _COMPARED_S:
            self._recent.popleft()
        rises = [each for _, each in self._recent]
        usual = 2 * sum(rises) / len(rises) if rises else 0.0
        self._recent.append((time_s, rise))
        if rise <= max(threshold, usual) or time_s - self._last_s < distance_s - 1e-9:
            return False
        self._last_s = time_s
        return True


class BeatTracker:
    """Follows the beat of a sound by its rises.

    The tempo is the distance at which the rises of the last seconds resemble themselves most; the beats are where a
    comb of that distance meets the strongest rises. Between two looks, beats go on at the same pace, so they come in
    time though the rises arrive late.
    """

    def __init__(self) -> None:
        self._heard: deque[tuple[float, float]] = deque()
        self._looked_s = -math.inf
        #: The seconds from beat to beat, 0 while no beat is known, and the time of some beat.
        self.period_s = self.anchor_s = 0.0
        #: How clear the beat is, from 0 to 1.
        self.clarity = 0.0
        self._doubted_s: float | None = None

    def add(self, time_s: float, rise: float, slowest: float, fastest: float) -> None:
        """Hear the rise of a frame; the tempo lies between two numbers of beats a second."""
        self._heard.append((time_s, rise))
        while self._heard[0][0] < time_s - _HEARD_S:
            self._heard.popleft()
        if time_s - self._looked_s >= _LOOK_S - 1e-9:
            self._looked_s = time_s
            self._look(time_s, slowest, fastest)

    def beats_until(self, time_s: float) -> float:
        """Return the position in beats at a time, counted from `anchor_s`; 0 while no beat is known."""
        return (time_s - self.anchor_s) / self.period_s if self.period_s else 0.0

    def _look(self, now_s: float, slowest: float, fastest: float) -> None:
        times, rises = (np.array(each) for each in zip(*self._heard, strict=True))
        if now_s - times[0] < 2 / slowest or not rises.any():
            self.period_s = self.period_s if rises.any() else 0.0
            self.clarity = 0.0
            return
        # Each rise goes to the two points of the grid around it.
        count = round(_HEARD_S / _GRID_S) + 2
        place = (times - now_s) / _GRID_S + count - 2
        below = np.floor(place).astype(int)
        grid = np.zeros(count)
        np.add.at(grid, below, rises * (1 - (place - below)))
        np.add.at(grid, below + 1, rises * (place - below))
        grid = np.convolve(grid, np.hanning(9)[1:-1] / 4, "same")  # 70 ms: what musicians call together
        grid -= grid[int(place[0]) :].mean()
        period, clarity = _period(grid, slowest, fastest)
        if not period:
            return
        is_other = self.period_s and abs(math.log2(period * _GRID_S / self.period_s)) > 0.04
        if is_other and clarity > 0:
            # Another tempo must last, unless the present one is hardly there.
            self._doubted_s = now_s if self._doubted_s is None else self._doubted_s
            if now_s - self._doubted_s < _DOUBT_S:
                period = _refined(grid, self.period_s / _GRID_S)
            else:
                self._doubted_s = None
        else:
            self._doubted_s = None
        self.clarity = clarity
        self.period_s = period * _GRID_S
        self.anchor_s = now_s - _phase(grid, period) * _GRID_S


def _period(grid: Array, slowest: float, fastest: float) -> tuple[float, float]:
    """Return the best distance of beats in points of the grid, and how clear it is."""
    size = 1 << (2 * len(grid) - 1).bit_length()
    spectrum = np.fft.rfft(grid, size)
    alike = np.fft.irfft(np.abs(spectrum) ** 2, size)[: len(grid)]
    if alike[0] <= 0:
        return 0.0, 0.0
    # A short overlap at a long distance counts as much as a long one.
    alike = alike / alike[0] * len(grid) / (len(grid) - np.arange(len(grid)) * 0.7)
    distances = np.arange(math.floor(1 / fastest / _GRID_S), math.ceil(1 / slowest / _GRID_S) + 1)
    distances = distances[(distances > 1) & (distances < len(grid) // 2)]
    if not len(distances):
        return 0.0, 0.0
    both = alike[distances] + 0.5 * alike[2 * distances]
    usual = np.exp(-0.5 * (np.log2(distances * _GRID_S * _USUAL) / _OCTAVES) ** 2)
    best = int(distances[np.argmax(both * usual)])
    return _refined(grid, best, alike), float(np.clip(alike[best], 0, 1))


def _refined(grid: Array, period: float, alike: Array | None = None) -> float:
    """Return a distance of beats to a fraction of a point, by its multiples, whose errors are smaller."""
    if alike is None:
        size = 1 << (2 * len(grid) - 1).bit_length()
        alike = np.fft.irfft(np.abs(np.fft.rfft(grid, size)) ** 2, size)[: len(grid)]
    refined = period
    for multiple in (1, 2, 4):
        middle = round(refined * multiple)
        if middle + 4 >= len(grid) * 3 // 4:
            break
        near = alike[middle - 3 : middle + 4]
        top = int(np.argmax(near))
        if near[top] <= 0 or not 0 < top < 6:
            break
        a, b, c = near[top - 1 : top + 2]
        bend = a - 2 * b + c
        refined = (middle - 3 + top + (0.5 * (a - c) / bend if bend else 0)) / multiple
    return refined


def _phase(grid: Array, period: float) -> float:
    """Return how many points before the last one (now) the latest beat was."""
    offsets = np.arange(0, period, 0.5)
    beats = np.arange(math.floor((len(grid) - 2) / period))
    places = (len(grid) - 2) - offsets[:, None] - beats * period
    # Recent beats count more.
    strengths: Any = np.interp(places, np.arange(len(grid)), grid) @ (0.85 ** np.arange(len(beats)))
    top = int(np.argmax(strengths))
    a, b, c = strengths[top - 1], strengths[top], strengths[(top + 1) % len(strengths)]
    bend = a - 2 * b + c
    return float(offsets[top] + 0.5 * (0.5 * (a - c) / bend if bend else 0))
