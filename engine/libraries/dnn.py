"""Layers of neural networks, forward only; images are [n, channels, height, width], as in cuDNN and ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.matrices import common_type
from warploom.engine.types import DType, f16, f32
from warploom.engine.types.layout import Layout

#: The element types of the library; f16 is computed as f32 and rounded at the end.
NUMBERS: tuple[DType, ...] = (f16, f32)

HeightWidth = tuple[int, int]


class _Layer(LibraryCall):
    """The common part of the layers."""

    library = "dnn"
    outputs = ("out",)


@dataclass(frozen=True)
class Convolution(_Layer):
    """Each output channel is a sum over input channels, each cross-correlated with its own weights.

    x is [n, c, h, w], weights [k, c / groups, kh, kw], bias [k] or left out, out [n, k, oh, ow]. Beyond the border x is
    0 for `padding` elements on each side. Output channel i of k takes the input channels of its group only. All
    elements are f32 or f16, and summed in f32. With `relu`, negative results become 0.
    """

    stride: HeightWidth = (1, 1)
    padding: HeightWidth = (0, 0)
    dilation: HeightWidth = (1, 1)
    groups: int = 1
    relu: bool = False

    inputs = ("x", "weights", "bias")
    optional = frozenset({"bias"})

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the output channels."""
        dtype = common_type(inputs, self.inputs, NUMBERS)
        x, weights = (_dense(slot, inputs[slot], 4) for slot in ("x", "weights"))
        (n, channels, *size), (made, taken, *window) = x.shape, weights.shape
        if channels != taken * self.groups:
            text = (
                f"weights must have {channels} / {self.groups} channels, since the groups share those of x, got {taken}"
            )
            raise OperandError("weights", text)
        if made % self.groups:
            raise OperandError("weights", f"output channels must be a multiple of {self.groups} groups, got {made}")
        if "bias" in inputs and _dense("bias", inputs["bias"], 1).shape != (made,):
            raise OperandError("bias", f"bias must have an element for each of {made} channels, got {inputs['bias']}")
        wide = tuple([(n - 1) * step + 1 for n, step in zip(window, self.dilation, strict=True)])
        return {"out": Layout(dtype, (n, made, *_placed(size, wide, self.stride, self.padding)))}


@dataclass(frozen=True)
class Pooling(_Layer):
    """The largest element, or the mean, under a window that moves over each channel of x [n, c, h, w].

    Elements beyond the border don't count, up to half a window on each side. A NaN under the window gives NaN.
    """

    window: HeightWidth = (2, 2)
    stride: HeightWidth = (2, 2)
    padding: HeightWidth = (0, 0)
    average: bool = False

    inputs = ("x",)

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the pooled channels."""
        dtype = common_type(inputs, ("x",), NUMBERS)
        n, channels, *size = _dense("x", inputs["x"], 4).shape
        if any(2 * pad > wide for pad, wide in zip(self.padding, self.window, strict=True)):
            text = f"padding must be at most half of the window {list(self.window)}, got {list(self.padding)}"
            raise OperandError("x", text)
        return {"out": Layout(dtype, (n, channels, *_placed(size, self.window, self.stride, self.padding)))}


@dataclass(frozen=True)
class Softmax(_Layer):
    """exp(x) divided by its sum along an axis, or with `log` the logarithm of that; no finite x overflows."""

    axis: int = -1
    log: bool = False

    inputs = ("x",)

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of x."""
        dtype = common_type(inputs, ("x",), NUMBERS)
        shape = _dense("x", inputs["x"]).shape
        if not -len(shape) <= self.axis < len(shape):
            text = f"input must have an axis {self.axis}, got shape {list(shape)}"
            raise OperandError("x", text)
        return {"out": Layout(dtype, shape)}


@dataclass(frozen=True)
class BatchNormalization(_Layer):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, with one of these four numbers per channel of x.

    x [n, c, ...] is f32 or f16; the numbers are f32 [c], from training.
    """

    epsilon: float = 1e-5

    inputs = ("x", "mean", "variance", "scale", "bias")

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of x."""
        dtype = common_type(inputs, ("x",), NUMBERS)
        shape = _dense("x", inputs["x"]).shape
        if len(shape) < 2:
            raise OperandError("x", f"input must have 2 dimensions or more, got shape {list(shape)}")
        for slot in self.inputs[1:]:
            common_type(inputs, (slot,), (f32,))
            if _dense(slot, inputs[slot], 1).shape != shape[1:2]:
                raise OperandError(
                    slot, f"{slot} must have an element for each of {shape[1]} channels, got {inputs[slot]}"
                )
        return {"out": Layout(dtype, shape)}


def around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Return how many elements lie along the axes before `axis`, along it and along those after it."""
    axis %= len(shape)
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def _dense(slot: str, layout: Layout, rank: int | None = None) -> Layout:
    if rank is not None and len(layout.shape) != rank:
        noun = "dimension" if rank == 1 else "dimensions"
        raise OperandError(slot, f"{slot} must have {rank} {noun}, got shape {list(layout.shape)}")
    if layout.strides is not None:
        raise OperandError(slot, f"{slot} must have no gaps, got {layout}; put a Copy before it")
    return layout


def _placed(size: list[int], window: tuple[int, ...], stride: HeightWidth, padding: HeightWidth) -> tuple[int, ...]:
    """Return the number of positions of a window along each axis with its padding."""
    room = [n + 2 * pad - wide for n, wide, pad in zip(size, window, padding, strict=True)]
    if min(room) < 0:
        text = f"input must hold a window of {list(window)} with padding {list(padding)}, got {size}"
        raise OperandError("x", text)
    return tuple([free // step + 1 for free, step in zip(room, stride, strict=True)])
