"""Descriptions of other libraries' arrays, with which a device can use their memory in place.

An array may be numpy's or have `__array_interface__` (on the CPU), `__cuda_array_interface__` (on a GPU) or
`__dlpack__` (either). A device's `Buffer` is such an array too.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warploom.engine.device import dlpack
from warploom.engine.device.device import Buffer
from warploom.engine.device.dlpack import DlpackTensor
from warploom.engine.device.lending import LEGACY_STREAM
from warploom.engine.diagnostics import DeviceError

_ELEMENT_KINDS = "biufcV"


@dataclass(frozen=True, eq=False)
class ExternalArray:
    """Memory that another library owns.

    `pointer` is the address of the first element; `strides` are in bytes, None for a C-contiguous array. `device` is
    "cpu", "cuda:0" and so on, or "cuda" if the producer does not name the GPU. `stream` is the CUDA stream whose work
    produces the contents. The memory stays valid as long as `keep` lives.
    """

    pointer: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    read_only: bool
    device: str
    keep: object = field(repr=False)
    stream: int | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes from the first element to the end of the last; 0 for an array without elements."""
        if 0 in self.shape:
            return 0
        if self.strides is None:
            return math.prod(self.shape) * self.dtype.itemsize
        return sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) + self.dtype.itemsize

    def release(self) -> None:
        """Return memory lent by DLPack to its owner, even while `keep` lives."""
        if isinstance(self.keep, DlpackTensor):
            self.keep.release()


def describe_external(array: object) -> ExternalArray:
    """Describe an array of any library. Raise a DeviceError with the reason if it can't be used in place.

    The producer of a GPU array with `__dlpack__` makes the legacy default stream wait for the contents. If an interface
    names no stream, the contents are expected from the legacy default stream, which is torch's usual one. JAX computes
    on streams that it does not name, so this function waits for its arrays.
    """
    if isinstance(array, np.ndarray):
        return _from_interface(array.__array_interface__, "cpu", array, array.dtype)
    if isinstance(array, Buffer):
        where = "cpu" if array.device.info.name == "host" else array.device.info.name
        return ExternalArray(array.pointer, array.dtype, array.shape, None, False, where, array)
    interface = _attribute(array, "__cuda_array_interface__")
    if interface is not None:
        if "stream" not in interface and (wait := getattr(array, "block_until_ready", None)) is not None:
            wait()
        return _from_interface(interface, "cuda", array)
    interface = _attribute(array, "__array_interface__")
    if interface is not None:
        return _from_interface(interface, "cpu", array)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _from_dlpack(array)
    raise DeviceError(
        "external array must have __array_interface__, __cuda_array_interface__ or __dlpack__, "
        f"got {type(array).__name__}"
    )


@contextmanager
def described(array: object) -> Iterator[ExternalArray]:
    """Describe an array unless it is a description. If the body fails, return a lent array to its owner."""
    external = array if isinstance(array, ExternalArray) else describe_external(array)
    try:
        yield external
    except BaseException:
        if external is not array:
            external.release()
        raise


def writable_bytes(external: ExternalArray, device: str) -> int:
    """Return the size in bytes of an array that a device may use as its own memory; otherwise raise DeviceError.

    It must be in memory of `device`, have at least one byte, be writable, and begin with its first element.
    """
    on = external.device
    if on != device and not (on == "cuda" and device.startswith("cuda:")):
        raise DeviceError(f"external array must be in memory of {device}, got one on {on}; copy it there first")
    if external.read_only:
        raise DeviceError("external array must be writable, got a read-only one; upload a copy instead")
    if external.strides is not None and min(external.strides, default=0) < 0:
        raise DeviceError(
            f"external array must have no negative strides, got {external.strides}; upload a copy instead"
        )
    if external.size_bytes < 1:
        raise DeviceError(f"external array must have at least 1 byte, got shape {external.shape}")
    return external.size_bytes


def _attribute(array: object, name: str) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] | None = getattr(array, name, None)
    except (RuntimeError, TypeError) as reason:  # for example a tensor that needs gradients
        raise DeviceError(f"external array must share its memory, got {reason}") from reason
    return found


def _from_interface(
    interface: Mapping[str, Any], device: str, keep: object, dtype: np.dtype[Any] | None = None
) -> ExternalArray:
    """Read an array interface. numpy and CUDA use the same entries, which numpy and numba document."""
    if interface.get("mask") is not None or np.ma.isMaskedArray(keep):
        raise DeviceError("external array must have no mask, got one; fill the masked elements first")
    data = interface.get("data")
    if not (isinstance(data, tuple) and isinstance(data[0], int)):
        raise DeviceError("external array must give the address of its memory, got an interface without one")
    shape = tuple(int(extent) for extent in interface["shape"])
    if dtype is None:
        dtype = _dtype_of(interface)
    if dtype.hasobject or dtype.kind not in _ELEMENT_KINDS or not dtype.isnative:
        raise DeviceError(
            f"element type of an external array must be a number in this machine's byte order, got {dtype.str}"
        )
    strides = interface.get("strides")
    return ExternalArray(
        int(data[0]),
        dtype,
        shape,
        _unless_contiguous(shape, None if strides is None else tuple(map(int, strides)), dtype.itemsize),
        bool(data[1]),
        device,
        keep,
        interface.get("stream", LEGACY_STREAM) if device == "cuda" else None,
    )


def _dtype_of(interface: Mapping[str, Any]) -> np.dtype[Any]:
    text, fields = interface["typestr"], interface.get("descr")
    is_record = text[1] == "V" and fields and fields[0][0]
    try:
        return np.dtype(fields if is_record else text)
    except TypeError as reason:
        raise DeviceError(f"element type of an external array must be one of numpy's, got {reason}") from reason


def _from_dlpack(array: Any) -> ExternalArray:
    on, _ = array.__dlpack_device__()
    is_gpu = int(on) in (dlpack.CUDA, dlpack.CUDA_MANAGED)
    options: dict[str, Any] = {"stream": LEGACY_STREAM} if is_gpu else {}
    try:
        try:
            capsule = array.__dlpack__(max_version=dlpack.VERSION, **options)
        except TypeError:  # the producer is older than version 1
            capsule = array.__dlpack__(**options)
    except (BufferError, RuntimeError, TypeError, ValueError) as reason:
        raise DeviceError(f"external array must share its memory, got {reason}") from reason
    tensor = DlpackTensor(capsule)
    if tensor.device_type in (dlpack.CPU, dlpack.CUDA_HOST):
        device = "cpu"
    elif tensor.device_type in (dlpack.CUDA, dlpack.CUDA_MANAGED):
        device = f"cuda:{tensor.device_id}"
    else:
        tensor.release()
        raise DeviceError(
            f"external array must be in memory of the CPU or of a CUDA device, got DLPack's device {tensor.device_type}"
        )
    strides = _unless_contiguous(tensor.shape, tensor.strides, tensor.dtype.itemsize)
    stream = LEGACY_STREAM if is_gpu else None
    return ExternalArray(tensor.pointer, tensor.dtype, tensor.shape, strides, tensor.read_only, device, tensor, stream)


def _unless_contiguous(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, item_bytes: int
) -> tuple[int, ...] | None:
    """Return the strides, or None if they are those of a C-contiguous array."""
    if strides is None or 0 in shape:
        return None
    expected = item_bytes
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != expected:
                return strides
            expected *= extent
    return None
