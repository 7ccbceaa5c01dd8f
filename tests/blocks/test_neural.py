"""Layers of networks as blocks, and a small network of several layers."""

from typing import Any

import numpy as np
import pytest
import scipy
from scipy import special

from tests.blocks.running import apply, problems, run
from warploom import Patch
from warploom.engine.types import Array


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_a_small_network_is_its_definition() -> None:
    """Convolution with bias and ReLU, pooling, a second convolution and softmax equal their definitions."""
    x, first, bias, second = numbers(1, 1, 28, 28), numbers(4, 1, 5, 5), numbers(4), numbers(10, 4, 12, 12)
    patch = Patch()
    layers = [
        patch.add("neural.convolution", relu=True),
        patch.add("neural.pool"),
        patch.add("neural.convolution"),
        patch.add("neural.softmax", axis=1),
    ]
    last = patch.add("io.array", data=x)
    for layer in layers:
        patch.connect(last["out"], layer["x"])
        last = layer
    patch.connect(patch.add("io.array", data=first)["out"], layers[0]["weights"])
    patch.connect(patch.add("io.array", data=bias)["out"], layers[0]["bias"])
    patch.connect(patch.add("io.array", data=second)["out"], layers[2]["weights"])
    seen = (
        np.array([scipy.signal.correlate2d(x[0, 0], kernel, mode="valid") for kernel in first[:, 0]])
        + bias[:, None, None]
    )
    pooled = np.maximum(seen, 0).reshape(4, 12, 2, 12, 2).max((2, 4))
    scores = (second * pooled).sum((1, 2, 3), dtype=float)
    (found,) = run(patch, last["out"])
    np.testing.assert_allclose(found[0, :, 0, 0], special.softmax(scores), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [1, 7, 255, 256, 257, 1027])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rows_are_normalised(size: int, dtype: Any) -> None:
    """Rows of sizes around a thread block's, far from 0, are normalised right, with and without scale and bias."""
    x = (numbers(3, 2, size) + 1000).astype(dtype)
    scale, bias = numbers(size).astype(dtype), numbers(size + 1)[1:].astype(dtype)
    wide = x.astype(float)
    expected = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 2**-7)
    rounding = {"atol": 16 * np.finfo(dtype).eps, "rtol": 2 * np.finfo(dtype).eps}
    np.testing.assert_allclose(apply("neural.layer_norm", {"x": x}, epsilon=2**-7), expected, **rounding)
    both = apply("neural.layer_norm", {"x": x, "scale": scale, "bias": bias}, epsilon=2**-7)
    np.testing.assert_allclose(both, expected * scale.astype(float) + bias.astype(float), **rounding)


def test_a_nan_stays_in_its_row() -> None:
    """A NaN makes its whole row NaN, and the other rows, each of equal numbers, become 0."""
    x = np.full((3, 300), 7, np.float32)
    x[1, 299] = np.nan
    found = apply("neural.layer_norm", {"x": x})
    assert np.isnan(found[1]).all() and (found[[0, 2]] == 0).all()


def test_batch_norm_takes_its_numbers_from_ports() -> None:
    """Each channel is normalised with the mean, variance, scale and bias at the ports."""
    x = numbers(2, 3, 5, 4)
    given = {"mean": numbers(3), "variance": numbers(3) ** 2, "scale": numbers(3), "bias": numbers(3)}
    each = {name: array[:, None, None].astype(float) for name, array in given.items()}
    expected = (x - each["mean"]) / np.sqrt(each["variance"] + 1e-5) * each["scale"] + each["bias"]
    np.testing.assert_allclose(apply("neural.batch_norm", {"x": x, **given}), expected, rtol=1e-4, atol=1e-5)


def test_weights_that_dont_fit_are_refused_at_their_port() -> None:
    """Weights and scales that don't fit are refused at their port, with the right shape in the message."""
    patch = Patch()
    node = patch.add("neural.convolution")
    patch.connect(patch.add("io.array", data=numbers(1, 3, 9, 9))["out"], node["x"])
    patch.connect(patch.add("io.array", data=numbers(2, 4, 3, 3))["out"], node["weights"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "weights") and "must have 3 / 1 channels" in text
    patch = Patch()
    norm = patch.add("neural.layer_norm")
    patch.connect(patch.add("io.array", data=numbers(4, 9))["out"], norm["x"])
    patch.connect(patch.add("io.array", data=numbers(8))["out"], norm["scale"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (norm.id, "scale") and "[9]" in text
