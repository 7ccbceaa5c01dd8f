"""`NetworkBuilder`: defines a network's inputs and weights, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, TensorOperation
from warploom.engine.tensor_ir.networks.initialisations import FirstWeights, Initialisation, Normal
from warploom.engine.tensor_ir.networks.optimiser_options import DECAY, FROZEN, LIMITS, UPDATES
from warploom.engine.tensor_ir.networks.schedules import CONSTANT, Schedule, require_schedule
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.passes.verification import verify_nodes
from warploom.engine.tensor_ir.types import FLOATS, TensorType, real_number, whole_number
from warploom.engine.types import DType, Shape, f32, f64

#: The name of the variable, f64[], that holds the number of steps done.
STEP = "step"
#: Names of variables that training adds.
RESERVED = frozenset({"loss", STEP, "rate", "clip_norm", DECAY, FROZEN, UPDATES, *LIMITS, "batches", "order", "losses"})


@dataclass(frozen=True)
class AffineLayer:
    """A layer: weights [outputs, inputs] times a column, plus a bias [outputs, 1]."""

    weights: TensorNode
    bias: TensorNode

    def forward(self, inputs: TensorNode) -> TensorNode:
        """Apply the layer to a column [inputs, 1], dense or sparse; the result is [outputs, 1]."""
        return self.weights @ inputs + self.bias

    def slice(self, start: int, end: int) -> AffineLayer:
        """Return a layer of the outputs from `start` up to `end` alone, which shares these weights."""
        return AffineLayer(self.weights[start:end], self.bias[start:end])


def affine_names(name: str) -> tuple[str, str]:
    """Return the names of an affine layer's weights and bias."""
    return f"{name}w", f"{name}b"


class _Graph(TensorGraph):
    """The nodes of a network that will run on a device."""

    needs_elements = True


