"""Finds views by their places, in patches of thousands of blocks."""

from collections.abc import Sequence
from itertools import chain
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

_View = TypeVar("_View")


class Places(Generic[_View]):
    """Views with the areas that they cover, in the order in which they were added."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove all views."""
        self._views: list[_View | None] = []
        self._slots: dict[_View, int] = {}
        self._edges = np.full((4, 64), np.nan)  # left, top, right, bottom; comparisons with NaN are False
        self._put: dict[_View, QRectF] = {}

    def put(self, view: _View, area: QRectF) -> None:
        """Add a view, or change its area. The next query updates the index for all of them at once."""
        self._put[view] = area

    def _note(self) -> None:
        areas, self._put = self._put, {}
        if not areas:
            return
        new = [view for view in areas if view not in self._slots]
        self._slots.update((view, slot) for slot, view in enumerate(new, len(self._views)))
        self._views += new
        while len(self._views) > self._edges.shape[1]:
            self._edges = np.hstack((self._edges, np.full_like(self._edges, np.nan)))
        slots = [self._slots[view] for view in areas]
        coords = chain.from_iterable(area.getCoords() for area in areas.values())
        self._edges[:, slots] = np.fromiter(coords, float, 4 * len(slots)).reshape(-1, 4).T

    def take(self, view: _View) -> None:
        """Remove a view."""
        self._put.pop(view, None)
        slot = self._slots.pop(view, None)
        if slot is None:
            return
        self._views[slot] = None
        self._edges[:, slot] = np.nan
        if len(self._views) > 2 * len(self._slots) + 64:
            used = [*self._slots.values()]
            self._views = [*self._slots]
            self._edges = np.hstack((self._edges[:, used], np.full((4, 64), np.nan)))
            self._slots = {view: slot for slot, view in enumerate(self._slots)}

    def within(self, *areas: QRectF) -> list[_View]:
        """Return the views whose areas touch any of these, the last added last."""
        found = (self._views[slot] for slot in np.flatnonzero(self._touch(areas)).tolist())
        return [view for view in found if view is not None]

    def edges_within(self, *areas: QRectF) -> NDArray[np.float64]:
        """Return the left, top, right and bottom edges of the areas that touch any of these; each column is one."""
        touches = self._touch(areas)
        return self._edges[:, : len(touches)][:, touches]

    def _touch(self, areas: Sequence[QRectF]) -> NDArray[np.bool_]:
        self._note()
        left, top, right, bottom = self._edges[:, : len(self._views)]
        touches = np.zeros(len(self._views), bool)
        for area in areas:
            touches |= (left <= area.right()) & (right >= area.left()) & (top <= area.bottom()) & (bottom >= area.top())
        return touches
