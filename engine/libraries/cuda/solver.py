"""What the plans of LAPACK's calls share: handles of cuSOLVER and cuBLAS, matrices by columns, and codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from nvmath.bindings import cublas, cusolverDn

from engine.libraries.cuda.blas import LETTERS, blas_handle
from engine.libraries.cuda.matrices import MatrixKernels, MatrixPart, Scratch, by_columns, transposed
from engine.libraries.cuda.plan import DATA_TYPES, Addresses, Handles, recommended_bytes
from engine.libraries.matrices import REAL_OF, Stack, stack_of
from engine.types.layout import Layout

#: An address for questions after the size of scratch memory, which depends on the matrices' sizes alone.
ANY = 256
LOWER = cublas.FillMode.LOWER


class LapackPlan:
    """What all plans share: handles, scratch memory with matrices `a` by columns, and a code for each matrix.

    A routine without a place for scratch memory, such as getrs, computes in memory of cuSOLVER's handle.
    """

    borrows = cusolverDn.create, cusolverDn.destroy

    def __init__(self, call: Any, layouts: Mapping[str, Layout], handles: Handles, count: int | None = None) -> None:
        self._call, self._handles = call, handles
        self._dtype = layouts["a"].dtype
        self._kind, self._size = DATA_TYPES[self._dtype], self._dtype.size_bytes
        self._real = DATA_TYPES[REAL_OF[self._dtype]]
        self._is_complex = self._dtype.kind == "complex"
        self._source = stack_of(layouts["a"])
        #: How many matrices are worked on: those of a, or the same one for each right side.
        self._count = self._source.count if count is None else count
        #: The handle for questions; `Addresses` has the one to compute with.
        self._asking = handles.get(cusolverDn.create, cusolverDn.destroy)
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
    _work: Workspace

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

    def _begin(self, stream: int, at: Addresses, part: MatrixPart = MatrixPart.ALL, *, turned: bool = False) -> None:
        """Set the handle to a stream, and bring a into scratch memory, as it is or transposed."""
        cusolverDn.set_stream(at.handle, stream)
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


class Workspace:
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
