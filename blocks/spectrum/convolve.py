from warploom.api import Block, BlockBuilder, In, Kernel, Out, c64, f32, fft, float4, param, port

#: Borders, in the order of their numbers in `kernels/convolve.cu`.
BORDERS = ("nearest", "black", "wrap")
#: Sizes of planes are multiples of this number, for fast transforms.
STEP = 32


class Convolve(
    Block,
    id="signal.convolve",
    tags=("fft", "filter", "bokeh", "depth of field", "psf", "blur", "kernel", "convolution"),
):
    """Convolves an image with weights: each pixel becomes a small picture, as bright as the pixel.

    out[y, x] = sum over j, i of weights[j, i] image[y + h // 2 - j, x + w // 2 - i], as in scipy.ndimage.convolve, for
    red, green and blue; alpha does not change. A disc as weights blurs like a lens out of focus, and a star gives
    highlights rays. The block uses the FFT, so the time hardly depends on the number of weights.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    weights: In[float4] = port(
        rank=2, doc="The small picture that a pixel becomes, centred, shape [h, w]; its alpha is ignored."
    )
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The convolved image, of the same size.")
    border: str = param(
        "nearest", choices=BORDERS, doc="Values beyond the border: the nearest pixel, black, or the image repeated."
    )
    normalize: bool = param(True, doc="Divide the weights by their sum, so that the image stays as bright as it is.")

    spread_image = Kernel("convolve.cu", entry="spread_image")
    spread_weights = Kernel("convolve.cu", entry="spread_weights")
    multiply = Kernel("convolve.cu", entry="multiply_spectra")
    gather = Kernel("convolve.cu", entry="gather_image")

    def describe(self, build: BlockBuilder) -> None:
        """Compute padded planes of image and weights, their spectra, the product, and the inverse transform."""
        rows, columns = (f"{STEP} * ceil((image.dim{axis} + weights.dim{axis} - 1) / {STEP})" for axis in (0, 1))
        image = build.buffer("image_planes", f32, f"[3, {rows}, {columns}]")
        weights = build.buffer("weights_planes", f32, f"[3, {rows}, {columns}]")
        x = build.buffer("image_spectrum", c64, "captured")
        y = build.buffer("weights_spectrum", c64, "captured")
        plane = (image.dim(2), image.dim(1))
        size, small = (self.image.dim(1), self.image.dim(0)), (self.weights.dim(1), self.weights.dim(0))
        before = tuple(extent - 1 - extent // 2 for extent in small)
        after = tuple(extent - 1 for extent in small)
        border = BORDERS.index(self.border)
        build.launch(self.spread_image, num_threads=plane, args=(self.image, image, border, *size, *before, *plane))
        build.launch(self.spread_weights, num_threads=plane, args=(self.weights, weights, *small, *plane))
        there, back = fft.RealFft(2), fft.InverseRealFft(2, norm="forward")  # neither transform divides
        build.capture(there.on(x=image, out=x), there.on(x=weights, out=y))
        shares = (self.normalize, image.dim(1) * image.dim(2), x.dim(1) * x.dim(2), x.size)
        build.launch(self.multiply, num_threads=x.size, args=(x, y, *shares))
        build.capture(back.on(x=x, out=image))
        build.launch(self.gather, num_threads=size, args=(image, self.image, self.out, *size, *after, *plane))
