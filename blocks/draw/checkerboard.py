from warploom.api import Block, BlockBuilder, OpGraphSource, Out, float4, param, port


class Checkerboard(Block, id="image.checkerboard", tags=("pattern", "generator", "test")):
    """Outputs a checkerboard.

    The squares have two greys; the one at the top left is light. Use it as a test image: its edges show what a filter
    does.
    """

    out: Out[float4] = port(shape="[height, width]", doc="The pattern, linear RGBA, opaque.")
    width: int = param(1024, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(768, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    cell: float = param(64.0, min=1, max=512, unit="px", doc="Edge length of a square.")
    dark: float = param(0.02, min=0, max=1, doc="Linear grey of the dark squares.")
    light: float = param(0.8, min=0, max=1, doc="Linear grey of the light squares.")

    graph = OpGraphSource.of_expression(
        "square = int(floor(px / cell)) + int(floor(py / cell))\n"
        "grey = light if square % 2 == 0 else dark\n"
        "vec(grey, grey, grey, 1)"
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
