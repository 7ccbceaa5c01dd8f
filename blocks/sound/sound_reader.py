"""Reads sound files at any place and speed, a little ahead of what is heard."""

import io
import threading
from pathlib import Path
from typing import Any

import numpy as np

from warploom.blocks.io.decode_sound import MAX_RATE, with_size
from warploom.blocks.sound.resampling import Positions, interpolate, reach
from warploom.blocks.sound.ring import Samples
from warploom.blocks.video.films.film_sound import open_film_sound
from warploom.engine.diagnostics import PatchError

#: Samples that are decoded at once, the pieces that are kept, and those that are decoded ahead.
_PIECE, _KEPT, _AHEAD = 1 << 15, 24, 3
#: The decoders of OGG and MP3 return wrong samples after a seek, in about their first block.
_WRONG_AFTER_SEEK = 1 << 13


class SoundReader:
    """Decodes a sound file piece by piece, on a thread of its own.

    Raise PatchError, which names the file, when it can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: Any = _opened(path)
        except Exception as problem:  # the library's errors have no common class, and a path may be any text
            raise self._unreadable(problem) from problem
        #: Samples a second, channels, and the number of samples.
        self.rate, self.channels, self.length = self._file.samplerate, self._file.channels, self._file.frames
        self._pieces: dict[int, Samples] = {}
        self._wanted: list[int] = []
        self._problem: PatchError | None = None
        self._changed = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="warploom-sound-file", daemon=True)
        self._thread.start()

    def read(self, begin: int, count: int, *, loop: bool = False, waits: bool = True) -> Samples | None:
        """Return samples, shape [count, channels]; None if they are not decoded yet, unless `waits`.

        Outside the file there is silence or, with `loop`, the file again. Raise PatchError if the file can't be read
        any further.
        """
        places = np.arange(begin, begin + count)
        if loop:
            places %= self.length
        inside = (places >= 0) & (places < self.length)
        numbers = places // _PIECE
        needed = list(dict.fromkeys(numbers[inside].tolist()))
        with self._changed:
            self._want(needed, loop)
            while waits and self._problem is None and any(number not in self._pieces for number in needed):
                self._changed.wait()
            if self._problem is not None:
                raise self._problem
            if any(number not in self._pieces for number in needed):
                return None
            samples = np.zeros((count, self.channels), np.float32)
            for number in needed:
                here = inside & (numbers == number)
                samples[here] = self._pieces[number][places[here] - number * _PIECE]
        return samples

    def read_at(self, positions: Positions, speed: float, *, loop: bool, waits: bool) -> Samples | None:
        """Return the sound at evenly spaced positions between samples, as `read` and `interpolate` do."""
        least, most = (int(np.floor(end)) for end in (positions.min(), positions.max()))
        first = least - reach(speed)
        samples = self.read(first, most - first + reach(speed) + 2, loop=loop, waits=waits)
        return None if samples is None else interpolate(samples, positions - first, speed)

    def close(self) -> None:
        """End the thread, and close the file."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()
        self._file.close()

    def _want(self, needed: list[int], loop: bool) -> None:
        """Have these pieces decoded, then those around them; a sound may be played in either direction."""
        if not needed:
            return
        count = -(-self.length // _PIECE)
        around = [each for k in range(1, _AHEAD + 1) for each in (needed[-1] + k, needed[0] - k)]
        around = [each % count if loop else each for each in around if loop or 0 <= each < count]
        wanted = list(dict.fromkeys((*needed, *around)))
        if wanted != self._wanted:
            self._wanted = wanted
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._is_closing and (self._problem is not None or self._missing() is None):
                    self._changed.wait()
                number = None if self._is_closing else self._missing()
            if number is None:
                return
            try:
                piece = self._decoded(number)
            except Exception as problem:  # noqa: BLE001 - as above
                with self._changed:
                    self._problem = self._unreadable(problem)
                    self._changed.notify_all()
                continue
            with self._changed:
                self._pieces[number] = piece
                for spare in [each for each in self._pieces if each not in self._wanted][: len(self._pieces) - _KEPT]:
                    del self._pieces[spare]
                self._changed.notify_all()

    def _missing(self) -> int | None:
        return next((number for number in self._wanted if number not in self._pieces), None)

    def _decoded(self, number: int) -> Samples:
        begin = number * _PIECE
        if self._file.tell() != begin:
            from_here = max(0, begin - _WRONG_AFTER_SEEK)
            self._file.seek(from_here)
            self._file.read(begin - from_here, dtype="float32")
        piece = np.zeros((min(_PIECE, self.length - begin), self.channels), np.float32)
        self._file.read(out=piece)  # a file that ends too early leaves silence
        return piece

    def _unreadable(self, problem: Exception) -> PatchError:
        if isinstance(problem, FileNotFoundError) or not self.path.exists():
            return PatchError(f"sound file must exist, got {self.path}; choose another file, or put it there")
        reason = getattr(problem, "error_string", None) or getattr(problem, "strerror", None) or str(problem)
        return PatchError(
            f"sound file {self.path} must be a readable sound, got: {reason.rstrip('.')}; save it again as WAV or FLAC"
        )


def _opened(path: Path) -> Any:
    import soundfile  # only patches with sounds need it

    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")  # a pipe may never end
    try:
        file: Any = soundfile.SoundFile(path)
    except soundfile.LibsndfileError:
        if (file := open_film_sound(path)) is None:
            raise
        return file
    if not file.frames:  # perhaps a recording that was cut off
        file.close()
        file = soundfile.SoundFile(io.BytesIO(with_size(path.read_bytes())))
    if not file.frames:
        raise ValueError("no samples")
    if not 0 < file.samplerate <= MAX_RATE:
        raise ValueError(f"a rate of {file.samplerate} Hz, which must be from 1 to {MAX_RATE}")
    return file


def in_channels(samples: Samples, channels: int) -> Samples:
    """Return samples with another number of channels.

    One channel is the mean of all; a single one goes to all; otherwise, spare channels are left out and missing ones
    are silent.
    """
    there = samples.shape[1]
    if there == channels:
        return samples
    if channels == 1:
        mean: Samples = samples.mean(axis=1, keepdims=True, dtype=np.float32)
        return mean
    if there == 1:
        return np.repeat(samples, channels, axis=1)
    return np.pad(samples[:, :channels], ((0, 0), (0, max(0, channels - there))))
