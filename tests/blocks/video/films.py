"""Small films that the tests encode, and what PyAV itself decodes from them."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from warploom.engine.types import Array


def pictures(count: int, width: int = 48, height: int = 32, channels: int = 3, seed: int = 0) -> list[Array]:
    """Return frames that differ from each other: smooth pictures with a square that moves."""
    y, x = np.mgrid[:height, :width]
    frames = []
    for number in range(count):
        frame = np.empty((height, width, channels), np.uint8)
        for channel in range(channels):
            frame[..., channel] = 128 + 100 * np.sin(x / (5 + channel) + y / 7 + number * 0.7 + seed + channel)
        left, top = number * 5 % (width - 6), number * 3 % (height - 6)
        frame[top : top + 6, left : left + 6, :3] = number * 37 % 256
        frames.append(frame)
    return frames


def encode(
    path: Path,
    frames: list[Array],
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    times: list[int] | None = None,
    rate: Fraction | int = 30,
    time_base: Fraction | None = None,
    rotation: int = 0,
    options: dict[str, str] | None = None,
    **tags: Any,
) -> Path:
    """Write a film of RGB or RGBA pictures; `times` are in ticks of `time_base`."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=rate, options=options or {})
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = pixel_format
        if codec == "libx264":
            stream.codec_context.gop_size = 8
        if time_base is not None:
            stream.codec_context.time_base = time_base
        if rotation:
            stream.set_display_rotation(rotation)
        for name, value in tags.items():
            setattr(stream.codec_context, name, value)
        for number, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="rgba" if frame.shape[2] == 4 else "rgb24")
            picture.pts = number if times is None else times[number]
            picture.time_base = time_base or 1 / Fraction(rate)
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


def decoded(path: Path) -> list[tuple[float, av.VideoFrame]]:
    """Return the frames of a film, each with its time after the first one."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        decoder: Any = stream.codec_context
        if stream.metadata.get("alpha_mode") == "1":  # FFmpeg's own decoder leaves the alpha out
            decoder = av.CodecContext.create("libvpx-vp9", "r")
            decoder.extradata = stream.codec_context.extradata
        frames = [frame for packet in container.demux(stream) for frame in decoder.decode(packet)]
    zero = frames[0].pts
    assert zero is not None
    return [(float((frame.pts - zero) * frame.time_base), frame) for frame in frames]  # type: ignore[operator]
