"""The form for the title, the comment and the colour of a frame or of blocks."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QMargins, QSize, Qt
from PySide6.QtGui import QIcon, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warploom.app.theme.icons import icon
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.organise.annotations import COLOURS

_SWATCH = 20


class MarkForm(QDialog):
    """Asks for the fields that are shown: title, comment and colour; None is one in which several blocks differ.

    `apply` gets those that the person has changed. What it refuses is explained here, and the form stays open. The form
    for blocks has a `hint`, the title of those without one, and the choice of no colour; it begins at the comment.
    """

    def __init__(
        self,
        what: str,
        shown: Mapping[str, str | None],
        apply: Callable[[dict[str, str]], object],
        parent: QWidget,
        hint: str = "",
    ) -> None:
        super().__init__(parent, windowTitle=what)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._shown, self._apply = shown, apply
        self.title = QLineEdit(shown.get("title"), placeholderText=hint or "Title", accessibleName="Title")
        self.comment = QPlainTextEdit(shown["comment"] or "", accessibleName="Comment")
        self.comment.setPlaceholderText("Comment" if shown["comment"] is not None else "Various comments")
        self.comment.setTabChangesFocus(True)
        self.comment.setFixedHeight(96)
        #: Leaves no block a comment, where they differ.
        self.clear = QPushButton("Clear comments", checkable=True, visible=False)
        self.clear.toggled.connect(self._on_clear)
        self.colours = QButtonGroup(self)
        swatches = QHBoxLayout(spacing=4)
        #: The colours in the order of the buttons.
        self._names = (*COLOURS, "") if hint else COLOURS
        for number, name in enumerate(self._names):
            text = name.capitalize() or "Colour of the category"
            button = QToolButton(checkable=True, toolTip=text, accessibleName=text, iconSize=QSize(_SWATCH, _SWATCH))
            if name:
                button.setIcon(icon(name))
            else:
                button.setText("None")
            button.setChecked(name == shown["colour"])
            self.colours.addButton(button, number)
            swatches.addWidget(button)
        swatches.addStretch(1)
        self.refusal = QLabel(wordWrap=True, objectName="message", visible=False)
        self.refusal.setProperty("state", "error")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        for button_kind in (QDialogButtonBox.StandardButton.Ok, QDialogButtonBox.StandardButton.Cancel):
            buttons.button(button_kind).setIcon(QIcon())
        QShortcut(QKeySequence("Ctrl+Return"), self, self.accept)  # Enter begins a line of the comment
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self, contentsMargins=QMargins(16, 12, 16, 12), spacing=8)
        layout.addWidget(self.title)
        layout.addWidget(self.comment)
        layout.addWidget(self.clear, alignment=Qt.AlignmentFlag.AlignLeft)
        layout.addLayout(swatches)
        layout.addWidget(self.refusal)
        layout.addWidget(buttons)
        self.setMinimumWidth(340)
        self.title.setVisible("title" in shown)
        self.clear.setVisible(shown["comment"] is None)
        self.title.selectAll()
        (self.comment if hint else self.title).setFocus()

    def _on_clear(self, clears: bool) -> None:
        self.comment.setPlaceholderText("No comments" if clears else "Various comments")
        self.comment.setDisabled(clears)

    def accept(self) -> None:
        """Make the edit, and close."""
        given = {"title": self.title.text(), "comment": self.comment.toPlainText()}
        if self.clear.isChecked():
            given["comment"] = ""
        if (chosen := self.colours.checkedId()) >= 0:
            given["colour"] = self._names[chosen]
        before = dict(self._shown)
        if not self.clear.isChecked():
            before["comment"] = before["comment"] or ""
        try:
            self._apply({name: text for name, text in given.items() if name in before and text != before[name]})
        except PatchError as problem:
            self.refusal.setText(str(problem))
            self.refusal.show()
        else:
            super().accept()
