from warploom.api import Block, BlockBuilder, In, OpGraphSource, float4, param, port, uchar4
from warploom.blocks.io.pixels import PIXEL


class Viewer(
    Block, id="io.viewer", tags=("display", "preview", "screen", "show", "output", "full screen", "fullscreen")
):
    """Shows an image in the editor.

    Converts linear light to sRGB for the screen. `exposure` brightens or darkens only the shown picture, not the image.
    `roll_off` compresses highlights above 1 into the visible range; with 0, they are cut off. Pictures are read back
    only while a viewer window or dock shows them.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to show, linear RGBA, shape [height, width].")
    exposure: float = param(0.0, min=-8, max=8, unit="stops", doc="Brightness of the shown picture; +1 doubles it.")
    roll_off: float = param(
        0.0, min=0, max=1, doc="Share of the range reserved for highlights: 0 cuts off at 1, 1 compresses all values."
    )

    # Values up to the knee stay unchanged; values above it approach 1 without reaching it.
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
        """Launch one thread per pixel."""
        pixels = build.buffer("pixels", uchar4, shape="same(image)")
        build.compute(self.graph, over=pixels)
        build.show(pixels)
