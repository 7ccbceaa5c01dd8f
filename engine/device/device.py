"""The Device protocol, which `cuda` and `host` implement, and buffers in a device's memory.

The concepts are those of the CUDA driver API. A module holds kernels. A graph holds nodes, ordered by explicit
dependencies. An executable is an instantiated graph whose kernel nodes can be updated in place.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from warploom.engine.arguments import shown
from warploom.engine.device.graph import Graph
from warploom.engine.device.lending import LentArray
from warploom.engine.device.occupancy import MultiprocessorLimits
from warploom.engine.device.protocol import (
    BestCode,
    Capture,
    Dim3,
    Event,
    Issue,
    LaunchConfig,
    LoadedKernel,
    Memory,
    Module,
    PinnedArray,
    Stream,
)
from warploom.engine.diagnostics import DeviceError
from warploom.engine.types.arrays import is_masked

#: The architecture that CUDA C++ is compiled for on the host: the newest with typed PTX from NVRTC (`ld.global.f32`).
#: The host runs later PTX too, but NVRTC unrolls more there, and kernels/ takes 1.5 times as long to load.
HOST_ARCHITECTURE = "compute_90"


class DeviceInfo(msgspec.Struct, frozen=True):
    """A device's name and size."""

    name: str  # "host" or "cuda:0"
    title: str  # "NVIDIA H200" or the CPU's model
    #: NVRTC's target: "compute_90" gives PTX for the host, "sm_90" a CUBIN for that GPU.
    architecture: str
    memory_bytes: int
    cores: int  # CPU threads used, or multiprocessors
    limits: MultiprocessorLimits | None = None  # the resources of each multiprocessor; None on the host
    has_own_memory: bool = True  # False if it uses the computer's memory, so that reading back is a plain copy
    is_asynchronous: bool = True  # False if a launch returns only when its work is done
    checks_accesses: bool = False  # True if it checks every access of a kernel, for which it needs the sizes of buffers
    peak_bytes_per_s: float | None = None  # the total bandwidth of its memory; None if unknown
    #: The most thread blocks of a launch that can wait for each other; None if as many as run at once.
    waiting_blocks: int | None = None


