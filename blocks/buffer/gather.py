from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port

#: Rules for indices beyond the ends, in the order of their numbers in the kernel.
EDGES = ("clamp", "wrap", "zero")


class Gather(Block, id="buffer.gather", tags=("take", "index", "lookup", "permute", "reorder", "pick", "embedding")):
    """Takes elements, or rows, from the places that indices name.

    Along the axis, position i of the output is position indices[i] of `x`, as in numpy's take. Indices may repeat. With
    the output of Order, this sorts anything by keys; with a colour table, it colours a picture of numbers.
    """

    x: In[any_type] = port(doc="The buffer: any element type, any shape.")
    indices: In[any_type] = port(
        dtype="number", doc="Positions along the axis, counted from 0, of any shape; fractions are cut off."
    )
    out: Out[any_type] = port(
        shape="taken(axis, x, indices)", dtype="same(x)", doc="Shape of x, with the axes of the indices for the axis."
    )
    axis: int = param(0, min=-8, max=7, structural=True, doc="The axis that is indexed; -1 is the last.")
    edge: str = param(
        "clamp",
        choices=EDGES,
        doc="Beyond the ends: the nearest position, from the other end (-1 is the last), or zeros.",
    )

    kernel = Kernel("indices.cu", entry="gather")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element of the output."""
        x, axis = self.x, self.axis
        size, width = (x.dim(axis), x.stride(axis)) if axis >= 0 else (x.last(-1 - axis), x.last_stride(-1 - axis))
        if axis in (0, -2):
            build.keep_columns(self.out, x)
        types = build.element_type(x), build.element_type(self.indices)
        sizes = EDGES.index(self.edge), size, width, self.indices.size, self.out.size
        build.launch(self.kernel, num_threads=self.out.size, args=(x, self.indices, self.out, *types, *sizes))
