"""Dragging nodes: they move at once on the screen, and the patch hears of it when they are let go."""

from __future__ import annotations

from PySide6.QtCore import QPointF

from app.canvas.graph_scene import GraphScene
from engine.patch.changes import Position


class NodeDrag:
    """The selected nodes while a person drags them; without a drag there are none."""

    def __init__(self, scene: GraphScene) -> None:
        self._scene = scene
        self._before: dict[str, QPointF] = {}

    def begin(self) -> None:
        """Take hold of the selected nodes."""
        for node in self._scene.nodes.values():
            if node.isSelected():
                node.is_dragged = True
                self._before[node.id] = node.pos()

    def end(self) -> dict[str, Position]:
        """Let go and return the new positions of the nodes that moved."""
        positions = {}
        for node_id, before in self._before.items():
            node = self._scene.nodes.get(node_id)
            if node is not None:
                node.is_dragged = False
                if node.pos() != before:
                    positions[node_id] = (node.x(), node.y())
        self._before.clear()
        return positions
