from pathlib import Path

from warploom.api import Block, BlockBuilder, Out, float4, param, port
from warploom.blocks.io.decode_image import SPACES, load_linear
from warploom.blocks.io.pixels import PIXELS, as_pixels, pixels_param
from warploom.engine.diagnostics import Incomplete


class LoadImage(Block, id="io.load_image", tags=("picture", "photo", "file", "open", "png", "jpeg", "exr")):
    """Loads an image file as linear RGBA.

    Reads PNG, JPEG, JPEG XL, TIFF, EXR, HDR, PFM, DPX, WebP, PSD and other formats at full bit depth, and AVIF, QOI,
    PCX and, with the extra `heic`, HEIC with 8 bits. Of several pictures in a file, it shows the first. Integer pixels
    are converted to linear light from the colour space that the file names, or from sRGB if it names none; floats are
    linear already. `space` says otherwise: `raw` keeps the numbers of the file, such as 0 to 255, for labels and
    measurements. Alpha is straight, and the EXIF orientation is applied. A relative path starts at the patch file's
    folder. Another image of the same size is loaded without a rebuild.
    """

    out: Out[float4] = port(dtype="given", shape="data", rank=2, doc="The image, linear RGBA, shape [height, width].")
    file: Path = param("", files="open image", doc="The image file; a relative path starts at the patch's folder.")
    space: str = param(
        "file",
        choices=SPACES,
        doc="Colour space of the numbers: as the file says, sRGB, linear (0 to 1 without a curve), or raw, unchanged.",
    )
    pixels: str = pixels_param()

    def describe(self, build: BlockBuilder) -> None:
        """Provide decoded contents, which are uploaded once and need no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name an image")
        build.define(self.out, dtype=PIXELS[self.pixels])
        build.provide(self.out, as_pixels(load_linear(Path(self.file), self.space), self.pixels))
