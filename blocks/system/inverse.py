from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class Inverse(Block, id="linalg.inverse", tags=("invert", "inv", "reciprocal", "getri", "lapack")):
    """Inverts a matrix.

    a out is the identity, with a and out [n, n], computed by LU with pivots. Leading axes are batch axes: each matrix
    is inverted separately. To multiply an inverse by a vector or a matrix, use Solve, which is faster and more exact.
    For a singular matrix, out holds infinities or NaN, and a warning is shown. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., n, n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The inverse, [..., n, n].")

    def describe(self, build: BlockBuilder) -> None:
        """Capture a factorisation and a solution for the identity."""
        build.capture(lapack.Inverse().on(a=self.a, out=self.out))
