"""`NetworkPatch`: a network as a patch that a person wires, with the shapes that flow in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from engine.diagnostics import Diagnostic
from engine.network_patches.members import ENDS, LOSSES, MEMBERS
from engine.network_patches.model import Model
from engine.network_patches.network_blocks import network_catalogue
from engine.patch.changes import Change, PortRef
from engine.patch.inner_patch import InnerPatch
from engine.tensor_ir.types import TensorType

#: What new ends are called, which is also what the block around the network calls its ports.
_STEMS = {"net.input": "x", "net.sparse_input": "x", "net.target": "y", "net.output": "result"}


class NetworkPatch(InnerPatch):
    """The layers, operations and losses of one network."""

    kind: ClassVar[str] = "network"
    holds: ClassVar[str] = "layers of a network"

    def __init__(self) -> None:
        super().__init__(network_catalogue())
        self._model: Model | None = None

    @property
    def model(self) -> Model:
        """The network as it is now."""
        if self._model is None:
            self._model = Model(self)
        return self._model

    @property
    def problems(self) -> Collection[Diagnostic]:
        """What is wrong with the network, each problem with its node and port."""
        return self.model.problems

    @property
    def live(self) -> Collection[str]:
        """The nodes that a loss or an output follows from, and all ends."""
        members = ((node.id, MEMBERS.get(node.type)) for node in self.nodes.values())
        return self.feeding(node for node, member in members if member and member.category in (ENDS, LOSSES))

    @property
    def types(self) -> Mapping[str, object]:
        """The type of the tensor that each node gives."""
        return {node: made.type for node, made in self.model.made.items()}

    def flow(self, port: PortRef) -> TensorType | None:
        """Return what flows through a port, None where it is not known."""
        return self.model.flow(port)

    def title(self, node_id: str) -> str:
        """Return what the canvas calls a node: an end with its name, a layer with its units."""
        node, title = self._require(node_id), super().title(node_id)
        if node.title:
            return title
        if node.type in _STEMS:
            return f"{title} {self.value(node_id, 'name') or node_id}"
        return f"{title} {self.value(node_id, 'units')}" if node.type == "net.dense" else title

    def _take(self, change: Change) -> None:
        super()._take(change)
        self._model = None

    def _stem(self, type_id: str) -> str:
        return _STEMS.get(type_id) or super()._stem(type_id)
