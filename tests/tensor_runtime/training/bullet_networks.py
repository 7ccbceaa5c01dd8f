"""The networks of bullet's examples, by a builder, and as functions of arrays that numpy and torch run alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzzing import FACTOR
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.losses import sigmoid_squared_error, softmax_cross_entropy
from warploom.engine.types import Array

#: Whether networks have their published sizes: otherwise an eighth of the units, and fewer buckets of inputs.
IS_PUBLISHED = FACTOR > 1
#: The rows of one perspective, the most pieces on them, and the numbers of buckets of inputs and outputs.
ROWS, PIECES, INPUT_BUCKETS, OUTPUT_BUCKETS = 768, 32, 10 if IS_PUBLISHED else 2, 8


@dataclass(frozen=True)
class Example:
    """A network of this width, written by `build`, and its loss for one batch, `loss(xp, weights, inputs)`.

    `xp` is numpy or torch.
    """

    name: str
    width: int
    build: Callable[[NetworkBuilder, int], object]
    loss: Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Any]


def examples_of(builder: NetworkBuilder, count: int, seed: int = 0) -> dict[str, Array]:
    """Return random examples for the inputs of a network: rows, buckets, and numbers from 0 to 1."""
    random = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for name, node in builder.inputs.items():
        if node.type.nnz is None:
            found[name] = random.random((count, *node.type.shape))
            continue
        rows = np.full((count, node.type.nnz), -1, np.int32)
        for row in rows:
            used = random.integers(1, node.type.nnz + 1)
            row[:used] = random.choice(node.type.shape[0], used, replace=False)
        found[name] = rows
    return found


def ones_at(xp: Any, rows: Any, size: int) -> Any:
    """Return sparse columns as a dense matrix [batch, size]."""
    return (rows[:, :, None] == xp.arange(size)).sum(1) + xp.zeros(size, dtype=xp.float64)


def layer(x: Any, weights: Mapping[str, Any], name: str) -> Any:
    return x @ weights[f"{name}w"].T + weights[f"{name}b"][:, 0]


def screlu(xp: Any, x: Any) -> Any:
    return xp.clip(x, 0, 1) ** 2


def pairwise(xp: Any, x: Any) -> Any:
    half = x.shape[1] // 2
    clipped = xp.clip(x, 0, 1)
    return clipped[:, :half] * clipped[:, half:]


def chosen(xp: Any, x: Any, bucket: Any) -> Any:
    """Return the group of each row of x that its bucket names."""
    groups = x.reshape(len(x), OUTPUT_BUCKETS, -1)
    return groups[xp.arange(len(x)), bucket[:, 0]]


def squared(xp: Any, out: Any, inputs: Mapping[str, Any]) -> Any:
    """Return the mean over the batch of (sigmoid(out) - target) ** 2."""
    return ((1 / (1 + xp.exp(-out)) - inputs["targets"][:, :, 0]) ** 2).mean()


def perspectives(builder: NetworkBuilder, rows: int) -> tuple[TensorNode, TensorNode, TensorNode]:
    """Add both sides' inputs, and the target."""
    stm, ntm = (builder.sparse_input(name, (rows, 1), PIECES) for name in ("stm", "ntm"))
    return stm, ntm, builder.dense_input("targets", (1, 1))


def build_simple(builder: NetworkBuilder, width: int) -> None:
    stm, ntm, targets = perspectives(builder, ROWS)
    l0, l1 = builder.affine("l0", ROWS, width), builder.affine("l1", 2 * width, 1)
    hidden = l0.forward(stm).screlu().concat(l0.forward(ntm).screlu())
    builder.root = sigmoid_squared_error(l1.forward(hidden), targets)


