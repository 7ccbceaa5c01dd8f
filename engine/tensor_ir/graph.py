"""`TensorNode` and `TensorGraph`: operations on tensors, and their operands."""

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

from warploom.engine.descriptions.checks import shown
from warploom.engine.ops.graph import OpPort
from warploom.engine.tensor_ir.arithmetic import Arithmetic, Number
from warploom.engine.tensor_ir.errors import InvalidOperation, MergeFailed, ShapeMismatch, TensorError
from warploom.engine.tensor_ir.types import FLOATS, TensorType
from warploom.engine.types import DType

#: Packages whose frames don't count as the user's code.
_OURS = ("warploom.engine.tensor_ir", "warploom.engine.tensor_runtime")
_numbers = count()
_is_without_gradients = ContextVar("_is_without_gradients", default=False)
_parts: ContextVar[tuple[str, ...]] = ContextVar("_parts", default=())
_allows_tf32 = ContextVar("_allows_tf32", default=False)


@contextmanager
def no_grad() -> Iterator[None]:
    """Create nodes that pass no gradient, inside the `with` block and in this thread."""
    before = _is_without_gradients.set(True)
    try:
        yield
    finally:
        _is_without_gradients.reset(before)


@contextmanager
def made_for(parts: tuple[str, ...]) -> Iterator[None]:
    """Let nodes created inside, in this thread, count for these parts of a network; see `TensorNode.parts`."""
    before = _parts.set(parts)
    try:
        yield
    finally:
        _parts.reset(before)


@contextmanager
def allow_tf32() -> Iterator[None]:
    """Let products created inside, in this thread, and their gradients round f32 factors on a GPU.

    The factors then have 11 significant bits, and tensor cores multiply them far faster. Other devices ignore this.
    """
    before = _allows_tf32.set(True)
    try:
        yield
    finally:
        _allows_tf32.reset(before)


def is_tf32_allowed() -> bool:
    """Return whether products created now may round their factors."""
    return _allows_tf32.get()


