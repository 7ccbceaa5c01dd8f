from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, float4, param, port


class PyramidBlend(
    Block, id="image.pyramid_blend", tags=("laplacian", "seamless", "multiband", "stitch", "composite", "mask", "apple")
):
    """Joins two images along a mask so that no seam is seen.

    Large structures blend over a wide border, and fine detail over a narrow one (Burt and Adelson's multiresolution
    spline): each level of the images' Laplacian pyramids is mixed by the mask at that size. More `levels` make the
    border wider: about 2^levels pixels. With 0, the block mixes pixels as the mask is.
    """

    a: In[float4] = port(rank=2, doc="The image where the mask is 0, linear RGBA, shape [height, width].")
    b: In[float4] = port(rank=2, shape="same(a)", doc="The image where the mask is 1, of the same size.")
    mask: In[any_type] = port(
        dtype="pixel",
        rank=2,
        doc="Share of `b`: numbers from 0 to 1, or the luminance of an image; of the same size.",
    )
    out: Out[float4] = port(shape="same(a)", doc="The joined image, of the same size.")
    levels: int = param(6, min=0, max=12, structural=True, doc="How often the images are halved.")

    read = Kernel("pyramid.cu", entry="read_mask")
    halve = Kernel("pyramid.cu", entry="halve_image")
    blend = Kernel("pyramid.cu", entry="blend_level")

    def describe(self, build: BlockBuilder) -> None:
        """Halve both images and the mask; then, from the smallest on, blend their differences."""
        for axis in (0, 1):
            difference = self.a.dim(axis) - self.mask.dim(axis)
            for either in (difference, -difference):
                build.require(either, "mask must be as large as a and b: Resize it", port=self.mask)
        shapes = [f"[ceil(a.dim0 / {1 << n}), ceil(a.dim1 / {1 << n})]" for n in range(self.levels + 1)]
        masks = [build.buffer(f"mask{n}", f32, shape) for n, shape in enumerate(shapes)]
        firsts = [self.a, *(build.buffer(f"a{n}", float4, shapes[n]) for n in range(1, self.levels + 1))]
        seconds = [self.b, *(build.buffer(f"b{n}", float4, shapes[n]) for n in range(1, self.levels + 1))]
        outs = [self.out, *(build.buffer(f"out{n}", float4, shapes[n]) for n in range(1, self.levels + 1))]
        sizes = [(mask.dim(1), mask.dim(0)) for mask in masks]
        taken = (self.mask, build.element_type(self.mask), masks[0], masks[0].size)
        build.launch(self.read, num_threads=masks[0].size, args=taken)
        for n in range(1, self.levels + 1):
            for row in (firsts, seconds, masks):
                halved = (row[n - 1], row[n], build.element_type(row[n]), *sizes[n - 1], *sizes[n])
                build.launch(self.halve, num_threads=sizes[n], args=halved)
        for n in reversed(range(self.levels + 1)):
            below = min(n + 1, self.levels)  # the smallest has none
            images = (firsts[n], seconds[n], masks[n], firsts[below], seconds[below])
            half = outs[below] if below > n else firsts[n]
            args = (*images, half, outs[n], below > n, *sizes[n], *sizes[below])
            build.launch(self.blend, num_threads=sizes[n], args=args)
