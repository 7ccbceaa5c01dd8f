from engine.api import Block, BlockBuilder, Kernel, Out, f32, param, port, s32


class SpringNet(Block, id="sparse.spring_net", tags=("laplacian", "poisson", "stiffness", "csr", "grid", "solver")):
    """Give the stiffness matrix of a net of springs, in CSR form.

    Each node of the grid is tied to its four neighbours; nodes at the edge are held. The matrix times the displacements
    is the force that holds the net there, so solving for a load tells how far it gives way. It is symmetric and
    positive definite: solve it by conjugate gradients. With a stiffness of 1 it is the Laplace operator of the grid.
    """

    offsets: Out[s32] = port(shape="[height * width + 1]", doc="Where each row begins.")
    columns: Out[s32] = port(shape="[5 * height * width]", doc="The column of each entry: a node, counted row by row.")
    entries: Out[f32] = port(shape="[5 * height * width]", doc="The entries.")
    height: int = param(64, min=3, max=4096, structural=True, doc="Rows of nodes.")
    width: int = param(64, min=3, max=4096, structural=True, doc="Columns of nodes.")
    stiffness: float = param(1.0, min=0.01, max=100, doc="Of each spring.")
    ground: float = param(0.0, min=0, max=1, doc="Stiffness of a spring from each node to its place at rest.")

    kernel = Kernel("springs.cu", entry="spring_net")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a node."""
        size = (self.width, self.height)
        parts = (self.offsets, self.columns, self.entries)
        build.launch(self.kernel, num_threads=size, args=(*parts, self.stiffness, self.ground, *size))
