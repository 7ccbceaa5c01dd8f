"""LAPACK by those routines of cuSOLVER and cuBLAS that can be captured, on matrices stored column by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nvmath.bindings import cublas

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.cuda.matrices import MatrixPart, by_columns, transposed
from warploom.engine.libraries.cuda.plan import Addresses, Handles, PlanMaker
from warploom.engine.libraries.cuda.solver import LapackPlan
from warploom.engine.libraries.lapack import Cholesky, Eigh, Inverse, LeastSquares, Lu, Qr, Solve, Svd
from warploom.engine.libraries.matrices import stack_of
from warploom.engine.types.layout import Layout

#: Matrices up to this size are factored all at once, larger ones one after another.
_MOST_BATCHED = 512
#: The most rows whose eigenvalues cuSOLVER finds in a capture, and the most columns in `kernels/orthogonal.cu`.
_MOST_VALUES = 512


class _FactoredPlan(LapackPlan):
    """A plan whose matrices are square or not, and are factored by LU, or by Cholesky if they are `positive`.

    Several small ones are factored all at once, if `batched` allows it.
    """

    def __init__(
        self,
        layouts: Mapping[str, Layout],
        handles: Handles,
        count: int | None = None,
        *,
        positive: bool = False,
        batched: bool = True,
    ) -> None:
        super().__init__(layouts, handles, count)
        m, n = self._a.rows, self._a.columns
        self._positive = positive
        self._batched = batched and self._count > 1 and n <= _MOST_BATCHED
        self._take("pivots", min(m, n) * (4 if self._batched else 8))  # of 32 bits or 64
        if self._batched:
            self._use_blas()
            self._take("matrices", 8)
        else:
            self._use("xpotrf" if positive else "xgetrf")

    def _factor(self, stream: int, at: Addresses) -> None:
        """Bring a into scratch memory and factor it there."""
        self._begin(stream, at, MatrixPart.LOWER if self._positive else MatrixPart.ALL)
        if self._batched:
            self._write_addresses(stream, at, "matrices", "a")
            self._call("potrf_batched" if self._positive else "getrf_batched", at)
            return
        for index in range(self._count):
            self._call("xpotrf" if self._positive else "xgetrf", at, index)


class SystemPlan(_FactoredPlan):
    """Linear equations: right sides by columns in scratch memory, where the solutions take their place.

    An inverse is the solution for the identity.
    """

    def __init__(self, call: Solve | Inverse, layouts: Mapping[str, Layout], handles: Handles) -> None:
        vectors = "b" in layouts and len(layouts["b"].shape) == 1
        self._b = stack_of(layouts["b"], vectors=vectors) if "b" in layouts else None
        self._out = "out" if self._b is None else "x"
        self._x = stack_of(layouts[self._out], vectors=vectors)
        super().__init__(layouts, handles, self._x.count, positive=isinstance(call, Solve) and call.positive)
        self._sides = by_columns(self._x.count, self._x.rows, self._x.columns)
        self._numbers["r"] = self._sides.columns
        self._take_stack("b", self._sides)
        if self._batched:
            self._take("sides", 8)

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor, substitute, and copy the solution."""
        self._factor(stream, at)
        sides = self._address(at, "b"), self._sides
        if self._b is None:
            self._kernels.copy(stream, sides, sides, MatrixPart.IDENTITY)
        else:
            self._kernels.copy(stream, sides, (at.operands["b"], self._b))
        self._substitute(stream, at)
        self._kernels.copy(stream, (at.operands[self._out], self._x), sides)
        self._end(stream, at)

    def _substitute(self, stream: int, at: Addresses) -> None:
        if not self._batched:
            for index in range(self._count):
                self._call("xpotrs" if self._positive else "xgetrs", at, index)
            return
        self._write_addresses(stream, at, "sides", "b")
        if self._positive:
            for operation in (cublas.Operation.N, cublas.Operation.C):
                self._call("trsm_batched_64", at, operation=operation)
        else:
            self._call("getrs_batched", at)


