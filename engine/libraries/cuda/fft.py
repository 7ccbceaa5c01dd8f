"""Fourier transforms by cuFFT, which doesn't divide: cuBLAS multiplies the result by the call's factor."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_uint, c_ulonglong, c_void_p
from typing import Any

import numpy as np
from cuda.bindings import driver
from nvmath.bindings import cublas, cufft

from warploom.engine.device.cuda.errors import check
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.libraries.cuda.blas import blas_handle
from warploom.engine.libraries.cuda.plan import DATA_TYPES, Addresses, Handles, PlanMaker
from warploom.engine.libraries.fft import Embedding, Fft, InverseRealFft, RealFft, embedding_of
from warploom.engine.types import c64, f32, f64
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT, Layout

_FORWARD, _INVERSE = -1, 1
_FILE = "fft.cu"


class FftPlan:
    """A transform, with cuFFT's tables and kernels for its sizes.

    A half spectrum is made Hermitian first, since cuFFT's result is undefined for others.
    """

    def __init__(self, call: Fft | RealFft | InverseRealFft, layouts: Mapping[str, Layout], handles: Handles) -> None:
        x, out = layouts["x"], layouts["out"]
        source, target = embedding_of(x, call.axes), embedding_of(out, call.axes)
        self._handles = handles
        self._direction = _INVERSE if call.is_inverse else _FORWARD
        is_complex_to_real = isinstance(call, InverseRealFft)
        sizes = target.sizes if is_complex_to_real else source.sizes
        self._plan = handles.own(self, cufft.create(), cufft.destroy)
        cufft.set_auto_allocation(self._plan, 0)
        work_bytes = cufft.xt_make_plan_many(
            self._plan,
            call.axes,
            list(sizes),
            *(list(source.embed), source.stride, source.distance, DATA_TYPES[x.dtype]),
            *(list(target.embed), target.stride, target.distance, DATA_TYPES[out.dtype]),
            source.count,
            DATA_TYPES[x.dtype if x.dtype not in (f32, f64) else out.dtype],
        )
        #: Bytes of `x` and their place in the scratch memory; cuFFT overwrites the half spectrum that it reads. It must
        #: not begin where the work area does, even if that is empty: cuFFT refuses several axes then.
        self._copied_bytes = x.span_bytes if is_complex_to_real else 0
        #: Arguments of the kernel that makes the half spectrum Hermitian.
        self._spectrum: tuple[tuple[int, Any], ...] = ()
        if is_complex_to_real:
            handles.load(_FILE)  # loaded before anything is captured
            self._spectrum = _half_spectrum(source, out)
        self._copy_at = -(-max(work_bytes, 1) // ALLOCATION_ALIGNMENT) * ALLOCATION_ALIGNMENT
        self.workspace_bytes = self._copy_at + self._copied_bytes
        # The result as real numbers, for cuBLAS.
        self._real = f32 if out.dtype in (f32, c64) else f64
        self._count = out.size_bytes // self._real.size_bytes
        self._factor = np.array(call.scale(sizes), self._real.numpy)
        if self._factor != 1:
            handles.get(cublas.create, cublas.destroy)  # created before anything is captured

    def issue(self, stream: int, at: Addresses) -> None:
        """Transform, and multiply by the factor in place."""
        source, target = at.operands["x"], at.operands["out"]
        if self._copied_bytes:
            copied = at.workspace + self._copy_at
            check(driver.cuMemcpyAsync(copied, source, self._copied_bytes, stream), "copying the half spectrum")
            source = copied
            (signals, _), _, (rows, _), (columns, _), *_ = self._spectrum
            threads = 2 * signals * rows * columns
            self._handles.launch(_FILE, "make_hermitian", threads, stream, (source, c_void_p), *self._spectrum)
        cufft.set_stream(self._plan, stream)
        cufft.set_work_area(self._plan, at.workspace)
        cufft.xt_exec(self._plan, source, target, self._direction)
        if self._factor != 1:
            handle, kind = blas_handle(self._handles, stream, at), DATA_TYPES[self._real]
            address = int(self._factor.ctypes.data)
            cublas.scal_ex_64(handle, self._count, address, kind, target, kind, 1, kind)


def _half_spectrum(source: Embedding, out: Layout) -> tuple[tuple[int, Any], ...]:
    """Return the arguments of `make_hermitian` after the address: the layout as that of three axes, and the type."""
    *_, size_i, size_j, size_k = 1, 1, *source.sizes
    *_, step_i, step_j = 1, *source.embed
    last = size_k - 1 if out.shape[-1] % 2 == 0 else 0
    numbers = size_i, size_j, step_i, step_j, source.stride, last, out.dtype.size_bytes
    return (source.count, c_ulonglong), (source.distance, c_ulonglong), *((number, c_uint) for number in numbers)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {Fft: FftPlan, RealFft: FftPlan, InverseRealFft: FftPlan}
