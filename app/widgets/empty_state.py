"""A page that shows its content, or a hint while there is none."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

#: The margins of a hint, and the side in pixels below which a page is narrow or low.
_WIDE, _THIN, _SMALL = 24, 4, 160


class EmptyState(QStackedWidget):
    """Shows `content`, or a hint in its place."""

    def __init__(self, content: QWidget, hint: str) -> None:
        super().__init__()
        self.hint = QLabel(hint, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True, objectName="hint")
        self.addWidget(self.hint)
        self.addWidget(content)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give a narrow or low page smaller margins rather than cut off its text."""
        across, down = (_WIDE if side >= _SMALL else _THIN for side in (self.width(), self.height()))
        self.hint.setContentsMargins(across, down, across, down)
        super().resizeEvent(event)

    def set_filled(self, filled: bool) -> None:
        """Show the content, or the hint."""
        self.setCurrentIndex(1 if filled else 0)
