"""The verifier: checks all rules that a plan must obey, from scratch, however the plan was made.

Verifying takes longer than planning, so it is optional: `make_plan` verifies each plan if WARPLOOM_VERIFY=1 is in the
environment. Tests of the compiler and of the runtime set it.
"""

from __future__ import annotations

from collections.abc import Container

from warploom.engine.compiler.buffers import Lifetime, ends_block, kept_name
from warploom.engine.compiler.operations import (
    FRAME,
    AnyEntry,
    ClearStatus,
    DownloadStatus,
    FusedEntry,
    RegionEntry,
    UploadFrame,
)
from warploom.engine.compiler.pixels import with_pixels
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.verifying.dependencies import (
    conflict_problems,
    default_problems,
    flow_problems,
    order_problems,
)
from warploom.engine.compiler.verifying.replay import memory_problems
from warploom.engine.compiler.verifying.touches import Reach, Touch, all_touches, is_copy_of_delay
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CopyEntry,
    DelayEntry,
    KernelEntry,
    ParameterArgument,
    StatusKind,
)
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.diagnostics import GraphValidationError, Source, error
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.regions import scope_text
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT


class BrokenPlan(GraphValidationError):
    """A plan breaks rules, which is a bug of the compiler; its single error names them."""


def require_sound(plan: Plan) -> None:
    """Raise BrokenPlan when a plan breaks a rule."""
    if problems := verify(plan):
        text = f"a plan must break no rule, got {len(problems)}: {'; '.join(problems)}"
        raise BrokenPlan([error(text, remedy="report it with the patch", source=Source.ENGINE)])


def verify(plan: Plan) -> list[str]:
    """Return the errors in a plan, each as a sentence; an empty list if the plan is valid."""
    problems = _scope_problems(plan)
    if problems:
        return problems  # without valid scopes, the other rules can't be checked
    reach, touches = Reach(plan.operations, plan.scopes), all_touches(plan)
    return [
        *_entry_problems(plan),
        *_place_problems(plan),
        *_launch_problems(plan),
        *_frame_problems(plan, reach, touches),
        *_access_problems(plan, reach, touches),
        *fusion_problems(plan, touches),
        *conflict_problems(reach, touches),
        *flow_problems(plan, reach, touches),
        *default_problems(plan, reach),
        *order_problems(plan, reach),
        *memory_problems(plan, reach, touches),
    ]


def _scope_problems(plan: Plan) -> list[str]:
    """Check that every operation is in one scope and waits for earlier ones there, and that bodies have regions."""
    problems = []
    scopes, operations = plan.scopes, plan.operations
    if not scopes or (scopes[0].region, scopes[0].parent) != (-1, -1):
        return ["scope 0 must be the top"]
    for number, scope in enumerate(scopes):
        members = tuple(index for index, operation in enumerate(operations) if operation.scope == number)
        if scope.members != members:
            problems.append(f"scope {number} must list its operations {members}, got {scope.members}")
        if number and not (
            0 <= scope.region < len(operations)
            and isinstance(entry := operations[scope.region].entry, RegionEntry)
            and number in entry.scopes
            and operations[scope.region].scope == scope.parent
        ):
            problems.append(f"scope {number} must be a body of its region, got operation {scope.region}")
    for index, operation in enumerate(operations):
        problems += [
            f"operation {index} must wait for earlier ones of its scope, got {earlier}"
            for earlier in operation.after
            if not 0 <= earlier < index or operations[earlier].scope != operation.scope
        ]
        if operation.scope and scopes[operation.scope].region >= index:
            problems.append(f"operation {index} must follow its region, got {scopes[operation.scope].region}")
        if isinstance(operation.entry, RegionEntry):
            names = [scopes[s].name for s in operation.entry.scopes if scopes[s].region == index]
            control = plan.description.by_id[operation.node].description.control
            wanted = [scope_text(operation.node, branch) for branch in control.branches] if control else []
            if names != wanted:
                problems.append(f"region {operation.node} must have the bodies {wanted}, got {names}")
    return problems


