"""The number of problems in the status bar; a click shows the list."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget

from app.format import plural


class ProblemCount(QPushButton):
    """Hidden while there are no problems."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, flat=True)
        self.setObjectName("problemCount")
        self.setToolTip("Show the problems")
        self.hide()

    def show_count(self, errors: int, warnings: int) -> None:
        """Show how many problems there are."""
        self.setText(count_text(errors, warnings))
        self.setProperty("errors", "true" if errors else "false")
        self.style().polish(self)
        self.setVisible(bool(errors + warnings))


def count_text(errors: int, warnings: int) -> str:
    """Return the number of problems, such as "2 errors, 1 warning"; nothing when there are none."""
    counted = [plural(count, noun) for count, noun in ((errors, "error"), (warnings, "warning")) if count]
    return ", ".join(counted)
