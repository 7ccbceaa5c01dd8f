"""Snapshots: what a port holds, as a picture or as numbers in a file."""

from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.documents.bridge import Bridge
from app.qt.beside import Run
from app.view_models.looking.tone import Tone, components_of, picture_of
from engine.diagnostics import PatchError
from engine.patch.changes import PortRef
from engine.patch.files import write_atomically
from engine.protocol.sampling import Sample, Sampling
from engine.runtime.preview.picture_files import encode_picture
from engine.types import Array

#: Requests have names of their own, so that each takes one sample.
OWNER = "snapshot"
_PATIENCE_MS = 10_000
_PICTURES, _NUMBERS = "Pictures (*.png *.exr *.tif *.jpg)", "Numbers (*.npy)"


class Snapshots(QObject):
    """Asks for a file, requests the whole port, and writes it beside the UI."""

    failed = Signal(str)
    #: A file was written.
    saved = Signal(str)

    def __init__(self, bridge: Bridge, beside: Run, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge, self._beside, self._widget = bridge, beside, parent
        self._path: Path | None = None
        self._tone = Tone()
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self._give_up)
        bridge.sampled.connect(self._take)

    def save(self, port: PortRef, axes: int, tone: Tone) -> None:
        """Ask for a file, then save a port with so many axes; a picture of bytes is shown in a tone."""
        kinds = [_PICTURES, _NUMBERS] if axes >= 2 else [_NUMBERS, _PICTURES]
        start = str(Path.home() / f"{port.node}.{port.port}{'.png' if axes >= 2 else '.npy'}".replace("/", "."))
        name, _ = QFileDialog.getSaveFileName(
            self._widget.window(), "Save what the port holds", start, ";;".join(kinds)
        )
        if name:
            self._path, self._tone = Path(name), tone
            self._patience.start()
            self._bridge.observe_ports(OWNER, {str(port): Sampling(port)})

    def _take(self, sample: Sample) -> None:
        if not sample.name.startswith(f"{OWNER}/") or self._path is None:
            return
        self._patience.stop()
        self._bridge.observe_ports(OWNER, {})
        path, self._path = self._path, None
        if sample.data is None:
            self.failed.emit(f"{sample.sampling.port} must hold something to be saved: {sample.missing}")
            return
        tone = self._tone

        def write() -> str:
            try:
                write_atomically(path, file_contents(sample, path.suffix.lower(), tone))
            except (OSError, ValueError, PatchError, MemoryError) as problem:
                return f"port must be writable as {path.name}, got {problem}"
            return ""

        def report(problem: str | None) -> None:
            if problem == "":
                self.saved.emit(str(path))
            else:
                self.failed.emit(problem or f"{path.name} must be writable, got an error that the log shows")

        self._beside(f"Saving {path.name} …", write, report)

    def _give_up(self) -> None:
        self._path = None
        self._bridge.observe_ports(OWNER, {})
        self.failed.emit("port must come from the engine, got nothing; check that the engine is running")


def file_contents(sample: Sample, suffix: str, tone: Tone) -> bytes:
    """Return a file: exact numbers as .npy, true floats as .exr, and the shown colours as another picture.

    Raise ValueError for a picture of fewer than two axes.
    """
    assert sample.data is not None
    if suffix in (".npy", ""):
        import io

        data = io.BytesIO()
        np.save(data, sample.data)
        return data.getvalue()
    axes = len(sample.shape)
    if axes < 2 or sample.data.dtype.names:
        raise ValueError("numbers that are no picture; use a name that ends in .npy")
    numbers = components_of(sample.data, axes)
    numbers = numbers.reshape(-1, *numbers.shape[-3:])[0]
    if suffix == ".exr":
        return encode_picture(_as_colours(numbers), suffix, "float")
    return encode_picture(picture_of(numbers, tone)[0], suffix)


def _as_colours(numbers: Array) -> Array:
    """Return floats with four components: one number is a gray, two are red and green; alpha is 1 if it is missing."""
    count = numbers.shape[-1]
    picture = np.zeros((*numbers.shape[:2], 4), np.float32)
    picture[..., 3] = 1
    picture[..., : min(count, 4)] = numbers[..., :4]
    if count == 1:
        picture[..., 1] = picture[..., 2] = picture[..., 0]
    return picture
