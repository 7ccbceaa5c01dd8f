from warploom.api import Block, BlockBuilder, In, Kernel, Out, c64, f32, fft, float4, param, port, s32

FILE = "phase_correlation.cu"
#: Threads of a thread block that looks for the peak, as in phase_correlation.cu, and the most thread blocks.
THREADS, SHARES = 256, 64
#: The least height and width of the images.
LEAST = 8


class PhaseCorrelation(
    Block,
    id="image.phase_correlation",
    tags=("registration", "register", "align", "shift", "stabilise", "stabilize", "track", "motion", "fft"),
):
    """Finds how far an image is moved against another one.

    One movement is found for the whole picture, from the phases of both spectra, so that brightness hardly counts. Use
    it to align scans, to hold a shaking camera still, or to measure a drift; Optical Flow measures each pixel's own
    movement. It is found up to half the size. Of an odd height or width, the last row or column is left out.
    """

    a: In[float4] = port(rank=2, doc="The image at rest, linear RGBA, shape [height, width], at least 8 by 8.")
    b: In[float4] = port(rank=2, shape="same(a)", doc="The moved image, of the same size.")
    shift: Out[f32] = port(shape="[2]", doc="How far b is moved against a in px: to the right, and downwards.")
    confidence: Out[f32] = port(
        shape="[1]", doc="Height of the peak: 1 for a picture that has only moved, near 0 for two others."
    )
    fade: bool = param(True, doc="Fade out the border; without it, images count as if they were repeated.")

    take = Kernel(FILE, entry="take_lights")
    compare = Kernel(FILE, entry="compare_phases")
    peaks = Kernel(FILE, entry="find_peaks")
    find = Kernel(FILE, entry="find_shift")

    def describe(self, build: BlockBuilder) -> None:
        """Compute both spectra, compare their phases, and find the peak of the inverse transform."""
        for axis in (0, 1):
            build.require(self.a.dim(axis) - LEAST, f"a and b must be at least {LEAST} by {LEAST} pixels", port=self.a)
        shape = "[2 * (a.dim0 // 2), 2 * (a.dim1 // 2)]"
        lights, others = (build.buffer(name, f32, shape) for name in ("lights", "others"))
        x, y = (build.buffer(name, c64, "captured") for name in ("spectrum", "other_spectrum"))
        size = (lights.dim(1), lights.dim(0))
        shares = f"[min({SHARES}, ceil(a.size / {THREADS}))]"
        highest, places = build.buffer("highest", f32, shares), build.buffer("places", s32, shares)
        there, back = fft.RealFft(2), fft.InverseRealFft(2)
        taken = (self.a, self.b, lights, others, self.fade, self.a.dim(1), *size)
        build.launch(self.take, num_threads=size, args=taken)
        build.capture(there.on(x=lights, out=x), there.on(x=others, out=y))
        frequencies = (x.dim(1), x.dim(0))
        build.launch(self.compare, num_threads=frequencies, args=(x, y, self.fade, x.dim(1), *size))
        build.capture(back.on(x=x, out=lights))
        build.launch(
            self.peaks,
            num_threads=highest.size * THREADS,
            thread_block=THREADS,
            args=(lights, highest, places, lights.size),
        )
        found = (lights, highest, places, self.shift, self.confidence, highest.size, *size)
        build.launch(self.find, num_threads=1, thread_block=1, args=found)