class Origin(NamedTuple):
    """The place in the user's code where a node was created."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class TensorOperation:
    """A computation on tensors. Subclasses are frozen dataclasses, so equal operations are interchangeable.

    Your own operation has `result` and `evaluate`, `backward` if it can be differentiated, and `lower` or `element`. No
    other code needs to know it.
    """

    #: Whether the result's elements are its input's, in the same order in memory.
    keeps_elements: ClassVar[bool] = False
    #: Whether an element is computed from input elements at other places.
    moves_elements: ClassVar[bool] = False

    @property
    def is_differentiable(self) -> bool:
        """Whether a gradient can pass through the operation."""
        return True

    @property
    def is_quick(self) -> bool:
        """Whether computing an element takes no longer than reading it."""
        return True

    @property
    def label(self) -> str:
        """The operation's name in messages and instruction lists."""
        return type(self).__name__

    def result(self, *inputs: TensorType) -> TensorType:
        """Return the result's type for these input types.

        Raise ShapeMismatch or InvalidOperation when they don't fit.
        """
        raise NotImplementedError

    def evaluate(self, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Compute the operation with numpy, as a reference.

        Each array has a batch axis in front, with size 1 for a tensor that isn't batched; so has the result. f16 and
        bf16 are passed as f32, and the result is rounded to them.
        """
        raise NotImplementedError

    def backward(self, node: TensorNode, gradient: TensorNode) -> Sequence[TensorNode | None]:
        """Return the gradient of each input, None for an input without one.

        `node` is an application of the operation. A gradient may have a shape that its input broadcasts to; the caller
        then sums it to the input's shape.
        """
        raise InvalidOperation(f"{self.label} must have a gradient rule to be differentiated")

    def is_elementwise(self, node: TensorNode) -> bool:
        """Return whether `element` writes the node: each element depends on only a few elements of the inputs."""
        return self.keeps_elements

    def element(self, at: Any) -> OpPort:
        """Write the computation of one element into a kernel, which may compute other nodes too.

        `at` is a `lowering.elements.Element`.
        """
        found: OpPort = at.input(0, at.place.reshaped(at.node.inputs[0].type.shape))
        return found

    def takes_elements(self, node: TensorNode) -> bool:
        """Return whether the kernel that `lower` writes also computes this node's inputs."""
        return False

    def lower(self, step: Any) -> None:
        """Write the node's computation: kernels, library calls, fills and copies. Not called for element-wise nodes.

        `step` is a `lowering.step.LoweringStep`.
        """
        raise InvalidOperation(f"{self.label} must have a lowering to be computed on a device")


class NodeOptions(TypedDict, total=False):
    """Optional arguments of a node, besides its operation and inputs."""

    name: str
    requires_grad: bool | None
    origin: Origin | None
    parts: tuple[str, ...] | None


#: The operations that tensors' methods apply, by class name; the package `operations` registers its own.
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
        """Apply an operation, which may be your own, to this node and others."""
        return self._apply(operation, self._node(), *(other._node() for other in others))

    def _call(self, operation: str, /, *operands: Arithmetic | Number, **settings: object) -> Self:
        nodes = [operand for operand in operands if isinstance(operand, Arithmetic)]
        # `where` has the condition first, and takes the type of the chosen operands.
        dtype = nodes[-1].type.dtype if nodes else self.type.dtype
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

    `requires_grad` is whether the node can have a gradient. By default, leaves of floats can, and so can nodes computed
    from them, unless created under `no_grad`.

    `parts` are the parts of a network, such as its layers, that the node is computed for, the main one first. The
    default is the parts of `made_for`. A gradient counts for the part that is differentiated, and an update for the
    part that has the weights. A node that replaces several nodes counts for all their parts, in order.
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
        #: Increases from node to node across all graphs, so a node has a higher number than its inputs.
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
        """The graph that the node belongs to."""
        if self._graph.merged_into is not None:
            self._graph = self._graph.root
        return self._graph

    @property
    def label(self) -> str:
        """The node's name, or its operation and number."""
        return self.name or f"{self.operation.label}{self.number}"

    def __repr__(self) -> str:
        return f"{self.label}: {self.type}"

    def _apply(self, operation: TensorOperation, *inputs: TensorNode) -> TensorNode:
        return self.graph.add(operation, inputs)

    def _node(self) -> TensorNode:
        return self


class TensorGraph:
    """Nodes in the order of their creation, so that each comes after its inputs."""

    #: Whether tensors without elements are refused, since devices can't hold them.
    needs_elements: ClassVar[bool] = False

    def __init__(self) -> None:
        self._nodes: list[TensorNode] = []
        #: The graph that took over this graph's nodes.
        self.merged_into: TensorGraph | None = None

    @property
    def root(self) -> TensorGraph:
        """The graph that has this graph's nodes now."""
        graph = self
        while graph.merged_into is not None:
            graph = graph.merged_into
        while self.merged_into is not None:  # shorten the path for the next search
            self.merged_into, self = graph, self.merged_into
        return graph

    @property
    def nodes(self) -> Sequence[TensorNode]:
        """The graph's nodes, each after its inputs."""
        return self._nodes

    def add(
        self, operation: TensorOperation, inputs: Sequence[TensorNode] = (), **options: Unpack[NodeOptions]
    ) -> TensorNode:
        """Apply an operation. On error, raise ShapeMismatch or InvalidOperation with the line of the user's code."""
        origin = options["origin"] = options.get("origin") or caller()
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
        """Create a node whose type is known, and whose inputs are nodes of this graph."""
        made = TensorNode(self, operation, inputs, type_, **options)
        self._nodes.append(made)
        return made

    def merge(self, other: TensorGraph) -> TensorGraph:
        """Merge both graphs, and return the merged one. Raise MergeFailed if they must stay apart."""
        raise MergeFailed("nodes must be of one graph, got some of two builders")


def caller() -> Origin | None:
    """Return the current line of the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_OURS):
            return Origin(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def reachable_nodes(wanted: Iterable[TensorNode], known: Container[TensorNode] = ()) -> list[TensorNode]:
    """Return the wanted nodes and all nodes that they are computed from, each after its inputs.

    `known` nodes are left out, and so are nodes that only these need.
    """
    found: set[TensorNode] = set()
    waiting = [node for node in wanted if node not in known]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [other for other in node.inputs if other not in known and other not in found]
    return sorted(found, key=lambda node: node.number)
