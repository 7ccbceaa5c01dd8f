from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, param, port


class AddMatrices(Block, id="linalg.add_matrices", tags=("geam", "transpose", "sum", "scale", "symmetric", "blas")):
    """Adds two matrices, each optionally transposed.

    out = alpha a + beta b, with a, b and out [m, n]. Without b, the block transposes or scales a. To make a matrix
    symmetric, connect it to both inputs, transpose one of them and set both factors to 0.5. Leading axes are batch
    axes, with one sum for each of their positions. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n], or [..., n, m] with transpose_a.")
    b: In[any_type] = port(
        dtype="same(a)", strided=True, optional=True, advised=False, doc="Matrix of the shape of a, or its transpose."
    )
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="alpha a + beta b, [..., m, n].")
    alpha: float = param(1.0, min=-10, max=10, doc="Factor of a.")
    beta: float = param(1.0, min=-10, max=10, doc="Factor of b.")
    transpose_a: bool = param(False, structural=True, doc="Swap the last two axes of a first.")
    transpose_b: bool = param(False, structural=True, doc="Swap the last two axes of b first.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of BLAS, which reads alpha and beta from device memory."""
        call = blas.Geam(self.transpose_a, self.transpose_b)
        build.capture(call.on(a=self.a, b=self.b, out=self.out, alpha=self.alpha, beta=self.beta))
