from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, u32

FILE = "otsu.cu"
#: Number of bins in the histogram of luminances; equals BINS in otsu.cu.
BINS = 256


class AutomaticThreshold(Block, id="image.automatic_threshold", tags=("otsu", "segment", "document", "mask")):
    """Makes the bright part of an image white and the dark part black, at a level that fits the image.

    The level is Otsu's: the luminances below and above it differ most. It is found in each frame, in steps of 1/255;
    luminances beyond 0 and 1 count as these. Alpha does not change. Use Threshold for a level of your own.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(image)", doc="1 or 0 in red, green and blue, of the same size."
    )
    level: Out[f32] = port(shape="[1]", doc="The level, a luminance from 0 to 1.")
    shift: float = param(0.0, min=-1, max=1, doc="Added to the level.")

    count = Kernel(FILE, entry="count_lights")
    find = Kernel(FILE, entry="find_level")
    divide = Kernel(FILE, entry="divide_lights")

    def describe(self, build: BlockBuilder) -> None:
        """Count the luminances, find the level in one thread, and compare each pixel with it."""
        bins, count = build.buffer("bins", u32, f"[{BINS}]"), self.image.size
        build.fill(bins, 0)
        build.launch(self.count, num_threads=count, args=(self.image, bins, count))
        build.launch(self.find, num_threads=1, thread_block=1, args=(bins, self.level))
        build.launch(self.divide, num_threads=count, args=(self.image, self.level, self.out, self.shift, count))
