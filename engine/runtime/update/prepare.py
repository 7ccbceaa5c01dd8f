"""Preparation: from a snapshot of the patch to the next running graph: another graph, or the same one, adjusted.

The worker does this beside the running graph, which it does not touch. Its allocations belong to the new graph until
that is swapped in or abandoned. The swap holds up a frame, so everything that it needs is prepared here.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial

import msgspec

from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.description import BlockNode
from warploom.engine.compiler.difference import Difference, plan_difference, same_plan
from warploom.engine.compiler.executable.adjust import Adjustment, adjust_graph, operations_in_place
from warploom.engine.compiler.executable.arguments import Resources, TypedKernel
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph, compile_plan
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.compiler.inlining.inline import Inlined
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import plan_what_can_run
from warploom.engine.descriptions.entries import CaptureEntry, KernelEntry
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import Diagnostic, GraphValidationError, KernelError, Source, WarploomError, error
from warploom.engine.processes.scope import Cancelled, check_cancelled
from warploom.engine.profiling.side_work import SideKind
from warploom.engine.protocol.messages import BufferReport, UpdateLevel
from warploom.engine.runtime.check.kernel_checks import (
    argument_problems,
    count_problems,
    launch_warnings,
    number_problems,
)
from warploom.engine.runtime.memory.graph_memory import (
    GraphMemory,
    MemoryRefused,
    allocate_buffers,
    keep_memory,
    require_memory,
)
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.runtime.model.describe_patch import PatchDescription, PatchSnapshot, describe_patch
from warploom.engine.runtime.model.plan_kernels import PlanKernels, stale_kernels, unusable_kernels
from warploom.engine.runtime.report.node_reports import Kernels, buffer_reports, node_kernels

_log = logging.getLogger(__name__)
#: A buffer of this size may have more elements than a kernel can count.
_LARGE_BYTES = 1 << 31


@dataclass
class Prepared:
    """The next running graph: `compiled`, or the present one with an `adjustment`, or the present one by `same_graph`.

    `same_graph` leads to a plan for which at most contents that blocks provide must be uploaded again. If none of the
    three is set, `diagnostics` has the reasons; with `refused` there was a plan that a kernel or the device didn't
    accept.

    After saved kernels there is no `description`, and at most an adjustment in the same memory. Where they need
    `rebuild`, that continues the cause: "with other parameters".
    """

    description: PatchDescription | None = None
    rebuild: str = ""
    compiled: CompiledGraph | None = None
    same_graph: Difference | None = None
    adjustment: Adjustment | None = None
    refused: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    #: Advice on launches, and kernels whose newest version doesn't compile.
    launch_warnings: list[Diagnostic] = field(default_factory=list)
    stale: list[Diagnostic] = field(default_factory=list)
    #: The blocks of the patch, composites' and bypassed ones included, that are not in the new graph.
    left_out: frozenset[str] = frozenset()
    #: The patch's nodes that continue unchanged, and the values by node that the graph is built with.
    held: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    memory: GraphMemory | None = None
    #: The buffer of every output port of the new graph, by "node.port".
    buffers: dict[str, BufferReport] = field(default_factory=dict)
    #: The kernels of each node of the `compiled` graph.
    kernels: Mapping[str, Kernels] = field(default_factory=dict)

    def abandon(self, services: DeviceServices) -> None:
        """Free everything that was built and claimed for a graph that won't run."""
        # The memory has the array of status words.
        parts = [variant.destroy for variant in self.compiled.variants] if self.compiled is not None else []
        if self.memory is not None:
            parts.append(partial(self.memory.abandon, services.pool, services.states))
        self.compiled = self.adjustment = self.memory = None
        release_all(*parts)

    @property
    def plan(self) -> Plan | None:
        """The plan of the next graph; None when the running graph stays unchanged."""
        if self.compiled is not None:
            return self.compiled.plan
        if self.adjustment is not None:
            return self.adjustment.plan
        return self.same_graph.now if self.same_graph is not None else None


