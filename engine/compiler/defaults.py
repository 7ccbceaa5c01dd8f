"""Defaults: what the outputs of a region hold when it is skipped, so that whoever reads them finds what is declared.

A buffer that is made inside a region and read outside it is filled before the region; so is one inside several
regions, before each of those that the reader is not in.
"""

from __future__ import annotations

from engine.blocktypes.entries import BufferArgument, FillEntry, Kernel, KernelEntry, ValueArgument
from engine.compiler.buffers import TRANSIENT, BufferPlan
from engine.compiler.description import GraphDescription
from engine.compiler.nesting import Nesting
from engine.patch.changes import PortRef
from engine.patch.regions import TOP
from engine.types import DType, nearest_number

_KERNELS = {size: Kernel("control.cu", f"fill_{8 * size}") for size in (1, 2, 4, 8)}
_THREADS = 256


def region_outputs(
    description: GraphDescription, buffers: BufferPlan, nesting: Nesting
) -> dict[str, tuple[PortRef, ...]]:
    """Return, by region block, the buffers to fill before it."""
    if nesting.is_flat:
        return {}
    readers: dict[PortRef, set[str]] = {}
    for connection in description.connections:
        place = buffers.places.get(connection.target)
        if place is not None:
            readers.setdefault(place.owner, set()).add(nesting.scope_of(connection.target.node))
    for port in (port for node in description.nodes for port in description.looked_at_in(node)):
        readers.setdefault(buffers.places[port].owner, set()).add(TOP)
    outputs: dict[str, dict[PortRef, None]] = {}
    for owner, buffer in buffers.allocations.items():
        scope = nesting.scope_of(owner.node)
        if scope == TOP or buffer.lifetime not in TRANSIENT:
            continue
        for reader in sorted(readers.get(owner, ())):
            for region in nesting.regions_between(scope, reader):
                outputs.setdefault(region, {})[owner] = None
    return {region: tuple(sorted(owners, key=lambda o: (o.node, o.port))) for region, owners in outputs.items()}


def fill_entry(dtype: DType, elements: int, default: float, name: str) -> FillEntry | KernelEntry:
    """Return what fills a buffer called `name` with `default`: every number in it, whatever the element type."""
    target = BufferArgument(name, reads=False, writes=True)
    if default == 0 or dtype.fields:
        return FillEntry(target, 0)
    number = nearest_number(dtype, default)
    bits = int.from_bytes(number.tobytes(), "little")
    count = elements * dtype.size_bytes // number.itemsize
    arguments = (target, ValueArgument(bits), ValueArgument(count))
    return KernelEntry(_KERNELS[number.itemsize], (count,), (_THREADS, 1, 1), arguments)
