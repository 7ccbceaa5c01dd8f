"""The way of a connection: a curve if it crosses no block, or else straight pieces around blocks.

A way around has a vertical piece near each end and a horizontal piece between these. Of all ways whose horizontal piece
runs above or below a block in the way, the one that crosses the fewest blocks is taken, and the shortest of these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath

from warploom.app.canvas.drawing.shapes import curve_points

#: Obstacles as rows of left, top, right, bottom; each column is one.
Edges = NDArray[np.float64]

#: The distance from a port to the first vertical piece, and between pieces that run beside each other.
STUB, LANE = 14.0, 5.0
#: The distance where a block is too near for that, and what it costs, in units of length.
_TIGHT, _CRAMPED = 4.0, 24.0
#: The distances of a horizontal piece from the block below it, whose time is there, and from the block above it.
_OVER, _UNDER = 28.0, 14.0
_RADIUS = 8.0
#: How far around the ends blocks are avoided, beyond the rectangle that has the ends as corners.
MARGIN = 120.0
#: The choices for each vertical piece.
_VERTICALS = 4
#: What a crossed block and a way above the blocks cost, in units of length.
_CROSSED, _ABOVE = 10_000.0, 80.0

_T = np.linspace(0.02, 0.98, 48)
#: The weights of a cubic curve's four points, at places along it.
_WEIGHTS = np.array([(1 - _T) ** 3, 3 * (1 - _T) ** 2 * _T, 3 * (1 - _T) * _T**2, _T**3]).T

Way = tuple[tuple[float, float], ...]


def way_around(source: QPointF, target: QPointF, obstacles: Edges) -> Way | None:
    """Return the corners of the way from an output to an input; None if a curve crosses no obstacle."""
    sx, sy, tx, ty = source.x(), source.y(), target.x(), target.y()
    is_back = tx <= sx
    stub = STUB if is_back else min(STUB, (tx - sx) / 2)
    if not is_back and not _curve_crosses(source, target, obstacles):
        return None
    left, top, right, bottom = obstacles
    first = np.append(_nearest(np.append(right + STUB, sx + stub), sx + stub), sx + _TIGHT)
    last = np.append(-_nearest(np.append(STUB - left, stub - tx), stub - tx), tx - _TIGHT)
    low, high = min(sy, ty), max(sy, ty)
    across = np.concatenate(([sy, ty], top - _OVER, bottom + _UNDER))
    if is_back and abs(sy - ty) < 1.0:
        across = across[2:]
    x1, y, x2 = first[:, None, None], across[:, None], last
    crossed = (
        crossings(sx + 1.0, first, sy, obstacles)[:, None, None]
        + _crossings_each(sy, across, first, obstacles[[1, 0, 3, 2]]).T[:, :, None]
        + np.moveaxis(_crossings_each(first[:, None], last, across, obstacles), -1, 1)
        + _crossings_each(across, ty, last, obstacles[[1, 0, 3, 2]])
        + crossings(last, tx - 1.0, ty, obstacles)
    )
    length = np.abs(x1 - sx) + np.abs(y - sy) + np.abs(x2 - x1) + np.abs(ty - y) + np.abs(tx - x2)
    length += np.where(x2 < x1, 0.0 if is_back else 4 * STUB, 0.0) + np.where(y < low - 1.0, _ABOVE, 0.0)
    length += _CRAMPED * ((x1 < sx + stub) * 1.0 + (x2 > tx - stub))
    length += np.where((y > low) & (y < high), -LANE, 0.0)
    best = np.unravel_index(np.argmin(crossed * _CROSSED + length), length.shape)
    a, b, c = (float(places[index]) for places, index in zip((first, across, last), best, strict=True))
    return (sx, sy), (a, sy), (a, b), (c, b), (c, ty), (tx, ty)


def way_path(way: Way) -> QPainterPath:
    """Return the path along corners, which are rounded."""
    corners = [QPointF(*way[0])]
    for point in way[1:]:
        if (corners[-1] - QPointF(*point)).manhattanLength() > 0.5:
            corners.append(QPointF(*point))
    path = QPainterPath(corners[0])
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        radius = min(_RADIUS, (corner - before).manhattanLength() / 2, (after - corner).manhattanLength() / 2)
        path.lineTo(_towards(corner, before, radius))
        path.quadTo(corner, _towards(corner, after, radius))
    path.lineTo(corners[-1])
    return path


def reach_of(source: QPointF, target: QPointF) -> QRectF:
    """Return the area in which blocks are avoided."""
    return QRectF(source, target).normalized().adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN)


def _curve_crosses(source: QPointF, target: QPointF, obstacles: Edges) -> bool:
    sy, ty = source.y(), target.y()
    x, y = _WEIGHTS @ curve_points(source, target), _WEIGHTS @ (sy, sy, ty, ty)
    left, top, right, bottom = obstacles[:, :, None]
    return bool(((x > left) & (x < right) & (y > top) & (y < bottom)).any())


def _nearest(values: Edges, least: float) -> Edges:
    """Return the few smallest values from `least` on."""
    return np.unique(values[values >= least])[:_VERTICALS]


def crossings(start: Edges | float, end: Edges | float, y: Edges | float, obstacles: Edges) -> Edges:
    """Return how many obstacles each horizontal piece crosses."""
    left, top, right, bottom = obstacles[:, :, None]
    low, high = np.minimum(start, end), np.maximum(start, end)
    crossed: Edges = ((low < right) & (high > left) & (y > top) & (y < bottom)).sum(axis=0)
    return crossed


def _crossings_each(start: Edges | float, end: Edges | float, y: Edges, obstacles: Edges) -> Edges:
    """Return how many obstacles each horizontal piece crosses at each of several heights, the last axis.

    A product of matrices takes a tenth of the time of looking at each piece at each height.
    """
    low, high = np.minimum(start, end), np.maximum(start, end)
    left, top, right, bottom = obstacles[:, :, None]
    beside = (low.ravel() < right) & (high.ravel() > left)
    level = (y > top) & (y < bottom)
    crossed: Edges = beside.T.astype(np.float64) @ level.astype(np.float64)
    return crossed.reshape(*low.shape, -1)


def crossings_down(start: Edges | float, end: Edges | float, x: Edges | float, obstacles: Edges) -> Edges:
    """Return how many obstacles each vertical piece crosses."""
    return crossings(start, end, x, obstacles[[1, 0, 3, 2]])


def _towards(point: QPointF, other: QPointF, distance: float) -> QPointF:
    away = other - point
    return point + away * (distance / max(away.manhattanLength(), 1e-9))
