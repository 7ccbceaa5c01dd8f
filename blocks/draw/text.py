from pathlib import Path

import numpy as np

from warploom.api import Block, BlockBuilder, Out, f32, float4, param, port
from warploom.blocks.draw.draw_text import ACROSS, DOWN, FONTS, draw_text, font_of


class Text(Block, id="image.text", tags=("font", "letters", "title", "caption", "label", "type", "words")):
    """Draws text on a transparent image.

    Lines end where the text has line feeds, and between words where they would be wider than the picture. Another
    text or colour is uploaded without a rebuild. To put the text over another image, use Mix with the mode "over".
    The mask is the share of each pixel that letters cover; use it where the text should drive something else.
    """

    image: Out[float4] = port(shape="data", rank=2, doc="The text, linear RGBA, straight alpha, shape [height, width].")
    mask: Out[f32] = port(shape="data", rank=2, doc="Share of each pixel that letters cover, shape [height, width].")
    text: str = param("Warploom", language="text", doc="The text; it may have several lines.")
    font: str = param("sans", choices=tuple(FONTS), doc="Font, if there is no font file.")
    font_file: Path = param("", files="open font", doc="A TrueType or OpenType font of your own; empty for none.")
    size: int = param(96, min=4, max=2000, unit="px", structural=True, doc="Height of the font.")
    width: int = param(1280, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(720, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    align: str = param("centre", choices=ACROSS, doc="Position of the lines across the image.")
    place: str = param("middle", choices=DOWN, doc="Position of the lines from top to bottom.")
    wrap: bool = param(True, structural=True, doc="Whether lines that are too long end between words.")
    margin: int = param(24, min=0, max=4000, unit="px", structural=True, doc="Free space at the edges.")
    red: float = param(1.0, min=0, max=1, structural=True, doc="Red of the letters, linear.")
    green: float = param(1.0, min=0, max=1, structural=True, doc="Green of the letters, linear.")
    blue: float = param(1.0, min=0, max=1, structural=True, doc="Blue of the letters, linear.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        font = font_of(self.font, str(self.font_file))
        shape = (self.height, self.width)
        mask = draw_text(self.text, font, self.size, shape, self.align, self.place, self.wrap, self.margin)
        image = np.empty((*shape, 4), np.float32)
        image[..., :3] = self.red, self.green, self.blue
        image[..., 3] = mask
        build.provide(self.image, image)
        build.provide(self.mask, mask)
