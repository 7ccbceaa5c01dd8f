"""`ElementKernel`: one op graph that computes elements of several nodes, and of all nodes that only these need."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.ops import OpGraph, OpGraphBuilder
from warploom.engine.ops.graph import NodeHandle, OpPort
from warploom.engine.ops.types import read_as
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.lowering.places import ElementPlace, IndexArithmetic, Whole
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import DType, bf16, f16, s8, s16, u8, u16

#: Element types that are computed in wider ones, and rounded when they are stored.
NARROW: tuple[DType, ...] = (f16, bf16, u8, s8, u16, s16)


class ElementKernel:
    """Writes the op graph of a kernel whose threads each compute some nodes' elements at one place.

    `stored` nodes are read from their buffers, unless the kernel itself writes them. Inputs and outputs are named `i0`,
    `o0` and so on, so that kernels with the same computation are equal.
    """

    def __init__(
        self, type_: TensorType, stored: Mapping[TensorNode, BufferHandle], written: Collection[TensorNode] = ()
    ) -> None:
        self.graph = OpGraphBuilder()
        self.whole = IndexArithmetic(self.graph)
        self._stored, self._written = stored, frozenset(written)
        self._values: dict[tuple[TensorNode, int], OpPort] = {}
        self._inputs: dict[str, NodeHandle] = {}
        #: The buffer of each name in the graph.
        self.buffers: dict[str, BufferHandle] = {}
        #: The nodes whose buffers are read, with these buffers.
        self.read: dict[TensorNode, BufferHandle] = {}
        self._places: list[ElementPlace] = []
        number: Whole = 0
        if type_.size > 1 or type_.batched:
            index = self.graph.add("op.index")["index"]
            number = self.graph.add("op.convert", x=index, type="u32")["out"]
        #: The place of the element that a thread computes.
        self.own = ElementPlace(self.whole, type_.shape, batched=type_.batched, number=number, is_own=True)

    def write(self, node: TensorNode, out: BufferHandle) -> None:
        """Write the elements of a node, which has the kernel's type, to a buffer."""
        self.write_value(self.value(node, self.own), out, node.type.dtype)

    def aggregate(self, value: OpPort, out: BufferHandle, operation: str, dtype: DType) -> None:
        """Combine the values of all elements to one value per thread block."""
        self.buffers["o0"] = out
        self.graph.add("op.aggregate", "o0", name="o0", value=value, type=str(dtype), operation=operation)

    def value(self, node: TensorNode, place: ElementPlace) -> OpPort:
        """Return a node's element at a place in a tensor that the node broadcasts to."""
        place = place.narrowed(node.type)
        key = (node, id(place))
        made = self._values.get(key)
        if made is None:
            self._places.append(place)  # keeps the place alive, so no other object gets its id
            if node in self._stored and not (node in self._written and place.is_own):
                made = self._load(node, place)
            else:
                made = node.operation.element(Element(self, node, place))
                if node.type.dtype in NARROW and not (node.operation.keeps_elements or node.operation.moves_elements):
                    # Round as if the element were stored, so that fusing changes no bit.
                    made = self.graph.add("op.element", given=made, type=str(node.type.dtype))["value"]
            self._values[key] = made
        return made

    def read_stored(self, node: TensorNode, type_: TensorType, place: ElementPlace) -> OpPort:
        """Return an element of a node's buffer, read as another type, at a place in a tensor of that type."""
        return self.read_buffer(self._stored[node], type_, place)

    def read_buffer(self, handle: BufferHandle, type_: TensorType, place: ElementPlace) -> OpPort:
        """Return a buffer's element at a place in a tensor that the buffer broadcasts to."""
        return self._read(handle, type_, place.narrowed(type_))

    def write_value(self, value: OpPort, out: BufferHandle, dtype: DType) -> None:
        """Write a value as the thread's own element."""
        name = f"o{len(self.buffers)}"
        self.buffers[name] = out
        self.graph.add("op.output", name, name=name, value=value, type=str(dtype))

    def made(self) -> OpGraph:
        """Return the op graph."""
        return self.graph.graph()

    def _load(self, node: TensorNode, place: ElementPlace) -> OpPort:
        handle = self._stored[node]
        self.read[node] = handle
        return self._read(handle, node.type, place)

    def _read(self, handle: BufferHandle, type_: TensorType, place: ElementPlace) -> OpPort:
        known = self._inputs.get(handle.name)
        if known is None:
            name = f"i{len(self._inputs)}"
            made = self.graph.add("op.input", name, name=name, type=str(type_.stored_dtype))
            known = self._inputs[handle.name] = made
            self.buffers[name] = handle
        if place.is_own:
            return known["value"]
        return self.graph.add("op.load", buffer=known["buffer"], index=place.number)["out"]


@dataclass(frozen=True)
class Element:
    """The interface with which an operation writes the computation of one of its node's elements."""

    kernel: ElementKernel
    node: TensorNode
    place: ElementPlace

    @property
    def graph(self) -> OpGraphBuilder:
        """The op graph that is being written."""
        return self.kernel.graph

    @property
    def whole(self) -> IndexArithmetic:
        """The arithmetic that computes places."""
        return self.kernel.whole

    def input(self, index: int, place: ElementPlace | None = None) -> OpPort:
        """Return an input's element, broadcast to the node, or its element at another place."""
        return self.kernel.value(self.node.inputs[index], place or self.place)

    def rows(self, index: int) -> OpPort:
        """Return a row number from an input that is a sparse column; the node's elements are row numbers."""
        node = self.node.inputs[index]
        stored = TensorType(node.type.stored_shape, node.type.stored_dtype, node.type.batched)
        return self.kernel.read_stored(node, stored, self.place.reshaped(stored.shape))

    def op(self, name: str, **operands: Any) -> OpPort:
        """Add an op, such as "add", and return its output."""
        return self.graph.add(f"op.{name}", **operands)["out"]

    def at_least(self, position: Whole, least: int) -> OpPort:
        """Return whether a position is greater than or equal to a number."""
        if isinstance(position, int):
            return self.graph.add("op.constant", value=float(position >= least), type="boolean")["out"]
        return self.op("greater_equal", a=position, b=float(least))

    def constant(self, value: float, dtype: DType) -> OpPort:
        """Return a constant of a type."""
        return self.op("constant", value=value, type=str(computed_type(dtype)))


def computed_type(dtype: DType) -> DType:
    """Return the type in which op graphs compute elements."""
    return read_as(dtype).scalar
