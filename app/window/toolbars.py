"""The parts around the canvas: menus, toolbar, the status bar's problem count, and the banners on top."""

from PySide6.QtCore import QMargins
from PySide6.QtWidgets import QMainWindow, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.commands.actions import Actions
from app.commands.commands import TOOLBAR
from app.view_models.problems import Rank, rank_text


def add_toolbar(window: QMainWindow, actions: Actions, transport: QWidget, at_the_end: QWidget) -> None:
    """Add the toolbar to the window, with the transport after its commands."""
    toolbar = actions.make_toolbar(TOOLBAR)
    toolbar.addWidget(transport)
    spacer = QWidget()
    spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    toolbar.addWidget(spacer)
    toolbar.addWidget(at_the_end)
    window.addToolBar(toolbar)
    actions.menus["view"].addAction(toolbar.toggleViewAction())


def under_banners(*parts: QWidget) -> QWidget:
    """Return a page with banners over its content, which is the last of `parts`."""
    page = QWidget()
    column = QVBoxLayout(page, contentsMargins=QMargins(), spacing=0)
    for part in parts:
        column.addWidget(part)
    return page


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


def list_button(text: str) -> QPushButton:
    """Return a button of the status bar that shows or hides a list."""
    return QPushButton(text, flat=True, objectName="listToggle", toolTip=f"Show or hide: {text}")


def count_text(errors: int, warnings: int, incomplete: int = 0) -> str:
    """Return the number of problems, such as "2 errors, 1 warning, 3 incomplete"; nothing when there are none."""
    counts = zip(Rank, (errors, warnings, incomplete), strict=True)
    return ", ".join(rank_text(rank, count) for rank, count in counts if count)
