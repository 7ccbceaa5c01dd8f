"""Snapshots: what a port holds or a viewer shows, as a picture or as numbers in a file, or on the clipboard."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QWidget

from warploom.app.documents.bridge import Bridge
from warploom.app.qt.beside import Run
from warploom.app.view_models.looking.tone import Tone, components_of, picture_of
from warploom.engine.diagnostics import PatchError
from warploom.engine.drawings.pictures import encode_picture
from warploom.engine.patch.files import write_atomically
from warploom.engine.processes.scope import check_cancelled
from warploom.engine.protocol.sampling import Sample, Sampling
from warploom.engine.types import Array

_PATIENCE_MS = 10_000


@dataclass(eq=False)
class _Order:
    """A sample that is wanted; the sample once it has come, and its use once that is known."""

    what: str
    sampling: Sampling
    sample: Sample | None = None
    use: Callable[[Sample], None] | None = None


class Snapshots(QObject):
    """Requests something whole, at the moment when a person asks for it, and writes it beside the UI, or copies it."""

    failed = Signal(str)
    #: A file was written, or its writing was cancelled; the text says which.
    noted = Signal(str)

    def __init__(self, owner: str, bridge: Bridge, beside: Run, parent: QWidget) -> None:
        super().__init__(parent)
        self._owner, self._bridge, self._beside, self._widget = owner, bridge, beside, parent
        self._orders: list[_Order] = []
        self.patience_ms = _PATIENCE_MS
        bridge.sampled.connect(self._take)

    def save(
        self,
        what: str,
        wanted: Sampling | Sample,
        name: str,
        kinds: Sequence[str],
        contents: Callable[[Sample, str], bytes],
    ) -> None:
        """Ask for a file of these kinds, and write `contents` of the sample and the file's ending into it."""
        order = self._begin(what, wanted)
        start, window = Path.home() / name.replace("/", "."), self._widget.window()
        chosen, _ = QFileDialog.getSaveFileName(window, f"Save {what}", str(start), ";;".join(kinds))
        if chosen:
            self._use(order, partial(self._write, what, Path(chosen), contents))
        else:
            self._end(order)

    def copy(self, what: str, wanted: Sampling | Sample) -> None:
        """Put a picture of bytes on the clipboard."""
        self._use(self._begin(what, wanted), _copy_picture)

    def cancel(self, node: str | None = None) -> None:
        """Give up what has not come from a node that is gone, or from any node of a patch that is gone."""
        for order in list(self._orders):
            if order.sample is None and node in (None, order.sampling.port.node):
                order.sample = Sample(self._owner, order.sampling, 0, missing="its block is gone")
                self._finish(order)
        self._observe()

    def _begin(self, what: str, wanted: Sampling | Sample) -> _Order:
        order = _Order(what, wanted.sampling, wanted) if isinstance(wanted, Sample) else _Order(what, wanted)
        self._orders.append(order)
        self._observe()
        return order

    def _use(self, order: _Order, use: Callable[[Sample], None]) -> None:
        order.use = use
        if order.sample is None:
            QTimer.singleShot(self.patience_ms, self, lambda: self._give_up(order))
        self._finish(order)

    def _take(self, sample: Sample) -> None:
        if sample.name.startswith(f"{self._owner}/"):
            for order in list(self._orders):
                if order.sampling.port == sample.sampling.port and order.sample is None:
                    order.sample = sample
                    self._finish(order)
            self._observe()

    def _finish(self, order: _Order) -> None:
        """Use the sample if it has come and its use is known."""
        if (sample := order.sample) is None or order.use is None:
            return
        self._end(order)
        if sample.data is None:
            reason = f": {sample.missing}" if sample.missing else ""
            self.failed.emit(f"{order.what} must hold something to be saved{reason}")
        else:
            order.use(sample)

    def _give_up(self, order: _Order) -> None:
        if order in self._orders:
            self._end(order)
            self.failed.emit(f"{order.what} must come from the engine, got nothing; check that the engine is running")

    def _end(self, order: _Order) -> None:
        self._orders.remove(order)
        self._observe()

    def _observe(self) -> None:
        """Request what has not come yet."""
        wanted = {str(order.sampling.port): order.sampling for order in self._orders if order.sample is None}
        self._bridge.observe_ports(self._owner, wanted)

    def _write(self, what: str, path: Path, contents: Callable[[Sample, str], bytes], sample: Sample) -> None:
        def work() -> str:
            try:
                data = contents(sample, path.suffix.lower())
                check_cancelled()
                write_atomically(path, data)
            except (OSError, ValueError, PatchError, MemoryError) as problem:
                return f"{what} must be writable as {path.name}, got {problem}"
            return ""

        def report(problem: str | None) -> None:
            if problem == "":
                self.noted.emit(f"Saved {path}")
            else:
                self.failed.emit(problem or f"{path.name} must be writable, got an error that the log shows")

        self._beside(f"Saving {path.name} …", work, report, lambda: self.noted.emit(f"{path.name} was not saved"))