def _entry_problems(plan: Plan) -> list[str]:
    """Check that the operations of a scope are exactly its blocks' entries, each once."""
    expected: dict[tuple[str, int, str], AnyEntry] = {}
    copies: list[tuple[str, PortRef, PortRef]] = []
    problems: list[str] = []
    for node in plan.description.nodes:
        block = node.description
        for place, entry in enumerate(block.entries):
            if not isinstance(entry, DelayEntry):
                expected[node.id, place, node.region] = with_pixels(entry, plan.checked.nodes[node.id])
            else:
                target, kept = PortRef(node.id, entry.target.name), PortRef(node.id, kept_name(entry.target.name))
                if kept in plan.buffers.places:
                    copies.append((node.region, kept, PortRef(node.id, entry.source.name)))
                    copies += [(node.region, target, kept)] if node.region else []
                elif PortRef(node.id, entry.source.name) in plan.buffers.places and target not in plan.buffers.swaps:
                    problems.append(f"{target} must be copied to, or swapped with, its next output")
        if block.control is not None:
            first = len(block.entries)
            last = first + len(block.control.begin)
            for place, entry in enumerate(block.control.begin, first):
                expected[node.id, place, node.region] = entry
            for branch in block.control.branches:
                body = scope_text(node.id, branch)
                for place, turn in enumerate(block.control.turn, last + 1):
                    expected[node.id, place, body] = turn
    found: dict[tuple[str, int, str], AnyEntry] = {}
    regions = [node.id for node in plan.description.nodes if node.description.control is not None]
    for index, operation in enumerate(plan.operations):
        key = operation.node, operation.place, plan.scopes[operation.scope].name
        if isinstance(operation.entry, RegionEntry):
            if operation.node not in regions or plan.description.by_id[operation.node].region != key[2]:
                problems.append(f"operation {index} must be a region of its scope, got {operation.node}")
            else:
                regions.remove(operation.node)
        elif operation.place >= 0:
            fused = operation.entry if isinstance(operation.entry, FusedEntry) else None
            for part in [key] if fused is None else [(node, place, key[2]) for node, place in fused.parts]:
                if part in found and (fused is None or _stores(plan, part[0], expected.get(part))):
                    problems.append(f"operation {index} must be there once, got {part} twice")
                found[part] = operation.entry if fused is None else expected.get(part, operation.entry)
    problems += [f"region {node} must have an operation" for node in regions]
    problems += [f"entry {key} must be an operation" for key in expected.keys() - found.keys()]
    problems += [f"operation {key} must be asked for by a block" for key in found.keys() - expected.keys()]
    problems += [f"operation {key} must do what its block asks" for key in found if found[key] != expected.get(key)]
    late = [
        (plan.scopes[o.scope].name, PortRef(o.node, o.entry.target.name), PortRef(o.node, o.entry.source.name))
        for o in plan.operations
        if is_copy_of_delay(o) and isinstance(o.entry, CopyEntry)
    ]
    if sorted(copies, key=str) != sorted(late, key=str):
        problems.append(f"each delay must be copied once, got {late} for {copies}")
    return problems


def _stores(plan: Plan, node: str, entry: object) -> bool:
    """True when an entry writes a stored buffer. An unstored buffer may be computed by several kernels."""
    if not isinstance(entry, KernelEntry):
        return True
    places, allocations = plan.buffers.blocks[node].places, plan.buffers.allocations
    owners = [places[argument.name].owner for argument in entry.buffers if argument.writes]
    return any(allocations[owner].lifetime is not Lifetime.FUSED for owner in owners)


def _place_problems(plan: Plan) -> list[str]:
    """Check that each place is inside its allocation, and each view or in-place output inside its source."""
    problems = []
    places, allocations = plan.buffers.places, plan.buffers.allocations
    for port, place in places.items():
        whole = allocations[place.owner].layout.span_bytes
        if not 0 <= place.offset <= place.offset + place.size_bytes <= whole:
            problems.append(f"{port} must lie in the {whole} bytes of {place.owner}, got {place}")
        if port in plan.layouts and place.size_bytes != plan.layouts[port].span_bytes:
            problems.append(f"{port} must have the bytes of its layout, got {place.size_bytes}")
    for node in plan.description.nodes:
        for spec in node.description.ports:
            port = PortRef(node.id, spec.name)
            view = node.description.view_of.get(spec.name)
            if spec.is_input:
                source = plan.description.source_of.get(port)
                same = source is None or places.get(port) == places[source]
            elif view is not None:
                inner, outer = places[port], places[PortRef(node.id, view.source)]
                same = inner.owner == outer.owner and (
                    outer.offset <= inner.offset and inner.offset + inner.size_bytes <= outer.offset + outer.size_bytes
                )
            else:
                same = spec.inplace is None or places[port] == places[PortRef(node.id, spec.inplace)]
            if not same:
                problems.append(f"{port} must lie at the place of its source, got {places.get(port)}")
    for owner, offset in plan.placement.offsets.items():
        end = offset + max(allocations[owner].layout.size_bytes, plan.placement.sizes[owner])
        if offset % ALLOCATION_ALIGNMENT or not 0 <= offset <= end <= plan.placement.size_bytes:
            problems.append(f"{owner} must lie aligned in the arena of {plan.placement.size_bytes} bytes, got {offset}")
    return problems


