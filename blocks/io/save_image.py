from pathlib import Path

from blocks.io.pixels import PIXEL
from engine.api import Block, BlockBuilder, In, OpGraphSource, float4, param, port, uchar4
from engine.diagnostics import Incomplete


class SaveImage(Block, id="io.save_image", tags=("picture", "file", "export", "write", "png")):
    """Save an image to a file when outputs are saved.

    The image is converted from linear light to 8-bit sRGB; values outside 0 to 1 are cut off. The file is written by
    Save Outputs in the editor and at the end of `warploom run`, not in every frame. The name's ending gives the format.
    """

    image: In[float4] = port(rank=2, doc="The image to save, linear RGBA, shape [height, width].")
    file: Path = param("image.png", files="save image", doc="Where it is saved; .png or .jpg.")

    graph = OpGraphSource.of_expression(f"c = image{PIXEL}", output="pixels", output_type=uchar4, image=float4)

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        if not str(self.file):
            raise Incomplete("file", "name an image")
        pixels = build.buffer("pixels", uchar4, shape="same(image)")
        build.compute(self.graph, over=pixels)
        build.save(pixels, str(self.file))
