"""A page that shows its content, or a hint while there is none."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedWidget, QWidget


class EmptyState(QStackedWidget):
    """Shows `content`, or a hint in its place."""

    def __init__(self, content: QWidget, hint: str) -> None:
        super().__init__()
        self.hint = QLabel(hint, alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True, objectName="hint")
        self.hint.setMargin(24)
        self.addWidget(self.hint)
        self.addWidget(content)

    def set_filled(self, filled: bool) -> None:
        """Show the content, or the hint."""
        self.setCurrentIndex(1 if filled else 0)
