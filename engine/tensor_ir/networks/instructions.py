"""The instruction list of a function as text, one instruction per line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import count

from warploom.engine.tensor_ir.graph import TensorNode, TensorOperation, reachable_nodes
from warploom.engine.tensor_ir.networks.functions import NetworkFunction
from warploom.engine.tensor_ir.operations.elementwise import Elementwise
from warploom.engine.tensor_ir.operations.leaves import Constant, Leaf
from warploom.engine.tensor_ir.operations.matrices import MatMul

#: Sums that may combine an operand for the whole batch with operands for each example.
_SUMS = ("add", "sub")


def function_code(function: NetworkFunction) -> str:
    """Return the instructions of a function in the order in which they run.

    MaybeUpdateBatchSize precedes instructions with a result for each example: it enlarges their buffers if the batch is
    larger than all before.
    """
    return "\n".join(instructions(function)) + "\n"


def instructions(function: NetworkFunction) -> Iterator[str]:
    """Return each instruction, as "Matmul { a: l1w, b: relu1, out: add1 }"."""
    names = node_names(function)
    nodes = _computed(function)
    sums = products_with_bias(nodes, function.writes.values())
    for node in nodes:
        if node.type.batched and node not in sums.values():
            yield f"MaybeUpdateBatchSize {{ node: {names[node]} }}"
        yield _instruction(node, names)
    for leaf, node in function.writes.items():
        if isinstance(node.operation, Constant):
            yield f"Set {{ node: {leaf.label}, value: {node.operation.value:g} }}"
        elif names[node] != leaf.label:
            yield f"Copy {{ from: {names[node]}, to: {leaf.label} }}"


def node_names(function: NetworkFunction) -> Mapping[TensorNode, str]:
    """Return the names of a function's nodes: the variable that a node is written to, or a new name."""
    needed = reachable_nodes(function.writes.values())
    names = {node: node.label for node in needed if isinstance(node.operation, Leaf)}
    for leaf, node in function.writes.items():
        names.setdefault(node, leaf.label)
    sums = products_with_bias(_computed(function), function.writes.values())
    taken = {*names.values()}
    for node in needed:
        if node not in names and node not in sums:
            names[node] = new_name(node.operation.label, taken)
            taken.add(names[node])
    return {**names, **{product: names[total] for product, total in sums.items()}}  # the bias is added in place


def _computed(function: NetworkFunction) -> list[TensorNode]:
    return [
        node for node in reachable_nodes(function.writes.values()) if not isinstance(node.operation, Leaf | Constant)
    ]


def products_with_bias(nodes: Iterable[TensorNode], wanted: Iterable[TensorNode]) -> Mapping[TensorNode, TensorNode]:
    """Return sums of a matrix product and a bias, by product, if the product is used nowhere else."""
    nodes = list(nodes)
    uses = Counter(wanted)
    for node in nodes:
        uses.update(node.inputs)
    return {node.inputs[0]: node for node in nodes if _adds_bias(node) and uses[node.inputs[0]] == 1}


def _adds_bias(node: TensorNode) -> bool:
    if node.operation != Elementwise("add"):
        return False
    product, bias = node.inputs
    return isinstance(product.operation, MatMul) and product.type == node.type and not bias.type.batched


def new_name(label: str, taken: Collection[str]) -> str:
    """Return a label in lower case, with the first number that makes it unique."""
    return next(name for number in count(1) if (name := f"{label.lower()}{number}") not in taken)


def _instruction(node: TensorNode, names: Mapping[TensorNode, str]) -> str:
    operation = node.operation
    operands = [_operand(other, names) for other in node.inputs]
    slots = ("input",) if len(operands) == 1 else "abcdefgh"
    shown = dict(zip(slots, operands, strict=False)) if len(operands) <= len(slots) else {"inputs": ", ".join(operands)}
    name, settings = operation.label, _settings(operation)
    if isinstance(operation, Elementwise):
        settings = {"numbers": list(operation.numbers)} if operation.numbers else {}
        if len(operands) == 1:
            name, settings = "Unary", {"op": name, **settings}
        elif operation.name in _SUMS:
            name = "LinearCombinationSplat" if _is_splat(node) else "LinearCombination"
            settings = {"op": operation.label, **settings}
    parts = {**settings, **shown, "out": names[node]}
    return f"{name} {{ {', '.join(f'{key}: {text}' for key, text in parts.items())} }}"


def _is_splat(node: TensorNode) -> bool:
    """Whether one operand has a value for each example while another is shared by all."""
    return node.type.batched and not all(other.type.batched for other in node.inputs)


def _operand(node: TensorNode, names: Mapping[TensorNode, str]) -> str:
    if isinstance(node.operation, Constant):
        return f"{node.operation.value:g}"
    return names.get(node, node.label)


def _settings(operation: TensorOperation) -> dict[str, object]:
    """Return the fields of an operation that differ from their defaults."""
    if not is_dataclass(operation) or isinstance(operation, type):
        return {}
    values = {item.name: getattr(operation, item.name) for item in fields(operation)}
    return {item.name: values[item.name] for item in fields(operation) if values[item.name] != item.default}
