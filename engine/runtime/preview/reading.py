"""Reading: the contents of a port in the last frame, even if it was fused or shares memory.

The law: a read returns the same contents as in an engine without fusion and with separate memory for each buffer. In a
loop these are the contents after the last turn; in a body that did not run, the port's default, which is zeros unless
its block declares another. Frames do no work for a read: a region records on the device whether its body runs, and an
overwritten or fused buffer is computed again for its reader, from the user's arrays with their contents at that time.
"""

from collections.abc import Mapping

import numpy as np

from warploom.engine.compiler.buffers import TRANSIENT
from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.build import build_graph
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.memory.recomputation import recomputation
from warploom.engine.compiler.operations import FusedEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.scheduling import default_of
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Memory, MemoryPart, Stream, part_of
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.regions import branch_of, region_of
from warploom.engine.runtime.memory.buffer_pool import BufferPool
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.runtime.model.module_cache import ModuleCache
from warploom.engine.runtime.model.plan_kernels import PlanKernels
from warploom.engine.types import Array, nearest_number
from warploom.engine.types.layout import Layout


def read_buffer(compiled: CompiledGraph, device: Device, port: PortRef) -> Array:
    """Return a copy of a port's or internal buffer's contents; vectors get an axis of their own, last.

    The buffer must keep its memory until the end of a frame, as displays and unconnected outputs do.
    """
    return _read_from(compiled.plan, compiled.memory, device, compiled.plan.inlined.output(port))


def read_port(
    compiled: CompiledGraph,
    services: DeviceServices,
    values: Mapping[str, Mapping[str, object]],
    stream: Stream,
    port: PortRef,
) -> Array:
    """Return a copy of any port's contents in the last frame, as `read_buffer` does.

    If its memory has been reused since, or it was never stored since kernels were fused, the operations that it depends
    on run again, in memory of their own.
    """
    fused, plan = compiled.plan, compiled.plan.before_fusing
    inner = plan.inlined.output(port)
    owner = plan.buffers.places[inner].owner
    buffer = plan.buffers.allocations.get(owner)  # None for the graph's own buffers
    if buffer is not None and buffer.lifetime in TRANSIENT and not _was_run(compiled, services.device, owner):
        return _default(plan, inner)
    if not fused.overwritten(owner):
        return _read_from(plan, compiled.memory, services.device, inner)
    again = recomputation(plan.operations, plan.placement.lasting, fused.overwritten, owner)
    if again is None:
        raise WarploomError(f"contents of {port} must be read before the next frame begins, got a read after that")
    part = plan.part(again, owner)
    private: list[Memory] = []
    try:
        memory = {**compiled.memory, **_allocate(part, services.pool, private)}
        resources = Resources(
            memory,
            _kernels(compiled, part, services.modules),
            plan.inlined.all_values(values),
            services.uniforms.current,
            libraries=services.libraries,
        )
        built = build_graph(part, services.device, resources)
        try:
            executable = built.graph.instantiate()
            try:
                executable.launch(stream)
                stream.synchronize()
                return _read_from(part, memory, services.device, inner)
            finally:
                executable.destroy()
        finally:
            built.graph.destroy()
    finally:
        for taken in private:
            services.pool.release(taken, keep=False)


def lasting_place(compiled: CompiledGraph, port: PortRef) -> MemoryPart | None:
    """Return the memory that holds a port's contents until the next launch; None if only `read_port` finds them."""
    plan = compiled.plan.before_fusing
    inner = plan.inlined.output(port)
    place = plan.buffers.places[inner]
    buffer = plan.buffers.allocations.get(place.owner)
    may_be_skipped = buffer is not None and buffer.lifetime in TRANSIENT and not plan.is_filled(place.owner)
    if may_be_skipped or compiled.plan.overwritten(place.owner):
        return None
    return part_of(compiled.memory[place.owner], place.offset, plan.layouts[inner].span_bytes)


