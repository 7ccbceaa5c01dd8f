"""LAPACK by cuSOLVER and cuBLAS, with routines of theirs that can be captured, on matrices column by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from nvmath.bindings import cublas, cusolverDn

from engine.libraries.call import LibraryCall, OperandError
from engine.libraries.cuda.blas import LETTERS, blas_handle
from engine.libraries.cuda.matrices import MatrixKernels, Part, Scratch, by_columns, transposed
from engine.libraries.cuda.plan import DATA_TYPES, Addresses, Handles, PlanMaker, recommended_bytes
from engine.libraries.lapack import Cholesky, Eigh, Inverse, LeastSquares, Lu, Qr, Solve, Svd
from engine.libraries.matrices import REAL_OF, Stack, stack_of
from engine.types.layout import Layout

#: An address for questions after the size of scratch memory, which depends on the matrices' sizes alone.
_ANY = 256
_N, _T, _C = cublas.Operation.N, cublas.Operation.T, cublas.Operation.C
_LOWER, _UPPER = cublas.FillMode.LOWER, cublas.FillMode.UPPER
_LEFT, _NON_UNIT = cublas.SideMode.LEFT, cublas.DiagType.NON_UNIT
_WITH_VECTORS, _ECONOMY = 1, 1
#: Matrices up to this size are factored all at once, larger ones one after another.
_MOST_BATCHED = 512
#: What cuSOLVER can be captured with: eigenvalues and singular values of so many rows or columns, and those by Jacobi's
#: method.
_MOST_VALUES, _MOST_JACOBI = 512, 32


class _LapackPlan:
    """What all plans share: handles, scratch memory with matrices `a` by columns, and a code for each matrix."""

    def __init__(self, call: Any, layouts: Mapping[str, Layout], handles: Handles, count: int | None = None) -> None:
        self._call, self._handles = call, handles
        self._dtype = layouts["a"].dtype
        self._kind, self._size = DATA_TYPES[self._dtype], self._dtype.size_bytes
        self._real = DATA_TYPES[REAL_OF[self._dtype]]
        self._is_complex = self._dtype.kind == "complex"
        self._source = stack_of(layouts["a"])
        #: How many matrices are worked on: those of a, or the same one for each right side.
        self._count = self._source.count if count is None else count
        self._solver = handles.get(cusolverDn.create, cusolverDn.destroy)
        self._params = handles.get(cusolverDn.create_params, cusolverDn.destroy_params)
        self._kernels = MatrixKernels(handles, self._dtype)
        self._scratch = Scratch()
        self._a = by_columns(self._count, self._source.rows, self._source.columns)
        self._a_at = self._take(self._a)
        self._codes_at = self._scratch.take(4 * self._count)
        self._unread_at = self._scratch.take(4)  # codes about parameters
        self._blas_at: int | None = None
        self._one = np.ones(1, self._dtype.numpy)

    #: Scratch memory of the routine that does most, where it is one of cuSOLVER's.
    _work: _Work

    @property
    def workspace_bytes(self) -> int:
        """Bytes of scratch memory."""
        return self._scratch.size_bytes

    def _take(self, stack: Stack) -> int:
        return self._scratch.take(stack.count * stack.rows * stack.columns * self._size)

    def _use_blas(self) -> None:
        """Take scratch memory for cuBLAS too."""
        self._handles.get(cublas.create, cublas.destroy)
        self._blas_at = self._scratch.take(recommended_bytes(self._handles))

    def _blas(self, stream: int, at: Addresses) -> int:
        assert self._blas_at is not None
        part = replace(at, workspace=at.workspace + self._blas_at, workspace_bytes=recommended_bytes(self._handles))
        return blas_handle(self._handles, stream, part, on_device=False)

    def _begin(self, stream: int, at: Addresses, part: Part = Part.ALL, *, turned: bool = False) -> None:
        """Set the handle to a stream, and bring a into scratch memory, as it is or transposed."""
        cusolverDn.set_stream(self._solver, stream)
        target = by_columns(self._count, self._a.columns, self._a.rows) if turned else self._a
        source = transposed(self._source) if turned else self._source
        self._kernels.copy(stream, (at.workspace + self._a_at, target), (at.operands["a"], source), part)

    def _end(self, stream: int, at: Addresses) -> None:
        """Bring the codes into the call's word."""
        self._kernels.first_code(stream, at.operands["info"], at.workspace + self._codes_at, self._count)

    def _matrix(self, at: Addresses, index: int) -> int:
        """Return the address of one matrix in scratch memory."""
        return at.workspace + self._a_at + index * self._a.steps[0] * self._size

    def _code(self, at: Addresses, index: int) -> int:
        return at.workspace + self._codes_at + 4 * index

    def _routine(self, name: str) -> Any:
        """Return a routine of cuSOLVER for the elements; what is orthogonal is unitary for complex ones."""
        if self._is_complex and name.startswith("or"):
            name = "un" + name[2:]
        return getattr(cusolverDn, LETTERS[self._dtype] + name)

    def _blas_routine(self, name: str) -> Any:
        return getattr(cublas, LETTERS[self._dtype] + name)


