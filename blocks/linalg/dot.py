from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, param, port


class Dot(Block, id="linalg.dot", tags=("inner", "scalar", "product", "projection", "blas")):
    """Computes the dot product of two vectors.

    out is the sum of x[i] y[i], or with `conjugate` of conj(x[i]) y[i]. The result stays in device memory, so it can be
    a condition or a factor of other blocks without a round trip to the host. Elements are f32, f64, c64 or c128.
    """

    x: In[any_type] = port(strided=True, doc="Vector, or any shape without gaps.")
    y: In[any_type] = port(dtype="same(x)", strided=True, doc="Vector of the shape of x.")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The sum, [1].")
    conjugate: bool = param(False, structural=True, doc="Use the complex conjugates of x.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of BLAS."""
        build.capture(blas.Dot(self.conjugate).on(x=self.x, y=self.y, out=self.out))
