from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port


class Relief(Block, id="image.relief", tags=("height", "bump", "light", "shade", "water")):
    """Shades a surface of heights as if lit from the upper left.

    Slopes that face the light are bright, and those that reflect the light towards the viewer gleam. Use it to view
    water, or any field whose small differences matter more than its values.
    """

    heights: In[f32] = port(rank=2, doc="Heights of the surface, shape [height, width].")
    image: Out[float4] = port(shape="same(heights)", doc="The picture, linear RGBA, opaque.")
    steepness: float = param(8.0, min=0, max=100, doc="Factor of the heights; larger values exaggerate slopes.")
    shine: float = param(0.8, min=0, max=10, doc="Strength of the gleam.")
    red: float = param(0.02, min=0, max=1, doc="Red of the surface.")
    green: float = param(0.12, min=0, max=1, doc="Green of the surface.")
    blue: float = param(0.25, min=0, max=1, doc="Blue of the surface.")

    kernel = Kernel("fields.cu", entry="relief")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        size = (self.image.dim(1), self.image.dim(0))
        look = (self.steepness, self.shine, self.red, self.green, self.blue)
        build.launch(self.kernel, num_threads=size, args=(self.heights, self.image, *look, *size))
