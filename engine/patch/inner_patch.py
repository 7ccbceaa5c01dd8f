"""`InnerPatch`: a patch inside a block of another patch, which holds it as JSON in a parameter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Self

from engine.diagnostics import Diagnostic
from engine.patch.changes import Node
from engine.patch.document import Patch
from engine.patch.files import dump_node, fill_patch


class InnerPatch(Patch):
    """A patch that a person edits inside a block. Its nodes have the order of the JSON, which that of ports follows."""

    #: What messages call such a patch, and what it holds.
    kind: ClassVar[str]
    holds: ClassVar[str]
    takes_sentinels = False

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        """Return the patch that JSON holds; PatchError when it has another form.

        What it holds stays, also block types and settings that are not known.
        """
        patch = cls()
        fill_patch(patch, dict(data), cls.kind)
        patch.extra = {key: value for key, value in data.items() if key not in ("nodes", "connections")}
        return patch

    @property
    @abstractmethod
    def problems(self) -> Collection[Diagnostic]:
        """What is wrong, each problem with its node and port."""

    @property
    @abstractmethod
    def live(self) -> Collection[str]:
        """The nodes that something comes of."""

    def feeding(self, ends: Iterable[str]) -> set[str]:
        """Return some nodes and all that they follow from."""
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
        """What is known of what flows through the ports of each node; empty where that is not worked out."""
        return {}

    def json(self) -> dict[str, Any]:
        """Return the patch as JSON, with the places and titles of its nodes."""
        ties = sorted((str(c.target), str(c.source)) for c in self.connections)
        return {
            **self.extra,
            "nodes": [_node(node) for node in self.nodes.values()],
            "connections": [{"source": source, "target": target} for target, source in ties],
        }

    def arrange(self, order: Iterable[str]) -> None:
        """Give the nodes an order, as undo must: a node that comes back would be the last one."""
        for node_id in order:
            self.nodes[node_id] = self.nodes.pop(node_id)


def _node(node: Node) -> dict[str, Any]:
    fields = dump_node(node)
    for name, usual in (("version", 1), ("parameters", {})):
        if fields[name] == usual:
            del fields[name]
    return fields
