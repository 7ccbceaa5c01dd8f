"""Snapshots: what a port holds, as a picture or as numbers in a file."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from warploom.app.documents.bridge import Bridge
from warploom.app.qt.beside import Run
from warploom.app.view_models.looking.tone import Tone, components_of, picture_of
from warploom.engine.diagnostics import PatchError
from warploom.engine.drawings.pictures import encode_picture
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import write_atomically
from warploom.engine.processes.scope import check_cancelled
from warploom.engine.protocol.sampling import Sample, Sampling
from warploom.engine.types import Array

#: Requests have names of their own, so that each takes one sample.
OWNER = "snapshot"
_PATIENCE_S = 10.0
_PICTURES, _NUMBERS = "Pictures (*.png *.exr *.tif *.jpg)", "Numbers (*.npy *.csv)"


@dataclass(eq=False)
class _Order:
    """A port to save in a file; its sample, when that has come, or None after it was cancelled."""

    port: PortRef
    path: Path
    tone: Tone
    sample: Sample | None = None
    has_come: threading.Event = field(default_factory=threading.Event)


class Snapshots(QObject):
    """Asks for a file, requests the whole port, and writes it beside the UI."""

    failed = Signal(str)
    #: A file was written, or its writing was cancelled; the text says which.
    noted = Signal(str)

    def __init__(self, bridge: Bridge, beside: Run, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge, self._beside, self._widget = bridge, beside, parent
        self._orders: list[_Order] = []
        bridge.sampled.connect(self._take)

    def save(self, port: PortRef, axes: int, tone: Tone) -> None:
        """Ask for a file, then save a port with so many axes; a picture of bytes is shown in a tone."""
        kinds = [_PICTURES, _NUMBERS] if axes >= 2 else [_NUMBERS, _PICTURES]
        start = str(Path.home() / f"{port.node}.{port.port}{'.png' if axes >= 2 else '.npy'}".replace("/", "."))
        name, _ = QFileDialog.getSaveFileName(
            self._widget.window(), "Save what the port holds", start, ";;".join(kinds)
        )
        if name:
            self._start(_Order(port, Path(name), tone))

    def end(self) -> None:
        """Cancel what still waits for the engine."""
        for order in self._orders:
            order.has_come.set()

    def _start(self, order: _Order) -> None:
        path = order.path

        def work() -> str:
            if not order.has_come.wait(_PATIENCE_S):
                return f"{order.port} must come from the engine, got nothing; check that the engine is running"
            sample = order.sample
            check_cancelled()
            if sample is None or sample.data is None:
                return f"{order.port} must hold something to be saved{f': {sample.missing}' if sample else ''}"
            try:
                contents = file_contents(sample, path.suffix.lower(), order.tone)
                check_cancelled()
                write_atomically(path, contents)
            except (OSError, ValueError, PatchError, MemoryError) as problem:
                return f"port must be writable as {path.name}, got {problem}"
            return ""

        def report(problem: str | None) -> None:
            self._forget(order)
            if problem == "":
                self.noted.emit(f"Saved {path}")
            else:
                self.failed.emit(problem or f"{path.name} must be writable, got an error that the log shows")

        def cancelled() -> None:
            self._forget(order)
            order.has_come.set()
            self.noted.emit(f"{path.name} was not saved")

        self._orders.append(order)
        self._observe()
        self._beside(f"Saving {path.name} …", work, report, cancelled)

    def _take(self, sample: Sample) -> None:
        if sample.name.startswith(f"{OWNER}/"):
            for order in self._orders:
                if order.port == sample.sampling.port and order.sample is None:
                    order.sample = sample
                    order.has_come.set()
            self._observe()

    def _forget(self, order: _Order) -> None:
        if order in self._orders:
            self._orders.remove(order)
            self._observe()

    def _observe(self) -> None:
        """Request the ports that have not come yet."""
        ports = {order.port for order in self._orders if order.sample is None}
        self._bridge.observe_ports(OWNER, {str(port): Sampling(port) for port in ports})


def file_contents(sample: Sample, suffix: str, tone: Tone) -> bytes:
    """Return a file: exact numbers as .npy, a table as .csv, true floats as .exr, and shown colours as another picture.

    Raise ValueError for a picture of fewer than two axes, and for a table of more.
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
        return encode_table(numbers.astype(np.float32) if numbers.dtype == np.float16 else numbers, suffix, "")
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
