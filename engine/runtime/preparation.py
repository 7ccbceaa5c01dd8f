"""Preparation: from the context's blocks to a `CompiledGraph` that is ready to be swapped in.

It runs beside the old graph, which it does not touch. What it allocates belongs to the new graph until it is swapped
in or abandoned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from engine.compiler.arguments import Resources
from engine.compiler.description import BlockNode
from engine.compiler.inlining import Inlined, inline
from engine.compiler.instantiate import CompiledGraph, compile_plan
from engine.compiler.plan import Plan, plan_what_can_run
from engine.diagnostics import Diagnostic, GraphValidationError, WarploomError, error
from engine.runtime.allocation import GraphMemory, allocate
from engine.runtime.carrying import keep_memory
from engine.runtime.context import CudaContext
from engine.runtime.launch_checks import count_problems, launch_warnings
from engine.runtime.messages import ProfilingLevel
from engine.runtime.modules import PlanKernels
from engine.runtime.requirements import element_problems, require_memory


@dataclass
class Prepared:
    """A graph ready to run (or None, and then why not), with the memory it brought along.

    `refused` says that there was a plan, which a kernel or the device did not take. `same_graph` is the new plan of the
    graph that runs already, when nothing about its nodes is different; at most contents that blocks provide are then
    to be uploaded again.
    """

    compiled: CompiledGraph | None
    inlined: Inlined
    same_graph: Plan | None = None
    refused: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    #: What is to be said of the launches of `compiled`.
    launch_warnings: list[Diagnostic] = field(default_factory=list)
    idle: frozenset[str] = frozenset()
    memory: GraphMemory | None = None


@dataclass(frozen=True)
class Current:
    """The graph that runs, and its memory: what did not change is used further."""

    compiled: CompiledGraph
    memory: GraphMemory


def prepare(context: CudaContext, current: Current | None, profiling: ProfilingLevel, *, rebuild: bool) -> Prepared:
    """Describe, plan and build; errors of the patch come back as diagnostics, with no graph when none can run.

    `current` may run on if the new plan turns out to be the same. Unless it is to be a `rebuild`, only what changed is
    built; the new graph is then to `take_over` the rest, and so is its memory.
    """
    context.device.activate()
    running = current.compiled.nodes if current is not None else frozenset[str]()
    previous = current.compiled.plan if current is not None else None
    context.registry.describe()
    inlined = inline(context.description())
    problems = context.block_problems(inlined.description.nodes)
    partial = plan_what_can_run(inlined, problems, running, previous=previous)
    prepared = Prepared(None, inlined, diagnostics=list(partial.diagnostics), idle=partial.idle)
    if partial.plan is None:
        return prepared
    if previous is not None and not rebuild and same_structure(previous, partial.plan):
        prepared.same_graph = partial.plan
        return prepared
    try:
        prepared.compiled, prepared.memory = _realise(
            context, partial.plan, profiling, current if not rebuild else None
        )
        prepared.launch_warnings = launch_warnings(prepared.compiled.kernels, context.device.info)
    except GraphValidationError as problem:
        prepared.refused = True
        prepared.diagnostics += problem.errors
    except WarploomError as problem:
        prepared.refused = True
        prepared.diagnostics.append(error(str(problem), remedy="make the buffers smaller or close other programs"))
    return prepared


def same_structure(old: Plan, new: Plan) -> bool:
    """True when both plans give the same graph nodes over the same buffers."""
    a, b = old.description, new.description
    return (
        set(a.connections) == set(b.connections)
        and a.by_id.keys() == b.by_id.keys()
        and all(_same_block(node, b.by_id[node.id]) for node in a.nodes)
    )


def _same_block(a: BlockNode, b: BlockNode) -> bool:
    return (a.region, a.group) == (b.region, b.group) and (
        a.description is b.description or a.description.structural_equals(b.description)
    )


def _realise(
    context: CudaContext, plan: Plan, profiling: ProfilingLevel, current: Current | None
) -> tuple[CompiledGraph, GraphMemory]:
    image_of = cache(context.modules.image)  # which looks for the kernel's file
    only = _renewed(plan, current)
    if problems := [*element_problems(plan, image_of, only), *count_problems(plan, image_of, only)]:
        raise GraphValidationError(problems)
    device, pool, states = context.device, context.pool, context.states
    running = current.compiled if current is not None else None
    claimed = keep_memory(plan, current.compiled.plan, current.memory) if current is not None else GraphMemory({})
    there = states.kept(plan) | claimed.by_owner.keys()
    require_memory(plan, device, pool, there, has_arena=claimed.arena is not None)
    memory = allocate(plan, device, pool, states, context.frame_memory, claimed)
    try:
        resources = Resources(
            memory.by_owner,
            PlanKernels(plan, context.modules),
            plan.inlined.all_values(context.values()),
            context.frame,
            memory.status,
            memory.swapped,
        )
        return compile_plan(plan, device, resources, spans(plan, profiling), running), memory
    except BaseException:
        memory.abandon(pool, states)
        raise


def _renewed(plan: Plan, current: Current | None) -> frozenset[int] | None:
    """Return the operations that may be other than those of the graph that runs; None when all may."""
    amendment = plan.amendment
    if amendment is None or current is None or amendment.base is not current.compiled.plan.operations:
        return None
    return amendment.renewed


def spans(plan: Plan, profiling: ProfilingLevel) -> dict[int, str]:
    """Return which operations are timed, by index, with the label that each span gets at this level.

    What is inside a region is timed with the region, since CUDA records no events there.
    """
    labels: dict[int, str] = {}
    for index, operation in enumerate(plan.operations):
        if operation.node and operation.scope == 0:
            if profiling >= ProfilingLevel.PER_KERNEL:
                labels[index] = f"{operation.node}#{index}"
            elif profiling >= ProfilingLevel.PER_BLOCK:
                labels[index] = operation.node
    return labels
