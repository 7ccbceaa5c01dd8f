"""Facts of measured spans other than times: their places, launches of kernels, bytes that they read and write."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from warploom.engine.compiler.executable.clocks import Span
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.compiler.inspection.labels import name
from warploom.engine.compiler.operations import FusedEntry, RegionEntry
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.occupancy import KernelResources
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.patch.regions import branch_of
from warploom.engine.profiling.profile import KernelFacts


class LaunchFacts:
    """The facts of a graph's kernels by operation; one is put together again when its launch or its code changes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LaunchConfig, KernelResources | None, KernelFacts]] = {}

    def of(self, kernels: Iterable[KernelNode]) -> dict[int, KernelFacts]:
        """Return the facts of kernels that are loaded."""
        known, found = self._known, {}
        for node in kernels:
            kernel, config = node.kernel.kernel, node.config
            resources = kernel.resources  # another object with each function
            before = known.get(node.operation)
            if before is None or before[0] is not config or before[1] is not resources:
                launch = kernel.fit(config)
                before = known[node.operation] = config, resources, _facts(node, launch, resources)
            found[node.operation] = before[2]
        return found


def _facts(node: KernelNode, launch: LaunchConfig, resources: KernelResources | None) -> KernelFacts:
    if resources is None:
        return KernelFacts(launch.grid, launch.thread_block)
    shared_bytes = resources.static_shared_bytes + launch.shared_bytes
    found = node.kernel.kernel.occupancy(launch)
    return KernelFacts(
        launch.grid,
        launch.thread_block,
        resources.registers,
        shared_bytes,
        resources.local_bytes,
        found.share if found is not None else None,
        str(found.limited_by) if found is not None else "",
    )


def moved_bytes(plan: Plan, spans: Sequence[Span]) -> list[int]:
    """Return for each span how many bytes its operations declare to read and to write in one turn.

    Bytes that one operation reads in several ways count once. The bytes of a region count in the spans inside it.
    """
    return [
        sum(
            place.size_bytes
            for operation in (plan.operations[index] for index in span.operations)
            if not isinstance(operation.entry, RegionEntry)
            for places in (operation.access.reads, operation.access.writes)
            for place in dict.fromkeys(places)
        )
        for span in spans
    ]


class SpanFacts(NamedTuple):
    """The constant fields of a `SpanProfile`: those before the times, those after, and the last one."""

    place: tuple[str, str, str, int]
    body: tuple[bool, str]
    parts: tuple[str, ...]


def span_facts(plan: Plan, found: Sequence[Span], *, single: bool) -> list[SpanFacts]:
    """Return the facts of spans, each a block or, with `single`, one operation."""
    facts, none = [], repeat((), len(found))
    for span, parts in zip(found, _parts_of_spans(plan, found) if single else none, strict=True):
        region, branch = _body(plan, plan.operations[span.operations[0]].scope)
        is_region = any(isinstance(plan.operations[i].entry, RegionEntry) for i in span.operations)
        index = span.operations[0] if single else -1
        called = name(plan, index) if single else ""
        facts.append(SpanFacts((span.node, called, region, index), (is_region, branch), parts))
    return facts


def _body(plan: Plan, scope: int) -> tuple[str, str]:
    """Return the region that a scope is a body of, and the name of its branch; "" for the top."""
    if not scope:
        return "", ""
    body = plan.scopes[scope]
    return plan.operations[body.region].node, branch_of(body.name)


def _parts_of_spans(plan: Plan, found: Iterable[Span]) -> Iterator[tuple[str, ...]]:
    """Yield for each span, of one operation, the parts of its node that it counts for."""
    described = plan.description.by_id
    work = {node: dict(each.description.work) for node, each in described.items() if each.description.work}
    for span in found:
        operation = plan.operations[span.operations[0]]
        of_node, entry, places = work.get(operation.node, {}), operation.entry, [operation.place]
        if isinstance(entry, FusedEntry):
            places = [place for node, place in entry.parts if node == operation.node]
        yield tuple(dict.fromkeys(part for place in places if place in of_node for part in of_node[place].timed))
