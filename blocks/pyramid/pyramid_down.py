from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, port


class PyramidDown(Block, id="image.pyramid_down", tags=("half", "downsample", "gaussian pyramid", "shrink", "pyrdown")):
    """Halves an image without aliasing: the next level of a Gaussian pyramid.

    Each pixel is the weighted mean of 5 x 5 around every second one, by the weights 1 4 6 4 1 of Burt and Adelson;
    beyond the border, the image is mirrored. Pyramid Up brings it back to its size, and the difference from the
    original is the detail of this size. Several in a row give ever larger structures at little cost.
    """

    image: In[any_type] = port(
        dtype="pixel", rank=2, doc="The image or field, float4, half4, uchar4 or f32, shape [height, width]."
    )
    out: Out[any_type] = port(
        dtype="same(image)",
        shape="[ceil(image.dim0 / 2), ceil(image.dim1 / 2)]",
        doc="The image in half its size, rounded up.",
    )

    kernel = Kernel("pyramid.cu", entry="halve_image")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel of the smaller image."""
        sizes = (self.image.dim(1), self.image.dim(0), self.out.dim(1), self.out.dim(0))
        args = (self.image, self.out, build.element_type(self.image), *sizes)
        build.launch(self.kernel, num_threads=(self.out.dim(1), self.out.dim(0)), args=args)
