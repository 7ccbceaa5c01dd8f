from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port

#: The threshold of each pixel, from 0 to 1, in each pattern. The matrix of Bayer (1973) has the bits of x ^ y and y,
#: those of the highest value first.
PATTERNS = {
    "ordered": """\
x = int(px) & 7
y = int(py) & 7
odd = x ^ y
order = (odd & 1) << 5 | (y & 1) << 4 | (odd & 2) << 2 | (y & 2) << 1 | (odd & 4) >> 1 | (y & 4) >> 2
threshold = (float(order) + 0.5) / 64""",
    "noise": "threshold = random(px, py, 0, 7)",
    "moving noise": "threshold = random(px, py, frame, 7)",
}


@cache
def _dithered(pattern: str) -> OpGraphSource:
    return OpGraphSource.of_expression(
        f"{PATTERNS[pattern]}\n"
        "c = min(floor(saturate(image.xyz) * (steps - 1) + threshold) / (steps - 1), 1)\n"
        "vec(c.x, c.y, c.z, image.w)",
        image=float4,
    )


class Dither(Block, id="image.dither", tags=("bayer", "halftone", "quantize", "retro", "newspaper", "1 bit")):
    """Shows colours in few steps by patterns of pixels.

    Red, green and blue get one of `steps` values from 0 to 1. Which of the two nearest depends on the pixel, so that
    the mean over some pixels is the colour. "ordered" takes a grid of 8 x 8 pixels, "noise" random numbers that stay,
    and "moving noise" others in each frame. Alpha does not change.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The image in few colours, of the same size.")
    steps: int = param(2, min=2, max=256, doc="Values of each channel.")
    pattern: str = param("ordered", choices=tuple(PATTERNS), doc="What decides between the two nearest values.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_dithered(self.pattern), over=self.out)
