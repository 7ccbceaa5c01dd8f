"""Reads the sound track of a film, or of a file such as M4A, at any sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from warploom.blocks.video.films.film_source import any_texts, load_av

Samples = npt.NDArray[np.float32]

#: How far before a place the decoder starts, in seconds: its first samples after a seek are wrong.
_BEFORE_S = 0.2
#: Containers whose sound is read without pictures. libsndfile reads others, and says what is damaged in them.
_OF_SOUND = ("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "asf")


class FilmSound:
    """A film's first sound track, with the methods of a sound file of the library soundfile that readers use.

    Sample 0 is heard with the first picture, or at time 0 of a file without pictures. Raise ValueError if there is no
    sound, and the library's errors if the film can't be read.
    """

    def __init__(self, file: Path | BinaryIO) -> None:
        self._av = load_av()
        self._container = self._av.open(f"file:{file}" if isinstance(file, Path) else file, **any_texts(self._av))
        is_read = self._container.streams.video or self._container.format.name in _OF_SOUND
        if not (self._container.streams.audio and is_read):
            self._container.close()
            raise ValueError("no film with sound")
        self._stream = stream = self._container.streams.audio[0]
        #: Samples a second, channels, and the number of samples.
        self.samplerate, self.channels = stream.rate, len(stream.layout.channels)
        self._zero_s = 0.0
        if self._container.streams.video:
            video = self._container.streams.video[0]
            self._zero_s = float((video.start_time or 0) * video.time_base)
        length_s = (
            float(stream.duration * stream.time_base) if stream.duration else (self._container.duration or 0) / 1e6
        )
        self.frames = round(length_s * self.samplerate)
        self._resampler = self._av.AudioResampler("fltp", stream.layout, stream.rate)
        self._place = 0
        self._parts: Iterator[tuple[int, Samples]] = self._decode()
        #: Samples that are decoded, and the number of the first one.
        self._held, self._first = np.zeros((0, self.channels), np.float32), 0

    def tell(self) -> int:
        """Return the number of the sample that is read next."""
        return self._place

    def seek(self, place: int) -> None:
        """Go to a sample."""
        self._place = place
        if self._first <= place <= self._first + len(self._held):
            return
        time_s = max(0.0, place / self.samplerate - _BEFORE_S) + self._zero_s
        self._container.seek(int(time_s / self._stream.time_base), stream=self._stream, backward=True)
        self._parts = self._decode()
        self._held = self._held[:0]

    def read(self, count: int = -1, dtype: str = "float32", out: Samples | None = None) -> Samples:
        """Return the next samples, shape [count, channels], also in `out`; silence where the track has none."""
        samples = np.zeros((count, self.channels), np.float32) if out is None else out
        begin, end = self._place, self._place + len(samples)
        while not len(self._held) or self._first + len(self._held) < end:
            part = next(self._parts, None)
            if part is None:
                break
            first, decoded = part
            if not len(self._held) or first > self._first + len(self._held):
                self._first, self._held = first, decoded
            else:
                self._held = np.concatenate([self._held, decoded])
            self._copy(samples, begin)
            if (spare := begin - self._first) > 0:
                self._held, self._first = self._held[spare:], self._first + min(spare, len(self._held))
        self._copy(samples, begin)
        self._place = end
        return samples

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def _copy(self, samples: Samples, begin: int) -> None:
        """Copy what is decoded of the samples that start at `begin`."""
        low, high = max(begin, self._first), min(begin + len(samples), self._first + len(self._held))
        if low < high:
            samples[low - begin : high - begin] = self._held[low - self._first : high - self._first]

    def _decode(self) -> Iterator[tuple[int, Samples]]:
        """Yield the samples from here on, each part with the number of its first one."""
        # A container may round times, as Matroska to 1 ms: what differs by less follows without a gap.
        rounding, end = self.samplerate * float(self._stream.time_base) + 1, -self.samplerate
        for packet in self._container.demux(self._stream):
            try:
                frames = packet.decode()
            except self._av.InvalidDataError:
                continue
            for frame in frames:
                first = round(((frame.time or 0.0) - self._zero_s) * self.samplerate)
                first = end if abs(first - end) <= rounding else first
                for part in self._resampler.resample(frame):
                    yield first, part.to_ndarray().T.astype(np.float32)
                    first = end = first + part.samples


def open_film_sound(file: Path | BinaryIO) -> FilmSound | None:
    """Return the sound track of a film; None for anything else, and without the library."""
    try:
        return FilmSound(file)
    except Exception:  # noqa: BLE001 - the caller knows better what a sound lacks
        return None
