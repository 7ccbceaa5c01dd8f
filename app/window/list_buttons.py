"""`ListButtons`: a button in the status bar for each list below the canvas that is closed."""

from functools import partial

from PySide6.QtCore import QMargins
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from warploom.app.window.docks import LISTS, Docks


class ListButtons(QWidget):
    """Opens closed lists. An open list has a tab, so its button is hidden; the count of problems is a button itself."""

    def __init__(self, docks: Docks) -> None:
        super().__init__()
        row = QHBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        for name in LISTS[1:]:
            text, action = docks[name].windowTitle(), docks[name].toggleViewAction()
            button = QPushButton(text, flat=True, objectName="listToggle", toolTip=f"Show: {text}")
            button.clicked.connect(partial(docks.toggle, name))
            row.addWidget(button)  # first, since a button without a parent would be shown as a window
            button.setHidden(action.isChecked())
            action.toggled.connect(button.setHidden)
        self._buttons = self.findChildren(QPushButton)

    def set_narrow(self, is_narrow: bool) -> None:
        """Take less room, in a narrow window."""
        state = "narrow" if is_narrow else ""
        for button in self._buttons:
            if button.property("state") != state:
                button.setProperty("state", state)
                button.style().polish(button)
