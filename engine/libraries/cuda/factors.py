"""Factors of matrices, and systems of equations that are solved by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from nvmath.bindings import cublas, cusolverDn

from engine.libraries.cuda.matrices import MatrixPart, by_columns
from engine.libraries.cuda.plan import Addresses, Handles
from engine.libraries.cuda.solver import ANY, LOWER, LapackPlan, Workspace
from engine.libraries.lapack import Cholesky, Inverse, LeastSquares, Lu, Qr, Solve
from engine.libraries.matrices import Stack, stack_of
from engine.types.layout import Layout

_N, _T, _C = cublas.Operation.N, cublas.Operation.T, cublas.Operation.C
_UPPER = cublas.FillMode.UPPER
_LEFT, _NON_UNIT = cublas.SideMode.LEFT, cublas.DiagType.NON_UNIT
#: Matrices up to this size are factored all at once, larger ones one after another.
_MOST_BATCHED = 512


class _FactoredPlan(LapackPlan):
    """A plan whose matrices are square or not, and are factored by LU, or by Cholesky if they are `positive`.

    Several small ones are factored all at once, if `batched` allows it.
    """

    def __init__(
        self,
        call: Any,
        layouts: Mapping[str, Layout],
        handles: Handles,
        count: int | None = None,
        *,
        positive: bool = False,
        batched: bool = True,
    ) -> None:
        super().__init__(call, layouts, handles, count)
        m, n = self._a.rows, self._a.columns
        self._positive = positive
        self._batched = batched and self._count > 1 and n <= _MOST_BATCHED
        #: The pivots of one matrix, of 32 bits or 64.
        self._pivots_bytes = min(m, n) * (4 if self._batched else 8)
        self._pivots_at = self._scratch.take(self._count * self._pivots_bytes)
        if self._batched:
            self._use_blas()
            self._addresses_at = self._scratch.take(8 * self._count)
            return
        given = self._asking, self._params
        if positive:
            sizes = cusolverDn.xpotrf_buffer_size(*given, LOWER, n, self._kind, ANY, n, self._kind)
        else:
            sizes = cusolverDn.xgetrf_buffer_size(*given, m, n, self._kind, ANY, m, self._kind)
        self._work = Workspace(self._scratch, *sizes)

    def _factor(self, stream: int, at: Addresses) -> None:
        """Bring a into scratch memory and factor it there."""
        self._begin(stream, at, MatrixPart.LOWER if self._positive else MatrixPart.ALL)
        m, n = self._a.rows, self._a.columns
        if self._batched:
            addresses = at.workspace + self._addresses_at
            self._kernels.addresses(stream, addresses, self._matrix(at, 0), n * n * self._size, self._count)
            if self._positive:
                routine = self._routine("potrf_batched")
                routine(at.handle, LOWER, n, addresses, n, self._code(at, 0), self._count)
            else:
                routine, pivots = self._blas_routine("getrf_batched"), at.workspace + self._pivots_at
                routine(self._blas(stream, at), n, addresses, n, pivots, self._code(at, 0), self._count)
            return
        for index in range(self._count):
            matrix, work, code = self._matrix(at, index), self._work.arguments(at), self._code(at, index)
            given = at.handle, self._params
            if self._positive:
                cusolverDn.xpotrf(*given, LOWER, n, self._kind, matrix, n, self._kind, *work, code)
            else:
                pivots = at.workspace + self._pivots_at + index * self._pivots_bytes
                cusolverDn.xgetrf(*given, m, n, self._kind, matrix, m, pivots, self._kind, *work, code)


class _SystemPlan(_FactoredPlan):
    """Factored matrices, and right sides by columns in scratch memory, where the solutions take their place."""

    def __init__(self, call: Any, layouts: Mapping[str, Layout], handles: Handles, x: Stack, *, positive: bool) -> None:
        super().__init__(call, layouts, handles, x.count, positive=positive)
        self._x, self._sides = x, by_columns(x.count, x.rows, x.columns)
        self._sides_at = self._take(self._sides)
        if self._batched:
            self._side_addresses_at = self._scratch.take(8 * self._count)
            self._host_code = np.zeros(1, np.int32)

    def _substitute(self, stream: int, at: Addresses) -> None:
        n, r = self._sides.rows, self._sides.columns
        first = at.workspace + self._sides_at
        if self._batched:
            matrices, sides = at.workspace + self._addresses_at, at.workspace + self._side_addresses_at
            self._kernels.addresses(stream, sides, first, n * r * self._size, self._count)
            handle = self._blas(stream, at)
            if self._positive:
                sizes = n, r, int(self._one.ctypes.data), matrices, n, sides, n, self._count
                for operation in (_N, _C):
                    self._blas_routine("trsm_batched_64")(handle, _LEFT, LOWER, operation, _NON_UNIT, *sizes)
            else:
                pivots, code = at.workspace + self._pivots_at, int(self._host_code.ctypes.data)
                routine = self._blas_routine("getrs_batched")
                routine(handle, _N, n, r, matrices, n, pivots, sides, n, code, self._count)
            return
        given, unread = (at.handle, self._params), at.workspace + self._unread_at
        for index in range(self._count):
            matrix = self._kind, self._matrix(at, index), n
            side = self._kind, first + index * n * r * self._size, n
            if self._positive:
                cusolverDn.xpotrs(*given, LOWER, n, r, *matrix, *side, unread)
            else:
                pivots = at.workspace + self._pivots_at + index * self._pivots_bytes
                cusolverDn.xgetrs(*given, _N, n, r, *matrix, pivots, *side, unread)


class SolvePlan(_SystemPlan):
    """Linear equations."""

    def __init__(self, call: Solve, layouts: Mapping[str, Layout], handles: Handles) -> None:
        vectors = len(layouts["b"].shape) == 1
        self._b = stack_of(layouts["b"], vectors=vectors)
        super().__init__(call, layouts, handles, stack_of(layouts["x"], vectors=vectors), positive=call.positive)

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor, substitute, and copy the solution to x."""
        self._factor(stream, at)
        sides = at.workspace + self._sides_at, self._sides
        self._kernels.copy(stream, sides, (at.operands["b"], self._b))
        self._substitute(stream, at)
        self._kernels.copy(stream, (at.operands["x"], self._x), sides)
        self._end(stream, at)


