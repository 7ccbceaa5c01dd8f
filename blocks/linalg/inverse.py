from engine.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class Inverse(Block, id="linalg.inverse", tags=("invert", "inv", "reciprocal", "getri", "lapack")):
    """Invert a matrix.

    out such that a out is the identity, by LU with pivots, with a and out [n, n]; leading axes repeat it. To multiply
    an inverse by something, Solve is faster and more exact. A matrix without one gives a warning, and infinities or
    NaN. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., n, n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The inverse, [..., n, n].")

    def describe(self, build: BlockBuilder) -> None:
        """A factorisation and the identity as right sides, captured together."""
        build.capture(lapack.Inverse().on(a=self.a, out=self.out))
