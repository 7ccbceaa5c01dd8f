"""Layers of neural networks by numpy; f16 is computed as f32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from warploom.engine.libraries.dnn import BatchNormalization, Convolution, HeightWidth, Pooling, Softmax
from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.types import Array


def convolution(call: Convolution, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Add up a matrix product for each position in the window: the weights there by the elements there."""
    out, weights = arrays["out"], arrays["weights"].astype(np.float32, copy=False)
    n, made, height, width = out.shape
    groups, (taken, *window) = call.groups, weights.shape[1:]
    shared = weights.reshape(groups, made // groups, taken, *window)
    total = np.zeros((n, groups, made // groups, height * width), np.float32)
    x = _padded(arrays["x"], call.padding, 0)
    for row, column, seen in _places(x, (window[0], window[1]), call.stride, call.dilation, (height, width)):
        total += shared[..., row, column] @ seen.reshape(n, groups, taken, height * width)
    total = total.reshape(out.shape)
    if "bias" in arrays:
        total += arrays["bias"].astype(np.float32, copy=False)[:, None, None]
    out[...] = np.maximum(total, 0) if call.relu else total


def pooling(call: Pooling, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Compare or add up the elements at each position of the window."""
    out = arrays["out"]
    x = _padded(arrays["x"], call.padding, 0 if call.average else -np.inf)
    size = (out.shape[2], out.shape[3])
    total = np.full(out.shape, 0 if call.average else -np.inf, np.float32)
    for _, _, seen in _places(x, call.window, call.stride, (1, 1), size):
        (np.add if call.average else np.maximum)(total, seen, out=total)
    if call.average:
        there = _padded(np.ones((1, 1, *arrays["x"].shape[2:]), np.float32), call.padding, 0)
        total /= sum(seen for _, _, seen in _places(there, call.window, call.stride, (1, 1), size))
    out[...] = total


def softmax(call: Softmax, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Softmax, or its logarithm."""
    function = special.log_softmax if call.log else special.softmax
    arrays["out"][...] = function(arrays["x"].astype(np.float32, copy=False), axis=call.axis)


def batch_normalization(call: BatchNormalization, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Shift and scale each channel."""
    x = arrays["x"].astype(np.float32, copy=False)
    each = (-1,) + (1,) * (x.ndim - 2)
    mean, variance, scale, bias = (arrays[slot].reshape(each) for slot in call.inputs[1:])
    arrays["out"][...] = (x - mean) * (scale / np.sqrt(variance + np.float32(call.epsilon))) + bias


def _padded(x: Array, padding: HeightWidth, value: float) -> Array:
    x = x.astype(np.float32, copy=False)
    sides = ((0, 0), (0, 0), *((pad, pad) for pad in padding))
    return np.pad(x, sides, constant_values=value) if any(padding) else x


def _places(
    x: Array, window: HeightWidth, stride: HeightWidth, dilation: HeightWidth, size: HeightWidth
) -> Iterator[tuple[int, int, Array]]:
    """Yield each position in a window, with the elements of x there for all places of the window, [n, c, *size]."""
    spans = [(n - 1) * step + 1 for n, step in zip(size, stride, strict=True)]
    for row in range(window[0]):
        for column in range(window[1]):
            top, left = row * dilation[0], column * dilation[1]
            yield row, column, x[:, :, top : top + spans[0] : stride[0], left : left + spans[1] : stride[1]]


FUNCTIONS = {
    Convolution: convolution,
    Pooling: pooling,
    Softmax: softmax,
    BatchNormalization: batch_normalization,
}
