"""Sorting, scans and histograms by NVIDIA's device algorithms (CUB), through `cuda.compute` of the wheel cuda-cccl.

An algorithm is compiled for its element types, in some seconds; the result is kept on disk. Its calls only launch
kernels, so that they can be captured.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_int, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
from cuda import cccl, compute
from cuda.compute import OpKind, ProxyArray, SortOrder

from warploom.engine.disk_cache import DiskCache, cache_key
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache
from warploom.engine.libraries.algorithms import Histogram, Order, Scan, Sort
from warploom.engine.libraries.call import LibraryCall, LibraryError
from warploom.engine.libraries.cuda.plan import Addresses, Handles, LibraryPlan, PlanMaker
from warploom.engine.types import DType, bf16, boolean, f16, f32, f64, s32, s64, u32, u64
from warploom.engine.types.element_numbers import element_number
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT, Layout

_FILE, _SCAN_FILE = "order.cu", "scan.cu"
#: Threads of a thread block in `kernels/scan.cu`, the elements of its tile, and the tiles of a group.
_THREADS, _TILE, _GROUP = 256, 8192, 32
#: The most bins that CUB counts in shared memory; other kernels count more.
_SHARED_BINS = 256


class _List:
    """A list in device memory, as `cuda.compute` takes it."""

    def __init__(self, address: int, dtype: str, size: int) -> None:
        self.dtype, self.shape = np.dtype(dtype), (size,)
        self.nbytes = size * self.dtype.itemsize
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": self.shape,
            "strides": None,
            "typestr": self.dtype.str,
            "version": 3,
        }


class _Stream:
    """A stream, as `cuda.compute` takes it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


@dataclass(frozen=True)
class _Algorithm:
    """Makes an algorithm for element types, as numpy names them; `Handles` keep it."""

    capability: int
    types: tuple[str, ...]

    def compiled(self) -> Any:
        """Return the algorithm, compiled for the capability."""
        raise NotImplementedError

    def __call__(self) -> Any:
        """Return the algorithm from the disk, or compile it."""
        kept = DiskCache(bytes, CompileCache().folder.with_name("algorithms"))
        key = cache_key([cccl.__version__, repr(self)])
        found = kept.get(key)
        if found is None:
            try:
                found = compute.serialize(self.compiled())
            except RuntimeError as problem:
                text = f"algorithms must be compiled by NVRTC with CUDA's headers, got {problem}"
                raise LibraryError(text, "install warploom[cuda], which brings these, or run on the host") from problem
            kept.put(key, found)
        return compute.deserialize(found)


@dataclass(frozen=True)
class _RadixSort(_Algorithm):
    """Sorts numbers of the first type, and with them positions of the second, if there is one."""

    descending: bool = False

    def compiled(self) -> Any:
        # Not proxies: cuda.compute takes values at address 0 for none, and would compile a sort of keys alone.
        keys, *values = (_List(ALLOCATION_ALIGNMENT, dtype, 1) for dtype in self.types)
        moved = values[0] if values else None
        return compute.make_radix_sort(
            d_in_keys=keys,
            d_out_keys=keys,
            d_in_values=moved,
            d_out_values=moved,
            order=SortOrder.DESCENDING if self.descending else SortOrder.ASCENDING,
            compute_capability=self.capability,
        )


@dataclass(frozen=True)
class _PrefixScan(_Algorithm):
    """Combines elements of the first type to results of the second, which are computed as the third."""

    operation: str
    exclusive: bool

    def compiled(self) -> Any:
        make = compute.make_exclusive_scan if self.exclusive else compute.make_inclusive_scan
        first, last, computed = (np.dtype(dtype) for dtype in self.types)
        return make(
            d_in=ProxyArray(first),
            d_out=ProxyArray(last),
            op=OpKind[self.operation],
            init_value=np.zeros((), computed),
            compute_capability=self.capability,
        )


@dataclass(frozen=True)
class _EvenHistogram(_Algorithm):
    """Counts whole numbers in bins; up to some number, these are counted in shared memory."""

    bins: int

    def compiled(self) -> Any:
        samples, counts = (ProxyArray(np.dtype(dtype)) for dtype in self.types)
        return compute.make_histogram_even(
            d_samples=samples,
            d_histogram=counts,
            num_samples=1,  # only selects the width of offsets
            compute_capability=self.capability,
            **_levels(self.bins),
        )


