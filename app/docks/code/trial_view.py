"""`TrialView`: the code before and the code now, run on the same input; the person keeps one."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QMargins, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.theme import colours
from app.theme.fonts import SMALL, ui_font
from app.view_models.code.trial import Array, Outcome, compared, difference_of
from engine.figures import format_time

_NUMBERS = 24


class TrialView(QWidget):
    """Times, the difference in words, and the outputs side by side with their difference."""

    #: The person keeps the code now, or goes back to the code before.
    kept = Signal()
    rolled_back = Signal()
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.times = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.text = QLabel(objectName="message", textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.port = QComboBox(toolTip="The output that is shown")
        self.port.setAccessibleName("Output")
        self.port.currentTextChanged.connect(lambda _: self._show_port())
        self.keep = QPushButton("Keep the new code", toolTip="Save the code as it is now")
        self.back = QPushButton("Roll back", toolTip="Go back to the code before")
        self.close_button = QPushButton("Close", toolTip="Decide later: the text stays as it is")
        self.keep.clicked.connect(self.kept)
        self.back.clicked.connect(self.rolled_back)
        self.close_button.clicked.connect(self.closed)
        self.pictures = [_Picture(title) for title in ("Before", "Now", "Difference")]
        row = QHBoxLayout(contentsMargins=QMargins(8, 4, 8, 0), spacing=8)
        row.addWidget(self.times)
        row.addWidget(self.port)
        row.addStretch(1)
        for button in (self.keep, self.back, self.close_button):
            row.addWidget(button)
        words = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0))
        words.addWidget(self.text)
        sides = QHBoxLayout(contentsMargins=QMargins(8, 4, 8, 8), spacing=8)
        for picture in self.pictures:
            sides.addWidget(picture, 1)
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=4)
        column.addLayout(row)
        column.addLayout(words)
        column.addLayout(sides, 1)
        self._outcomes: tuple[Outcome, Outcome] | None = None

    def show_wait(self) -> None:
        """Tell that both versions are being run."""
        self._outcomes = None
        self.times.setText("Running both versions on the same input …")
        self.text.setText("")
        self.port.clear()
        for picture in self.pictures:
            picture.show_array(None)
        for part in (self.keep, self.back, self.port):
            part.setEnabled(False)

    def show_outcomes(self, before: Outcome, now: Outcome) -> None:
        """Show the outcomes of both versions."""
        self._outcomes = before, now
        self.times.setText(f"Before {_time(before)} · now {_time(now)}{_change(before, now)}")
        problems = [
            f"{name}: {outcome.problem.splitlines()[0]}"
            for name, outcome in (("Before", before), ("Now", now))
            if outcome.problem
        ]
        told: Sequence[object] = problems or compared(before.outputs, now.outputs)
        self.text.setText("\n".join(map(str, told)))
        self.port.clear()
        self.port.addItems(list(dict.fromkeys([*before.outputs, *now.outputs])))
        self.port.setVisible(self.port.count() > 1)
        self.port.setEnabled(True)
        self.keep.setEnabled(not now.problem)
        self.back.setEnabled(True)
        self._show_port()

    def _show_port(self) -> None:
        if self._outcomes is None:
            return
        port = self.port.currentText()
        a, b = (outcome.outputs.get(port) for outcome in self._outcomes)
        apart = difference_of(a, b) if a is not None and b is not None and a.shape == b.shape else None
        for picture, array in zip(self.pictures, (a, b, apart), strict=True):
            picture.show_array(array, is_difference=picture is self.pictures[2])


class _Picture(QWidget):
    """An array as a picture if it is one, otherwise its first numbers."""

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
                shown = [f"{number:.6g}" if np.isrealobj(flat) else f"{number:.4g}" for number in flat[:_NUMBERS]]
                self._numbers = "\n".join(f"[{n}]  {text}" for n, text in enumerate(shown))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the title, and the picture or the numbers under it."""
        theme, painter = colours.current(), QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.canvas))
        painter.setFont(ui_font(SMALL))
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


def _time(outcome: Outcome) -> str:
    return format_time(outcome.time_ns) if outcome.time_ns is not None else "no time"


def _change(before: Outcome, now: Outcome) -> str:
    if not before.time_ns or not now.time_ns:
        return ""
    share = now.time_ns / before.time_ns
    return f" ({share - 1:+.0%})"
