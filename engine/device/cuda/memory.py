"""Device memory and page-locked host memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from cuda.bindings import driver

from engine.device.cuda.errors import check
from engine.device.cuda.ownership import DriverObjects
from engine.device.external import ExternalArray, writable_bytes
from engine.device.protocol import Memory, PinnedArray
from engine.diagnostics import DeviceError

_Attribute = driver.CUpointer_attribute


class CudaMemory:
    """One allocation on the GPU."""

    __slots__ = ("_objects", "_pointer", "_token", "size_bytes")

    def __init__(self, objects: DriverObjects, size_bytes: int) -> None:
        if size_bytes < 1:
            raise DeviceError(f"allocation must be at least 1 byte, got {size_bytes}")
        result = driver.cuMemAlloc(size_bytes)
        if result[0] == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            free, total = check(driver.cuMemGetInfo(), "cuMemGetInfo")
            raise DeviceError(
                f"allocation must fit in the GPU's free memory, asked for {size_bytes} bytes, "
                f"free are {free} of {total} bytes"
            )
        handle = check(result, f"allocation of {size_bytes} bytes")
        self._pointer = int(handle)
        self.size_bytes = size_bytes
        self._objects = objects
        self._token = objects.add(lambda: check(driver.cuMemFree(handle), "cuMemFree"))

    @property
    def pointer(self) -> int:
        """Address on the GPU; DeviceError after `free`, for to use it then would fault the GPU."""
        if not self._pointer:
            raise DeviceError("memory must be used before it is freed, got an address asked for afterwards")
        return self._pointer

    def free(self) -> None:
        """Give it back, once the work that uses it is done; DeviceError when that was done before."""
        if not self._pointer:
            raise DeviceError("memory must be freed once, got a second time")
        self._pointer = 0
        self._objects.release(self._token)


class CudaAdoptedMemory:
    """GPU memory that somebody else owns; what its producer said must be done before has been waited for."""

    __slots__ = ("_objects", "_pointer", "_token", "size_bytes")

    def __init__(self, objects: DriverObjects, external: ExternalArray, ordinal: int) -> None:
        self.size_bytes = writable_bytes(external, f"cuda:{ordinal}")
        _check_place(external.pointer, ordinal)
        if external.stream is not None:
            check(driver.cuStreamSynchronize(driver.CUstream(external.stream)), "waiting for an external array")
        self._pointer = external.pointer
        self._objects = objects
        held = [external]  # given back to its owner when nobody else holds its description
        self._token = objects.add(held.clear)

    @property
    def pointer(self) -> int:
        """Address on the GPU; DeviceError after `free`."""
        if not self._pointer:
            raise DeviceError("memory must be used before it is freed, got an address asked for afterwards")
        return self._pointer

    def free(self) -> None:
        """Let go of the memory, once the work that uses it is done; DeviceError when that was done before."""
        if not self._pointer:
            raise DeviceError("memory must be freed once, got a second time")
        self._pointer = 0
        self._objects.release(self._token)


def _check_place(pointer: int, ordinal: int) -> None:
    """DeviceError unless an address is in memory of a GPU, or in managed memory, which every GPU may use."""
    code, is_managed = driver.cuPointerGetAttribute(_Attribute.CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer)
    if code == driver.CUresult.CUDA_ERROR_INVALID_VALUE:
        raise DeviceError(f"external array must be in memory that CUDA knows, got the address {pointer:#x}")
    check((code, is_managed), "looking at an external array")
    if is_managed:
        return
    kind, on = (
        int(check(driver.cuPointerGetAttribute(attribute, pointer), "looking at an external array"))
        for attribute in (
            _Attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            _Attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        )
    )
    place = f"cuda:{on}" if kind == int(driver.CUmemorytype.CU_MEMORYTYPE_DEVICE) else "cpu"
    if place != f"cuda:{ordinal}":
        raise DeviceError(
            f"external array must be in memory of cuda:{ordinal}, got one on {place}; copy it there first"
        )


class CudaPinnedArray:
    """A numpy array in page-locked memory; `array` must not be used after `free`."""

    __slots__ = ("_objects", "_token", "address", "array")

    def __init__(self, objects: DriverObjects, content: np.ndarray[Any, Any]) -> None:
        size = max(content.nbytes, 1)
        handle = check(driver.cuMemAllocHost(size), f"allocation of {size} page-locked bytes")
        self.address = int(handle)
        bytes_there = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.address))
        self.array: np.ndarray[Any, Any] = bytes_there[: content.nbytes].view(content.dtype).reshape(content.shape)
        self.array[...] = content
        self._objects = objects
        self._token = objects.add(lambda: check(driver.cuMemFreeHost(handle), "cuMemFreeHost"))

    def free(self) -> None:
        """Give it back; a second call does nothing."""
        self._objects.release(self._token)


def copy_address(end: Memory | PinnedArray, size_bytes: int, role: str) -> int:
    """Return the address of one end of a copy; DeviceError when it has fewer bytes or is another device's array."""
    if isinstance(end, CudaPinnedArray):
        address, size = end.address, int(end.array.nbytes)
    else:
        pointer = getattr(end, "pointer", None)
        if pointer is None:
            raise DeviceError(f"{role} must be memory of the CUDA device, got {type(end).__name__}")
        address, size = int(pointer), end.size_bytes  # type: ignore[union-attr]  # what has a pointer is a Memory
    if not 0 <= size_bytes <= size:
        raise DeviceError(f"{role} must hold {size_bytes} bytes, got {size}")
    return address
