"""Phase 8, instantiate: the device graph becomes an executable, and with its buffers a `CompiledGraph`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.compiler.buffers import Lifetime
from engine.compiler.build import BuiltGraph, KernelNode, Span, TypedKernel
from engine.compiler.plan import Plan
from engine.compiler.scheduling import UploadFrame
from engine.device.arguments import ArgumentError
from engine.device.protocol import Event, Executable, Graph, Memory, Stream
from engine.patch.changes import PortRef


@dataclass
class CompiledGraph:
    """An executable graph with its buffers and node handles.

    It owns its graph, executable and events; memory belongs to the pool and modules to the module cache. The graph
    stays as long as the executable: its node handles name the nodes to update.
    """

    plan: Plan
    graph: Graph
    executable: Executable
    memory: Mapping[PortRef, Memory]
    kernels: list[KernelNode]
    spans: list[Span]
    _by_parameter: dict[tuple[str, str], list[tuple[KernelNode, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            for name, positions in kernel.parameters.items():
                targets = self._by_parameter.setdefault((kernel.node, name), [])
                targets += [(kernel, position) for position in positions]

    @property
    def nodes(self) -> frozenset[str]:
        """Ids of the nodes that run."""
        return frozenset(self.plan.description.by_id)

    @property
    def is_still(self) -> bool:
        """True when a launch with nothing changed gives what the last one gave: no state, no frame uniforms."""
        has_state = any(b.lifetime is Lifetime.STATE for b in self.plan.buffers.allocations.values())
        return not has_state and not any(isinstance(o, UploadFrame) for o in self.plan.operations)

    def set_parameters(self, values: Mapping[tuple[str, str], object]) -> int:
        """Write live parameters, by (node, name), and update each touched kernel node once; return how many.

        ArgumentError when a kernel can't take a value; all others are written nevertheless.
        """
        touched: dict[int, KernelNode] = {}
        refused: ArgumentError | None = None
        for key, value in values.items():
            for kernel, position in self._by_parameter.get(key, ()):
                try:
                    kernel.arguments.set(position, value)
                except ArgumentError as problem:
                    refused = problem
                else:
                    touched[kernel.operation] = kernel
        for kernel in touched.values():
            self._update(kernel)
        if refused is not None:
            raise refused
        return len(touched)

    def swap_kernels(self, kernels: Mapping[int, TypedKernel]) -> None:
        """Give kernel nodes, by operation index, another function with the same parameters."""
        for node in self.kernels:
            if node.operation in kernels:
                node.kernel = kernels[node.operation]
                self._update(node)

    def _update(self, node: KernelNode) -> None:
        self.executable.update_kernel(node.handle, node.kernel.kernel, node.config, node.arguments)

    def launch(self, stream: Stream) -> None:
        """Launch the whole graph once."""
        self.executable.launch(stream)

    def span_intervals(self, origin: Event) -> dict[str, tuple[int, int]]:
        """Return start after `origin` and duration of every span of the last launch, in nanoseconds."""
        return {s.label: (s.start.elapsed_ns(origin), s.stop.elapsed_ns(s.start)) for s in self.spans}

    def span_times(self) -> dict[str, int]:
        """Return the last launch's time of every span in nanoseconds; the launch must be done."""
        return {span.label: span.stop.elapsed_ns(span.start) for span in self.spans}

    def destroy(self) -> None:
        """Give executable and events back."""
        self.executable.destroy()
        self.graph.destroy()
        for span in self.spans:
            span.start.destroy()
            span.stop.destroy()


def instantiate(plan: Plan, built: BuiltGraph, memory: Mapping[PortRef, Memory]) -> CompiledGraph:
    """Instantiate the built graph; a graph that the device refuses is given back."""
    try:
        executable = built.graph.instantiate()
    except BaseException:
        built.destroy()
        raise
    return CompiledGraph(plan, built.graph, executable, memory, built.kernels, built.spans)