def _copy_picture(sample: Sample) -> None:
    pixels = sample.data
    assert pixels is not None
    height, width, _ = pixels.shape
    image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGBX8888)
    QGuiApplication.clipboard().setImage(image.copy())


def opaque_picture(sample: Sample, suffix: str) -> bytes:
    """Return an image file with a picture of bytes as a viewer shows it, without alpha."""
    assert sample.data is not None
    pixels = sample.data.copy()
    pixels[..., 3] = 255
    return encode_picture(pixels, suffix)


def file_contents(sample: Sample, suffix: str, tone: Tone, columns: Sequence[str] = ()) -> bytes:
    """Return a file: exact numbers as .npy, a table as .csv, true floats as .exr, and shown colours as another picture.

    `columns` are the names of a table's columns. Raise ValueError for a picture of fewer than two axes, and for a table
    of more.
    """
    assert sample.data is not None
    if suffix in (".npy", ""):
        import io

        data = io.BytesIO()
        np.save(data, sample.data)
        return data.getvalue()
    if suffix == ".csv":
        from warploom.blocks.data.table_files import encode_table

        numbers = np.atleast_1d(sample.data)
        if numbers.ndim > 2 or numbers.dtype.kind not in "biuf":
            raise ValueError("numbers that are no table; use a name that ends in .npy")
        numbers = numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers
        return encode_table(numbers, suffix, "", *(columns if numbers.shape[1:] == (len(columns),) else ()))
    if suffix == ".exr":
        return encode_picture(_as_colours(_picture_numbers(sample)), suffix, "float")
    return encode_picture(shown_pixels(sample, tone), suffix)


def shown_pixels(sample: Sample, tone: Tone) -> Array:
    """Return the shown colours, u8[height, width, 4]. Raise ValueError for a picture of fewer than two axes."""
    pixels: Array = picture_of(_picture_numbers(sample), tone)[0]
    return pixels


def _picture_numbers(sample: Sample) -> Array:
    axes = len(sample.shape)
    assert sample.data is not None
    if axes < 2 or sample.data.dtype.names:
        raise ValueError("numbers that are no picture; use a name that ends in .npy")
    numbers = components_of(sample.data, axes)
    first: Array = numbers.reshape(-1, *numbers.shape[-3:])[0]
    return first


def _as_colours(numbers: Array) -> Array:
    """Return floats with four components: one number is a gray, two are red and green; alpha is 1 if it is missing."""
    count = numbers.shape[-1]
    picture = np.zeros((*numbers.shape[:2], 4), np.float32)
    picture[..., 3] = 1
    picture[..., : min(count, 4)] = numbers[..., :4]
    if count == 1:
        picture[..., 1] = picture[..., 2] = picture[..., 0]
    return picture
