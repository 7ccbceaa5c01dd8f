"""Leads connections around blocks and regions, and beside each other."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice

import numpy as np
from PySide6.QtCore import QObject, QRectF, QSizeF, QTimer

from warploom.app.canvas.drawing.node_layout import text_width
from warploom.app.canvas.drawing.node_painter import ABOVE, BELOW, SIDE
from warploom.app.canvas.drawing.region_layout import GAP, RegionLayout
from warploom.app.canvas.drawing.routes import LANE, Edges, Way, crossings, crossings_down, reach_of, way_around
from warploom.app.canvas.items.places import Places
from warploom.app.canvas.items.region_boxes import RegionBoxes
from warploom.app.canvas.items.views import ConnectionView, NodeView
from warploom.app.qt.turn import left_s
from warploom.app.theme.fonts import BODY

#: How long connections are led before they are painted, and then in each turn of the event loop.
_FIRST_S, _TURN_S = 0.0015, 0.003
#: The most blocks that a connection is led around.
_MOST_OBSTACLES = 40
#: A piece that runs vertically, or horizontally; and its place across, in lanes.
_Lane = tuple[bool, int]


class Router(QObject):
    """Leads the connections given to `loosen`, before they are painted or in later turns of the event loop."""

    def __init__(self, parent: QObject, nodes: Places[NodeView], regions: RegionBoxes) -> None:
        super().__init__(parent)
        self._nodes, self._regions = nodes, regions
        self._loose: dict[ConnectionView, None] = {}
        #: What runs in each lane: from where to where, and the output that it comes from.
        self._lanes: dict[_Lane, dict[ConnectionView, tuple[float, float, object]]] = defaultdict(dict)
        self._used: dict[ConnectionView, list[_Lane]] = {}
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(lambda: self.settle(min(_TURN_S, left_s())))

    def loosen(self, lines: Iterable[ConnectionView]) -> None:
        """Lead connections anew, since one of their ends or a block in their way has moved."""
        self._loose.update(dict.fromkeys(lines))
        if self._loose:
            self._timer.start()

    def forget(self, line: ConnectionView) -> None:
        """Forget a connection, which is gone."""
        self._loose.pop(line, None)
        for lane in self._used.pop(line, ()):
            self._lanes[lane].pop(line, None)  # two of its pieces may share a lane

    def clear(self) -> None:
        """Forget all connections."""
        self._timer.stop()
        self._loose.clear()
        self._lanes.clear()
        self._used.clear()

    def settle(self, within_s: float = _FIRST_S) -> None:
        """Lead the connections now; if they are many, the rest in later turns of the event loop."""
        start_s = time.perf_counter()
        while self._loose and time.perf_counter() - start_s < within_s:
            self._lead(list(islice(self._loose, 2)))
        if not self._loose:
            self._timer.stop()

    def prepare(self) -> None:
        """Lead some of the connections before they are painted, as far as the turn has time for it."""
        self.settle(min(_FIRST_S, left_s()))

    def _lead(self, lines: Iterable[ConnectionView]) -> None:
        layouts = self._regions.layouts() if self._loose else {}
        for line in lines:
            self.forget(line)
            obstacles = self._obstacles(line, layouts)
            way = way_around(*line.ends, obstacles)
            line.take_way(self._beside_others(line, way, obstacles) if way is not None else None)

    def _obstacles(self, line: ConnectionView, layouts: dict[str, RegionLayout]) -> Edges:
        """Return the blocks near a connection, and the regions that it does not lead into."""
        area = reach_of(*line.ends)
        found: Edges = self._nodes.edges_within(area) + np.array([[SIDE], [ABOVE], [-SIDE], [-BELOW]])
        boxes = list(self._boxes(line, layouts, area))
        if boxes:
            found = np.hstack((found, np.array(boxes).T))
        if found.shape[1] > _MOST_OBSTACLES:
            middle = area.center()
            away = abs(found[0] + found[2] - 2 * middle.x()) + abs(found[1] + found[3] - 2 * middle.y())
            found = found[:, np.argsort(away)[:_MOST_OBSTACLES]]
        return found

    def _boxes(
        self, line: ConnectionView, layouts: dict[str, RegionLayout], area: QRectF
    ) -> Iterable[tuple[float, float, float, float]]:
        """Yield the boxes of regions that hold neither end, and the titles of those that hold one or both."""
        if not layouts:
            return
        around = {port.owner.id for port in (line.output_port, line.input_port)}
        for node in tuple(around):
            around.update(self._regions.regions_around(self._regions.scope_of(node)))
        for region, layout in layouts.items():
            rect = QRectF(layout.box)
            if region in around:
                width = GAP + text_width(self._regions.views[region].model.title, BODY, True) + GAP
                rect = QRectF(layout.strip.topLeft(), QSizeF(min(width, rect.width()), layout.strip.height()))
            if rect.intersects(area):
                yield rect.left(), rect.top(), rect.right(), rect.bottom()

    def _beside_others(self, line: ConnectionView, way: Way, obstacles: Edges) -> Way:
        """Return a way with its pieces moved aside where connections from other outputs run."""
        (sx, sy), (a, _), (_, b), (c, _), _, (tx, ty) = way
        a = self._take_lane(line, True, a, (sy, b), obstacles, (0, 1, 2, 3, 4, -1))
        c = self._take_lane(line, True, c, (b, ty), obstacles, (0, -1, -2, -3, -4, 1))
        if b not in (sy, ty):
            b = self._take_lane(line, False, b, (a, c), obstacles, (0, -1, 1, -2, 2, -3, 3))
        return (sx, sy), (a, sy), (a, b), (c, b), (c, ty), (tx, ty)

    def _take_lane(
        self,
        line: ConnectionView,
        vertical: bool,
        at: float,
        ends: tuple[float, float],
        obstacles: Edges,
        steps: tuple[int, ...],
    ) -> float:
        """Return the first free place for a piece, so many lanes away, and note that it is taken."""
        (low, high), source = sorted(ends), line.output_port
        count = crossings_down if vertical else crossings
        for step in steps:
            place = at + step * LANE
            runs = self._lanes[vertical, round(place / LANE)].values()
            if any(start < high and low < end and of is not source for start, end, of in runs):
                continue
            if step == 0 or count(low, high, place, obstacles)[0] <= count(low, high, at, obstacles)[0]:
                at = place
                break
        lane = vertical, round(at / LANE)
        before = self._lanes[lane].get(line, (low, high, source))  # another piece of the same connection
        self._lanes[lane][line] = min(low, before[0]), max(high, before[1]), source
        self._used.setdefault(line, []).append(lane)
        return at
