from pathlib import Path

from blocks.io.pixels import PIXEL
from engine.api import (
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
from engine.diagnostics import Incomplete


class SaveImage(Block, id="io.save_image", tags=("picture", "file", "export", "write", "png", "tiff", "exr")):
    """Save an image to a file when outputs are saved.

    The name's ending gives the format. EXR, TIFF, HDR and PFM keep linear light as floats, with values above 1 and, but
    for HDR, below 0. PNG, with 8 or 16 bits, JPEG and WebP hold sRGB, where values outside 0 to 1 are cut off. The file
    is written by Save Outputs in the editor and at the end of `warploom run`, not in every frame.
    """

    image: In[float4] = port(rank=2, doc="The image to save, linear RGBA, shape [height, width].")
    file: Path = param("image.png", files="save image", doc="Where it is saved; .png, .jpg, .tif, .exr and others.")
    depth: str = param(
        "usual",
        choices=PICTURE_DEPTHS,
        doc="Bits a number. Usual: float for .exr, .tif, .hdr and .pfm, else 8. PNG and TIFF take 16, EXR takes half.",
    )

    encoded = OpGraphSource.of_expression(f"c = image{PIXEL}", output="pixels", output_type=uchar4, image=float4)
    linear = OpGraphSource.of_expression("image", output="pixels", output_type=float4, image=float4)

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        if not str(self.file):
            raise Incomplete("file", "name an image")
        in_bytes = picture_depth(str(self.file), self.depth) == "8 bits"
        pixels = build.buffer("pixels", uchar4 if in_bytes else float4, shape="same(image)")
        build.compute(self.encoded if in_bytes else self.linear, over=pixels)
        build.save(pixels, str(self.file), self.depth)
