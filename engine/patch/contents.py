"""`PatchContents`: the nodes and connections of a patch, and queries about them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from warploom.engine.blocktypes.adaptive import decides_interface
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.catalogue import Catalogue, default_catalogue
from warploom.engine.descriptions.checks import SHOWN, shown
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.ops.graph import OTHERWISE
from warploom.engine.patch import changes, rules
from warploom.engine.patch.changes import Change, Connection, Node, OwnPort, PortRef, Position, Sentinel
from warploom.engine.patch.editing.applying import PatchIndex, apply_change, check_change
from warploom.engine.patch.organise.annotations import KINDS, Annotation, AnnotationType, Dots
from warploom.engine.patch.regions import (
    RegionRefused,
    Scopes,
    branch_of,
    check_region,
    region_of,
    scope_text,
)
from warploom.engine.types import dtype_of
from warploom.engine.types.element_numbers import number_of

#: The types of groups and of their ends.
_GROUPS = "patch."


class NodeRef:
    """A handle on a node: `ref["port"]` is a port, `ref.id` is its id, and `ref.body` the scope inside a region block.

    `ref["parameter"]` also stands for a parameter that a value drives. Used as a scope, the handle of a region block
    stands for its body.
    """

    __slots__ = ("id", "patch")

    def __init__(self, patch: PatchContents, node_id: str) -> None:
        self.patch = patch
        self.id = node_id

    def __getitem__(self, port: str) -> PortRef:
        if (block_type := self.patch.block_type(self.id)) is not None:
            self.patch._end(self.id, block_type, port)
        return OwnPort.of(self.patch, self.id, port)

    @property
    def body(self) -> str:
        """The scope inside a region block. Raise RegionRefused if the block is not a region."""
        return self._scope("")

    @property
    def otherwise(self) -> str:
        """The scope of the branch that runs if the condition is false. Raise RegionRefused if there is none."""
        return self._scope(OTHERWISE)

    def branch(self, number: int) -> str:
        """Return the scope of a branch, counted from 0. Raise RegionRefused if there is none of this number."""
        block_type = self.patch.block_type(self.id)
        known = block_type.regions if block_type is not None else ()
        if not isinstance(number, int) or not 0 <= number < len(known):
            rule = f"from 0 to {len(known) - 1}" if known else "left out, since the block is no region"
            raise RegionRefused(f"branch of {self.id} must be {rule}, got {shown(number)}")
        return scope_text(self.id, known[number])

    def _scope(self, branch: str) -> str:
        check_region("a block", self.id, self.patch.block_type(self.id), branch)
        return scope_text(self.id, branch)

    def __repr__(self) -> str:
        node = self.patch.nodes.get(self.id)
        return f"<node {self.id}: {node.type if node else 'removed'}>"


def named(parameter: object) -> str:
    """Return the name of a parameter. Raise PatchError when it is not a text."""
    if not isinstance(parameter, str):
        raise PatchError(f"parameter must be a name, got {shown(parameter)}")
    return parameter


class PatchContents:
    """Nodes, connections and parameter values, indexed so that no query searches the whole patch.

    Queries about unknown nodes raise PatchError.
    """

    #: Whether connections carry buffers, which sentinels can check.
    takes_sentinels: ClassVar[bool] = True
    #: Whether blocks can be bypassed and disabled.
    takes_modes: ClassVar[bool] = True

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        if not (catalogue is None or isinstance(catalogue, Catalogue)):
            raise PatchError(
                f"catalogue of a patch must be a Catalogue, or None for the usual one, got {shown(catalogue)}"
            )
        self.catalogue = catalogue or default_catalogue()
        self.nodes: dict[str, Node] = {}
        #: The sentinels, by output.
        self.sentinels: dict[PortRef, Sentinel] = {}
        #: Frames, dots, bookmarks, presets, pins and OSC settings, by their keys.
        self.annotations: dict[str, Annotation] = {}
        #: The nodes that are bypassed or disabled.
        self.off: set[str] = set()
        #: The file that the patch was loaded from or saved to. Relative media paths start at its folder.
        self.path: Path | None = None
        #: A digest of the file's contents when it was last read or written here; empty if it never was.
        self.file_digest = b""
        self.extra: dict[str, Any] = {}
        #: Whether the patch is trusted. A patch that a script made is; a loaded patch must be trusted explicitly.
        self.trusted = True
        self._by_target: dict[PortRef, Connection] = {}
        self._index = PatchIndex()
        #: Counts the changes that may concern more than a value or a place on the canvas: what follows from types,
        #: connections and names stays while it stays.
        self.edition = 0
        #: The parameters, by node and name, whose values no type of this edition follows from, as far as they were set.
        self._plain: set[tuple[str, str]] = set()
        #: The edition of all block types at the last change of a parameter.
        self._types_edition = block_types.edition
        #: The types of nodes with adaptive types, each with the parameter values that determine it.
        self._adapted: dict[str, tuple[Node, object, type[Block] | None]] = {}

    @property
    def connections(self) -> list[Connection]:
        """Every connection, oldest first."""
        return list(self._by_target.values())

    @property
    def folder(self) -> Path:
        """The folder that relative media paths start at: the file's, or the working directory if there is no file."""
        return self.path.resolve().parent if self.path else Path.cwd()

    def source_of(self, target: PortRef) -> PortRef | None:
        """Return the output that feeds an input, or None."""
        connection = self._by_target.get(self.own(target))
        return connection.source if connection else None

    def is_value_connection(self, connection: Connection) -> bool:
        """True when a connection drives a parameter with a value. The compiler doesn't see such connections."""
        if not isinstance(connection, Connection):
            raise PatchError(f"connection must be one of the patch, got {shown(connection)}")
        ends = self._type_of(self.own(connection.source).node), self._type_of(self.own(connection.target).node)
        return rules.is_value_connection(connection, *ends)

    def crosses_branches(self, connection: Connection) -> bool:
        """True when a connection would lead from one branch of a region to the other."""
        if not isinstance(connection, Connection):
            raise PatchError(f"connection must be one of the patch, got {shown(connection)}")
        self._require(self.own(connection.source).node), self._require(self.own(connection.target).node)
        return rules.crossed_region(connection, self._run_index.scopes) is not None

    def connections_of(self, node_id: str) -> list[Connection]:
        """Return the connections that start or end at a node."""
        return self._index.touching(self._id_of(node_id))

    def block_type(self, node_id: str) -> type[Block] | None:
        """Return a node's block type, or None when it is not in the catalogue."""
        return self.type_of(self._require(node_id))

    def type_of(self, node: Node) -> type[Block] | None:
        """Return the block type of a node that is in the patch, or may be added; None when it is unknown."""
        if not isinstance(node, Node):
            raise PatchError(f"node must be one of `nodes`, got {shown(node)}")
        block_type = self.catalogue.get(node.type)
        if block_type is None or not block_type.is_adaptive:
            return block_type
        known, key = self._adapted.get(node.id), (self.path, self.trusted, block_types.edition)
        if known is None or known[0] is not node or known[1] != key:
            resolved, problem = self.catalogue.resolve(
                node.type, node.parameters, lambda: self.folder, trusted=self.trusted
            )
            if problem is not None and resolved is block_type and known is not None:
                resolved = known[2]  # an error in the values doesn't remove the node's ports
            known = self._adapted[node.id] = node, key, resolved
        return known[2]

    def decides_interface(self, node_id: str, parameter: str) -> bool:
        """True when a node's ports and parameters depend on the value of this parameter."""
        return decides_interface(self.catalogue.get(self._require(node_id).type), named(parameter))

    def value(self, node: NodeRef | str, parameter: str) -> Any:
        """Return a parameter's value: the value that was set, if the type accepts it, and otherwise the default."""
        found, parameter = self._require(self._id_of(node)), named(parameter)
        parameter = self._renamed(found.type).get(parameter, parameter)
        if parameter not in found.parameters:
            return self.parameter(found.id, parameter).default
        block_type = self._type_of(found.id)
        spec = block_type.parameters.get(parameter) if block_type is not None else None
        if spec is None:
            return found.parameters[parameter]
        try:
            return spec.coerce(found.parameters[parameter])
        except PatchError:  # set under an earlier version of the type
            return spec.default

    def parameter(self, node_id: str, name: str) -> ParameterSpec:
        """Return a parameter's declaration. Raise PatchError when the node has no parameter of this name."""
        return self._known_type(node_id).parameter(name)

    def title(self, node_id: str) -> str:
        """Return a node's title on the canvas. A long title is cut, since laying out megabytes takes seconds."""
        node = self._require(node_id)
        block_type = self.type_of(node)
        title = node.title or (block_type.title if block_type else node.type)
        return title if len(title) <= SHOWN else f"{title[:SHOWN]}…"

    @property
    def _run_index(self) -> PatchIndex:
        """The index of the patch as an engine runs it."""
        return self._index

    @property
    def scopes(self) -> Scopes:
        """The region that each block lies in."""
        return self._index.scopes

    def members(self, region: NodeRef | str) -> list[str]:
        """Return the nodes directly in a region block, in any of its branches."""
        return list(self._index.members(self._require(self._id_of(region)).id))

    def branches(self, region: NodeRef | str) -> list[str]:
        """Return the branches of a region block: those of its type, and others that blocks lie in."""
        block_type = self.block_type(self._id_of(region))
        used = {branch_of(self.nodes[member].region) for member in self.members(region)}
        known = block_type.regions if block_type is not None else ()
        return [*known, *sorted(used.difference(known))]

    def as_changes(self) -> list[Change]:
        """Return the changes that make this patch from an empty one."""
        return [
            *map(changes.NodeAdded, self.nodes.values()),
            *map(changes.Connected, self._by_target.values()),
            *(changes.SentinelChanged(port, sentinel, None) for port, sentinel in self.sentinels.items()),
            *(changes.AnnotationChanged(key, made, None) for key, made in self.annotations.items()),
        ]

    def annotations_of(self, kind: type[AnnotationType]) -> list[AnnotationType]:
        """Return the frames, dots, or annotations of another kind, in the order of their keys."""
        if not any(kind is known for known in KINDS):
            names = ", ".join(known.__name__ for known in KINDS)
            raise PatchError(f"kind of annotations must be one of {names}, got {shown(kind)}")
        return [made for _, made in sorted(self.annotations.items()) if isinstance(made, kind)]

    def dots(self, target: PortRef) -> tuple[Position, ...]:
        """Return the points that the connection into an input passes through on the canvas."""
        made = self.annotations.get(f"dots {self.own(target)}")
        return made.points if isinstance(made, Dots) else ()

    def feeds(self, port: PortRef) -> bool:
        """True when an output has a connection that carries a buffer."""
        touching = self._run_index.touching(self.own(port).node)
        return any(c.source == port and not self.is_value_connection(c) for c in touching)

    def check_connection(self, source: PortRef, target: PortRef) -> Connection:
        """Return the connection that `connect` would make, or raise the error that it would raise."""
        source, target = self._present(self.own(source)), self._present(self.own(target))
        connection = Connection(source, target)
        self._check_blocks(connection)
        return connection

    def _provided(self, node: str, end: rules.End) -> rules.End:
        """Return an output with the element type of the array that its block provides."""
        if not isinstance(end, PortSpec) or end.dtype_rule != "data":
            return end
        arrays = [spec.name for spec in self._known_type(node).parameters.values() if spec.type == "array"]
        if len(arrays) != 1:
            return end
        try:
            return replace(end, dtype=dtype_of(self.value(node, arrays[0])))
        except TypeError:  # an array that no buffer can hold, which the node reports
            return end

    def _check_blocks(self, connection: Connection) -> None:
        """Raise an error unless a connection between two blocks is allowed."""
        source, target = connection.source, connection.target
        source_type, target_type = self._known_type(source.node), self._known_type(target.node)
        output, end = self._end(source.node, source_type, source.port), self._end(target.node, target_type, target.port)
        rules.check_types(connection, self._provided(source.node, output), end)
        if rules.is_value_connection(connection, source_type, target_type):
            rules.check_acyclic(connection, partial(self._values_feed, replaced=target), Scopes({}))
        elif not (isinstance(end, PortSpec) and end.delayed):
            index = self._run_index
            rules.check_branches(connection, index.scopes)
            # Ignore the connection that this one replaces.
            counts = partial(self._orders, replaced=target)
            rules.check_acyclic(connection, lambda node: index.following(node, counts), index.scopes)

    def check_sentinel(self, port: PortRef | Connection) -> PortRef:
        """Return the output for a sentinel to check. Raise a PatchError with the reason if it can't be checked."""
        if not self.takes_sentinels:
            raise PatchError("sentinel must check a buffer between blocks, got a connection inside a block")
        if isinstance(port, Connection) and self._by_target.get(self.own(port.target)) != port:
            raise PatchError(f"sentinel must be of a connection in the patch, got {port}")
        found = self._present(self.own(port.source if isinstance(port, Connection) else port))
        spec = self.require_end(found.node, found.port)
        if not isinstance(spec, PortSpec):
            raise PatchError(f"sentinel must check a buffer, got {found}, which is a single value")
        if spec.is_input:
            raise PatchError(f"sentinel must be of an output, got the input {found}")
        if not self.feeds(found):
            raise PatchError(f"sentinel must be of an output with a connection, got {found}, which feeds nothing")
        if spec.dtype.kind != "any" and number_of(spec.dtype) is None:
            raise PatchError(f"elements of {found} must be numbers to be checked, got {spec.dtype}")
        return found

    def check_pin(self, port: PortRef) -> PortRef:
        """Return the output for a pin to test. Raise a PatchError with the reason if it can't be tested."""
        found = self._present(self.own(port))
        if not self.takes_sentinels:
            raise PatchError(f"pin must be of an output of the patch, got {found}, which is inside a block")
        if rules.is_target(self.require_end(found.node, found.port)):
            raise PatchError(f"pin must be of an output, got the input {found}")
        return found

    def check_order(self, first: str, then: str) -> None:
        """Raise an error unless a block can run before another one without a connection."""
        for node in (self._require(first), self._require(then)):
            block_type = self.type_of(node)
            if block_type is not None and block_type.is_value:
                why = "a value block, and these run before the others"
            elif not self.takes_sentinels:
                why = "a part of a block"
            elif node.type.startswith(_GROUPS):
                why = f"{node.type}; order blocks inside it"
            else:
                continue
            raise rules.OrderRefused(f"order must be of blocks of the patch, got {node.id}, which is {why}")
        index = self._run_index
        rules.check_order(first, then, lambda node: index.following(node, self._orders), index.scopes)

    def find_end(self, ref: PortRef) -> rules.End | None:
        """Return the declaration of a port, value output or parameter; None when the node's type has none."""
        return rules.find_end(self.block_type(self.own(ref).node), ref.port)

    def _repr_svg_(self) -> str:
        """Return the drawing that a notebook shows."""
        from warploom.engine.patch.drawing import patch_svg  # only notebooks need it

        return patch_svg(self.nodes, {node: self.title(node) for node in self.nodes}, self.connections)

    def require_end(self, node_id: str, name: str) -> rules.End:
        """Return the declaration of a port, value output or parameter.

        For a missing one, raise UnknownPort with a list, or with the error that keeps the node from having its ports,
        such as a mistake in its formula or kernel.
        """
        return self._end(node_id, self._known_type(node_id), name)

    def _end(self, node_id: str, block_type: type[Block], name: str) -> rules.End:
        """Return what `require_end` does for a node of a known type."""
        try:
            return rules.require_end(node_id, block_type, name)
        except rules.UnknownPort as missing:
            node = self._require(node_id)
            _, problem = self.catalogue.resolve(node.type, node.parameters, lambda: self.folder, trusted=self.trusted)
            if problem is None:
                raise
            text = f"node {node_id} must be right to have the port {shown(name)}, got this error: {problem.message}"
            if problem.file is not None and Path(problem.file).name not in text:
                text += f" ({problem.file}{f':{problem.line}' if problem.line is not None else ''})"
            raise rules.UnknownPort(text, problem.remedy) from missing

    def fitting_ends(self, start: PortRef) -> set[PortRef]:
        """Return every end that a connection from or to `start` could have.

        The result equals that of `check_connection` for each end, but takes a single walk along the connections.
        """
        spec = self.find_end(start)
        if spec is None:
            return set()
        spec = self._provided(start.node, spec)
        is_buffer = isinstance(spec, PortSpec)
        before_start = self._before(start.node, backwards=not rules.is_target(spec), values=not is_buffer)
        scopes = self._run_index.scopes
        by_type: dict[type[Block], list[rules.End]] = {}
        found = set()
        for node in self.nodes:
            block_type = self.block_type(node)
            if block_type is None:
                continue
            if block_type not in by_type:  # many nodes share a type
                by_type[block_type] = [end for end in rules.ends_of(block_type) if rules.fits(spec, end)]
            if is_buffer:
                a, b = scopes.lift(start.node, node)
                closes = a not in (start.node, node) or start.node == node if a == b else b in before_start
            else:
                closes = node in before_start
            for end in by_type[block_type]:
                target = end if rules.is_target(end) else spec
                if (typed := self._provided(node, end)) is not end and not rules.fits(spec, typed):
                    continue
                if not closes or (isinstance(target, PortSpec) and target.delayed):
                    found.add(PortRef(node, end.name))
        return found

    def _before(self, start: str, *, backwards: bool, values: bool) -> Collection[str]:
        """Return `start` with its dependents, or backwards with its dependencies, through values or through buffers.

        A region's blocks count as the region.
        """
        if values:
            return rules.reached(partial(self._values_feed, backwards=backwards), [start])
        index = self._run_index
        around = map(region_of, index.scopes.chain(index.scopes.scope_of.get(start, "")))
        following = partial(index.following, counts=self._orders, backwards=backwards)
        return rules.reached(following, [start, *around])

    def _take(self, change: Change) -> None:
        """Apply a change. If that is impossible, raise PatchError and change nothing."""
        if isinstance(change, changes.ParameterChanged) and (node := self.nodes.get(change.node)) is not None:
            if self._types_edition != block_types.edition:
                self._types_edition = block_types.edition
                self._end_edition()
            self.nodes[node.id] = changes.applied(node, change)
            place = node.id, change.parameter
            if place not in self._plain and self._is_structural(node, change.parameter):
                self._end_edition()
                return
            self._plain.add(place)
            known = self._adapted.get(node.id)
            if known is not None and known[0] is node:
                self._adapted[node.id] = self.nodes[node.id], *known[1:]
            return
        check_change(change, self.nodes, self._by_target)
        apply_change(self.nodes, self._by_target, self.sentinels, self.annotations, change)
        if not isinstance(change, changes.NodeMoved):
            self._end_edition()
        self._index.follow(change)
        if isinstance(change, changes.NodeRemoved):
            self._adapted.pop(change.node.id, None)
            self.off.discard(change.node.id)
        elif isinstance(change, changes.NodeAdded):
            if change.node.mode:
                self.off.add(change.node.id)
        elif isinstance(change, changes.NodeModeChanged):
            (self.off.add if change.mode else self.off.discard)(change.node)

    def _end_edition(self) -> None:
        self.edition += 1
        self._plain.clear()

    def _is_structural(self, node: Node, parameter: str) -> bool:
        """Return whether the types of nodes may follow from a parameter's value."""
        block_type = self.catalogue.get(node.type)
        return block_type is not None and block_type.is_adaptive and decides_interface(block_type, parameter)

    def _present(self, port: PortRef) -> PortRef:
        """Return a port under its present name."""
        node = self.nodes.get(port.node)
        if node is None or not (renamed := self._renamed(node.type)):
            return port
        new = renamed.get(port.port)
        return PortRef(port.node, new) if new is not None else port

    def _present_ends(self, connection: Connection) -> Connection:
        source, target = self._present(connection.source), self._present(connection.target)
        is_same = source is connection.source and target is connection.target
        return connection if is_same else Connection(source, target)

    def _renamed(self, type_id: str) -> Mapping[str, str]:
        block_type = self.catalogue.get(type_id)
        return block_type.renamed if block_type is not None else {}

    def _scope(self, node: str, region: NodeRef | str) -> str:
        """Return the text of a valid scope; `node` is the name of the block in messages."""
        scope = self._id_of(region)
        if scope:
            owner = region_of(scope)
            if owner not in self.nodes:
                raise RegionRefused(f"region of {node} must be a node of the patch, got {shown(owner)}")
            check_region(node, owner, self.block_type(owner), branch_of(scope))
        return scope

    def _orders(self, connection: Connection, replaced: PortRef | None = None) -> bool:
        """True when the source must run before the target.

        Value connections, delayed inputs and `replaced` don't count.
        """
        source, target = connection.source, connection.target
        if target == replaced:
            return False
        source_type, block_type = self._type_of(source.node), self._type_of(target.node)
        if rules.is_value_connection(connection, source_type, block_type):
            return False
        spec = block_type.ports.get(target.port) if block_type else None
        return spec is None or not spec.delayed

    def _values_feed(self, node_id: str, replaced: PortRef | None = None, *, backwards: bool = False) -> Iterator[str]:
        """Yield the blocks that a block's values feed, or that feed it; connections into `replaced` are ignored."""
        for connection in self._run_index.touching(node_id):
            near, far = connection.source.node, connection.target.node
            if backwards:
                near, far = far, near
            if near == node_id and connection.target != replaced and self.is_value_connection(connection):
                yield far

    def own(self, port: PortRef) -> PortRef:
        """Return a port as data. Raise PatchError for a port of another patch, whose nodes may have the same ids."""
        if not (isinstance(port, PortRef) and isinstance(port.node, str) and isinstance(port.port, str)):
            raise PatchError(f"port must be one of a node, such as node['out'], got {shown(port)}")
        if not isinstance(port, OwnPort):
            return port
        if port.patch is not self:
            raise PatchError(f"port {port} must be of this patch, got one of another; ask a node of this patch for it")
        return port.plain

    def _id_of(self, node: NodeRef | str) -> str:
        """Return the id of a node, given as an id or a handle. Raise PatchError for a node of another patch."""
        if isinstance(node, str):
            return node
        if not isinstance(node, NodeRef):
            raise PatchError(f"node must be an id or a handle from `add`, got {shown(node)}")
        if node.patch is not self:
            raise PatchError(f"node {node.id} must be of this patch, got one of another; use this patch's own")
        return node.id

    def _each(self, nodes: NodeRef | str | Collection[NodeRef | str]) -> list[Node]:
        """Return the distinct ids of one or several nodes, given as ids or handles."""
        try:
            each = [nodes] if isinstance(nodes, (NodeRef, str)) else list(nodes)
        except TypeError:
            raise PatchError(f"nodes must be a list of ids or of handles from `add`, got {shown(nodes)}") from None
        return list({node: self._require(node) for node in map(self._id_of, each)}.values())

    def _require(self, node_id: str) -> Node:
        try:
            return self.nodes[node_id]
        except (KeyError, TypeError):  # an object of another type may not be hashable
            known = ", ".join(itertools.islice(self.nodes, 20)) or "no nodes"
            more = ", ..." if len(self.nodes) > 20 else ""
            raise PatchError(f"node must be one of {known}{more}, got {shown(node_id)}") from None

    def _type_of(self, node_id: str) -> type[Block] | None:
        node = self.nodes.get(node_id)
        return self.type_of(node) if node else None

    def _known_type(self, node_id: str) -> type[Block]:
        node = self._require(node_id)
        return self.type_of(node) or self.catalogue.require(node.type)
