"""Checks of gradients against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.types import FLOATS, TensorType
from warploom.engine.types import Array

Build = Callable[..., TensorNode]
#: Half the distance between the two points of a difference.
_STEP = 2e-5
#: The allowed error of a difference, relative to the largest gradient or to 1.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Given:
    """The value of a leaf."""

    type: TensorType
    value: Array

    @property
    def is_float(self) -> bool:
        """Whether the leaf has a gradient."""
        return self.type.dtype in FLOATS and self.type.nnz is None


def check_gradients(build: Build, given: Sequence[Given], *, order: int = 1) -> None:
    """Compare the gradients of the node that `build` returns with differences of its values.

    With an `order` of 2, compare the gradients' gradients too, also with respect to the seed.
    """
    graph = TensorGraph()
    leaves = [graph.add(Leaf(each.type), name=f"leaf{at}") for at, each in enumerate(given)]
    node = build(*leaves)
    values = {leaf: each.value for leaf, each in zip(leaves, given, strict=True)}
    (value,) = evaluate([node], values)
    seed = Given(node.type, np.random.default_rng(len(given)).uniform(0.5, 1.5, value.shape))
    seed_leaf = graph.add(Leaf(node.type), name="seed")
    wanted = [leaf for leaf, each in zip(leaves, given, strict=True) if each.is_float]
    found = gradients(node, wanted, seed_leaf)
    assert all(found[leaf].type == leaf.type for leaf in found)
    for leaf in wanted:
        expected = _differences(node, values, leaf, seed.value)
        got = (
            evaluate([found[leaf]], {**values, seed_leaf: seed.value})[0] if leaf in found else np.zeros_like(expected)
        )
        assert_close(got, expected)
    if order > 1:
        for at, leaf in enumerate(leaves):
            if leaf in found:
                check_gradients(_gradient_of(build, at), [*given, seed], order=order - 1)


def assert_close(got: Array, expected: Array) -> None:
    """Compare a gradient with differences."""
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE * scale)


def _gradient_of(build: Build, at: int) -> Build:
    """Return a function that computes a gradient from leaves and a seed."""

    def built(*leaves: TensorNode) -> TensorNode:
        *others, seed = leaves
        return gradients(build(*others), [others[at]], seed)[others[at]]

    return built


def _differences(node: TensorNode, values: dict[TensorNode, Array], leaf: TensorNode, seed: Array) -> Array:
    """Return the gradient, with respect to a leaf, of the sum of a node's elements times the seed's."""
    found = np.zeros(values[leaf].shape)
    for place in np.ndindex(found.shape):
        sums = []
        for step in (_STEP, -_STEP):
            moved = values[leaf].copy()
            moved[place] += step
            (value,) = evaluate([node], {**values, leaf: moved})
            sums.append(np.sum(value * seed))
        found[place] = (sums[0] - sums[1]) / (2 * _STEP)
    return found


def floats(
    rng: np.random.Generator,
    type_: TensorType,
    batch: int,
    *,
    low: float = -2,
    high: float = 2,
    kinks: Sequence[float] = (),
) -> Given:
    """Return random floats between two numbers, none of them near a kink."""
    value: npt.NDArray[np.float64] = rng.uniform(low, high, (*([batch] if type_.batched else []), *type_.shape))
    for kink in kinks:
        value = np.where(np.abs(value - kink) < 0.05, kink + 0.1, value)
    return Given(type_, np.asarray(value))
