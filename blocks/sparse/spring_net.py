from warploom.api import Block, BlockBuilder, Kernel, Out, f32, param, port, s32


class SpringNet(Block, id="sparse.spring_net", tags=("laplacian", "poisson", "stiffness", "csr", "grid", "solver")):
    """Outputs the stiffness matrix of a net of springs, in CSR form.

    Each node of the grid is tied to its four neighbours. Nodes at the border are held: their rows are those of the
    identity. The matrix times the displacements is the force on the nodes, so solving for a load gives the
    displacements that the load causes. The matrix is symmetric and positive definite, so conjugate gradients solve it.
    With a stiffness of 1 and no ground it is the Laplace operator of the grid, negated.
    """

    offsets: Out[s32] = port(
        shape="[height * width + 1]", doc="Index of each row's first entry, then the number of entries."
    )
    columns: Out[s32] = port(
        shape="[5 * height * width]", doc="Column of each entry: a node's index, counted row by row."
    )
    entries: Out[f32] = port(shape="[5 * height * width]", doc="Value of each entry.")
    height: int = param(64, min=3, max=4096, structural=True, doc="Rows of nodes.")
    width: int = param(64, min=3, max=4096, structural=True, doc="Columns of nodes.")
    stiffness: float = param(1.0, min=0.01, max=100, doc="Stiffness of each spring between neighbours.")
    ground: float = param(0.0, min=0, max=1, doc="Stiffness of a spring from each node to its place at rest.")

    kernel = Kernel("springs.cu", entry="spring_net")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per node."""
        size = (self.width, self.height)
        parts = (self.offsets, self.columns, self.entries)
        build.launch(self.kernel, num_threads=size, args=(*parts, self.stiffness, self.ground, *size))
