"""Draws text as a mask: how much of each pixel the letters cover."""

import hashlib
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from warploom.api import read_bytes
from warploom.engine.diagnostics import PatchError

#: Fonts by the names of choices; the files come with OpenImageIO.
FONTS = {
    "sans": "DroidSans",
    "sans bold": "DroidSans-Bold",
    "mono": "DroidSansMono",
    "serif": "DroidSerif",
    "serif bold": "DroidSerif-Bold",
    "serif italic": "DroidSerif-Italic",
    "serif bold italic": "DroidSerif-BoldItalic",
}
#: Where lines begin, or where the block of lines does.
ACROSS, DOWN = ("left", "centre", "right"), ("top", "middle", "bottom")
#: From one line to the next, as a multiple of the size.
LINE = 1.25


def font_of(name: str, file: str) -> str:
    """Return the name by which the library finds a font: one of FONTS, or a font file of the person's own."""
    if not file:
        return FONTS[name]
    try:
        held = read_bytes(Path(file))
    except OSError as problem:
        raise PatchError(f"font file must be readable, got {file}: {problem.strerror or problem}") from problem
    # The library keeps fonts by the names of their files, so another font needs another name.
    copy = Path(tempfile.gettempdir()) / f"warploom-font-{hashlib.sha256(held).hexdigest()[:16]}.ttf"
    if not copy.is_file() or copy.read_bytes() != held:
        copy.write_bytes(held)
    if not _extent("x", 16, str(copy)):
        raise PatchError(f"font file must be a TrueType or OpenType font, got {file}")
    return str(copy)


def draw_text(
    text: str, font: str, size: int, shape: tuple[int, int], across: str, down: str, wraps: bool, margin: int
) -> np.ndarray[Any, Any]:
    """Return the share of each pixel that text covers, float32 of shape (height, width), from 0 to 1.

    `size` is the height of the font in pixels, `across` one of ACROSS, `down` one of DOWN. Lines end at line feeds;
    with `wraps` also between words, where a line would be wider than the picture less `margin` pixels on each side. A
    longer word is cut off by the edge of the picture.
    """
    import OpenImageIO

    height, width = shape
    lines = [part for line in text.split("\n") for part in _wrapped(line, size, font, width - 2 * margin, wraps)]
    step = max(round(LINE * size), 1)
    picture = OpenImageIO.ImageBuf(OpenImageIO.ImageSpec(width, height, 1, "float"))
    OpenImageIO.ImageBufAlgo.zero(picture)
    free = height - 2 * margin - step * len(lines)
    top = margin + {"top": 0, "middle": free // 2, "bottom": free}[down]
    for row, line in enumerate(lines):
        extent = _extent(line, size, font)
        if not extent:
            continue
        left, right = extent
        start = {
            "left": margin - left,
            "centre": (width - (right - left)) // 2 - left,
            "right": width - margin - right,
        }[across]
        # The library places the base line.
        base = top + row * step + round(0.95 * size)
        if not OpenImageIO.ImageBufAlgo.render_text(picture, start, base, line, size, font, (1.0,)):
            raise PatchError(f"text must be drawable, got: {picture.geterror()}")
    drawn = np.asarray(picture.get_pixels("float"), np.float32).reshape(shape)
    return drawn.clip(0, 1)


def _wrapped(line: str, size: int, font: str, width: int, wraps: bool) -> list[str]:
    """Return the parts of a line that are at most so wide."""
    if not wraps:
        return [line]
    parts: list[str] = []
    part = ""
    for word in line.split(" "):
        longer = f"{part} {word}" if part else word
        extent = _extent(longer, size, font)
        if part and extent and extent[1] - extent[0] > width:
            parts.append(part)
            part = word
        else:
            part = longer
    return [*parts, part]


@lru_cache(4096)
def _extent(line: str, size: int, font: str) -> tuple[int, int] | None:
    """Return the first and the last column of a line, from where it starts; None without ink."""
    import OpenImageIO

    roi = OpenImageIO.ImageBufAlgo.text_size(line, size, font)
    return (roi.xbegin, roi.xend) if roi.defined and roi.xend > roi.xbegin else None
