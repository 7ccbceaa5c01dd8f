"""`ChainPatch`: the library calls of a chain as a patch that a person wires."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from engine.chains.chain import Chain
from engine.chains.members import ENDS, chain_catalogue
from engine.diagnostics import Diagnostic
from engine.patch.changes import Change
from engine.patch.inner_patch import InnerPatch

#: What new ends are called, which is also what the chain's block calls its ports and parameters.
_STEMS = {"chain.input": "x", "chain.output": "result", "chain.number": "amount"}


class ChainPatch(InnerPatch):
    """The library calls of one chain."""

    kind: ClassVar[str] = "chain"
    holds: ClassVar[str] = "library calls"

    def __init__(self) -> None:
        super().__init__(chain_catalogue())
        self._chain: Chain | None = None

    @property
    def chain(self) -> Chain:
        """The calls in order, as they are now."""
        if self._chain is None:
            self._chain = Chain(self)
        return self._chain

    @property
    def problems(self) -> Collection[Diagnostic]:
        """What is wrong with the chain, each problem with its block and port."""
        return self.chain.problems

    @property
    def live(self) -> Collection[str]:
        """The blocks that outputs follow from, and all ends."""
        return self.feeding(node.id for node in self.nodes.values() if node.type in ENDS)

    def title(self, node_id: str) -> str:
        """Return what the canvas calls a block: an end with its name."""
        node, title = self._require(node_id), super().title(node_id)
        return f"{title} {self.value(node_id, 'name') or node_id}" if node.type in ENDS and not node.title else title

    def _take(self, change: Change) -> None:
        super()._take(change)
        self._chain = None

    def _stem(self, type_id: str) -> str:
        return _STEMS.get(type_id) or super()._stem(type_id)