def _levels(bins: int) -> dict[str, Any]:
    """Return the arguments for bins of one number each, from 0 on."""
    ends = {"h_lower_level": np.array([0], np.uint32), "h_upper_level": np.array([bins], np.uint32)}
    return {"h_num_output_levels": np.array([bins + 1], np.int32), **ends}


class _Plan:
    """The common part of the plans: the algorithm, and parts of the scratch memory."""

    workspace_bytes = 0

    def __init__(self, x: Layout, as_dtype: DType, handles: Handles) -> None:
        """Elements of x are read as another type."""
        self._handles, self._count = handles, prod(x.shape)
        self._capability = int(handles.info.architecture.removeprefix("sm_").rstrip("af"))
        self._type, self._as = element_number(x.dtype), element_number(as_dtype)
        #: Bits of an element, and the type of its code.
        self._bits, self._code = 8 * as_dtype.size_bytes, "u8" if as_dtype.size_bytes == 8 else "u4"

    def reserve(self, size_bytes: int) -> int:
        """Return the place of another part of the scratch memory."""
        place = self.workspace_bytes
        self.workspace_bytes += -(-max(size_bytes, 1) // ALLOCATION_ALIGNMENT) * ALLOCATION_ALIGNMENT
        return place

    def encode(self, stream: int, x: int, codes: int, positions: int, *, descending: bool) -> None:
        """Write the codes of x."""
        given = (x, c_void_p), (self._type, c_uint), (self._as, c_uint), (codes, c_void_p), (self._code == "u8", c_int)
        rest = (descending, c_int), (positions, c_void_p), (self._count, c_ulonglong)
        self._handles.launch(_FILE, "encode", self._count, stream, *given, *rest)

    def decode(self, stream: int, codes: int, out: int, *, descending: bool) -> None:
        """Write the elements that have the codes."""
        given = (codes, c_void_p), (self._code == "u8", c_int), (out, c_void_p), (self._as, c_uint)
        rest = (descending, c_int), (self._count, c_ulonglong)
        self._handles.launch(_FILE, "decode", self._count, stream, *given, *rest)


class _SortPlan(_Plan):
    """The common part of the sorts: CUB's call, and its temporary memory."""

    def prepare(self, sort: _RadixSort) -> None:
        """Get the algorithm."""
        self._types, self._sort = sort.types, self._handles.get(sort, _forget)
        self._temporary_bytes = self.sort(None, 0, 0)
        self._temporary = self.reserve(self._temporary_bytes)
        self._handles.load(_FILE)  # loaded before anything is captured

    def sort(
        self, at: Addresses | None, keys: int, result: int, values: tuple[int, int] = (0, 0), stream: int = 0
    ) -> int:
        """Sort keys, and with them values, from addresses to others. Without `at`, return the bytes that this needs."""
        temporary = at and _List(at.workspace + self._temporary, "u1", self._temporary_bytes)
        lists = (_List(address, self._types[0], self._count) for address in (keys, result))
        moved = (_List(address, self._types[1], self._count) if self._types[1:] else None for address in values)
        names = ("d_in_keys", "d_out_keys", "d_in_values", "d_out_values")
        size: int = self._sort(
            temp_storage=temporary,
            **dict(zip(names, (*lists, *moved), strict=True)),
            num_items=self._count,
            begin_bit=0,
            end_bit=self._bits,
            stream=_Stream(stream),
        )
        return size


#: Types that CUB sorts itself. It would compare others as well, but each of them has to be compiled.
_SORTED: Mapping[DType, str] = {f32: "f4", f64: "f8", s32: "i4", s64: "i8", u32: "u4", u64: "u8"}
#: The most threads that look for elements in the wrong place; there are few such elements, or none.
_SETTLING = 1 << 18


class NumberSortPlan(_SortPlan):
    """Numbers, sorted by CUB. It puts NaN of one sign first, and mixes zeros of both; these are moved afterwards."""

    def __init__(self, call: Sort, layouts: Mapping[str, Layout], handles: Handles) -> None:
        dtype = layouts["x"].dtype
        super().__init__(layouts["x"], dtype, handles)
        self._descending, self._is_float = call.descending, dtype.kind == "float"
        self._parts = self.reserve(40)
        self.prepare(_RadixSort(self._capability, (_SORTED[dtype],), call.descending))

    def issue(self, stream: int, at: Addresses) -> None:
        """Sort, and move NaN and zeros."""
        out = at.operands["out"]
        self.sort(at, at.operands["x"], out, stream=stream)
        if not self._is_float:
            return
        launch = partial(self._handles.launch, _FILE)
        given = (out, c_void_p), (self._code == "u8", c_int), (self._descending, c_int)
        rest = (at.workspace + self._parts, c_void_p), (self._count, c_ulonglong)
        threads = min(self._count, _SETTLING)
        launch("find_parts", 128, stream, *given, *rest, thread_block=128)
        launch("count_zeros", threads, stream, *given, *rest)
        for is_second in (False, True):
            launch("reverse", threads, stream, *given, *rest, (is_second, c_int))
        launch("settle", threads, stream, *given, *rest)


class CodeSortPlan(_SortPlan):
    """Codes of the elements, sorted by their bits; with positions, only these are kept."""

    def __init__(self, call: Sort | Order, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts["x"], layouts["x"].dtype, handles)
        self._descending, self._has_positions = call.descending, isinstance(call, Order)
        code_bytes = self._count * np.dtype(self._code).itemsize
        self._codes, self._sorted = self.reserve(code_bytes), self.reserve(code_bytes)
        self._positions = self.reserve(4 * self._count if self._has_positions else 0)
        self.prepare(_RadixSort(self._capability, (self._code, "u4") if self._has_positions else (self._code,)))

    def issue(self, stream: int, at: Addresses) -> None:
        """Encode, sort, and decode."""
        out, positions = at.operands["out"], at.workspace + self._positions if self._has_positions else 0
        codes, result = at.workspace + self._codes, at.workspace + self._sorted
        self.encode(stream, at.operands["x"], codes, positions, descending=self._descending)
        self.sort(at, codes, result, (positions, out), stream)
        if not self._has_positions:
            self.decode(stream, result, out, descending=self._descending)


def _sort_plan(call: Sort, layouts: Mapping[str, Layout], handles: Handles) -> LibraryPlan:
    """Return the plan of a sort."""
    return (NumberSortPlan if layouts["x"].dtype in _SORTED else CodeSortPlan)(call, layouts, handles)


#: The bits of positive infinity; without these, the bits below the sign are the code of negative infinity.
_INFINITY: Mapping[DType, int] = {f16: 0x7C00, bf16: 0x7F80, f32: 0x7F800000, f64: 0x7FF << 52}
#: The types in which elements are read, written and combined for sums and products, by the bytes of whole numbers.
_WHOLE = {1: ("u1", "u1", "u4"), 2: ("u2", "u2", "u4"), 4: ("u4", "u4", "u4"), 8: ("u8", "u8", "u8")}


def _scan_plan(call: Scan, layouts: Mapping[str, Layout], handles: Handles) -> LibraryPlan:
    """Return the plan of a scan. CUB adds floats in an order that changes from run to run, so it doesn't get them."""
    is_float = layouts["x"].dtype.kind == "float" and call.operation in ("sum", "product")
    return (FloatScanPlan if is_float else ScanPlan)(call, layouts, handles)


class FloatScanPlan:
    """Running sums and products of floats, by kernels of our own."""

    def __init__(self, call: Scan, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._handles, self._count = handles, prod(layouts["x"].shape)
        self._tiles, self._elements = -(-self._count // _TILE), str(element_number(layouts["x"].dtype))
        self._is_product, self._exclusive = call.operation == "product", call.exclusive
        #: The totals of tiles, of groups of them, and of groups of these groups.
        self._totals = sum(-(-self._tiles // size) for size in (1, _GROUP, _GROUP**2))
        self.workspace_bytes = 8 * self._totals
        handles.load(_SCAN_FILE, self._elements)  # loaded before anything is captured

    def issue(self, stream: int, at: Addresses) -> None:
        """Scan all tiles, whose thread blocks tell each other their totals."""
        launch = partial(self._handles.launch, _SCAN_FILE, elements=self._elements, thread_block=_THREADS)
        totals = at.workspace, c_void_p
        launch("begin_scan", self._totals, stream, totals, (self._totals, c_int))
        operands = (at.operands["x"], c_void_p), (at.operands["out"], c_void_p), totals
        rest = (self._is_product, c_int), (self._exclusive, c_int), (self._count, c_ulonglong)
        launch("scan_tiles", self._tiles * _THREADS, stream, *operands, *rest, loops=False)


class ScanPlan(_Plan):
    """Running sums and products of whole numbers; running extremes are the largest codes so far."""

    def __init__(self, call: Scan, layouts: Mapping[str, Layout], handles: Handles) -> None:
        x, dtype = layouts["x"], layouts["out"].dtype
        super().__init__(x, dtype, handles)
        self._is_sum = call.operation in ("sum", "product")
        self._descending = call.operation == "smallest"
        if self._is_sum:
            self._types = ("u1", "u4", "u4") if x.dtype == boolean else _WHOLE[x.dtype.size_bytes]
            self._operation, first = ("PLUS", 0) if call.operation == "sum" else ("MULTIPLIES", 1)
        else:
            self._types, self._operation = (self._code,) * 3, "MAXIMUM"
            first = (1 << self._bits - 1) - 1 - _INFINITY[dtype] if dtype in _INFINITY else 0
        self._first = np.array(first, self._types[2])
        self._scan = handles.get(_PrefixScan(self._capability, self._types, self._operation, call.exclusive), _forget)
        self._codes = self.reserve(0 if self._is_sum else self._count * np.dtype(self._code).itemsize)
        self._temporary_bytes = self._call(None, 0, 0, 0)
        self._temporary = self.reserve(self._temporary_bytes)
        if not self._is_sum:
            handles.load(_FILE)  # loaded before anything is captured

    def issue(self, stream: int, at: Addresses) -> None:
        """Add up; or encode, combine in place, and decode."""
        x, out = at.operands["x"], at.operands["out"]
        temporary = _List(at.workspace + self._temporary, "u1", self._temporary_bytes)
        if self._is_sum:
            self._call(temporary, x, out, stream)
            return
        codes = at.workspace + self._codes
        self.encode(stream, x, codes, 0, descending=self._descending)
        self._call(temporary, codes, codes, stream)
        self.decode(stream, codes, out, descending=self._descending)

    def _call(self, temporary: _List | None, source: int, target: int, stream: int) -> int:
        """Scan, or return the bytes of temporary memory that this needs."""
        size: int = self._scan(
            temp_storage=temporary,
            d_in=_List(source, self._types[0], self._count),
            d_out=_List(target, self._types[1], self._count),
            op=OpKind[self._operation],
            init_value=self._first,
            num_items=self._count,
            stream=_Stream(stream),
        )
        return size


class HistogramPlan:
    """Counts of whole numbers."""

    def __init__(self, call: Histogram, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._count, self._bins = prod(layouts["x"].shape), call.bins
        capability = int(handles.info.architecture.removeprefix("sm_").rstrip("af"))
        bins = _SHARED_BINS if call.bins <= _SHARED_BINS else _SHARED_BINS + 1
        self._histogram = handles.get(_EvenHistogram(capability, ("u4", "u4"), bins), _forget)
        self.workspace_bytes = max(self._call(None, 0, 0, 0), 1)

    def issue(self, stream: int, at: Addresses) -> None:
        """Count."""
        temporary = _List(at.workspace, "u1", self.workspace_bytes)
        self._call(temporary, at.operands["x"], at.operands["out"], stream)

    def _call(self, temporary: _List | None, x: int, out: int, stream: int) -> int:
        """Count, or return the bytes of temporary memory that this needs."""
        size: int = self._histogram(
            temp_storage=temporary,
            d_samples=_List(x, "u4", self._count),
            d_histogram=_List(out, "u4", self._bins),
            num_samples=self._count,
            stream=_Stream(stream),
            **_levels(self._bins),
        )
        return size


def _forget(algorithm: Any) -> None:
    """Do nothing: an algorithm frees its kernels when nothing refers to it."""


PLANS: Mapping[type[LibraryCall], PlanMaker] = {
    Sort: _sort_plan,
    Order: CodeSortPlan,
    Scan: _scan_plan,
    Histogram: HistogramPlan,
}
