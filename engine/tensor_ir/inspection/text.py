"""A tensor graph as text, a line a node."""

from collections.abc import Iterable

from engine.figures import plural
from engine.tensor_ir.graph import TensorNode
from engine.tensor_ir.inspection.info import Remark, no_remark
from engine.tensor_ir.operations.leaves import Constant
from engine.tensor_ir.ordering import topological_order


def graph_text(wanted: Iterable[TensorNode], remark: Remark = no_remark) -> str:
    """Return what the wanted nodes are computed from, each after its inputs; TopologicalSortFailed for a cycle."""
    order = topological_order(wanted)
    leaves = sum(not node.inputs for node in order)
    head = f"graph of {plural(len(order), 'node')}, {leaves} of them {'a leaf' if leaves == 1 else 'leaves'}"
    return "\n".join([head, *(f"  {node_text(node, remark)}" for node in order)]) + "\n"


def node_text(node: TensorNode, remark: Remark = no_remark) -> str:
    """Return a node, its type, its inputs by slot, and where it was made: "Add7: f32[3, 4] of a, b; main.py:12"."""
    parts = [f"{node.label}: {node.type}"]
    if node.inputs:
        parts[0] += f" of {', '.join(other.label for other in node.inputs)}"
    if isinstance(node.operation, Constant):
        parts[0] += f" = {node.operation.value:g}"
    if node.name and node.inputs:
        parts.append(node.operation.label)
    if node.requires_grad:
        parts.append("requires grad")
    parts += filter(None, [remark(node), str(node.origin or "")])
    return "; ".join(parts)