class _Work:
    """Scratch memory of one routine, on the device and on the host."""

    def __init__(self, scratch: Scratch, device_bytes: int, host_bytes: int = 0) -> None:
        self._place, self._bytes = scratch.take(device_bytes), device_bytes
        self._host = np.empty(max(host_bytes, 8), np.uint8)
        self._host_bytes = host_bytes

    def arguments(self, at: Addresses) -> tuple[int, int, int, int]:
        """Return what 64-bit routines take: address and bytes on the device, and on the host."""
        return self.address(at), self._bytes, int(self._host.ctypes.data), self._host_bytes

    def address(self, at: Addresses) -> int:
        """Return the address on the device."""
        return at.workspace + self._place


class _FactoredPlan(_LapackPlan):
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
        given = self._solver, self._params
        if positive:
            sizes = cusolverDn.xpotrf_buffer_size(*given, _LOWER, n, self._kind, _ANY, n, self._kind)
        else:
            sizes = cusolverDn.xgetrf_buffer_size(*given, m, n, self._kind, _ANY, m, self._kind)
        self._work = _Work(self._scratch, *sizes)

    def _factor(self, stream: int, at: Addresses) -> None:
        """Bring a into scratch memory and factor it there."""
        self._begin(stream, at, Part.LOWER if self._positive else Part.ALL)
        m, n = self._a.rows, self._a.columns
        if self._batched:
            addresses = at.workspace + self._addresses_at
            self._kernels.addresses(stream, addresses, self._matrix(at, 0), n * n * self._size, self._count)
            if self._positive:
                routine = self._routine("potrf_batched")
                routine(self._solver, _LOWER, n, addresses, n, self._code(at, 0), self._count)
            else:
                routine, pivots = self._blas_routine("getrf_batched"), at.workspace + self._pivots_at
                routine(self._blas(stream, at), n, addresses, n, pivots, self._code(at, 0), self._count)
            return
        for index in range(self._count):
            matrix, work, code = self._matrix(at, index), self._work.arguments(at), self._code(at, index)
            given = self._solver, self._params
            if self._positive:
                cusolverDn.xpotrf(*given, _LOWER, n, self._kind, matrix, n, self._kind, *work, code)
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
                    self._blas_routine("trsm_batched_64")(handle, _LEFT, _LOWER, operation, _NON_UNIT, *sizes)
            else:
                pivots, code = at.workspace + self._pivots_at, int(self._host_code.ctypes.data)
                routine = self._blas_routine("getrs_batched")
                routine(handle, _N, n, r, matrices, n, pivots, sides, n, code, self._count)
            return
        given, unread = (self._solver, self._params), at.workspace + self._unread_at
        for index in range(self._count):
            matrix = self._kind, self._matrix(at, index), n
            side = self._kind, first + index * n * r * self._size, n
            if self._positive:
                cusolverDn.xpotrs(*given, _LOWER, n, r, *matrix, *side, unread)
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
        self._kernels.copy(stream, sides, sides, Part.IDENTITY)
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
        self._kernels.copy(stream, (at.operands["out"], self._out), (self._matrix(at, 0), self._a), Part.LOWER)
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
        self._kernels.copy(stream, (of["lower"], self._lower), factors, Part.UNIT_LOWER)
        self._kernels.copy(stream, (of["upper"], self._upper), factors, Part.UPPER)
        sizes = self._a.rows, self._lower.columns, self._count
        self._kernels.row_order(stream, of["order"], at.workspace + self._pivots_at, sizes)
        self._end(stream, at)


class _QrPlan(_LapackPlan):
    """Matrices that are factored by QR one after another."""

    def __init__(self, call: Any, layouts: Mapping[str, Layout], handles: Handles, count: int | None = None) -> None:
        super().__init__(call, layouts, handles, count)
        m, n = self._a.rows, self._a.columns
        self._tau_at = self._scratch.take(min(m, n) * self._size)
        given = self._solver, self._params, m, n, self._kind, _ANY, m, self._kind, _ANY, self._kind
        self._work = _Work(self._scratch, *cusolverDn.xgeqrf_buffer_size(*given))

    def _factor_one(self, at: Addresses, index: int) -> None:
        m, n = self._a.rows, self._a.columns
        given = self._solver, self._params, m, n, self._kind, self._matrix(at, index), m
        tau, unread = at.workspace + self._tau_at, at.workspace + self._unread_at
        cusolverDn.xgeqrf(*given, self._kind, tau, self._kind, *self._work.arguments(at), unread)


