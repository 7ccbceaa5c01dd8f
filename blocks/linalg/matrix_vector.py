from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, param, port


class MatrixVector(Block, id="linalg.matrix_vector", tags=("matvec", "gemv", "multiply", "product", "blas")):
    """Multiplies a matrix by a vector.

    out = alpha a x + beta y, with a [m, k], x [k] and out [m]: element i of out is the sum over j of a[i, j] x[j].
    Leading axes are batch axes, with one product for each of their positions; an a or x without batch axes is used for
    all. Elements are f32, f64, c64 or c128. For many vectors at once, use Multiply with the vectors as columns, which
    is faster.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, k], or [..., k, m] with transpose.")
    x: In[any_type] = port(dtype="same(a)", strided=True, doc="Vector [..., k].")
    y: In[any_type] = port(dtype="same(a)", optional=True, advised=False, doc="Added to the product, [..., m].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="alpha a x + beta y, [..., m].")
    alpha: float = param(1.0, min=-10, max=10, doc="Factor of the product.")
    beta: float = param(1.0, min=-10, max=10, doc="Factor of y.")
    transpose: bool = param(False, structural=True, doc="Swap the last two axes of a first.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of BLAS, which reads alpha and beta from device memory."""
        call = blas.Gemv(self.transpose)
        build.capture(call.on(a=self.a, x=self.x, y=self.y, out=self.out, alpha=self.alpha, beta=self.beta))
