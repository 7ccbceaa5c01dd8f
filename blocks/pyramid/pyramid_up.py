from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, port


class PyramidUp(Block, id="image.pyramid_up", tags=("double", "upsample", "expand", "enlarge", "pyrup", "laplacian")):
    """Doubles an image smoothly: the inverse step of Pyramid Down.

    Each new pixel is a weighted mean of those around it, by the weights 1 4 6 4 1 of Burt and Adelson. The block makes
    the image as large as `like`, which mostly is the image before Pyramid Down. What that one has beyond this result
    is its fine detail, a level of the Laplacian pyramid: Add Detail makes it stronger.
    """

    image: In[any_type] = port(
        dtype="pixel", rank=2, doc="The image or field, float4, half4, uchar4 or f32, shape [height, width]."
    )
    like: In[any_type] = port(
        rank=2, doc="A buffer of the size of the result, which is twice the image's, or one less on odd sides."
    )
    out: Out[any_type] = port(dtype="same(image)", shape="[like.dim0, like.dim1]", doc="The image in twice its size.")

    kernel = Kernel("pyramid.cu", entry="enlarge_image")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel of the larger image."""
        rule = (
            "like must be twice as large as image, or one pixel less along a side: take the image before Pyramid Down"
        )
        for axis in (0, 1):
            difference = self.image.dim(axis) - (self.like.dim(axis) + 1) // 2
            build.require(difference, rule, port=self.like)
            build.require(-difference, rule, port=self.like)
        sizes = (self.image.dim(1), self.image.dim(0), self.out.dim(1), self.out.dim(0))
        args = (self.image, self.out, build.element_type(self.image), *sizes)
        build.launch(self.kernel, num_threads=(self.out.dim(1), self.out.dim(0)), args=args)
