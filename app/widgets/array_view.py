"""`ArrayView`: an array as a small picture, or its first numbers."""

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, widget_font
from warploom.engine.types import Array

_NUMBERS = 24


class ArrayView(QWidget):
    """Shows an array as a picture if it has the shape of one, otherwise its first numbers."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title, self._image, self._numbers = title, QImage(), ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """Return a size that shows some detail."""
        return QSize(200, 140)

    def show_array(self, array: Array | None, *, is_difference: bool = False) -> None:
        """Show an array, or none."""
        self._image, self._numbers = QImage(), ""
        if array is not None:
            pixels = _pixels(array, is_difference)
            if pixels is not None:
                height, width = pixels.shape[:2]
                self._image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888).copy()
            else:
                flat = array.reshape(-1)
                form = str if flat.dtype.names else "{:.6g}".format if np.isrealobj(flat) else "{:.4g}".format
                shown = [form(number) for number in flat[:_NUMBERS]]
                self._numbers = "\n".join(f"[{n}]  {text}" for n, text in enumerate(shown))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the title, and the picture or the numbers under it."""
        theme, painter = colours.current(), QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.canvas))
        painter.setFont(widget_font(SMALL))
        painter.setPen(QColor(theme.text_dim))
        painter.drawText(QRectF(8, 4, self.width() - 16, 16), Qt.AlignmentFlag.AlignLeft, self._title)
        room = QRectF(8, 24, self.width() - 16, self.height() - 32)
        if not self._image.isNull():
            scale = min(room.width() / self._image.width(), room.height() / self._image.height())
            width, height = self._image.width() * scale, self._image.height() * scale
            left, top = room.left() + (room.width() - width) / 2, room.top() + (room.height() - height) / 2
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, scale < 1)
            painter.drawImage(QRectF(left, top, width, height), self._image)
        else:
            painter.setPen(QColor(theme.text))
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft, self._numbers)
        painter.end()


def _pixels(array: Array, is_difference: bool) -> Array | None:
    """Return an array of the shape of a picture as RGB; a difference is stretched to its largest number."""
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.ndim not in (2, 3) or min(array.shape[:2]) < 2 or channels > 4 or np.iscomplexobj(array):
        return None
    numbers = np.nan_to_num(np.asarray(array, np.float64).reshape(*array.shape[:2], channels))
    if is_difference:
        numbers = numbers.max(axis=2, keepdims=True)
        largest = float(numbers.max())
        numbers = numbers / largest if largest else numbers
    elif array.dtype == np.uint8:
        numbers = numbers / 255
    if numbers.shape[2] < 3:
        numbers = np.repeat(numbers[:, :, :1], 3, axis=2)
    linear = np.clip(numbers[:, :, :3], 0.0, 1.0)
    return np.asarray(255 * (linear if array.dtype == np.uint8 else linear ** (1 / 2.2)), np.uint8)
