"""`Model`: the network that a person has wired, as tensors, and its faults."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add

from warploom.engine.blocktypes.declarations import declarations
from warploom.engine.diagnostics import PatchError, error
from warploom.engine.inner_patches.network_members import ENDS, LAYERS, LOSSES, MEMBERS, Member, Placed, SettingError
from warploom.engine.inner_patches.parts import Parts
from warploom.engine.inner_patches.train_settings import TrainSettings
from warploom.engine.patch.changes import Node
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.tensor_ir.errors import TensorError
from warploom.engine.tensor_ir.graph import TensorNode, made_for
from warploom.engine.tensor_ir.networks.builder import RESERVED, NetworkBuilder, affine_names

#: The names of a query's inputs.
QUERY = "query_{}"
#: The parameters of the block around a network: the network itself, and how it is trained.
PARAMETERS = frozenset({"graph", *declarations(TrainSettings)})
#: Ends that exist in a query too.
INPUTS = ("net.input", "net.sparse_input")


class Model(Parts):
    """The tensors of a patch of members, in a builder, and the patch's faults.

    `made` has the result of each node without a fault. The root of the builder is the sum of the losses.
    """

    def __init__(self, patch: InnerPatch, seed: int = 0) -> None:
        super().__init__(patch)
        self.builder = NetworkBuilder(seed=seed)
        #: The node that each member computes, by the member's id.
        self.outputs: dict[str, TensorNode] = {}
        self._wrong = set(self._check_names())
        for node in self._in_order("nodes"):
            if node.type in MEMBERS:
                self._make(node.id, MEMBERS[node.type])
            else:
                text = f"node of a network must be a layer or an operation, got {node.type!r}"
                self._report(node.id, text, "remove it")
        self._sum_losses()

    def _of(self, category: str) -> list[Node]:
        """Return the nodes that are members of a category."""
        nodes = self._patch.nodes.values()
        return [node for node in nodes if node.type in MEMBERS and MEMBERS[node.type].category == category]

    def _check_names(self) -> Iterator[str]:
        """Report the nodes whose names can't be port names. Names that begin with "_" are the block's own."""
        layers = [node.id for node in self._of(LAYERS)]
        for name in layers:
            if not name.isidentifier():
                text = f"id of a layer must be an identifier, after which weights are called, got {name!r}"
                self._report(name, text, "add the layer again")
                yield name
        queries = {QUERY.format(name) for _, name in self.ends(*INPUTS)}
        used = {name for layer in layers for name in affine_names(layer)} | queries | RESERVED | PARAMETERS
        ends = [type_id for type_id, member in MEMBERS.items() if member.category == ENDS]
        yield from self._misnamed(ends, lambda name: name in used or name.startswith("_"))

    def _make(self, node: str, member: Member) -> None:
        feeds = self._feeds[node]
        is_fed = self._is_fed(node, member.inputs)
        if not is_fed or node in self._wrong or any(feeds[name].node not in self.outputs for name in member.inputs):
            return
        settings = dict(self._settings(node, member))
        if len(settings) < len(member.settings):
            return
        inputs = {name: self.outputs[feeds[name].node] for name in member.inputs}
        sparse = [name for name in inputs if inputs[name].type.nnz is not None]
        if sparse and member.category != LAYERS:
            self._report(node, f"{sparse[0]} must be dense, got zeros and ones", "put a Dense layer between", sparse[0])
            return
        try:
            with made_for((node,)):
                self.outputs[node] = member.apply(Placed(node, self.builder, inputs, settings))
        except SettingError as problem:
            self._report(node, problem.reason, "give it another value", problem.setting)
        except TensorError as problem:
            remedy = "give it other sizes, or put a Reshape or a layer between"
            self._report(node, problem.reason, remedy, next(reversed(inputs), None))

    def _settings(self, node: str, member: Member) -> Iterator[tuple[str, object]]:
        """Return the valid settings of a node."""
        parameters = self._patch.nodes[node].parameters
        for spec in member.settings:
            try:
                yield spec.name, spec.coerce(parameters.get(spec.name, spec.default))
            except PatchError as problem:
                self._report(node, str(problem), "give it another value", spec.name)

    def _sum_losses(self) -> None:
        losses = self._of(LOSSES)
        made = [self.outputs[node.id] for node in losses if node.id in self.outputs]
        if made:
            with made_for(tuple(node.id for node in losses)):
                self.builder.root = reduce(add, made)
        elif not losses and not self.problems:
            self.problems.append(error("network must have a loss to learn from, got none", remedy="add a loss"))
        if not self.problems and not any(node.type in INPUTS for node in self._patch.nodes.values()):
            self.problems.append(error("network must have an input, got none", remedy="add an Input"))
