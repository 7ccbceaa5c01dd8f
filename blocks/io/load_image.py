from pathlib import Path

from blocks.io.decode_image import load_linear
from engine.api import Block, BlockBuilder, Out, float4, param, port
from engine.diagnostics import Incomplete


class LoadImage(Block, id="io.load_image", tags=("picture", "photo", "file", "open", "png", "jpeg")):
    """Load an image file.

    Reads PNG, JPEG, WebP, TIFF, BMP and what else PIL reads, turns it as its EXIF orientation says and converts sRGB to
    linear light. A relative path starts at the patch file's folder. Another image of the same size is taken without a
    rebuild.
    """

    out: Out[float4] = port(shape="data", rank=2, doc="The image, linear RGBA, shape [height, width].")
    file: Path = param("", files="open image", doc="The image file; a relative path starts at the patch's folder.")

    def describe(self, build: BlockBuilder) -> None:
        """Decoded and uploaded once; nothing runs in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name an image")
        build.provide(self.out, load_linear(Path(self.file)))
