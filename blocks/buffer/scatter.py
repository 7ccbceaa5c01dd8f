from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, port, u32


class Scatter(Block, id="buffer.scatter", tags=("put", "index", "place", "write", "reorder", "inverse")):
    """Puts elements, or rows, at the places that indices name.

    The output is a copy of `target` in which row indices[i] is row i of `x`. If indices repeat, the last one
    counts, as in numpy. Indices outside the target are left out. Start from a Constant for an empty target.
    """

    target: In[any_type] = port(doc="What the other places hold: any element type, any shape.")
    indices: In[any_type] = port(
        dtype="number", doc="Rows of the target, along its first axis, counted from 0; fractions are cut off."
    )
    x: In[any_type] = port(
        dtype="same(target)",
        shape="taken(0, target, indices)",
        doc="A row of the target for each index: the axes of the indices, then those of a row.",
    )
    out: Out[any_type] = port(shape="same(target)", dtype="same(target)", doc="The target with the rows of x in it.")

    note, write = Kernel("indices.cu", entry="claim"), Kernel("indices.cu", entry="scatter")

    def describe(self, build: BlockBuilder) -> None:
        """Find the last index for each row, then launch one thread per element of the target."""
        indices, rows, width = self.indices, self.target.dim(0), self.target.stride(0)
        last = build.buffer("last", u32, "[target.dim0]")
        build.fill(last)
        build.launch(
            self.note,
            num_threads=indices.size,
            args=(indices, build.element_type(indices), last, rows, indices.size),
        )
        build.launch(
            self.write,
            num_threads=self.out.size,
            args=(self.target, self.x, last, self.out, build.element_type(self.target), width, self.out.size),
        )
