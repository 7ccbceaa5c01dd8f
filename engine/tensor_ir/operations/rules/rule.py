"""`Rule`: a row of the table of element-wise operations, and `GraphValue`, with which rows write op graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from warploom.engine.ops import OPS, OpGraphBuilder
from warploom.engine.ops.graph import OpPort
from warploom.engine.types import Array

if TYPE_CHECKING:
    from warploom.engine.tensor_ir.graph import TensorNode

#: Returns the gradient of an operand. Arguments: the result's gradient, the node's operands, the operation's numbers.
Gradient = Callable[..., "TensorNode"]

#: The element types of a row. Floats or numbers of one type give that type; a comparison of numbers gives a boolean;
#: booleans give a boolean; in a choice, a boolean selects one of two operands of the same type.
RuleKind = Literal["float", "number", "comparison", "boolean", "choice"]


@dataclass(frozen=True)
class Rule:
    """A row of the table.

    `emit` writes the operation into an op graph and `evaluate` computes it with numpy; both take the operands and then
    the operation's numbers. `gradients` has a function for each operand, or None if it gets no gradient.
    """

    kind: RuleKind
    arity: int
    emit: Callable[..., GraphValue]
    evaluate: Callable[..., Array]
    gradients: Sequence[Gradient | None]
    #: The number of arguments besides the operands.
    numbers: int = 0
    #: For one operand: its gradient, computed from the result's gradient, the result and the numbers, if that suffices.
    from_output: Gradient | None = None


def from_output(emit: Callable[..., GraphValue], evaluate: Callable[..., Array], gradient: Gradient) -> Rule:
    """Return the row of a function of one float whose gradient can be computed from its result."""
    return Rule("float", 1, emit, evaluate, (lambda g, n, *numbers: gradient(g, n, *numbers),), from_output=gradient)


def from_input(
    emit: Callable[..., GraphValue], evaluate: Callable[..., Array], gradient: Gradient, *, numbers: int = 0
) -> Rule:
    """Return the row of a function of one float; `gradient` takes the operand."""
    return Rule("float", 1, emit, evaluate, (lambda g, n, *given: gradient(g, n.inputs[0], *given),), numbers=numbers)


class GraphValue:
    """A value in an op graph that is being written; operators and `call` add ops that use it."""

    __slots__ = ("graph", "port")

    def __init__(self, graph: OpGraphBuilder, port: OpPort) -> None:
        self.graph, self.port = graph, port

    def call(self, name: str, *others: GraphValue | float, **settings: Any) -> GraphValue:
        """Add the op "op.NAME" with this value as its first input."""
        return _place(self.graph, name, (self, *others), settings)

    def __add__(self, other: GraphValue | float) -> GraphValue:
        return self.call("add", other)

    def __sub__(self, other: GraphValue | float) -> GraphValue:
        return self.call("subtract", other)

    def __mul__(self, other: GraphValue | float) -> GraphValue:
        return self.call("multiply", other)

    def __truediv__(self, other: GraphValue | float) -> GraphValue:
        return self.call("divide", other)

    def __neg__(self) -> GraphValue:
        return self.call("negate")

    def __abs__(self) -> GraphValue:
        return self.call("absolute")

    def __rtruediv__(self, other: float) -> GraphValue:
        return _place(self.graph, "divide", (other, self), {})

    def __lt__(self, other: GraphValue | float) -> GraphValue:
        return self.call("less", other)

    def __gt__(self, other: GraphValue | float) -> GraphValue:
        return self.call("greater", other)

    def choose(self, where: GraphValue | float, elsewhere: GraphValue | float) -> GraphValue:
        """Return one value where this condition is true, and the other elsewhere."""
        return self.call("select", where, elsewhere)


def _place(
    graph: OpGraphBuilder, name: str, operands: Sequence[GraphValue | float], settings: dict[str, Any]
) -> GraphValue:
    given: dict[str, Any] = {}
    for port, operand in zip(OPS[f"op.{name}"].inputs, operands, strict=False):
        if isinstance(operand, GraphValue):
            given[port.name] = operand.port
        elif port.default is None:
            given[port.name] = graph.add("op.constant", value=float(operand))["out"]
        else:
            given[port.name] = float(operand)
    return GraphValue(graph, graph.add(f"op.{name}", **given, **settings)["out"])


def op(name: str) -> Callable[..., GraphValue]:
    """Return a function that writes one op."""
    return lambda first, *others: first.call(name, *others)
