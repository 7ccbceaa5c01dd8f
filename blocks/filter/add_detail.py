from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


@cache
def _detail() -> OpGraphSource:
    return OpGraphSource.of_expression(
        "here = image[px, py]\n"
        "detail = here - blurred[px, py]\n"
        "size = abs(0.2126 * detail.x + 0.7152 * detail.y + 0.0722 * detail.z)\n"
        "sharp = here + detail * (amount if size >= threshold else 0)\n"
        "vec(sharp.x, sharp.y, sharp.z, here.w)",
        image=float4,
        blurred=float4,
    )


class AddDetail(Block, id="image.add_detail", tags=("sharpen", "local contrast", "high pass")):
    """Adds what an image has beyond a blurred copy of it.

    out = image + amount * (image - blurred) where the luminance of the difference reaches the threshold; elsewhere the
    image stays. Alpha does not change. *Sharpen* has a Gaussian Blur before it.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    blurred: In[float4] = port(dtype="picture", shape="same(image)", doc="A blurred copy of it.")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(image)", doc="The image with stronger detail, of the same size."
    )
    amount: float = param(1.0, min=-1, max=10, doc="Factor of the detail that is added; -1 gives the blurred copy.")
    threshold: float = param(0.0, min=0, max=1, doc="Smallest difference that counts; raise it to leave noise alone.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_detail(), over=self.out)
