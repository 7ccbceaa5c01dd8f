from engine.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class LeastSquares(Block, id="linalg.least_squares", tags=("lstsq", "fit", "regression", "overdetermined", "lapack")):
    """Find the best solution of more equations than unknowns.

    x that makes the norm of a x - b smallest, with a [m, n], m at least n: the coefficients of a fit, where each row of
    a holds one point's values of the functions that are fitted and b the measured values. It is worked out by QR, which
    is more exact than solving a^T a x = a^T b. Right sides may be the columns of b [m, r]; leading axes repeat all.

    Columns that depend on each other give a warning. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n], m at least n.")
    b: In[any_type] = port(dtype="same(a)", strided=True, doc="Right side [m], or sides [..., m, r] as columns.")
    x: Out[any_type] = port(dtype="captured", shape="captured", doc="The solution, [..., n, r], or [..., n] for one.")

    def describe(self, build: BlockBuilder) -> None:
        """A factorisation, a product and a substitution, captured together."""
        build.capture(lapack.LeastSquares().on(a=self.a, b=self.b, x=self.x))
