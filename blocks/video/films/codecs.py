"""The codecs that films are written with: by a file's suffix, a choice and a quality."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from warploom.blocks.video.films.frame_layout import filled_frame
from warploom.engine.diagnostics import PatchError
from warploom.engine.platforms.processor import usual_scheduling

Array = np.ndarray[Any, Any]

BY_NAME = "by file name"
CODECS = (BY_NAME, "H.264", "HEVC", "AV1", "ProRes", "FFV1")
QUALITIES = ("small", "good", "high", "lossless")
#: The container of each suffix, its usual codec, and the others that it can hold.
_SUFFIXES = {
    ".mp4": ("mp4", "H.264", "HEVC", "AV1"),
    ".m4v": ("mp4", "H.264", "HEVC"),
    ".mov": ("mov", "ProRes", "H.264", "HEVC"),
    ".mkv": ("matroska", "H.264", "HEVC", "AV1", "ProRes", "FFV1"),
    ".webm": ("webm", "AV1"),
    ".avi": ("avi", "FFV1", "H.264"),
}
SUFFIXES = tuple(_SUFFIXES)
_BT709, _LIMITED, _FULL = 1, 1, 2


@contextmanager
def usual_priority() -> Iterator[None]:
    """Keep the scheduling of threads as it is while an encoder is opened.

    SVT-AV1 gives its threads, and the one that opens it, real-time priority where it may: then nothing else would run.
    """
    os.environ.setdefault("SVT_LOG", "1")  # it prints its settings otherwise
    with usual_scheduling():
        yield


@dataclass(frozen=True)
class _Encoder:
    """An encoder, the pixel formats for each quality, and its options for each; the first one that opens is used."""

    name: str
    formats: tuple[str, ...]
    options: tuple[dict[str, str] | None, ...]


def _steps(name: str, values: tuple[int | None, ...], **others: str) -> tuple[dict[str, str] | None, ...]:
    return tuple(None if value is None else {name: str(value)} | others for value in values)


_420, _DEEP_420 = ("yuv420p",) * 4, ("yuv420p10le",) * 4
_NO_LOG = "log-level=none"
#: For each codec, its encoders from the fastest; None stands for a quality that it doesn't have.
_ENCODERS: dict[str, tuple[_Encoder, ...]] = {
    "H.264": (
        _Encoder("h264_nvenc", _420, _steps("cq", (34, 27, 20, None), rc="vbr", preset="p4", b="0")),
        _Encoder("libx264", _420, _steps("crf", (28, 22, 16, None), preset="veryfast")),
        _Encoder("libx264rgb", ("rgb24",) * 4, (None, None, None, {"crf": "0", "preset": "veryfast"})),
    ),
    "HEVC": (
        _Encoder("hevc_nvenc", _420, _steps("cq", (34, 28, 21, None), rc="vbr", preset="p4", b="0", tag="hvc1")),
        _Encoder(
            "libx265", _420, _steps("crf", (30, 25, 19, None), preset="fast", tag="hvc1", **{"x265-params": _NO_LOG})
        ),
        _Encoder(
            "libx265", ("gbrp",) * 4, (None, None, None, {"preset": "fast", "x265-params": f"{_NO_LOG}:lossless=1"})
        ),
    ),
    "AV1": (
        _Encoder("av1_nvenc", _420, _steps("cq", (45, 36, 26, None), rc="vbr", preset="p4", b="0")),
        _Encoder("libsvtav1", _DEEP_420, _steps("crf", (45, 35, 24, None), preset="10")),
    ),
    "ProRes": (
        _Encoder(
            "prores_ks",
            ("yuv422p10le", "yuv422p10le", "yuva444p10le", ""),
            ({"profile": "proxy"}, {"profile": "standard"}, {"profile": "4444", "alpha_bits": "16"}, None),
        ),
    ),
    "FFV1": (_Encoder("ffv1", ("bgra",) * 4, ({"level": "3", "slices": "4"},) * 4),),
}

#: The presets with which encoders keep pace with 60 frames a second: files are half as large again. 1080p takes H.264
#: 13 ms of a core instead of 50.
_AT_ONCE = {"libx264": "ultrafast", "libx264rgb": "ultrafast", "libx265": "ultrafast", "libsvtav1": "12"}
#: A smaller picture can make x265 write outside its memory, which ends the process.
_LEAST_X265 = 64


def codec_of(path: Path) -> str | None:
    """Return the usual codec of a file's suffix; None if this isn't the suffix of a film."""
    known = _SUFFIXES.get(path.suffix.lower())
    return None if known is None else known[1]


def is_deep(path: Path, codec: str) -> bool:
    """True if a film takes pictures of 16 bits: its codec has more than 8."""
    return (codec_of(path) if codec == BY_NAME else codec) in ("ProRes", "AV1")


def takes_planes(path: Path, codec: str, quality: str) -> bool:
    """True if all encoders of a codec take planes of Y, U and V of 8 bits, the last two at half the size."""
    encoders = _ENCODERS[codec_of(path) or "" if codec == BY_NAME else codec]
    place = QUALITIES.index(quality)
    return all(each.formats[place] == "yuv420p" for each in encoders if each.options[place] is not None)


def check_encoding(path: Path, codec: str, quality: str) -> tuple[str, str]:
    """Return the container and the codec for a file. Raise PatchError if they don't go together."""
    if (known := _SUFFIXES.get(path.suffix.lower())) is None:
        raise PatchError(f"film's file must end in one of {', '.join(SUFFIXES)}, got {path.name}")
    codec = known[1] if codec == BY_NAME else codec
    if codec not in known[1:]:
        fit = ", ".join(suffix for suffix, (_, *codecs) in _SUFFIXES.items() if codec in codecs)
        raise PatchError(f"{path.suffix} must hold {' or '.join(known[1:])}, got {codec}, which goes into {fit}")
    if all(encoder.options[QUALITIES.index(quality)] is None for encoder in _ENCODERS[codec]):
        raise PatchError(f"quality of {codec} must not be lossless, got {quality}; choose FFV1 or H.264 for that")
    return known[0], codec


