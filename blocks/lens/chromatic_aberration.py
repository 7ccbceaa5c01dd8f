from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port
from warploom.blocks.warp.edges import sampled


def _channel(factor: str) -> str:
    return sampled(f"middle_x + x * ({factor})", f"middle_y + y * ({factor})", "extend")


class ChromaticAberration(Block, id="image.chromatic_aberration", tags=("lens", "fringe", "glitch", "rgb split")):
    """Shifts red outwards and blue inwards, as a simple lens does.

    The shift grows with the distance from the middle of the image. Green and alpha do not change.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(image)", doc="The image with coloured fringes, of the same size."
    )
    amount: float = param(0.01, min=-0.5, max=0.5, doc="Share by which red is larger, and blue smaller.")

    graph = OpGraphSource.of_expression(
        "middle_x = (width - 1) / 2\n"
        "middle_y = (height - 1) / 2\n"
        "x = px - middle_x\n"
        "y = py - middle_y\n"
        f"red = {_channel('1 / (1 + amount)')}\n"
        f"blue = {_channel('1 / (1 - amount)')}\n"
        "vec(red.x, image.y, blue.z, image.w)",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
