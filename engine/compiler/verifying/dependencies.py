"""Rules for a plan's dependencies: conflicting accesses are ordered, and readers see their source's result."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from warploom.engine.compiler.buffers import TRANSIENT
from warploom.engine.compiler.operations import Place, RegionEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.verifying.touches import Reach, Touch, is_copy_of_delay, is_fill
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.regions import TOP, region_of


def by_owner(touches: list[list[Touch]]) -> dict[PortRef, list[Touch]]:
    """Return the touches of each buffer, in the order of the operations."""
    found: dict[PortRef, list[Touch]] = {}
    for touch in (touch for some in touches for touch in some):
        found.setdefault(touch.place.owner, []).append(touch)
    return found


def conflict_problems(reach: Reach, touches: list[list[Touch]]) -> list[str]:
    """Find operations that touch the same byte, of which at least one writes it, and may run at the same time."""
    return [
        f"operations {one.operation} and {other.operation} must be ordered, since both touch {owner}"
        for owner, found in by_owner(touches).items()
        for one, other in combinations(found, 2)
        if (one.writes or other.writes)
        and one.operation != other.operation
        and one.place.overlaps(other.place)
        and reach.together(one.operation, other.operation)
    ]


class _Flow:
    """The connections of a plan as operations: those that write a port's contents, read them and change them."""

    def __init__(self, plan: Plan, reach: Reach, touches: list[list[Touch]]) -> None:
        self.plan, self.reach, self.touches = plan, reach, touches
        self.by_owner = by_owner(touches)
        self.by_node: dict[str, list[Touch]] = {}
        for touch in (touch for some in touches for touch in some):
            for node in plan.operations[touch.operation].nodes:
                self.by_node.setdefault(node, []).append(touch)

    def producer(self, port: PortRef) -> PortRef:
        """Return the output whose block writes a port's contents: the port itself, or the source of its views."""
        description = self.plan.description
        while (view := description.by_id[port.node].description.view_of.get(port.port)) is not None:
            port = description.source_of[PortRef(port.node, view.source)]
        return port

    def touching(self, node: str, place: Place) -> Iterator[int]:
        """Return the operations of a block that touch a place, in order."""
        return iter(dict.fromkeys(t.operation for t in self.by_node.get(node, ()) if t.place.overlaps(place)))

    def _outputs(self, node: str) -> set[str]:
        return {spec.name for spec in self.plan.description.by_id[node].description.outputs}

    def is_late(self, operation: int, other: int) -> bool:
        """True when an operation belongs to the end of the turn or frame in which `other` runs."""
        made = self.plan.operations[operation]
        if is_copy_of_delay(made):
            ends = all(
                touch.place.owner.port not in self._outputs(made.node)
                for touch in self.touches[operation]
                if touch.writes
            )
        else:
            in_body = made.node and self.plan.scopes[made.scope].name != self.plan.description.by_id[made.node].region
            ends = bool(in_body) and not is_fill(made)
        return ends and self.reach.inside(other, made.scope)


def flow_problems(plan: Plan, reach: Reach, touches: list[list[Touch]]) -> list[str]:
    """Check that readers of a port run after its writer, and other writers before this writer or after the reader."""
    flow = _Flow(plan, reach, touches)
    problems = []
    for connection in plan.description.connections:
        producer = flow.producer(connection.source)
        place = plan.buffers.places[connection.target]
        writes = {t.operation for t in flow.by_owner.get(place.owner, ()) if t.writes and t.place.overlaps(place)}
        made = {
            index
            for index in writes
            if producer.node in plan.operations[index].nodes and not is_fill(plan.operations[index])
        }
        for reader in flow.touching(connection.target.node, place):
            made_by = plan.operations[reader]
            target = connection.target
            delayed = target.port in plan.description.by_id[target.node].description.delayed_inputs
            if (
                is_fill(made_by)
                or delayed != is_copy_of_delay(made_by)
                or (delayed and not flow.is_late(reader, reader))
            ):
                continue
            for index in writes:
                if index == reader or target.node in plan.operations[index].nodes:
                    continue
                if problem := _misplaced(flow, index, reader, made):
                    problems.append(f"{connection}: operation {index} {problem} {reader}, got them otherwise")
    return problems


def _misplaced(flow: _Flow, writer: int, reader: int, made: set[int]) -> str:
    """Return the rule that a writer and a reader of a port break; "" for none."""
    reach = flow.reach
    if reach.exclusive(writer, reader):
        return ""
    if flow.is_late(writer, reader):
        if reach.before(reader, writer):
            return ""
        # Both may be copies at the end of one scope: a delay that another delay stores must be read before it is
        # written.
        return "must come after"
    if writer in made or flow.is_late(reader, writer):
        return "" if reach.before(writer, reader) else "must come before"
    sources = [index for index in made if not flow.is_late(index, reader)]
    if any(reach.exclusive(writer, source) for source in sources):
        return ""
    earlier = bool(sources) and all(reach.before(writer, source) for source in sources)
    return "" if earlier or reach.before(reader, writer) else "must not come between its source and"


def default_problems(plan: Plan, reach: Reach) -> list[str]:
    """Find buffers written inside a region and read outside it, at any depth, that are not filled before the region."""
    readers = [
        (connection.source, plan.description.by_id[connection.target.node].region)
        for connection in plan.description.connections
    ]
    fed = {connection.source for connection in plan.description.connections}
    for node in plan.description.nodes:
        readers += [(PortRef(node.id, name), TOP) for name in node.description.seen_buffers]
        readers += [
            (port, TOP) for spec in node.description.outputs if (port := PortRef(node.id, spec.name)) not in fed
        ]
    problems = []
    for port, scope in readers:
        owner = plan.buffers.places[port].owner
        if plan.buffers.allocations[owner].lifetime not in TRANSIENT:
            continue
        around = set(_chain(plan, scope))
        for body in _chain(plan, plan.description.by_id[owner.node].region):
            if body in around:
                continue
            region = region_of(body)
            entered = next(
                i for i, o in enumerate(plan.operations) if o.node == region and isinstance(o.entry, RegionEntry)
            )
            filled = [
                i
                for i, o in enumerate(plan.operations)
                if is_fill(o) and o.writes == {owner} and o.scope == plan.operations[entered].scope
            ]
            if not any(reach.before(i, entered) for i in filled):
                problems.append(f"{owner} must be filled before {region}, since {port} is read in {scope or 'the top'}")
    return problems


def order_problems(plan: Plan, reach: Reach) -> list[str]:
    """Check that each block of an order ends before the other begins, if one of both may run after the other."""
    by_node: dict[str, list[int]] = {}
    for index, operation in enumerate(plan.operations):
        for node in operation.nodes:
            if operation.place >= 0:
                by_node.setdefault(node, []).append(index)
    return [
        f"operation {before} must end before {after} begins, by the order of {first} and {then}"
        for first, then in plan.description.orders
        for before in by_node.get(first, ())
        for after in by_node.get(then, ())
        if not (reach.before(before, after) or reach.exclusive(before, after) or _holds(plan, first, then))
    ]


def _holds(plan: Plan, one: str, other: str) -> bool:
    """True when one of two blocks is a region around the other."""
    return any(
        region in map(region_of, _chain(plan, plan.description.by_id[node].region))
        for region, node in ((one, other), (other, one))
    )


def _chain(plan: Plan, scope: str) -> list[str]:
    """Return the scopes from below the top down to `scope`."""
    found: list[str] = []
    while scope != TOP:
        found.insert(0, scope)
        scope = plan.description.by_id[region_of(scope)].region
    return found
