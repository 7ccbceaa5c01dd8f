from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, port
from warploom.blocks.buffer.gather import EDGES, Gather


class SolveFactored(
    Block, id="linalg.solve_factored", tags=("linear", "system", "lu", "factors", "substitution", "getrs")
):
    """Solves a system of linear equations by the factors that an LU block has found.

    a x = b, where lower, upper and order are LU's outputs for a [n, n]. To factor takes far longer than to solve, so
    put LU where it runs once, such as before a loop, and solve for new right sides in each turn. Several right sides
    are the columns of b [n, r]. A 0 on upper's diagonal gives infinities or NaN.
    """

    lower: In[any_type] = port(strided=True, rank=2, doc="Lower triangle [n, n], whose diagonal counts as ones.")
    upper: In[any_type] = port(dtype="same(lower)", strided=True, rank=2, doc="Upper triangle [n, n].")
    order: In[any_type] = port(dtype="number", rank=1, doc="Row indices of a in their new order, [n].")
    b: In[any_type] = port(dtype="same(lower)", doc="Right side [n], or sides [n, r] as columns.")
    x: Out[any_type] = port(dtype="same(b)", shape="same(b)", doc="The solution, [n, r], or [n] for one.")

    def describe(self, build: BlockBuilder) -> None:
        """Reorder the right sides, and substitute in both triangles."""
        b, rows = self.b, self.b.dim(0)
        for difference in (rows - self.order.size, self.order.size - rows):
            build.require(difference, "b must have as many rows as there are indices in order", port=b)
        types = build.element_type(b), build.element_type(self.order)
        sizes = EDGES.index("clamp"), rows, b.stride(0), self.order.size, b.size
        build.launch(Gather.kernel, num_threads=b.size, args=(b, self.order, self.x, *types, *sizes))
        middle = build.buffer("middle", any_type, "captured")
        build.capture(
            blas.SolveTriangular(lower=True, unit_diagonal=True).on(a=self.lower, b=self.x, x=middle),
            blas.SolveTriangular().on(a=self.upper, b=middle, x=self.x),
        )
