"""Planning: runs the phases in order, for a whole description or for the part of it that can run."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable

import msgspec

from warploom.engine.compiler.buffers import plan_buffers
from warploom.engine.compiler.checking.check import check_description
from warploom.engine.compiler.description import GraphDescription, Nesting, NumberDrive
from warploom.engine.compiler.fusion.fuse import fuse
from warploom.engine.compiler.in_place import chained_by_orders
from warploom.engine.compiler.inlining.inline import Inlined, inline, owner
from warploom.engine.compiler.memory.placement import place_buffers
from warploom.engine.compiler.ordering import order_blocks
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.scheduling import region_outputs, schedule
from warploom.engine.compiler.verifying.verify import require_sound
from warploom.engine.diagnostics import Diagnostic, GraphValidationError, Source, error
from warploom.engine.libraries.call import WorkspaceOf
from warploom.engine.patch.regions import region_of

_log = logging.getLogger(__name__)


def make_plan(
    description: GraphDescription,
    *,
    previous: Plan | None = None,
    fuses: bool = True,
    workspace_of: WorkspaceOf | None = None,
) -> Plan:
    """Run the phases in order. Raise a GraphValidationError that lists every problem.

    With `previous`, the plan of an earlier version of the description, each phase keeps the results of blocks for which
    none of its inputs changed. Without `fuses`, no operations are fused. `workspace_of` returns the scratch memory that
    library calls need on the device; without it, they need none. With WARPLOOM_VERIFY=1 in the environment, the plan is
    verified, and BrokenPlan names the rules that it breaks.
    """
    inlined = inline(description)
    return _plan(inlined.description, inlined, previous, fuses, workspace_of=workspace_of)


def _plan(
    description: GraphDescription,
    inlined: Inlined,
    previous: Plan | None,
    fuses: bool = False,
    shares: bool = True,
    workspace_of: WorkspaceOf | None = None,
) -> Plan:
    description = chained_by_orders(description)
    checked = check_description(description, previous.checked if previous is not None else None, workspace_of)
    if checked.errors:
        raise GraphValidationError(checked.errors, (*checked.warnings, *checked.advice))
    nesting = Nesting(description)
    buffers = plan_buffers(checked, previous.buffers if previous is not None else None)
    order, problems = order_blocks(checked, buffers, nesting)
    if problems:
        raise NoOrder(problems, (*checked.warnings, *checked.advice))
    looked = description.looked_at if shares else description.looked_at | description.outputs
    defaults = region_outputs(description, buffers, nesting, looked)
    before = previous.unfused if previous is not None else None
    unfused = schedule(description, order, buffers, defaults, nesting, before)
    places = (buffers.find(port.node, port.port) for port in (looked | description.kept))
    lasting = frozenset([place.owner for place in places if place is not None] if shares else buffers.allocations)
    scheduled = unfused
    if fuses and shares:
        last = previous.schedule if previous is not None else None
        scheduled, buffers = fuse(description, unfused, buffers, lasting, last)
    keep = previous.placement if previous is not None else None
    placement = place_buffers(scheduled, buffers, lasting, keep)
    plan = Plan(description, inlined, checked, buffers, scheduled, placement, looked, defaults, unfused)
    if os.environ.get("WARPLOOM_VERIFY", "0") not in ("", "0"):
        require_sound(plan)
    return plan


class NoOrder(GraphValidationError):
    """In-place changes or branches allow no order."""


class PartialPlan(msgspec.Struct, frozen=True):
    """The plan of the part of a description that can run; None if no part can be planned.

    `idle` blocks are left out. `held` are the patch's nodes that keep running unchanged.
    """

    plan: Plan | None
    diagnostics: list[Diagnostic] = msgspec.field(default_factory=list)
    idle: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()


def plan_what_can_run(
    inlined: Inlined,
    problems: Iterable[Diagnostic],
    running: frozenset[str],
    *,
    previous: Plan | None = None,
    fuses: bool = True,
    shares: bool = True,
    workspace_of: WorkspaceOf | None = None,
    muted: Collection[str] = (),
) -> PartialPlan:
    """Plan the blocks that have no error and depend on no block with one.

    `inlined` is the result of `inline` for the whole description. `problems` are errors that are known before planning:
    a block that can't be described, or a kernel that doesn't compile. A block that was just placed and has no connected
    input is left out, and the rest runs. A `running` block that would have to be left out is held: it keeps running as
    in the `previous` plan, with the same sources. The blocks before it are held too if their new versions don't fit.
    `muted` are the patch's nodes that must not run, not even on. Without `shares`, nothing is fused, and each buffer
    has separate memory, so every port can be read after a frame. A number that can't be computed, or that leaves the
    blocks without an order, is not read in the same frame. The other arguments are those of `make_plan`.
    """
    found = list(problems)
    inlined, stopped = _dependents(inlined, _members(inlined.description, muted))
    running -= stopped
    inlined, idle = _dependents(inlined, [item.node for item in found if item.node])
    idle |= stopped
    held: set[str] = set()
    while True:
        description = inlined.description
        held |= {owner(node) for node in idle & running}
        if held and previous is None:
            return PartialPlan(None, found, frozenset(idle))
        whole, left_out = inlined, idle
        if previous is not None and held:
            whole, left_out = _with_held(inlined, previous, idle, held)
            inlined, more = _dependents(inlined, _members(description, held))
            if more - idle:
                idle |= more
                continue
        try:
            plan = _plan(whole.description.without(left_out), whole, previous, fuses, shares, workspace_of)
        except GraphValidationError as problem:
            at_nodes = [item.node for item in problem.errors if item.node]
            if isinstance(problem, NoOrder) and (lost := _numbers_before(inlined, at_nodes)):
                inlined = inlined.without_numbers(lost)
                continue
            at_held = {item.node for item in problem.errors if item.node and owner(item.node) in held}
            if at_held and previous is not None:  # with the same sources, these blocks had no errors before
                before = {owner(c.source.node) for c in previous.description.connections if c.target.node in at_held}
                if before <= held:
                    return PartialPlan(None, found, frozenset(idle))
                held |= before
                continue
            found += [item for item in problem.errors if item not in found]
            if not at_nodes:
                return PartialPlan(None, found, frozenset(idle))
            inlined, more = _dependents(inlined, at_nodes)
            idle |= more
        except Exception as problem:  # noqa: BLE001 - what a block says may be wrong in a way that no rule names
            culprit = _culprit(description.without(idle), inlined, previous)
            text = f"the patch must compile, got {type(problem).__name__}: {problem}"
            remedy = "correct the block that was changed last, or take it out"
            found.append(error(text, node=culprit, remedy=remedy, source=Source.ENGINE))
            _log.warning("a plan failed", exc_info=problem)
            if culprit is None:
                return PartialPlan(None, found, frozenset(idle))
            inlined, more = _dependents(inlined, [culprit])
            idle |= more
        else:
            return PartialPlan(plan, [*found, *plan.checked.warnings], frozenset(idle), frozenset(held))


def _dependents(inlined: Inlined, nodes: Collection[str]) -> tuple[Inlined, set[str]]:
    """Return what depends on blocks that don't run, and the description without numbers that these would compute."""
    while True:
        found = inlined.description.dependents(nodes)
        lost = [drive for drive in inlined.numbers if drive.source.node in found]
        if not lost:
            return inlined, found
        inlined = inlined.without_numbers(lost)


