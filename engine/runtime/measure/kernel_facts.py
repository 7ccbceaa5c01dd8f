"""Facts of measured spans other than times: launches of kernels, and bytes that they read and write."""

from collections.abc import Iterable, Sequence

from engine.compiler.executable.clocks import Span
from engine.compiler.executable.nodes import KernelNode
from engine.compiler.operations import RegionEntry
from engine.compiler.plan import Plan
from engine.device.occupancy import KernelResources
from engine.device.protocol import LaunchConfig
from engine.profiling.profile import KernelFacts


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
