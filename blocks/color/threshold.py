from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port

#: What is compared with the level.
CHANNELS = {
    "luminance": "0.2126 * image.x + 0.7152 * image.y + 0.0722 * image.z",
    "red": "image.x",
    "green": "image.y",
    "blue": "image.z",
    "alpha": "image.w",
    "largest": "max(image.x, image.y, image.z)",
    "smallest": "min(image.x, image.y, image.z)",
}


@cache
def _mask(channel: str) -> OpGraphSource:
    return OpGraphSource.of_expression(
        f"found = {CHANNELS[channel]}\n"
        "value = -1e30 if is_nan(found) else found\n"
        "hard = 1 if value >= level else 0\n"
        "t = saturate((value - level) / max(softness, 1e-9) + 0.5)\n"
        "c = hard if softness == 0 else t * t * (3 - 2 * t)\n"
        "vec(c, c, c, image.w)",
        image=float4,
    )


class Threshold(
    Block, id="image.threshold", tags=("binarize", "binary", "mask", "key", "segment", "black and white", "luma")
):
    """Makes what is bright white, and the rest black.

    A pixel is 1 where its channel reaches the level, else 0. With a softness, the step is smooth: it begins half of the
    softness below the level. A NaN is black. Alpha does not change. Use the result as a mask.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(image)", doc="1 or 0 in red, green and blue, of the same size."
    )
    level: float = param(0.5, min=-1, max=10, doc="Smallest value that becomes white.")
    softness: float = param(0.0, min=0, max=2, doc="Width of the step; 0 for none.")
    channel: str = param("luminance", choices=tuple(CHANNELS), doc="What is compared with the level.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_mask(self.channel), over=self.out)
