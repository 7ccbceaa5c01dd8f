"""Drags the slider on a node, which sets a number without the inspector."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF

from app.canvas.drawing.node_painter import NEAR, share_at
from app.canvas.gestures.zoomable_view import ZoomableView
from app.canvas.items.nodegraph_adapter import NodeView
from app.canvas.items.scene import GraphScene


@dataclass(frozen=True)
class SliderMove:
    """A node's parameter and the value that its slider was moved to; one drag is one `gesture`."""

    node: str
    parameter: str
    value: float
    gesture: object


class SliderDrag:
    """The slider that is being dragged, if any. It moves when the patch has the new value."""

    def __init__(self, view: ZoomableView, scene: GraphScene) -> None:
        self._view = view
        self._scene = scene
        self._node: NodeView | None = None
        self._gesture: object = None

    @property
    def is_on(self) -> bool:
        """True during a drag."""
        return self._node is not None

    def press(self, point: QPointF) -> SliderMove | None:
        """Start dragging the slider at a point of the scene; it jumps to the pointer.

        Return None if there is no slider.
        """
        node = self._scene.node_at(point) if self._view.zoom >= NEAR else None
        track = node.layout.track if node is not None else None
        if node is None or track is None or not track.contains(node.mapFromScene(point)):
            return None
        self._node, self._gesture = node, object()
        node.show_appearance(held=True)
        return self.follow(point)

    def follow(self, point: QPointF) -> SliderMove:
        """Return the value at the pointer."""
        node = self._node
        assert node is not None and node.model.slider is not None and node.layout.track is not None
        share = share_at(node.mapFromScene(point).x(), node.layout.track)
        slider = node.model.slider
        return SliderMove(node.id, slider.parameter, slider.value_at(share), self._gesture)

    def end(self) -> None:
        """End the drag."""
        if self._node is not None:
            self._node.show_appearance(held=False)
            self._node = None
