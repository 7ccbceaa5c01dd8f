"""Saving a viewer's picture in full size, which may have to be fetched first."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QWidget

_PATIENCE_MS = 3000


class PictureSaver(QObject):
    """Asks for a file, and meanwhile for the whole picture; the first one that comes is saved."""

    #: The picture could not be saved; the text says why.
    failed = Signal(str)
    #: `wants_whole` changed.
    wants_whole_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._widget = parent
        self._image: QImage | None = None
        self._name = ""
        #: True until a whole picture was taken.
        self.wants_whole = False
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._give_up)

    def save(self, image: QImage | None) -> None:
        """Ask for a file and write `image`, or else the next picture, into it."""
        self._image, self._name = image, ""
        self._want_whole(image is None)
        name, _ = QFileDialog.getSaveFileName(
            self._widget.window(), "Save picture", str(Path.home() / "picture.png"), "Images (*.png *.jpg *.bmp *.webp)"
        )
        if not name:
            self._want_whole(False)
            return
        self._name = name
        if self.wants_whole:
            self._patience.start()
        else:
            self._write()

    def take(self, image: QImage) -> None:
        """Take a whole picture."""
        self._image = image
        self._want_whole(False)
        if self._name:
            self._write()

    def _want_whole(self, wants: bool) -> None:
        self._patience.stop()
        if wants != self.wants_whole:
            self.wants_whole = wants
            self.wants_whole_changed.emit()

    def _write(self) -> None:
        assert self._image is not None
        image, name, self._image, self._name = self._image, self._name, None, ""
        if not image.save(name):
            self.failed.emit(f"picture must be writable as an image: {name}")

    def _give_up(self) -> None:
        self._want_whole(False)
        self._name = ""
        self.failed.emit("picture must come from the engine in full size, got none; see whether the engine runs")
