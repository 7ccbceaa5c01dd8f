"""The status bar's count of problems."""

from PySide6.QtWidgets import QPushButton

from warploom.app.view_models.lists.problems import Rank, rank_text


class ProblemCount(QPushButton):
    """Shows the number of problems, and shows or hides the list."""

    def __init__(self) -> None:
        super().__init__(flat=True)
        self.setObjectName("problemCount")
        self.setToolTip("Show or hide the problems")
        self.show_count(0, 0)

    def show_count(self, errors: int, warnings: int, incomplete: int = 0) -> None:
        """Show the numbers of problems and of incomplete blocks."""
        self.setText(count_text(errors, warnings, incomplete) or "No problems")
        self.setProperty("state", "error" if errors else "warning" if warnings else "incomplete")
        self.style().polish(self)


def count_text(errors: int, warnings: int, incomplete: int = 0) -> str:
    """Return the number of problems, such as "2 errors, 1 warning, 3 incomplete"; nothing when there are none."""
    counts = zip(Rank, (errors, warnings, incomplete), strict=True)
    return ", ".join(rank_text(rank, count) for rank, count in counts if count)
