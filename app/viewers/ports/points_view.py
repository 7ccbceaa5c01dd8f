"""A port as points in two or three dimensions; a drag orbits, Shift+drag pans, the wheel zooms."""

import math

import numpy as np
from PySide6.QtCore import QMargins, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLabel, QVBoxLayout, QWidget

from warploom.app.qt.flow_row import FlowRow
from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, widget_font
from warploom.app.view_models.looking.points import Camera, dots_of, project
from warploom.app.viewers.ports.port_view import MAIN, RATE, PortView
from warploom.app.widgets.view_keys import ZOOM, ViewKeys
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Sample, Sampling
from warploom.engine.types import Array

#: More points are thinned out evenly.
_MOST = 200_000
#: What an arrow key turns or moves, as a share of the smaller side.
_STEP = 1 / 16
_AXES = (("x", "#d05a58"), ("y", "#57a866"), ("z", "#5b8ff0"))


class Cloud(ViewKeys):
    """Draws points as dots whose brightness grows with their number; arrows orbit, or pan with Shift."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumSize(96, 72)
        self.points: Array = np.zeros((0, 3), np.float32)
        self.camera = Camera()
        self._grabbed: QPointF | None = None
        self._dots: Array | None = None

    def show_points(self, points: Array, *, fit: bool) -> None:
        """Show other points, (count, 2 or 3)."""
        if fit:
            self.camera = Camera.fitting(points, is_flat=points.shape[1] == 2)
        self.points = points
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the points, and the directions of the axes."""
        theme, painter = colours.current(), QPainter(self)
        ratio = self.devicePixelRatioF()
        width, height = max(1, round(self.width() * ratio)), max(1, round(self.height() * ratio))
        ink = QColor(theme.accent)
        ground = QColor(theme.canvas)
        rgb = [(c.red(), c.green(), c.blue()) for c in (ground, ink, QColor(theme.text))]
        self._dots = dots_of(project(self.points, self.camera, width, height), width, height, rgb)
        painter.drawImage(self.rect(), QImage(self._dots.data, width, height, 4 * width, QImage.Format.Format_RGBX8888))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(widget_font(SMALL))
        corner = QPointF(36, self.height() - 36)
        for (name, colour), (x, y) in zip(_AXES[: self.points.shape[1]], self.camera.directions(), strict=False):
            end = corner + QPointF(24 * x, -24 * y)
            painter.setPen(QColor(colour))
            painter.drawLine(corner, end)
            painter.drawText(end + QPointF(3, 4), name)
        self.paint_focus(painter)
        painter.end()

    def move_by_keys(self, x: int, y: int, *, shift: bool) -> None:
        """Orbit, or pan with Shift or in two dimensions."""
        self._turn(-x * _STEP, -y * _STEP, pans=shift)

    def zoom_by_keys(self, factor: float) -> None:
        """Zoom."""
        self.camera = self.camera.zoomed(factor)
        self.update()

    def fit(self) -> None:
        """Fit all points again."""
        self.show_points(self.points, fit=True)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a drag."""
        self._grabbed = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Orbit, or pan with Shift, the middle button, or in two dimensions."""
        if self._grabbed is None:
            return
        moved = event.position() - self._grabbed
        self._grabbed = event.position()
        pans = bool(
            event.modifiers() & Qt.KeyboardModifier.ShiftModifier or event.buttons() & Qt.MouseButton.MiddleButton
        )
        side = min(self.width(), self.height()) or 1
        self._turn(moved.x() / side, moved.y() / side, pans=pans)

    def _turn(self, across: float, down: float, *, pans: bool) -> None:
        moved = self.camera.panned if pans or self.camera.is_flat else self.camera.orbited
        self.camera = moved(across, down)
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a drag."""
        self._grabbed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Fit all points again."""
        self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom."""
        self.zoom_by_keys(ZOOM ** (event.angleDelta().y() / 120))
        event.accept()


class PointsView(PortView):
    """The first components of a vector, numbers of a row, or a chosen field of a struct are a point's place."""

    def __init__(self) -> None:
        super().__init__()
        self.cloud, self.field, self._note = Cloud(), QComboBox(), QLabel(objectName="figures")
        self.field.setToolTip("Field with the places of the points")
        self.field.hide()
        self.field.currentTextChanged.connect(self._on_field)
        row = FlowRow(margins=QMargins(8, 4, 8, 4))
        row.add(self.field)
        self._note.setAlignment(Qt.AlignmentFlag.AlignRight)
        row.add(self._note, grows=True)
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        column.addLayout(row)
        column.addWidget(self.cloud, 1)
        self._is_new = True

    def begin(self) -> None:
        """Fit the new points."""
        self._is_new = True
        self.cloud.show_points(np.zeros((0, 3), np.float32), fit=True)
        self.field.blockSignals(True)
        self.field.clear()
        self.field.blockSignals(False)
        self.field.hide()

    def offer_fields(self, fields: list[str]) -> None:
        """Offer the fields of a struct."""
        if fields and [self.field.itemText(i) for i in range(self.field.count())] != fields:
            self.field.clear()
            self.field.addItems(fields)
            self.field.show()

    @property
    def body(self) -> QWidget:
        """What shows the contents."""
        return self.cloud

    def samplings(self, port: PortRef, dtype: str, shape: tuple[int, ...]) -> dict[str, Sampling]:
        """Return at most so many points as can be drawn."""
        size = (max(1, _MOST // max(math.prod(shape[1:]), 1)),) if shape else ()
        return {MAIN: Sampling(port, (), size, field=self.field.currentText(), rate=RATE)}

    def show_sample(self, name: str, sample: Sample) -> None:
        """Draw the points of a sample."""
        assert sample.data is not None
        data, axes = sample.data, len(sample.shape)
        if data.dtype.kind == "c":
            data = np.stack([data.real, data.imag], -1)
        if data.dtype.names or (data.ndim == axes and data.shape[-1:] not in ((2,), (3,), (4,))):
            self._note.setText("Points need elements of two or three numbers")
            return
        points = data.reshape(-1, data.shape[-1])[:, :3].astype(np.float32)
        points = points[np.isfinite(points).all(1)]
        if points.shape[1] < 2:
            self._note.setText("Points need elements of two or three numbers")
            return
        count = math.prod(sample.shape if data.ndim > axes else sample.shape[:-1])
        self._note.setText(f"{len(points):,} of {count:,} points" if len(points) < count else f"{count:,} points")
        self.cloud.show_points(points, fit=self._is_new and bool(len(points)))
        self._is_new = self._is_new and not len(points)

    def _on_field(self) -> None:
        self._is_new = True
        self.wanted.emit()
