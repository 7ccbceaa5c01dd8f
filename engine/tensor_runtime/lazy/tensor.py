"""`Tensor`: an array that is computed when it is needed, on a device."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from math import pi
from pathlib import Path
from typing import Any, TextIO, cast
from weakref import ref

import numpy as np
import numpy.typing as npt

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import DeviceError
from warploom.engine.ops.types import can_hold
from warploom.engine.tensor_ir import gradients as differentiation
from warploom.engine.tensor_ir.arithmetic import Arithmetic, Number
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.graph import (
    TensorNode,
    TensorOperand,
    TensorOperation,
    caller,
    no_grad,
    reachable_nodes,
)
from warploom.engine.tensor_ir.inspection import NodeInfo, graph_dot, graph_svg, graph_text, node_info
from warploom.engine.tensor_ir.operations.leaves import SEED, Constant, Leaf, Random
from warploom.engine.tensor_ir.ordering import topological_order
from warploom.engine.tensor_ir.types import FLOATS, TensorType, real_number, whole_number, whole_numbers
from warploom.engine.tensor_runtime.lazy.devices import LazyDevice, adopted, element_type, lazy_device
from warploom.engine.tensor_runtime.lazy.execution import compute
from warploom.engine.tensor_runtime.lazy.graph import LazyGraph, LazyNode
from warploom.engine.tensor_runtime.lazy.sharing import SharedContents
from warploom.engine.tensor_runtime.tensors import Storage
from warploom.engine.types import Array, DType, Shape, f32, f64

#: The source of seeds for random tensors without a seed.
_seeds = random.Random()


class Tensor(TensorOperand, SharedContents):
    """An array of any shape on a device, which is computed when it is needed.

    Operators and methods create other tensors and compute nothing. `execute`, `numpy` and `item` compute a tensor on
    its device, and all tensors that it needs. A result is kept as long as it has a tensor, or as long as another tensor
    that is not computed yet needs it; then its memory is freed.

    Tensors belong to the thread that created them, together with all tensors that they are combined with. `hand_over`
    passes them to another thread. Contents never change, except by `axpy`, which doesn't change tensors that were
    computed from this one, or will be.

    Other libraries use computed contents in place, and must not change them: `np.asarray(tensor)` on the host,
    `torch.from_dlpack(tensor)` and the like on both devices. Their streams wait for the computation, and the memory
    stays as long as the tensor or such an array. On a GPU, `np.asarray` makes a copy.
    """

    __slots__ = ("__weakref__", "_lazy", "grad", "type")
    __array_ufunc__ = None  # makes `array + tensor` call the tensor's operator

    def __init__(self, node: LazyNode) -> None:
        self._lazy = node
        self.type: TensorType = node.type
        #: The sum of the gradients from `backward`; None before the first.
        self.grad: Tensor | None = None
        self._is_changed = False
        node.tensor = ref(self)

    # Leaves

    @classmethod
    def from_numpy(
        cls, array: npt.ArrayLike, *, device: str = "auto", requires_grad: bool = False, name: str = ""
    ) -> Tensor:
        """Return a tensor with a copy of an array, of its shape and element type."""
        found = np.asarray(array)
        type_ = TensorType(_shape(found.shape), element_type(found.dtype))
        where = lazy_device(device)
        with where.lock:
            where.tensors.device.activate()
            storage = where.buffer(type_)
            storage.buffer.write(found)
        return cls._holding(where, storage, requires_grad, name)

    @classmethod
    def from_dlpack(cls, array: object, *, device: str = "auto", requires_grad: bool = False, name: str = "") -> Tensor:
        """Return a tensor in the memory of another library's array, such as CuPy's, torch's or JAX's; nothing is
        copied.

        The array has `__dlpack__`, `__cuda_array_interface__` or `__array_interface__`, and is C-contiguous. It is kept
        alive as long as the tensor needs it, and must not change during that time. Raise InvalidOperation with the
        reason if it can't be used, or not on that device.
        """
        try:
            where, storage = adopted(array, device)
        except DeviceError as problem:
            raise InvalidOperation(str(problem)) from problem
        return cls._holding(where, storage, requires_grad, name)

    @classmethod
    def _holding(cls, device: LazyDevice, storage: Storage, requires_grad: bool, name: str = "") -> Tensor:
        type_ = storage.buffer.type
        _require_differentiable(type_, requires_grad)
        node = LazyGraph(device.name).add(Leaf(type_), name=name, requires_grad=requires_grad)
        node.value = storage
        return cls(node)

    @classmethod
    def full(cls, shape: Sequence[int], value: float, *, dtype: DType = f32, device: str = "auto") -> Tensor:
        """Return a tensor whose elements all have one value."""
        type_ = TensorType(_shape(shape), _element_type(dtype))
        number = real_number("value", value)
        if type_.dtype.kind in ("integer", "boolean") and not can_hold(type_.dtype, number):
            raise InvalidOperation(f"value must be one that {type_.dtype} can hold, got {value}; give another dtype")
        return cls._made(Constant(number, type_), device)

    @classmethod
    def zeros(cls, shape: Sequence[int], *, dtype: DType = f32, device: str = "auto") -> Tensor:
        """Return a tensor of zeros."""
        return cls.full(shape, 0.0, dtype=dtype, device=device)

    @classmethod
    def ones(cls, shape: Sequence[int], *, dtype: DType = f32, device: str = "auto") -> Tensor:
        """Return a tensor of ones."""
        return cls.full(shape, 1.0, dtype=dtype, device=device)

    @classmethod
    def manual_seed(cls, seed: int) -> None:
        """Set the seed of all later random tensors without their own seed, so that each run gives the same numbers.

        The seed is at least 0 and below 2**32. Threads that create random tensors at the same time share its sequence.
        """
        _seeds.seed(_seed(seed))

    @classmethod
    def rand(cls, shape: Sequence[int], *, seed: int | None = None, dtype: DType = f32, device: str = "auto") -> Tensor:
        """Return uniform random numbers from 0 to below 1, in steps of 2**-24; f16 and bf16 are rounded.

        A seed, at least 0 and below 2**32, gives the same numbers on every device. Without one, each call returns new
        numbers; see `manual_seed`.
        """
        seed = _seeds.getrandbits(32) if seed is None else _seed(seed)
        node = cls._made(Constant(float(seed), SEED), device)._node()
        return cls(node.graph.add(Random(TensorType(_shape(shape), _element_type(dtype))), [node]))

    @classmethod
    def randn(
        cls, shape: Sequence[int], *, seed: int | None = None, dtype: DType = f32, device: str = "auto"
    ) -> Tensor:
        """Return normally distributed random numbers, with mean 0 and standard deviation 1, by Box and Muller's method.

        Seeds work as in `rand`.
        """
        uniform = cls.rand((2, *_shape(shape)), seed=seed, dtype=f64 if dtype == f64 else f32, device=device)
        radius, angle = (-2.0 * (1.0 - uniform[0]).log()).sqrt(), 2 * pi * uniform[1]
        return (radius * angle.cos()).cast(dtype)

    @classmethod
    def _made(cls, operation: TensorOperation, device: str) -> Tensor:
        return cls(LazyGraph(lazy_device(device).name).add(operation, requires_grad=False))

    # Facts known without computing

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    @property
    def device(self) -> str:
        """The name of the device that computes this tensor."""
        return self._lazy.graph.device

    @property
    def requires_grad(self) -> bool:
        """Whether gradients with respect to this tensor can be requested; if so, its operands are kept.

        It can be set for leaves of floats, and concerns tensors that are made from then on.
        """
        return self._lazy.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._require_thread()
        if not isinstance(value, bool):
            raise InvalidOperation(f"requires_grad must be True or False, got {shown(value)}")
        if self._lazy.inputs:
            raise InvalidOperation(f"tensor must be a leaf to change requires_grad, got {self!r}; use leaf()")
        _require_differentiable(self.type, value)
        if value != self._lazy.requires_grad:
            self._become(self._computed(), requires_grad=value)

    @property
    def is_computed(self) -> bool:
        """Whether the contents are known, so that reading them needs no computation."""
        return self._lazy.value is not None

    @property
    def graph(self) -> LazyGraph:
        """The graph of this tensor and all tensors that it was combined with."""
        return self._lazy.graph

    def __repr__(self) -> str:
        state = "computed" if self.is_computed else "not computed yet"
        return f"Tensor({self._lazy.label}: {self.type}, {self.device}, {state})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return what a notebook shows: the first numbers, or a picture, of a computed tensor."""
        from warploom.engine.drawings.notebook import array_bundle  # only notebooks need it

        return array_bundle(self.numpy(), repr(self)) if self.is_computed else {"text/plain": repr(self)}

    # Computing

    def execute(self) -> Tensor:
        """Compute this tensor, and all tensors that it needs. Return the tensor itself.

        An ExecutionFailed states what could not be computed; all tensors stay usable.
        """
        execute([self])
        return self

    def numpy(self) -> Array:
        """Compute this tensor, and return a copy of its contents."""
        storage, where = self._computed(), lazy_device(self.device)
        with where.lock:
            where.tensors.device.activate()
            return storage.buffer.read()

    def item(self) -> float | int | bool:
        """Compute a tensor of one element, and return the element as a Python number."""
        if self.size != 1:
            raise ShapeMismatch(f"tensor must have one element to be a number, got {self!r}")
        number: float | int | bool = self.numpy().item()
        return number

    def _computed(self) -> Storage:
        self.execute()
        assert self._lazy.value is not None
        return self._lazy.value

    def __float__(self) -> float:
        return float(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def to(self, device: str) -> Tensor:
        """Return a tensor with the same contents, computed now, on another device; the tensor itself if it is on that
        device.
        """
        where = lazy_device(device)
        if where.name == self.device:
            return self
        return Tensor.from_numpy(self.numpy(), device=where.name, requires_grad=self.requires_grad)

    def leaf(self, *, requires_grad: bool = False) -> Tensor:
        """Return a leaf that shares this tensor's contents, computed now.

        No gradient passes from the leaf to this tensor.
        """
        return Tensor._holding(lazy_device(self.device), self._computed(), requires_grad)

    def gradients(self, wanted: Sequence[Tensor], *, differentiable: bool = False) -> list[Tensor]:
        """Return the gradients of this tensor, which must be one number, with respect to others that require one.

        The gradients are ordinary tensors, not computed yet, and zeros where this tensor doesn't depend on the other.
        With `differentiable`, they can be differentiated again, and keep their operands.
        """
        self._require_thread()
        nodes = [tensor._lazy for tensor in wanted]
        with nullcontext() if differentiable else no_grad():
            found = differentiation.gradients(self._lazy, nodes)
            return [
                _tensor_of(cast(LazyNode, found[node])) if node in found else tensor._apply(Constant(0.0, tensor.type))
                for node, tensor in zip(nodes, wanted, strict=True)
            ]

    def backward(self, gradient: Tensor | None = None) -> None:
        """Compute this tensor and its gradients, and add each to `grad` of the leaf that requires it.

        This tensor is one number, or `gradient`, of its type, is the gradient of a later result with respect to it.
        Leaves without a tensor are left out. If this raises an error, no `grad` changes.
        """
        self._require_thread()
        if not self.requires_grad:
            raise InvalidOperation(f"tensor to differentiate must depend on one that requires a gradient, got {self!r}")
        leaves = [node for node in reachable_nodes([self._lazy]) if node.requires_grad and not node.inputs]
        owners = {node: owner for node in leaves if (owner := _owner_of(cast(LazyNode, node))) is not None}
        with no_grad():
            found = differentiation.gradients(self._lazy, list(owners), None if gradient is None else gradient._node())
            totals: dict[Tensor, Tensor] = {}
            for node, part in found.items():
                owner, made = owners[node], _tensor_of(cast(LazyNode, part))
                total = totals.get(owner, owner.grad)
                totals[owner] = made if total is None else total + made
        execute([self, *totals.values()])
        for owner, total in totals.items():
            owner.grad = total.leaf()  # equal gradients are one tensor, which axpy would change for all its owners

    def zero_grad(self) -> None:
        """Forget the sum of the gradients: `grad` is None, and the next `backward` sets it."""
        self.grad = None

    def axpy(self, alpha: float, x: Tensor) -> Tensor:
        """Add alpha * x to the contents, as BLAS does, computed now. Return the tensor itself.

        This is an update of weights: `w.axpy(-rate, w.grad)`. No gradient passes through it. The tensor is a leaf, or
        requires no gradient, and has the type of `x`. What was computed from it before keeps its values and gradients;
        arrays that share its memory keep the earlier contents.
        """
        self._require_thread()
        if self._lazy.inputs and self.requires_grad:
            raise InvalidOperation(f"tensor must be a leaf, or require no gradient, to be changed, got {self!r}")
        if not isinstance(x, Tensor):
            raise InvalidOperation(f"operand of axpy must be a tensor, got {shown(x)}")
        with no_grad():
            found = self + x * real_number("alpha", alpha)
        if found.type != self.type:
            raise ShapeMismatch(f"operand of axpy must have the type {self.type}, got {x!r}")
        self._become(found._computed(), requires_grad=self.requires_grad)
        return self

    def _become(self, contents: Storage, *, requires_grad: bool) -> None:
        """Replace the node by a leaf with these contents. Nodes that were made from the earlier node keep it."""
        before = self._lazy
        node = LazyGraph(self.device).add(Leaf(self.type), name=before.name, requires_grad=requires_grad)
        node.value, node.tensor = contents, ref(self)
        before.tensor, before.successor = None, ref(self)
        self._lazy, self._is_changed = node, True

    def hand_over(self) -> None:
        """Release this tensor, and all tensors that it was combined with, for the next thread that uses them."""
        self._require_thread()
        self.graph.hand_over()

    # Inspection

    def info(self) -> NodeInfo:
        """Return the facts of the tensor's node."""
        return node_info(self._lazy)

    def order(self) -> list[TensorNode]:
        """Return the tensor's node and all nodes that it is computed from, each after its inputs."""
        return list[TensorNode](topological_order([self._lazy]))

    def print_graph(self, file: TextIO | None = None) -> None:
        """Print the graph that computes this tensor, one node per line."""
        (file or sys.stdout).write(graph_text([self._lazy], _remark))

    def dump_graphviz(self, path: str | Path) -> None:
        """Write the graph that computes this tensor to a file: a picture if `path` ends in .svg, else Graphviz text."""
        draw = graph_svg if Path(path).suffix == ".svg" else graph_dot
        Path(path).write_text(draw([self._lazy], _remark), encoding="utf-8", newline="\n")

    def _require_thread(self) -> None:
        try:
            self.graph.require_thread()
        except InvalidOperation as problem:
            raise InvalidOperation(f"{self._lazy!r}: {problem} ({caller()})") from None

    def _call(self, operation: str, /, *operands: Arithmetic | Number, **settings: object) -> Tensor:
        self._require_thread()
        return super()._call(operation, *operands, **settings)

    def __rmatmul__(self, other: Array) -> Tensor:
        return self._call("MatMul", Tensor.from_numpy(other, device=self.device), self)

    def _node(self) -> LazyNode:
        return self._lazy

    def _operand(self, value: Arithmetic | Number | Array | np.generic[Any], dtype: DType) -> TensorNode:
        """Return the node of an operand. A numpy array becomes a leaf, and a numpy scalar a number."""
        if isinstance(value, np.ndarray):
            return Tensor.from_numpy(value, device=self.device)._lazy
        return super()._operand(value.item() if isinstance(value, np.generic) else value, dtype)

    def _apply(self, operation: TensorOperation, *inputs: TensorNode) -> Tensor:
        return Tensor(self._lazy.graph.add(operation, inputs))


def execute(tensors: Iterable[Tensor]) -> None:
    """Compute several tensors together; nodes that they share are computed once."""
    by_graph: dict[LazyGraph, list[LazyNode]] = {}
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise InvalidOperation(f"values to execute must be tensors, got {shown(tensor)}")
        tensor._require_thread()
        by_graph.setdefault(tensor.graph, []).append(tensor._lazy)
    for graph, nodes in by_graph.items():
        compute(lazy_device(graph.device), nodes)


def _tensor_of(node: LazyNode) -> Tensor:
    """Return the tensor of a node: the existing one, if any."""
    found = node.tensor() if node.tensor is not None else None
    return found if isinstance(found, Tensor) else Tensor(node)


def _owner_of(node: LazyNode) -> Tensor | None:
    """Return the tensor whose `grad` a leaf's gradient counts for: it was the leaf's, and still requires a gradient."""
    for reference in (node.tensor, node.successor):
        owner = reference() if reference is not None else None
        if isinstance(owner, Tensor) and owner.requires_grad:
            return owner
    return None


def _require_differentiable(type_: TensorType, requires_grad: bool) -> None:
    if requires_grad and type_.dtype not in FLOATS:
        raise InvalidOperation(f"tensor must have floats to have a gradient, got {type_.dtype}")


def _remark(node: TensorNode) -> str:
    return "computed" if isinstance(node, LazyNode) and node.value is not None else ""


def _element_type(dtype: object) -> DType:
    if not isinstance(dtype, DType):
        raise InvalidOperation(f"dtype must be an element type such as f32, got {shown(dtype)}")
    return dtype


def _shape(sizes: Sequence[int]) -> Shape:
    shape = whole_numbers("sizes of a shape", sizes)
    if any(size < 1 for size in shape):
        raise ShapeMismatch(f"sizes of a shape must be at least 1, got {list(shape)}")
    return shape


def _seed(seed: int) -> int:
    if not 0 <= whole_number("seed", seed) < 1 << 32:
        raise InvalidOperation(f"seed must be at least 0 and below 2**32, got {seed}")
    return seed
