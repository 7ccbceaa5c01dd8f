"""LAPACK's routines in cuSOLVER and cuBLAS: their arguments, and the common part of the plans that call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from nvmath.bindings import cublas, cusolverDn

from warploom.engine.libraries.cuda.blas import LETTERS, blas_handle
from warploom.engine.libraries.cuda.matrices import MatrixKernels, MatrixPart, Scratch, by_columns, transposed
from warploom.engine.libraries.cuda.plan import DATA_TYPES, Addresses, Handles, recommended_bytes
from warploom.engine.libraries.matrices import REAL_OF, Stack, stack_of
from warploom.engine.types.layout import Layout

#: The arguments of each routine, as words; `LapackPlan` defines the words. If one of them is `(work)`, the routine of
#: the same name with `_buffer_size` returns the size of that memory, and takes the words that have no parentheses. A
#: name that begins with "x" is the same for all types. The others follow a letter for the type, and have "un" in place
#: of "or" for complex types.
ROUTINES: Mapping[str, str] = {
    "xpotrf": "solver params LOWER n kind a n kind (work) (code)",
    "xpotrs": "solver params LOWER n r kind a n kind b n unread",
    "potrf_batched": "solver LOWER n matrices n code count",
    "trsm_batched_64": "blas LEFT LOWER operation NON_UNIT n r one matrices n sides n count",
    "xgetrf": "solver params m n kind a m (pivots) kind (work) (code)",
    "xgetrs": "solver params N n r kind a n pivots kind b n unread",
    "getrf_batched": "blas n matrices n pivots code count",
    "getrs_batched": "blas N n r matrices n pivots sides n host_code count",
    "xgeqrf": "solver params m n kind a m kind tau kind (work) (unread)",
    "orgqr": "solver m k k a m tau (work) (unread)",
    "ormqr": "solver LEFT adjoint m r n a m tau b m (work) (unread)",
    "trsm_64": "blas LEFT UPPER N NON_UNIT n r one a m b m",
    "xsyev_batched": "solver params VECTORS LOWER n kind v n real values kind (work) (code) count",
    "gemm_strided_batched_64": "blas operation N rows n inner one a m step by inner by_step zero to rows to_step count",
}
#: A stand-in address for queries of scratch memory's size, which depends on the matrices' sizes alone.
_ANY = 256


class LapackPlan:
    """The common part of the plans: the words of routines, with scratch memory that holds matrices `a` by columns.

    A word is a number of this plan, such as a size, a part of its scratch memory, or else an operand of the call. A
    routine without `(work)`, such as getrs, computes in memory of cuSOLVER's handle.
    """

    borrows = cusolverDn.create, cusolverDn.destroy

    def __init__(self, layouts: Mapping[str, Layout], handles: Handles, count: int | None = None) -> None:
        self._handles, self._dtype = handles, layouts["a"].dtype
        self._size = self._dtype.size_bytes
        self._source = stack_of(layouts["a"])
        #: How many matrices are worked on: those of a, or the same one for each right side.
        self._count = self._source.count if count is None else count
        self._a = by_columns(self._count, self._source.rows, self._source.columns)
        #: The handle for queries; `Addresses` has the handle to compute with.
        self._asking = handles.get(cusolverDn.create, cusolverDn.destroy)
        self._kernels = MatrixKernels(handles, self._dtype)
        #: Scratch memory, and the parts of it: where each begins, and the bytes from one matrix to the next.
        self._scratch, self._parts = Scratch(), dict[str, tuple[int, int]]()
        #: By routine: the offset of its scratch memory, and the arguments that follow this memory's address in a call.
        self._work: dict[str, tuple[int, tuple[int, ...]]] = {}
        #: Host memory whose addresses are passed to routines.
        self._host = [np.ones(1, self._dtype.numpy), np.zeros(1, np.int32), np.zeros(1, self._dtype.numpy)]
        self._numbers: dict[str, int] = {
            "params": handles.get(cusolverDn.create_params, cusolverDn.destroy_params),
            "kind": DATA_TYPES[self._dtype],
            "real": DATA_TYPES[REAL_OF[self._dtype]],
            "count": self._count,
            "one": int(self._host[0].ctypes.data),
            "host_code": int(self._host[1].ctypes.data),
            "zero": int(self._host[2].ctypes.data),
            "N": cublas.Operation.N,
            "adjoint": cublas.Operation.C if self._dtype.kind == "complex" else cublas.Operation.T,
            "LEFT": cublas.SideMode.LEFT,
            "LOWER": cublas.FillMode.LOWER,
            "UPPER": cublas.FillMode.UPPER,
            "NON_UNIT": cublas.DiagType.NON_UNIT,
            "VECTORS": 1,
        }
        m, n = self._a.rows, self._a.columns
        self._numbers |= {"m": m, "n": n, "k": min(m, n)}
        self._take_stack("a", self._a)
        self._take("code", 4)
        self._take("unread", 4, shared=True)  # codes about parameters

    @property
    def workspace_bytes(self) -> int:
        """Bytes of scratch memory."""
        return self._scratch.size_bytes

    def _take(self, part: str, bytes_each: int, *, shared: bool = False) -> None:
        """Take scratch memory for a part of each matrix, or for one that they share."""
        self._parts[part] = self._scratch.take(bytes_each * (1 if shared else self._count)), 0 if shared else bytes_each

    def _take_stack(self, part: str, stack: Stack) -> None:
        self._take(part, stack.rows * stack.columns * self._size)

    def _use(self, routine: str) -> None:
        """Take scratch memory for a routine with `(work)`."""
        words = [word for word in ROUTINES[routine].split() if "(" not in word]
        asking = {"solver": self._asking, **self._numbers}
        size = self._function(f"{routine}_buffer_size")(*(asking.get(word, _ANY) for word in words))
        after: tuple[int, ...]
        if routine.startswith("x"):  # the routines with memory both on the device and on the host
            device_bytes, host_bytes = size
            self._host.append(np.empty(max(host_bytes, 8), np.uint8))
            after = device_bytes, int(self._host[-1].ctypes.data), host_bytes
        else:
            device_bytes, after = size * self._size, (size,)
        self._work[routine] = self._scratch.take(device_bytes), after

    def _use_blas(self) -> None:
        """Take scratch memory for cuBLAS."""
        self._numbers["blas"] = self._handles.get(cublas.create, cublas.destroy)
        self._take("blas", recommended_bytes(self._handles), shared=True)

    def _begin(self, stream: int, at: Addresses, part: MatrixPart = MatrixPart.ALL, *, turned: bool = False) -> None:
        """Set the handles to a stream, and bring a into scratch memory, as it is or transposed."""
        cusolverDn.set_stream(at.handle, stream)
        if "blas" in self._parts:
            size_bytes = recommended_bytes(self._handles)
            part_at = replace(at, workspace=self._address(at, "blas"), workspace_bytes=size_bytes)
            blas_handle(self._handles, stream, part_at, on_device=False)
        target = by_columns(self._count, self._a.columns, self._a.rows) if turned else self._a
        source = transposed(self._source) if turned else self._source
        self._kernels.copy(stream, (self._address(at, "a"), target), (at.operands["a"], source), part)

    def _end(self, stream: int, at: Addresses) -> None:
        """Bring the codes into the call's word."""
        self._kernels.first_code(stream, at.operands["info"], self._address(at, "code"), self._count)

    def _address(self, at: Addresses, part: str, index: int = 0) -> int:
        """Return the address of one matrix's part of scratch memory."""
        place, bytes_each = self._parts[part]
        return at.workspace + place + index * bytes_each

    def _write_addresses(self, stream: int, at: Addresses, part: str, of: str) -> None:
        """Write the addresses of a part's matrices into another part."""
        first, bytes_each = self._address(at, of), self._parts[of][1]
        self._kernels.addresses(stream, self._address(at, part), first, bytes_each, self._count)

    def _call(self, routine: str, at: Addresses, index: int = 0, **more: int) -> None:
        """Call a routine for one matrix, or for all of them."""
        numbers, given = {"solver": at.handle, **self._numbers, **more}, list[int]()
        for word in ROUTINES[routine].replace("(", "").replace(")", "").split():
            if word == "work":
                place, after = self._work[routine]
                given += at.workspace + place, *after
            elif word in numbers:
                given.append(numbers[word])
            else:
                given.append(self._address(at, word, index) if word in self._parts else at.operands[word])
        self._function(routine)(*given)

    def _function(self, name: str) -> Any:
        if name.startswith("x"):
            return getattr(cusolverDn, name)
        if name.startswith("or") and self._dtype.kind == "complex":
            name = "un" + name[2:]
        library = cublas if ROUTINES.get(name, "").startswith("blas") else cusolverDn
        return getattr(library, LETTERS[self._dtype] + name)
