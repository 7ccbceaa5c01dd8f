from warploom.api import Block, BlockBuilder, Kernel, Out, float4, param, port

#: The kinds by their number in the kernel.
KINDS = ("value", "gradient", "cellular")


class Noise(
    Block,
    id="image.noise",
    tags=("clouds", "fractal", "generator", "texture", "random", "perlin", "worley", "voronoi", "fbm", "plasma"),
):
    """Outputs smooth grey noise that can move.

    Several octaves of a noise are summed; each has half the size and half the weight of the one before. "value" blends
    random values on a grid, "gradient" random slopes (Perlin), and "cellular" is the distance to the nearest of points
    that are spread at random (Worley). Use it as a texture, as clouds, or as a moving mask. The same seed gives the
    same noise on every device; `warploom/noise.h` has these functions for kernels of your own.
    """

    out: Out[float4] = port(shape="[height, width]", doc="The noise, 0 to 1, linear RGBA, opaque.")
    width: int = param(1024, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(768, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    kind: str = param("value", choices=KINDS, doc="Kind of noise: value, gradient or cellular.")
    cell: float = param(128.0, min=2, max=1024, unit="px", doc="Size of the largest features.")
    octaves: int = param(5, min=1, max=8, doc="Number of layers, each with finer detail than the one before.")
    speed: float = param(0.2, min=0, max=5, unit="1/s", doc="How fast the noise changes; at 0 it stays the same.")
    seed: int = param(0, min=0, max=1000, doc="Start of the random sequence; another seed gives other noise.")

    kernel = Kernel("patterns.cu", entry="noise")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        size = (self.width, self.height)
        look = (self.cell, self.octaves, self.speed, self.seed, KINDS.index(self.kind))
        build.launch(self.kernel, num_threads=size, args=(self.out, build.frame, *look, *size))
