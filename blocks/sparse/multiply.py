from engine.api import Block, BlockBuilder, In, Out, any_type, param, port, s32, sparse


class SparseMultiply(Block, id="sparse.multiply", tags=("spmv", "spmm", "csr", "graph", "cusparse")):
    """Multiply a sparse matrix by a vector or a matrix.

    out = alpha A x. A is given in CSR form, row by row: `offsets` says where each row begins among `columns` and
    `entries`, and ends with their number. x is [n] or [n, k], and out [m] or [m, k]. Elements are f32 or f64. Use it
    for networks, grids and graphs, where most pairs of nodes have nothing to do with each other.
    """

    offsets: In[s32] = port(rank=1, doc="Where each row begins, [m + 1].")
    columns: In[s32] = port(rank=1, doc="The column of each entry, [nnz].")
    entries: In[any_type] = port(rank=1, doc="Each entry, [nnz].")
    x: In[any_type] = port(dtype="same(entries)", doc="What is multiplied, [n] or [n, k].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="alpha A x.")
    alpha: float = param(1.0, min=-10, max=10, doc="Factor of the product.")
    transpose: bool = param(False, structural=True, doc="Multiply by the transposed matrix; x has m rows then.")
    width: int = param(0, min=0, max=2**31 - 1, structural=True, doc="Columns of the matrix, for a transposed one.")

    def describe(self, build: BlockBuilder) -> None:
        """One call of cuSPARSE, which reads alpha from device memory."""
        call = sparse.SparseProduct(self.transpose, self.width if self.transpose else 0)
        operands = {"offsets": self.offsets, "columns": self.columns, "values": self.entries, "x": self.x}
        build.capture(call.on(**operands, out=self.out, alpha=self.alpha))