class CholeskyPlan(_FactoredPlan):
    """The factor of a Cholesky decomposition."""

    def __init__(self, call: Cholesky, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts, handles, positive=True)
        self._out = stack_of(layouts["out"])

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor, and copy the lower half."""
        self._factor(stream, at)
        factors = self._address(at, "a"), self._a
        self._kernels.copy(stream, (at.operands["out"], self._out), factors, MatrixPart.LOWER)
        self._end(stream, at)


class LuPlan(_FactoredPlan):
    """The factors of an LU decomposition, as separate matrices."""

    def __init__(self, call: Lu, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts, handles, batched=False)
        self._lower, self._upper = stack_of(layouts["lower"]), stack_of(layouts["upper"])

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor, copy both triangles, and find the order of the rows."""
        self._factor(stream, at)
        factors, of = (self._address(at, "a"), self._a), at.operands
        self._kernels.copy(stream, (of["lower"], self._lower), factors, MatrixPart.UNIT_LOWER)
        self._kernels.copy(stream, (of["upper"], self._upper), factors, MatrixPart.UPPER)
        sizes = self._a.rows, self._lower.columns, self._count
        self._kernels.row_order(stream, of["order"], self._address(at, "pivots"), sizes)
        self._end(stream, at)


class QrPlan(LapackPlan):
    """The factors of QR, of one matrix after another."""

    def __init__(self, call: Qr, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts, handles)
        self._q, self._r = stack_of(layouts["q"]), stack_of(layouts["r"])
        self._take("tau", self._q.columns * self._size, shared=True)
        self._use("xgeqrf")
        self._use("orgqr")

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor each, copy its upper triangle, and form Q in its place."""
        self._begin(stream, at)
        one_r, row_bytes = replace(self._r, count=1), self._r.rows * self._r.columns * self._size
        for index in range(self._count):
            self._call("xgeqrf", at, index)
            target = at.operands["r"] + index * row_bytes, one_r
            self._kernels.copy(stream, target, (self._address(at, "a", index), self._a), MatrixPart.UPPER)
            self._call("orgqr", at, index)
        self._kernels.copy(stream, (at.operands["q"], self._q), (self._address(at, "a"), self._a))


class LeastSquaresPlan(LapackPlan):
    """Least squares by QR, of one matrix after another."""

    def __init__(self, call: LeastSquares, layouts: Mapping[str, Layout], handles: Handles) -> None:
        vectors = len(layouts["b"].shape) == 1
        self._b, self._x = (stack_of(layouts[slot], vectors=vectors) for slot in ("b", "x"))
        super().__init__(layouts, handles, self._x.count)
        self._take("tau", self._a.columns * self._size, shared=True)
        self._use("xgeqrf")
        self._sides = by_columns(self._count, self._a.rows, self._x.columns)
        self._numbers["r"] = self._x.columns
        self._take_stack("b", self._sides)
        self._use("ormqr")
        self._use_blas()

    def issue(self, stream: int, at: Addresses) -> None:
        """Multiply the right sides by Q's adjoint, and substitute in R."""
        self._begin(stream, at)
        sides = self._address(at, "b"), self._sides
        self._kernels.copy(stream, sides, (at.operands["b"], self._b))
        for index in range(self._count):
            for routine in ("xgeqrf", "ormqr", "trsm_64"):
                self._call(routine, at, index)
        self._kernels.copy(stream, (at.operands["x"], self._x), sides)
        self._kernels.dependent_columns(stream, self._address(at, "code"), (self._address(at, "a"), self._a))
        self._end(stream, at)


