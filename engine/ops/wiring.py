"""Checks the form of an op graph: known ops, valid settings, allowed connections, and an order of the ops."""

from __future__ import annotations

import graphlib
import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from warploom.engine.arguments import shown
from warploom.engine.diagnostics import Diagnostic, Mend, error, printable
from warploom.engine.ops.graph import TOP, OpConnection, OpGraph, OpNode
from warploom.engine.ops.table import OPS, OpInput, OpOutput, OpSetting, OpType

#: The deepest nesting of regions. A person would draw less, and Python's recursion could follow more.
_DEEPEST = 16
_KINDS = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text"}


@dataclass
class PlacedOp:
    """A node with its op and settings, and the output that feeds each input."""

    node: OpNode
    op: OpType
    settings: dict[str, Any]
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: Inputs whose connection was refused, so that their source is not known.
    refused: set[str] = field(default_factory=set)


@dataclass
class Wiring:
    """Ops by id, in the graph's order; the ids of each scope in dependency order; and the errors."""

    ops: dict[str, PlacedOp] = field(default_factory=dict)
    order: dict[str, list[str]] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    #: Ops with side effects, and region ops around them.
    acting: set[str] = field(default_factory=set)

    def chain(self, scope: str) -> list[str]:
        """Return a scope and the scopes around it, outermost first."""
        chain = [scope]
        while scope != TOP:
            scope = self.ops[scope.partition(".")[0]].node.region
            chain.append(scope)
        return chain[::-1]


def wire(graph: OpGraph) -> Wiring:
    """Return the ops of a graph, connected and ordered. Anything invalid is left out, with a diagnostic."""
    found = Wiring()
    for node in graph.nodes:
        _place(found, node)
    _check_regions(found)
    for connection in graph.connections:
        _connect(found, connection)
    _order(found)
    return found


def _place(found: Wiring, node: OpNode) -> None:
    op = OPS.get(node.type)
    if not node.id or printable(node.id) != node.id or "." in node.id:
        found.problems.append(error(f"op id must be printable text without a dot, got {shown(node.id)}", node=node.id))
    elif node.id in found.ops:
        found.problems.append(error(f"op id must be new in the graph, got {node.id} twice", node=node.id))
    elif op is None:
        message = f"op must be one that exists, got {shown(node.type)}"
        found.problems.append(error(message, node=node.id, remedy="delete it or choose another op"))
    else:
        values = {setting.name: setting for setting in op.values}
        for name in node.parameters.keys() - values.keys():
            rule = f"one of {', '.join(values)}" if values else "left out, since the op has none"
            found.problems.append(error(f"setting of {op.title} must be {rule}, got {shown(name)}", node=node.id))
        settings = {setting.name: _setting(found, node, setting) for setting in op.values}
        found.ops[node.id] = PlacedOp(node, op, settings)


def _setting(found: Wiring, node: OpNode, setting: OpSetting) -> Any:
    """Return the value of a setting. If the graph has an invalid value, report it and return the default."""
    value = node.parameters.get(setting.name, setting.default)
    rule = ""
    if setting.type == "str" or setting.type == "bool":
        is_right = isinstance(value, str if setting.type == "str" else bool)
    else:
        is_right = isinstance(value, (int, float)) and (not isinstance(value, bool) or setting.type == "float")
        is_right = is_right and _is_number(value, whole=setting.type == "int")
    if not is_right:
        rule = _KINDS[setting.type]
    elif setting.choices and value not in setting.choices:
        rule = f"one of {', '.join(setting.choices)}"
    elif setting.minimum is not None and value < setting.minimum:
        rule = f"at least {setting.minimum:g}"
    elif setting.maximum is not None and value > setting.maximum:
        rule = f"at most {setting.maximum:g}"
    if rule:
        message = f"{setting.name} must be {rule}, got {shown(value)}"
        found.problems.append(error(message, node=node.id, port=setting.name, expected=rule, found=shown(value)))
        return setting.default
    return int(value) if setting.type == "int" else value


def _is_number(value: float, *, whole: bool) -> bool:
    if isinstance(value, int):
        return abs(value) < 1 << 64
    return math.isfinite(value) and (not whole or value.is_integer())


def _check_regions(found: Wiring) -> None:
    """Move ops out of regions where they are not allowed."""
    for placed in found.ops.values():
        scope, problem = placed.node.region, ""
        around: list[str] = []
        while scope != TOP and not problem:
            region, _, branch = scope.partition(".")
            holder = found.ops.get(region)
            if holder is None:
                problem = f"region must be an op of the graph, got {shown(scope)}"
            elif branch not in holder.op.regions:
                problem = f"region must be a branch of an op that holds others, got {shown(scope)}"
            elif region in around or region == placed.node.id:
                problem = f"region must not lie inside itself, got {shown(scope)}"
            elif len(around) >= _DEEPEST:
                problem = f"regions must be at most {_DEEPEST} deep, got more"
            else:
                around.append(region)
                scope = holder.node.region
        if problem:
            found.problems.append(error(problem, node=placed.node.id))
    wrong = {problem.node for problem in found.problems if problem.message.startswith("region")}
    for placed in found.ops.values():
        if placed.node.id in wrong:
            node = placed.node
            placed.node = OpNode(node.id, node.type, TOP, node.parameters)


