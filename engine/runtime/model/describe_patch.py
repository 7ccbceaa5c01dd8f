"""Describing a patch: from its nodes and connections to blocks, and to the graph that the compiler plans.

This runs on any thread, for the engine, for `check`, and for the cost of an edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from warploom.engine.blocktypes.adaptive import AdaptiveBlock
from warploom.engine.blocktypes.block import Block, TypeOf
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.blocktypes.describing import describe
from warploom.engine.blocktypes.live_blocks import LiveBlock
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.value_blocks import ValueBlock
from warploom.engine.catalogue.block_errors import code_diagnostic
from warploom.engine.catalogue.block_files import find_definition
from warploom.engine.catalogue.catalogue import Catalogue, folder_beside, loading_file, near_types
from warploom.engine.compiler.description import BlockNode, GraphDescription, NumberDrive
from warploom.engine.compiler.inlining.inline import Inlined, inline
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.diagnostics import Diagnostic, Mend, Source, error, warning
from warploom.engine.patch import rules
from warploom.engine.patch.changes import Connection, PortRef, Sentinel
from warploom.engine.patch.trust import asks_for_trust, refuse_source
from warploom.engine.readings import Reading
from warploom.engine.types.bits import bit_key
from warploom.engine.user_code.limits import TookTooLong
from warploom.engine.user_code.runner import CodeRunner

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_UNREAD = Reading()


class PlacedNode(msgspec.Struct, frozen=True, eq=False):
    """A node with its block type, and its block's description once there is one.

    Any thread may read it. `block_type` is None for an unknown type. `problems` keep the block from running; `stale`
    keeps only its newest version from running, while the last good one keeps running.
    """

    id: str
    type_id: str
    region: str = ""
    block_type: type[Block] | None = None
    #: The ports and parameters of the type when it was looked up: a type that is declared again has others.
    declared: object = None
    specs: Mapping[str, ParameterSpec] = _NOTHING
    #: The parameter values that the block is to be described with.
    values: Mapping[str, object] = _NOTHING
    block: BlockNode | None = None
    problems: tuple[Diagnostic, ...] = ()
    stale: tuple[Diagnostic, ...] = ()
    #: The node with a newer version of its type, which takes over once it could be described.
    successor: PlacedNode | None = None
    #: The contents of files when the block was described.
    reading: Reading = _UNREAD
    #: True when `describe` took too long: it isn't called again before the type or a structural parameter changes.
    gave_up: bool = False
    #: Whether the patch was trusted when the type was looked up.
    trusted: bool = False

    @property
    def is_value(self) -> bool:
        """True for a value block, which the compiler never sees."""
        return self.block_type is not None and self.block_type.is_value

    @property
    def uses_outside(self) -> bool:
        """True for a live block that may use something outside the patch: see `UpdatedBlock.source`."""
        found = self.block_type
        return found is not None and issubclass(found, LiveBlock) and found.source is not LiveBlock.source

    @property
    def is_to_be_described(self) -> bool:
        """True when `described` may return a new description."""
        return self.successor is not None or (
            self.block is None and self.block_type is not None and not (self.gave_up or self.block_type.is_value)
        )

    def took_over_from(self, before: PlacedNode) -> bool:
        """True when this is `before` with the newer version of its type, which could be described."""
        return before.successor is not None and self.specs is before.successor.specs

    def in_region(self, region: str) -> PlacedNode:
        """Return the node in another region."""
        block = replace(self.block, region=region) if self.block is not None else None
        successor = self.successor.in_region(region) if self.successor is not None else None
        return replace(self, region=region, block=block, successor=successor)


def look_up(
    node_id: str,
    type_id: str,
    region: str,
    patch_values: Mapping[str, object],
    catalogue: Catalogue,
    folder: Callable[[], Path],
    *,
    trusted: bool,
) -> PlacedNode:
    """Return a node with the newest version of its type; `folder` is the patch's folder, `trusted` whether it is."""
    block_type, newest = catalogue.resolve(type_id, patch_values, folder, trusted=trusted)
    problem = replace(newest, node=node_id) if newest is not None else None
    if block_type is None:
        return PlacedNode(node_id, type_id, region, problems=(problem or _unknown(node_id, type_id, folder()),))
    told = (problem,) if problem is not None else ()
    declared, specs = block_type.ports, block_type.parameters
    node = PlacedNode(node_id, type_id, region, block_type, declared, specs, trusted=trusted)
    if block_type.is_adaptive and problem is not None and block_type is catalogue.get(type_id):
        return replace(node, problems=told, gave_up=True)  # its ports have never been known
    return replace(node, stale=told) if told else node


