"""`Network`: the result of a builder, simplified, differentiated, and written as functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, made_for, reachable_nodes
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
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

#: Names of variables: the loss, and the number of steps done.
LOSS, STEP = "loss", "step"


@dataclass(frozen=True)
class Network:
    """A network as functions of variables; nothing of it is on a device.

    `built` and `optimised` are its loss before and after the passes. The functions are forward, backward and
    zero_gradients. With an optimiser there are also update, and step, which runs all of them in one.
    """

    built: TensorNode
    optimised: TensorNode
    variables: Mapping[str, NetworkVariable]
    functions: Mapping[str, NetworkFunction]

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


def build_network(builder: NetworkBuilder, optimiser: Optimiser | None = None, *, average: bool = False) -> Network:
    """Verify a network, simplify it and write its functions. Raise TensorError when it is wrong.

    The loss is the sum over the batch, or with `average` the mean. The optimiser trains all weights that aren't frozen.
    """
    if optimiser is not None and not isinstance(optimiser, Optimiser):
        raise InvalidOperation(f"optimiser must be one such as SGD(0.1), got {shown(optimiser)}")
    root = builder.checked_root()
    made = TensorGraph()
    copies = copied_nodes([root, *builder.kept.values()], made)
    built = loss = copies[root]
    if loss.type.batched:
        with made_for(loss.parts):
            built = loss = loss.mean_batch() if average else loss.sum_batch()
    loss, *kept = optimise([loss, *(copies[node] for node in builder.kept.values())], PASSES)
    wanted = [node for node in reachable_nodes([loss, *kept]) if node.requires_grad]
    found = gradients(loss, wanted) if loss.requires_grad else {}
    writer = _FunctionWriter(builder, loss, dict(zip(builder.kept, kept, strict=True)), found)
    if optimiser is not None:
        writer.train(optimiser)
    return Network(built, loss, writer.variables, writer.functions)


class _FunctionWriter:
    """Writes a network's functions in a separate graph, whose nodes need no gradients."""

    def __init__(
        self,
        builder: NetworkBuilder,
        loss: TensorNode,
        kept: Mapping[str, TensorNode],
        found: Mapping[TensorNode, TensorNode],
    ) -> None:
        self.variables: dict[str, NetworkVariable] = {}
        self.functions: dict[str, NetworkFunction] = {}
        self._graph = TensorGraph()
        self._seen = [LOSS, *kept]
        forward = reachable_nodes([loss, *kept.values()])
        copies = copied_nodes([*forward, *found.values()], self._graph, differentiable=False)
        self._leaves(builder, {node.name: copies[node] for node in forward if isinstance(node.operation, Leaf)})
        shown = {name: copies[node] for name, node in [(LOSS, loss), *kept.items()]}
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
        self._differentiate({copies[node]: copies[part] for node, part in found.items()}, stored)

    def _leaves(self, builder: NetworkBuilder, used: Mapping[str, TensorNode]) -> None:
        """Create variables for inputs and weights, including unused ones."""
        for name, node in {**builder.inputs, **builder.trained}.items():
            role = Role.INPUT if name in builder.inputs else Role.WEIGHTS
            leaf = (
                used[name]
                if name in used
                else self._graph.add(Leaf(node.type), name=name, requires_grad=False, parts=node.parts)
            )
            self.variables[name] = NetworkVariable(name, leaf, role, builder.initial.get(name), node.requires_grad)

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
        self.add_variable(STEP, TensorType((), f64), Role.STATE)
        memory = _Memory(self)
        trained = [item for item in self.variables.values() if item.role is Role.WEIGHTS and item.trained]
        pairs = [
            (item.leaf, self.variables[f"{item.name}.gradient"].leaf)
            for item in trained
            if f"{item.name}.gradient" in self.variables
        ]
        updated = optimiser.step([leaf for leaf, _ in pairs], [gradient for _, gradient in pairs], memory)
        writes = {leaf: node for (leaf, _), node in zip(pairs, updated, strict=True)}
        update = NetworkFunction("update", {**writes, **memory.writes, memory.step: memory.step + 1.0})
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


class _Memory:
    """The state that an optimiser keeps, as variables."""

    def __init__(self, writer: _FunctionWriter) -> None:
        self._writer = writer
        self.step = writer.variables[STEP].leaf
        self.writes: dict[TensorNode, TensorNode] = {}

    def number(self, name: str, value: float) -> TensorNode:
        """Return a number that can be set."""
        return self._writer.add_variable(name, TensorType((), f64), Role.NUMBER, value)

    def state(self, name: str, weights: TensorNode) -> TensorNode:
        """Return a state tensor that belongs to weights."""
        return self._writer.add_variable(f"{weights.label}.{name}", weights.type, Role.STATE)

    def write(self, target: TensorNode, value: TensorNode) -> None:
        """Set a state's contents at the next step."""
        self.writes[target] = value
