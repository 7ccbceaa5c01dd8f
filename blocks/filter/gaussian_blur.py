from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port

MAX_SIGMA = 20.0
#: The number of weights from the centre out to four sigma.
WEIGHTS = int(4 * MAX_SIGMA + 0.5) + 1


class GaussianBlur(Block, id="image.gaussian_blur", tags=("soft", "smooth", "filter", "denoise")):
    """Blurs an image with a Gaussian.

    Detail smaller than `sigma` becomes soft. Use it to remove noise before edge detection, or for glow. All four
    channels are blurred, first along rows and then along columns, out to four sigma. Beyond the border, the nearest
    pixel is used. Equals scipy.ndimage.gaussian_filter with mode="nearest" and truncate=4.
    """

    image: In[float4] = port(rank=2, doc="The image to blur, linear RGBA, shape [height, width].")
    out: Out[float4] = port(shape="same(image)", doc="The blurred image, of the same size.")
    sigma: float = param(
        3.0, min=0, max=MAX_SIGMA, unit="px", doc="Standard deviation of the Gaussian; 0 leaves the image as it is."
    )

    weigh = Kernel("gaussian_blur.cu", entry="gaussian_weights")
    rows = Kernel("gaussian_blur.cu", entry="blur_rows")
    columns = Kernel("gaussian_blur.cu", entry="blur_columns")

    def describe(self, build: BlockBuilder) -> None:
        """Compute the weights from sigma, then blur rows and columns, with one thread per pixel each."""
        weights = build.buffer("weights", f32, shape=f"[{WEIGHTS}]")
        blurred_rows = build.buffer("blurred_rows", float4, shape="same(image)")
        width, height = self.image.dim(1), self.image.dim(0)
        common = (weights, self.sigma, WEIGHTS, width, height)
        build.launch(self.weigh, num_threads=WEIGHTS, args=(weights, self.sigma, WEIGHTS))
        build.launch(self.rows, num_threads=(width, height), args=(self.image, blurred_rows, *common))
        build.launch(self.columns, num_threads=(width, height), args=(blurred_rows, self.out, *common))
