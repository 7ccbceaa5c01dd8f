from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, param, port


class SolveTriangular(
    Block, id="linalg.solve_triangular", tags=("linear", "system", "substitution", "triangle", "trsm", "blas")
):
    """Solves a system of linear equations with a triangular matrix.

    a x = b, with a [n, n], of which one triangle is read. Several right sides are the columns of b [n, r]. Leading axes
    are batch axes: each system is solved separately, and an a or b without batch axes is used for all. A 0 on the
    diagonal gives infinities or NaN. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., n, n].")
    b: In[any_type] = port(dtype="same(a)", doc="Right side [n], or sides [..., n, r] as columns.")
    x: Out[any_type] = port(dtype="captured", shape="captured", doc="The solution, [..., n, r], or [..., n] for one.")
    triangle: str = param("upper", choices=("upper", "lower"), structural=True, doc="The triangle of a that is read.")
    unit_diagonal: bool = param(False, structural=True, doc="Take a's diagonal for ones, as in the lower factor of LU.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture a substitution."""
        call = blas.SolveTriangular(lower=self.triangle == "lower", unit_diagonal=self.unit_diagonal)
        build.capture(call.on(a=self.a, b=self.b, x=self.x))
