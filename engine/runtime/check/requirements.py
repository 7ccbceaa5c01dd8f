"""Requirements: whether kernels and the device suit a plan, checked before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from functools import cache

import msgspec

from engine.blocktypes.entries import BufferArgument, Kernel, KernelEntry
from engine.compiler.buffers import Lifetime
from engine.compiler.plan import Plan
from engine.device.device import Device
from engine.diagnostics import Diagnostic, GraphValidationError, error
from engine.figures import format_bytes
from engine.kernel_sources.elements import check_elements, pointer_elements
from engine.kernel_sources.image import KernelImage
from engine.patch.changes import PortRef
from engine.runtime.memory.buffer_pool import BufferPool, bucket_bytes, exact_bytes
from engine.types import DType

#: The compiled image of a kernel, found by its name and the folders that are searched first.
ImageOf = Callable[[Kernel, tuple[str, ...]], KernelImage]


class MemoryRefused(GraphValidationError):
    """A plan needs more memory than there is."""


def element_problems(plan: Plan, image_of: ImageOf, only: Collection[int] | None = None) -> list[Diagnostic]:
    """Return an error for each buffer whose elements have another size than the struct that a kernel declares.

    With `only`, check these operations, by index.
    """
    by_id, layouts = plan.description.by_id, plan.layouts
    mismatches = cache(lambda kernel, folders, types: _mismatches(image_of(kernel, folders), kernel, types))
    problems: list[Diagnostic] = []
    for operation in plan.operations if only is None else [plan.operations[index] for index in sorted(only)]:
        entry = operation.entry
        if not isinstance(entry, KernelEntry) or operation.place < 0:
            continue
        types = tuple(
            (argument.name, layout.dtype)
            if isinstance(argument, BufferArgument)
            and (layout := layouts.get(PortRef(operation.node, argument.name))) is not None
            else None
            for argument in entry.arguments
        )
        folders = by_id[operation.node].description.kernel_folders
        problems += [msgspec.structs.replace(m, node=operation.node) for m in mismatches(entry.kernel, folders, types)]
    return problems


def _mismatches(image: KernelImage, kernel: Kernel, types: tuple[tuple[str, DType] | None, ...]) -> list[Diagnostic]:
    """Return what is wrong with a kernel's buffers, without a node."""
    found = check_elements(types, pointer_elements(image, kernel.entry), f"{kernel.file}:{kernel.entry}")
    return [error(m.message, port=m.port, expected=m.expected, found=m.found, remedy=m.remedy) for m in found]


def require_memory(
    plan: Plan, device: Device, pool: BufferPool, kept: AbstractSet[PortRef], *, has_arena: bool = False
) -> None:
    """Raise MemoryRefused at the largest buffer when the plan needs more memory than there is.

    `kept` are the buffers that exist already; with `has_arena`, so does the memory that the others share.
    """
    allocations, shared = plan.buffers.allocations, plan.placement.offsets
    wanted = [
        owner
        for owner, buffer in allocations.items()
        if owner not in kept and buffer.lifetime is not Lifetime.EXTERNAL and not (has_arena and owner in shared)
    ]
    total = sum(bucket_bytes(allocations[owner].layout.size_bytes) for owner in wanted if owner not in shared)
    if plan.placement.offsets and not has_arena:
        total += exact_bytes(plan.placement.size_bytes)
    available = device.memory_free_bytes + pool.idle_bytes
    if total <= available:
        return
    largest = max(wanted, key=lambda owner: allocations[owner].layout.size_bytes)
    size = allocations[largest].layout.size_bytes
    text = f"buffers must fit in the memory of {device.info.name}: all together need {format_bytes(total)}, "
    text += f"{format_bytes(available)} are free; this one is {format_bytes(size)}"
    remedy = "make it smaller, or close what else uses the memory"
    found = error(
        text,
        node=largest.node,
        port=largest.port,
        expected=f"at most {format_bytes(available)}",
        found=format_bytes(total),
        remedy=remedy,
    )
    raise MemoryRefused([found])
