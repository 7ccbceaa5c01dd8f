"""Finds the errors of a patch that don't depend on shapes: in connections, inputs and regions.

Each error has a function; `dataflow.py` and `check.py` call them.
"""

import math
from collections.abc import Container, Iterator

from warploom.engine.compiler.checking.inputs import type_mismatch
from warploom.engine.compiler.description import BlockNode, GraphDescription, Nesting
from warploom.engine.compiler.inlining.sentinels import AXES
from warploom.engine.descriptions.entries import buffer_arguments
from warploom.engine.descriptions.ports import count_name
from warploom.engine.diagnostics import Diagnostic, Mend, Source, error, warning
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import DEEPEST, TOP, branch_of, region_of
from warploom.engine.types.element_numbers import number_of
from warploom.engine.types.layout import Layout


def connection_problem(description: GraphDescription, connection: Connection) -> Diagnostic | None:
    """Return the error at the ends of a connection: a missing port, or different element types."""
    source, target = connection.source, connection.target
    for end, direction in ((source, "output"), (target, "input")):
        node = description.by_id.get(end.node)
        rules = node.description.rules if node else None
        ports = () if rules is None else rules.output_of if direction == "output" else rules.input_of
        if end.port not in ports:
            return error(
                f"connection {connection} must use an {direction} port that the block has, got {end}",
                node=target.node,
                port=target.port,
                remedy="delete the connection, or connect it to a port that exists",
                expected=f"{direction} port: {', '.join(ports) or 'none'}" if node else f"an {direction} port",
                found=str(end),
                mend=Mend.DISCONNECT,
            )
    carried = description.by_id[source.node].description.rules.output_of[source.port].dtype
    taken = description.by_id[target.node].description.rules.input_of[target.port].dtype
    if carried is not None and taken is not None and carried != taken:
        return type_mismatch(target.port, taken, carried, target.node, f" from {source}")
    return None


def second_connection(first: PortRef, connection: Connection) -> Diagnostic:
    """Return the error of an input with two connections."""
    target = connection.target
    return error(
        f"input must have one connection, got {first} and {connection.source}",
        node=target.node,
        port=target.port,
        remedy="delete one of these connections",
        expected="one connection",
        found=f"{first} and {connection.source}",
    )


def missing_inputs(node: BlockNode, connected: Container[str]) -> Iterator[Diagnostic]:
    """Yield an error for each unconnected input that must be connected.

    Only a kernel can do without an optional input; a buffer that is filled, copied or shown must exist.
    """
    block = node.description
    moved = {a.name for entry in block.rules.moves for a in buffer_arguments(entry)}
    moved.update(block.seen_buffers)
    for name, rule in block.rules.input_of.items():
        if name in connected:
            continue
        if not rule.spec.optional:
            yield _missing(node, name, f"required input '{name}' must be connected, got nothing")
        elif name in moved:
            text = f"optional input '{name}' must be connected to be filled, copied or shown, got nothing"
            yield _missing(node, name, text)


def unconnected(node: BlockNode, name: str) -> Diagnostic:
    """Return the warning for an optional input that should be connected."""
    return warning(
        f"optional input '{name}' has no connection",
        node=node.id,
        port=name,
        remedy="connect it, or read in the block's help what it does without one",
        expected="a connection",
        found="nothing",
    )


def _missing(node: BlockNode, name: str, text: str) -> Diagnostic:
    dtype = node.description.rules.input_of[name].spec.dtype
    kind = "any type" if dtype.kind == "any" else str(dtype)
    return error(
        text,
        node=node.id,
        port=name,
        remedy=f"connect an output of {kind}",
        expected="a connection",
        found="nothing",
        mend=Mend.CONNECT,
    )


