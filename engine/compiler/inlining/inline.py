"""Inlining: replaces composites by their blocks, so that later phases see only plain blocks.

A child's id is "glow/blur", after its composite `glow`, at any depth ("a/b/c"). Ids in a patch have no slash, so the
text before the first slash is the node that a person sees.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import msgspec
from msgspec.structs import replace

from warploom.engine.compiler.description import BlockNode, GraphDescription, NumberDrive
from warploom.engine.compiler.inlining.numbers import with_numbers
from warploom.engine.compiler.inlining.region_copies import with_copies
from warploom.engine.compiler.inlining.sentinels import with_sentinels
from warploom.engine.descriptions.description import ChildPort
from warploom.engine.diagnostics import Diagnostic, Mend
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.types.bits import same

#: A parameter of a block: node id and name.
ParameterRef = tuple[str, str]


def owner(node_id: str) -> str:
    """Return the node of the patch that a block belongs to: "glow" for "glow/blur", itself for any other."""
    return node_id.partition("/")[0]


@dataclass
class Inlined:
    """A description without composites, and the mappings between the patch's nodes and its blocks.

    `parameters` maps each exposed parameter to the parameters that it sets. `values` are the parameter values of
    composites' children, by block. `inputs` and `outputs` map a composite's ports to its blocks' ports.
    """

    description: GraphDescription
    parameters: dict[ParameterRef, tuple[ParameterRef, ...]] = field(default_factory=dict)
    values: dict[str, Mapping[str, object]] = field(default_factory=dict)
    inputs: dict[PortRef, tuple[PortRef, ...]] = field(default_factory=dict)
    outputs: dict[PortRef, PortRef] = field(default_factory=dict)
    #: The checked output of each sentinel's block, by block.
    checks: dict[str, PortRef] = field(default_factory=dict)
    #: The drives that kernels follow in the same frame.
    numbers: tuple[NumberDrive, ...] = ()
    #: The original description, if it is not `description` itself.
    composed: GraphDescription | None = None

    @property
    def original(self) -> GraphDescription:
        """The description of the patch's own nodes."""
        return self.description if self.composed is None else self.composed

    def numbers_at(self, blocks: Collection[str]) -> list[NumberDrive]:
        """Return the drives of the nodes that these blocks belong to."""
        nodes = set(map(owner, blocks))
        return [drive for drive in self.numbers if drive.target.node in nodes]

    def without_numbers(self, drives: Collection[NumberDrive]) -> Inlined:
        """Return the result of `inline` without these drives, which are left to the CPU."""
        kept = tuple(drive for drive in self.original.drives if drive not in drives)
        return inline(replace(self.original, drives=kept))

    def output(self, port: PortRef) -> PortRef:
        """Return the output of a block for an output of a node, which may be a composite."""
        return self.outputs.get(port, port)

    def set_places(self, values: Mapping[ParameterRef, object]) -> dict[ParameterRef, object]:
        """Return parameter values by (node, name), assigned to the blocks that take them."""
        if not self.parameters:
            return dict(values)
        return {place: value for key, value in values.items() for place in self.parameters.get(key, (key,))}

    def all_values(self, values: Mapping[str, Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
        """Return all blocks' parameter values: `values` by node, and those that composites pass to their blocks."""
        if not self.values:
            return dict(values)
        inner: dict[str, Mapping[str, object]] = {**values}
        inner |= {node: dict(given) for node, given in self.values.items()}
        for (node, name), places in self.parameters.items():
            if name in values.get(node, ()):
                for child, parameter in places:
                    inner[child] = {**inner[child], parameter: values[node][name]}
        return inner

    def shown(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic at the node that a person sees, and at its port if it exposes the block's port.

        If such a port lacks a connection, the message names the node only, since that is what the person connects.
        """
        if diagnostic.node is None or "/" not in diagnostic.node:
            return diagnostic
        node, _, child = diagnostic.node.partition("/")
        port = self._seen.get(PortRef(diagnostic.node, diagnostic.port)) if diagnostic.port else None
        text = f"{child}: {diagnostic.message}"
        if port is not None and diagnostic.mend is Mend.CONNECT:
            text = diagnostic.message.replace(f"'{diagnostic.port}'", f"'{port}'")
        return msgspec.structs.replace(diagnostic, node=node, port=port, message=text)

    def __post_init__(self) -> None:
        ends = [(outer, inner) for outer, targets in self.inputs.items() for inner in targets]
        ends += self.outputs.items()
        self._seen = {inner: outer.port for outer, inner in ends if "/" not in outer.node}


def changed_values(
    before: Inlined, after: Inlined, values: Mapping[str, Mapping[str, object]]
) -> dict[ParameterRef, object]:
    """Return the values that may differ in `after`, by (node, name), for a graph that keeps running.

    A structural parameter of a composite may set other live values of its children, or expose others, and change
    nothing else. `values` are the newest by node of the patch; exposed parameters take their values from them.
    """
    if not after.values:
        return {}
    known = before.values if before.parameters == after.parameters else {}
    newest = after.all_values(values)
    return {
        (node, name): newest[node][name]
        for node, given in after.values.items()
        for name, value in given.items()
        if isinstance(value, (bool, int, float)) and not same(known.get(node, {}).get(name), value)
    }


def inline(description: GraphDescription) -> Inlined:
    """Return the description with blocks in place of composites.

    Blocks for sentinels, inputs for driven numbers, and copies of buffers that leave regions, are added.
    """
    has_composites = any(kind.composition is not None for kind in description.kinds)
    inlined = _Inlining().run(description) if has_composites else Inlined(description)
    if description.drives:
        plain, numbers = with_numbers(inlined.description, description.drives, inlined.parameters)
        inlined = dataclasses.replace(inlined, description=plain, numbers=numbers, composed=description)
    if description.sentinels:
        plain, checks, values = with_sentinels(inlined.description, inlined.outputs, description)
        values |= inlined.values
        inlined = dataclasses.replace(inlined, description=plain, checks=checks, values=values, composed=description)
    plain, outputs = with_copies(inlined.description, inlined.outputs)
    if plain is inlined.description:
        return inlined
    return dataclasses.replace(inlined, description=plain, outputs=outputs, composed=description)


class _Inlining:
    def __init__(self) -> None:
        self.nodes: list[BlockNode] = []
        self.connections: list[Connection] = []
        self.composites: set[str] = set()
        self.parameters: dict[ParameterRef, list[ParameterRef]] = {}
        self.values: dict[str, Mapping[str, object]] = {}
        self.inputs: dict[PortRef, list[PortRef]] = {}
        self.outputs: dict[PortRef, PortRef] = {}

    def run(self, description: GraphDescription) -> Inlined:
        for node in description.nodes:
            self.place(node)
        for connection in description.connections:
            if connection.source.node in self.composites or connection.target.node in self.composites:
                self.connect(connection.source, connection.target)
            else:
                self.connections.append(connection)
        return Inlined(
            GraphDescription(tuple(self.nodes), tuple(self.connections), orders=tuple(self.orders(description))),
            {place: tuple(places) for place, places in self.parameters.items()},
            self.values,
            {port: tuple(ports) for port, ports in self.inputs.items()},
            self.outputs,
            composed=description,
        )

    def orders(self, description: GraphDescription) -> Iterator[tuple[str, str]]:
        """Yield the orders of blocks; a composite stands for all blocks inside it."""
        inside: dict[str, list[str]] = {}
        for node in self.nodes:
            around = node.id
            while around := around.rpartition("/")[0]:
                inside.setdefault(around, []).append(node.id)
        for first, then in description.orders:
            yield from product(inside.get(first, [first]), inside.get(then, [then]))

    def place(self, node: BlockNode) -> None:
        """Add a block, or all blocks of a composite."""
        composition = node.description.composition
        if composition is None:
            self.nodes.append(node)
            return
        self.composites.add(node.id)
        prefix = f"{node.id}/"
        group = node.group or (node.id if composition.as_child_graph else "")
        for child in composition.children:
            child_id = prefix + child.name
            made = BlockNode(child_id, child.description, prefix + child.region if child.region else node.region, group)
            if child.description.composition is None:
                self.values[child_id] = child.values
                self.nodes.append(made)
            else:
                self.place(made)  # records the ports and parameters of `made`, which the lines below need
        for name, inner in composition.inputs:
            self.inputs.setdefault(PortRef(node.id, name), []).extend(self.targets(_port(prefix, inner)))
        for name, inner in composition.outputs:
            self.outputs[PortRef(node.id, name)] = self.source(_port(prefix, inner))
        for name, inner in composition.parameters:
            place = (prefix + inner.child, inner.name)
            self.parameters.setdefault((node.id, name), []).extend(self.parameters.get(place, (place,)))
        for source, target in composition.connections:
            self.connect(_port(prefix, source), _port(prefix, target))

    def connect(self, source: PortRef, target: PortRef) -> None:
        source = self.source(source)
        self.connections += [Connection(source, inner) for inner in self.targets(target)]

    def source(self, port: PortRef) -> PortRef:
        """Return the output of a block for an output of a node, which may be a composite."""
        return self.outputs.get(port, port) if port.node in self.composites else port

    def targets(self, port: PortRef) -> Sequence[PortRef]:
        """Return the inputs of blocks for an input of a node, which may be a composite."""
        return self.inputs.get(port, (port,)) if port.node in self.composites else (port,)


def _port(prefix: str, place: ChildPort) -> PortRef:
    return PortRef(prefix + place.child, place.name)