class NetworkBuilder:
    """Collects a network: its inputs, its weights, and its computations.

    Unless `root` is set, the node created last is the root: the loss that training minimises. A network that isn't
    trained may have a root of any shape, which is its output. All tensors have the element type `dtype`.
    """

    def __init__(self, *, dtype: DType = f32, seed: int = 0) -> None:
        if dtype not in FLOATS:
            known = ", ".join(map(str, FLOATS))
            raise InvalidOperation(f"element type must be one of {known}, got {dtype!r}")
        if whole_number("seed", seed) < 0:
            raise InvalidOperation(f"seed must be 0 or more, got {seed}")
        self.dtype = dtype
        self._seed = seed
        self._graph = _Graph()
        #: The inputs, and the weights, frozen ones included.
        self.inputs: dict[str, TensorNode] = {}
        self.trained: dict[str, TensorNode] = {}
        #: Arrays that are neither trained nor saved.
        self.constants: dict[str, TensorNode] = {}
        #: The recipes for initial weights and for constants; they are not evaluated yet.
        self.initial: dict[str, FirstWeights] = {}
        #: Numbers that can be set, and the number of the step if a schedule uses it, f64[]; and their initial values.
        self.numbers: dict[str, TensorNode] = {}
        self.first_numbers: dict[str, float] = {}
        #: Nodes that can be read after training steps.
        self.kept: dict[str, TensorNode] = {}
        self._root: TensorNode | None = None

    def dense_input(self, name: str, shape: Sequence[int], *, batched: bool = True) -> TensorNode:
        """Add an input of this shape, with one value per example, or with `batched=False` one for all examples."""
        return self._input(name, TensorType(self._shape(name, shape), self.dtype, batched))

    def sparse_input(self, name: str, shape: Sequence[int], nnz: int) -> TensorNode:
        """Add an input column [n, 1] of zeros and at most `nnz` ones, given as row numbers, s32[nnz], up to -1."""
        shape = self._shape(name, shape)
        if len(shape) != 2 or shape[1] != 1:
            raise InvalidOperation(f"sparse input {name!r} must be a column [n, 1], got {list(shape)}")
        nnz = whole_number(f"nnz of sparse input {name!r}", nnz)
        if not 1 <= nnz <= shape[0]:
            raise InvalidOperation(f"nnz of sparse input {name!r} must be from 1 to {shape[0]}, got {nnz}")
        return self._input(name, TensorType(shape, self.dtype, True, nnz))

    def weights(
        self,
        name: str,
        shape: Sequence[int],
        init: Initialisation = "he_normal",
        *,
        frozen: bool = False,
        fan_in: int | None = None,
    ) -> TensorNode:
        """Add weights, which training changes unless they are `frozen`; `init` has their initial values.

        `init` is a name of `INITIALISATIONS`, `Normal(deviation)`, a number, or an array. With a name, `fan_in` is the
        number of inputs to compute with, by default that of the shape: of a sparse column's 768 inputs, 32 may be 1.
        """
        type_ = TensorType(self._shape(name, shape), self.dtype)
        self.initial[name] = FirstWeights.of(name, type_.shape, init, self._seed, fan_in)
        node = self._graph.add(Leaf(type_), name=name, requires_grad=not frozen)
        self.trained[name] = node
        return node

    def constant(self, name: str, values: Initialisation, shape: Sequence[int] | None = None) -> TensorNode:
        """Add an array that is neither trained nor saved in files of weights. The default shape is that of `values`.

        `values` are as those of `weights`.
        """
        if shape is None:
            try:
                shape = () if isinstance(values, Normal) else np.shape(values)
            except ValueError:  # rows of different lengths
                shape = ()
        type_ = TensorType(self._shape(name, shape), self.dtype)
        self.initial[name] = FirstWeights.of(name, type_.shape, values, self._seed)
        node = self.constants[name] = self._graph.add(Leaf(type_), name=name, requires_grad=False)
        return node

    def number(self, name: str, value: float, schedule: Schedule = CONSTANT) -> TensorNode:
        """Add a number that can be set between steps: `value` times the schedule's factor, in the network's type.

        The schedule goes on with each training step, also within a launch. An example is the part of a target that is
        a game's result, and not a search's score: `number("blend", 0.5, Linear(10000, final=1.0, first=0.0))`.
        """
        self._check_new(name)
        self.first_numbers[name] = real_number(f"number {name!r}", value)
        require_schedule("schedule", schedule)
        if STEP not in self.numbers:
            self.numbers[STEP] = self._number(STEP)
        leaf = self.numbers[name] = self._number(name)
        return (leaf * schedule.factor(self.numbers[STEP])).cast(self.dtype)

    def _number(self, name: str) -> TensorNode:
        return self._graph.add(Leaf(TensorType((), f64)), name=name, requires_grad=False)

    def affine(
        self,
        name: str,
        inputs: int,
        outputs: int,
        init: Initialisation = "he_normal",
        bias: Initialisation = "zeros",
        *,
        frozen: bool = False,
        fan_in: int | None = None,
    ) -> AffineLayer:
        """Add the weights of an affine layer: NAMEw [outputs, inputs] and NAMEb [outputs, 1].

        `init`, `frozen` and `fan_in` are those of `weights`.
        """
        weights_name, bias_name = affine_names(name)
        weights = self.weights(weights_name, (outputs, inputs), init, frozen=frozen, fan_in=fan_in)
        return AffineLayer(weights, self.weights(bias_name, (outputs, 1), bias, frozen=frozen))

    def apply(self, operation: TensorOperation, *inputs: TensorNode) -> TensorNode:
        """Apply an operation, which may be your own; see `TensorOperation`."""
        return self._graph.add(operation, inputs)

    def keep(self, name: str, node: TensorNode) -> TensorNode:
        """Name a node, so that its value can be read after each step even if it is fused. Return the node."""
        self._check_new(name)
        self._check_node("node to keep", node)
        self.kept[name] = node
        return node

    @property
    def root(self) -> TensorNode:
        """The loss or the output. Raise InvalidOperation when nothing is computed."""
        if self._root is not None:
            return self._root
        for node in reversed(self._graph.nodes):
            if node.inputs:
                return node
        raise InvalidOperation("network must compute something, got inputs and weights alone")

    @root.setter
    def root(self, node: TensorNode) -> None:
        self._check_node("root", node)
        self._root = node

    def checked_root(self, *, is_trained: bool) -> TensorNode:
        """Verify the network and return its root.

        Raise InvalidOperation, with the node's name, for a sparse root, or if it `is_trained` and not one number.
        """
        root = self.root
        verify_nodes([root, *self.kept.values()], "building")
        where = f" ({root.origin})" if root.origin else ""
        if root.type.nnz is not None:
            raise InvalidOperation(f"root must be dense, got {root!r}{where}")
        if is_trained and root.type.size != 1:
            raise InvalidOperation(f"root must be one number, got {root!r}{where}; reduce it with sum() or mean()")
        return root

    def _input(self, name: str, type_: TensorType) -> TensorNode:
        node = self.inputs[name] = self._graph.add(Leaf(type_), name=name, requires_grad=False)
        return node

    def _shape(self, name: str, shape: Sequence[int]) -> Shape:
        """Return the shape of a new leaf. Raise InvalidOperation when its name or a size is wrong."""
        self._check_new(name)
        try:
            sizes = tuple(map(index, shape))
        except TypeError:
            sizes = (0,)
        if min(sizes, default=1) < 1:
            given = list(shape) if isinstance(shape, Iterable) else shape
            raise InvalidOperation(f"sizes of {name!r} must be whole numbers, 1 or more, got {shown(given)}")
        return sizes

    def _check_node(self, subject: str, node: object) -> None:
        if not isinstance(node, TensorNode) or node.graph is not self._graph:
            raise InvalidOperation(f"{subject} must be a node of this builder, got {shown(node)}")

    def _check_new(self, name: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidOperation(f"name must be an identifier, got {name!r}")
        if name in RESERVED:
            raise InvalidOperation(f"name must not be one of {', '.join(sorted(RESERVED))}, got {name!r}")
        if name in {*self.inputs, *self.trained, *self.constants, *self.numbers, *self.kept}:
            raise InvalidOperation(f"name must be new, got {name!r} again")
