from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, port, s32


class Lu(
    Block, id="linalg.lu", title="LU", tags=("factor", "triangular", "decomposition", "determinant", "getrf", "lapack")
):
    """Factors a matrix into a lower and an upper triangle.

    lower upper = a[order], with a [m, n] and k = min(m, n): lower [m, k] has ones on its diagonal, and upper is [k, n].
    Partial pivoting chooses, in each column, the row with the largest element; order holds the chosen rows. Except for
    its sign, the determinant is the product of upper's diagonal. Leading axes are batch axes: each matrix is factored
    separately. A warning is shown when a pivot is 0. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n].")
    lower: Out[any_type] = port(
        dtype="captured", shape="captured", doc="Lower triangle [..., m, k], with ones on the diagonal."
    )
    upper: Out[any_type] = port(dtype="captured", shape="captured", doc="Upper triangle [..., k, n].")
    order: Out[s32] = port(shape="captured", doc="Row indices of a in their new order, [..., m].")

    def describe(self, build: BlockBuilder) -> None:
        """Capture a factorisation together with kernels that extract its factors."""
        build.capture(lapack.Lu().on(a=self.a, lower=self.lower, upper=self.upper, order=self.order))
