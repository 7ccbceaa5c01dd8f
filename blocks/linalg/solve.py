from engine.api import Block, BlockBuilder, In, Out, any_type, lapack, param, port


class Solve(Block, id="linalg.solve", tags=("linear", "system", "equations", "lu", "cholesky", "lapack", "backslash")):
    """Solve linear equations.

    x such that a x = b, with a [n, n]: by LU with pivots, or for a positive definite a, as least squares, smoothing and
    covariances give it, by Cholesky's method in half the time; of that a, only the lower half is read. Several right
    sides are the columns of b [n, r]. Leading axes repeat the solution; a or b may lack them and is then used for all.

    A matrix that can't be solved gives a warning with the column or part at fault, and infinities or NaN. Elements are
    f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., n, n].")
    b: In[any_type] = port(dtype="same(a)", strided=True, doc="Right side [n], or sides [..., n, r] as columns.")
    x: Out[any_type] = port(dtype="captured", shape="captured", doc="The solution, [..., n, r], or [..., n] for one.")
    matrix: str = param(
        "any", choices=("any", "positive definite"), structural=True, doc="What is known of a: any has LU with pivots."
    )

    def describe(self, build: BlockBuilder) -> None:
        """A factorisation and two substitutions, captured together."""
        call = lapack.Solve(positive=self.matrix == "positive definite")
        build.capture(call.on(a=self.a, b=self.b, x=self.x))
