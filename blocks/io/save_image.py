from pathlib import Path

from warploom.api import (
    PICTURE_DEPTHS,
    Block,
    BlockBuilder,
    In,
    OpGraphSource,
    float4,
    param,
    picture_depth,
    port,
    uchar4,
)
from warploom.blocks.io.pixels import PIXEL
from warploom.engine.diagnostics import Incomplete


class SaveImage(Block, id="io.save_image", tags=("picture", "file", "export", "write", "png", "tiff", "exr")):
    """Saves an image to a file when outputs are saved.

    The file name's extension decides the format. EXR, TIFF, HDR and PFM store linear light as floats, including values
    above 1 and, except in HDR, below 0. PNG, JPEG and WebP store sRGB and clamp values to 0 to 1; PNG has 8 or 16 bits
    per channel. The file is written by Save Outputs in the editor and at the end of `warploom run`, not in each frame.
    A file that this patch has not written is overwritten only if you allow it.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to save, linear RGBA, shape [height, width].")
    file: Path = param("image.png", files="save image", doc="File to write: .png, .jpg, .tif, .exr and others.")
    depth: str = param(
        "usual",
        choices=PICTURE_DEPTHS,
        doc="Bits per channel. By default, float for .exr, .tif, .hdr and .pfm, and 8 for others. PNG and TIFF can "
        "have 16, EXR half.",
    )

    encoded = OpGraphSource.of_expression(f"c = image{PIXEL}", output="pixels", output_type=uchar4, image=float4)
    linear = OpGraphSource.of_expression("image", output="pixels", output_type=float4, image=float4)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        if not str(self.file):
            raise Incomplete("file", "name an image")
        in_bytes = picture_depth(str(self.file), self.depth) == "8 bits"
        pixels = build.buffer("pixels", uchar4 if in_bytes else float4, shape="same(image)")
        build.compute(self.encoded if in_bytes else self.linear, over=pixels)
        build.save(pixels, str(self.file), self.depth)
