from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, s32
from warploom.blocks.draw.draw_text import FONTS, draw_text, font_of
from warploom.engine.diagnostics import PatchError, cut

#: Steps of brightness for which a character is chosen, the most characters, and threads of a cell in the kernel.
_LEVELS, _MOST, _THREADS = 1024, 256, 64
_Numbers = np.ndarray[Any, np.dtype[np.float32]]


class Ascii(
    Block, id="image.ascii", title="ASCII", tags=("text", "characters", "letters", "terminal", "retro", "matrix")
):
    """Shows an image by characters, as on an old terminal.

    Each cell of the image becomes the character with as much ink as the cell is bright: how much each of `characters`
    covers is measured, so they can stand in any order, and any others can be typed. Cells are twice as high as wide.
    For more detail, take more columns; for finer shades, more characters.
    """

    image: In[float4] = port(rank=2, doc="The image, linear RGBA, shape [height, width]; transparent is black.")
    out: Out[float4] = port(shape="[1, 1]", doc="The picture, `columns` cells wide and as many high as fit the image.")
    cells: Out[s32] = port(shape="[1, 1]", doc="The character of each cell, by its place in `characters`, from 0.")
    characters: str = param(" .,:;-+=ox*#%&@", doc="Characters to choose from, in any order.")
    columns: int = param(160, min=1, max=2000, structural=True, doc="Cells side by side.")
    size: int = param(16, min=4, max=200, unit="px", structural=True, doc="Height of a cell.")
    font: str = param("mono", choices=tuple(FONTS), doc="Font, if there is no font file.")
    font_file: Path = param("", files="open font", doc="A TrueType or OpenType font of your own; empty for none.")
    colored: bool = param(True, structural=True, doc="Characters have the colours of the image.")
    paper: bool = param(False, structural=True, doc="Dark characters on white, instead of bright ones on black.")

    average = Kernel("ascii.cu", entry="average_cells")
    draw = Kernel("ascii.cu", entry="draw_characters")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread block for each cell, and one thread for each pixel; the characters are drawn once."""
        if not 0 < len(self.characters) <= _MOST:
            raise PatchError(f"characters must be 1 to {_MOST} of them, got {cut(self.characters)!r}")
        high, wide = self.size, self.size // 2
        glyphs = draw_glyphs(self.characters, font_of(self.font, str(self.font_file)), high, wide)
        chosen = choose(glyphs)
        rows = "max(1, columns * image.dim0 // (2 * image.dim1))"
        build.define(self.out, shape=f"[{rows} * {high}, columns * {wide}]")
        build.define(self.cells, shape=f"[{rows}, columns]")
        atlas = build.buffer("atlas", f32, f"[{glyphs.size}]", state=True, initial=glyphs.ravel())
        steps = build.buffer("chosen", s32, f"[{_LEVELS}]", state=True, initial=chosen)
        means = build.buffer("means", float4, f"[{rows}, columns]")
        size = (self.image.dim(1), self.image.dim(0))
        args = (self.image, means, *size, self.columns, means.dim(0))
        build.launch(self.average, num_threads=means.size * _THREADS, thread_block=_THREADS, args=args)
        size = (self.out.dim(1), self.out.dim(0))
        how = (_LEVELS, self.colored, self.paper, self.columns, wide, high, *size)
        build.launch(self.draw, num_threads=size, args=(means, atlas, steps, self.out, self.cells, *how))


@lru_cache(8)
def draw_glyphs(characters: str, font: str, high: int, wide: int) -> _Numbers:
    """Return the share of each pixel that characters cover, of shape (characters, high, wide)."""
    size = max(round(high / 1.2), 1)
    drawn = [draw_text(each, font, size, (high, wide), "centre", "middle", False, 0) for each in characters]
    return np.stack(drawn)


def choose(glyphs: _Numbers) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return the character for each step of encoded brightness: the one whose ink is nearest to it.

    The character with the most ink counts as white.
    """
    ink = glyphs.mean(axis=(1, 2)).astype(np.float64)
    light = ink / max(ink.max(), 1e-6)
    encoded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    steps = np.linspace(0, 1, _LEVELS)
    return np.asarray(np.abs(steps[:, None] - encoded).argmin(axis=1), np.int32)
