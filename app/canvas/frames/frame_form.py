"""The form for the title, the comment and the colour of a frame."""

from PySide6.QtCore import QMargins, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QKeySequence, QPixmap, QShortcut
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warploom.app.edits.organise.frames import change_frames, frame_of
from warploom.app.theme.colours import current, frame_colour
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import COLOURS

_SWATCH = 20


class FrameForm(QDialog):
    """Edits a frame in one undo step, which is that of the frame's addition if both have the same `gesture`.

    A refused edit is explained here, and the form stays open.
    """

    def __init__(self, patch: Patch, frame_id: str, parent: QWidget, gesture: object = None) -> None:
        super().__init__(parent, windowTitle="Frame")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._patch, self._frame, self._gesture = patch, frame_id, gesture
        frame = frame_of(patch, frame_id)
        self.title = QLineEdit(frame.title, placeholderText="Title", accessibleName="Title")
        self.comment = QPlainTextEdit(frame.comment, placeholderText="Comment", accessibleName="Comment")
        self.comment.setTabChangesFocus(True)
        self.comment.setFixedHeight(96)
        self.colours = QButtonGroup(self)
        swatches = QHBoxLayout(spacing=4)
        for number, name in enumerate(COLOURS):
            button = QToolButton(checkable=True, toolTip=name.capitalize(), accessibleName=name, iconSize=_size())
            button.setIcon(_swatch(name))
            button.setChecked(name == frame.colour)
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
        layout.addLayout(swatches)
        layout.addWidget(self.refusal)
        layout.addWidget(buttons)
        self.setMinimumWidth(340)
        self.title.selectAll()
        self.title.setFocus()

    def accept(self) -> None:
        """Make the edit, and close."""
        colour = COLOURS[max(self.colours.checkedId(), 0)]
        try:
            if f"frame {self._frame}" in self._patch.annotations:  # another edit may have removed it
                fields = {"title": self.title.text(), "comment": self.comment.toPlainText(), "colour": colour}
                change_frames(self._patch, [self._frame], gesture=self._gesture, **fields)
        except PatchError as problem:
            self.refusal.setText(str(problem))
            self.refusal.show()
        else:
            super().accept()


def _size() -> QSize:
    return QSize(_SWATCH, _SWATCH)


def _swatch(name: str) -> QIcon:
    drawn = QPixmap(_SWATCH, _SWATCH)
    drawn.fill(QColor(frame_colour(name, current())))
    return QIcon(drawn)
