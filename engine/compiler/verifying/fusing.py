"""Requirements on fusing: only buffers without other readers are no longer stored."""

from __future__ import annotations

from collections.abc import Container

from engine.compiler.buffers import Lifetime
from engine.compiler.operations import FusedEntry
from engine.compiler.plan import Plan
from engine.compiler.verifying.touches import Touch
from engine.descriptions.entries import BufferArgument, KernelEntry, ParameterArgument
from engine.kernel_sources import op_graphs
from engine.kernel_sources.sources import OpGraphSource
from engine.patch.changes import PortRef


def fusion_problems(plan: Plan, touches: list[list[Touch]]) -> list[str]:
    """Find buffers that are needed and not stored, and work of a block that its fused kernel leaves out."""
    fused = {o: b for o, b in plan.buffers.allocations.items() if b.lifetime is Lifetime.FUSED}
    problems = [
        f"operation {touch.operation} must not touch {touch.place.owner}, which is not stored"
        for found in touches
        for touch in found
        if touch.place.owner in fused
    ]
    looked_at = {plan.buffers.places[port].owner for port in plan.looked_at}
    problems += [f"{owner} must be stored, since it is looked at" for owner in fused.keys() & looked_at]
    for index, operation in enumerate(plan.operations):
        if isinstance(operation.entry, FusedEntry):
            problems += [f"operation {index} {problem}" for problem in _left_out(plan, operation.entry, touches[index])]
            problems += [f"operation {index} {problem}" for problem in _not_computed(plan, operation.entry, fused)]
    return problems


def _not_computed(plan: Plan, entry: FusedEntry, fused: Container[PortRef]) -> list[str]:
    """Return the buffers that are not stored and that a kernel reads before it has computed them."""
    found: list[str] = []
    computed: set[PortRef] = set()
    for node, place in entry.parts:
        part = plan.description.by_id[node].description.all_entries[place]
        arguments = part.buffers if isinstance(part, KernelEntry) else ()
        lies_at = plan.buffers.blocks[node].places
        touched = [(a, lies_at[a.name].owner) for a in arguments if a.name in lies_at]
        found += [
            f"must compute {owner} for {node}.{a.name}, since it is not stored"
            for a, owner in touched
            if a.reads and owner in fused and owner not in computed
        ]
        computed |= {owner for a, owner in touched if a.writes}
    return found


def _left_out(plan: Plan, fused: FusedEntry, touches: list[Touch]) -> list[str]:
    """Return the work of a kernel's parts that the kernel leaves out."""
    found = []
    done = {(touch.place, touch.writes) for touch in touches}
    source = fused.kernel.source
    assert isinstance(source, OpGraphSource)
    types = {node.id: node.type for node in source.parsed().nodes}
    live = {op.partition("/")[0] for op in op_graphs.kernel(source).ops if types[op] != "op.input"}
    for number, (node, place) in enumerate(fused.parts):
        entry = plan.description.by_id[node].description.all_entries[place]
        if not isinstance(entry, KernelEntry):
            return [f"must do what kernels do, got {node}, which has another entry at {place}"]
        for argument in entry.arguments:
            is_read = f"s{number}" in live  # a reader may leave its input unused
            if (
                isinstance(argument, ParameterArgument)
                and is_read
                and argument.name not in fused.live_places.get(node, ())
            ):
                found.append(f"must take the parameter {argument.name} of {node}")
            lies_at = plan.buffers.blocks[node].places
            if isinstance(argument, BufferArgument) and argument.name in lies_at:  # an optional input may have none
                lies = lies_at[argument.name]
                if plan.buffers.allocations[lies.owner].lifetime is not Lifetime.FUSED:
                    wanted = {(lies, False)} if argument.reads else {(lies, True)}
                    if not wanted <= done:
                        found.append(f"must touch {argument.name} of {node}")
    return found