class InversePlan(_SystemPlan):
    """Equations with the identity as right sides."""

    def __init__(self, call: Inverse, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(call, layouts, handles, stack_of(layouts["out"]), positive=False)

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor, substitute, and copy the solution to out."""
        self._factor(stream, at)
        sides = at.workspace + self._sides_at, self._sides
        self._kernels.copy(stream, sides, sides, MatrixPart.IDENTITY)
        self._substitute(stream, at)
        self._kernels.copy(stream, (at.operands["out"], self._x), sides)
        self._end(stream, at)


class CholeskyPlan(_FactoredPlan):
    """Cholesky's factor."""

    def __init__(self, call: Cholesky, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(call, layouts, handles, positive=True)
        self._out = stack_of(layouts["out"])

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor, and copy the lower half."""
        self._factor(stream, at)
        self._kernels.copy(stream, (at.operands["out"], self._out), (self._matrix(at, 0), self._a), MatrixPart.LOWER)
        self._end(stream, at)


class LuPlan(_FactoredPlan):
    """The factors of LU, taken apart."""

    def __init__(self, call: Lu, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(call, layouts, handles, batched=False)
        self._lower, self._upper = stack_of(layouts["lower"]), stack_of(layouts["upper"])

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor, copy both triangles, and find the order of the rows."""
        self._factor(stream, at)
        factors, of = (self._matrix(at, 0), self._a), at.operands
        self._kernels.copy(stream, (of["lower"], self._lower), factors, MatrixPart.UNIT_LOWER)
        self._kernels.copy(stream, (of["upper"], self._upper), factors, MatrixPart.UPPER)
        sizes = self._a.rows, self._lower.columns, self._count
        self._kernels.row_order(stream, of["order"], at.workspace + self._pivots_at, sizes)
        self._end(stream, at)


class _QrPlan(LapackPlan):
    """Matrices that are factored by QR one after another."""

    def __init__(self, call: Any, layouts: Mapping[str, Layout], handles: Handles, count: int | None = None) -> None:
        super().__init__(call, layouts, handles, count)
        m, n = self._a.rows, self._a.columns
        self._tau_at = self._scratch.take(min(m, n) * self._size)
        given = self._asking, self._params, m, n, self._kind, ANY, m, self._kind, ANY, self._kind
        self._work = Workspace(self._scratch, *cusolverDn.xgeqrf_buffer_size(*given))

    def _factor_one(self, at: Addresses, index: int) -> None:
        m, n = self._a.rows, self._a.columns
        given = at.handle, self._params, m, n, self._kind, self._matrix(at, index), m
        tau, unread = at.workspace + self._tau_at, at.workspace + self._unread_at
        cusolverDn.xgeqrf(*given, self._kind, tau, self._kind, *self._work.arguments(at), unread)


class QrPlan(_QrPlan):
    """The factors of QR."""

    def __init__(self, call: Qr, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(call, layouts, handles)
        self._q, self._r = stack_of(layouts["q"]), stack_of(layouts["r"])
        m, k = self._q.rows, self._q.columns
        self._length = self._routine("orgqr_buffer_size")(self._asking, m, k, k, ANY, m, ANY)
        self._forming = Workspace(self._scratch, self._length * self._size)

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor each, copy its upper triangle, and form Q in its place."""
        self._begin(stream, at)
        m, k = self._q.rows, self._q.columns
        one_r, row_bytes = replace(self._r, count=1), self._r.rows * self._r.columns * self._size
        for index in range(self._count):
            self._factor_one(at, index)
            matrix = self._matrix(at, index)
            target = at.operands["r"] + index * row_bytes, one_r
            self._kernels.copy(stream, target, (matrix, self._a), MatrixPart.UPPER)
            tau, unread = at.workspace + self._tau_at, at.workspace + self._unread_at
            work = self._forming.address(at), self._length
            self._routine("orgqr")(at.handle, m, k, k, matrix, m, tau, *work, unread)
        self._kernels.copy(stream, (at.operands["q"], self._q), (self._matrix(at, 0), self._a))


class LeastSquaresPlan(_QrPlan):
    """Least squares by QR."""

    def __init__(self, call: LeastSquares, layouts: Mapping[str, Layout], handles: Handles) -> None:
        vectors = len(layouts["b"].shape) == 1
        self._b, self._x = (stack_of(layouts[slot], vectors=vectors) for slot in ("b", "x"))
        super().__init__(call, layouts, handles, self._x.count)
        m, n, r = self._a.rows, self._a.columns, self._x.columns
        self._sides = by_columns(self._count, m, r)
        self._sides_at = self._take(self._sides)
        self._adjoint = _C if self._is_complex else _T
        given = self._asking, _LEFT, self._adjoint, m, r, n, ANY, m, ANY, ANY, m
        self._length = self._routine("ormqr_buffer_size")(*given)
        self._turning = Workspace(self._scratch, self._length * self._size)
        self._use_blas()

    def issue(self, stream: int, at: Addresses) -> None:
        """Turn the right sides by Q's adjoint, and substitute in R."""
        self._begin(stream, at)
        first = at.workspace + self._sides_at
        self._kernels.copy(stream, (first, self._sides), (at.operands["b"], self._b))
        m, n, r = self._a.rows, self._a.columns, self._x.columns
        handle = self._blas(stream, at)
        for index in range(self._count):
            self._factor_one(at, index)
            matrix, side = self._matrix(at, index), first + index * m * r * self._size
            tau, unread = at.workspace + self._tau_at, at.workspace + self._unread_at
            work = self._turning.address(at), self._length
            given = at.handle, _LEFT, self._adjoint, m, r, n, matrix, m, tau, side, m
            self._routine("ormqr")(*given, *work, unread)
            upper = handle, _LEFT, _UPPER, _N, _NON_UNIT, n, r, int(self._one.ctypes.data)
            self._blas_routine("trsm_64")(*upper, matrix, m, side, m)
        self._kernels.copy(stream, (at.operands["x"], self._x), (first, self._sides))
        self._kernels.dependent_columns(stream, at.workspace + self._codes_at, (self._matrix(at, 0), self._a))
        self._end(stream, at)
