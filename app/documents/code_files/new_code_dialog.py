"""`NewCodeDialog`: the name and the kind of a new block or kernel."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QMargins, Qt
from PySide6.QtWidgets import QComboBox, QDialog, QDialogButtonBox, QFormLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from warploom.engine.diagnostics import PatchError


class NewCodeDialog(QDialog):
    """Asks for a name and a kind; `name_of` returns the name in files, or raises PatchError with the rule."""

    def __init__(self, parent: QWidget, title: str, kinds: Sequence[str], name_of: Callable[[str], str]) -> None:
        super().__init__(parent, windowTitle=title)
        self._name_of = name_of
        self.name = QLineEdit(f"My {title.removeprefix('New ').lower()}")
        self.kind = QComboBox()
        self.kind.addItems(kinds)
        self.files = QLabel(objectName="faint", textFormat=Qt.TextFormat.PlainText)
        form = QFormLayout(horizontalSpacing=12, verticalSpacing=8)
        form.addRow("&Name", self.name)
        form.addRow("&Kind", self.kind)
        form.addRow("", self.files)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText("Make")
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self, contentsMargins=QMargins(16, 16, 16, 12), spacing=16)
        column.addLayout(form)
        column.addWidget(self.buttons)
        self.name.textChanged.connect(self._check)
        self.name.selectAll()
        self.setMinimumWidth(420)
        self._check()

    def _check(self) -> None:
        try:
            text, is_right = f"Made as {self._name_of(self.name.text())}", True
        except PatchError as problem:
            text, is_right = str(problem), False
        self.files.setText(text)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(is_right)
