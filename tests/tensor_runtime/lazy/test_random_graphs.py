"""Random graphs that are computed lazily, in any order, equal numpy, which computes each operation at once."""

from __future__ import annotations

from functools import reduce
from operator import add
from random import Random

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.tensor_runtime.lazy.conftest import Work
from warploom.engine.device.protocol import Memory
from warploom.engine.runtime.memory.buffer_pool import BufferPool
from warploom.engine.tensor_ir.ordering import topological_order
from warploom.engine.tensor_runtime.lazy.execution import find_segments
from warploom.engine.types import Array
from warploom.tensors import Tensor, execute

SIZES = (1, 2, 3, 5)


class Pair:
    """A tensor, and the array that it should equal."""

    def __init__(self, tensor: Tensor, array: Array) -> None:
        self.tensor, self.array = tensor, array

    def check(self) -> None:
        """Compute the tensor, and compare it."""
        found = self.tensor.numpy()
        assert found.shape == self.array.shape == self.tensor.shape
        assert found.dtype == self.array.dtype
        np.testing.assert_allclose(found, self.array, rtol=1e-9, atol=1e-9)


def leaf(choose: Random, on: str) -> Pair:
    """Return a leaf of a random shape, of up to three axes."""
    shape = tuple(choose.choice(SIZES) for _ in range(choose.randrange(4)))
    array = np.random.default_rng(choose.randrange(10**6)).normal(size=shape)
    return Pair(Tensor.from_numpy(array, device=on), array)


def grown(choose: Random, pairs: list[Pair], on: str) -> Pair:
    """Return a random operation on some of the pairs."""
    a, b = choose.choice(pairs), choose.choice(pairs)
    x, number = a.array, choose.choice([-1.5, 0.25, 2.0])
    axes = range(x.ndim)
    kind = choose.choice(
        [
            "binary",
            "binary",
            "binary",
            "number",
            "unary",
            "unary",
            "sum",
            "mean",
            "max",
            "reshape",
            "transpose",
            "matmul",
            "where",
            "leaf",
            "slice",
            "concat",
        ]
    )
    if kind == "number":
        return choose.choice(
            [
                Pair(a.tensor * number, x * number),
                Pair(number - a.tensor, number - x),
                Pair(a.tensor / (number * 2), x / (number * 2)),
            ]
        )
    if kind in ("binary", "where"):
        try:
            np.broadcast_shapes(x.shape, b.array.shape)
        except ValueError:
            return Pair(-a.tensor, -x)
        y = b.array
        if kind == "where":
            return Pair(a.tensor.less(b.tensor).where(a.tensor, b.tensor * 2), np.where(x < y, x, y * 2))
        return choose.choice(
            [
                Pair(a.tensor + b.tensor, x + y),
                Pair(a.tensor - b.tensor, x - y),
                Pair(a.tensor.sigmoid() * b.tensor, y / (1 + np.exp(-x))),
                Pair(a.tensor.maximum(b.tensor), np.maximum(x, y)),
                Pair(a.tensor.minimum(b.tensor), np.minimum(x, y)),
            ]
        )
    if kind == "unary":
        return choose.choice(
            [
                Pair(a.tensor.tanh(), np.tanh(x)),
                Pair(abs(a.tensor), np.abs(x)),
                Pair(a.tensor.relu(), np.maximum(x, 0)),
                Pair((-abs(a.tensor)).exp(), np.exp(-np.abs(x))),
                Pair(a.tensor.sin(), np.sin(x)),
            ]
        )
    if kind in ("sum", "mean", "max"):
        axis = tuple(choose.sample(axes, choose.randint(0, x.ndim))) or None
        keepdims = choose.random() < 0.5
        reduced = getattr(a.tensor, kind)(axis=axis, keepdims=keepdims)
        return Pair(reduced, np.asarray(getattr(x, kind)(axis=axis, keepdims=keepdims)))
    if kind == "reshape":
        shape = choose.choice([(-1,), (1, -1), (-1, 1), x.shape[::-1]])
        return Pair(a.tensor.reshape(shape), x.reshape(shape))
    if kind == "transpose" and x.ndim > 1:
        last = choose.randint(2, x.ndim)
        turned = choose.sample(range(last), last)
        kept = x.ndim - last
        return Pair(a.tensor.transpose(turned), x.transpose(*range(kept), *(kept + axis for axis in turned)))
    if kind == "matmul" and x.ndim > 1:
        right = np.random.default_rng(choose.randrange(10**6)).normal(size=(x.shape[-1], choose.choice(SIZES))) / 4
        return Pair(a.tensor @ Tensor.from_numpy(right, device=on), x @ right)
    if kind == "slice" and x.ndim:
        start = choose.randrange(x.shape[0])
        return Pair(a.tensor[start:], x[start:])
    if kind == "concat" and x.ndim:
        axis = choose.choice(axes)
        return Pair(a.tensor.concat(a.tensor * 2, axis=axis), np.concatenate([x, x * 2], axis))
    return leaf(choose, on)


