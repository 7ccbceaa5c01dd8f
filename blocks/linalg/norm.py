from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, port


class Norm(Block, id="linalg.norm", tags=("length", "magnitude", "euclidean", "nrm2", "frobenius", "blas")):
    """Computes the length of a vector.

    out is the square root of the sum of |x[i]|^2, one real number in device memory; for a matrix this is the Frobenius
    norm. Intermediate squares do not overflow. Use it to test whether a solver has converged. Elements are f32, f64,
    c64 or c128.
    """

    x: In[any_type] = port(strided=True, doc="Vector, or any shape without gaps.")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The length, [1], f32 or f64.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of BLAS."""
        build.capture(blas.Norm().on(x=self.x, out=self.out))
