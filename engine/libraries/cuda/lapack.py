"""LAPACK by cuSOLVER and cuBLAS, with routines of theirs that can be captured, on matrices column by column."""

from __future__ import annotations

from collections.abc import Mapping

from nvmath.bindings import cusolverDn

from engine.libraries.call import LibraryCall, OperandError
from engine.libraries.cuda.factors import CholeskyPlan, InversePlan, LeastSquaresPlan, LuPlan, QrPlan, SolvePlan
from engine.libraries.cuda.matrices import by_columns, transposed
from engine.libraries.cuda.plan import Addresses, Handles, PlanMaker
from engine.libraries.cuda.solver import ANY, LOWER, LapackPlan, Workspace
from engine.libraries.lapack import Cholesky, Eigh, Inverse, LeastSquares, Lu, Qr, Solve, Svd
from engine.libraries.matrices import Stack, stack_of
from engine.types.layout import Layout

_WITH_VECTORS = 1
#: What cuSOLVER can be captured with: eigenvalues and singular values of so many rows or columns, and those by Jacobi's
#: method.
_MOST_VALUES, _MOST_JACOBI = 512, 32


class EighPlan(LapackPlan):
    """Eigenvalues and eigenvectors."""

    def __init__(self, call: Eigh, layouts: Mapping[str, Layout], handles: Handles) -> None:
        _check_captured("rows", layouts["a"].shape[-1])
        super().__init__(call, layouts, handles)
        self._vectors = stack_of(layouts["vectors"])
        self._work = Workspace(
            self._scratch, *cusolverDn.xsyev_batched_buffer_size(*self._given(self._asking, ANY, ANY), self._count)
        )

    def _given(self, solver: int, matrix: int, values: int) -> tuple[int, ...]:
        n = self._a.rows
        first = solver, self._params, _WITH_VECTORS, int(LOWER), n
        return *first, self._kind, matrix, n, self._real, values, self._kind

    def issue(self, stream: int, at: Addresses) -> None:
        """Find them in place of a, and copy the vectors."""
        self._begin(stream, at)
        given = self._given(at.handle, self._matrix(at, 0), at.operands["values"])
        cusolverDn.xsyev_batched(*given, *self._work.arguments(at), self._code(at, 0), self._count)
        self._kernels.copy(stream, (at.operands["vectors"], self._vectors), (self._matrix(at, 0), self._a))
        self._end(stream, at)


class SvdPlan(LapackPlan):
    """Singular values and vectors of a, or of its transpose when a is wide: A^T = U S V^H says A = conj(V) S U^T.

    Small matrices have Jacobi's method; for larger ones, cuSOLVER's approximate method is the one that can be captured.
    """

    def __init__(self, call: Svd, layouts: Mapping[str, Layout], handles: Handles) -> None:
        rows, columns = layouts["a"].shape[-2:]
        _check_captured("rows or columns", min(rows, columns))
        super().__init__(call, layouts, handles)
        self._is_wide = rows < columns
        self._m, self._n = max(rows, columns), min(rows, columns)
        self._left, self._right = stack_of(layouts["u"]), stack_of(layouts["vh"])
        self._is_jacobi = self._m <= _MOST_JACOBI
        self._u_size = self._m * (self._m if self._is_jacobi else self._n)  # Jacobi's method gives all of U
        self._u_at = self._scratch.take(self._count * self._u_size * self._size)
        self._v_at = self._scratch.take(self._count * self._n * self._n * self._size)
        name = "gesvdj_batched" if self._is_jacobi else "gesvda_strided_batched"
        self._decompose, size_of = self._routine(name), self._routine(f"{name}_buffer_size")
        self._jacobi = handles.get(cusolverDn.create_gesvdj_info, cusolverDn.destroy_gesvdj_info)
        last = (self._jacobi,) if self._is_jacobi else ()
        self._length = size_of(*self._given(self._asking, ANY, ANY, ANY, ANY), *last, self._count)
        self._work = Workspace(self._scratch, self._length * self._size)

    def _given(self, solver: int, a: int, s: int, u: int, v: int) -> tuple[int, ...]:
        """Return what the routine and the question after its scratch memory begin with."""
        m, n = self._m, self._n
        if self._is_jacobi:
            return solver, _WITH_VECTORS, m, n, a, m, s, u, m, v, n
        first = solver, _WITH_VECTORS, n, m, n
        return *first, a, m, m * n, s, n, u, m, m * n, v, n, n * n

    def issue(self, stream: int, at: Addresses) -> None:
        """Decompose, and copy the vectors as a has them."""
        self._begin(stream, at, turned=self._is_wide)
        u, v = at.workspace + self._u_at, at.workspace + self._v_at
        given = self._given(at.handle, self._matrix(at, 0), at.operands["s"], u, v)
        last = self._jacobi if self._is_jacobi else 0  # no residuals, which would go to the host
        work = self._work.address(at), self._length
        self._decompose(*given, *work, self._code(at, 0), last, self._count)
        of_u = u, Stack(self._count, self._m, self._n, (self._u_size, 1, self._m))
        of_v = v, by_columns(self._count, self._n, self._n)
        left, right = (at.operands["u"], self._left), (at.operands["vh"], self._right)
        if self._is_wide:
            self._kernels.copy(stream, left, of_v, conjugate=True)
            self._kernels.copy(stream, right, (u, transposed(of_u[1])))
        else:
            self._kernels.copy(stream, left, of_u)
            self._kernels.copy(stream, right, (v, transposed(of_v[1])), conjugate=True)
        self._end(stream, at)


def _check_captured(what: str, size: int) -> None:
    if size > _MOST_VALUES:
        text = f"matrix must have at most {_MOST_VALUES} {what} on CUDA, where more can't be captured, got {size}"
        raise OperandError("a", text)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {
    Solve: SolvePlan,
    LeastSquares: LeastSquaresPlan,
    Inverse: InversePlan,
    Lu: LuPlan,
    Cholesky: CholeskyPlan,
    Qr: QrPlan,
    Eigh: EighPlan,
    Svd: SvdPlan,
}