def with_value_block(node: PlacedNode, code: CodeRunner) -> tuple[PlacedNode, ValueBlock | None]:
    """Return a node with the value block that it is, or None; a node whose block can't be made has no type."""
    block_type = node.block_type
    if block_type is None or not block_type.is_value:
        return node, None
    failed, at = partial(_failure, node, "construction"), (node.id, "construction")
    block = code.run(partial(block_type, node.id), failed, ours=is_ours(block_type), at=at)
    if isinstance(block, Diagnostic):
        return replace(node, block_type=None, problems=(block,)), None
    assert isinstance(block, ValueBlock)
    return node, block


def described(nodes: Sequence[PlacedNode], others: Iterable[PlacedNode], code: CodeRunner) -> list[PlacedNode]:
    """Return nodes with their blocks' descriptions, by the newest versions of their types that can be described.

    Library blocks with the same structural values have the same description, so one of them is described for all, if
    none of `others` has that description.
    """
    known: dict[tuple[object, ...], tuple[BlockDescription | Diagnostic, Reading] | Diagnostic] = {}
    known |= _known(nodes, others)

    def one(node: PlacedNode) -> PlacedNode:
        newest = node.successor or node
        asked = _asked(newest)
        made = known.get(asked)
        if made is None:
            failed, at = partial(_failure, newest, "describe"), (node.id, "describe")
            limits = code.own_limits if newest.block_type is not None and is_ours(newest.block_type) else None
            made = code.run(partial(_description, newest), failed, ours=False, at=at, limits=limits)
        if isinstance(made, Diagnostic):  # it took too long, as it would for other nodes
            known[asked] = made
            return _succeeded(node, replace(newest, problems=(replace(made, node=node.id),), gave_up=True))
        found, reading = made
        if isinstance(found, Diagnostic) and asks_for_trust(found):
            return replace(newest, block=None, problems=(replace(found, node=node.id),), reading=reading)
        if isinstance(found, Diagnostic):
            return _succeeded(node, replace(newest, problems=(found,), reading=reading))
        assert newest.block_type is not None
        if is_ours(newest.block_type) and not found.brings_arrays:
            known[asked] = made
        return replace(newest, block=BlockNode(newest.id, found, newest.region), problems=(), reading=reading)

    return list(map(one, nodes))


def _known(
    nodes: Iterable[PlacedNode], others: Iterable[PlacedNode]
) -> dict[tuple[object, ...], tuple[BlockDescription, Reading]]:
    """Return the descriptions for library blocks that other nodes have, by what they are asked with."""
    newest = (node.successor or node for node in nodes)
    wanted = {_asked(node) for node in newest if node.block_type is not None and is_ours(node.block_type)}
    types, found = {asked[0] for asked in wanted}, {}
    for node in others:
        if node.block is None or node.successor is not None or node.stale or node.block_type not in types:
            continue
        asked, description = _asked(node), node.block.description
        if asked in wanted and not (description.brings_arrays or node.reading.changed()):
            found[asked] = description, node.reading
            wanted.remove(asked)
    return found


def _description(node: PlacedNode) -> tuple[BlockDescription | Diagnostic, Reading]:
    """Return the description of a node's block, or the error of its code, and the contents of the files it has read."""
    block_type, reading = node.block_type, Reading()
    assert block_type is not None
    doing = "construction"
    with reading.under_way():
        try:
            block = block_type(node.id)
            block.values = dict(node.values)
            if isinstance(block, LiveBlock) and node.uses_outside and not node.trusted:
                doing = "source"
                if (refused := refuse_source(node.id, block.source())) is not None:
                    return refused, reading
            doing = "describe"
            made = describe(block)
        except TookTooLong:
            raise
        except BaseException as problem:  # noqa: BLE001 - a block's code may raise anything
            return _failure(node, doing, problem), reading
        return _idleness(node.id, made) or made, reading


def _idleness(node: str, made: BlockDescription) -> Diagnostic | None:
    """Return the error of a block, or of a block inside it, that leaves out an output or does not use its inputs."""
    remedy = "have describe launch a kernel on it, or fill, copy or provide it"
    for part in made.parts():
        for name in part.unfilled_outputs:
            text = f"output '{name}' must be filled, got a describe that leaves it out"
            return error(text, node=node, port=name if part is made else None, remedy=remedy)
        if part.does_nothing:
            text = "describe must ask for work or show something, got neither"
            return error(text, node=node, remedy="have describe read or show an input")
    return None


def _succeeded(node: PlacedNode, newest: PlacedNode) -> PlacedNode:
    """Return what replaces a node whose newest version can't be described.

    This is the node itself with the problems if it has a block, otherwise the newest version.
    """
    if node.block is None:
        return newest
    return replace(node, stale=newest.problems, successor=None, declared=newest.declared, reading=newest.reading)


