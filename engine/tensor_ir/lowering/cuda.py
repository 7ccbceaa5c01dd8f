"""Kernels of tensor programs in CUDA C++, compiled for element types."""

from __future__ import annotations

from engine.descriptions.entries import Kernel
from engine.descriptions.extents import Extent
from engine.kernel_sources.sources import CudaFile, CudaOptions
from engine.types import DType, bf16, f16, f32

#: What `kernels/tensor.cuh` calls element types that C++ lacks.
_NAMES: dict[DType, str] = {f16: "Half", bf16: "Brain"}


def element_kernel(file: str, entry: str, dtype: DType, **defines: str | int) -> Kernel:
    """Return a kernel of a file whose macro ELEMENT is the element type."""
    options = CudaOptions({"ELEMENT": _NAMES.get(dtype, dtype.cuda_name), **defines})
    return Kernel(CudaFile(file, options), entry)


def number_type(dtype: DType) -> DType:
    """Return the type in which such kernels compute."""
    return f32 if dtype in (f16, bf16) else dtype


def size_argument(size: int | str) -> Extent:
    """Return a size as an argument."""
    return Extent(str(size))
