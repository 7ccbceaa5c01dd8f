"""A tensor graph in the language of Graphviz."""

from collections.abc import Iterable, Iterator

from engine.drawings import dot
from engine.drawings.svg import FILLS
from engine.tensor_ir.graph import TensorNode
from engine.tensor_ir.inspection.info import NodeRole, Remark, no_remark, role_of
from engine.tensor_ir.operations.leaves import Constant
from engine.tensor_ir.ordering import topological_order

FILL_OF = {
    NodeRole.INPUT: FILLS[0],
    NodeRole.WEIGHT: FILLS[2],
    NodeRole.CONSTANT: FILLS[7],
    NodeRole.OPERATION: FILLS[1],
}


def graph_dot(wanted: Iterable[TensorNode], remark: Remark = no_remark) -> str:
    """Return what the wanted nodes are computed from; arrows into a node of several inputs have their slot's number."""
    lines = ["digraph tensors {", '  node [shape=box, style="rounded,filled"];']
    lines += (f"  {line}" for node in topological_order(wanted) for line in _node(node, remark))
    return "\n".join([*lines, "}", ""])


def _node(node: TensorNode, remark: Remark) -> Iterator[str]:
    yield dot.box(f"n{node.number}", *box_lines(node, remark), style=f'fillcolor="{FILL_OF[role_of(node)]}"')
    for slot, other in enumerate(node.inputs):
        label = f" [label={slot}]" if len(node.inputs) > 1 else ""
        yield f"n{other.number} -> n{node.number}{label};"


def box_lines(node: TensorNode, remark: Remark) -> list[str]:
    """Return the text of a node's box: its name, the value of a constant, its type, and the remark."""
    lines = [node.label, str(node.type), remark(node)]
    if isinstance(node.operation, Constant):
        lines[0] = f"{node.operation.value:g}"
    elif node.name and node.inputs:
        lines.insert(1, node.operation.label)
    return [line for line in lines if line]
