from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, u32

FILE = "parts.cu"


class ThinEdges(Block, id="image.thin_edges", tags=("canny", "hysteresis", "outline")):
    """Outputs the edges of an image as lines that are one pixel wide.

    A pixel is on an edge if the gradient of its luminance, by Sobel's kernels, is longer than those of its neighbours
    across the edge, and at least `low`. Of edges that hang together, also at corners, those stay that reach `high`
    somewhere. *Canny* has a Gaussian Blur before it.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(image)", doc="1 on edges, else 0, in red, green and blue; alpha stays."
    )
    low: float = param(0.1, min=0, max=10, doc="Smallest gradient of an edge.")
    high: float = param(0.3, min=0, max=10, doc="Gradient that an edge must reach somewhere.")

    thin = Kernel(FILE, entry="thin_edges")
    begin = Kernel(FILE, entry="begin_edges")
    join = Kernel(FILE, entry="join_parts")
    mark = Kernel(FILE, entry="mark_strong")
    draw = Kernel(FILE, entry="draw_edges")

    def describe(self, build: BlockBuilder) -> None:
        """Find edges with one thread per pixel, join those that hang together, and draw the strong ones."""
        size, count = (self.image.dim(1), self.image.dim(0)), self.image.size
        edges = build.buffer("edges", f32, "[image.size]")
        labels, strong = (build.buffer(name, u32, "[image.size]") for name in ("labels", "strong"))
        build.fill(strong, 0)
        build.launch(self.thin, num_threads=size, args=(self.image, edges, *size))
        build.launch(self.begin, num_threads=count, args=(edges, labels, self.low, count))
        build.launch(self.join, num_threads=size, args=(labels, 1, *size))
        build.launch(self.mark, num_threads=count, args=(edges, labels, strong, self.high, count))
        build.launch(self.draw, num_threads=count, args=(self.image, labels, strong, self.out, count))
