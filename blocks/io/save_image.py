from pathlib import Path

from engine.api import Block, BlockBuilder, In, Kernel, float4, param, port, uchar4


class SaveImage(Block, id="io.save_image", tags=("picture", "file", "export", "write", "png")):
    """Save an image to a file when outputs are saved.

    The image is converted from linear light to 8-bit sRGB; values outside 0 to 1 are cut off. The file is written by
    Save Outputs in the editor and at the end of `warploom run`, not in every frame. The name's ending gives the format.
    """

    image: In[float4] = port(rank=2, doc="The image to save, linear RGBA, shape [height, width].")
    file: Path = param("image.png", files="save image", doc="Where it is saved; .png or .jpg.")

    kernel = Kernel("display.cu", entry="save_image")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        pixels = build.buffer("pixels", uchar4, shape="same(image)")
        build.launch(self.kernel, num_threads=self.image.size, args=(self.image, pixels, self.image.size))
        build.save(pixels, str(self.file))
