from warploom.api import Block, BlockBuilder, In, Out, any_type, param, port, s32, sparse


class SparseMultiply(Block, id="sparse.multiply", tags=("spmv", "spmm", "csr", "graph", "cusparse")):
    """Multiplies a sparse matrix by a vector or a dense matrix.

    out = alpha A x, with A [m, n] in CSR form. `columns` and `entries` list the entries row by row. `offsets` has the
    index at which each row begins; its last element is nnz, the number of entries. x is [n] or [n, k], and out is [m]
    or [m, k]. Elements are f32 or f64. Use it for networks, grids and graphs, where most pairs of nodes are not
    connected.
    """

    offsets: In[s32] = port(rank=1, doc="Index of each row's first entry, then the number of entries, [m + 1].")
    columns: In[s32] = port(rank=1, doc="Column of each entry, [nnz].")
    entries: In[any_type] = port(rank=1, doc="Value of each entry, [nnz].")
    x: In[any_type] = port(dtype="same(entries)", doc="Vector [n] or matrix [n, k].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="alpha A x.")
    alpha: float = param(1.0, min=-10, max=10, doc="Factor of the product.")
    transpose: bool = param(False, structural=True, doc="Multiply by the transposed matrix; x then has m rows.")
    width: int = param(0, min=0, max=2**31 - 1, structural=True, doc="Number of columns n of A; used when transposed.")
    checked: bool = param(
        True,
        structural=True,
        doc="Check the matrix in each frame. Without the check, a GPU launches three kernels fewer, but a wrong matrix "
        "may cause a fault.",
    )

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of cuSPARSE, which reads alpha from device memory."""
        call = sparse.SparseProduct(self.transpose, self.width if self.transpose else 0, self.checked)
        operands = {"offsets": self.offsets, "columns": self.columns, "values": self.entries, "x": self.x}
        build.capture(call.on(**operands, out=self.out, alpha=self.alpha))
