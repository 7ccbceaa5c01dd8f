from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class Edges(Block, id="field.edges", tags=("boundary", "border", "dirichlet", "plate")):
    """Sets the values along the four edges of a field.

    Works in place and does not change the inside; the corners belong to the upper and lower edges. Between a State and
    a Jacobi Step, it makes a plate whose edges are held at fixed temperatures.
    """

    field: In[f32] = port(rank=2, doc="The field, shape [height, width].")
    out: Out[f32] = port(inplace="field", doc="The same field, with its edges set.")
    top: float = param(1.0, min=-10, max=10, doc="Value of the first row.")
    bottom: float = param(0.0, min=-10, max=10, doc="Value of the last row.")
    left: float = param(0.5, min=-10, max=10, doc="Value of the first column.")
    right: float = param(0.0, min=-10, max=10, doc="Value of the last column.")

    kernel = Kernel("fields.cu", entry="heat_edges")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point; threads inside the field do nothing."""
        size = (self.out.dim(1), self.out.dim(0))
        edges = (self.top, self.bottom, self.left, self.right)
        build.launch(self.kernel, num_threads=size, args=(self.out, *edges, *size))