@dataclass(frozen=True)
class Encoding:
    """How pictures of one size are encoded."""

    container: str
    codec: str
    encoder: str
    width: int
    height: int
    pixel_format: str
    options: dict[str, str]
    reformat: Callable[..., Any]

    @property
    def description(self) -> str:
        """The codec and its encoder, for a person."""
        return f"{self.codec} by {self.encoder}"

    def add_to(self, container: Any, rate: Fraction) -> Any:
        """Add the stream of pictures to a container."""
        stream = container.add_stream(self.encoder, rate=rate, options=self._own_options)
        _set_up(stream.codec_context, self, rate)
        return stream

    @property
    def _own_options(self) -> dict[str, str]:
        return {name: value for name, value in self.options.items() if name != "tag"}

    def frame_of(self, pixels: Array) -> Any:
        """Return a picture, u8 or u16[height, width, 4] in sRGB, or its planes, as a frame that the encoder takes."""
        if pixels.ndim == 2:
            rows, columns = pixels.shape[0] * 2 // 3, pixels.shape[1]
            colours = pixels[rows:].reshape(2, rows // 2, columns // 2)
            made = filled_frame("yuv420p", columns, pixels[:rows], *colours)
            made.colorspace, made.color_range = _BT709, _LIMITED
            return made
        added = self.height - pixels.shape[0], self.width - pixels.shape[1]
        if any(added):
            pixels = np.pad(pixels, ((0, added[0]), (0, added[1]), (0, 0)), "edge")
        name, width = "rgba" if pixels.dtype == np.uint8 else "rgba64le", pixels.shape[1]
        frame = filled_frame(name, width, np.ascontiguousarray(pixels).reshape(len(pixels), -1).view(np.uint8))
        if self.pixel_format.startswith("yuv"):
            colour = {"dst_colorspace": "ITU709", "dst_color_range": "MPEG", "src_color_range": "JPEG"}
            made = self.reformat(frame, format=self.pixel_format, threads=self._threads, **colour)
            made.colorspace, made.color_range = _BT709, _LIMITED
            return made
        return self.reformat(frame, format=self.pixel_format, threads=self._threads)

    @property
    def _threads(self) -> int:
        """The threads of a conversion; 0 are as many as there are cores. With few rows, those sometimes spoil one."""
        return 1 if self.height < 128 else 0


def _set_up(context: Any, encoding: Encoding, rate: Fraction) -> None:
    context.width, context.height, context.pix_fmt = encoding.width, encoding.height, encoding.pixel_format
    context.time_base, context.framerate = 1 / rate, rate
    context.color_primaries = context.color_trc = _BT709
    if encoding.pixel_format.startswith("yuv"):
        context.colorspace, context.color_range = _BT709, _LIMITED
    if encoding.codec in ("H.264", "HEVC", "AV1"):
        context.gop_size = max(1, round(rate))  # what a crash may cost, and what a seek must decode
    if "tag" in encoding.options:
        context.codec_tag = encoding.options["tag"]


def choose_encoding(
    av: ModuleType, path: Path, codec: str, quality: str, width: int, height: int, rate: Fraction, at_once: bool
) -> Encoding:
    """Return how a film is encoded: with the first encoder of its codec that this machine can open.

    With `at_once`, encoders are as fast as they can be.
    """
    container, codec = check_encoding(path, codec, quality)
    os.environ.setdefault("SVT_LOG", "1")  # the encoder of AV1 otherwise prints its settings
    place, problem = QUALITIES.index(quality), "no encoder"
    for encoder in _ENCODERS[codec]:
        options, pixel_format = encoder.options[place], encoder.formats[place]
        if options is None:
            continue
        if encoder.name == "libx265" and max(width, height) < _LEAST_X265:
            problem = f"libx265: a size below {_LEAST_X265} x {_LEAST_X265}"
            continue
        if at_once and encoder.name in _AT_ONCE:
            options = options | {"preset": _AT_ONCE[encoder.name]}
        halves = "420" in pixel_format, "42" in pixel_format  # the height, and the width
        even = [size + size % 2 if half else size for size, half in ((height, halves[0]), (width, halves[1]))]
        reformatter = av.video.reformatter.VideoReformatter()
        size = even[1], even[0]
        made = Encoding(container, codec, encoder.name, *size, pixel_format, options, reformatter.reformat)
        try:
            trial = av.CodecContext.create(encoder.name, "w")
            trial.options = made._own_options
            _set_up(trial, made, rate)
            with usual_priority():
                trial.open()
        except (OSError, ValueError, av.FFmpegError) as refusal:
            problem = f"{encoder.name}: {getattr(refusal, 'strerror', None) or refusal}"
            continue
        return made
    raise PatchError(f"{codec} must be possible for a film of {width} x {height} pixels, got: {problem}")


def sound_codec(container: str, rate: int, *, is_lossless: bool) -> tuple[str, int]:
    """Return the codec for a film's sound, and the nearest rate that it takes."""
    if container == "matroska" and is_lossless:
        return "flac", rate
    if container in ("matroska", "webm"):
        return "libopus", 48000
    if container in ("avi", "mov"):
        return {"avi": "pcm_s16le", "mov": "pcm_s24le"}[container], rate
    rates = 96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350
    return "aac", min(rates, key=lambda known: abs(known - rate))