def _was_run(compiled: CompiledGraph, device: Device, owner: PortRef) -> bool:
    """False when a buffer's block is in a body that did not run, in the last turn of the region around it.

    It is also True where the buffer is filled with the default before the region, since it is then right in any case.
    """
    plan = compiled.plan
    if plan.is_filled(owner):
        return True
    word = np.empty(1, np.uint32)
    for scope in plan.nesting.chain(plan.nesting.scope_of(owner.node))[1:]:
        region = region_of(scope)
        control = plan.description.by_id[region].description.control
        assert control is not None
        device.read(compiled.memory[plan.buffers.places[PortRef(region, control.chosen)].owner], word)
        if word[0] != control.branches.index(branch_of(scope)):
            return False
    return True


def _kernels(compiled: CompiledGraph, part: Plan, modules: ModuleCache) -> PlanKernels:
    """Return the kernels of a part of the running graph: where possible the loaded ones, even if files were saved
    since.
    """
    operations, kernels = compiled.plan.operations, PlanKernels(part, modules)
    running = {
        (made.node, made.place): node.kernel
        for node in compiled.kernels
        if not isinstance((made := operations[node.operation]).entry, FusedEntry)
    }
    for index, made in enumerate(part.operations):
        if made.place >= 0 and (made.node, made.place) in running:
            kernels[index] = running[made.node, made.place]
    return kernels


def _allocate(part: Plan, pool: BufferPool, taken: list[Memory]) -> dict[PortRef, Memory]:
    """Return memory for the buffers that the operations of a plan write; `taken` is from the pool."""
    made: dict[PortRef, Memory] = {}
    allocations, offsets = part.buffers.allocations, part.placement.offsets
    if offsets:
        arena = pool.acquire(part.placement.size_bytes, exact=True)
        taken.append(arena)
        made |= {owner: MemoryPart(arena, at, allocations[owner].size_bytes or 1) for owner, at in offsets.items()}
    written = {owner for operation in part.operations for owner in operation.writes}
    for owner in sorted(written - offsets.keys() & allocations.keys(), key=str):
        made[owner] = pool.acquire(allocations[owner].layout.size_bytes)
        taken.append(made[owner])
    return made


def _read_from(plan: Plan, memories: Mapping[PortRef, Memory], device: Device, port: PortRef) -> Array:
    """Return a copy of the contents of a port of a plain block; `memories` are the buffers' by owner."""
    layout, place = plan.layouts[port], plan.buffers.places[port]
    memory = part_of(memories[place.owner], place.offset, layout.span_bytes)
    if layout.strides is None:
        array = np.empty(layout.shape, layout.dtype.numpy)
        device.read(memory, array)
        return array
    whole = np.empty(layout.span_bytes, np.uint8)
    device.read(memory, whole)
    return _seen(layout, whole)


def _seen(layout: Layout, data: Array) -> Array:
    """Return a copy of the elements in some bytes, by a layout."""
    return elements_in(layout, data).copy()


def elements_in(layout: Layout, data: Array) -> Array:
    """Return the elements in some bytes, by a layout, in place."""
    element = layout.dtype.numpy
    shape = layout.shape + element.shape
    if layout.strides is None:
        return np.ndarray(shape, element.base, data)
    strides = [stride * layout.dtype.size_bytes for stride in layout.strides]
    strides += np.empty(element.shape, element.base).strides
    return np.ndarray(shape, element.base, data, strides=strides)


def _default(plan: Plan, port: PortRef) -> Array:
    """Return a port's contents when its block's region is skipped."""
    layout, place = plan.layouts[port], plan.buffers.places[port]
    whole = plan.buffers.allocations[place.owner].layout
    data = np.zeros(place.offset + layout.span_bytes, np.uint8)
    if not whole.dtype.fields:
        number = nearest_number(whole.dtype, default_of(plan.description, place.owner))
        data[:] = np.resize(np.frombuffer(number.tobytes(), np.uint8), data.size)
    return _seen(layout, data[place.offset :])
