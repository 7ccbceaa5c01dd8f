"""Sparse products by cuSPARSE."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_int, c_ulonglong, c_void_p
from typing import Any

import numpy as np
from cuda.bindings import driver
from nvmath.bindings import cusparse

from warploom.engine.device.cuda.errors import check
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.libraries.cuda.matrices import Scratch
from warploom.engine.libraries.cuda.plan import DATA_TYPES, Addresses, Handles, PlanMaker, ScalarAddresses
from warploom.engine.libraries.sparse import SparseProduct
from warploom.engine.types import element_count
from warploom.engine.types.layout import Layout

_INDEX_32, _ROW_MAJOR = 2, 2  # cusparseIndexType_t, cusparseOrder_t
_HOST, _DEVICE = 0, 1  # cusparsePointerMode_t
#: Algorithms: those that add in one order give the same bits in every frame, but take no transposed matrix.
_ANY, _VECTOR_IN_ORDER, _MATRIX_IN_ORDER = 0, 3, 12
#: Stands for addresses where only sizes are requested.
_SOMEWHERE = 256
_FILE = "sparse.cu"


class SparsePlan:
    """A product, with cuSPARSE's descriptors of its operands.

    cuSPARSE doesn't check offsets and columns. So it gets copies, in which wrong ones are replaced.
    """

    def __init__(self, call: SparseProduct, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._handles = handles
        x, out = layouts["x"], layouts["out"]
        self._dtype, self._is_vector = x.dtype, len(x.shape) == 1
        kind = self._kind = DATA_TYPES[x.dtype]
        rows, entries = self._rows, self._entries = layouts["offsets"].shape[0] - 1, layouts["values"].shape[0]
        width = self._width = call.width if call.transpose else x.shape[0]
        self._out_size = element_count(out.shape)
        at = _SOMEWHERE
        types = _INDEX_32, _INDEX_32, 0, kind
        made = cusparse.create_csr(rows, width, entries, at, at, at, *types)
        self._matrix = handles.own(self, made, cusparse.destroy_sp_mat)
        if self._is_vector:
            self._x, self._out = (cusparse.create_dn_vec(layout.shape[0], at, kind) for layout in (x, out))
            destroy = cusparse.destroy_dn_vec
            in_order = _VECTOR_IN_ORDER
        else:
            self._x, self._out = (
                cusparse.create_dn_mat(*layout.shape, layout.shape[1], at, kind, _ROW_MAJOR) for layout in (x, out)
            )
            destroy = cusparse.destroy_dn_mat
            in_order = _MATRIX_IN_ORDER
        for made in (self._x, self._out):
            handles.own(self, made, destroy)
        self._operation = int(call.transpose)
        self._algorithm = _ANY if call.transpose else in_order
        one = np.ones(1, self._dtype.numpy)
        handle = self._handle()
        cusparse.set_pointer_mode(handle, _HOST)
        ask = cusparse.sp_mv_buffer_size if self._is_vector else cusparse.sp_mm_buffer_size
        scratch = Scratch()
        scratch.take(int(ask(*self._call(handle, one.ctypes.data, one.ctypes.data))))
        self._copies = None
        if call.checked:
            handles.load(_FILE)  # loaded before anything is captured
            self._copies = scratch.take(4 * (rows + 1)), scratch.take(4 * entries)
        self.workspace_bytes = scratch.size_bytes

    def issue(self, stream: int, at: Addresses) -> None:
        """Multiply the sparse matrix by x."""
        handle, numbers = self._handle(), ScalarAddresses(at, self._dtype)
        nothing = np.zeros(1, self._dtype.numpy)
        cusparse.set_stream(handle, stream)
        cusparse.set_pointer_mode(handle, _DEVICE if at.numbers_on_device else _HOST)
        beta = self._handles.zero if at.numbers_on_device else int(nothing.ctypes.data)
        of = at.operands
        check(driver.cuMemsetD32Async(of["info"], 0, 1, stream), "clearing info")
        offsets, columns = self._checked(stream, at)
        cusparse.csr_set_pointers(self._matrix, offsets, columns, of["values"])
        place = cusparse.dn_vec_set_values if self._is_vector else cusparse.dn_mat_set_values
        place(self._x, of["x"])
        place(self._out, of["out"])
        multiply = cusparse.sp_mv if self._is_vector else cusparse.sp_mm
        multiply(*self._call(handle, numbers.address("alpha"), beta), at.workspace)
        if self._copies is not None:
            sizes = (self._out_size, c_ulonglong), (self._dtype.size_bytes, c_int)
            pointers = (of["out"], c_void_p), (of["info"], c_void_p)
            self._handles.launch(_FILE, "end_product", self._out_size, stream, *pointers, *sizes)

    def _checked(self, stream: int, at: Addresses) -> tuple[int, int]:
        """Return the addresses of valid offsets and columns; `info` shows what is wrong with the originals."""
        given, columns = at.operands["offsets"], at.operands["columns"]
        if self._copies is None:
            return given, columns
        safe_offsets, safe_columns = (at.workspace + place for place in self._copies)
        word, sizes = at.operands["info"], [(self._rows, c_int), (self._entries, c_int)]
        pointers = [(address, c_void_p) for address in (word, safe_columns, given, columns)]
        threads = max(self._rows + 1, self._entries)
        self._handles.launch(_FILE, "check_matrix", threads, stream, *pointers, *sizes, (self._width, c_int))
        pointers = [(address, c_void_p) for address in (safe_offsets, word, given)]
        self._handles.launch(_FILE, "copy_offsets", self._rows + 1, stream, *pointers, *sizes)
        return safe_offsets, safe_columns

    def _handle(self) -> int:
        handle: int = self._handles.get(cusparse.create, cusparse.destroy)
        return handle

    def _call(self, handle: int, alpha: int, beta: int) -> tuple[Any, ...]:
        """Return the common arguments of the functions for vectors and for matrices."""
        operations = (self._operation,) if self._is_vector else (self._operation, 0)
        rest = alpha, self._matrix, self._x, beta, self._out, self._kind, self._algorithm
        return (handle, *operations, *rest)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {SparseProduct: SparsePlan}
