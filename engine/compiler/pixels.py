"""Pixels: kernels of pictures are written for float4, and read and write the pixels that their buffers have.

An op graph gets other types of inputs and outputs. CUDA C++ is compiled with the macro PIXEL, of which
`kernels/warploom/pixel.h` has the types. With float4, kernels are as their blocks request them.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from warploom.engine.compiler.checking.layouts import NodeLayouts
from warploom.engine.descriptions.entries import BufferArgument, Kernel, KernelEntry
from warploom.engine.descriptions.ports import PIXELS
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import (
    CudaFile,
    CudaText,
    DrivenKernel,
    KernelSource,
    OpGraphSource,
    SpecialisedKernel,
)
from warploom.engine.ops import InputPointer, OutputPointer
from warploom.engine.types import DType, float4, half4, uchar4

AnyEntry = TypeVar("AnyEntry")
#: The types that read and write smaller pixels, in op graphs and in CUDA C++.
_IN_GRAPHS: Mapping[DType, str] = {half4: "half4", uchar4: "uchar4_picture"}
_IN_CUDA: Mapping[DType, str] = {half4: "half4", uchar4: "srgb4"}


def with_pixels(entry: AnyEntry, block: NodeLayouts) -> AnyEntry | KernelEntry:
    """Return an entry of a block as it runs with the block's buffers."""
    if not isinstance(entry, KernelEntry) or not block.description.rules.pictures:
        return entry
    small = tuple(
        (place, layout.dtype)
        for place, argument in enumerate(entry.arguments)
        if isinstance(argument, BufferArgument)
        and argument.name in block.description.rules.pictures
        and (layout := block.layouts.get(argument.name)) is not None
        and layout.dtype in PIXELS
        and layout.dtype != float4
    )
    return _typed(entry, small) if small else entry


@lru_cache(1024)
def _typed(entry: KernelEntry, small: tuple[tuple[int, DType], ...]) -> KernelEntry:
    """Return an entry whose kernel takes smaller pixels at some places of its arguments."""
    source = _source(entry.kernel.source, small)
    return entry if source is entry.kernel.source else replace(entry, kernel=Kernel(source, entry.kernel.entry))


def _source(source: str | KernelSource, small: tuple[tuple[int, DType], ...]) -> str | KernelSource:
    if isinstance(source, OpGraphSource):
        taken = op_graphs.launched(source).arguments
        named = ((taken[place], _IN_GRAPHS[dtype]) for place, dtype in small)
        wanted = tuple(
            (e.name, dtype) for e, dtype in named if isinstance(e, InputPointer | OutputPointer) and e.dtype == "float4"
        )
        return op_graphs.with_own_pixels(source, wanted) if wanted else source
    if isinstance(source, DrivenKernel | SpecialisedKernel):
        return msgspec.structs.replace(source, source=_source(source.source, small))
    if isinstance(source, str):
        source = CudaFile(source)
    if isinstance(source, CudaFile | CudaText):
        defines = {**dict(source.options.defines), "PIXEL": _IN_CUDA[small[0][1]]}
        return msgspec.structs.replace(source, options=msgspec.structs.replace(source.options, defines=defines))
    return source
