from warploom.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port


class Bilateral(Block, id="filter.bilateral", tags=("smooth", "blur", "skin", "edge preserving", "surface")):
    """Smooths an image and keeps its edges.

    Each pixel becomes the mean of those around it. The weight of one is exp(-d² / 2 sigma²) for its distance d, times
    exp(-c² / 2 range²) for the length c of the difference of both colours. Alpha does not change. Beyond the border,
    the nearest pixel is used.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The smooth image, of the same size.")
    sigma: float = param(2.0, min=0.1, max=20, unit="px", doc="Distance at which pixels count less.")
    range: float = param(0.1, min=0.001, max=10, doc="Difference of colours at which pixels count less.")
    radius: int = param(4, min=1, max=32, unit="px", doc="Pixels to each side; twice sigma is enough.")

    kernel = Kernel("denoise.cu", entry="bilateral")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        size = (self.image.dim(1), self.image.dim(0))
        args = (self.image, self.out, self.sigma, self.range, self.radius, *size)
        build.launch(self.kernel, num_threads=size, args=args)
