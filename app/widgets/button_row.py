"""A row of buttons, each with an immediate action."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QMargins, Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget


class ButtonRow(QWidget):
    """Shows the newest buttons; hidden while there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.buttons: list[QPushButton] = []
        self._row = QHBoxLayout(self, contentsMargins=QMargins(), spacing=4)
        self._row.addStretch(1)
        self.hide()

    def show_buttons(self, buttons: Iterable[tuple[str, Callable[[], object]]]) -> None:
        """Show these buttons instead of the previous ones."""
        for button in self.buttons:
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons = []
        for text, act in buttons:
            button = QPushButton(text.replace("&", "&&"), objectName="remedy", focusPolicy=Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, act=act: act())
            self._row.insertWidget(len(self.buttons), button)
            button.show()  # otherwise a visible row would have no width until later
            self.buttons.append(button)
        self.setVisible(bool(self.buttons))
