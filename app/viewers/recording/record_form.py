"""The form that asks what to record: folder, format, and number of frames."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from warploom.app.documents import dialogs
from warploom.app.viewers.recording.recorder import Order

#: Formats by suffix.
FORMATS = {
    ".png": "PNG: numbered pictures, in the shown colours",
    ".exr": "EXR: numbered pictures of true floats",
    ".mp4": "MP4: a film in the shown colours, H.264",
    ".mov": "MOV: a film in the shown colours, ProRes",
    ".npy": "NPY: one array of all frames",
}
_MOST_FRAMES = 1_000_000


class RecordForm(QDialog):
    """Asks for an order, and passes it to `start`; refuses a path that is not a folder."""

    def __init__(self, draft: Order, axes: int, start: Callable[[Order], None], parent: QWidget) -> None:
        """`draft` is the order that is shown at first; the port's buffer has `axes` axes."""
        super().__init__(parent, windowTitle=f"Record {draft.title}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._draft, self._start = draft, start
        self.folder = QLineEdit(str(draft.folder), accessibleName="Folder")
        choose = QPushButton("Choose …")
        choose.clicked.connect(self._choose)
        row = QHBoxLayout(spacing=4)
        row.addWidget(self.folder, 1)
        row.addWidget(choose)
        self.format = QComboBox(accessibleName="Format")
        for suffix, text in FORMATS.items():
            if axes >= 2 or suffix == ".npy":
                self.format.addItem(text, suffix)
        self.format.setCurrentIndex(max(0, self.format.findData(draft.suffix)))
        self.frames = QSpinBox(minimum=0, maximum=_MOST_FRAMES, specialValueText="until stopped")
        self.frames.setValue(draft.frames or 0)
        self.frames.setAccessibleName("Frames")
        self.frames.setGroupSeparatorShown(True)
        self.every = QCheckBox("Every frame", checked=draft.every_frame)
        self.every.setToolTip(
            "Slows the patch down so that no frame is skipped; otherwise it plays on, and skipped frames are counted"
        )
        self.refusal = QLabel(wordWrap=True, objectName="message", visible=False)
        self.refusal.setProperty("state", "error")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        for kind in (QDialogButtonBox.StandardButton.Ok, QDialogButtonBox.StandardButton.Cancel):
            buttons.button(kind).setIcon(QIcon())
        buttons.button(QDialogButtonBox.StandardButton.Ok).setText("Record")
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        form = QFormLayout(self, contentsMargins=QMargins(16, 12, 16, 12), spacing=8)
        form.addRow("Folder", row)
        form.addRow("Format", self.format)
        form.addRow("Frames", self.frames)
        form.addRow("", self.every)
        form.addRow(self.refusal)
        form.addRow(buttons)
        self.setMinimumWidth(440)

    def accept(self) -> None:
        """Begin the recording, and close."""
        folder = Path(self.folder.text()).expanduser()
        if not folder.is_dir():
            self.refusal.setText(f"Folder must exist, got {self.folder.text() or 'none'}")
            self.refusal.show()
            self.folder.setFocus()
            return
        chosen = {"suffix": self.format.currentData(), "frames": self.frames.value() or None}
        self._start(replace(self._draft, folder=folder, every_frame=self.every.isChecked(), **chosen))
        super().accept()

    def _choose(self) -> None:
        folder = dialogs.ask_folder(self, "Folder for the recording", Path(self.folder.text()))
        if folder is not None:
            self.folder.setText(str(folder))
