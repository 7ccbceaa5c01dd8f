from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class LeastSquares(Block, id="linalg.least_squares", tags=("lstsq", "fit", "regression", "overdetermined", "lapack")):
    """Solves more equations than unknowns by least squares.

    x minimises the norm of a x - b, with a [m, n] and m at least n. To fit functions to points, each row of a holds the
    values of these functions at one point, b holds the measured values, and x becomes the coefficients. QR is used,
    which is more exact than solving a^T a x = a^T b. Several right sides are the columns of b [m, r]. Leading axes are
    batch axes: each system is solved separately.

    A warning is shown when columns of a are linearly dependent. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n], m at least n.")
    b: In[any_type] = port(dtype="same(a)", strided=True, doc="Right side [m], or sides [..., m, r] as columns.")
    x: Out[any_type] = port(dtype="captured", shape="captured", doc="The solution, [..., n, r], or [..., n] for one.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture a factorisation, a product and a substitution together."""
        build.capture(lapack.LeastSquares().on(a=self.a, b=self.b, x=self.x))