def simple(xp: Any, weights: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    sides = [screlu(xp, layer(ones_at(xp, inputs[side], ROWS), weights, "l0")) for side in ("stm", "ntm")]
    return squared(xp, layer(xp.hstack(sides), weights, "l1"), inputs)


def build_output_buckets(builder: NetworkBuilder, width: int) -> None:
    stm, ntm, targets = perspectives(builder, ROWS)
    bucket = builder.sparse_input("bucket", (OUTPUT_BUCKETS, 1), 1)
    l0, l1 = builder.affine("l0", ROWS, width), builder.affine("l1", 2 * width, OUTPUT_BUCKETS)
    hidden = l0.forward(stm).screlu().concat(l0.forward(ntm).screlu())
    builder.root = sigmoid_squared_error(l1.forward(hidden).select(bucket), targets)


def output_buckets(xp: Any, weights: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    sides = [screlu(xp, layer(ones_at(xp, inputs[side], ROWS), weights, "l0")) for side in ("stm", "ntm")]
    return squared(xp, chosen(xp, layer(xp.hstack(sides), weights, "l1"), inputs["bucket"]), inputs)


def factorised(builder: NetworkBuilder, width: int) -> Any:
    """Return the layer whose weights are those of each input bucket plus those that all buckets share."""
    shared = builder.weights("l0f", (width, 1, ROWS), "normal")
    copies = shared * builder.constant("ones", 1.0, (1, INPUT_BUCKETS, 1))
    l0 = builder.affine("l0", ROWS * INPUT_BUCKETS, width)
    total = l0.weights + copies.reshape(width, ROWS * INPUT_BUCKETS)
    return lambda side: total @ side + l0.bias


def merged(xp: Any, weights: Mapping[str, Any]) -> Any:
    return weights["l0w"] + xp.hstack([weights["l0f"][:, 0]] * INPUT_BUCKETS)


def build_input_buckets(builder: NetworkBuilder, width: int) -> None:
    stm, ntm, targets = perspectives(builder, ROWS * INPUT_BUCKETS)
    bucket = builder.sparse_input("bucket", (OUTPUT_BUCKETS, 1), 1)
    l0, l1 = factorised(builder, width), builder.affine("l1", 2 * width, OUTPUT_BUCKETS)
    hidden = l0(stm).screlu().concat(l0(ntm).screlu())
    builder.root = sigmoid_squared_error(l1.forward(hidden).select(bucket), targets)


def input_buckets(xp: Any, weights: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    first = {"l0w": merged(xp, weights), "l0b": weights["l0b"]}
    size = ROWS * INPUT_BUCKETS
    sides = [screlu(xp, layer(ones_at(xp, inputs[side], size), first, "l0")) for side in ("stm", "ntm")]
    return squared(xp, chosen(xp, layer(xp.hstack(sides), weights, "l1"), inputs["bucket"]), inputs)


def build_multi_layer(builder: NetworkBuilder, width: int) -> None:
    stm, ntm, targets = perspectives(builder, ROWS * INPUT_BUCKETS)
    bucket = builder.sparse_input("bucket", (OUTPUT_BUCKETS, 1), 1)
    l0 = factorised(builder, width)
    l1 = builder.affine("l1", width, OUTPUT_BUCKETS * 16)
    l2, l3 = builder.affine("l2", 16, OUTPUT_BUCKETS * 32), builder.affine("l3", 32, OUTPUT_BUCKETS)
    sides = [l0(side).crelu() for side in (stm, ntm)]
    products = [side[: width // 2] * side[width // 2 :] for side in sides]
    hidden = l1.forward(products[0].concat(products[1])).select(bucket).screlu()
    hidden = l2.forward(hidden).select(bucket).screlu()
    builder.root = sigmoid_squared_error(l3.forward(hidden).select(bucket), targets)


def multi_layer(xp: Any, weights: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    first = {"l0w": merged(xp, weights), "l0b": weights["l0b"]}
    size, bucket = ROWS * INPUT_BUCKETS, inputs["bucket"]
    x = xp.hstack([pairwise(xp, layer(ones_at(xp, inputs[side], size), first, "l0")) for side in ("stm", "ntm")])
    for name in ("l1", "l2"):
        x = screlu(xp, chosen(xp, layer(x, weights, name), bucket))
    return squared(xp, chosen(xp, layer(x, weights, "l3"), bucket), inputs)


def build_mnist(builder: NetworkBuilder, width: int) -> None:
    inputs, targets = builder.dense_input("inputs", (28, 28)), builder.dense_input("targets", (10, 1))
    l0, l1 = builder.affine("l0", 28 * 28, width), builder.affine("l1", width, width)
    hidden = l1.forward(l0.forward(inputs.reshape(28 * 28, 1)).sigmoid()).sigmoid()
    builder.root = softmax_cross_entropy(builder.affine("l2", width, 10).forward(hidden), targets)


def mnist(xp: Any, weights: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    x = inputs["inputs"].reshape(-1, 28 * 28)
    for name in ("l0", "l1"):
        x = 1 / (1 + xp.exp(-layer(x, weights, name)))
    x = layer(x, weights, "l2")
    return (inputs["targets"][:, :, 0] * (xp.log(xp.exp(x).sum(1))[:, None] - x)).sum(1).mean()


TOKENS, TOKEN_SIZE = 12, 64


def build_attention(builder: NetworkBuilder, width: int) -> None:
    squares, targets = builder.dense_input("squares", (TOKEN_SIZE, TOKENS)), builder.dense_input("targets", (1, 1))
    pa, pb = builder.affine("pa", TOKEN_SIZE * TOKENS, 2 * width), builder.affine("pb", 2 * width, TOKENS**2)
    bias = pb.forward(pa.forward(squares.reshape(TOKEN_SIZE * TOKENS, 1)).relu()).reshape(TOKENS, TOKENS)
    q, k, v = (
        builder.weights(f"{name}w", (width, TOKEN_SIZE)) @ squares
        + builder.weights(f"{name}b", (width, TOKENS), "uniform")
        for name in "qkv"
    )
    mixed = (v @ (k.transpose((1, 0)) @ q + bias)).relu()
    tokens = (builder.weights("o1w", (1, width)) @ mixed + builder.weights("o1b", (1, TOKENS), "uniform")).relu()
    out = builder.affine("o2", TOKENS, 1).forward(tokens.reshape(TOKENS, 1))
    builder.root = sigmoid_squared_error(out, targets)


def attention(xp: Any, weights: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    x = inputs["squares"]
    bias = layer(xp.clip(layer(x.reshape(len(x), -1), weights, "pa"), 0, None), weights, "pb")
    q, k, v = (weights[f"{name}w"] @ x + weights[f"{name}b"] for name in "qkv")
    mixed = xp.clip(v @ (xp.swapaxes(k, 1, 2) @ q + bias.reshape(-1, TOKENS, TOKENS)), 0, None)
    tokens = xp.clip(weights["o1w"] @ mixed + weights["o1b"], 0, None)
    return squared(xp, layer(tokens[:, 0], weights, "o2"), inputs)


_SCALE = 1 if IS_PUBLISHED else 8
EXAMPLES = [
    Example("1_simple", 256 // _SCALE, build_simple, simple),
    Example("2_output_buckets", 512 // _SCALE, build_output_buckets, output_buckets),
    Example("3_input_buckets", 1024 // _SCALE, build_input_buckets, input_buckets),
    Example("4_multi_layer", 1024 // _SCALE, build_multi_layer, multi_layer),
    Example("mnist", 128 // _SCALE, build_mnist, mnist),
    Example("attention", 128 // _SCALE, build_attention, attention),
]
