"""`ElementKernel`: one op graph that computes elements of several nodes, with all that only they are computed from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from engine.descriptions.handles import BufferHandle
from engine.ops import GraphBuilder, OpGraph
from engine.ops.graph import Port
from engine.tensor_graphs.graph import Node
from engine.tensor_graphs.lowering.places import Arithmetic, Place, Whole
from engine.tensor_graphs.types import TensorType
from engine.types import DType


class ElementKernel:
    """Writes the op graph of a kernel whose threads each compute the elements of some nodes at one place.

    Nodes that are `stored` are read from their buffers, unless they are among those that the kernel writes. Inputs and
    outputs have names of their own, `i0` and `o0` and so on, so that kernels that compute the same are the same.
    """

    def __init__(self, type_: TensorType, stored: Mapping[Node, BufferHandle], written: Collection[Node] = ()) -> None:
        self.graph = GraphBuilder()
        self.whole = Arithmetic(self.graph)
        self._stored, self._written = stored, frozenset(written)
        self._values: dict[tuple[Node, int], Port] = {}
        self._inputs: dict[str, tuple[str, Any]] = {}
        #: The buffer of each name in the graph.
        self.buffers: dict[str, BufferHandle] = {}
        #: Nodes of which a thread reads other elements than its own.
        self.roamed: set[Node] = set()
        #: Nodes whose buffers are read.
        self.read: dict[Node, BufferHandle] = {}
        self._places: list[Place] = []
        number: Whole = 0
        if type_.size > 1 or type_.batched:
            index = self.graph.add("op.index")["index"]
            number = self.graph.add("op.convert", x=index, type="u32")["out"]
        self._own = Place(self.whole, type_.shape, batched=type_.batched, number=number, is_own=True)

    def write(self, node: Node, out: BufferHandle) -> None:
        """Write the elements of a node, which has the kernel's type, to a buffer."""
        name = f"o{len(self.buffers)}"
        self.buffers[name] = out
        value = self.value(node, self._own)
        self.graph.add("op.output", name, name=name, value=value, type=str(node.type.dtype))

    def aggregate(self, node: Node, out: BufferHandle, operation: str, dtype: DType) -> None:
        """Combine all elements of a node to one for each thread block."""
        self.buffers["o0"] = out
        value = self.value(node, self._own)
        self.graph.add("op.aggregate", "o0", name="o0", value=value, type=str(dtype), operation=operation)

    def value(self, node: Node, place: Place) -> Port:
        """Return the element of a node at a place in a tensor to which the node is broadcast."""
        place = place.narrowed(node.type)
        key = (node, id(place))
        made = self._values.get(key)
        if made is None:
            self._places.append(place)  # so that no other place gets its id
            if node in self._stored and not (node in self._written and place.is_own):
                made = self._load(node, place)
            else:
                made = node.operation.element(Element(self, node, place))
            self._values[key] = made
        return made

    def made(self) -> OpGraph:
        """Return the op graph."""
        return self.graph.graph()

    def _load(self, node: Node, place: Place) -> Port:
        handle = self._stored[node]
        known = self._inputs.get(handle.name)
        if known is None:
            name = f"i{len(self._inputs)}"
            known = self._inputs[handle.name] = (
                name,
                self.graph.add("op.input", name, name=name, type=str(node.type.stored_dtype)),
            )
            self.buffers[name] = handle
        self.read[node] = handle
        if place.is_own:
            return known[1]["value"]
        self.roamed.add(node)
        return self.graph.add("op.load", buffer=known[1]["buffer"], index=place.number)["out"]


@dataclass(frozen=True)
class Element:
    """What an operation gets to write how an element of one of its nodes follows from elements of the inputs."""

    kernel: ElementKernel
    node: Node
    place: Place

    @property
    def graph(self) -> GraphBuilder:
        """The op graph that is written."""
        return self.kernel.graph

    @property
    def whole(self) -> Arithmetic:
        """What computes places."""
        return self.kernel.whole

    def input(self, index: int, place: Place | None = None) -> Port:
        """Return the element of an input that is broadcast to the node, or its element at another place."""
        return self.kernel.value(self.node.inputs[index], place or self.place)

    def op(self, name: str, **operands: Any) -> Port:
        """Add an op, such as "add", and return its output."""
        return self.graph.add(f"op.{name}", **operands)["out"]

    def constant(self, value: float, dtype: DType) -> Port:
        """Return a number of a type."""
        return constant(self.graph, value, dtype)


def constant(graph: GraphBuilder, value: float, dtype: DType) -> Port:
    """Return a number as elements of a type are read."""
    name = str(dtype)
    kind = {"f16": "f32", "bf16": "f32", "u8": "u32", "u16": "u32", "s8": "s32", "s16": "s32"}.get(name, name)
    return graph.add("op.constant", value=value, type=kind)["out"]
