"""Patches inside blocks: `InnerPatch`, which a person opens and edits, and `InnerBlock`, whose nodes hold one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Self

from warploom.engine.blocktypes.adaptive import AdaptiveBlock
from warploom.engine.blocktypes.block import Block, block_types
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.diagnostics import Diagnostic, PatchError
from warploom.engine.patch.changes import Change, Node, PortRef
from warploom.engine.patch.contents import PatchContents
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_node, dump_value, fill_patch
from warploom.engine.patch.organise.annotation_files import LISTS, dump_annotations

#: The parameter of a block that holds its patch, as JSON.
GRAPH = "graph"


class InnerPatch(Patch):
    """A patch that a person edits inside a block. Its nodes have the order of the JSON, which decides that of ports."""

    #: What messages call the inner patch, and what they call its nodes.
    kind: ClassVar[str]
    holds: ClassVar[str]
    #: The node types that only this kind of patch has.
    own_types: ClassVar[Collection[str]]
    #: True when it may also have blocks of the library.
    takes_blocks: ClassVar[bool] = False
    #: The node types that are ports or parameters of the block outside, each with the default name of new ones.
    ends: ClassVar[Mapping[str, str]] = {}
    #: True when `flow` infers the types of ports; otherwise node types declare them.
    infers_types: ClassVar[bool] = False
    #: The cached property that is computed from all nodes and connections, and again after an edit.
    derived: ClassVar[str]
    takes_sentinels = takes_modes = False

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        """Return the patch in JSON data. Raise PatchError if the data are malformed.

        Unknown block types and settings are kept.
        """
        patch = cls()
        fill_patch(patch, dict(data), cls.kind)
        patch.extra = {key: value for key, value in data.items() if key not in ("nodes", "connections", *LISTS)}
        return patch

    @property
    def problems(self) -> Collection[Diagnostic]:
        """The patch's errors, each with its node and port: those of `derived`, if a subclass doesn't define others."""
        problems: Collection[Diagnostic] = getattr(self, self.derived).problems
        return problems

    @property
    def live(self) -> Collection[str]:
        """The nodes that have an effect: all ends and their sources, if a subclass doesn't define others."""
        return self.feeding(node.id for node in self.nodes.values() if node.type in self.ends)

    def feeding(self, ends: Iterable[str]) -> set[str]:
        """Return these nodes and all nodes that they depend on."""
        found = set(ends)
        waiting = list(found)
        while waiting:
            for connection in self.connections_of(waiting.pop()):
                if connection.target.node in found and connection.source.node not in found:
                    found.add(connection.source.node)
                    waiting.append(connection.source.node)
        return found

    @property
    def types(self) -> Mapping[str, object]:
        """The known types of each node's ports; empty if types are not inferred."""
        return {}

    def flow(self, port: PortRef, *, is_input: bool) -> object | None:
        """Return the type of a port; None if it is unknown."""
        return None

    def title(self, node_id: str) -> str:
        """Return a node's title on the canvas; an end's title includes its name."""
        node, title = self._require(node_id), super().title(node_id)
        return title if node.title or node.type not in self.ends else f"{title} {self.end_name(node)}"

    def end_name(self, end: Node) -> str:
        """Return the name of an end as a port or parameter of the block outside."""
        return self.value(end.id, "name") or end.id

    def json(self) -> dict[str, Any]:
        """Return the patch as JSON, including positions and titles of its nodes."""
        ties = sorted((str(c.target), str(c.source)) for c in self.connections)
        return {
            **self.extra,
            "nodes": [_node(node) for node in self.nodes.values()],
            "connections": [{"source": source, "target": target} for target, source in ties],
            **dump_annotations(self.annotations, {target for target, _ in ties}, dump_value),
        }

    def arrange(self, order: Iterable[str]) -> None:
        """Set the order of the nodes. Undo needs this, since a restored node would come last."""
        for node_id in order:
            self.nodes[node_id] = self.nodes.pop(node_id)
        self._forget_derived()

    def _take(self, change: Change) -> None:
        super()._take(change)
        self._forget_derived()

    def _forget_derived(self) -> None:
        vars(self).pop(self.derived, None)

    def _stem(self, type_id: str) -> str:
        return self.ends.get(type_id) or super()._stem(type_id)


def _node(node: Node) -> dict[str, Any]:
    fields = dump_node(node)
    for name, usual in (("version", 1), ("parameters", {})):
        if fields[name] == usual:
            del fields[name]
    return fields


class InnerBlock(AdaptiveBlock, abstract=True):
    """A block type whose nodes run the patch in their parameter `graph`.

    A type defines its kind of patch and `interface`; the content of the interface describes the block.
    """

    @classmethod
    def inner_patch(cls) -> type[InnerPatch]:
        """Return the kind of patch that its nodes hold."""
        raise NotImplementedError

    def describe(self, build: BlockBuilder) -> None:
        """Describe the work of the patch; without a patch, do nothing."""
        if self.content is not None:
            self.content.describe(build)


def inner_kind(patch: PatchContents, node: str) -> type[InnerPatch] | None:
    """Return the kind of patch that a person can open in a block; None if the block holds none."""
    return _kind_of(patch.block_type(node)) if node in patch.nodes else None


def open_inner(outer: PatchContents, node: str) -> InnerPatch:
    """Return the patch in a block. Raise PatchError if the block holds none, or its JSON is malformed."""
    kind = inner_kind(outer, node)
    if kind is None:
        raise PatchError(f"block must hold a patch to open, got {node}")
    return kind.parse(outer.value(node, GRAPH))


def owner_of(types: Collection[str]) -> type[InnerPatch] | None:
    """Return the only kind of inner patch that may have one of these node types; None for ordinary blocks."""
    default_catalogue()  # this loads the library
    kinds = filter(None, map(_kind_of, block_types.all().values()))
    return next((kind for kind in kinds if any(type_id in kind.own_types for type_id in types)), None)


def _kind_of(block_type: type[Block] | None) -> type[InnerPatch] | None:
    if block_type is None or not issubclass(block_type, InnerBlock):
        return None
    spec = block_type.parameters.get(GRAPH)
    return block_type.inner_patch() if spec is not None and spec.type == "object" else None
