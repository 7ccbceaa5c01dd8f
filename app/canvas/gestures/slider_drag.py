"""Drags the slider on a node, which sets a number without the inspector."""

from collections.abc import Callable

from PySide6.QtCore import QPointF

from warploom.app.canvas.drawing.node_painter import NEAR, share_at
from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.items.views import NodeView

#: Called with a node, its parameter, the value that its slider was moved to, and the gesture; one drag is one gesture.
Slide = Callable[[str, str, float, object], object]


class SliderDrag(Gesture):
    """A drag of the slider on `node`. The patch gets the value at the pointer, and the slider shows it once the patch
    has it.
    """

    def __init__(self, node: NodeView, slide: Slide, point: QPointF) -> None:
        self._node, self._slide = node, slide
        self._gesture = object()
        node.show_appearance(held=True)
        self.move(point, moved=False)

    def move(self, point: QPointF, *, moved: bool) -> None:
        node, slider, track = self._node, self._node.model.slider, self._node.layout.track
        assert slider is not None and track is not None
        share = share_at(node.mapFromScene(point).x(), track)
        self._slide(node.id, slider.parameter, slider.value_at(share), self._gesture)

    def cancel(self) -> None:
        self._node.show_appearance(held=False)


def slider_at(scene: GraphScene, point: QPointF, zoom: float) -> NodeView | None:
    """Return the node whose slider is at a point, if sliders are shown at this zoom."""
    node = scene.node_at(point) if zoom >= NEAR else None
    track = node.layout.track if node is not None else None
    return node if node is not None and track is not None and track.contains(node.mapFromScene(point)) else None
