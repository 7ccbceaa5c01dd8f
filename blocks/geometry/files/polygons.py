"""Cuts polygons into triangles, also those with dents."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Share of a polygon's area up to which a triangle that lies the wrong way round is rounding.
_ROUNDING = 1e-9


def cut_polygons(points: Array, counts: Array, corners: Array) -> tuple[Array, Array]:
    """Return triangles, shape (m, 3), and the polygon of each; those of a polygon with n corners are n - 2.

    `points` are f64[k, 3], `counts` the number of corners of each polygon, and `corners` the points of all of these. A
    polygon with fewer than three corners has no triangles. ValueError names a corner that is no point.
    """
    if corners.size and not (corners.min() >= 0 and corners.max() < len(points)):
        wrong = corners[(corners < 0) | (corners >= len(points))][0]
        raise ValueError(f"a face with point {wrong} of {len(points)}; points count from 0")
    begins, pieces = np.cumsum(counts) - counts, np.maximum(counts - 2, 0)
    first = np.cumsum(pieces) - pieces
    triangles = np.empty((int(pieces.sum()), 3), np.int64)
    for count in np.unique(counts[counts > 2]):
        chosen = np.flatnonzero(counts == count)
        rings = corners[begins[chosen, np.newaxis] + np.arange(count)]
        triangles[first[chosen, np.newaxis] + np.arange(count - 2)] = _cut(points, rings)
    return triangles, np.repeat(np.arange(len(counts)), pieces)


def has_dents(points: Array, rings: Array) -> Array:
    """Return for each polygon whether a fan of triangles from its first corner would leave it.

    `rings` are the points of polygons with the same number of corners, shape (n, corners).
    """
    with np.errstate(all="ignore"):  # positions may be infinite or NaN
        sides = points[rings[:, 1:]] - points[rings[:, :1]]
        areas = np.cross(sides[:, :-1], sides[:, 1:])
        whole = areas.sum(axis=1, keepdims=True)
        shares = (areas * whole).sum(axis=2)
        return np.asarray((shares < -_ROUNDING * (whole**2).sum(axis=2)).any(axis=1))


def _cut(points: Array, rings: Array) -> Array:
    """Return the triangles of polygons with the same number of corners, shape (n, corners - 2, 3)."""
    count = rings.shape[1]
    fan = np.stack([np.zeros(count - 2, int), np.arange(1, count - 1), np.arange(2, count)], axis=1)
    if count == 4:
        fan[1] = (2, 3, 0)
    cut = rings[:, fan]
    dented = np.flatnonzero(has_dents(points, rings)) if count > 3 else ()
    if count == 4 and len(dented):  # the other diagonal
        cut[dented] = rings[dented][:, ((1, 2, 3), (3, 0, 1))]
    elif len(dented):
        for ring in dented:
            cut[ring] = rings[ring][_ears(_flat(points[rings[ring]]))]
    return cut


def _flat(ring: Array) -> Array:
    """Return a polygon in its plane, counter-clockwise, shape (corners, 2)."""
    sides = ring - ring[0]
    normal = np.cross(sides[:-1], sides[1:]).sum(axis=0)
    axis = int(np.abs(normal).argmax())
    plane = ring[:, [(axis + 1) % 3, (axis + 2) % 3]]
    return plane if normal[axis] > 0 else plane * (1, -1)


def _ears(ring: Array) -> list[tuple[int, int, int]]:
    """Return the triangles of a counter-clockwise polygon, by cutting off corners that no other one lies in.

    This is ear clipping (Meisters, "Polygons have ears", 1975).
    """
    left, found, at, failed = list(range(len(ring))), list[tuple[int, int, int]](), 0, 0
    while len(left) > 3:
        at %= len(left)
        is_stuck = failed >= len(left)
        if is_stuck:  # without harm, corners on a line are cut off; where sides cross, any corner is
            flat = (k for k in range(len(left)) if _turn(*ring[[left[k - 1], left[k], left[(k + 1) % len(left)]]]) == 0)
            at = next(flat, at)
        if not is_stuck and not _is_ear(ring[left], at):
            at, failed = at + 1, failed + 1
            continue
        found.append((left[at - 1], left[at], left[(at + 1) % len(left)]))
        del left[at]
        failed = 0
    return [*found, (left[0], left[1], left[2])]


def _is_ear(ring: Array, at: int) -> bool:
    """Return whether a corner turns left, and no other point lies in the triangle with its neighbours.

    A corner at the place of a neighbour, or between two at one place, counts as well.
    """
    before, after = np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0)
    corners = np.stack([before[at], ring[at], after[at]])
    if (corners == np.roll(corners, 1, axis=0)).all(axis=1).any():
        return True
    if not _turn(corners[0], corners[1], corners[2]) > 0:
        return False
    inside = np.ones(len(ring), bool)
    for place in range(3):
        begin, end = corners[place], corners[(place + 1) % 3]
        inside &= _turn(begin, end, ring) >= 0
        inside &= (ring != begin).any(axis=1)
    if inside.any():
        return False
    # Where the outline touches this corner from within, its sides lie between those of the corner.
    here = (ring == corners[1]).all(axis=1)
    ways = np.concatenate([before[here], after[here]])
    return not ((_turn(corners[0], corners[1], ways) > 0) & (_turn(corners[1], corners[2], ways) > 0)).any()


def _turn(begin: Array, end: Array, points: Array) -> Any:
    """Return twice the area to the left of a side, up to each point."""
    side, way = end - begin, points - begin
    return side[0] * way[..., 1] - side[1] * way[..., 0]
