from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, f64, float4, param, port
from warploom.blocks.reduce.shares import LEAST, PARTS, reduction

FILE = "similarity.cu"


class StructuralSimilarity(
    Block,
    id="image.structural_similarity",
    tags=("ssim", "quality", "compare", "difference", "error", "psnr", "metric", "compression"),
):
    """Measures how similar two images look.

    The index of Wang et al. (SSIM) compares light, contrast and structure in a soft window of 11 x 11 pixels around
    each pixel: 1 for equal images, near 0 for others, below 0 where bright and dark are exchanged. It is that of the
    luminances; alpha is ignored. Beyond the border, the nearest pixel is used. For the mean squared error of numbers,
    use Statistics.
    """

    a: In[float4] = port(rank=2, doc="An image, linear RGBA, shape [height, width].")
    b: In[float4] = port(rank=2, shape="same(a)", doc="The other image, of the same size.")
    out: Out[f32] = port(shape="[a.dim0, a.dim1]", doc="The index around each pixel, shape [height, width].")
    mean: Out[f32] = port(shape="[1]", doc="The mean of all pixels.")
    encoded: bool = param(True, doc="Compare as screens show it, encoded by sRGB's curve; otherwise linear light.")
    range: float = param(1.0, min=0.001, max=10_000, doc="White: from it, the least contrast that counts is derived.")

    compare = Kernel(FILE, entry="compare_lights")
    rows = Kernel(FILE, entry="average_rows")
    find = Kernel(FILE, entry="find_similarity")
    average = Kernel(FILE, entry="average_similarity")

    def describe(self, build: BlockBuilder) -> None:
        """Find the terms of the index, their means along rows and columns, and the mean index."""
        terms, rows = (build.buffer(name, float4, "[a.dim0, a.dim1]") for name in ("terms", "means"))
        parts = build.buffer("parts", f64, f"[min({PARTS}, ceil(a.size / {LEAST}))]")
        size = (self.a.dim(1), self.a.dim(0))
        build.launch(self.compare, num_threads=terms.size, args=(self.a, self.b, terms, self.encoded, terms.size))
        build.launch(self.rows, num_threads=size, args=(terms, rows, *size))
        build.launch(self.find, num_threads=size, args=(rows, self.out, self.range, *size))
        sums = reduction("add", "out", "f32", "parts", "f64")
        build.compute(sums, over=self.out, thread_blocks=parts.size)
        build.launch(self.average, num_threads=1, thread_block=1, args=(parts, self.mean, parts.size, self.out.size))
