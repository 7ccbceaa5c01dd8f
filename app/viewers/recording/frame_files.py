"""Files of recorded frames: numbered pictures, a film, or one array of all frames."""

import io
import math
from pathlib import Path
from typing import BinaryIO

import numpy as np

from warploom.app.view_models.looking.tone import Tone
from warploom.app.viewers.snapshots import file_contents, shown_pixels
from warploom.blocks.video.films.codecs import SUFFIXES
from warploom.blocks.video.films.film_writer import FilmWriter
from warploom.engine.patch.files import write_atomically
from warploom.engine.protocol.sampling import Sample
from warploom.engine.types import Array


class FrameFiles:
    """Writes samples of one port into a folder; for one thread at a time.

    `suffix` is ".png", ".exr", ".npy", or that of a film, of which `rate` frames are shown a second. Nothing is
    overwritten. Raise OSError if a file can't be written, and ValueError or PatchError for contents that the format
    can't hold.
    """

    def __init__(self, folder: Path, name: str, suffix: str, tone: Tone, rate: float = 60.0) -> None:
        self._rate, self._first = rate, 0
        self._film: FilmWriter | None = None
        self._folder, self._name, self._suffix, self._tone = folder, name, suffix, tone
        self._base = ""
        self._stack: BinaryIO | None = None
        self._kind: object = None
        self._count = self._header_bytes = 0

    def write(self, frame: int, sample: Sample) -> None:
        """Write the sample of a frame."""
        assert sample.data is not None
        if self._suffix == ".npy":
            self._append(np.asarray(sample.data))
            return
        if self._suffix in SUFFIXES:
            self._add_to_film(frame, shown_pixels(sample, self._tone))
            return
        self._base = self._base or self._free_base()
        path = self._folder / f"{self._base}.{frame:06}{self._suffix}"
        write_atomically(path, file_contents(sample, self._suffix, self._tone))

    def close(self) -> None:
        """End the last file."""
        if self._stack is not None:
            self._stack.close()
            self._stack = None
        if self._film is not None:
            film, self._film = self._film, None
            film.close()

    def _add_to_film(self, frame: int, pixels: Array) -> None:
        """Add a picture to the film; the one before it is shown for as long as frames are missing."""
        film = self._film
        if film is None or (film.height, film.width) != pixels.shape[:2]:  # frames of another size go into another film
            self.close()
            path = self._folder / f"{self._free_base()}{self._suffix}"
            film = self._film = FilmWriter(path, pixels.shape[1], pixels.shape[0], self._rate)
            self._first = frame
        film.write(pixels.astype(np.uint16) * 257 if film.is_deep else pixels, frame - self._first)

    def _append(self, array: Array) -> None:
        kind = array.dtype, array.shape
        if kind != self._kind:  # frames of another shape go into another file
            self.close()
            self._kind, self._count = kind, 0
            self._stack = (self._folder / f"{self._free_base()}.npy").open("xb", buffering=0)
            self._header_bytes = len(_header(array, 0))
        assert self._stack is not None
        size = math.prod(array.shape) * array.dtype.itemsize
        self._stack.seek(self._header_bytes + self._count * size)
        left = memoryview(array.tobytes())
        while left:
            left = left[self._stack.write(left) :]
        self._stack.seek(0)
        self._stack.write(_header(array, self._count + 1))
        self._count += 1

    def _free_base(self) -> str:
        """Return a stem that no file in the folder has."""
        taken = {path.name for path in self._folder.iterdir()}
        for number in range(1, len(taken) + 2):
            base = self._name if number == 1 else f"{self._name}-{number}"
            if not any(name.startswith(f"{base}.") for name in taken):
                return base
        raise AssertionError


def _header(array: Array, count: int) -> bytes:
    """Return the header of an array of `count` such arrays; its length doesn't depend on the count."""
    header = io.BytesIO()
    kind = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": (count, *array.shape)}
    np.lib.format.write_array_header_1_0(header, kind)
    return header.getvalue()
