from blocks.io.pixels import PIXEL
from engine.api import Block, BlockBuilder, In, OpGraphSource, float4, param, port, uchar4


class Viewer(Block, id="io.viewer", tags=("display", "preview", "screen", "show", "output")):
    """Show an image.

    Converts linear light to sRGB for the screen. `exposure` brightens or darkens only what is shown; `roll_off` brings
    highlights above 1 back into view, where the default cuts them off. Pictures are read back only while somebody looks
    at the viewer.
    """

    image: In[float4] = port(rank=2, doc="The image to show, linear RGBA, shape [height, width].")
    exposure: float = param(0.0, min=-8, max=8, unit="stops", doc="Brightness of the picture; +1 is twice as bright.")
    roll_off: float = param(
        0.0, min=0, max=1, doc="Share of the range that is given to highlights: 0 cuts at 1, 1 compresses everything."
    )

    # Values up to the knee stay as they are; above, they approach 1 without reaching it.
    graph = OpGraphSource.of_expression(
        "bright = image.xyz * exp2(exposure)\n"
        "knee = 1 - roll_off\n"
        "excess = max(bright - knee, 0)\n"
        "rolled = min(bright, knee) + roll_off * excess / max(roll_off + excess, 1e-20)\n"
        f"c = vec(rolled.x, rolled.y, rolled.z, image.w){PIXEL}",
        output="pixels",
        output_type=uchar4,
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        pixels = build.buffer("pixels", uchar4, shape="same(image)")
        build.compute(self.graph, over=pixels)
        build.show(pixels)
