"""Writes films: pictures, and a sound track beside them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from blocks.video.codecs import Encoding, choose_encoding, is_deep, sound_codec
from blocks.video.film_source import load_av, reason_of
from engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: Pictures that may wait for the encoder.
WAITING = 8
#: Options of containers that keep a file playable while it is written: a crash costs the last second.
_CONTAINER = {
    "mp4": {
        "movflags": "+hybrid_fragmented+frag_keyframe+delay_moov",
        "frag_duration": "1000000",
        "flush_packets": "1",
    },
    "matroska": {"cluster_time_limit": "1000", "flush_packets": "1"},
}
#: The library's names of channels in their order, by their number.
_LAYOUTS = {1: "mono", 2: "stereo", 4: "quad", 6: "5.1", 8: "7.1"}
_CONTAINER["mov"] = _CONTAINER["mp4"]


class FilmWriter:
    """Encodes pictures of one size on its own thread, into a file whose suffix decides the container.

    `codec` is one of CODECS and `quality` one of QUALITIES. Codecs that store colours at half the resolution get an
    even size: the last column or row is repeated. With `sound_rate`, the film has a sound track of
    1, 2, 4, 6 or 8 channels. Methods are for one
    thread at a time. Raise PatchError when the file can't be written, or the codec and its options don't go together.
    """

    def __init__(
        self,
        path: Path,
        width: int,
        height: int,
        rate: float,
        *,
        codec: str = "by file name",
        quality: str = "high",
        sound_rate: int = 0,
        sound_channels: int = 2,
    ) -> None:
        self.path, self.width, self.height = path, width, height
        self._av = load_av()
        self.rate = Fraction(rate).limit_denominator(1001)
        encoding = choose_encoding(self._av, path, codec, quality, width, height, self.rate)
        self._encoding: Encoding = encoding
        self._waiting: queue.Queue[Callable[[], None] | None] = queue.Queue(WAITING)
        self._problem: PatchError | None = None
        self._is_closed = False
        #: The number of the newest picture, -1 before the first one.
        self.last = -1
        self._samples = 0
        try:
            self._container = self._av.open(
                f"file:{path}", "w", encoding.container, container_options=_CONTAINER.get(encoding.container, {})
            )
            self._add_streams(sound_rate, sound_channels)
        except (OSError, ValueError, self._av.FFmpegError) as problem:
            raise PatchError(f"film {path} must be writable, got: {reason_of(problem)}") from problem
        self._thread = threading.Thread(target=self._run, name="warploom-film-writer")
        self._thread.start()

    def _add_streams(self, sound_rate: int, sound_channels: int) -> None:
        container = self._encoding.container
        self._stream = self._encoding.add_to(self._container, self.rate)
        self._sound: Any = None
        if sound_rate:
            name, own_rate = sound_codec(container, sound_rate)
            self._sound = self._container.add_stream(name, rate=own_rate)
            self._sound.layout, self._sound_rate = _LAYOUTS[sound_channels], sound_rate
            self._resampler = self._av.AudioResampler(
                self._sound.format, self._sound.layout, own_rate, self._sound.codec_context.frame_size or None
            )
        self._container.start_encoding()

    @property
    def description(self) -> str:
        """The codec and its encoder, for a person."""
        return self._encoding.description

    @property
    def is_deep(self) -> bool:
        """True if pictures of 16 bits make a better film than those of 8."""
        return is_deep(self.path, self._encoding.codec)

    @property
    def problem(self) -> PatchError | None:
        """Why nothing more is written."""
        return self._problem

    @property
    def waiting(self) -> int:
        """The number of pictures that wait for the encoder."""
        return self._waiting.qsize()

    def write(self, pixels: Array, number: int | None = None, *, wait: bool = True) -> bool:
        """Add a picture, sRGB with straight alpha: u8 or u16[height, width, 4]; it must not change afterwards.

        It is shown from `number` frames after the start, which must grow from picture to picture, or as the next one.
        Return False if it was dropped, since the encoder is late and `wait` is false.
        """
        number = self.last + 1 if number is None else number
        if not self._put(lambda: self._encode(pixels, number), wait):
            return False
        self.last = number
        return True

    def write_sound(self, samples: Array) -> None:
        """Add samples to the sound track, f32[channels, count], which follow those before."""
        if self._sound is None or len(samples) != len(self._sound.layout.channels):
            raise ValueError(f"samples must have the channels that the film was made with, got {len(samples)}")
        self._put(lambda: self._encode_sound(samples), True)

    @property
    def is_done(self) -> bool:
        """True once the file is finished."""
        return not self._thread.is_alive()

    def close(self, *, wait: bool = True) -> None:
        """Encode what waits, and finish the file; without `wait`, on the thread, for which the program's end waits.

        Raise PatchError if something could not be written.
        """
        if not self._is_closed:
            self._is_closed = True
            threading.Thread(target=self._waiting.put, args=(None,)).start() if not wait else self._waiting.put(None)
        if wait:
            self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _put(self, work: Callable[[], None], wait: bool) -> bool:
        if self._problem is not None:
            raise self._problem
        try:
            self._waiting.put(work, block=wait)
        except queue.Full:
            return False
        return True

    def _run(self) -> None:
        while (work := self._waiting.get()) is not None:
            self._try(work)
        self._try(self._finish)
        self._try(self._container.close)

    def _try(self, work: Callable[[], Any]) -> None:
        """Do some work; after a failure, only the file is closed."""
        if self._problem is not None and work != self._container.close:
            return
        try:
            work()
        except Exception as problem:  # noqa: BLE001 - whatever the library raises is told to the caller
            reason = reason_of(problem)
            self._problem = self._problem or PatchError(f"film {self.path} must be writable, got: {reason}")

    def _encode(self, pixels: Array, number: int) -> None:
        frame = self._encoding.frame_of(pixels)
        frame.pts, frame.time_base = number, 1 / self.rate
        self._container.mux(self._stream.encode(frame))

    def _encode_sound(self, samples: Array) -> None:
        channels = np.ascontiguousarray(samples, np.float32)
        frame = self._av.AudioFrame.from_ndarray(channels, "fltp", self._sound.layout.name)
        frame.sample_rate, frame.pts = self._sound_rate, self._samples
        frame.time_base = Fraction(1, self._sound_rate)
        self._samples += channels.shape[1]
        for part in self._resampler.resample(frame):
            self._container.mux(self._sound.encode(part))

    def _finish(self) -> None:
        self._container.mux(self._stream.encode(None))
        if self._sound is not None:
            for part in self._resampler.resample(None):
                self._container.mux(self._sound.encode(part))
            self._container.mux(self._sound.encode(None))