def combined(choose: Random, pairs: list[Pair]) -> Pair:
    """Return a random operation on matrices, columns, rows and numbers of size 8, whose values stay small."""
    a, b = choose.choice(pairs), choose.choice(pairs)
    x, y, axis, number = a.array, b.array, choose.randrange(2), choose.random()
    match choose.randrange(8):
        case 0:
            return Pair((a.tensor * number).tanh(), np.tanh(x * number))
        case 1:
            return Pair(a.tensor.mean(axis=axis, keepdims=True), x.mean(axis=axis, keepdims=True))
        case 2:
            return Pair(a.tensor.transpose((1, 0)), x.T)
        case 3 if x.shape[1] == y.shape[0]:
            return Pair((a.tensor @ b.tensor).tanh(), np.tanh(x @ y))
        case 4:
            return Pair(a.tensor.less(b.tensor).where(a.tensor, b.tensor), np.where(x < y, x, y))
        case 5:
            turned = x.shape[::-1]
            return Pair(a.tensor.reshape(turned), x.reshape(turned))
        case 6:
            return Pair(a.tensor.max(axis, keepdims=True), x.max(axis, keepdims=True))
        case _:
            return Pair((a.tensor - b.tensor).sin(), np.sin(x - y))


def test_a_large_random_graph(on: str, work: Work) -> None:
    """In a large random graph, the number of programs depends on the kinds of operations, not on their number."""
    choose = Random(17)
    random = np.random.default_rng(17)
    pairs = []
    for shape in ((8, 8), (8, 1), (1, 8), (1, 1)):
        array = random.normal(size=shape)
        pairs.append(Pair(Tensor.from_numpy(array, device=on), array))
    made, kinds = [], set[object]()
    for _ in range(2):
        for _ in range(1200):
            pairs.append(combined(choose, pairs))
            if len(pairs) > 24:
                pairs.pop(choose.randrange(len(pairs)))
        kinds.update(
            (type(node.operation), *[other.type for other in node.inputs])
            for pair in pairs
            for node in topological_order([pair.tensor._node()], lambda node: node.value is not None)
        )
        total = Pair(reduce(add, [pair.tensor.sum() for pair in pairs]), sum(pair.array.sum() for pair in pairs))
        total.check()
        made.append(work.made)
    assert made[1] <= 3 * len(kinds)
    for pair in pairs:
        pair.check()


@pytest.fixture(autouse=True)
def is_poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill memory that need not be zeroed with NaN."""
    acquire = BufferPool.acquire

    def poisoned(pool: BufferPool, size_bytes: int, *, exact: bool = False, zeroed: bool = True) -> Memory:
        memory = acquire(pool, size_bytes, exact=exact, zeroed=zeroed)
        if not zeroed:
            pool._device.synchronize()
            pool._device.fill(memory, 0xFF)
        return memory

    monkeypatch.setattr(BufferPool, "acquire", poisoned)


@pytest.mark.parametrize("seed", seeds(8))
@pytest.mark.parametrize("longest", [1000, 3])
def test_random_graphs_computed_in_random_order(
    on: str, seed: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results equal numpy's although some tensors are computed early and some are dropped."""
    monkeypatch.setattr(find_segments, "__defaults__", (longest,))
    choose = Random(seed)
    pairs = [leaf(choose, on) for _ in range(3)]
    for _ in range(choose.randint(10, 40)):
        pairs.append(grown(choose, pairs, on))
        act = choose.random()
        if act < 0.1:
            choose.choice(pairs).check()
        elif act < 0.15:
            execute([pair.tensor for pair in choose.sample(pairs, min(4, len(pairs)))])
        elif act < 0.3 and len(pairs) > 4:
            pairs.pop(choose.randrange(len(pairs)))
    choose.shuffle(pairs)
    for pair in pairs:
        pair.check()
    for pair in pairs:
        pair.check()