class _VectorsPlan(LapackPlan):
    """Singular values and vectors of `a` [m, n] with m >= n: cuSOLVER's eigenvectors, corrected by rotations.

    cuSOLVER has no exact method for this that can be captured at all sizes, and its eigenvectors of matrices with equal
    eigenvalues are wrong. So they only bring the columns close to orthogonal; the kernel `singular_values` ends with
    the same result whatever they are.
    """

    def __init__(self, layouts: Mapping[str, Layout], handles: Handles, m: int, n: int) -> None:
        if n > _MOST_VALUES:
            raise OperandError("a", f"matrix must have at most {_MOST_VALUES} rows or columns on CUDA, got {n}")
        super().__init__(layouts, handles)
        self._left, self._right = by_columns(self._count, m, n), by_columns(self._count, n, n)
        self._numbers |= {"m": m, "n": n, "step": m * n}
        self._take_stack("b", self._left)
        self._take_stack("v", self._right)
        self._take_stack("w", self._right)
        self._take("values", n * self._size)
        self._take("scales", 2 * self._size)
        self._use("xsyev_batched")
        self._use_blas()

    def _decompose(self, stream: int, at: Addresses, values: int, *, is_hermitian: bool) -> None:
        """Write the values, left vectors in place of a, and right ones into w."""
        m, n = self._left.rows, self._left.columns
        a, b, v, w, scales, codes = (self._address(at, part) for part in ("a", "b", "v", "w", "scales", "code"))
        self._kernels.scale(stream, a, scales, self._left, is_hermitian=is_hermitian)
        if is_hermitian:
            self._kernels.copy(stream, (v, self._right), (a, self._left))
        else:
            self._multiply(at, "adjoint", (n, m), (a, m * n), (v, n * n))
        self._call("xsyev_batched", at)
        self._kernels.orthonormalize(stream, v, self._right)
        self._multiply(at, "N", (m, n), (v, n * n), (b, m * n))
        self._kernels.singular_values(stream, (b, v, a, values, w, scales, codes), self._left)

    def _multiply(
        self, at: Addresses, operation: str, sizes: tuple[int, int], by: tuple[int, int], to: tuple[int, int]
    ) -> None:
        """Multiply a, or its adjoint; `by` and `to` are each the address of matrices, and the distance of neighbours in
        elements.
        """
        rows, inner = sizes
        given = {"operation": self._numbers[operation], "rows": rows, "inner": inner}
        places = {"by": by[0], "by_step": by[1], "to": to[0], "to_step": to[1]}
        self._call("gemm_strided_batched_64", at, **given, **places)


class EighPlan(_VectorsPlan):
    """Eigenvalues and eigenvectors."""

    def __init__(self, call: Eigh, layouts: Mapping[str, Layout], handles: Handles) -> None:
        n = layouts["a"].shape[-1]
        super().__init__(layouts, handles, n, n)
        self._vectors = stack_of(layouts["vectors"])

    def issue(self, stream: int, at: Addresses) -> None:
        """Decompose, and copy the vectors."""
        self._begin(stream, at)
        self._decompose(stream, at, at.operands["values"], is_hermitian=True)
        self._kernels.copy(stream, (at.operands["vectors"], self._vectors), (self._address(at, "w"), self._right))
        self._end(stream, at)


class SvdPlan(_VectorsPlan):
    """Singular values and vectors of a, or of its transpose when a is wide: A^T = U S V^H means A = conj(V) S U^T."""

    def __init__(self, call: Svd, layouts: Mapping[str, Layout], handles: Handles) -> None:
        rows, columns = layouts["a"].shape[-2:]
        super().__init__(layouts, handles, max(rows, columns), min(rows, columns))
        self._is_wide = rows < columns
        self._u, self._vh = stack_of(layouts["u"]), stack_of(layouts["vh"])

    def issue(self, stream: int, at: Addresses) -> None:
        """Decompose, and copy the vectors; for a wide a, left and right ones change places."""
        self._begin(stream, at, turned=self._is_wide)
        self._decompose(stream, at, at.operands["s"], is_hermitian=False)
        u, vh = (at.operands["u"], self._u), (at.operands["vh"], self._vh)
        left, right = (self._address(at, part) for part in ("a", "w"))
        if self._is_wide:
            self._kernels.copy(stream, u, (right, self._right), conjugate=True)
            self._kernels.copy(stream, vh, (left, transposed(self._left)))
        else:
            self._kernels.copy(stream, u, (left, self._left))
            self._kernels.copy(stream, vh, (right, transposed(self._right)), conjugate=True)
        self._end(stream, at)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {
    Solve: SystemPlan,
    LeastSquares: LeastSquaresPlan,
    Inverse: SystemPlan,
    Lu: LuPlan,
    Cholesky: CholeskyPlan,
    Qr: QrPlan,
    Eigh: EighPlan,
    Svd: SvdPlan,
}