def _launch_problems(plan: Plan) -> list[str]:
    """Check that every kernel has a launch with exactly the thread blocks that its threads need."""
    problems = []
    for index, operation in enumerate(plan.operations):
        entry = operation.entry
        if not isinstance(entry, KernelEntry):
            continue
        config = plan.launches[index]
        context = plan.checked.nodes[operation.node].context
        sizes = [n.evaluate(context) if isinstance(n, Extent) else n for n in entry.num_threads]
        blocks = [-(-size // threads) for size, threads in zip(sizes, entry.thread_block, strict=False)]
        wanted = ((*blocks, 1, 1)[:3], entry.thread_block, entry.shared_bytes)
        if (config.grid, config.thread_block, config.shared_bytes) != wanted:
            problems.append(f"launch {index} of {operation.node} must be {wanted} for {sizes} threads, got {config}")
    return problems


def _frame_problems(plan: Plan, reach: Reach, touches: list[list[Touch]]) -> list[str]:
    """Check that frame uniforms are uploaded before they are read, and status words are cleared first and read back
    last.
    """
    problems = []
    blocks = [node.description for node in plan.description.nodes]
    statuses = [(node, status) for node in plan.description.nodes for status in node.description.statuses]
    wanted = {
        UploadFrame: any(block.uses_frame for block in blocks),
        ClearStatus: any(
            node.region or status.kind in (StatusKind.STOPPED, StatusKind.CHECKED) for node, status in statuses
        ),
        DownloadStatus: bool(statuses),
    }
    words = {
        plan.buffers.places[PortRef(n.id, s.buffer)].owner
        for n in plan.description.nodes
        for s in n.description.statuses
    }
    for kind, needed in wanted.items():
        found = [index for index, operation in enumerate(plan.operations) if isinstance(operation.entry, kind)]
        if len(found) != needed or any(plan.operations[index].scope for index in found):
            problems.append(f"{kind.__name__} must be at the top {int(needed)} times, got {found}")
            continue
        for index in found:
            for touch in (touch for other in touches for touch in other if touch.operation != index):
                if kind is UploadFrame:
                    right = touch.place.owner != FRAME or reach.before(index, touch.operation)
                elif touch.place.owner not in words or not touch.writes:
                    right = True
                elif kind is ClearStatus:
                    right = reach.before(index, touch.operation)
                else:
                    right = reach.before(touch.operation, index)
                if not right:
                    problems.append(f"{kind.__name__} must be ordered with operation {touch.operation}")
    return problems


def _access_problems(plan: Plan, reach: Reach, touches: list[list[Touch]]) -> list[str]:
    """Check that every operation declares the buffers that it touches, and a region those of its bodies."""
    reads: list[set[PortRef]] = [set() for _ in touches]
    writes: list[set[PortRef]] = [set() for _ in touches]
    for touch in (touch for found in touches for touch in found):
        for index in reach.around(touch.operation):
            (writes if touch.writes else reads)[index].add(touch.place.owner)
    for index, operation in enumerate(plan.operations):  # `order_problems` checks these
        reads[index] |= set(filter(ends_block, operation.reads))
        writes[index] |= set(filter(ends_block, operation.writes))
    return [
        f"operation {index} must name what it touches, got {set(operation.reads)} and {set(operation.writes)} "
        f"for {reads[index]} and {writes[index]}"
        for index, operation in enumerate(plan.operations)
        if set(operation.reads) != reads[index] or set(operation.writes) != writes[index]
    ]


def fusion_problems(plan: Plan, touches: list[list[Touch]]) -> list[str]:
    """Find buffers that are needed but not stored, and work of a block that its fused kernel leaves out."""
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
    """Return the unstored buffers that a kernel reads before it has computed them."""
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
    """Return the work of the fused parts that the kernel leaves out."""
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
            # An optional input may have no buffer.
            if isinstance(argument, BufferArgument) and argument.name in lies_at:
                lies = lies_at[argument.name]
                if plan.buffers.allocations[lies.owner].lifetime is not Lifetime.FUSED:
                    wanted = {(lies, False)} if argument.reads else {(lies, True)}
                    if not wanted <= done:
                        found.append(f"must touch {argument.name} of {node}")
    return found
