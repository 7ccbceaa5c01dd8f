from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, port
from warploom.blocks.filter.windows import require_near

#: As in `kernels/weighted_filter.cu`: the pixels of a column that a thread computes, the size of tiles, and
#: the threads for a column of one.
RUN, WIDE, HIGH, LANES = 4, 64, 32, 4


class Filter(
    Block,
    id="filter.weighted",
    title="Weighted Filter",
    tags=("convolve", "convolution", "sharpen", "emboss", "edge", "laplace"),
):
    """Convolves an image with the weights of another buffer.

    out[y, x] = sum over j, i of weights[j, i] image[y + h // 2 - j, x + w // 2 - i], as in scipy.ndimage.convolve, for
    each channel. Weights 0 -1 0, -1 5 -1, 0 -1 0 sharpen; weights that add up to 0 find edges. Beyond the border, the
    nearest pixel is used. With a few hundred weights or more, *Convolve* is faster.
    """

    image: In[any_type] = port(
        dtype="pixel",
        rank=2,
        strided=True,
        doc="The image or field, float4, half4, uchar4 or f32, shape [height, width].",
    )
    weights: In[f32] = port(rank=2, doc="The weights, shape [h, w], both odd.")
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The filtered image, of the same size.")

    kernel = Kernel("weighted_filter.cu", entry="convolve_image")
    few = Kernel("weighted_filter.cu", entry="convolve_few")

    def describe(self, build: BlockBuilder) -> None:
        """Launch two kernels, of which one is idle; it depends on the number of weights."""
        image, sizes = self.image, (self.weights.dim(1), self.weights.dim(0))
        for size in sizes:
            build.require(
                size % 2 - 1, "weights must have an odd number of rows and columns; add zeros", port=self.weights
            )
        require_near(build, image)
        width, height, strides = image.dim(1), image.dim(0), (image.stride(0), image.stride(1))
        args = (image, self.weights, self.out, build.element_type(image), width, height, *strides, *sizes)
        # Large thread blocks, of which there are fewer, take less time while they are idle.
        build.launch(self.kernel, num_threads=(width, -(-height // RUN)), args=args, thread_block=(32, 32))
        tiles = -(-width // WIDE) * WIDE, -(-height // HIGH) * LANES
        build.launch(self.few, num_threads=tiles, args=args, thread_block=(WIDE, LANES))