def _asked(node: PlacedNode) -> tuple[object, ...]:
    """Return the inputs of a description: the type and the structural values, arrays and graphs by identity."""
    block_type, values = node.block_type, node.values
    structural = [
        (name, bit_key(value) if type(value := values.get(name)).__hash__ is not None else id(value))
        for name, spec in node.specs.items()
        if spec.structural
    ]
    return (block_type, *structural) if structural else (block_type,)


def _failure(node: PlacedNode, what: str, problem: BaseException) -> Diagnostic:
    """Return an exception of a block's own code, as an error on its node with the line."""
    assert node.block_type is not None
    return code_diagnostic(problem, f"{what} of {node.type_id}", node.block_type.source_file(), node.id)


def _unknown(node_id: str, type_id: str, patch_folder: Path) -> Diagnostic:
    if (file := loading_file(type_id)) is not None:
        text = f"block type {type_id} must be loaded first, and its file is still running, got {file.name}"
        return error(text, node=node_id, file=str(file), remedy="wait for it: the block runs as soon as it is done")
    beside = folder_beside(patch_folder)
    file = find_definition(type_id, beside) if beside is not None else None
    if file is not None:
        text = f"block type {type_id} must come from files that are trusted, got {file}, which nobody has trusted"
        remedy = "read it, then trust it: File > Trust, `--trust`, or `trust_blocks` from Python"
        return error(text, node=node_id, file=str(file), remedy=remedy, mend=Mend.TRUST)
    text = f"block type must be in the catalogue, got {type_id}"
    remedy = near_types(type_id) or "install the package it comes from, or delete the node"
    return error(text, node=node_id, remedy=remedy)


class PatchSnapshot(msgspec.Struct, frozen=True):
    """A patch at one moment: its nodes, the connections that carry buffers, and the parameter values by node and name.

    `notices` report failed block files that no node needs. `sentinels` are by output. `drives` are those that kernels
    may follow in the same frame. `muted` are nodes to leave out, with the reasons. `orders` are pairs of nodes: the
    first runs before the second.
    """

    nodes: tuple[PlacedNode, ...]
    connections: tuple[Connection, ...]
    values: Mapping[str, Mapping[str, object]] = msgspec.field(default_factory=dict)
    notices: tuple[Diagnostic, ...] = ()
    sentinels: Mapping[PortRef, Sentinel] = msgspec.field(default_factory=dict)
    drives: tuple[NumberDrive, ...] = ()
    muted: Mapping[str, Diagnostic] = msgspec.field(default_factory=dict)
    orders: tuple[tuple[str, str], ...] = ()


class PatchDescription(msgspec.Struct, frozen=True):
    """The description of a snapshot: its nodes with their current descriptions, and the graph of the described ones.

    `problems` keep single blocks from running. `notices` don't: they report newest versions and connections that are
    left out of the running graph, and warnings. `values` are those of the versions that are described.
    """

    nodes: tuple[PlacedNode, ...]
    inlined: Inlined
    problems: tuple[Diagnostic, ...]
    notices: tuple[Diagnostic, ...]
    values: Mapping[str, Mapping[str, object]]

    @property
    def refused(self) -> frozenset[str]:
        """The nodes of live blocks that use what the patch may not: they must not even run on."""
        return frozenset(
            node.id for node in self.nodes if node.uses_outside and any(map(asks_for_trust, node.problems))
        )

    @property
    def undescribed(self) -> frozenset[str]:
        """The nodes without a description; value blocks are among them."""
        return frozenset(node.id for node in self.nodes if node.block is None)


def number_drives(connections: Iterable[Connection], type_of: TypeOf) -> tuple[NumberDrive, ...]:
    """Return the drives of live parameters by live blocks, whose numbers may be on the device; the rest is left out.

    What a live block does with a parameter of its own on the CPU can't wait for the device.
    """
    found = []
    for connection in connections:
        source, target = type_of(connection.source.node), type_of(connection.target.node)
        if source is None or target is None or not source.is_live or target.is_value or target.is_live:
            continue
        name = target.renamed.get(connection.target.port, connection.target.port)
        value, spec = rules.find_value(source, connection.source.port), target.parameters.get(name)
        if value is None or spec is None or name in target.ports or spec.restarts or not rules.is_drivable(spec):
            continue
        ends = PortRef(connection.source.node, value.name), PortRef(connection.target.node, name)
        found.append(NumberDrive(*ends, spec.type, *spec.driven_range))
    return tuple(found)