class Device(Protocol):
    """A CUDA device or the host. Any thread may use it after calling `activate`."""

    @property
    def info(self) -> DeviceInfo: ...
    @property
    def memory_free_bytes(self) -> int:
        """The bytes that can be allocated now."""
        ...

    @property
    def is_usable(self) -> bool:
        """False once the device has failed in a way that ends all its work in this process."""
        ...

    def activate(self) -> None:
        """Make the device usable on the calling thread (on CUDA: set the current context)."""
        ...

    def shared(self) -> AbstractContextManager[Device]:
        """Return a context for the calling thread: there the device is current, and the thread has one of its own.

        That one has its own objects, but the same context on a GPU; it may outlast `close`.
        """
        ...

    def allocate(self, size_bytes: int) -> Memory:
        """Allocate memory. If there is not enough, the DeviceError has the requested and the free size."""
        ...

    def adopt(self, array: object) -> Memory:
        """Return the memory of an array that another library owns, for use in place.

        The array must be writable and in this device's memory: on the host a numpy array or an object with
        `__array_interface__` or `__dlpack__`; on CUDA one with `__cuda_array_interface__` or `__dlpack__`; on both an
        `ExternalArray`. The array is kept alive until `free`, which returns it to its owner. This call waits for work
        that the array's producer names; later writes of the producer must be finished before a launch. With strides,
        the memory reaches from the first element to the end of the last. Raise a DeviceError with the reason if the
        array can't be used.
        """
        ...

    def upload(self, array: np.ndarray[Any, Any]) -> Buffer:
        """Allocate a buffer that holds a copy of `array`, of its dtype and shape."""
        ...

    def pinned(self, array: np.ndarray[Any, Any]) -> PinnedArray: ...
    def write(self, target: Memory, array: np.ndarray[Any, Any]) -> None:
        """Copy a host array to the start of `target`, and wait."""
        ...

    def read(self, source: Memory, array: np.ndarray[Any, Any]) -> None:
        """Fill a C-contiguous host array from the start of `source`, and wait."""
        ...

    def fill(self, target: Memory, value: int) -> None:
        """Set every byte of `target`, and wait."""
        ...

    def load_module(self, image: str | bytes, *, best: BestCode | None = None) -> Module:
        """Load PTX text, or CUBIN bytes on CUDA. Raise KernelError with the line if it can't be loaded.

        With the `best` code of the same kernels, `image` is compiled as fast as possible, and runs until `best` is
        compiled in the background.
        """
        ...

    def launch(
        self,
        kernel: LoadedKernel,
        grid: Sequence[int],
        thread_block: Sequence[int],
        args: Sequence[object],
        shared_bytes: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Launch a kernel once, outside any graph. Each argument is a `Buffer`, a numpy scalar or a Python number."""
        ...

    def set_kernel_time_limit(self, limit_s: float | None) -> None:
        """Stop each kernel, and each loop, that computes for more than `limit_s` seconds; None means no limit.

        Only the host can stop kernels. Raise DeviceError unless the limit is a positive number.
        """
        ...

    def interrupt(self) -> None:
        """Stop the running kernel or graph, from any thread: its launch raises KernelFault.

        Only the host can stop kernels; on CUDA this does nothing.
        """
        ...

    def capture(self, label: str, issue: Issue) -> Capture:
        """Record the library calls of `issue`, for `Graph.add_captured`; nothing is computed now.

        `issue` and all that it refers to, such as a library's plan, stay alive while the capture is in use. `label` is
        the name in messages. Raise DeviceError if `issue` fails, or does something that can't be recorded.
        """
        ...

    def synchronize(self) -> None: ...
    def synchronize_default_stream(self) -> None:
        """Wait for CUDA's default stream, which other libraries use and none of a device's own streams waits for."""
        ...

    def order_after(self, consumer: int, producer: Stream | None) -> None:
        """Let a stream of another library wait, on the device, for the work so far of a stream of this device.

        `consumer` is the handle of a CUDA stream, and `producer` None for the stream of transfers and launches.
        """
        ...

    def create_stream(self) -> Stream: ...
    def create_event(self, *, timed: bool = True) -> Event:
        """Create an event. One that is not timed costs less to record, and can only be waited for."""
        ...

    def create_graph(self) -> Graph: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Buffer:
    """Device memory with a numpy dtype and shape; several buffers may share memory.

    Other libraries use the memory in place: `np.asarray(buffer)` on the host, `torch.from_dlpack(buffer)`,
    `jax.numpy.from_dlpack(buffer)` and `cupy.from_dlpack(buffer)` on both devices. Their streams wait for the work of
    `stream`, or of the device's transfers and launches. The memory stays as long as this buffer or such an array, even
    if it was freed or the device closed meanwhile. On a GPU, `np.asarray` makes a copy.
    """

    device: Device
    memory: Memory
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    stream: Stream | None = None

    @property
    def pointer(self) -> int:
        """Address on the device."""
        return self.memory.pointer

    @property
    def size_bytes(self) -> int:
        """The bytes of the data, which may be fewer than the allocated bytes."""
        return math.prod(map(int, self.shape)) * self.dtype.itemsize

    def download(self) -> np.ndarray[Any, Any]:
        """Return a copy of the contents as a numpy array of this dtype and shape."""
        array = np.empty(self.shape, self.dtype)
        self.device.read(self.memory, array)
        return array

    def upload(self, array: np.ndarray[Any, Any]) -> None:
        """Replace the contents. Raise DeviceError unless dtype and shape are the buffer's own."""
        array = _numbers(array)
        if array.dtype != self.dtype or array.shape != self.shape:
            raise DeviceError(
                f"uploaded array must be {self.dtype} of shape {self.shape}, got {array.dtype} of shape {array.shape}"
            )
        self.device.write(self.memory, array)

    def free(self) -> None:
        """Free the memory, once no array of another library uses it."""
        self.memory.free()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Return what a notebook shows: the picture of a float4 or uchar4 image, otherwise the first numbers."""
        from warploom.engine.drawings.notebook import array_bundle  # only notebooks need it

        return array_bundle(np.array(self), f"Buffer on {self.device.info.name}: {self.dtype} {list(self.shape)}")

    @cached_property
    def lent(self) -> LentArray:
        """The memory as other libraries see it, kept as long as this buffer."""
        return LentArray(self.device, self.memory, self.dtype, self.shape, self.stream)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.lent.host_interface()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.lent.cuda_interface()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.lent.array(dtype, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.lent.dlpack_device()

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        return self.lent.dlpack(stream, max_version, dl_device, copy)


def upload(device: Device, array: np.ndarray[Any, Any]) -> Buffer:
    """Allocate device memory that holds a copy of `array`."""
    array = _numbers(array)
    buffer = Buffer(device, device.allocate(max(array.nbytes, 1)), array.dtype, array.shape)
    device.write(buffer.memory, array)
    return buffer


def _numbers(array: object) -> np.ndarray[Any, Any]:
    """Return the array to upload in C-contiguous form. Raise DeviceError when it holds Python objects."""
    try:
        found = np.asarray(array, order="C")
    except Exception as problem:
        raise DeviceError(f"uploaded array must be an array of numbers, got: {problem}") from problem
    if is_masked(array):
        raise DeviceError("uploaded array must have no masked elements, got some; fill them first")
    if found.dtype.hasobject:
        raise DeviceError(f"uploaded array must be an array of numbers, got {type(array).__name__} of dtype object")
    return found


def launch_config(grid: Sequence[int], thread_block: Sequence[int], shared_bytes: int) -> LaunchConfig:
    """Return a launch's configuration; missing extents are 1."""
    return LaunchConfig(
        _dim3("grid", grid), _dim3("thread block", thread_block), whole_number("shared_bytes", shared_bytes)
    )


def _dim3(what: str, extents: Sequence[int]) -> Dim3:
    if not isinstance(extents, Sequence) or isinstance(extents, str) or not 1 <= len(extents) <= 3:
        raise DeviceError(f"{what} must be a sequence of 1 to 3 extents, got {extents!r}")
    x, y, z = (*(whole_number(f"extent of {what}", extent) for extent in extents), 1, 1)[:3]
    return x, y, z


def checked_time_limit(limit_s: object, name: str = "kernel_time_limit_s") -> float | None:
    """Return a kernel time limit. Raise DeviceError unless it is a positive number of seconds, or None for no limit."""
    if limit_s is None:
        return None
    if isinstance(limit_s, bool) or not isinstance(limit_s, int | float) or not 0 < limit_s < math.inf:
        raise DeviceError(f"{name} must be a positive number of seconds, or None, got {shown(limit_s)}")
    return float(limit_s)


def check_issue(label: str, issue: object) -> None:
    """Raise DeviceError unless the calls to capture are a function."""
    if not callable(issue):
        raise DeviceError(f"calls of {label} must be a function of a stream, got {shown(issue)}")


def whole_number(what: str, value: object) -> int:
    """Return a whole number, which may be numpy's, as a Python int. For anything else, raise DeviceError."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DeviceError(f"{what} must be a whole number, got {value!r}") from None
