"""`Model`: the network that a person has wired, as tensors, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from keyword import iskeyword
from operator import add
from unicodedata import normalize

from engine.blocktypes.block import is_reserved
from engine.blocktypes.declarations import declarations
from engine.diagnostics import Diagnostic, Mend, PatchError, error
from engine.network_patches.members import ENDS, LAYERS, LOSSES, MEMBERS, Member, Placed, SettingError
from engine.network_patches.settings import TrainSettings
from engine.patch.changes import Node as PatchNode
from engine.patch.changes import PortRef
from engine.patch.contents import PatchContents
from engine.tensor_ir.errors import TensorError
from engine.tensor_ir.graph import Node, made_for
from engine.tensor_ir.networks.builder import RESERVED, GraphBuilder, affine_names
from engine.tensor_ir.types import TensorType

#: What the inputs of a query are called.
QUERY = "query_{}"
#: The parameters of the block around a network: the network itself, and how it is trained.
PARAMETERS = frozenset({"graph", *declarations(TrainSettings)})
#: Ends that a query has too.
INPUTS = ("net.input", "net.sparse_input")


class Model:
    """The tensors of a patch of members, in a builder, or what is wrong with them.

    `made` has what each node gives, for nodes that nothing is wrong with. The root of the builder is the sum of the
    losses.
    """

    def __init__(self, patch: PatchContents, seed: int = 0) -> None:
        self._patch = patch
        self.problems: list[Diagnostic] = []
        self.builder = GraphBuilder(seed=seed)
        self.made: dict[str, Node] = {}
        self._feeds: dict[str, dict[str, str]] = {node: {} for node in patch.nodes}
        for connection in patch.connections:
            self._feeds[connection.target.node][connection.target.port] = connection.source.node
        self._misnamed = set(self._check_names())
        for node, member in self._in_order():
            self._make(node, member)
        self._sum_losses()

    def ends(self, type_id: str) -> Iterator[tuple[str, str]]:
        """Give the ends of a type: node and name."""
        for node in self._patch.nodes.values():
            if node.type == type_id:
                yield node.id, self.name_of(node)

    def name_of(self, node: PatchNode) -> str:
        """Return what an end is called outside."""
        return self._patch.value(node.id, "name") or node.id

    def flow(self, port: PortRef) -> TensorType | None:
        """Return what flows through a port, None where it is not known."""
        member = MEMBERS.get(self._patch.nodes[port.node].type)
        is_input = member is not None and port.port in member.inputs
        source = self._feeds[port.node].get(port.port, "") if is_input else port.node
        return self.made[source].type if source in self.made else None

    def _of(self, category: str) -> list[PatchNode]:
        """Return the nodes that are members of a category."""
        nodes = self._patch.nodes.values()
        return [node for node in nodes if node.type in MEMBERS and MEMBERS[node.type].category == category]

    def _check_names(self) -> Iterator[str]:
        """Give the nodes whose names can't be those of ports. What begins with "_" is the block's own."""
        layers = [node.id for node in self._of(LAYERS)]
        for name in layers:
            if not name.isidentifier():
                text = f"id of a layer must be an identifier, after which weights are called, got {name!r}"
                self._tell(name, text, "add the layer again")
                yield name
        queries = {QUERY.format(name) for type_id in INPUTS for _, name in self.ends(type_id)}
        used = {name for layer in layers for name in affine_names(layer)} | queries | RESERVED | PARAMETERS
        seen: set[str] = set()
        for end in self._of(ENDS):
            name, problem = self.name_of(end), ""
            if not _is_port_name(name):
                problem = f"name must be one that a port can have, got {name!r}"
            elif name in used:
                problem = f"name must not be one that the block uses itself, got {name!r}"
            elif name in seen:
                problem = f"name must be given once, got {name!r} twice"
            seen.add(name)
            if problem:
                self._tell(end.id, problem, "rename it", "name")
                yield end.id

    def _in_order(self) -> Iterator[tuple[str, Member]]:
        """Give the nodes with their members, each after what it is connected to."""
        before = {node: set(feeds.values()) for node, feeds in self._feeds.items()}
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as problem:
            self._tell(problem.args[1][0], "nodes must not wait for each other in a circle", "remove a connection")
            return
        for node in order:
            type_id = self._patch.nodes[node].type
            if type_id in MEMBERS:
                yield node, MEMBERS[type_id]
            else:
                self._tell(node, f"node of a network must be a layer or an operation, got {type_id!r}", "remove it")

    def _make(self, node: str, member: Member) -> None:
        feeds = self._feeds[node]
        missing = [name for name in member.inputs if name not in feeds]
        for name in missing:
            self._tell(node, "input must be connected", "connect it", name, incomplete=True)
        if missing or node in self._misnamed or any(feeds[name] not in self.made for name in member.inputs):
            return
        settings = dict(self._settings(node, member))
        if len(settings) < len(member.settings):
            return
        inputs = {name: self.made[feeds[name]] for name in member.inputs}
        sparse = [name for name in inputs if inputs[name].type.nnz is not None]
        if sparse and member.category != LAYERS:
            self._tell(node, f"{sparse[0]} must be dense, got zeros and ones", "put a Dense layer between", sparse[0])
            return
        try:
            with made_for((node,)):
                self.made[node] = member.apply(Placed(node, self.builder, inputs, settings))
        except SettingError as problem:
            self._tell(node, problem.reason, "give it another value", problem.setting)
        except TensorError as problem:
            remedy = "give it other sizes, or put a Reshape or a layer between"
            self._tell(node, problem.reason, remedy, next(reversed(inputs), None))

    def _settings(self, node: str, member: Member) -> Iterator[tuple[str, object]]:
        """Give the settings of a node that are right."""
        said = self._patch.nodes[node].parameters
        for spec in member.settings:
            try:
                yield spec.name, spec.coerce(said.get(spec.name, spec.default))
            except PatchError as problem:
                self._tell(node, str(problem), "give it another value", spec.name)

    def _sum_losses(self) -> None:
        losses = self._of(LOSSES)
        made = [self.made[node.id] for node in losses if node.id in self.made]
        if made:
            with made_for(tuple(node.id for node in losses)):
                self.builder.root = reduce(add, made)
        elif not losses and not self.problems:
            self.problems.append(error("network must have a loss to learn from, got none", remedy="add a loss"))
        if not self.problems and not any(node.type in INPUTS for node in self._patch.nodes.values()):
            self.problems.append(error("network must have an input, got none", remedy="add an Input"))

    def _tell(self, node: str, text: str, remedy: str, port: str | None = None, *, incomplete: bool = False) -> None:
        self.problems.append(
            error(text, node=node, port=port, remedy=remedy, mend=Mend.CONNECT if incomplete else None)
        )


def _is_port_name(name: str) -> bool:
    """True for a name that a port can have and a rule for shapes can read, as it reads an expression of Python."""
    is_read = name.isidentifier() and not iskeyword(name) and name == normalize("NFKC", name)
    return is_read and not name.startswith("_") and not is_reserved(name)
