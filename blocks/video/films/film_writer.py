"""Writes films: pictures, and a sound track beside them."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from warploom.blocks.video.films.codecs import (
    Encoding,
    check_encoding,
    choose_encoding,
    is_deep,
    sound_codec,
    usual_priority,
)
from warploom.blocks.video.films.film_source import load_av
from warploom.blocks.video.picture_writer import PictureWriter, reason_of
from warploom.engine.diagnostics import PatchError

Array = np.ndarray[Any, Any]

#: Options of containers that keep a file playable while it is written: a crash costs the last second.
_CONTAINER = {
    "mp4": {
        "movflags": "+hybrid_fragmented+frag_keyframe+delay_moov",
        "frag_duration": "1000000",
        "flush_packets": "1",
    },
    "matroska": {"cluster_time_limit": "1000", "flush_packets": "1"},
}
#: The library's names of channels in their order, by their number; another number gets silent channels.
_LAYOUTS = {1: "mono", 2: "stereo", 4: "quad", 6: "5.1", 8: "7.1"}
#: The bits a second of a channel, where the codec of sound loses some.
_SOUND_BIT_RATE = 96_000
#: The most sound that waits for the encoder, in seconds.
_MOST_WAITING_S = 60
_CONTAINER |= {"mov": _CONTAINER["mp4"], "webm": _CONTAINER["matroska"]}


class FilmWriter(PictureWriter):
    """Encodes pictures into a film, a file whose suffix decides the container.

    `codec` is one of CODECS and `quality` one of QUALITIES. Codecs that store colours at half the resolution get an
    even size: the last column or row is repeated. With `sound_rate`, the film has a sound track of 1 to 8 channels: PCM
    in MOV and AVI, AAC in MP4, and Opus or lossless FLAC in MKV and WebM. With `at_once`, the encoder keeps pace with
    frames that come in real time. For a codec that `takes_planes` holds for, pictures may be planes in BT.709 of
    limited range, u8[height * 3 / 2, width] with even sizes: those of U and V follow that of Y. Raise PatchError when
    the file can't be written, or the codec and its options don't go together. With `at_once`, the encoder is opened on
    the writer's thread, and what it refuses is raised by a later call.
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
        at_once: bool = False,
    ) -> None:
        super().__init__(path, width, height)
        self._av = load_av()
        self.rate = Fraction(rate).limit_denominator(1001)
        check_encoding(path, codec, quality)
        self._choice = codec, quality, at_once
        self._channels, self._sound_rate = sound_channels if sound_rate else 0, sound_rate
        self._samples = 0
        self._sounds: deque[Array] = deque()  # those that wait for the encoder
        self._container: Any = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("wb").close()  # the next film then gets another name
        except OSError as problem:
            raise PatchError(f"film {path} must be writable, got: {reason_of(problem)}") from problem
        if not at_once:
            self._open()
        self._begin()

    def _open(self) -> None:
        if self._container is not None:
            return
        codec, quality, at_once = self._choice
        try:
            encoding = choose_encoding(self._av, self.path, codec, quality, self.width, self.height, self.rate, at_once)
            self._encoding: Encoding = encoding
            self._container = self._av.open(
                f"file:{self.path}", "w", encoding.container, container_options=_CONTAINER.get(encoding.container, {})
            )
            self._add_streams(is_lossless=quality == "lossless" or encoding.codec == "FFV1")
        except PatchError:
            self.path.unlink(missing_ok=True)
            raise
        except (OSError, ValueError, self._av.FFmpegError) as problem:
            raise PatchError(f"film {self.path} must be writable, got: {reason_of(problem)}") from problem

    def _add_streams(self, *, is_lossless: bool) -> None:
        container = self._encoding.container
        self._stream = self._encoding.add_to(self._container, self.rate)
        self._sound: Any = None
        if self._channels:
            name, own_rate = sound_codec(container, self._sound_rate, is_lossless=is_lossless)
            self._sound = self._container.add_stream(name, rate=own_rate)
            channels = next(known for known in _LAYOUTS if known >= self._channels)
            self._sound.layout = _LAYOUTS[channels]
            if name in ("aac", "libopus"):
                self._sound.bit_rate = _SOUND_BIT_RATE * channels
            self._resampler = self._av.AudioResampler(
                self._sound.format, self._sound.layout, own_rate, self._sound.codec_context.frame_size or None
            )
        with usual_priority():
            self._container.start_encoding()

    @property
    def description(self) -> str:
        """The codec and its encoder, for a person."""
        return self._encoding.description

    @property
    def is_deep(self) -> bool:
        """True if pictures of 16 bits make a better film than those of 8."""
        return is_deep(self.path, self._encoding.codec)

    def write_sound(self, samples: Array) -> None:
        """Add samples to the sound track, f32[channels, count], which follow those before and must not change.

        They are encoded with the next picture. Raise PatchError if the encoder is too late.
        """
        if len(samples) != self._channels:
            raise ValueError(f"samples must have the channels that the film was made with, got {len(samples)}")
        if sum(part.shape[1] for part in self._sounds.copy()) > _MOST_WAITING_S * self._sound_rate:
            raise PatchError(f"film {self.path} must be written as fast as it is recorded, got a slower disk")
        self._sounds.append(samples)

    def _encode(self, pixels: Array, number: int) -> None:
        self._encode_sounds()
        frame = self._encoding.frame_of(pixels)
        frame.pts, frame.time_base = number, 1 / self.rate
        self._container.mux(self._stream.encode(frame))

    def _encode_sounds(self) -> None:
        while self._sounds:
            self._encode_sound(self._sounds.popleft())

    def _encode_sound(self, samples: Array) -> None:
        if not samples.size:
            return
        spare = len(self._sound.layout.channels) - len(samples)
        channels = np.pad(np.nan_to_num(samples.astype(np.float32)).clip(-1, 1), ((0, spare), (0, 0)))
        packed = np.ascontiguousarray(channels.T).reshape(1, -1)
        frame = self._av.AudioFrame.from_ndarray(packed, "flt", self._sound.layout.name)
        frame.sample_rate, frame.pts = self._sound_rate, self._samples
        frame.time_base = Fraction(1, self._sound_rate)
        self._samples += channels.shape[1]
        for part in self._resampler.resample(frame):
            self._container.mux(self._sound.encode(part))

    def _end(self, *, finishes: bool) -> None:
        try:
            if finishes:
                self._encode_sounds()
                self._container.mux(self._stream.encode(None))
                if self._sound is not None:
                    for part in self._resampler.resample(None):
                        self._container.mux(self._sound.encode(part))
                    self._container.mux(self._sound.encode(None))
        finally:
            if self._container is not None:
                self._container.close()
