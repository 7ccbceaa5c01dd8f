"""A page that shows its content, or a hint while there is none."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget

#: The margins of a hint, and the side in pixels below which a page is small.
_WIDE, _THIN, _SMALL = 24, 4, 160


class EmptyState(QStackedWidget):
    """Shows `content`, or a hint in its place."""

    def __init__(self, content: QWidget, hint: str) -> None:
        super().__init__()
        self.hint = QLabel(hint, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True, objectName="hint")
        self.addWidget(self.hint)
        self.addWidget(content)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give a small page smaller margins rather than cut off its text."""
        self.hint.setMargin(_WIDE if min(self.width(), self.height()) >= _SMALL else _THIN)
        super().resizeEvent(event)

    def set_filled(self, filled: bool) -> None:
        """Show the content, or the hint."""
        self.setCurrentIndex(1 if filled else 0)
