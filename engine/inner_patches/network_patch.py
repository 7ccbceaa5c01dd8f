"""`NetworkPatch`: a network that a person wires, with the shape at each port, over a catalogue of members."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, cached_property
from typing import ClassVar

from engine.catalogue.fixed_catalogue import FixedCatalogue, RowBlock, row_block
from engine.descriptions.ports import PortSpec
from engine.diagnostics import Diagnostic
from engine.inner_patches.network_members import CATEGORIES, ENDS, LOSSES, MEMBERS, Member
from engine.inner_patches.network_model import Model
from engine.patch.changes import PortRef
from engine.patch.inner_patch import InnerPatch
from engine.tensor_ir.types import TensorType
from engine.types import any_type

#: The output of every member that has one.
OUT = "out"


def _network_block(member: Member) -> type[RowBlock]:
    """Return a member as a block type."""
    ports = [PortSpec(name, "in", any_type, doc, "same") for name, doc in member.inputs.items()]
    if member.output:
        ports.append(PortSpec(OUT, "out", any_type, member.output, ""))
    text = member.id, member.title, member.category, member.doc
    return row_block(*text, ports, member.settings, tags=member.tags)


@cache
def network_catalogue() -> FixedCatalogue:
    """Return the catalogue of members, by category."""
    shown = sorted(MEMBERS.values(), key=lambda member: CATEGORIES.index(member.category))
    blocks = {type_id: _network_block(member) for type_id, member in MEMBERS.items()}
    return FixedCatalogue("a member", blocks, [member.id for member in shown])


class NetworkPatch(InnerPatch):
    """The layers, operations and losses of one network."""

    kind: ClassVar[str] = "network"
    holds: ClassVar[str] = "layers of a network"
    own_types: ClassVar[Collection[str]] = MEMBERS.keys()
    ends: ClassVar[Mapping[str, str]] = {
        "net.input": "x",
        "net.sparse_input": "x",
        "net.target": "y",
        "net.output": "result",
    }
    infers_types: ClassVar[bool] = True
    derived: ClassVar[str] = "model"

    def __init__(self) -> None:
        super().__init__(network_catalogue())

    @cached_property
    def model(self) -> Model:
        """The current network."""
        return Model(self)

    @property
    def problems(self) -> Collection[Diagnostic]:
        """The network's faults, each with its node and port."""
        return self.model.problems

    @property
    def live(self) -> Collection[str]:
        """The nodes on which a loss or an output depends, and all ends."""
        members = ((node.id, MEMBERS.get(node.type)) for node in self.nodes.values())
        return self.feeding(node for node, member in members if member and member.category in (ENDS, LOSSES))

    @property
    def types(self) -> Mapping[str, object]:
        """The type of each node's tensor."""
        return {node: output.type for node, output in self.model.outputs.items()}

    def flow(self, port: PortRef, *, is_input: bool) -> TensorType | None:
        """Return the type of a port's values; None where it is not known."""
        return self.model.flow(port, is_input=is_input)

    def title(self, node_id: str) -> str:
        """Return a node's title on the canvas: a layer with its units."""
        node, title = self._require(node_id), super().title(node_id)
        return f"{title} {self.value(node_id, 'units')}" if node.type == "net.dense" and not node.title else title
