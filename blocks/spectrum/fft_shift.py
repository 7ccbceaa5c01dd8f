from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port

AXES = 3


class FFTShift(
    Block, id="signal.fft_shift", title="FFT Shift", tags=("fftshift", "ifftshift", "center", "swap", "roll")
):
    """Moves frequency 0 to the middle of each axis.

    A spectrum begins with frequency 0; with frequency 0 in the middle, it is easier to view and to mask. Equals
    numpy.fft.fftshift, or numpy.fft.ifftshift with `back`; the two differ for odd sizes. Element values do not change.
    """

    x: In[any_type] = port(doc="The spectrum: any element type, any shape.")
    out: Out[any_type] = port(shape="same(x)", dtype="same(x)", doc="The same elements, moved.")
    axes: int = param(1, min=1, max=AXES, structural=True, doc="How many of the last axes are shifted.")
    back: bool = param(False, structural=True, doc="Move the middle back to position 0.")

    kernel = Kernel("buffers.cu", entry="turn_axes")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for four elements."""
        sizes = [self.x.last(axis) for axis in range(AXES - 1, -1, -1)]
        turns = [(size + int(self.back)) // 2 for size in sizes]
        turned = [turn if AXES - place <= self.axes else 0 for place, turn in enumerate(turns)]
        arguments = (self.x, self.out, build.element_type(self.x), *sizes, *turned, self.x.size)
        build.launch(self.kernel, num_threads=-(-self.x.size // 4), args=arguments)
