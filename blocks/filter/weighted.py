from engine.api import Block, BlockBuilder, In, Out, any_type, f32, images, port


class Filter(
    Block,
    id="filter.weighted",
    title="Weighted Filter",
    tags=("convolve", "convolution", "sharpen", "emboss", "edge", "laplace", "npp"),
):
    """Convolves an image with the weights of another buffer.

    out[y, x] = sum over j, i of weights[j, i] image[y + h // 2 - j, x + w // 2 - i], as in scipy.ndimage.convolve, for
    each channel. Weights 0 -1 0, -1 5 -1, 0 -1 0 sharpen; weights that add up to 0 find edges. Beyond the border, the
    nearest pixel is used. With a few hundred weights or more, *Convolve* is faster.
    """

    image: In[any_type] = port(rank=2, strided=True, doc="The image or field, float4 or f32, shape [height, width].")
    weights: In[f32] = port(rank=2, doc="The weights, shape [h, w], both odd.")
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The filtered image, of the same size.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of NPP."""
        build.capture(images.Filter().on(image=self.image, weights=self.weights, out=self.out))
