from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, param, port

#: In the order of their numbers in `kernels/buffers.cu`.
PARTS = ("x", "y", "z", "w", "length")


class Component(
    Block, id="math.component", tags=("vector", "channel", "red", "green", "blue", "alpha", "split", "norm")
):
    """Takes one component of vectors, or their length.

    Of a colour, x, y, z and w are red, green, blue and alpha. A vector that has no such component gives 0. Combine
    makes vectors again.
    """

    x: In[any_type] = port(dtype="vector", doc="Vectors: float2, float3 or float4, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="The component of each vector.")
    part: str = param("x", choices=PARTS, doc="The component, or the length of the whole vector.")

    kernel = Kernel("buffers.cu", entry="take_component")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        args = (self.x, build.element_type(self.x), self.out, PARTS.index(self.part), self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=args)