class Current(msgspec.Struct, frozen=True):
    """The running graph and its memory, whose unchanged parts the next graph reuses, and its first values."""

    compiled: CompiledGraph
    memory: GraphMemory
    values: Mapping[str, Mapping[str, object]]


def prepare(
    services: DeviceServices,
    patch: PatchSnapshot,
    current: Current | None,
    *,
    rebuild: bool,
    fuses: bool,
    shares: bool = True,
) -> Prepared:
    """Describe, plan and build. Errors of the patch come back as diagnostics, with no graph if none can run.

    `current` keeps running if the new plan is the same, or differs only in parts that can be changed in place. Except
    for a `rebuild`, only changed parts are built; the new graph and its memory `take_over` the rest. With `fuses`,
    kernels of neighbouring blocks are fused. Without `shares`, none is, and each buffer has separate memory.
    """
    services.device.activate()
    running = current.compiled.nodes if current is not None else frozenset[str]()
    previous = current.compiled.plan if current is not None else None
    described = describe_patch(patch, services.code)
    modules = services.modules
    new = [now.block for now, was in zip(described.nodes, patch.nodes, strict=True) if now.block is not was.block]
    fresh = {id(block.description): block.description for block in new if block is not None}.values()
    if not modules.are_current((kernel, each.kernel_folders) for each in fresh for kernel in each.kernels()):
        modules.reload()  # a new block has the kernel that its file contains now, and then all others have it too
        rebuild = True
    unusable = unusable_kernels(modules, described.inlined.description.nodes)
    if lost := described.inlined.numbers_at({item.node for item in unusable if item.node}):
        _log.info("kernels can't read numbers in the same frame: %s", "; ".join(item.message for item in unusable))
        described = msgspec.structs.replace(described, inlined=described.inlined.without_numbers(lost))
        unusable = unusable_kernels(modules, described.inlined.description.nodes)
    inlined, problems = described.inlined, [*described.problems, *unusable]
    running -= inlined.description.dependents(described.refused)
    check_cancelled()
    workspace_of = services.workspace_bytes
    make_plan = partial(
        plan_what_can_run, inlined, problems, running, shares=shares, workspace_of=workspace_of, muted=patch.muted
    )
    planned = make_plan(previous=previous, fuses=fuses)
    check_cancelled()
    prepared = Prepared(described, diagnostics=[*described.notices, *planned.diagnostics])
    prepared.stale = stale_kernels(modules, inlined.description.nodes)
    if planned.plan is None:
        return prepared
    values = described.values
    if current is not None and planned.held:
        before = current.values
        values = {**values, **{n: {**before.get(n, {}), **values.get(n, {})} for n in planned.held}}
    prepared.held, prepared.values = planned.held, values
    kept = current if not rebuild else None
    changes = plan_difference(previous, planned.plan) if previous is not None and kept is not None else None
    if changes is not None and is_same_graph(changes):
        prepared.same_graph = changes
        return prepared
    try:
        try:
            _realise(prepared, services, planned.plan, kept, changes)
        except MemoryRefused:
            if previous is None:
                raise
            _log.info("buffers are placed anew, since the present placement leaves too little memory")
            # A placement from scratch has no spare room for buffers to grow, and no gaps where they grew.
            anew = make_plan(fuses=fuses).plan
            assert anew is not None
            _realise(prepared, services, anew, kept)
        except KernelError:
            if planned.plan.unfused is planned.plan.schedule:
                raise
            _log.exception("fused kernels can't be compiled")  # while each block's own kernel can
            alone = make_plan(previous=previous, fuses=False).plan
            assert alone is not None
            _realise(prepared, services, alone, kept)
        _look_ahead(prepared, services)
    except GraphValidationError as problem:
        if problem.__cause__ is not None:
            _log.exception("a block can't be built")
        prepared.refused = True
        prepared.diagnostics += problem.errors
    except Cancelled:
        prepared.abandon(services)
        raise
    except WarploomError as problem:
        prepared.abandon(services)
        prepared.refused = True
        remedy = "make the buffers smaller or close other programs"
        prepared.diagnostics.append(error(str(problem), remedy=remedy, source=Source.CAPACITY))
    except Exception as problem:  # noqa: BLE001 - a block's request may be wrong in a way that no check covers
        _log.exception("the graph can't be built")
        prepared.abandon(services)
        prepared.refused = True
        text = f"the graph must be built, got {type(problem).__name__}: {problem}"
        remedy = "correct the block that was changed last, or take it out"
        prepared.diagnostics.append(error(text, remedy=remedy, source=Source.ENGINE))
    return prepared


