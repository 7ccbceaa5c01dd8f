"""A plan as text that changes only when the plan does, for golden tests and diffs."""

from collections.abc import Iterator

from warploom.engine.compiler.inspection.labels import names, title, what
from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.patch.changes import PortRef

#: How many of the buffers that share a buffer's memory are named.
_NAMED = 4


def plan_text(plan: Plan) -> str:
    """Return blocks, operations with indented bodies, buffers and totals, one per line."""
    operations, buffers, scopes = len(plan.operations), len(plan.buffers.allocations), len(plan.scopes) - 1
    lines = [
        f"plan of {len(plan.description.nodes)} blocks: {operations} operations, {buffers} buffers, {scopes} bodies",
        "",
        "blocks",
        *_blocks(plan),
        "",
        "operations",
        *_operations(plan, 0, "  "),
        "",
        "buffers",
        *_buffers(plan),
        "",
        "memory",
        *_memory(plan),
    ]
    return "\n".join(lines) + "\n"


def _blocks(plan: Plan) -> Iterator[str]:
    for node in sorted(plan.description.nodes, key=lambda node: node.id):
        ports = []
        for spec in node.description.ports:
            port = PortRef(node.id, spec.name)
            source = plan.description.source_of.get(port)
            if not spec.is_input:
                ports.append(f"{spec.name}: {plan.layouts[port]}")
            elif source is not None:
                ports.append(f"{spec.name} from {source}")
        ports += [f"{name} = {value} compiled in" for name, value in node.description.constants]
        region = f" in {node.region}" if node.region else ""
        yield f"  {node.id}{region}: {'; '.join(ports)}".rstrip(": ")


def _operations(plan: Plan, scope: int, indent: str) -> Iterator[str]:
    for index in plan.scopes[scope].members:
        operation = plan.operations[index]
        parts = [f"{index} {title(plan, index)}: {what(plan, index)}"]
        if operation.reads:
            parts.append(f"reads {names(operation.reads)}")
        if operation.writes:
            parts.append(f"writes {names(operation.writes)}")
        if operation.after:
            parts.append(f"after {', '.join(map(str, operation.after))}")
        yield indent + "; ".join(parts)
        if isinstance(operation.entry, RegionEntry):
            for body in operation.entry.scopes:
                yield f"{indent}  body {plan.scopes[body].name}"
                yield from _operations(plan, body, indent + "    ")


def _buffers(plan: Plan) -> Iterator[str]:
    placement = plan.placement
    for owner in sorted(plan.buffers.allocations, key=lambda owner: (owner.node, owner.port)):
        buffer = plan.buffers.allocations[owner]
        parts = [f"{owner}: {buffer.layout}, {buffer.layout.size_bytes} bytes, {buffer.lifetime.value}"]
        if owner in placement.offsets:
            parts.append(f"at {placement.offsets[owner]}")
        if sharers := placement.sharers(owner):
            named = ", ".join(str(other) for other in sharers[:_NAMED])
            more = f" and {len(sharers) - _NAMED} more" if len(sharers) > _NAMED else ""
            parts.append(f"shares with {named}{more}")
        if owner in plan.buffers.swaps:
            parts.append(f"swaps with {plan.buffers.swaps[owner]}")
        yield "  " + "; ".join(parts)


def _memory(plan: Plan) -> Iterator[str]:
    placement = plan.placement
    own = plan.own_sizes
    yield f"  arena: {placement.size_bytes} bytes for {len(placement.offsets)} buffers"
    yield f"  arena without sharing: {placement.unshared_bytes} bytes; in use at once: {placement.peak_bytes} bytes"
    yield f"  memory of their own: {sum(own)} bytes for {len(own)} buffers"
