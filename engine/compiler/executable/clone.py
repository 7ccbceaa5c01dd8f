"""Cloning: a copy of the running device graph, in which only the nodes that differ are changed.

Argument blocks of kernels that stay are shared with the running graph, so live parameters reach both.
"""

from collections.abc import Mapping

from warploom.engine.compiler.difference import Difference
from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.build import BuiltGraph
from warploom.engine.compiler.executable.nodes import CapturedNode, KernelNode, NodeMaker, unexpected
from warploom.engine.compiler.operations import DownloadStatus
from warploom.engine.compiler.plan import Plan
from warploom.engine.descriptions.entries import CaptureEntry, CopyEntry, FillEntry, KernelEntry
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import PinnedArray
from warploom.engine.diagnostics import WarploomError
from warploom.engine.types.bits import same

#: Numbers of removed nodes stay in a graph; with more than this share of them, the graph is rebuilt.
_MOST_REMOVED = 2
_FEW = 64


def clone_graph(
    changes: Difference,
    device: Device,
    resources: Resources,
    running: BuiltGraph,
    status: PinnedArray | None,
) -> BuiltGraph | None:
    """Return the graph of a plan, made from the `running` one of the plan before; None if it must be built anew.

    `status` is where the running graph leaves its status words. Raise GraphValidationError, with the node, when a
    kernel does not take the arguments its block passes.
    """
    before, now = changes.before, changes.now
    if len(now.scopes) > 1 or len(before.scopes) > 1:
        return None
    if now.description.has_groups or before.description.has_groups:
        return None
    cloning = _Cloning(changes, device, resources, running)
    cloning.find_changes(status)
    if cloning.removed > max(_FEW, len(now.operations) // _MOST_REMOVED):
        return None
    return cloning.run()


class _Cloning:
    def __init__(
        self,
        changes: Difference,
        device: Device,
        resources: Resources,
        running: BuiltGraph,
    ) -> None:
        self._before, self._plan = changes.before, changes.now
        self._resources = resources
        self._running = running
        self._earlier = changes.earlier
        self._maker = NodeMaker(changes.now, device, resources)
        self._at = 0  # the operation that is being changed
        self._gone = changes.gone
        #: Operations to make again, those among them whose nodes are replaced, and those with new dependencies.
        self._renewed = {*changes.renewed, *changes.touched}
        self._replaced: set[int] = set()
        self._retied = set(changes.retied)

    @property
    def removed(self) -> int:
        """How many node numbers are no longer in use."""
        return self._running.removed + len(self._gone) + len(self._replaced)

    def find_changes(self, status: PinnedArray | None) -> None:
        """Find the operations that differ from the running graph."""
        operations, earlier = self._plan.operations, self._earlier
        others = _nodes_with_other_values(self._before, self._plan)
        if others:
            self._renewed |= {i for i, operation in enumerate(operations) if not others.isdisjoint(operation.nodes)}
        if swapped := self._running.swapped:  # these can't be changed in a graph, only in an executable
            kinds = CaptureEntry, FillEntry, CopyEntry
            fixed = (i for i, operation in enumerate(operations) if isinstance(operation.entry, kinds))
            self._renewed |= {index for index in fixed if earlier[index] in swapped}
        if operations and self._resources.status is not status and isinstance(operations[-1].entry, DownloadStatus):
            self._renewed.add(len(operations) - 1)
        for index in self._renewed:
            old = earlier[index]
            is_kernel = isinstance(operations[index].entry, KernelEntry)
            if old >= 0 and not (is_kernel and isinstance(self._before.operations[old].entry, KernelEntry)):
                self._replaced.add(index)
        if self._replaced:
            self._retied |= self._replaced
            self._retied |= {i for i, o in enumerate(operations) if not self._replaced.isdisjoint(o.after)}

    def run(self) -> BuiltGraph:
        """Return the changed clone."""
        running, earlier = self._running, self._earlier
        built = BuiltGraph(running.graph.clone(), self._resources.memory, removed=self.removed)
        self._built = built
        try:
            self._take_out()
            if isinstance(earlier, range):
                built.handles = running.handles.copy()
            else:
                built.handles = {i: running.handles[j] for i, j in enumerate(earlier) if j >= 0}
            self._take_over_captures()
            self._list_kernels(self._change())
        except BaseException as problem:
            built.graph.destroy()
            if isinstance(problem, Exception) and not isinstance(problem, WarploomError):
                raise unexpected(problem, self._plan.operations[self._at]) from problem
            raise
        return built

    def _take_out(self) -> None:
        operations = (*self._gone, *(self._earlier[index] for index in self._replaced))
        self._built.graph.remove(*(self._running.handles[old] for old in operations))

    def _take_over_captures(self) -> None:
        known = {captured.operation: captured for captured in self._running.captured}
        for index, old in enumerate(self._earlier) if known else ():
            if old in known and index not in self._replaced:
                captured = known[old]
                self._built.captured.append(CapturedNode(index, captured.handle, captured.capture))

    def _change(self) -> dict[int, KernelNode]:
        """Change the nodes that differ; return the new kernels, by operation."""
        graph, handles, operations = self._built.graph, self._built.handles, self._plan.operations
        earlier = self._earlier
        made: dict[int, KernelNode] = {}
        # In the order of operations, so that nodes never wait for each other in a circle in between.
        for index in sorted(self._renewed | self._retied):
            entry, self._at = operations[index].entry, index
            is_new, is_tied = earlier[index] < 0 or index in self._replaced, index in self._retied
            after = [handles[other] for other in operations[index].after] if is_tied else []
            if isinstance(entry, KernelEntry) and index in self._renewed:
                kernel = made[index] = self._maker.kernel(index, entry, None)
                if is_new:
                    handles[index] = graph.add_kernel(kernel.kernel.kernel, kernel.config, kernel.arguments, after)
                else:
                    graph.set_kernel(handles[index], kernel.kernel.kernel, kernel.config, kernel.arguments)
                kernel.handle = handles[index]
            elif is_new and isinstance(entry, CaptureEntry):
                captured = self._maker.add_captured(graph, index, entry, after)
                handles[index] = captured.handle
                self._built.captured.append(captured)
            elif is_new:
                handles[index] = self._maker.add(graph, index, after)
            if is_tied and not is_new:
                graph.set_after(handles[index], after)
        return made

    def _list_kernels(self, made: Mapping[int, KernelNode]) -> None:
        """List the kernel nodes by operation; those that got another function while they ran get it in the graph."""
        built, swapped = self._built, self._running.swapped
        known = {kernel.operation: kernel for kernel in self._running.kernels}
        for index, old in enumerate(self._earlier):
            kernel = made.get(index)
            if kernel is None:
                if old not in known or index in self._replaced:
                    continue
                kernel = known[old]
                if old in swapped:
                    built.graph.set_kernel(kernel.handle, kernel.kernel.kernel, kernel.config, kernel.arguments)
                if old != index:
                    k = kernel
                    kernel = KernelNode(k.node, index, k.handle, k.kernel, k.config, k.arguments, k.parameters)
            built.kernels.append(kernel)


def _nodes_with_other_values(before: Plan, now: Plan) -> set[str]:
    """Return the blocks to which the composites around them may pass other values than before."""
    old, new = before.inlined, now.inlined
    if old.parameters != new.parameters:
        return set(new.values)
    return {node for node, values in new.values.items() if not _are_same(old.values.get(node, {}), values)}


def _are_same(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """True when values are the same objects, or equal numbers; other types need not define equality."""
    return old.keys() == new.keys() and all(
        value is old[name] or (isinstance(value, (bool, int, float)) and same(value, old[name]))
        for name, value in new.items()
    )
