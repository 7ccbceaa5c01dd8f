"""What blocks that bring frames in have in common: bytes go to the device, and become linear light there."""

import numpy as np

from warploom.api import BlockBuilder, BufferHandle, Kernel, f32, u8
from warploom.blocks.io.pixels import PIXELS
from warploom.blocks.video.films.frame_layout import FrameLayout

_TO_LINEAR = Kernel("film.cu", entry="film_to_linear")
_USUAL = Kernel("film.cu", entry="usual_film_to_linear")
#: The buffer that holds a frame's bytes, which `update` gives.
PACKED = "packed"


def describe_frames(build: BlockBuilder, out: BufferHandle, layout: FrameLayout, pixels: str) -> None:
    """Let `update` give the bytes of frames to `PACKED`, and fill `out` from them, shape [height, width]."""
    build.define(out, dtype=PIXELS[pixels], shape=f"[{layout.height}, {layout.width}]")
    packed = build.buffer(PACKED, u8, f"[{layout.size_bytes}]", state=True, initial=_black(layout))
    build.feed(packed)
    numbers = build.buffer("numbers", f32, f"[{layout.numbers.size}]", state=True, initial=layout.numbers)
    if layout.is_usual:
        size = layout.columns, layout.rows
        build.launch(_USUAL, num_threads=size, thread_block=(256, 1), args=(packed, numbers, out, *size))
        return
    kind = (layout.bits > 8) + 2 * layout.is_grey + 4 * layout.has_alpha
    halves = (0, 0) if layout.is_grey else (layout.halved_x, layout.halved_y)
    build.launch(
        _TO_LINEAR,
        num_threads=out.size,
        args=(packed, numbers, out, layout.columns, layout.rows, *halves, kind, layout.rotation // 90),
    )


def _black(layout: FrameLayout) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return the bytes of an opaque black frame, which is shown until the first one comes."""
    largest = (1 << layout.bits) - 1
    unit = 1 << (layout.bits - 8)
    first = 0 if layout.is_full_range else 16 * unit
    colours = (first,) if layout.is_grey else (0, 0, 0) if layout.is_rgb else (first, 128 * unit, 128 * unit)
    parts = [
        np.full(rows * columns, value, np.uint8 if layout.bits == 8 else np.uint16)
        for value, (rows, columns) in zip((*colours, largest), layout.plane_sizes, strict=False)
    ]
    return np.concatenate(parts).view(np.uint8)
