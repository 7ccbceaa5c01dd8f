"""The calls of a painter, noted once and repeated often: what to paint takes as long to find as to paint."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from PySide6.QtGui import QPainter

#: A method of a painter, and its arguments.
Call = tuple[Callable[..., object], tuple[Any, ...]]


class Calls:
    """Notes the calls of `painter` in `made`, without those that set what is set already."""

    def __init__(self, pixel_ratio: float) -> None:
        self.made: list[Call] = []
        self._pixel_ratio = pixel_ratio
        self._set: dict[str, tuple[Any, ...]] = {}

    @property
    def painter(self) -> QPainter:
        """What stands in for a painter."""
        return cast(QPainter, self)

    def device(self) -> "Calls":
        """Return what stands in for the device."""
        return self

    def devicePixelRatio(self) -> float:
        """Return the pixels in one of the UI."""
        return self._pixel_ratio

    def __getattr__(self, name: str) -> Callable[..., None]:
        method = getattr(QPainter, name)

        def note(*arguments: Any) -> None:
            if name.startswith("set"):
                if self._set.get(name) == arguments:
                    return
                self._set[name] = arguments
            elif name == "restore":
                self._set.clear()
            self.made.append((method, arguments))

        return note


def repeat(painter: QPainter, calls: Iterable[Call]) -> None:
    """Repeat calls on a painter."""
    for method, arguments in calls:
        method(painter, *arguments)
