"""Faults of the device: the nodes that may have caused one, and what people are told about it."""

from collections.abc import Mapping

import msgspec

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.fusion.fuse import node_of_line
from warploom.engine.compiler.inlining.inline import owner
from warploom.engine.compiler.operations import FusedEntry, Operation
from warploom.engine.device.protocol import GraphNode
from warploom.engine.diagnostics import DeviceError, Diagnostic, KernelFault, LoopStopped, Mend, Source, error


class Fault(msgspec.Struct, frozen=True):
    """A failure of the device in a frame.

    `diagnostic` is at the block that caused it, if only one can be. `suspects` are all blocks that can be; it is empty
    if nothing shows that.
    """

    diagnostic: Diagnostic
    suspects: tuple[str, ...] = ()

    @property
    def by_node(self) -> dict[str, Diagnostic]:
        """The diagnostic for each of the patch's nodes that may have caused it."""
        return dict.fromkeys(map(owner, self.suspects), self.diagnostic)


def find_fault(
    problem: DeviceError, compiled: CompiledGraph | None, operations: Mapping[GraphNode, int] | None = None
) -> Fault:
    """Return the fault of a device that failed while it ran `compiled`, or a copy with these `operations` by node."""
    operation = _operation(problem, compiled, operations) if compiled is not None else None
    if isinstance(problem, LoopStopped) and operation is not None:
        remedy = "correct its condition or lower its limit; the block is left out until it changes"
        found = error(
            f"loop must end by itself, got {problem.turns:,} turns, after which it was stopped {problem.why}",
            node=operation.node,
            remedy=remedy,
            mend=Mend.LIFT_LIMIT if problem.is_over_limit else Mend.TRY_AGAIN,
            source=Source.LAUNCH,
        )
        return Fault(found, (operation.node,))
    if not isinstance(problem, KernelFault):
        remedy = "correct the patch, then start the engine again"
        return Fault(error(str(problem), remedy=remedy, mend=Mend.RESTART, source=Source.LAUNCH))
    suspects = _suspects(problem, operation, compiled)
    message = str(problem) if len(suspects) < 2 else f"{problem}; it belongs to one of {', '.join(suspects)}"
    places = suspects if len(suspects) == 1 else {owner(node) for node in suspects}
    found = error(
        message,
        node=next(iter(places)) if len(places) == 1 else None,
        remedy="correct the kernel or its inputs; the block is left out until it changes",
        file=problem.source_file,
        line=problem.source_line,
        mend=Mend.LIFT_LIMIT if problem.is_over_limit else Mend.TRY_AGAIN,
        source=Source.LAUNCH,
    )
    return Fault(found, tuple(suspects))


def _operation(
    problem: DeviceError, compiled: CompiledGraph, operations: Mapping[GraphNode, int] | None
) -> Operation | None:
    """Return the operation that failed, if the device names its node."""
    node = problem.node if isinstance(problem, KernelFault | LoopStopped) else None
    if operations is None:
        handles = compiled.variants[compiled.phase].built.handles
        operations = {handle: index for index, handle in handles.items()}
    index = operations.get(GraphNode(node)) if node is not None else None
    return compiled.plan.operations[index] if index is not None else None


def _suspects(problem: KernelFault, operation: Operation | None, compiled: CompiledGraph | None) -> list[str]:
    """Return the blocks whose work the failed kernel does; of a fused one the block of the op that failed, if known."""
    if operation is not None:
        found = [operation]
    elif compiled is not None:
        used = [kernel for kernel in compiled.kernels if kernel.kernel.kernel.name == problem.kernel]
        found = [compiled.plan.operations[kernel.operation] for kernel in used]
    else:
        found = []
    if len(found) == 1 and isinstance(entry := found[0].entry, FusedEntry) and problem.source_line:
        return [node_of_line(entry, problem.source_line)]
    return sorted({node for operation in found for node in operation.nodes})
