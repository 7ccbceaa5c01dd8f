"""`LazyGraph`: the nodes of lazy tensors that were combined, and the thread that owns them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Unpack, cast
from weakref import ReferenceType, WeakSet, ref

from warploom.engine.tensor_ir.arithmetic import Arithmetic
from warploom.engine.tensor_ir.errors import InvalidOperation, MergeFailed
from warploom.engine.tensor_ir.graph import NodeOptions, TensorGraph, TensorNode, TensorOperation
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.tensors import Storage

_claiming = threading.Lock()


class LazyNode(TensorNode):
    """A node with its value, once that is known. It lives as long as a tensor or another node needs it."""

    __slots__ = ("successor", "tensor", "users", "value")
    inputs: tuple[LazyNode, ...]

    def __init__(
        self,
        graph: LazyGraph,
        operation: TensorOperation,
        inputs: tuple[LazyNode, ...],
        type_: TensorType,
        **options: Unpack[NodeOptions],
    ) -> None:
        super().__init__(graph, operation, inputs, type_, **options)
        #: Its contents on the device, once they are computed or given.
        self.value: Storage | None = None
        self.tensor: ReferenceType[Arithmetic] | None = None
        #: The tensor that was this node's and then got other contents.
        self.successor: ReferenceType[Arithmetic] | None = None
        #: The nodes that have it as an input.
        self.users: list[ReferenceType[LazyNode]] = []
        for node in dict.fromkeys(inputs):
            if node.value is None:
                node.users.append(ref(self))

    @property
    def graph(self) -> LazyGraph:
        """The graph that the node belongs to."""
        return cast(LazyGraph, super().graph)

    @property
    def has_tensor(self) -> bool:
        """Whether a tensor of this node exists."""
        return self.tensor is not None and self.tensor() is not None

    def settle(self, value: Storage) -> None:
        """Set the node's value. Its operands are dropped, unless a gradient may be requested."""
        self.value = value
        self.users.clear()
        if not self.requires_grad:
            self.name = self.label
            self.operation, self.inputs = Leaf(self.type), ()


class LazyGraph(TensorGraph):
    """The live nodes of one device, each kept separately: nodes that no tensor needs are dropped.

    It belongs to the thread that created it. Combining tensors of two graphs merges the smaller graph into the larger.
    """

    needs_elements = True

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        self._alive: WeakSet[LazyNode] = WeakSet()
        self._owner: threading.Thread | None = threading.current_thread()
        self._owner_id = threading.get_ident()

    @property
    def root(self) -> LazyGraph:
        """The graph that now has this graph's nodes."""
        return cast(LazyGraph, super().root)

    @property
    def nodes(self) -> list[LazyNode]:
        """The live nodes, each after its inputs."""
        return sorted(self.root._alive, key=lambda node: node.number)

    def __len__(self) -> int:
        return len(self.root._alive)

    def add(
        self, operation: TensorOperation, inputs: Sequence[TensorNode] = (), **options: Unpack[NodeOptions]
    ) -> LazyNode:
        """Apply an operation, after merging the graphs of the inputs.

        The errors are those of `TensorGraph` and `merge`.
        """
        return cast(LazyNode, super().add(operation, inputs, **options))

    def enter(
        self,
        operation: TensorOperation,
        inputs: tuple[TensorNode, ...],
        type_: TensorType,
        **options: Unpack[NodeOptions],
    ) -> LazyNode:
        """Create a node whose type is known, and whose inputs are nodes of this graph."""
        self.require_thread()
        made = LazyNode(self, operation, cast(tuple[LazyNode, ...], inputs), type_, **options)
        self._alive.add(made)
        return made

    def merge(self, other: TensorGraph) -> LazyGraph:
        """Merge both graphs, and return the result. The cost is proportional to the nodes of the smaller one.

        Raise MergeFailed if the other graph belongs to another device or thread, or is not lazy.
        """
        if not isinstance(other, LazyGraph):
            raise MergeFailed("lazy tensors must be combined with each other, got a node of a builder")
        if self.device != other.device:
            raise MergeFailed(
                f"tensors must be on one device to be combined, got {self.device} and {other.device}; "
                f"use to({self.device!r})"
            )
        self.require_thread()
        if not other.is_ours():
            raise MergeFailed(
                f"tensors must be of one thread to be combined, got {_named(self._owner)} and {_named(other._owner)}; "
                "call hand_over() of a tensor there first"
            )
        small, large = (self, other) if len(self._alive) < len(other._alive) else (other, self)
        large._alive |= small._alive
        small._alive.clear()
        small.merged_into = large
        return large

    def require_thread(self) -> None:
        """Raise InvalidOperation unless the graph belongs to this thread. A graph without a thread is taken over."""
        if self._owner_id != threading.get_ident() and not self.is_ours():
            raise InvalidOperation(
                f"tensor must be used in the thread that it belongs to, {_named(self._owner)}, got "
                f"{_named(threading.current_thread())}; call its hand_over() there first"
            )

    def is_ours(self) -> bool:
        """Return whether the graph belongs to this thread. A graph of no thread, or of an ended one, is taken over."""
        with _claiming:
            if self._owner_id != threading.get_ident():
                if self._owner is not None and self._owner.is_alive():
                    return False
                self._owner, self._owner_id = threading.current_thread(), threading.get_ident()
            return True

    def hand_over(self) -> None:
        """Release the graph, so that it belongs to the next thread that uses it."""
        self.require_thread()
        with _claiming:
            self._owner, self._owner_id = None, 0


def _named(thread: threading.Thread | None) -> str:
    return thread.name if thread is not None else "none"