def region_problem(description: GraphDescription, node: BlockNode) -> Diagnostic | None:
    """Return the error in a block's scope."""
    name = region_of(node.region)
    region = description.by_id.get(name)
    control = region.description.control if region else None
    remedy = "move the block out of the region, or into one that exists"
    if control is None:
        what = f"{name}, which is no region" if region else f"{name!r}, which does not exist"
        return error(f"region of a block must be a region block, got {what}", node=node.id, remedy=remedy)
    branch = branch_of(node.region)
    if branch not in control.branches:
        text = f"region of a block must be a branch of {name} ({control.kind}), got {node.region}"
        return error(text, node=node.id, remedy=remedy)
    around = {node.id}
    scope = node.region
    while scope != TOP:
        outer = description.by_id.get(region_of(scope))
        if outer is None:
            return None  # the block inside it has this error
        if outer.id == node.id:
            return error(
                f"region must not lie inside itself, got {node.id} in {node.region}", node=node.id, remedy=remedy
            )
        if outer.id in around:
            return None  # the cycle is further out
        around.add(outer.id)
        scope = outer.region
    if len(around) == DEEPEST + 2:  # deeper blocks lie in one with this error
        remedy = "move the block out of some of the regions"
        return error(f"regions must be at most {DEEPEST} deep, got more", node=node.id, remedy=remedy)
    return None


def border_problem(description: GraphDescription, nesting: Nesting, connection: Connection) -> Diagnostic | None:
    """Return the error of a connection across the border of a region."""
    source, target = connection.source, connection.target
    scope = nesting.scope_of(source.node)
    if scope == TOP:
        return None
    outside = nesting.chain(nesting.scope_of(target.node))
    if scope in outside:
        return None
    rule = description.by_id[target.node].description.rules.input_of[target.port]
    if not rule.spec.delayed and target.node in {region_of(s) for s in nesting.chain(scope)}:
        return error(
            f"input of region {target.node} must come from outside its body, got {source}",
            node=target.node,
            port=target.port,
            remedy="connect a buffer from outside, and let a block of the body change it in place",
            expected="an output outside the body",
            found=str(source),
        )
    if description.by_id[source.node].description.rules.output_of[source.port].spec.default is None and _is_own(
        description, nesting, source
    ):
        region = region_of(scope)
        return error(
            f"output {source} must be read inside its region only, got {target.node} outside: "
            f"the output is left undefined when {region} is skipped",
            node=source.node,
            port=source.port,
            remedy=f"move {target.node} into the region, or write to a buffer from outside it in place",
            expected="a value when the region is skipped",
            found="none",
        )
    return None


def _is_own(description: GraphDescription, nesting: Nesting, port: PortRef) -> bool:
    """True when an output's memory belongs to its region, rather than being part of an outer buffer."""
    scope = nesting.scope_of(port.node)
    seen = {port}
    while True:
        block = description.by_id[port.node].description
        rule = block.rules.output_of.get(port.port)
        view = block.view_of.get(port.port)
        name = view.source if view is not None else rule.spec.inplace if rule is not None else None
        source = description.source_of.get(PortRef(port.node, name)) if name is not None else None
        if source is None or source in seen or source.node not in description.by_id:
            return True
        if scope not in nesting.chain(nesting.scope_of(source.node)):
            return False
        seen.add(source)
        port = source


def empty_region(node: BlockNode) -> Diagnostic:
    """Return the warning for an empty region."""
    return warning(
        "region must have blocks inside to do anything, got none",
        node=node.id,
        remedy="move blocks into it, or delete it",
    )


def unchecked(port: PortRef, layout: Layout) -> Diagnostic | None:
    """Return the warning for a sentinel whose output holds no numbers, or has too many axes."""
    if number_of(layout.dtype) is None:
        text = f"elements must be numbers of one type to be checked, got {layout.dtype}"
    elif math.prod(layout.shape[:-AXES]) != 1:
        text = f"a buffer must have at most {AXES} dimensions to be checked, got shape {list(layout.shape)}"
    else:
        return None
    return warning(text, node=port.node, port=port.port, remedy="remove the check", source=Source.SENTINEL)


def unread_count(buffer: PortRef) -> Diagnostic:
    """Return the warning for an append buffer that is read although its count of elements is not."""
    count = count_name(buffer.port)
    return warning(
        f"output {count} must be connected to what reads {buffer}, "
        "which can't know otherwise how many elements are in use",
        node=buffer.node,
        port=count,
        remedy=f"connect {count} to what reads {buffer.port}, unless every place of the buffer is meant",
    )
