"""Drags the slider on a node, which sets a number without the inspector."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPointF

from app.canvas.drawing.node_painter import NEAR, share_at
from app.canvas.gestures.gesture import Gesture
from app.canvas.items.nodegraph_adapter import NodeView
from app.canvas.items.scene import GraphScene


@dataclass(frozen=True)
class SliderMove:
    """A node's parameter and the value that its slider was moved to; one drag is one `gesture`."""

    node: str
    parameter: str
    value: float
    gesture: object


class SliderDrag(Gesture):
    """A drag of the slider on `node`, which jumps to the pointer; it moves when the patch has the new value."""

    def __init__(self, node: NodeView, slide: Callable[[SliderMove], object], point: QPointF) -> None:
        self._node, self._slide = node, slide
        self._gesture = object()
        node.show_appearance(held=True)
        self.move(point, moved=False)

    def move(self, point: QPointF, *, moved: bool) -> None:
        node, slider, track = self._node, self._node.model.slider, self._node.layout.track
        assert slider is not None and track is not None
        share = share_at(node.mapFromScene(point).x(), track)
        self._slide(SliderMove(node.id, slider.parameter, slider.value_at(share), self._gesture))

    def cancel(self) -> None:
        self._node.show_appearance(held=False)


def slider_at(scene: GraphScene, point: QPointF, zoom: float) -> NodeView | None:
    """Return the node whose slider is at a point, if sliders are shown at this zoom."""
    node = scene.node_at(point) if zoom >= NEAR else None
    track = node.layout.track if node is not None else None
    return node if node is not None and track is not None and track.contains(node.mapFromScene(point)) else None