class QrPlan(_QrPlan):
    """The factors of QR."""

    def __init__(self, call: Qr, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(call, layouts, handles)
        self._q, self._r = stack_of(layouts["q"]), stack_of(layouts["r"])
        m, k = self._q.rows, self._q.columns
        self._length = self._routine("orgqr_buffer_size")(self._solver, m, k, k, _ANY, m, _ANY)
        self._forming = _Work(self._scratch, self._length * self._size)

    def issue(self, stream: int, at: Addresses) -> None:
        """Factor each, copy its upper triangle, and form Q in its place."""
        self._begin(stream, at)
        m, k = self._q.rows, self._q.columns
        one_r, row_bytes = replace(self._r, count=1), self._r.rows * self._r.columns * self._size
        for index in range(self._count):
            self._factor_one(at, index)
            matrix = self._matrix(at, index)
            target = at.operands["r"] + index * row_bytes, one_r
            self._kernels.copy(stream, target, (matrix, self._a), Part.UPPER)
            tau, unread = at.workspace + self._tau_at, at.workspace + self._unread_at
            work = self._forming.address(at), self._length
            self._routine("orgqr")(self._solver, m, k, k, matrix, m, tau, *work, unread)
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
        given = self._solver, _LEFT, self._adjoint, m, r, n, _ANY, m, _ANY, _ANY, m
        self._length = self._routine("ormqr_buffer_size")(*given)
        self._turning = _Work(self._scratch, self._length * self._size)
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
            given = self._solver, _LEFT, self._adjoint, m, r, n, matrix, m, tau, side, m
            self._routine("ormqr")(*given, *work, unread)
            upper = handle, _LEFT, _UPPER, _N, _NON_UNIT, n, r, int(self._one.ctypes.data)
            self._blas_routine("trsm_64")(*upper, matrix, m, side, m)
        self._kernels.copy(stream, (at.operands["x"], self._x), (first, self._sides))
        self._kernels.dependent_columns(stream, at.workspace + self._codes_at, (self._matrix(at, 0), self._a))
        self._end(stream, at)


class EighPlan(_LapackPlan):
    """Eigenvalues and eigenvectors."""

    def __init__(self, call: Eigh, layouts: Mapping[str, Layout], handles: Handles) -> None:
        _check_captured("rows", layouts["a"].shape[-1])
        super().__init__(call, layouts, handles)
        self._vectors = stack_of(layouts["vectors"])
        self._work = _Work(self._scratch, *cusolverDn.xsyev_batched_buffer_size(*self._given(_ANY, _ANY), self._count))

    def _given(self, matrix: int, values: int) -> tuple[int, ...]:
        n = self._a.rows
        first = self._solver, self._params, _WITH_VECTORS, int(_LOWER), n
        return *first, self._kind, matrix, n, self._real, values, self._kind

    def issue(self, stream: int, at: Addresses) -> None:
        """Find them in place of a, and copy the vectors."""
        self._begin(stream, at)
        given = self._given(self._matrix(at, 0), at.operands["values"])
        cusolverDn.xsyev_batched(*given, *self._work.arguments(at), self._code(at, 0), self._count)
        self._kernels.copy(stream, (at.operands["vectors"], self._vectors), (self._matrix(at, 0), self._a))
        self._end(stream, at)


class SvdPlan(_LapackPlan):
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
        self._length = size_of(*self._given(_ANY, _ANY, _ANY, _ANY), *last, self._count)
        self._work = _Work(self._scratch, self._length * self._size)

    def _given(self, a: int, s: int, u: int, v: int) -> tuple[int, ...]:
        """Return what the routine and the question after its scratch memory begin with."""
        m, n = self._m, self._n
        if self._is_jacobi:
            return self._solver, _WITH_VECTORS, m, n, a, m, s, u, m, v, n
        first = self._solver, _WITH_VECTORS, n, m, n
        return *first, a, m, m * n, s, n, u, m, m * n, v, n, n * n

    def issue(self, stream: int, at: Addresses) -> None:
        """Decompose, and copy the vectors as a has them."""
        self._begin(stream, at, turned=self._is_wide)
        u, v = at.workspace + self._u_at, at.workspace + self._v_at
        given = self._given(self._matrix(at, 0), at.operands["s"], u, v)
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
