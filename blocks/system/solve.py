from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, param, port


class Solve(Block, id="linalg.solve", tags=("linear", "system", "equations", "lu", "cholesky", "lapack", "backslash")):
    """Solves a system of linear equations.

    a x = b, with a [n, n]. A general a is factored by LU with pivots. A positive definite a, as in least squares,
    smoothing and covariances, is factored by Cholesky's method in half the time, and only its lower half is read.
    Several right sides are the columns of b [n, r]. Leading axes are batch axes: each system is solved separately, and
    an a or b without batch axes is used for all.

    For a singular matrix, or one that is not positive definite, the solution holds infinities or NaN, and a warning
    names the column or leading minor at fault. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., n, n].")
    b: In[any_type] = port(dtype="same(a)", strided=True, doc="Right side [n], or sides [..., n, r] as columns.")
    x: Out[any_type] = port(dtype="captured", shape="captured", doc="The solution, [..., n, r], or [..., n] for one.")
    matrix: str = param(
        "any",
        choices=("any", "positive definite"),
        structural=True,
        doc="Kind of matrix: any, solved by LU with pivots, or positive definite.",
    )

    def describe(self, build: BlockBuilder) -> None:
        """Capture a factorisation and two substitutions together."""
        call = lapack.Solve(positive=self.matrix == "positive definite")
        build.capture(call.on(a=self.a, b=self.b, x=self.x))
