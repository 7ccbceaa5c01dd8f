"""Preparation: from the context's blocks to a `CompiledGraph` that is ready to be swapped in.

It runs beside the old graph, which it does not touch. What it allocates belongs to the new graph until it is swapped
in or abandoned.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.blocktypes.description import KernelEntry
from engine.compiler.buffers import Lifetime
from engine.compiler.build import Resources, TypedKernel, build_graph
from engine.compiler.instantiate import CompiledGraph, instantiate
from engine.compiler.plan import Plan, plan_what_can_run
from engine.compiler.scheduling import FRAME, Operation
from engine.compiler.shapes import Layout
from engine.device.protocol import Memory
from engine.diagnostics import DeviceError, Diagnostic, GraphValidationError, WarploomError, error
from engine.patch.changes import PortRef
from engine.runtime.context import CudaContext
from engine.runtime.messages import ProfilingLevel


@dataclass
class Prepared:
    """A graph ready to run (or None, and then why not), with the memory it brought along.

    `refused` says that there was a plan, which a kernel or the device did not take. `same_graph` is the new plan of the
    graph that runs already, when nothing about its nodes is different; at most contents that blocks provide are then
    to be uploaded again.
    """

    compiled: CompiledGraph | None
    same_graph: Plan | None = None
    refused: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    idle: frozenset[str] = frozenset()
    states: dict[PortRef, tuple[Layout, Memory]] = field(default_factory=dict)
    own_memory: list[Memory] = field(default_factory=list)

    def abandon(self, context: CudaContext) -> None:
        """Give back what a graph that does not come to run has claimed."""
        if self.compiled is not None:
            self.compiled.destroy()
        context.states.abandon({owner: memory for owner, (_, memory) in self.states.items()})
        for memory in self.own_memory:
            context.pool.release(memory)
        self.own_memory.clear()
        self.states.clear()


def prepare(context: CudaContext, running: frozenset[str], keep: Plan | None, profiling: ProfilingLevel) -> Prepared:
    """Describe, plan and build; errors of the patch come back as diagnostics, with no graph when none can run.

    `running` are the nodes of the graph that runs now; `keep` is its plan when it may run on if the new plan turns out
    to be the same, None when it must be built anew.
    """
    context.device.activate()
    context.registry.describe()
    partial = plan_what_can_run(context.description(), context.block_problems(), running)
    prepared = Prepared(None, diagnostics=list(partial.diagnostics), idle=partial.idle)
    if partial.plan is None:
        return prepared
    if keep is not None and same_structure(keep, partial.plan):
        prepared.same_graph = partial.plan
        return prepared
    try:
        prepared.compiled = _realise(context, partial.plan, profiling, prepared)
    except GraphValidationError as problem:
        prepared.refused = True
        prepared.diagnostics += problem.errors
        prepared.abandon(context)
    except WarploomError as problem:
        prepared.refused = True
        prepared.diagnostics.append(error(str(problem), remedy="make the buffers smaller or close other programs"))
        prepared.abandon(context)
    return prepared


def same_structure(old: Plan, new: Plan) -> bool:
    """True when both plans give the same graph nodes over the same buffers."""
    a, b = old.description, new.description
    return (
        set(a.connections) == set(b.connections)
        and a.by_id.keys() == b.by_id.keys()
        and all(a.by_id[n].description.structural_equals(b.by_id[n].description) for n in a.by_id)
    )


def kernels_of(context: CudaContext, plan: Plan) -> dict[int, TypedKernel]:
    """Return the loaded kernel of every operation that launches one."""
    kernels = {}
    for index, operation in enumerate(plan.operations):
        if isinstance(operation, Operation) and isinstance(operation.entry, KernelEntry):
            folders = plan.description.by_id[operation.node].description.kernel_folders
            kernels[index] = context.modules.kernel(operation.entry.kernel, folders)
    return kernels


def _realise(context: CudaContext, plan: Plan, profiling: ProfilingLevel, prepared: Prepared) -> CompiledGraph:
    memory: dict[PortRef, Memory] = {FRAME: context.frame_memory}
    for owner, buffer in plan.buffers.allocations.items():
        try:
            if buffer.lifetime is Lifetime.STATE:
                memory[owner] = context.states.claim(owner, buffer.layout)
                prepared.states[owner] = (buffer.layout, memory[owner])
                continue
            memory[owner] = context.pool.acquire(buffer.layout.size_bytes)
            prepared.own_memory.append(memory[owner])
        except DeviceError as problem:
            text = f"buffer of {buffer.layout.size_bytes:,} bytes must fit on the device: {problem}"
            remedy = "make it smaller, or close what else uses the device's memory"
            raise GraphValidationError([error(text, node=owner.node, port=owner.port, remedy=remedy)]) from problem
        if buffer.lifetime is Lifetime.PROVIDED:
            contents = plan.description.by_id[owner.node].description.contents[owner.port]
            context.device.write(memory[owner], contents)
    resources = Resources(memory, kernels_of(context, plan), context.values(), context.frame)
    built = build_graph(plan, context.device, resources, spans(plan, profiling))
    return instantiate(plan, built, memory)


def spans(plan: Plan, profiling: ProfilingLevel) -> dict[int, str]:
    """Return which operations are timed, by index, with the label that each span gets at this level."""
    labels: dict[int, str] = {}
    for index, operation in enumerate(plan.operations):
        if isinstance(operation, Operation):
            if profiling >= ProfilingLevel.PER_KERNEL:
                labels[index] = f"{operation.node}/{index}"
            elif profiling >= ProfilingLevel.PER_BLOCK:
                labels[index] = operation.node
    return labels
