"""`Breadcrumb`: the way from the patch to the group, or to the patch inside a block, that the canvas shows."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton


class Breadcrumb(QFrame):
    """The names of all patches and groups around what is shown; hidden while that is the whole patch."""

    #: The person wants to return to the place of this number: 0 is the patch.
    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__(objectName="breadcrumb")
        self.kernel = QLabel(objectName="breadcrumbKernel", textFormat=Qt.TextFormat.PlainText)
        self.state = QLabel(objectName="message", textFormat=Qt.TextFormat.PlainText)
        #: The buttons of the way, the patch first.
        self.places: list[QToolButton] = []
        self._way = QHBoxLayout(contentsMargins=QMargins(), spacing=4)
        row = QHBoxLayout(self, contentsMargins=QMargins(8, 4, 12, 4), spacing=4)
        row.addLayout(self._way)
        row.addWidget(self.kernel)
        row.addStretch(1)
        row.addWidget(self.state)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    @property
    def patch(self) -> QToolButton:
        """The button that leads back to the patch."""
        return self.places[0]

    def show_place(self, names: Sequence[str]) -> None:
        """Show the names of the patch, the groups, and last of what is shown."""
        *around, last = names
        while len(self.places) > len(around):
            self.places.pop()
            for _ in range(2):  # the button, and the arrow after it
                item = self._way.takeAt(self._way.count() - 1)
                widget = item.widget() if item is not None else None
                if widget is not None:
                    widget.deleteLater()
        for number in range(len(self.places), len(around)):
            button = QToolButton(autoRaise=True, objectName="breadcrumbPatch")
            button.clicked.connect(partial(self.chosen.emit, number))
            self.places.append(button)
            self._way.addWidget(button)
            self._way.addWidget(QLabel("›", objectName="faint"))
        for number, (button, name) in enumerate(zip(self.places, around, strict=True)):
            button.setText(name)
            key = " (Escape)" if number == len(around) - 1 else ""
            button.setToolTip(f"Back to {name}{key}")
        self.kernel.setText(last)

    def show_state(self, text: str, *, is_error: bool = False) -> None:
        """Show the state of the inner patch."""
        self.state.setText(text)
        self.state.setProperty("state", "error" if is_error else "")
        self.state.style().polish(self.state)