def _connect(found: Wiring, connection: OpConnection) -> None:
    (source_id, _, output), (target_id, _, name) = connection.source.partition("."), connection.target.partition(".")
    source, target = found.ops.get(source_id), found.ops.get(target_id)
    place = {"node": target_id, "port": name, "mend": Mend.DISCONNECT}
    if source is None or target is None:
        gone = target_id if target is None else source_id
        if target is not None:
            target.refused.add(name)
        if any(problem.node == gone for problem in found.problems):
            return  # the error of the op itself has been reported
        found.problems.append(error(f"connection must be between ops of the graph, got {shown(gone)}", **place))
        return
    port, problem = target.op.input(name), ""
    if port is None:
        names = ", ".join(item.name for item in target.op.inputs) or "none, since the op has no inputs"
        problem = f"input of {target.op.title} must be one of {names}, got {shown(name)}"
    elif (end := source.op.output(output)) is None:
        names = ", ".join(item.name for item in source.op.outputs) or "none, since the op has no outputs"
        problem = f"output of {source.op.title} must be one of {names}, got {shown(output)}"
    elif name in target.sources:
        problem = f"{name} must have one source, got {'.'.join(target.sources[name])} and {connection.source}"
    else:
        problem = crossing(found, source, end, target, port)
    if problem:
        target.refused.add(name)
        found.problems.append(error(problem, **place))
    else:
        target.sources[name] = source_id, output


def crossing(found: Wiring, source: PlacedOp, output: OpOutput, target: PlacedOp, port: OpInput) -> str:
    """Return why the regions of two ops forbid a connection between them; "" if it is allowed."""
    source_id, inner, around = source.node.id, source.node.region, found.chain(target.node.region)
    if inner in around:
        lies_in_source = any(scope.partition(".")[0] == source_id for scope in around)
        if lies_in_source and not output.inside:
            return (
                f"{port.name} must not use a result of {source_id} from after its region, got {source_id}.{output.name}"
            )
    elif not (port.delayed and inner == f"{target.node.id}.{port.branch}".rstrip(".")):
        region = inner.partition(".")[0]
        return f"{port.name} must use the outputs of {region}, in which {source_id} lies, got {source_id}.{output.name}"
    return ""


def _order(found: Wiring) -> None:
    """Sort the ops of each scope. Ops in a cycle are left out, each with a diagnostic."""
    found.order = {TOP: []}
    for placed in found.ops.values():
        if placed.op.acts:
            found.acting.update(scope.partition(".")[0] for scope in found.chain(placed.node.region)[1:])
            found.acting.add(placed.node.id)
    for placed in found.ops.values():
        for branch in placed.op.regions:
            found.order[f"{placed.node.id}.{branch}".rstrip(".")] = []
    needs: dict[str, dict[str, set[str]]] = {scope: {} for scope in found.order}
    for placed in found.ops.values():
        needs[placed.node.region][placed.node.id] = set()
    for placed in found.ops.values():
        for source_id, target_id in _ordered_pairs(found, placed):
            needs[found.ops[source_id].node.region][target_id].add(source_id)
    place = {node_id: at for at, node_id in enumerate(found.ops)}
    for scope, members in needs.items():
        found.order[scope] = _sorted(found, members, place)


def _ordered_pairs(found: Wiring, placed: PlacedOp) -> Iterator[tuple[str, str]]:
    """Yield the predecessors of an op or of the region op around it, in the same scope."""
    chain = found.chain(placed.node.region)
    for source_id, _ in placed.sources.values():
        scope = found.ops[source_id].node.region
        if scope not in chain:
            continue  # the value comes from the op's own region
        deeper = chain[chain.index(scope) + 1 :]
        target_id = deeper[0].partition(".")[0] if deeper else placed.node.id
        if target_id != source_id or not deeper:
            yield source_id, target_id


def _sorted(found: Wiring, needs: dict[str, set[str]], place: dict[str, int]) -> list[str]:
    """Return the ops of a scope in order, each after the ops that it needs.

    Ops without side effects come as early as they can. So a load sees the memory as it was before any write or barrier
    that the load does not depend on. Otherwise the order is the graph's.
    """
    while True:
        order = _kahn(found, needs, place)
        if len(order) == len(needs):
            return order
        rest = needs.keys() - set(order)
        try:
            graphlib.TopologicalSorter({node: sorted(needs[node] & rest) for node in sorted(rest)}).prepare()
        except graphlib.CycleError as circle:
            members = sorted(set(circle.args[1]), key=place.__getitem__)
        way = " -> ".join(members)
        for node in members:
            message = f"ops must not feed themselves, got {way}"
            found.problems.append(error(message, node=node, remedy="carry the value by a For"))
            found.ops[node].refused.update(found.ops[node].sources)
            found.ops[node].sources.clear()
            needs[node] = set()


def _kahn(found: Wiring, needs: dict[str, set[str]], place: dict[str, int]) -> list[str]:
    """Return, in order, the ops of a scope that can be sorted."""
    missing = {node: len(before) for node, before in needs.items()}
    followers: dict[str, list[str]] = {node: [] for node in needs}
    for node, before in needs.items():
        for source in before:
            followers[source].append(node)
    ready = [(node in found.acting, place[node], node) for node, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        *_, node = heapq.heappop(ready)
        order.append(node)
        for follower in followers[node]:
            missing[follower] -= 1
            if missing[follower] == 0:
                heapq.heappush(ready, (follower in found.acting, place[follower], follower))
    return order
