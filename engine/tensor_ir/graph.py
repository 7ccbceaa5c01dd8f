"""`TensorNode` and `TensorGraph`: operations on tensors, and what they are applied to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from numbers import Real
from types import FrameType
from typing import Any, ClassVar, NamedTuple, Self, TypedDict, Unpack

import numpy as np

from engine.descriptions.checks import shown
from engine.ops.graph import OpPort
from engine.tensor_ir.arithmetic import Arithmetic, Number
from engine.tensor_ir.errors import InvalidOperation, MergeFailed, ShapeMismatch, TensorError
from engine.tensor_ir.types import FLOATS, TensorType
from engine.types import DType

#: Packages whose frames are not the user's code.
_OURS = ("engine.tensor_ir", "engine.tensor_runtime")
_numbers = count()
_is_without_gradients = ContextVar("_is_without_gradients", default=False)
_parts: ContextVar[tuple[str, ...]] = ContextVar("_parts", default=())
_allows_tf32 = ContextVar("_allows_tf32", default=False)


@contextmanager
def no_grad() -> Iterator[None]:
    """Make the nodes that are made inside, in this thread, pass no gradient."""
    before = _is_without_gradients.set(True)
    try:
        yield
    finally:
        _is_without_gradients.reset(before)


@contextmanager
def made_for(parts: tuple[str, ...]) -> Iterator[None]:
    """Make nodes that are made inside, in this thread, count for these parts of a network; see `TensorNode.parts`."""
    before = _parts.set(parts)
    try:
        yield
    finally:
        _parts.reset(before)


@contextmanager
def allow_tf32() -> Iterator[None]:
    """Let the products that are made inside, in this thread, and their gradients round factors of f32 on a GPU.

    They have 11 significant bits then, and tensor cores multiply them far faster. Other devices take no notice.
    """
    before = _allows_tf32.set(True)
    try:
        yield
    finally:
        _allows_tf32.reset(before)


def is_tf32_allowed() -> bool:
    """Return whether products that are made now may round their factors."""
    return _allows_tf32.get()


class Origin(NamedTuple):
    """Where in the user's code a node was made."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class TensorOperation:
    """What is computed of tensors. Subclasses are frozen dataclasses, so that equal operations are the same.

    One of your own has `result`, `evaluate`, `backward` if it can be differentiated, and `lower` or `element`; nothing
    else knows it.
    """

    #: Whether its elements are its input's, in the same order in memory.
    keeps_elements: ClassVar[bool] = False
    #: Whether an element is computed from elements of the input at another place than its own.
    moves_elements: ClassVar[bool] = False

    @property
    def is_differentiable(self) -> bool:
        """Whether a gradient can pass through it."""
        return True

    @property
    def is_quick(self) -> bool:
        """Whether an element takes no longer to compute than to read."""
        return True

    @property
    def label(self) -> str:
        """What messages and instruction lists call it."""
        return type(self).__name__

    def result(self, *inputs: TensorType) -> TensorType:
        """Return what it gives for inputs of these types; ShapeMismatch or InvalidOperation when they don't fit."""
        raise NotImplementedError

    def evaluate(self, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Compute the operation with numpy, as a reference.

        Each array has a batch axis in front, of size 1 for a tensor that isn't batched, as has the result. f16 and
        bf16 are given as f32, and the result is rounded to them.
        """
        raise NotImplementedError

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient of each input, None for one that has none.

        `node` is an application of the operation. A gradient may have a shape to which its input is broadcast; it is
        summed to the input's own then.
        """
        raise InvalidOperation(f"{self.label} must have a gradient rule to be differentiated")

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return whether `element` writes it: each element follows from a few elements of the inputs."""
        return self.keeps_elements

    def element(self, at: Any) -> OpPort:
        """Write how one element is computed into a kernel, which may compute other nodes too.

        `at` is a `lowering.elements.Element`.
        """
        found: OpPort = at.input(0, at.place.reshaped(at.node.inputs[0].type.shape))
        return found

    def takes_elements(self, node: TensorNode) -> bool:
        """Return whether `lower` includes the computation of its inputs in a kernel of its own."""
        return False

    def lower(self, step: Any) -> None:
        """Write what computes it: kernels, library calls, fills and copies. It isn't called for elementwise nodes.

        `step` is a `lowering.step.LoweringStep`.
        """
        raise InvalidOperation(f"{self.label} must have a lowering to be computed on a device")


class NodeOptions(TypedDict, total=False):
    """What a node may be given besides its operation and inputs."""

    name: str
    requires_grad: bool | None
    origin: Origin | None
    parts: tuple[str, ...] | None


#: The operations that methods of tensors apply, by the names of their classes; `operations` enters its own.
OPERATIONS: dict[str, Callable[..., TensorOperation]] = {}


class TensorOperand(Arithmetic):
    """A node in arithmetic: the node itself, or a lazy tensor."""

    __slots__ = ()

    def _apply(self, operation: TensorOperation, *inputs: TensorNode) -> Self:
        """Apply an operation to nodes, and return the node or tensor of the result."""
        raise NotImplementedError

    def _node(self) -> TensorNode:
        """Return the node."""
        raise NotImplementedError

    def apply(self, operation: TensorOperation, *others: TensorOperand) -> Self:
        """Apply an operation, which may be one of your own, to this and others."""
        return self._apply(operation, self._node(), *(other._node() for other in others))

    def _call(self, operation: str, /, *operands: Arithmetic | Number, **settings: object) -> Self:
        nodes = [operand for operand in operands if isinstance(operand, Arithmetic)]
        dtype = nodes[-1].type.dtype if nodes else self.type.dtype  # of two that are chosen from, not of the condition
        return self._apply(OPERATIONS[operation](**settings), *(self._operand(operand, dtype) for operand in operands))

    def _operand(self, value: Arithmetic | Number, dtype: DType) -> TensorNode:
        """Return the node of an operand; a number becomes a constant of the element type."""
        if isinstance(value, TensorOperand):
            return value._node()
        if not isinstance(value, Real):
            raise InvalidOperation(f"operand must be a tensor or a number, got {type(value).__name__}")
        if dtype.kind != "float" and not float(value).is_integer():
            raise InvalidOperation(f"number must be whole to meet elements of {dtype}, got {value}; cast them")
        constant = OPERATIONS["Constant"](value=float(value), type=TensorType((), dtype))
        return self._node().graph.add(constant)


class TensorNode(TensorOperand):
    """An operation applied to nodes; a leaf, such as an input or a weight, is applied to none.

    `requires_grad` says whether it can have a gradient. By default, leaves of floats can, and so can nodes computed
    from them, unless made under `no_grad`.

    `parts` are those of a network, such as its layers, that it is computed for, the one that it mainly is first: where
    nothing else is said, those of `made_for`. A gradient counts for the part that is differentiated, an update for the
    part that has the weights, and what replaces several nodes for the parts of all, in their order.
    """

    __slots__ = (
        *("__weakref__", "_graph", "inputs", "name", "number", "operation", "origin", "parts", "requires_grad"),
        "type",
    )

    def __init__(
        self,
        graph: TensorGraph,
        operation: TensorOperation,
        inputs: tuple[TensorNode, ...],
        type_: TensorType,
        *,
        name: str = "",
        requires_grad: bool | None = None,
        origin: Origin | None = None,
        parts: tuple[str, ...] | None = None,
    ) -> None:
        #: Grows from node to node in all graphs, so a node has a higher number than its inputs.
        self.number = next(_numbers)
        self._graph = graph
        self.operation = operation
        self.inputs = inputs
        self.type = type_
        self.name = name
        if requires_grad is None:
            requires_grad = (
                operation.is_differentiable
                and type_.dtype in FLOATS
                and not _is_without_gradients.get()
                and (not inputs or any(node.requires_grad for node in inputs))
            )
        self.requires_grad: bool = requires_grad
        self.origin = origin
        self.parts = _parts.get() if parts is None else parts

    @property
    def graph(self) -> TensorGraph:
        """The graph that it belongs to."""
        if self._graph.merged_into is not None:
            self._graph = self._graph.root
        return self._graph

    @property
    def label(self) -> str:
        """Its name, or its operation and number."""
        return self.name or f"{self.operation.label}{self.number}"

    def __repr__(self) -> str:
        return f"{self.label}: {self.type}"

    def _apply(self, operation: TensorOperation, *inputs: TensorNode) -> TensorNode:
        return self.graph.add(operation, inputs)

    def _node(self) -> TensorNode:
        return self


class TensorGraph:
    """Nodes in the order in which they were made, so each after its inputs."""

    #: Whether tensors without elements are refused, as devices have none.
    needs_elements: ClassVar[bool] = False

    def __init__(self) -> None:
        self._nodes: list[TensorNode] = []
        #: The graph that took over its nodes.
        self.merged_into: TensorGraph | None = None

    @property
    def root(self) -> TensorGraph:
        """The graph that has its nodes now."""
        graph = self
        while graph.merged_into is not None:
            graph = graph.merged_into
        while self.merged_into is not None:  # the next search is short
            self.merged_into, self = graph, self.merged_into
        return graph

    @property
    def nodes(self) -> Sequence[TensorNode]:
        """Its nodes, each after its inputs."""
        return self._nodes

    def add(
        self,
        operation: TensorOperation,
        inputs: Sequence[TensorNode] = (),
        *,
        name: str = "",
        requires_grad: bool | None = None,
        origin: Origin | None = None,
        parts: tuple[str, ...] | None = None,
    ) -> TensorNode:
        """Apply an operation; ShapeMismatch or InvalidOperation, with the line of the user's code, when it can't be."""
        origin = origin or caller()
        if not isinstance(operation, TensorOperation):
            raise InvalidOperation(f"operation must be a TensorOperation, got {shown(operation)}")
        try:
            type_ = operation.result(*(node.type for node in inputs))
            if self.needs_elements and type_.size == 0:
                raise ShapeMismatch(f"tensor must have elements, got the shape {list(type_.shape)}")
            graph = self.root
            for node in inputs:
                if node.graph is not graph:
                    graph = graph.merge(node.graph)
            options: NodeOptions = {"name": name, "requires_grad": requires_grad, "origin": origin, "parts": parts}
            return graph.enter(operation, tuple(inputs), type_, **options)
        except TensorError as problem:
            given = ", ".join(repr(node) for node in inputs)
            where = f" ({origin})" if origin else ""
            raise type(problem)(f"{operation.label}({given}): {problem}{where}", problem.reason) from None

    def enter(
        self,
        operation: TensorOperation,
        inputs: tuple[TensorNode, ...],
        type_: TensorType,
        **options: Unpack[NodeOptions],
    ) -> TensorNode:
        """Make a node whose type is known, and whose inputs are nodes of this graph."""
        made = TensorNode(self, operation, inputs, type_, **options)
        self._nodes.append(made)
        return made

    def merge(self, other: TensorGraph) -> TensorGraph:
        """Make one graph of both, and return it; MergeFailed where they must stay apart."""
        raise MergeFailed("nodes must be of one graph, got some of two builders")


def caller() -> Origin | None:
    """Return the line of the user's code that is being run."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OURS):
            return Origin(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def reachable_nodes(wanted: Iterable[TensorNode], known: Container[TensorNode] = ()) -> list[TensorNode]:
    """Return what the wanted nodes are computed from, themselves included, each after its inputs.

    Nodes that are `known` are left out, with what only they need.
    """
    found: set[TensorNode] = set()
    waiting = [node for node in wanted if node not in known]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [other for other in node.inputs if other not in known and other not in found]
    return sorted(found, key=lambda node: node.number)


def users(nodes: Iterable[TensorNode]) -> dict[TensorNode, list[TensorNode]]:
    """Return, for each node, which of the nodes have it as an input."""
    found: dict[TensorNode, list[TensorNode]] = {}
    for node in nodes:
        for other in dict.fromkeys(node.inputs):
            found.setdefault(other, []).append(node)
    return found
