from engine.api import Block, BlockBuilder, Kernel, Out, float4, param, port


class Checkerboard(Block, id="image.checkerboard", tags=("pattern", "generator", "test")):
    """Make a checkerboard.

    Squares of two greys, the light one at the top left. Use it as a test image: its edges show what a filter does.
    """

    out: Out[float4] = port(shape="[height, width]", doc="The pattern, linear RGBA, opaque.")
    width: int = param(1024, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(768, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    cell: float = param(64.0, min=1, max=512, unit="px", doc="Edge of a square.")
    dark: float = param(0.02, min=0, max=1, doc="Linear grey of the dark squares.")
    light: float = param(0.8, min=0, max=1, doc="Linear grey of the light squares.")

    kernel = Kernel("patterns.cu", entry="checkerboard")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        size = (self.width, self.height)
        build.launch(self.kernel, num_threads=size, args=(self.out, self.cell, self.dark, self.light, *size))
