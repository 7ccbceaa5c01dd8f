"""Paints a view in slices of a few milliseconds, with input handled in between."""

import time
from collections.abc import Callable
from math import log

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QRectF
from PySide6.QtGui import QImage, QPainter, QPixmap, QRegion, QTransform
from PySide6.QtWidgets import QGraphicsView

from warploom.app.canvas.drawing.shapes import qcolor
from warploom.app.qt.turn import left_s
from warploom.app.theme import colours

#: How long a slice takes at least, and the height of the lowest part of one in pixels.
_LEAST_S, _LOWEST = 0.0015, 24
#: A part may be lower than the time allows, by this factor, to end where it cuts fewer items.
_LOWER = 0.6
#: What a part costs before any item, how long an item is assumed to take before one was painted at a zoom, and the
#: least that it takes.
_PART_S, _SLOW_ITEM_S, _QUICK_ITEM_S = 0.0003, 1e-4, 1e-6
#: The weight of the measurements so far against the next one.
_KEPT = 0.5


class SlicedPainting:
    """Paints as much of a view as a few milliseconds allow, and the rest in the next turns of the event loop.

    Until then, the rest shows the last picture of the view, moved and scaled to its present place. This holds for the
    screen only: in a picture that a program takes of the view, everything is painted.

    `paint_region` paints a region of the viewport, and nothing outside of it. `find_spans` returns the tops of items
    in a region, and their bottoms, in pixels of the viewport.
    """

    def __init__(
        self,
        view: QGraphicsView,
        paint_region: Callable[[QRegion], None],
        find_spans: Callable[[QRegion], NDArray[np.float64]],
    ) -> None:
        self._view, self._paint_region, self._find_spans = view, paint_region, find_spans
        #: What is still to be painted, in pixels of the viewport.
        self.rest = QRegion()
        #: How long the last painting took, with all of its slices, in s; or the present one, if that is longer.
        self.paint_s = 0.0
        self._so_far_s = 0.0
        #: The lower end of the last part.
        self._end = 0
        #: How long the picture took to follow another zoom.
        self._follow_s = 0.0
        #: How long items took and how many they were, the last ones above all, by the zoom in steps of a fifth.
        self._pace: dict[int, tuple[float, float]] = {}
        #: What the screen shows, the pixmap for the next picture, and the view's transform now.
        self._picture, self._spare = QPixmap(), QPixmap()
        self._transform = QTransform()

    def paint(self, region: QRegion) -> None:
        """Paint a region of the viewport, or begin to; called in its paint event."""
        start_s = time.perf_counter()
        screen = self._screen()
        if screen is None:
            self._paint_region(region)
            return
        follow_s = self._follow_s if self._view.viewportTransform() != self._transform else 0.0
        rest = self._paint_slice(region, max(left_s() - follow_s, _LEAST_S))
        self._follow(screen.devicePixelRatio(), region - rest)
        if not rest.isEmpty():
            self._show_picture(rest)
        self._keep(screen, region - rest)
        self.rest = (self.rest - region + rest) & self._view.viewport().rect()  # which may have become smaller
        self._so_far_s += time.perf_counter() - start_s
        if self.rest.isEmpty():
            self.paint_s, self._so_far_s = self._so_far_s, 0.0
        else:
            self.paint_s = max(self.paint_s, self._so_far_s)
            self._view.viewport().update(self.rest)

    def forget(self) -> None:
        """Forget the last picture: what is shown now has nothing to do with it."""
        self._clear(QRegion(self._view.viewport().rect()))
        self._view.viewport().update()

    def _screen(self) -> QImage | None:
        """Return the pixels of the window, if these are what the viewport is painted on now."""
        painter = QPainter(self._view.viewport())
        device, store = painter.paintEngine().paintDevice(), self._view.window().backingStore()
        is_screen = store is not None and store.paintDevice() is device
        painter.end()
        return device if is_screen and isinstance(device, QImage) else None

    def _paint_slice(self, region: QRegion, room_s: float) -> QRegion:
        """Paint parts of a region, one at least, for a time, downwards from the last one; return the rest."""
        rest, until_s = QRegion(region), time.perf_counter() + room_s
        zoom = round(log(self._view.transform().m11(), 1.2))
        below = self._view.viewport().rect().adjusted(0, self._end, 0, 0)
        for turn in (region & below, region - below):  # so every part has its turn, even if all is requested again
            while not turn.isEmpty():
                start_s = time.perf_counter()
                if rest != region and until_s - start_s < _LEAST_S:
                    return rest
                took_s, items = self._pace.get(zoom, (_SLOW_ITEM_S, 1.0))
                part, count = self._part(turn, max(int((until_s - start_s - _PART_S) / took_s * items), 1))
                self._paint_region(part)
                turn, rest, self._end = turn - part, rest - part, part.boundingRect().bottom() + 1
                part_s = max(time.perf_counter() - start_s - _PART_S, count * _QUICK_ITEM_S)
                if count:
                    self._pace[zoom] = _KEPT * took_s + part_s, _KEPT * items + count
        self._end = 0
        return rest

    def _part(self, region: QRegion, most: int) -> tuple[QRegion, int]:
        """Return the upper part of a region, with at most so many items if possible, and the number of its items."""
        tops, bottoms = np.sort(self._find_spans(region), axis=1)
        area = region.boundingRect()
        if len(tops) <= most or area.height() < 2 * _LOWEST:
            return region, len(tops)
        highest = max(int(tops[most]) - area.top(), _LOWEST)
        ends = area.top() + np.arange(max(int(highest * _LOWER), _LOWEST), highest + 1)
        begun = np.searchsorted(tops, ends)
        best = len(ends) - 1 - np.argmin((begun - np.searchsorted(bottoms, ends))[::-1])
        area.setBottom(int(ends[best]) - 1)
        return region & area, int(begun[best])

    def _follow(self, ratio: float, painted: QRegion) -> None:
        """Move and scale the picture to the view's present transform, size and resolution, but for what was painted."""
        transform, area = self._view.viewportTransform(), self._view.viewport().rect()
        size, before = area.size() * ratio, self._transform
        if transform == before and size == self._picture.size():
            return
        start_s, self._transform = time.perf_counter(), transform
        away = QPointF(transform.dx() - before.dx(), transform.dy() - before.dy()).toPoint()
        if size == self._picture.size() and transform.m11() == before.m11() and float(ratio).is_integer():
            self._picture.scroll(*(away * ratio).toTuple(), self._picture.rect())
            self._clear(QRegion(area) - area.translated(away))
            return
        if size != self._spare.size():
            self._spare = QPixmap(size)
        self._spare.setDevicePixelRatio(ratio)
        self._picture, self._spare = self._spare, self._picture
        rest = QRegion(area) - painted
        if rest.isEmpty():
            return
        self._clear(rest)
        painter = QPainter(self._picture)
        painter.setClipRegion(rest)
        painter.setTransform(before.inverted()[0] * transform)
        painter.drawPixmap(QPoint(), self._spare)
        self._follow_s = time.perf_counter() - start_s

    def _clear(self, region: QRegion) -> None:
        if self._picture.isNull():
            return
        painter = QPainter(self._picture)
        painter.setClipRegion(region)
        painter.fillRect(region.boundingRect(), qcolor(colours.current().canvas))

    def _show_picture(self, region: QRegion) -> None:
        painter = QPainter(self._view.viewport())
        painter.setClipRegion(region)
        painter.drawPixmap(QPoint(), self._picture)

    def _keep(self, screen: QImage, region: QRegion) -> None:
        """Copy a region of the screen into the picture."""
        viewport, ratio, area = self._view.viewport(), screen.devicePixelRatio(), region.boundingRect()
        corner = viewport.mapTo(viewport.window(), area.topLeft())
        painter = QPainter(self._picture)
        painter.setClipRegion(region)
        source = QRectF(corner.x() * ratio, corner.y() * ratio, area.width() * ratio, area.height() * ratio)
        painter.drawImage(QRectF(area), screen, source)
