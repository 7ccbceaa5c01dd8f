"""Instantiated graphs of the host device."""

from __future__ import annotations

from collections.abc import Iterable

from engine.device.arguments import KernelArguments
from engine.device.difference import difference
from engine.device.host.graph.assembly import HostAssembly, own_assembly
from engine.device.host.graph.program import Program
from engine.device.host.graph.runner import Runner
from engine.device.host.launch import Launch
from engine.device.host.modules.module import own_kernel
from engine.device.protocol import Graph, GraphNode, LaunchConfig, LoadedKernel, Stream, UpdateResult
from engine.diagnostics import DeviceError


class HostExecutable:
    """A graph, ready to run; it keeps the conditions and kernels that it needs."""

    def __init__(self, assembly: HostAssembly) -> None:
        self._watchdog = assembly.device.watchdog
        self._made: tuple[HostAssembly, Runner] | None = None
        self._take(assembly)

    def launch(self, stream: Stream) -> None:
        """Run every node once, as often as the loops say, in the order in which they were added.

        DeviceError when a kernel faults or a loop is stopped, and then the rest is not run.
        """
        assembly, runner = self._live()
        with assembly.lock:
            self._watchdog.enter()
            try:
                runner.run()
            finally:
                self._watchdog.leave()

    def upload(self, stream: Stream) -> None:
        """Do nothing: a graph of the host is ready when it has been made."""
        self._live()

    def update_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node new arguments, a new launch or another function."""
        program = self._live()[1].program
        launch = program.launch_of(node)
        if launch is None:
            raise DeviceError(f"host: updated node must be a kernel node of this graph, got {node}")
        if launch.kernel is not kernel or launch.arguments is not arguments or launch.config != config:
            launch = Launch(own_kernel(kernel), config, arguments)
        program.replace(node, launch)

    def refresh(self, nodes: Iterable[GraphNode]) -> None:
        """Take notice that other values were written into argument blocks, which are read where they are."""
        program = self._live()[1].program
        for node in nodes:
            if program.launch_of(node) is None:
                raise DeviceError(f"host: updated node must be a kernel node of this graph, got {node}")
            program.revalue(node)

    def update_from(self, graph: Graph) -> UpdateResult:
        """Give every node what its twin in `graph` does, or say why not; the graph is not needed afterwards."""
        self._live()
        assembly = own_assembly(graph, "graph to update from")
        if found := difference(self._nodes, assembly.tree.nodes):
            return found
        assembly.tree.check_conditions()
        assembly.tree.check_order()
        self._take(assembly)
        return UpdateResult(True)

    def destroy(self) -> None:
        """Let go of everything."""
        self._made = None

    def _take(self, assembly: HostAssembly) -> None:
        self._nodes = tuple(assembly.tree.nodes)
        self._made = (assembly, Runner(Program(assembly), self._watchdog))

    def _live(self) -> tuple[HostAssembly, Runner]:
        if self._made is None:
            raise DeviceError("host: executable must not be used after destroy")
        return self._made
