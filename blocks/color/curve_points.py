"""Curves through points: their texts, and their course between the points."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from warploom.engine.diagnostics import PatchError, cut

Numbers = np.ndarray[Any, np.dtype[np.float64]]
#: A point's place and value, both from 0 to 1.
Point = tuple[float, float]
MOST_POINTS = 64
#: The curve that changes nothing.
STRAIGHT = "0 0, 1 1"


def read_points(text: str, name: str) -> list[Point]:
    """Return the points of a text such as "0 0, 0.5 0.7, 1 1", in the order of their places.

    Raise PatchError, which names the parameter, if the text is no curve.
    """
    try:
        points = sorted((float(x), float(y)) for x, y in (part.split() for part in text.split(",")))
    except ValueError:
        raise PatchError(f'{name} must be points such as "{STRAIGHT}", got {cut(text)!r}') from None
    if not all(0 <= number <= 1 for point in points for number in point):  # NaN isn't either
        raise PatchError(f"{name} must have numbers from 0 to 1, got {cut(text)!r}")
    if len(points) > MOST_POINTS:
        raise PatchError(f"{name} must have at most {MOST_POINTS} points, got {len(points)}")
    if any(one[0] == next_[0] for one, next_ in pairwise(points)):
        raise PatchError(f"{name} must have each place once, got {cut(text)!r}")
    return points


def points_text(points: list[Point]) -> str:
    """Return the text of points."""
    return ", ".join(f"{round(x, 4):g} {round(y, 4):g}" for x, y in sorted(points))


def along_curve(points: list[Point], places: Numbers) -> Numbers:
    """Return the values at places; before the first point and after the last one, the curve stays level.

    Between points that rise, the curve rises, and it has no bumps: it is the cubic of F. N. Fritsch and J. Butland
    (1984), as in scipy.interpolate.PchipInterpolator.
    """
    x, y = np.array(points).T
    if len(points) == 1:
        return np.full(places.shape, y[0])
    widths = np.diff(x)
    slopes = np.diff(y) / widths
    tangents = np.array([_tangent(at, widths, slopes) for at in range(len(x))])
    held = places.clip(x[0], x[-1])
    piece = np.searchsorted(x, held, "right").clip(1, len(x) - 1) - 1
    width = widths[piece]
    t = (held - x[piece]) / width
    rise = y[piece + 1] - y[piece]
    bend = t * (t - 1)
    found: Numbers = y[piece] + rise * t * t * (3 - 2 * t)
    found += width * bend * ((t - 1) * tangents[piece] + t * tangents[piece + 1])
    return found


def _tangent(at: int, widths: Numbers, slopes: Numbers) -> float:
    """Return the slope in a point: the weighted harmonic mean of those beside it, 0 where they change sign."""
    if 0 < at < len(slopes):
        before, after = slopes[at - 1], slopes[at]
        if before * after <= 0:
            return 0.0
        one, other = 2 * widths[at] + widths[at - 1], widths[at] + 2 * widths[at - 1]
        return float((one + other) / (one / before + other / after))
    if len(slopes) == 1:
        return float(slopes[0])
    near, far = (0, 1) if at == 0 else (-1, -2)
    found = ((2 * widths[near] + widths[far]) * slopes[near] - widths[near] * slopes[far]) / (
        widths[near] + widths[far]
    )
    if found * slopes[near] <= 0:
        return 0.0
    if slopes[near] * slopes[far] <= 0 and abs(found) > 3 * abs(slopes[near]):
        return float(3 * slopes[near])
    return float(found) if math.isfinite(found) else 0.0