def level_of(changes: Difference) -> UpdateLevel:
    """Return the level of the update to another plan, as far as plans show it: the kernels are not loaded."""
    if is_same_graph(changes):
        return UpdateLevel.WARM if changes.other_arrays else UpdateLevel.NONE
    indices = operations_in_place(changes)
    if indices is None:
        return UpdateLevel.COLD
    captures = any(isinstance(changes.now.operations[index].entry, CaptureEntry) for index in indices)
    return level_in_place(swaps_code=changes.has_other_kernels, captures=captures)


def level_in_place(*, swaps_code: bool, captures: bool) -> UpdateLevel:
    """Return the level of an adjustment, which may give kernels other functions and capture library calls again."""
    if swaps_code:
        return UpdateLevel.CODE
    return UpdateLevel.RECAPTURE if captures else UpdateLevel.WARM


def is_same_graph(changes: Difference) -> bool:
    """True when both plans give the same graph nodes over the same buffers: at most contents differ."""
    a, b = changes.before.description, changes.now.description
    return (
        set(a.connections) == set(b.connections)
        and set(a.orders) == set(b.orders)
        and a.by_id.keys() == b.by_id.keys()
        and all(_is_same_block(node, b.by_id[node.id]) for node in a.nodes)
        and Lifetime.EXTERNAL not in changes.other_arrays.values()
    )


def _is_same_block(a: BlockNode, b: BlockNode) -> bool:
    return (a.region, a.group) == (b.region, b.group) and (
        a.description is b.description or a.description.structural_equals(b.description)
    )


def _realise(
    prepared: Prepared, services: DeviceServices, plan: Plan, current: Current | None, changes: Difference | None = None
) -> None:
    """Build a plan, or find how to adjust the current graph to it; nothing stays claimed when that fails.

    `changes` are those of the current graph's plan, if known.
    """
    image_of = cache(services.modules.image)  # the search for a kernel's file takes long
    if current is not None and changes is None:
        changes = plan_difference(current.compiled.plan, plan)
    only = changes.renewed if changes is not None else None
    if problems := [*argument_problems(plan, image_of, only), *count_problems(plan, image_of, only)]:
        raise GraphValidationError(problems)
    values = plan.inlined.all_values(prepared.values)
    device, pool, states = services.device, services.pool, services.states
    claimed = keep_memory(changes, current.memory) if changes and current else GraphMemory({})
    there = states.existing(plan) | claimed.by_owner.keys()
    require_memory(plan, device, pool, there, has_arena=claimed.arena is not None)
    # The build finds these too, but only after so much memory was filled.
    is_large = any(buffer.layout.size_bytes >= _LARGE_BYTES for buffer in plan.buffers.allocations.values())
    if is_large and (problems := number_problems(plan, image_of, values)):
        raise GraphValidationError(problems)
    memory = allocate_buffers(plan, device, pool, states, services.frame_memory, claimed, services.times)
    try:
        resources = _resources(services, plan, memory, values)
        if current is not None and changes is not None:
            prepared.adjustment = adjust_graph(changes, device, resources, current.compiled)
        if prepared.adjustment is None:
            running = current.compiled if current is not None else None
            prepared.compiled = compile_plan(plan, device, resources, running, changes)
    except BaseException:
        memory.abandon(pool, states)
        raise
    prepared.memory = memory