def describe_patch(patch: PatchSnapshot, code: CodeRunner) -> PatchDescription:
    """Describe every block that has no description yet, by means of `code`, and put the graph together.

    A block that can't be described is not in the graph. Its connections are, so that the blocks that depend on it are
    known. Connections at ports that no longer exist are left out. Muted blocks are described, unless their own code is
    at fault.
    """
    wrong = {node for node, why in patch.muted.items() if why.source is Source.VALIDATION}
    waiting = [i for i, node in enumerate(patch.nodes) if node.is_to_be_described and node.id not in wrong]
    nodes = list(patch.nodes)
    succeeded: dict[str, Mapping[str, object]] = {}
    for index, new in zip(waiting, described([nodes[index] for index in waiting], nodes, code), strict=True):
        if new.took_over_from(nodes[index]):
            succeeded[new.id] = new.values
        nodes[index] = new
    graph = GraphDescription(tuple([node.block for node in nodes if node.block is not None]), patch.connections)
    kept, dangling = _without_dangling(graph.by_id, graph.connections)
    if kept != graph.connections or patch.sentinels:
        sentinels = {_present(port, graph.by_id.get(port.node)): check for port, check in patch.sentinels.items()}
        graph = GraphDescription(graph.nodes, kept, sentinels)
    orders = tuple(sorted(pair for pair in patch.orders if graph.by_id.keys() >= set(pair)))
    graph = replace(_without_unneeded(graph), drives=patch.drives, orders=orders)
    stale = [problem for node in nodes if node.stale for problem in node.stale]
    problems = [problem for node in nodes if node.problems for problem in node.problems]
    problems += [why for node, why in patch.muted.items() if node in wrong]
    noted = [
        replace(note, node=node.id)
        for node in nodes
        if node.block_type is not None and node.block_type.is_adaptive and issubclass(node.block_type, AdaptiveBlock)
        for note in node.block_type.notes
    ]
    notices = (*stale, *noted, *patch.notices, *dangling)
    return PatchDescription(tuple(nodes), inline(graph), tuple(problems), notices, {**patch.values, **succeeded})


def _without_unneeded(graph: GraphDescription) -> GraphDescription:
    """Leave out the launches that need an input which is not connected."""
    if not any(kind.needed_inputs for kind in graph.kinds):
        return graph
    fed = {connection.target for connection in graph.connections}
    nodes = []
    for node in graph.nodes:
        missing = frozenset(name for name in node.description.needed_inputs if PortRef(node.id, name) not in fed)
        nodes.append(replace(node, description=node.description.without_inputs(missing)) if missing else node)
    return GraphDescription(tuple(nodes), graph.connections, graph.sentinels)


def _present(port: PortRef, node: BlockNode | None) -> PortRef:
    """Return a port under its present name."""
    rules = node.description.rules if node is not None else None
    if node is None or rules is None or port.port in rules.output_of or port.port in rules.input_of:
        return port
    name = next((spec.name for spec in node.description.ports if port.port in spec.replaces), port.port)
    return PortRef(port.node, name)


def _without_dangling(
    nodes: Mapping[str, BlockNode], connections: Iterable[Connection]
) -> tuple[tuple[Connection, ...], list[Diagnostic]]:
    """Return the connections whose ports exist, and a warning for each other one on the node that lacks the port.

    A port that is called by a name that it had before has its present one in the result.
    """
    kept, warnings = [], []
    for connection in connections:
        start, end = connection.source, connection.target
        source, target = nodes.get(start.node), nodes.get(end.node)
        if (source is None or start.port in source.description.rules.output_of) and (
            target is None or end.port in target.description.rules.input_of
        ):
            kept.append(connection)
            continue
        connection = Connection(_present(start, source), _present(end, target))
        missing = _missing(connection, source, target)
        if missing is None:
            kept.append(connection)
            continue
        end, kind, ports = missing
        text = f"connection {connection} must use an {kind} that {end.node} has, got {end.port!r}: it is left out"
        remedy, expected = f"connect it to another {kind}, or delete it", f"{kind}: {', '.join(ports) or 'none'}"
        warnings.append(warning(text, node=end.node, port=end.port, remedy=remedy, expected=expected, found=end.port))
    return tuple(kept), warnings


def _missing(
    connection: Connection, source: BlockNode | None, target: BlockNode | None
) -> tuple[PortRef, str, Iterable[str]] | None:
    """Return the end of a connection whose block lacks the port, the kind of the port, and the existing ports."""
    if source is not None and connection.source.port not in source.description.rules.output_of:
        return connection.source, "output", source.description.rules.output_of
    if target is not None and connection.target.port not in target.description.rules.input_of:
        return connection.target, "input", target.description.rules.input_of
    return None
