"""The pure half of the compiler: from a `GraphDescription` to a `Plan`, with no device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.blocktypes.description import ExtentArgument, KernelEntry
from engine.blocktypes.shape_rules import ShapeRuleError, evaluate_extent
from engine.compiler.buffers import BufferPlan, plan_buffers
from engine.compiler.description import GraphDescription
from engine.compiler.launches import launch_config
from engine.compiler.liveness import LiveRange, live_ranges, peak_bytes
from engine.compiler.ordering import Levels, topological_levels
from engine.compiler.scheduling import AnyOperation, Operation, schedule
from engine.compiler.shapes import Layouts, propagate_shapes, shape_context
from engine.compiler.validation import validate
from engine.device.protocol import LaunchConfig
from engine.diagnostics import Diagnostic, GraphValidationError, error
from engine.patch.changes import PortRef


@dataclass(frozen=True)
class Plan:
    """Everything about the graph that can be decided without a device."""

    description: GraphDescription
    levels: Levels
    layouts: Layouts
    buffers: BufferPlan
    operations: tuple[AnyOperation, ...]
    launches: dict[int, LaunchConfig]  # by operation index
    live: dict[PortRef, LiveRange]

    @property
    def peak_bytes(self) -> int:
        """Most bytes that are live at once."""
        return peak_bytes(self.live, self.buffers)


def make_plan(description: GraphDescription) -> Plan:
    """Run the phases in order; GraphValidationError lists every problem of the first phase that finds any."""
    _raise_if(validate(description))
    levels, problems = topological_levels(description)
    _raise_if(problems)
    layouts, problems = propagate_shapes(description, levels)
    _raise_if(problems)
    buffers = plan_buffers(description, levels, layouts)
    operations = schedule(description, levels, buffers)
    launches, problems = _launches(description, layouts, operations)
    _raise_if(problems)
    shown = {
        buffers.owner_of[PortRef(node.id, display.buffer)]
        for node in description.nodes
        for display in node.description.displays
    }
    live = live_ranges(operations, buffers, frozenset(shown))
    return Plan(description, levels, layouts, buffers, operations, launches, live)


@dataclass(frozen=True)
class PartialPlan:
    """What of a description can run: a plan (None when running blocks would have to stop) and who is left out."""

    plan: Plan | None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    idle: frozenset[str] = frozenset()


def plan_what_can_run(
    description: GraphDescription, problems: Iterable[Diagnostic], running: frozenset[str]
) -> PartialPlan:
    """Plan the blocks that have no error and depend on none that has.

    `problems` are errors found before (a block that can't be described, a kernel that doesn't compile). A block that
    was just placed and has no input yet is left out and never holds up the rest. When a block that is `running` now
    would have to be left out, there is no plan: the last good graph is to run on.
    """
    found = list(problems)
    idle = description.dependents(item.node for item in found if item.node)
    while True:
        if idle & running:
            return PartialPlan(None, found, frozenset(idle))
        try:
            return PartialPlan(make_plan(description.without(idle)), found, frozenset(idle))
        except GraphValidationError as problem:
            at_nodes = [item.node for item in problem.errors if item.node]
            found += [item for item in problem.errors if item not in found]
            if not at_nodes:
                return PartialPlan(None, found, frozenset(idle))
            idle |= description.dependents(at_nodes)


def _launches(
    description: GraphDescription, layouts: Layouts, operations: tuple[AnyOperation, ...]
) -> tuple[dict[int, LaunchConfig], list[Diagnostic]]:
    launches: dict[int, LaunchConfig] = {}
    problems: list[Diagnostic] = []
    contexts = {node.id: shape_context(node, layouts) for node in description.nodes}
    for index, operation in enumerate(operations):
        if isinstance(operation, Operation) and isinstance(operation.entry, KernelEntry):
            try:
                launches[index] = launch_config(operation.entry, contexts[operation.node])
                for argument in operation.entry.arguments:
                    if isinstance(argument, ExtentArgument):
                        evaluate_extent(argument.extent, contexts[operation.node])
            except ShapeRuleError as problem:
                problems.append(error(str(problem), node=operation.node, remedy="see the block's help"))
    return launches, problems


def _raise_if(problems: list[Diagnostic]) -> None:
    if problems:
        raise GraphValidationError(problems)
