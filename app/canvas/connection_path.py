"""The curve of a connection, from an output to an input."""

from __future__ import annotations

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainterPath

_SHORTEST, _LONGEST = 24.0, 160.0


def connection_path(source: QPointF, target: QPointF) -> QPainterPath:
    """Return a curve that leaves `source` to the right and reaches `target` from the left."""
    dx, dy = target.x() - source.x(), target.y() - source.y()
    reach = abs(dx) / 2 if dx >= 0 else abs(dx) / 2 + abs(dy) / 4
    # Ends that are close together need no detour to be told apart.
    reach = min(max(reach, min(_SHORTEST, (abs(dx) + abs(dy)) / 2)), _LONGEST)
    path = QPainterPath(source)
    path.cubicTo(QPointF(source.x() + reach, source.y()), QPointF(target.x() - reach, target.y()), target)
    return path
