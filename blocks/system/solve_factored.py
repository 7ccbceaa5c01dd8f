from warploom.api import Composite, CompositeBuilder
from warploom.blocks.buffer.gather import Gather
from warploom.blocks.system.solve_triangular import SolveTriangular


class SolveFactored(
    Composite, id="linalg.solve_factored", tags=("linear", "system", "lu", "factors", "substitution", "getrs")
):
    """Solves a system of linear equations by the factors that an LU block has found.

    a x = b, where lower, upper and order are LU's outputs for a [n, n]. To factor takes far longer than to solve, so
    put LU where it runs once, such as before a loop, and solve for new right sides in each turn. Several right sides
    are the columns of b [n, r]. A 0 on upper's diagonal gives infinities or NaN. The block consists of a Gather of b's
    rows and two Solve Triangular.
    """

    def compose(self, build: CompositeBuilder) -> None:
        """Reorder the right sides, and substitute in both triangles."""
        rows = build.add_child(Gather, "rows", axis=0)
        lower = build.add_child(SolveTriangular, "lower", triangle="lower", unit_diagonal=True)
        upper = build.add_child(SolveTriangular, "upper", triangle="upper")
        build.connect_children(rows["out"], lower["b"])
        build.connect_children(lower["x"], upper["b"])
        build.expose_input("lower", lower["a"], doc="Lower triangle [n, n], whose diagonal counts as ones.")
        build.expose_input("upper", upper["a"], doc="Upper triangle [n, n].")
        build.expose_input("order", rows["indices"], doc="Row indices of a in their new order, [n].")
        build.expose_input("b", rows["x"], doc="Right side [n], or sides [n, r] as columns.")
        build.expose_output("x", upper["x"], doc="The solution, [n, r], or [n] for one.")
