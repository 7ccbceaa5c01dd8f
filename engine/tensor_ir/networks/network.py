"""`Network`: the result of a builder, simplified, differentiated, and written as functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, made_for, reachable_nodes
from warploom.engine.tensor_ir.networks.builder import STEP, NetworkBuilder
from warploom.engine.tensor_ir.networks.functions import (
    Accumulate,
    Initial,
    NetworkFunction,
    NetworkInstruction,
    NetworkVariable,
    Role,
    Set,
    Write,
)
from warploom.engine.tensor_ir.networks.instructions import new_name, products_with_bias
from warploom.engine.tensor_ir.networks.optimisers import Optimiser
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.operations.reductions import broadcast_to
from warploom.engine.tensor_ir.passes.pipeline import PASSES, optimise
from warploom.engine.tensor_ir.passes.rewriting import copied_nodes, substitute
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import f64

#: Names of variables: the loss, or the output of a network that isn't trained.
LOSS, OUTPUT = "loss", "output"


@dataclass(frozen=True)
class Network:
    """A network as functions of variables; nothing of it is on a device.

    `built` and `optimised` are its root before and after the passes. The functions are forward, backward and
    zero_gradients. With an optimiser there are also update, and step, which runs all of them in one. If the root is
    an output, there is only forward, and the variable `output` has the root's value instead of `loss`.
    """

    built: TensorNode
    optimised: TensorNode
    variables: Mapping[str, NetworkVariable]
    functions: Mapping[str, NetworkFunction]
    #: Whether the loss is the mean over the batch, and not the sum.
    average: bool = False

    def leaf(self, name: str) -> TensorNode:
        """Return the leaf that stands for a variable's contents in functions.

        Raise InvalidOperation when there is none.
        """
        if name not in self.variables:
            raise InvalidOperation(f"variable must be one of {', '.join(self.variables)}, got {name!r}")
        return self.variables[name].leaf

    def of_role(self, role: Role) -> Mapping[str, NetworkVariable]:
        """Return the variables of a role, by name."""
        return {name: item for name, item in self.variables.items() if item.role is role}


def build_network(
    builder: NetworkBuilder, optimiser: Optimiser | None = None, *, average: bool = False, inference: bool = False
) -> Network:
    """Verify a network, simplify it and write its functions. Raise TensorError when it is wrong.

    The loss is the sum over the batch, or with `average` the mean. The optimiser trains all weights that aren't frozen.
    With `inference`, or without an optimiser if it isn't one number, the root is the network's output.
    """
    if optimiser is not None and not isinstance(optimiser, Optimiser):
        raise InvalidOperation(f"optimiser must be one such as SGD(0.1), got {shown(optimiser)}")
    if inference and optimiser is not None:
        raise InvalidOperation("inference must be without an optimiser: its root is an output and no loss")
    chosen = builder.checked_root(is_trained=optimiser is not None)
    made = TensorGraph()
    copies = copied_nodes([chosen, *builder.kept.values()], made)
    built = root = copies[chosen]
    is_loss = root.type.size == 1 and not inference
    if not is_loss and builder.kept.get(OUTPUT, chosen) is not chosen:
        raise InvalidOperation(f"node kept as {OUTPUT!r} must be the root, {chosen!r}; give it another name")
    if root.type.batched and is_loss:
        with made_for(root.parts):
            built = root = root.mean_batch() if average else root.sum_batch()
    root, *kept = optimise([root, *(copies[node] for node in builder.kept.values())], PASSES)
    seen = {LOSS if is_loss else OUTPUT: root, **dict(zip(builder.kept, kept, strict=True))}
    found: Mapping[TensorNode, TensorNode] | None = None
    if is_loss:
        wanted = [node for node in reachable_nodes(seen.values()) if node.requires_grad]
        found = gradients(root, wanted) if root.requires_grad else {}
    writer = _FunctionWriter(builder, seen, found)
    if optimiser is not None:
        writer.train(optimiser)
    return Network(built, root, writer.variables, writer.functions, average)


class _FunctionWriter:
    """Writes a network's functions in a separate graph, whose nodes need no gradients."""

    def __init__(
        self,
        builder: NetworkBuilder,
        seen: Mapping[str, TensorNode],
        found: Mapping[TensorNode, TensorNode] | None,
    ) -> None:
        """`seen` are the nodes that can always be read, by name; `found` has gradients, None to define no backward."""
        self.variables: dict[str, NetworkVariable] = {}
        self.functions: dict[str, NetworkFunction] = {}
        self._graph = TensorGraph()
        self._seen = [*seen]
        forward = reachable_nodes(seen.values())
        given = {} if found is None else found
        copies = copied_nodes([*forward, *given.values()], self._graph, differentiable=False)
        self._leaves(builder, {node.name: copies[node] for node in forward if isinstance(node.operation, Leaf)})
        shown = {name: copies[node] for name, node in seen.items()}
        order = [copies[node] for node in forward if node.inputs]
        left_out = {*shown.values(), *products_with_bias(order, shown.values())}
        constants = {name: node.operation.value for name, node in shown.items() if isinstance(node.operation, Constant)}
        values = {
            self.add_variable(name, node.type, Role.VALUES, constants.get(name, 0.0)): node
            for name, node in shown.items()
        }
        for node in order:
            if node not in left_out:
                name = new_name(node.operation.label, self.variables)
                values[self.add_variable(name, node.type, Role.VALUES)] = node
        computed = {leaf: node for leaf, node in values.items() if not isinstance(node.operation, Constant)}
        self.functions["forward"] = NetworkFunction("forward", computed)
        stored = {node: leaf for leaf, node in values.items() if not isinstance(node.operation, Leaf | Constant)}
        if found is not None:
            self._differentiate({copies[node]: copies[part] for node, part in found.items()}, stored)

    def _leaves(self, builder: NetworkBuilder, used: Mapping[str, TensorNode]) -> None:
        """Create variables for the builder's leaves, including unused ones."""
        roles = {
            Role.INPUT: builder.inputs,
            Role.WEIGHTS: builder.trained,
            Role.CONSTANT: builder.constants,
            Role.NUMBER: builder.numbers,
        }
        for role, nodes in roles.items():
            for name, node in nodes.items():
                leaf = (
                    used[name]
                    if name in used
                    else self._graph.add(Leaf(node.type), name=name, requires_grad=False, parts=node.parts)
                )
                first = builder.initial.get(name, builder.first_numbers.get(name))
                self.variables[name] = NetworkVariable(name, leaf, role, first, node.requires_grad)
        if STEP in self.variables:
            self.variables[STEP] = replace(self.variables[STEP], role=Role.STATE, initial=0.0)

    def _differentiate(self, found: Mapping[TensorNode, TensorNode], stored: Mapping[TensorNode, TensorNode]) -> None:
        """Define backward and zero_gradients. Gradients for each example belong to one batch only."""
        names = {item.leaf: name for name, item in self.variables.items()}
        parts = dict(zip(found, substitute(list(found.values()), stored), strict=True))
        backward: list[NetworkInstruction] = []
        zeros: list[NetworkInstruction] = []
        for node, part in parts.items():
            leaf = stored.get(node, node)
            if leaf not in names:
                continue  # a product that is folded into the sum after it
            with made_for(node.parts):
                target = self.add_variable(f"{names[leaf]}.gradient", node.type, Role.GRADIENTS)
                part = broadcast_to(part, node.type)
            if node.type.batched:
                backward.append(Write(target, part))
            else:
                backward.append(Accumulate(target, part))
                zeros.append(Set(target, 0.0))
        self.functions["backward"] = NetworkFunction.of("backward", backward).optimised()
        self.functions["zero_gradients"] = NetworkFunction.of("zero_gradients", zeros)

    def train(self, optimiser: Optimiser) -> None:
        """Define update and step."""
        if STEP not in self.variables:
            self.add_variable(STEP, TensorType((), f64), Role.STATE)
        store = _Store(self)
        trained = [item for item in self.variables.values() if item.role is Role.WEIGHTS and item.trained]
        pairs = [
            (item.leaf, self.variables[f"{item.name}.gradient"].leaf)
            for item in trained
            if f"{item.name}.gradient" in self.variables
        ]
        updated = optimiser.step([leaf for leaf, _ in pairs], [gradient for _, gradient in pairs], store)
        writes = {leaf: node for (leaf, _), node in zip(pairs, updated, strict=True)}
        update = NetworkFunction("update", {**writes, **store.writes, store.step: store.step + 1.0})
        whole = self.functions["zero_gradients"]
        for part in (self.functions["forward"], self.functions["backward"], update):
            whole = whole.then(part, "step")
        wanted = [*update.writes, *(self.variables[name].leaf for name in self._seen)]
        self.functions["update"] = update.optimised()
        self.functions["step"] = whole.only(wanted).optimised()

    def add_variable(self, name: str, type_: TensorType, role: Role, initial: Initial = 0.0) -> TensorNode:
        """Return the leaf of a new variable. Raise InvalidOperation when the name is taken."""
        if name in self.variables:
            raise InvalidOperation(f"name of a variable must be new, got {name!r} again")
        leaf = self._graph.add(Leaf(type_), name=name, requires_grad=False)
        self.variables[name] = NetworkVariable(name, leaf, role, initial)
        return leaf


class _Store:
    """The state that an optimiser keeps, as variables."""

    def __init__(self, writer: _FunctionWriter) -> None:
        self._writer = writer
        self.step = writer.variables[STEP].leaf
        self.writes: dict[TensorNode, TensorNode] = {}

    def number(self, name: str, value: float) -> TensorNode:
        """Return a number that can be set."""
        return self._variable(name, TensorType((), f64), Role.NUMBER, value)

    def state(self, name: str, type_: TensorType) -> TensorNode:
        """Return a state tensor."""
        return self._variable(name, type_, Role.STATE, 0.0)

    def write(self, target: TensorNode, value: TensorNode) -> None:
        """Set a state's contents at the next step."""
        self.writes[target] = value

    def _variable(self, name: str, type_: TensorType, role: Role, initial: float) -> TensorNode:
        """Return the leaf of a variable, which is created once."""
        there = self._writer.variables.get(name)
        if there is not None and there.role is role and there.leaf.type == type_:
            return there.leaf
        return self._writer.add_variable(name, type_, role, initial)
