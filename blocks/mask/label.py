from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port, u32

FILE = "parts.cu"


class Label(
    Block,
    id="image.label",
    tags=("connected", "components", "blobs", "islands", "segmentation", "count", "parts", "objects"),
):
    """Numbers the parts of a mask that hang together.

    Two pixels that are not 0 belong to the same part if a path of such pixels connects them. The label of a part is the
    index of its first pixel, row by row, plus 1; 0 stands for no part. Labels are the same on every device, but not
    consecutive.
    """

    mask: In[any_type] = port(
        rank=2, doc="The mask, shape [height, width]; an element with several parts is 0 if all are."
    )
    labels: Out[u32] = port(shape="same(mask)", doc="The label of each pixel, 0 outside.")
    number: Out[u32] = port(shape="[1]", doc="The number of parts.")
    corners: bool = param(False, doc="Whether pixels that only touch at a corner hang together.")

    begin = Kernel(FILE, entry="begin_parts")
    join = Kernel(FILE, entry="join_parts")
    end = Kernel(FILE, entry="end_parts")

    def describe(self, build: BlockBuilder) -> None:
        """Launch three kernels with one thread per pixel: parts of one pixel, joined parts, and their labels."""
        count, parts = self.mask.size, build.buffer("parts", u32, "[mask.size]")
        build.fill(self.number, 0)
        args = (self.mask, parts, build.element_type(self.mask), count)
        build.launch(self.begin, num_threads=count, args=args)
        size = (self.mask.dim(1), self.mask.dim(0))
        build.launch(self.join, num_threads=size, args=(parts, self.corners, *size))
        build.launch(self.end, num_threads=count, args=(parts, self.labels, self.number, count))
