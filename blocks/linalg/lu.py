from engine.api import Block, BlockBuilder, In, Out, any_type, lapack, port, s32


class Lu(Block, id="linalg.lu", tags=("factor", "triangular", "decomposition", "determinant", "getrf", "lapack")):
    """Factor a matrix into a lower and an upper triangle.

    lower upper = a[order], with a [m, n] and k = min(m, n): lower [m, k] has ones on its diagonal, upper is [k, n], and
    order holds the rows of a as they were chosen, the one with the largest element first. The product of upper's
    diagonal is the determinant but for its sign. Leading axes repeat it. A pivot of 0 gives a warning. Elements are
    f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n].")
    lower: Out[any_type] = port(
        dtype="captured", shape="captured", doc="Lower triangle [..., m, k], ones in the diagonal."
    )
    upper: Out[any_type] = port(dtype="captured", shape="captured", doc="Upper triangle [..., k, n].")
    order: Out[s32] = port(shape="captured", doc="Numbers of the rows of a in their new order, [..., m].")

    def describe(self, build: BlockBuilder) -> None:
        """A factorisation and what takes it apart, captured together."""
        build.capture(lapack.Lu().on(a=self.a, lower=self.lower, upper=self.upper, order=self.order))
