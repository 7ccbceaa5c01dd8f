"""The types of groups and their ends: ports and parameters follow from the blocks that these lead to."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import ValueSpec
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.fixed_catalogue import RowBlock, row_block
from warploom.engine.descriptions.checks import shown
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Node, PortRef
from warploom.engine.patch.groups.flat import GROUP, INPUTS, OUTPUTS, Flat
from warploom.engine.patch.rules import LONGEST_NAME, End
from warploom.engine.types import any_type

#: The parameter of a group that names its function, and that of its ends with the names of ports and their help.
FUNCTION, PORTS = "function", "ports"
#: The port of an end that makes a new one when something is connected.
NEW = "+"

_FUNCTION = ParameterSpec(
    FUNCTION, "str", "", "Function: groups with the same function change together; empty for none.", structural=True
)
_PORTS = ParameterSpec(PORTS, "object", {}, "Ports by name, each with its help.", structural=True)
_DOCS = {
    GROUP: "Blocks behind ports of their own; Enter opens it. They run as if there was no group.",
    INPUTS: "The inputs and parameters of the group. Connect + to an input or a parameter to add one.",
    OUTPUTS: "The outputs of the group. Connect an output to + to add one.",
}
_TITLES = {GROUP: "Group", INPUTS: "Inputs", OUTPUTS: "Outputs"}
#: Names that a port can't have, since the node's own parameters or calls use them.
_RESERVED = {FUNCTION, PORTS, "node", "values", "node_id", "position", "title", "gesture", "region"}


def names_of(end: Node) -> dict[str, str]:
    """Return the ports of an end, with their help."""
    ports = end.parameters.get(PORTS)
    return {name: str(doc) for name, doc in ports.items()} if isinstance(ports, dict) else {}


def check_name(name: object, taken: Collection[str]) -> None:
    """Raise PatchError unless a port of a group can have this name."""
    text = name if isinstance(name, str) and len(name) <= LONGEST_NAME else ""
    if not text.isidentifier() or keyword.iskeyword(text) or text in _RESERVED:
        raise PatchError(f"port of a group must have a name of letters, digits and _, got {shown(name)}")
    if text in taken:
        raise PatchError(f"port of a group must have a name that no other has, got {shown(name)}")


def free_name(stem: str, taken: Collection[str]) -> str:
    """Return a name for a port that is not in use."""
    stem = (
        stem[:LONGEST_NAME] if stem.isidentifier() and not keyword.iskeyword(stem) and stem not in _RESERVED else "port"
    )
    names = (stem, *(f"{stem}_{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def group_type(
    node: Node, nodes: Mapping[str, Node], flat: Flat, spec_of: Callable[[PortRef], End | None]
) -> type[Block]:
    """Return the type of a group or of an end; `spec_of` returns the declaration of a block's port."""
    group = node.id if node.type == GROUP else flat.level(node.id)
    ports: list[PortSpec | ValueSpec] = []
    parameters: list[ParameterSpec] = [_FUNCTION if node.type == GROUP else _PORTS]
    for kind in (INPUTS, OUTPUTS):
        end = flat.end(group, kind)
        if end is None or node.type not in (GROUP, kind):
            continue
        for name, doc in names_of(nodes[end]).items():
            if any(name == spec.name for spec in ports):
                continue  # in a file that a person has edited
            given = PortRef(end, name) if kind == INPUTS else PortRef(group, name)
            asked = PortRef(group, name) if kind == INPUTS else PortRef(end, name)
            source = flat.source(given)
            targets = [spec for ref in flat.targets(asked) if (spec := spec_of(ref)) is not None]
            made = _port(name, doc, spec_of(source) if source else None, targets, is_input=kind == INPUTS, node=node)
            if isinstance(made, ParameterSpec):
                parameters.append(made)
            else:
                ports.append(made)
        if node.type == kind:
            ports.append(PortSpec(NEW, "out" if kind == INPUTS else "in", any_type, "Makes a port.", "", optional=True))
    title = str(node.parameters.get(FUNCTION, "")) or _TITLES[node.type]
    made_type: type[RowBlock] = row_block(
        node.type, title, "Group", _DOCS[node.type], ports, parameters, regions=("",) if node.type == GROUP else ()
    )
    made_type.is_value = bool(made_type.values_out) and len(made_type.values_out) == len(ports)
    return made_type


def _port(
    name: str, doc: str, source: End | None, targets: Sequence[End], *, is_input: bool, node: Node
) -> PortSpec | ValueSpec | ParameterSpec:
    """Return the declaration of a port of a group or of an end, between its source and its targets."""
    driven = [spec for spec in targets if isinstance(spec, ParameterSpec)]
    fed = [spec for spec in targets if isinstance(spec, PortSpec)]
    doc = doc or next(
        (spec.doc for spec in ((*targets, source) if is_input else (source, *targets)) if spec is not None),
        "Not connected.",
    )
    if is_input and node.type == GROUP:
        if driven and not fed:
            return _parameter(name, doc, driven)
        return _input(name, doc, fed)
    if not is_input and node.type == OUTPUTS:
        dtype = source.dtype if isinstance(source, PortSpec) else any_type
        return PortSpec(name, "in", dtype, doc, "", optional=source is None)
    if isinstance(source, ValueSpec):
        return ValueSpec(name, source.type, doc, source.unit)
    if is_input and driven and not fed:
        return ValueSpec(name, driven[0].type, doc, driven[0].unit)
    typed = source if isinstance(source, PortSpec) else next((s for s in fed if s.dtype.kind != "any"), None)
    dtype, rank = (typed.dtype, typed.rank) if typed is not None else (any_type, None)
    return PortSpec(name, "out", dtype, doc, "data", rank=rank)


def _input(name: str, doc: str, fed: Sequence[PortSpec]) -> PortSpec:
    typed = next((spec for spec in fed if spec.dtype.kind != "any"), fed[0] if fed else None)
    return PortSpec(
        name,
        "in",
        typed.dtype if typed is not None else any_type,
        doc,
        "same",
        rank=next((spec.rank for spec in fed if spec.rank is not None), None),
        optional=all(spec.optional for spec in fed),
        delayed=bool(fed) and all(spec.delayed for spec in fed),
    )


def _parameter(name: str, doc: str, driven: Sequence[ParameterSpec]) -> ParameterSpec:
    """Return a parameter whose values are valid for all that it sets, where their ranges overlap."""
    low = max((spec.minimum for spec in driven if spec.minimum is not None), default=None)
    high = min((spec.maximum for spec in driven if spec.maximum is not None), default=None)
    if low is not None and high is not None and low > high:
        low, high = driven[0].minimum, driven[0].maximum
    structural = any(spec.structural for spec in driven)
    return replace(
        driven[0], name=name, doc=doc, minimum=low, maximum=high, structural=structural, replaces=(), vector=""
    )
