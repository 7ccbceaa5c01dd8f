"""Layers of neural networks by cuDNN, through the functions that are older than its graphs."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_double, c_float, c_size_t, c_void_p
from functools import cache, partial
from typing import Any

from warploom.engine.libraries.call import LibraryCall
from warploom.engine.libraries.cuda.native import NativeLibrary
from warploom.engine.libraries.cuda.plan import Addresses, Handles, PlanMaker
from warploom.engine.libraries.dnn import BatchNormalization, Convolution, Pooling, Softmax, around
from warploom.engine.types import DType, f16, f32
from warploom.engine.types.layout import Layout

#: Numbers of cuDNN's enumerations.
_DATA_TYPES: Mapping[DType, int] = {f32: 0, f16: 2}
_FLOAT, _NCHW, _PROPAGATE_NAN = 0, 0, 1
_CROSS_CORRELATION = 1
_IMPLICIT_PRECOMPUTED_GEMM = 1  # the only algorithm that adds a bias without cutting off at 0
#: Products of f16 on tensor cores; those of f32 in full precision, where the default would round to TF32.
_MATH_TYPES: Mapping[DType, int] = {f32: 3, f16: 1}
_RELU, _IDENTITY = 1, 5
_MAX, _AVERAGE_WITHOUT_PADDING = 0, 2
_ACCURATE, _LOGARITHM = 1, 2
_ALL, _CHANNEL = 0, 1  # the elements that a softmax adds up
_SPATIAL = 1  # one mean for all places of a channel
_ONE, _ZERO = c_float(1), c_float(0)


class _Cudnn(NativeLibrary):
    def __init__(self) -> None:
        super().__init__("cudnn", "nvidia-cudnn-cu13")

    def status_text(self, status: int) -> str:
        return self.text("cudnnGetErrorString", status)


_library = cache(_Cudnn)


def _create() -> c_void_p:
    handle = c_void_p()
    _library().call("cudnnCreate", byref(handle))
    return handle


def _destroy(handle: c_void_p) -> None:
    _library().call("cudnnDestroy", handle)


class _LayerPlan:
    """The common part of cuDNN's plans: the handle, and descriptors that live as long as the plan."""

    workspace_bytes = 0

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        handles.get(_create, _destroy)  # created before anything is captured

    def handle(self, stream: int) -> c_void_p:
        """Return cuDNN's handle, set to a stream."""
        handle = self._handles.get(_create, _destroy)
        _library().call("cudnnSetStream", handle, c_void_p(stream))
        return handle

    def descriptor(self, kind: str, setter: str, *values: Any) -> c_void_p:
        """Create a descriptor and set its values."""
        made = c_void_p()
        _library().call(f"cudnnCreate{kind}Descriptor", byref(made))
        self._handles.own(self, made, partial(_library().call, f"cudnnDestroy{kind}Descriptor"))
        _library().call(setter, made, *values)
        return made

    def tensor(self, dtype: DType, n: int, channels: int, height: int = 1, width: int = 1) -> c_void_p:
        """Return the descriptor of a tensor without gaps."""
        sizes = n, channels, height, width
        return self.descriptor("Tensor", "cudnnSetTensor4dDescriptor", _NCHW, _DATA_TYPES[dtype], *sizes)