def _resources(
    services: DeviceServices, plan: Plan, memory: GraphMemory, values: Mapping[str, Mapping[str, object]]
) -> Resources:
    return Resources(
        memory.by_owner,
        PlanKernels(plan, services.modules),
        values,
        services.uniforms.current,
        memory.status,
        memory.swapped,
        services.libraries,
    )


def _look_ahead(prepared: Prepared, services: DeviceServices) -> None:
    """Compute everything about the new graph that the swap and the frames after it need."""
    plan, compiled, memory, description = prepared.plan, prepared.compiled, prepared.memory, prepared.description
    assert plan is not None and memory is not None and description is not None
    if compiled is not None:
        kernels = compiled.kernels
        _ = compiled.is_still  # computed once, here
        prepared.kernels = node_kernels(compiled)
        with services.times.timed(SideKind.UPLOAD, "graph"):
            compiled.upload(services.side)
            services.side.synchronize()
    else:
        assert prepared.adjustment is not None
        kernels = _adjusted_kernels(prepared.adjustment)
    prepared.launch_warnings = launch_warnings(kernels, services.device.info)
    prepared.buffers = buffer_reports(plan, memory.by_owner)
    described = description.inlined.description.by_id.keys() - plan.description.by_id.keys()
    prepared.left_out = description.undescribed | described


def _adjusted_kernels(adjustment: Adjustment) -> list[KernelNode]:
    """Return the kernel nodes as they will be."""
    changes = {change.node.operation: change for change in adjustment.kernels}
    kernels = adjustment.running.kernels
    return [
        msgspec.structs.replace(n, kernel=change.kernel, config=change.config)
        if (change := changes.get(n.operation))
        else n
        for n in kernels
    ]


# Saved kernels are compiled and checked beside the running graph, which is then adjusted.


def prepare_code(services: DeviceServices, current: Current | None, inlined: Inlined) -> Prepared:
    """Load saved files again and find out how the current graph, which this does not touch, gets their functions."""
    services.device.activate()
    modules = services.modules
    modules.reload()
    stale = stale_kernels(modules, inlined.description.nodes)
    if current is None:
        return Prepared(stale=stale)
    plan, image_of = current.compiled.plan, cache(modules.image)
    resources = _resources(services, plan, current.memory, plan.inlined.all_values(current.values))
    fresh = _changed_kernels(resources.kernels, current.compiled)
    if not fresh:
        return Prepared(stale=stale)
    try:
        changes = same_plan(plan, renewed=fresh)
        adjustment = adjust_graph(changes, services.device, resources, current.compiled)
    except GraphValidationError:
        adjustment = None
    if adjustment is None:
        return Prepared(rebuild="with other parameters", stale=stale)
    if count_problems(plan, image_of, fresh):
        return Prepared(rebuild="without a loop over its grid", stale=stale)
    if argument_problems(plan, image_of, fresh):
        return Prepared(rebuild="with other elements", stale=stale)  # the build reports the problem on the node
    warnings = launch_warnings(_adjusted_kernels(adjustment), services.device.info)
    return Prepared(adjustment=adjustment, launch_warnings=warnings, stale=stale)


def _changed_kernels(newest: Mapping[int, TypedKernel], compiled: CompiledGraph) -> frozenset[int]:
    """Return the operations that run an older version of their kernel; each kernel is looked up once."""
    plan, found, gone = compiled.plan, set(), set()
    for node in compiled.kernels:
        entry = plan.operations[node.operation].entry
        folders = plan.description.by_id[node.node].description.kernel_folders
        assert isinstance(entry, KernelEntry)
        if (entry.kernel, folders) in gone:
            continue
        try:
            kernel = newest[node.operation]
        except KernelError:  # its file is gone, as `stale_kernels` reports; the loaded kernel stays
            gone.add((entry.kernel, folders))
            continue
        if kernel is not node.kernel:
            found.add(node.operation)
    return frozenset(found)
