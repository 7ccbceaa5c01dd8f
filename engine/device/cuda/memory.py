"""Device memory and page-locked host memory."""

import ctypes
from contextlib import suppress
from typing import Any
from weakref import finalize, ref

import numpy as np
from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.ownership import DriverObjects, Release, Shared
from warploom.engine.device.external import ExternalArray, writable_bytes
from warploom.engine.device.protocol import Memory, PinnedArray
from warploom.engine.diagnostics import DeviceError

_Attribute = driver.CUpointer_attribute


class _Loan:
    """Keeps memory and the GPU's primary context, which may both be released with it, on any thread."""

    __slots__ = ("__weakref__",)

    def __init__(self, memory: Shared) -> None:
        handle = check(driver.cuCtxGetDevice(), "cuCtxGetDevice")
        context = check(driver.cuDevicePrimaryCtxRetain(handle), "lending memory")
        memory.lend()
        finalize(self, _end_loan, memory, handle, context).atexit = False  # the process's end frees all memory


def _end_loan(memory: Shared, handle: driver.CUdevice, context: driver.CUcontext) -> None:
    # The garbage collector may call this: after a fault, it has nobody to report to, and nothing can be freed.
    if driver.cuCtxPushCurrent(context)[0]:
        return
    with suppress(DeviceError):
        memory.end_loan()
    driver.cuCtxPopCurrent()
    driver.cuDevicePrimaryCtxRelease(handle)


class CudaMemory:
    """Memory on the GPU: an allocation, or an array that another library owns."""

    __slots__ = ("_loan", "_pointer", "_shared", "size_bytes")

    def __init__(self, objects: DriverObjects, pointer: int, size_bytes: int, release: Release) -> None:
        self._pointer = pointer
        self.size_bytes = size_bytes
        self._shared = Shared(objects, release)
        self._loan: ref[_Loan] | None = None

    @property
    def pointer(self) -> int:
        """The address on the GPU. Raise DeviceError after `free`, since using it would fault the GPU."""
        if not self._pointer:
            raise DeviceError("memory must be used before it is freed, got an address asked for afterwards")
        return self._pointer

    def free(self) -> None:
        """Release the memory once the work that uses it is done. Raise DeviceError at a second call."""
        if not self._pointer:
            raise DeviceError("memory must be freed once, got a second time")
        self._pointer = 0
        self._shared.drop()

    @property
    def was_lent(self) -> bool:
        """True once `lend` was called."""
        return self._loan is not None

    def lend(self) -> object:
        """Return an object that keeps the memory as long as it lives. Raise DeviceError after `free`.

        The GPU must be current on the calling thread.
        """
        loan = self._loan() if self._loan is not None else None
        if loan is None:
            assert self.pointer
            loan = _Loan(self._shared)
            self._loan = ref(loan)
        return loan


def allocate(objects: DriverObjects, size_bytes: int) -> CudaMemory:
    """Allocate at least one byte. On failure, the DeviceError has the requested and the free size."""
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
    return CudaMemory(objects, int(handle), size_bytes, lambda: check(driver.cuMemFree(handle), "cuMemFree"))


def adopt(objects: DriverObjects, external: ExternalArray, ordinal: int) -> CudaMemory:
    """Return memory that another library owns, after waiting for its producer's stream."""
    size_bytes = writable_bytes(external, f"cuda:{ordinal}")
    _check_place(external.pointer, ordinal)
    if external.stream is not None:
        check(driver.cuStreamSynchronize(driver.CUstream(external.stream)), "waiting for an external array")
    held = [external]  # `free` drops the reference that keeps the array alive
    return CudaMemory(objects, external.pointer, size_bytes, held.clear)


def _check_place(pointer: int, ordinal: int) -> None:
    """Raise DeviceError unless an address is on this GPU or in managed memory, which every GPU may use."""
    code, is_managed = driver.cuPointerGetAttribute(_Attribute.CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer)
    if code == driver.CUresult.CUDA_ERROR_INVALID_VALUE:
        raise DeviceError(f"external array must be in memory that CUDA knows, got the address {pointer:#x}")
    check((code, is_managed), "querying an external array")
    if is_managed:
        return
    kind, on = (
        int(check(driver.cuPointerGetAttribute(attribute, pointer), "querying an external array"))
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
        bytes_there = np.ndarray(size, np.uint8, memoryview((ctypes.c_uint8 * size).from_address(self.address)))
        self.array: np.ndarray[Any, Any] = bytes_there[: content.nbytes].view(content.dtype).reshape(content.shape)
        self.array[...] = content
        self._objects = objects
        self._token = objects.add(lambda: check(driver.cuMemFreeHost(handle), "cuMemFreeHost"))

    def free(self) -> None:
        """Release the memory. A second call does nothing."""
        self._objects.release(self._token)


def copy_address(end: Memory | PinnedArray, size_bytes: int, role: str) -> int:
    """Return the address of one end of a copy. Raise DeviceError if it is too small or on another device."""
    if isinstance(end, CudaPinnedArray):
        address, size = end.address, int(end.array.nbytes)
    else:
        pointer = getattr(end, "pointer", None)
        if pointer is None:
            raise DeviceError(f"{role} must be memory of the CUDA device, got {type(end).__name__}")
        address, size = int(pointer), end.size_bytes  # type: ignore[union-attr]  # it has a pointer, so it is a Memory
    if not 0 <= size_bytes <= size:
        raise DeviceError(f"{role} must hold {size_bytes} bytes, got {size}")
    return address
