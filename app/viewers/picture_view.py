"""A picture that can be fitted, zoomed, panned and probed, and whose camera can be turned."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)

from warploom.app.theme import colours
from warploom.app.widgets.view_keys import ViewKeys

MAX_SCALE = 64.0
MIN_SCALE = 1 / 64
_REACH = 6  # of the line of a comparison, in pixels
#: The share of the view that an arrow key moves the picture by, and the step of a comparison's line.
_PAN, _WIPE = 1 / 8, 1 / 32
#: A wheel that rests so long ends an undo step.
_PAUSE_MS = 600
#: How much nearer a camera comes with a step of the wheel.
_NEARER = 0.9
_WIPES = {Qt.Key.Key_BracketLeft: -_WIPE, Qt.Key.Key_BracketRight: _WIPE}


class PictureView(ViewKeys):
    """Shows the newest picture; scales are screen pixels per picture pixel.

    Arrows move it, Shift and arrows point at a pixel, + and - zoom there, 0 fits, Enter shows actual pixels, [ and ]
    move the line of a comparison.

    The shown picture may be a downscaled version: positions and sizes are still those of the whole picture.
    """

    #: `probe` changed: another pixel is under the pointer, or it has another value.
    probed = Signal()
    #: Scale or fitting changed.
    view_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setMouseTracking(True)
        self.setMinimumSize(96, 72)
        self.pixels: np.ndarray[Any, Any] | None = None  # the QImage refers to its memory
        self._image = QImage()
        self._size = (0, 0)  # of the whole picture
        self._part = QRectF()  # what the image shows of it
        #: Another picture of the same part, which is shown to the right of a line, and the line's place from 0 to 1.
        self._other: QImage | None = None
        self._other_pixels: np.ndarray[Any, Any] | None = None
        self.wipe = 0.5
        #: Turns the camera of the picture by shares of the smaller side, across and down, and multiplies its distance;
        #: calls with one object, the last argument, are one drag. It returns False without a camera.
        self.turn: Callable[[float, float, float, object], bool] = lambda *_: False
        self._drag: object = None
        self._is_wiping = False
        #: True while the whole picture is kept in view.
        self.is_fitted = True
        self._scale = 1.0
        self._centre = QPointF()  # in picture pixels
        #: Steps of the wheel without a pause between them are one turn of the camera.
        self._turning = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._wheeled = object()
        self._grabbed: QPointF | None = None
        self._pointer: QPointF | None = None
        #: The pixel that keys point at.
        self._pointed: tuple[int, int] | None = None

    def sizeHint(self) -> QSize:
        """Return the size of a small 16:9 picture."""
        return QSize(352, 198)

    @property
    def picture_size(self) -> tuple[int, int] | None:
        """Width and height of the whole picture in pixels; None without a picture."""
        return None if self.pixels is None else self._size

    @property
    def is_whole(self) -> bool:
        """True when the shown picture has every pixel of its part."""
        if self.pixels is None:
            return False
        return (self._image.width(), self._image.height()) == (self._part.width(), self._part.height())

    @property
    def wanted_size(self) -> tuple[int, int] | None:
        """The width and height of the whole picture in screen pixels; None to request every pixel.

        A larger picture would not look better.
        """
        ratio = self.devicePixelRatioF()
        if self.is_fitted or self.pixels is None:
            return max(1, round(self.width() * ratio)), max(1, round(self.height() * ratio))
        return self._shown_size() if self._scale < 1.0 else None

    @property
    def probe(self) -> tuple[int, int] | None:
        """The pixel that keys point at, or that under the pointer, as (x, y); None when the pointer is elsewhere."""
        if self._pointed is not None:
            return self._pointed
        return None if self._pointer is None else self._pixel_at(self._pointer)

    @property
    def scale(self) -> float:
        """Screen pixels per picture pixel."""
        if not self.is_fitted:
            return self._scale
        if self.pixels is None:
            return 1.0
        ratio = self.devicePixelRatioF()
        return min(self.width() * ratio / self._size[0], self.height() * ratio / self._size[1])

    def seen_part(self, margin: float) -> QRect:
        """Return the pixels of the picture that are in view, and a share of that around them."""
        if self.is_fitted or self.pixels is None:
            return QRect(0, 0, *self._size)
        first = self._to_picture(QPointF(0, 0))
        last = self._to_picture(QPointF(self.width(), self.height()))
        room = QPointF(margin * (last.x() - first.x()), margin * (last.y() - first.y()))
        return QRectF(first - room, last + room).toAlignedRect()

    def show_other(self, pixels: np.ndarray[Any, Any] | None) -> None:
        """Compare with another picture of the same part, of any size; None ends this."""
        self._other_pixels = None if pixels is None else np.ascontiguousarray(pixels)
        if self._other_pixels is None:
            self._other = None
        else:
            height, width, _ = self._other_pixels.shape
            self._other = QImage(self._other_pixels.data, width, height, 4 * width, QImage.Format.Format_RGBX8888)
        self.update()

    def show_pixels(
        self, pixels: np.ndarray[Any, Any], whole: tuple[int, int] | None = None, part: QRectF | None = None
    ) -> None:
        """Show a picture of (height, width, 4) uint8, sRGB, drawn from its memory without a copy.

        `whole` is the height and width of the original if the picture is downscaled. `part` is what `pixels` show of
        it, in pixels of the original; without it, that is all.
        """
        pixels = np.ascontiguousarray(pixels)
        height, width, _ = pixels.shape
        size = (width, height) if whole is None else (whole[1], whole[0])
        if self.picture_size != size:
            self._centre = QPointF(size[0] / 2, size[1] / 2)
            self._size = size
            if not self.is_fitted:
                self.view_changed.emit()
        self._part = part or QRectF(0, 0, *size)
        self.pixels = pixels
        # Alpha is ignored: a patch's colours are shown for any value of the fourth component.
        self._image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBX8888)
        self.update()
        if self.probe is not None:
            self.probed.emit()

    def clear(self) -> None:
        """Show nothing."""
        self._image, self.pixels = QImage(), None
        self.update()

    def pixel(self, x: int, y: int) -> tuple[int, int, int, int] | None:
        """Return a pixel's red, green, blue and alpha; None outside the picture, or while it is downscaled."""
        if self.pixels is None or not self.is_whole or not self._part.contains(x + 0.5, y + 0.5):
            return None
        row, column = y - int(self._part.top()), x - int(self._part.left())
        red, green, blue, alpha = (int(value) for value in self.pixels[row, column])
        return red, green, blue, alpha

    def picture(self) -> QImage:
        """Return a copy of the shown picture."""
        return self._image.copy()

    def fit(self) -> None:
        """Keep the whole picture in view."""
        self.is_fitted = True
        self._changed()

    def show_actual_pixels(self) -> None:
        """Show one picture pixel as one screen pixel."""
        self.zoom_to(1.0, QPointF(self.rect().center()))

    def zoom_to(self, scale: float, anchor: QPointF) -> None:
        """Change the scale and keep the point under `anchor` (in widget coordinates) where it is."""
        kept = self._to_picture(anchor)
        self.is_fitted, self._scale = False, min(max(scale, MIN_SCALE), MAX_SCALE)
        self._centre = kept - (anchor - self._middle()) / self._widget_scale()
        self._changed()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the picture."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(colours.current().canvas))
        if self.pixels is None:
            return
        # When enlarged, single pixels should stay visible.
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self.scale < 1.0 or not self.is_whole)
        target = self._target()
        painter.drawImage(target, self._image)
        if self._other is not None:
            line = self.wipe * self.width()
            painter.setClipRect(QRectF(line, 0, self.width() - line, self.height()))
            painter.drawImage(target, self._other)
            painter.setClipping(False)
            painter.fillRect(QRectF(line - 1, 0, 2, self.height()), QColor(colours.current().accent))
        if self._pointed is not None:
            side = max(self._widget_scale(), _REACH)
            box = QRectF(0, 0, side, side)
            box.moveCenter(self._to_widget(self._pointed))
            for colour, grown in ((colours.current().canvas, 1), (colours.current().accent, 0)):
                painter.setPen(QPen(QColor(colour), 1.0))
                painter.drawRect(box.adjusted(-grown, -grown, grown, grown))
        self.paint_focus(painter)
        painter.end()

    # Keys

    def move_by_keys(self, x: int, y: int, *, shift: bool) -> None:
        """Move the view over the picture; with Shift, point at the next pixel."""
        if self.pixels is None:
            return
        if not shift:
            self._pan(QPointF(x * self.width(), y * self.height()) * _PAN)
            return
        width, height = self._size
        at = self._pointed or self._pixel_at(self._middle()) or (width // 2, height // 2)
        self._pointed = min(max(at[0] + x, 0), width - 1), min(max(at[1] + y, 0), height - 1)
        place = self._to_widget(self._pointed)
        if not self.rect().contains(place.toPoint()):
            self._pan(place - self._middle())
        self.update()
        self.probed.emit()

    def zoom_by_keys(self, factor: float) -> None:
        """Zoom about the pixel that keys point at, or about the middle."""
        if self.pixels is not None:
            self.zoom_to(self.scale * factor, self._anchor())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the line of a comparison, or show actual pixels."""
        if self._other is not None and event.key() in _WIPES:
            self.wipe = min(max(self.wipe + _WIPES[Qt.Key(event.key())], 0.0), 1.0)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.pixels is not None:
            self._switch(self._anchor())
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Point at nothing."""
        super().focusOutEvent(event)
        self._forget_pointed()

    def _anchor(self) -> QPointF:
        return self._middle() if self._pointed is None else self._to_widget(self._pointed)

    def _forget_pointed(self) -> None:
        if self._pointed is not None:
            self._pointed = None
            self.update()
            self.probed.emit()

    # Mouse

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            steps = event.angleDelta().y() / 120
            if not self._turning.isActive():
                self._wheeled = object()
            self._turning.start()
            if self.turn(0.0, 0.0, _NEARER**steps, self._wheeled):
                event.accept()
                return
        if self.pixels is not None and event.angleDelta().y():
            self.zoom_to(self.scale * 1.2 ** (event.angleDelta().y() / 120), event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start panning, or moving the line of a comparison."""
        is_near = abs(event.position().x() - self.wipe * self.width()) < _REACH
        if self._other is not None and is_near and event.button() is Qt.MouseButton.LeftButton:
            self._is_wiping = True
        elif event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._grabbed, self._drag = event.position(), object()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pan or move the line, and report the pixel under the pointer."""
        if self._is_wiping:
            self.wipe = min(max(event.position().x() / max(self.width(), 1), 0.0), 1.0)
            self.update()
        is_near = self._other is not None and abs(event.position().x() - self.wipe * self.width()) < _REACH
        self.setCursor(Qt.CursorShape.SplitHCursor if is_near else Qt.CursorShape.ArrowCursor)
        if self._grabbed is not None and self.pixels is not None:
            way, side = event.position() - self._grabbed, min(self.width(), self.height()) or 1
            turns = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            if not (turns and self.turn(way.x() / side, way.y() / side, 1.0, self._drag)):
                self._pan(-way)
            self._grabbed = event.position()
        self._pointed = None
        self._pointer = event.position()
        self.probed.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Stop panning."""
        self._grabbed, self._is_wiping = None, False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Switch between fitted and actual pixels."""
        self._switch(event.position())

    def leaveEvent(self, event: object) -> None:
        """Note that the pointer has left."""
        self._pointer = None
        self.probed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Report a new view of a fitted picture, since its scale follows the size of the widget."""
        super().resizeEvent(event)
        if self.is_fitted:
            self.view_changed.emit()

    def _switch(self, anchor: QPointF) -> None:
        """Show actual pixels, or the whole picture again."""
        if self.is_fitted:
            self.zoom_to(1.0, anchor)
        else:
            self.fit()

    def _pan(self, way: QPointF) -> None:
        """Move the view over the picture by a way on the screen."""
        self._scale, self._centre, self.is_fitted = self.scale, self._shown_centre(), False
        self._centre += way / self._widget_scale()
        self._changed()

    def _to_widget(self, pixel: tuple[int, int]) -> QPointF:
        """Return the middle of a pixel on the screen."""
        at = QPointF(pixel[0] + 0.5, pixel[1] + 0.5)
        return self._middle() + (at - self._shown_centre()) * self._widget_scale()

    def _changed(self) -> None:
        self.update()
        self.view_changed.emit()

    def _widget_scale(self) -> float:
        return self.scale / self.devicePixelRatioF()

    def _middle(self) -> QPointF:
        return QPointF(self.width() / 2, self.height() / 2)

    def _shown_centre(self) -> QPointF:
        return QPointF(self._size[0] / 2, self._size[1] / 2) if self.is_fitted else self._centre

    def _to_picture(self, point: QPointF) -> QPointF:
        place: QPointF = self._shown_centre() + (point - self._middle()) / self._widget_scale()
        return place

    def _target(self) -> QRectF:
        scale = self._widget_scale()
        corner = self._middle() - self._shown_centre() * scale
        if self.is_whole or (self._part.width(), self._part.height()) != self._size:
            return QRectF(corner + self._part.topLeft() * scale, self._part.size() * scale)
        # The picture was made for exactly this many screen pixels, so it stays sharp.
        ratio, (width, height) = self.devicePixelRatioF(), self._shown_size()
        corner = QPointF(round(corner.x() * ratio) / ratio, round(corner.y() * ratio) / ratio)
        return QRectF(corner, QSizeF(width / ratio, height / ratio))

    def _shown_size(self) -> tuple[int, int]:
        """Return the width and height of the whole picture in screen pixels."""
        scale = self.scale
        return max(1, round(self._size[0] * scale)), max(1, round(self._size[1] * scale))

    def _pixel_at(self, point: QPointF) -> tuple[int, int] | None:
        where = self._to_picture(point)
        x, y = int(where.x() // 1), int(where.y() // 1)
        return (x, y) if self.pixels is not None and 0 <= x < self._size[0] and 0 <= y < self._size[1] else None
