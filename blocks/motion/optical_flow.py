from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float2, float4, param, port


class OpticalFlow(
    Block, id="image.optical_flow", tags=("motion", "movement", "velocity", "vectors", "track", "video", "camera")
):
    """Measures how each pixel has moved since the last picture.

    Use it to push particles by what moves before a camera, to smear or colour what moves, or to see how fast it is.
    Motion is found by its brightness, the square root of luminance times alpha: by pyramidal Lucas-Kanade, which fits
    the motion of a window around each pixel, first in small pictures, then in larger ones. Areas without texture take
    the motion of their surroundings. The first picture has no motion. If the film has fewer pictures a second than the
    patch, connect its `is_new` to this block's: otherwise a repeated picture has no motion.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The picture, linear RGBA, shape [height, width].")
    out: Out[float2] = port(
        shape="[image.dim0, image.dim1]",
        state=True,
        doc="Motion of each pixel since the last picture in px, to the right and downwards, shape [height, width].",
    )
    radius: int = param(
        6, min=1, max=32, unit="px", doc="Radius of the window: small ones show detail, large ones are steady."
    )
    noise: float = param(
        0.01, min=0.001, max=1, doc="Changes of brightness that are noise; larger ones smooth out what is uncertain."
    )
    is_new: bool = param(True, doc="Measure in this frame; otherwise keep the motion and the picture before.")
    levels: int = param(
        4, min=1, max=8, structural=True, doc="Sizes of pictures, each half of the one before: more find faster motion."
    )
    steps: int = param(2, min=1, max=8, structural=True, doc="Fits in each size: more are more exact.")

    take = Kernel("optical_flow.cu", entry="take_brightness")
    halve = Kernel("optical_flow.cu", entry="halve_brightness")
    enlarge = Kernel("optical_flow.cu", entry="enlarge_motion")
    compare = Kernel("optical_flow.cu", entry="compare_pictures")
    add_rows = Kernel("optical_flow.cu", entry="sum_rows")
    fit = Kernel("optical_flow.cu", entry="fit_motion")

    def describe(self, build: BlockBuilder) -> None:
        """Make the smaller pictures; then, from the smallest on, enlarge the motion and fit it with three kernels."""
        shapes = [f"[ceil(image.dim0 / {1 << n}), ceil(image.dim1 / {1 << n})]" for n in range(self.levels)]
        before, now = (
            [build.buffer(f"{name}{n}", f32, shape, state=True) for n, shape in enumerate(shapes)]
            for name in ("before", "now")
        )
        motions = [self.out, *(build.buffer(f"motion{n}", float2, shapes[n]) for n in range(1, self.levels))]
        sizes = [(motion.dim(1), motion.dim(0)) for motion in motions]
        products, sums = (build.buffer(name, f32, "[5 * image.dim0, image.dim1]") for name in ("products", "sums"))
        taken = (self.image, before[0], now[0], self.is_new, *sizes[0])
        build.launch(self.take, num_threads=sizes[0], args=taken)
        for n in range(1, self.levels):
            halved = (now[n - 1], before[n], now[n], self.is_new, *sizes[n - 1], *sizes[n])
            build.launch(self.halve, num_threads=sizes[n], args=halved)
        rest = build.buffer("rest", float2, "[1, 1]")
        build.fill(rest)
        smaller = [*motions[1:], rest]
        for n in reversed(range(self.levels)):
            motion, size = motions[n], sizes[n]
            rows = (size[0], 5 * size[1])
            enlarged = (smaller[n], motion, self.is_new, smaller[n].dim(1), smaller[n].dim(0), *size)
            compared = (before[n], now[n], motion, products, self.is_new, *size)
            summed = (products, sums, self.is_new, self.radius, *rows)
            fitted = (sums, motion, self.is_new, self.radius, self.noise, *size)
            build.launch(self.enlarge, num_threads=size, args=enlarged)
            for _ in range(self.steps):
                build.launch(self.compare, num_threads=size, args=compared)
                build.launch(self.add_rows, num_threads=rows, args=summed)
                build.launch(self.fit, num_threads=size, args=fitted)
