"""Networks for tests of training, and their examples."""

from __future__ import annotations

import numpy as np

from tests.tensor_ir.networks.examples import write_seeds_example
from warploom.engine.tensor_runtime.training import GraphBuilder
from warploom.engine.types import Array, DType, f32


def regression(dtype: DType = f32) -> GraphBuilder:
    """Return a network of two layers that keeps "hidden"."""
    builder = GraphBuilder(dtype=dtype, seed=1)
    x, y = builder.dense_input("x", (4, 1)), builder.dense_input("y", (2, 1))
    hidden = builder.keep("hidden", builder.affine("a", 4, 3).forward(x).tanh())
    (builder.affine("b", 3, 2).forward(hidden) - y).square().sum()
    return builder


def examples(count: int, seed: int = 0) -> dict[str, Array]:
    """Return examples for the network above."""
    random = np.random.default_rng(seed)
    return {"x": random.normal(size=(count, 4, 1)), "y": random.normal(size=(count, 2, 1))}


def seeds_example() -> GraphBuilder:
    """Return the network of the seed's description."""
    return write_seeds_example(GraphBuilder())


def positions(count: int, seed: int = 0) -> dict[str, Array]:
    """Return examples for that network: 3 to 32 of 768 rows each, with -1 where there are fewer."""
    random = np.random.default_rng(seed)
    inputs = np.full((count, 32), -1, np.int32)
    for row in inputs:
        size = random.integers(3, 33)
        row[:size] = random.choice(768, size, replace=False)
    return {"inputs": inputs, "targets": random.uniform(size=(count, 1, 1))}
