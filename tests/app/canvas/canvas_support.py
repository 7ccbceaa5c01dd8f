"""Block types, reports and a hand with a mouse, for the tests of the canvas."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.canvas import Canvas
from app.canvas.graph_scene import GraphScene
from app.canvas.view import GraphView
from engine.api import Moment, Value, ValueBlock, param, value_port
from engine.blocktypes.block import Block
from engine.blocktypes.builder import BlockBuilder
from engine.blocktypes.ports import In, Out, port
from engine.patch.document import Patch
from engine.protocol.messages import (
    BufferReport,
    EngineStatistics,
    FrameReport,
    NodeReport,
    NodeState,
    UpdateLevel,
)
from engine.types import Struct, any_type, f32, float3, float4, u32


class Spark(Struct):
    """Where a spark is and where it goes."""

    position: float3
    velocity: float3


class _Still:
    def describe(self, build: BlockBuilder) -> None:
        """Do nothing: no engine runs in these tests."""


class Source(_Still, Block, id="test_canvas.source", category="Test canvas"):
    """Quokka source of samples."""

    out: Out[f32] = port(doc="The samples.", shape="[64]")


class Scale(_Still, Block, id="test_canvas.scale", category="Test canvas", tags=("wallaby",)):
    """Quokka that scales samples."""

    x: In[f32] = port(doc="Samples to scale.")
    gain: In[f32] = port(doc="Gain of each sample.", optional=True)
    out: Out[f32] = port(doc="Scaled samples.", shape="same(x)")


class Count(_Still, Block, id="test_canvas.count", category="Test canvas"):
    """Quokka that counts."""

    x: In[u32] = port(doc="Whole numbers.", rank=1)
    out: Out[u32] = port(doc="How many.", shape="scalar")


class Picture(_Still, Block, id="test_canvas.picture", category="Test canvas"):
    """Quokka picture."""

    out: Out[float4] = port(doc="The picture.", shape="[48, 64]")


class Soften(_Still, Block, id="test_canvas.soften", category="Test canvas"):
    """Quokka that softens pictures."""

    image: In[float4] = port(doc="Sharp image.", rank=2)
    out: Out[float4] = port(doc="Soft image.", shape="same(image)")


class Sparks(_Still, Block, id="test_canvas.sparks", category="Test canvas"):
    """Quokka sparks."""

    out: Out[Spark] = port(doc="The sparks.", shape="[100000]", state=True)


class Show(_Still, Block, id="test_canvas.show", category="Test canvas"):
    """Quokka viewer of anything."""

    x: In[any_type] = port(doc="Anything.")
    out: Out[any_type] = port(doc="The same.", dtype="same(x)")


class Blend(_Still, Block, id="test_canvas.blend", category="Test canvas"):
    """Wombat with parameters."""

    x: In[f32] = port(doc="Samples.", optional=True)
    out: Out[f32] = port(doc="Samples.", shape="[size]")
    amount: float = param(0.25, min=0, max=1, doc="How much.")
    steps: int = param(3, min=1, max=9, unit="px", doc="How many.")
    on: bool = param(True, doc="Whether at all.")
    size: int = param(64, min=1, max=4096, structural=True, doc="How large.")
    label: str = param("", doc="A text.")


class Wave(ValueBlock, id="test_canvas.wave", category="Test values"):
    """Bilby that swings."""

    value: Value[float] = value_port(doc="The number.", unit="m")
    up: Value[bool] = value_port(doc="Whether it rises.")
    speed: float = param(1.0, min=0, max=10, doc="How fast.")
    hold: bool = param(False, doc="Whether it stands.")

    def update(self, now: Moment) -> None:
        """Do nothing: no engine runs in these tests."""


class Dial(ValueBlock, id="test_canvas.dial", category="Test values"):
    """Bilby that a person sets."""

    handle = "turn"

    value: Value[float] = value_port(doc="The number set.")
    turn: float = param(0.5, min=0, max=2, doc="How far it is turned.")

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Stand at the value, which may be more than it can be turned to."""
        return {"turn": value}

    def update(self, now: Moment) -> None:
        """Do nothing: no engine runs in these tests."""


def make_report(
    nodes: dict[str, NodeReport] | None = None,
    buffers: dict[str, BufferReport] | None = None,
    values: dict[str, float] | None = None,
) -> FrameReport:
    """Return a frame report about some nodes, buffers and values."""
    statistics = EngineStatistics("host")
    return FrameReport(1, UpdateLevel.NONE, 1_000_000, nodes or {}, buffers or {}, statistics, values=values or {})


def make_node_report(state: NodeState = NodeState.OK, time_ns: int | None = None, message: str = "") -> NodeReport:
    """Return a node report."""
    return NodeReport("test_canvas.scale", state, message, time_ns, 1)


@dataclass
class Hand:
    """A person's hand at the canvas: the mouse, aimed at points of the scene."""

    canvas: Canvas

    @property
    def view(self) -> GraphView:
        """The view inside the canvas."""
        view = self.canvas.findChild(GraphView)
        assert view is not None
        return view

    @property
    def scene(self) -> GraphScene:
        """What is shown."""
        scene = self.view.scene()
        assert isinstance(scene, GraphScene)
        return scene

    def port(self, node: str, name: str, *, is_input: bool) -> QPointF:
        """Return where a port is."""
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
        # All positions first: a drag may move the scene under the pointer.
        positions = [self._position(start + (end - start) * step) for step in (0, 0.2, 0.5, 0.8, 1)]
        QTest.mousePress(viewport, button, modifiers, positions[0])
        for position in positions[1:]:
            QTest.mouseMove(viewport, position)
            QApplication.processEvents()
        if release:
            QTest.mouseRelease(viewport, button, modifiers, positions[-1])

    def click(self, point: QPointF, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Click at a point."""
        QTest.mouseClick(self.view.viewport(), Qt.MouseButton.LeftButton, modifiers, self._position(point))

    def double_click(self, point: QPointF) -> None:
        """Double-click at a point."""
        QTest.mouseDClick(
            self.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, self._position(point)
        )

    def turn_wheel(self, position: QPoint, angle: int) -> None:
        """Turn the wheel by eighths of a degree, with the pointer at a position of the view."""
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
    """Return what the scene shows: node positions, and connections as text."""
    positions = {node_id: (view.x(), view.y()) for node_id, view in scene.nodes.items()}
    return positions, {str(connection) for connection in scene.connections}


def documented(patch: Patch) -> tuple[dict[str, tuple[float, float]], set[str]]:
    """Return what the scene should show of a patch."""
    positions = {node.id: node.position for node in patch.nodes.values()}
    return positions, {str(connection) for connection in patch.connections}
