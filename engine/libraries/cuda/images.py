"""Images by NPP, the NVIDIA Performance Primitives."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any, ClassVar

from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.libraries.cuda.native import NativeLibrary
from warploom.engine.libraries.cuda.plan import Addresses, Handles, PlanMaker
from warploom.engine.libraries.images import Box, Filter, Morphology, Resize, row_stride
from warploom.engine.types import DType, f32, float4, u8, uchar4
from warploom.engine.types.layout import Layout

#: The endings of functions' names, by pixel type.
_PIXELS: Mapping[DType, str] = {f32: "32f_C1R", float4: "32f_C4R", u8: "8u_C1R", uchar4: "8u_C4R"}
_NEAREST_PIXEL = 2  # beyond the border, take the nearest pixel
#: The mode that takes means. NPP's nearest and linear modes sample at positions that no other program uses.
_SUPER_SAMPLING = 8

#: The flags of the device's streams: a stream that captures can't be asked.
_NON_BLOCKING = 1


class _Pair(ctypes.Structure):
    """A width and a height, or an x and a y."""

    _fields_: ClassVar = [("x", c_int), ("y", c_int)]


class _Rectangle(ctypes.Structure):
    _fields_: ClassVar = [("x", c_int), ("y", c_int), ("width", c_int), ("height", c_int)]


class _StreamContext(ctypes.Structure):
    """`NppStreamContext`, which each function takes by value as the last argument."""

    _fields_: ClassVar = [
        ("stream", c_void_p),
        ("device", c_int),
        ("multiprocessors", c_int),
        ("threads_per_multiprocessor", c_int),
        ("threads_per_thread_block", c_int),
        ("shared_bytes_per_thread_block", c_size_t),
        ("major", c_int),
        ("minor", c_int),
        ("stream_flags", c_uint),
        ("workspace", c_uint),
    ]


#: The device's numbers in the context, in their order.
_ATTRIBUTES = (
    "MULTIPROCESSOR_COUNT",
    "MAX_THREADS_PER_MULTIPROCESSOR",
    "MAX_THREADS_PER_BLOCK",
    "MAX_SHARED_MEMORY_PER_BLOCK",
    "COMPUTE_CAPABILITY_MAJOR",
    "COMPUTE_CAPABILITY_MINOR",
)


@cache
def _library(name: str) -> NativeLibrary:
    return NativeLibrary(name, "nvidia-npp")


class _ImagePlan:
    """The common part of NPP's plans."""

    workspace_bytes = 0
    #: The name of the NPP library with the plan's functions.
    library: ClassVar[str]

    def __init__(self, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._npp = _library(self.library)
        self._image, self._out = layouts["image"], layouts["out"]
        self._step = row_stride(self._image, "image") * self._image.dtype.size_bytes
        self._size, self._out_step = _size(self._image), self._out.shape[1] * self._out.dtype.size_bytes
        device = int(handles.info.name.removeprefix("cuda:"))
        kinds = driver.CUdevice_attribute
        asked = [getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{name}") for name in _ATTRIBUTES]
        numbers = [check(driver.cuDeviceGetAttribute(kind, device), "querying the device") for kind in asked]
        self._device = device, *numbers

    def call(self, function: str, stream: int, *arguments: Any) -> None:
        """Call the function for pixels of this type on a stream."""
        context = _StreamContext(stream, *self._device, _NON_BLOCKING, 0)
        self._npp.call(f"nppi{function}_{_PIXELS[self._image.dtype]}_Ctx", *arguments, context)

    def moved(self, source: int, step: int, target: int) -> tuple[Any, ...]:
        """Return the arguments of a function that computes each pixel from the pixels around it: addresses, sizes and
        the border.
        """
        return c_void_p(source), step, self._size, _Pair(0, 0), c_void_p(target), self._out_step, self._size


class FilterPlan(_ImagePlan):
    """A convolution with any weights."""

    library = "nppif"

    def __init__(self, call: Filter, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts, handles)
        self._window = _window(*layouts["weights"].shape)

    def issue(self, stream: int, at: Addresses) -> None:
        """Convolve the image."""
        of = at.operands
        given = self.moved(of["image"], self._step, of["out"])
        self.call("FilterBorder", stream, *given, c_void_p(of["weights"]), *self._window, _NEAREST_PIXEL)


class BoxPlan(_ImagePlan):
    """Means of the windows around each pixel."""

    library = "nppif"

    def __init__(self, call: Box, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts, handles)
        self._window = _window(call.height, call.width)

    def issue(self, stream: int, at: Addresses) -> None:
        """Blur the image."""
        given = self.moved(at.operands["image"], self._step, at.operands["out"])
        self.call("FilterBoxBorder", stream, *given, *self._window, _NEAREST_PIXEL)


class ResizePlan(_ImagePlan):
    """The whole image in a smaller size."""

    library = "nppig"

    def __init__(self, call: Resize, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts, handles)

    def issue(self, stream: int, at: Addresses) -> None:
        """Resize the image."""
        source = c_void_p(at.operands["image"]), self._step, *_whole(self._image)
        target = c_void_p(at.operands["out"]), self._out_step, *_whole(self._out)
        self.call("Resize", stream, *source, *target, _SUPER_SAMPLING)


class MorphologyPlan(_ImagePlan):
    """Erosion and dilation; with two steps, the result of the first lies in the scratch memory."""

    library = "nppim"

    def __init__(self, call: Morphology, layouts: Mapping[str, Layout], handles: Handles) -> None:
        super().__init__(layouts, handles)
        self._steps = [f"{step.capitalize()}Border" for step in call.steps]
        self._window = _window(*layouts["mask"].shape)
        self.workspace_bytes = self._out.size_bytes if len(self._steps) > 1 else 0

    def issue(self, stream: int, at: Addresses) -> None:
        """Take the smallest or largest value of each window."""
        source, step, mask = at.operands["image"], self._step, c_void_p(at.operands["mask"])
        for i, function in enumerate(self._steps):
            target = at.operands["out"] if i == len(self._steps) - 1 else at.workspace
            self.call(function, stream, *self.moved(source, step, target), mask, *self._window, _NEAREST_PIXEL)
            source, step = target, self._out_step


def _size(image: Layout) -> _Pair:
    height, width = image.shape
    return _Pair(width, height)


def _whole(image: Layout) -> tuple[_Pair, _Rectangle]:
    height, width = image.shape
    return _size(image), _Rectangle(0, 0, width, height)


def _window(height: int, width: int) -> tuple[_Pair, _Pair]:
    """Return the size of a window, and the position of the pixel in it."""
    return _Pair(width, height), _Pair(width // 2, height // 2)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {
    Filter: FilterPlan,
    Box: BoxPlan,
    Resize: ResizePlan,
    Morphology: MorphologyPlan,
}
