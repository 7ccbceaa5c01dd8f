"""`NodeRef`: a handle on a node of a patch, as `Patch.add` returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.patch import rules
from engine.patch.changes import PortRef
from engine.patch.regions import OTHERWISE, check_region, scope_text

if TYPE_CHECKING:
    from engine.patch.document import Patch


class NodeRef:
    """A handle on a node: `ref["port"]` is a port, `ref.id` the node's id, `ref.body` the scope inside a region block.

    A parameter that a value is to drive is named like a port. Where a scope is asked for, the handle of a region block
    stands for its body.
    """

    __slots__ = ("id", "patch")

    def __init__(self, patch: Patch, node_id: str) -> None:
        self.patch = patch
        self.id = node_id

    def __getitem__(self, port: str) -> PortRef:
        block_type = self.patch.block_type(self.id)
        if block_type is not None:
            rules.require_end(self.id, block_type, port)
        return PortRef(self.id, port)

    @property
    def body(self) -> str:
        """The scope inside a region block; RegionRefused when the block holds no others."""
        return self._scope("")

    @property
    def otherwise(self) -> str:
        """The scope of what runs when the condition does not hold; RegionRefused when there is none."""
        return self._scope(OTHERWISE)

    def _scope(self, branch: str) -> str:
        check_region("a block", self.id, self.patch.block_type(self.id), branch)
        return scope_text(self.id, branch)

    def __repr__(self) -> str:
        node = self.patch.nodes.get(self.id)
        return f"<node {self.id}: {node.type if node else 'removed'}>"