def _numbers_before(inlined: Inlined, nodes: Collection[str]) -> list[NumberDrive]:
    """Return the drives of these blocks or, if they have none, of the blocks before them."""
    description = inlined.description
    driven = [(drive, _members(description, {drive.target.node})) for drive in inlined.numbers]
    near = [drive for drive, blocks in driven if not set(nodes).isdisjoint(blocks)]
    return near or [drive for drive, blocks in driven if not description.dependents(blocks).isdisjoint(nodes)]


def _members(description: GraphDescription, nodes: Collection[str]) -> list[str]:
    """Return the blocks of some of the patch's nodes."""
    return [node.id for node in description.nodes if owner(node.id) in nodes]


def _with_held(inlined: Inlined, previous: Plan, idle: Collection[str], held: set[str]) -> tuple[Inlined, set[str]]:
    """Return a description with the held nodes as in the previous plan, and the blocks to leave out of it.

    Nodes that the held ones need are added to `held` if the new description lacks them, or if they can't run there.
    """
    new, old, running = inlined.original, previous.inlined.original, previous.description.by_id
    stopped = {owner(node) for node in idle}
    waiting = list(held)
    while waiting:
        node = waiting.pop()
        region = region_of(old.by_id[node].region) if node in old.by_id else ""
        needed = {c.source.node for c in old.connections if c.target.node == node} | ({region} if region else set())
        needed |= {inner.id for inner in old.nodes if inner.region and region_of(inner.region) == node}
        more = {n for n in needed if n in old.by_id and (n not in new.by_id or n in stopped)} - held
        held |= more
        waiting += more
    kept = [old.by_id.get(node.id, node) if node.id in held else node for node in new.nodes]
    kept += [node for node in old.nodes if node.id in held and node.id not in new.by_id]
    ids = {node.id for node in kept}
    connections = [c for c in new.connections if c.target.node not in held and c.source.node not in held]
    connections += [c for c in old.connections if c.target.node in held and c.source.node in ids]
    orders = tuple(pair for pair in new.orders if set(pair) <= ids)
    whole = inline(GraphDescription(tuple(kept), tuple(connections), new.sentinels, new.drives, orders))
    left_out = {node for node in idle if owner(node) not in held}
    left_out |= {node for node in _members(whole.description, held) if node not in running}
    return whole, left_out


def _culprit(description: GraphDescription, inlined: Inlined, previous: Plan | None) -> str | None:
    """Return the first new or newly described block that can't be planned with only its dependencies."""
    known = previous.description.by_id if previous is not None else {}
    below: dict[str, set[str]] = {}
    for node in description.nodes:
        if node.id not in known or known[node.id].description is not node.description:
            below[node.id] = description.dependents([node.id])
    for node_id in sorted(below, key=lambda node_id: len(below[node_id]), reverse=True):
        others = {other for other in below if other != node_id and node_id not in below[other]}
        try:
            _plan(description.without(description.dependents(others) - {node_id}), inlined, None)
        except GraphValidationError:
            continue
        except Exception:  # noqa: BLE001 - as the whole description did
            return node_id
    return None
