"""BLAS by cuBLAS, which reads matrices column by column: it computes transposed products of transposed matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cuda.bindings import driver
from nvmath.bindings import cublas

from engine.device.cuda.errors import check
from engine.libraries.blas import Gemm, Matrix, matrix_of
from engine.libraries.call import LibraryCall
from engine.libraries.cuda.plan import DATA_TYPES, Addresses, Handles, Numbers, PlanMaker, number_dtype
from engine.types import DType, c128, f64
from engine.types.layout import Layout

#: Scratch memory that NVIDIA recommends, from compute capability 9.0 on and before.
_WORKSPACE_BYTES, _SMALL_WORKSPACE_BYTES = 32 << 20, 4 << 20
_HOST, _DEVICE = cublas.PointerMode.HOST, cublas.PointerMode.DEVICE


def blas_handle(handles: Handles, stream: int, at: Addresses) -> int:
    """Return cuBLAS's handle, set to a stream, to the scratch memory, and to where the numbers lie."""
    handle: int = handles.get(cublas.create, cublas.destroy)
    cublas.set_stream(handle, stream)  # which forgets the scratch memory
    cublas.set_workspace(handle, at.workspace, at.workspace_bytes)
    cublas.set_pointer_mode(handle, _DEVICE if at.numbers_on_device else _HOST)
    return handle


def workspace_bytes(handles: Handles) -> int:
    """Return how much scratch memory cuBLAS is given."""
    is_large = int(handles.info.architecture.removeprefix("sm_").rstrip("af")) >= 90
    return _WORKSPACE_BYTES if is_large else _SMALL_WORKSPACE_BYTES


def compute_type(dtype: DType) -> int:
    """Return the type in which cuBLAS multiplies and adds elements of a type."""
    kinds = cublas.ComputeType
    return int(kinds.COMPUTE_64F if dtype in (f64, c128) else kinds.COMPUTE_32F)


class GemmPlan:
    """A matrix product."""

    def __init__(self, call: Gemm, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._handles, self._layouts = handles, layouts
        out, a, b = (matrix_of(layouts[slot]) for slot in ("out", "a", "b"))
        self._dtype = layouts["out"].dtype
        self._m, self._n, self._count = out.rows, out.columns, out.count
        self._k = a.rows if call.transpose_a else a.columns
        self._out = out
        self._a, self._operation_a = a, _operation(a, is_transposed=call.transpose_a)
        self._b, self._operation_b = b, _operation(b, is_transposed=call.transpose_b)
        self.workspace_bytes = workspace_bytes(handles)

    def issue(self, stream: int, at: Addresses) -> None:
        """Copy c to out, where it is multiplied by beta and the product is added."""
        handle = blas_handle(self._handles, stream, at)
        out, size = at.operands["out"], self._layouts["out"].size_bytes
        if "c" in at.operands:
            check(driver.cuMemcpyAsync(out, at.operands["c"], size, stream), "copying c")
        else:  # beta may be anything
            at = replace(at, numbers={**at.numbers, "beta": self._handles.zero if at.numbers_on_device else 0.0})
        numbers = Numbers(at, number_dtype(self._dtype))
        kind, of = DATA_TYPES[self._dtype], at.operands
        first = handle, self._operation_b, self._operation_a, self._n, self._m, self._k, numbers.address("alpha")
        b, a, beta = (of["b"], kind, self._b.leading), (of["a"], kind, self._a.leading), numbers.address("beta")
        last = compute_type(self._dtype), -1  # the library chooses the algorithm
        if self._count == 1:
            cublas.gemm_ex_64(*first, *b, *a, beta, out, kind, self._out.leading, *last)
        else:
            where = out, kind, self._out.leading, self._out.distance
            many = (*b, self._b.distance, *a, self._a.distance)
            cublas.gemm_strided_batched_ex_64(*first, *many, beta, *where, self._count, *last)


def _operation(matrix: Matrix, *, is_transposed: bool) -> int:
    operations = cublas.Operation
    return int(operations.T if matrix.is_transposed != is_transposed else operations.N)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {Gemm: GemmPlan}
