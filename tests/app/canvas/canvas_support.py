"""A simulated mouse and keyboard for the canvas tests."""

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.graph_view import GraphView
from warploom.app.canvas.items.scene import GraphScene
from warploom.engine.patch.document import Patch


@dataclass
class Hand:
    """A person's mouse and keys over the canvas; positions are points of the scene."""

    canvas: Canvas

    @property
    def view(self) -> GraphView:
        """The view inside the canvas."""
        view = self.canvas.findChild(GraphView)
        assert view is not None
        return view

    @property
    def scene(self) -> GraphScene:
        """The scene that the canvas shows."""
        scene = self.view.scene()
        assert isinstance(scene, GraphScene)
        return scene

    def port(self, node: str, name: str, *, is_input: bool) -> QPointF:
        """Return the position of a port."""
        place: QPointF = self.scene.nodes[node].ports[name, is_input].scenePos()
        return place

    def title(self, node: str) -> QPointF:
        """Return a point on a node's title bar."""
        place: QPointF = self.scene.nodes[node].scenePos() + QPointF(40, 12)
        return place

    def drag(
        self,
        start: QPointF,
        end: QPointF,
        modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
        *,
        button: Qt.MouseButton = Qt.MouseButton.LeftButton,
        release: bool = True,
    ) -> None:
        """Press at `start`, move to `end` in a few steps, and release there."""
        viewport = self.view.viewport()
        # All positions are computed first, since a drag may scroll the scene under the pointer.
        positions = [self._position(start + (end - start) * step) for step in (0, 0.2, 0.5, 0.8, 1)]
        QTest.mousePress(viewport, button, modifiers, positions[0])
        for position in positions[1:]:
            QTest.mouseMove(viewport, position)
            QApplication.processEvents()
        if release:
            self.release(end, modifiers, button=button)

    def release(
        self,
        point: QPointF,
        modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
        *,
        button: Qt.MouseButton = Qt.MouseButton.LeftButton,
    ) -> None:
        """Release a mouse button at a point."""
        QTest.mouseRelease(self.view.viewport(), button, modifiers, self._position(point))

    def click(self, point: QPointF, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Click at a point."""
        QTest.mouseClick(self.view.viewport(), Qt.MouseButton.LeftButton, modifiers, self._position(point))

    def double_click(self, point: QPointF) -> None:
        """Double-click at a point."""
        QTest.mouseDClick(
            self.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, self._position(point)
        )

    def turn_wheel(self, position: QPoint, angle: int) -> None:
        """Turn the wheel by some eighths of a degree, with the pointer at a position of the view."""
        viewport = self.view.viewport()
        QTest.mouseMove(viewport, position)
        event = QWheelEvent(
            QPointF(position),
            QPointF(viewport.mapToGlobal(position)),
            QPoint(),
            QPoint(0, angle),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(viewport, event)

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press and release a key over the canvas."""
        QTest.keyClick(self.view, key, modifiers)

    def _position(self, point: QPointF) -> QPoint:
        return self.view.mapFromScene(point)


def shown(scene: GraphScene) -> tuple[dict[str, tuple[float, float]], set[str]]:
    """Return what the scene shows: the nodes' positions, and the connections as text."""
    positions = {node_id: (view.x(), view.y()) for node_id, view in scene.nodes.items()}
    return positions, {str(connection) for connection in scene.connections}


def documented(patch: Patch) -> tuple[dict[str, tuple[float, float]], set[str]]:
    """Return what the scene should show for a patch."""
    positions = {node.id: node.position for node in patch.nodes.values()}
    return positions, {str(connection) for connection in patch.connections}


def box(hand: Hand, region: str) -> QRectF:
    """Return the rectangle of a region's box."""
    return QRectF(hand.scene.regions.rect_of(region))


def place(hand: Hand, node: str) -> QRectF:
    """Return the position of a node on the screen."""
    found: QRectF = hand.scene.nodes[node].place
    return found