class ConvolutionPlan(_LayerPlan):
    """A convolution as a matrix product, with its bias and ReLU in the same kernel."""

    def __init__(self, call: Convolution, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(handles)
        x, weights, out = (layouts[slot] for slot in ("x", "weights", "out"))
        dtype, library = out.dtype, _library()
        self._x, self._out = self.tensor(dtype, *x.shape), self.tensor(dtype, *out.shape)
        self._bias = self.tensor(dtype, 1, out.shape[1])
        kind = _DATA_TYPES[dtype]
        self._weights = self.descriptor("Filter", "cudnnSetFilter4dDescriptor", kind, _NCHW, *weights.shape)
        moves = *call.padding, *call.stride, *call.dilation, _CROSS_CORRELATION, _FLOAT
        self._convolution = self.descriptor("Convolution", "cudnnSetConvolution2dDescriptor", *moves)
        library.call("cudnnSetConvolutionGroupCount", self._convolution, call.groups)
        library.call("cudnnSetConvolutionMathType", self._convolution, _MATH_TYPES[dtype])
        activation = _RELU if call.relu else _IDENTITY
        options = activation, _PROPAGATE_NAN, c_double(0)
        self._activation = self.descriptor("Activation", "cudnnSetActivationDescriptor", *options)
        self._relu = call.relu
        size, handle = c_size_t(), handles.get(_create, _destroy)
        described = self._x, self._weights, self._convolution, self._out, _IMPLICIT_PRECOMPUTED_GEMM
        library.call("cudnnGetConvolutionForwardWorkspaceSize", handle, *described, byref(size))
        self.workspace_bytes = size.value

    def issue(self, stream: int, at: Addresses) -> None:
        """Convolve; without a bias, negative results are cut off in place."""
        handle, of = self.handle(stream), {slot: c_void_p(address) for slot, address in at.operands.items()}
        given = self._x, of["x"], self._weights, of["weights"], self._convolution, _IMPLICIT_PRECOMPUTED_GEMM
        scratch = c_void_p(at.workspace), c_size_t(self.workspace_bytes)
        made = self._out, of["out"]
        call = _library().call
        if "bias" in of:
            rest = *scratch, byref(_ZERO), *made, self._bias, of["bias"], self._activation, *made
            call("cudnnConvolutionBiasActivationForward", handle, byref(_ONE), *given, *rest)
            return
        call("cudnnConvolutionForward", handle, byref(_ONE), *given, *scratch, byref(_ZERO), *made)
        if self._relu:
            call("cudnnActivationForward", handle, self._activation, byref(_ONE), *made, byref(_ZERO), *made)


class PoolingPlan(_LayerPlan):
    """Pooling: the largest element of each window, or its mean."""

    def __init__(self, call: Pooling, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(handles)
        x, out = layouts["x"], layouts["out"]
        self._x, self._out = self.tensor(x.dtype, *x.shape), self.tensor(out.dtype, *out.shape)
        mode = _AVERAGE_WITHOUT_PADDING if call.average else _MAX
        moves = mode, _PROPAGATE_NAN, *call.window, *call.padding, *call.stride
        self._pooling = self.descriptor("Pooling", "cudnnSetPooling2dDescriptor", *moves)

    def issue(self, stream: int, at: Addresses) -> None:
        """Pool the windows."""
        x, out = (c_void_p(at.operands[slot]) for slot in ("x", "out"))
        given = byref(_ONE), self._x, x, byref(_ZERO), self._out, out
        _library().call("cudnnPoolingForward", self.handle(stream), self._pooling, *given)


class SoftmaxPlan(_LayerPlan):
    """A softmax over the channels of [before, axis, after, 1]."""

    def __init__(self, call: Softmax, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(handles)
        before, along, after = around(layouts["x"].shape, call.axis)
        self._x = self.tensor(layouts["x"].dtype, before, along, after)
        self._how = _LOGARITHM if call.log else _ACCURATE, _ALL if after == 1 else _CHANNEL

    def issue(self, stream: int, at: Addresses) -> None:
        """Compute the softmax."""
        x, out = (c_void_p(at.operands[slot]) for slot in ("x", "out"))
        given = byref(_ONE), self._x, x, byref(_ZERO), self._x, out
        _library().call("cudnnSoftmaxForward", self.handle(stream), *self._how, *given)


class BatchNormalizationPlan(_LayerPlan):
    """The normalisation of each channel of [n, c, rest, 1] with given numbers."""

    def __init__(self, call: BatchNormalization, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(handles)
        self._x = self.tensor(layouts["x"].dtype, *around(layouts["x"].shape, 1))
        self._numbers = self.tensor(f32, 1, layouts["x"].shape[1])
        self._epsilon = call.epsilon

    def issue(self, stream: int, at: Addresses) -> None:
        """Normalise each channel."""
        of = {slot: c_void_p(address) for slot, address in at.operands.items()}
        given = byref(_ONE), byref(_ZERO), self._x, of["x"], self._x, of["out"], self._numbers
        numbers = (of[slot] for slot in ("scale", "bias", "mean", "variance"))
        rest = *numbers, c_double(self._epsilon)
        _library().call("cudnnBatchNormalizationForwardInference", self.handle(stream), _SPATIAL, *given, *rest)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {
    Convolution: ConvolutionPlan,
    Pooling: PoolingPlan,
    Softmax: SoftmaxPlan,
    BatchNormalization: BatchNormalizationPlan,
}
