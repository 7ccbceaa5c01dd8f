"""Device memory that other libraries use in place: the array interfaces of numpy and CUDA, and DLPack's.

An exported array holds a loan of the memory (`Memory.lend`), so `free` takes effect after its end.
"""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from warploom.engine.device import dlpack
from warploom.engine.device.protocol import Memory, Stream
from warploom.engine.diagnostics import DeviceError

#: CUDA's legacy default stream, by its number in both protocols.
LEGACY_STREAM = 1
#: DLPack's number for a consumer that needs no order.
_NO_ORDER = -1


class _Info(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def has_own_memory(self) -> bool: ...


class Owner(Protocol):
    """What is needed of a `Device`."""

    @property
    def info(self) -> _Info: ...
    def activate(self) -> None: ...
    def order_after(self, consumer: int, producer: Stream | None) -> None: ...
    def read(self, source: Memory, array: np.ndarray[Any, Any]) -> None: ...


class LentArray:
    """C-contiguous elements in device memory, for other libraries.

    `stream` writes the contents, or None for the device's transfers and launches. `keep` is kept as long as an array.
    """

    def __init__(
        self,
        device: Owner,
        memory: Memory,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        stream: Stream | None = None,
        *,
        read_only: bool = False,
        is_bf16: bool = False,
        keep: object = None,
    ) -> None:
        if dtype.hasobject:
            raise DeviceError(f"elements to share must be numbers, got {dtype}")
        self._device, self._memory, self._stream = device, memory, stream
        self._dtype, self._shape, self._read_only, self._is_bf16 = dtype, shape, read_only, is_bf16
        device.activate()
        self._loan = memory.lend(), keep

    @property
    def _is_host(self) -> bool:
        return not self._device.info.has_own_memory

    def host_interface(self) -> dict[str, Any]:
        """Return `__array_interface__`. Raise AttributeError for memory of a GPU, which then has none."""
        if not self._is_host:
            raise AttributeError(f"memory of {self._device.info.name} can't be used by the processor")
        return self._interface()

    def cuda_interface(self) -> dict[str, Any]:
        """Return `__cuda_array_interface__`, ordered by the legacy default stream. Raise AttributeError on the host."""
        if self._is_host:
            raise AttributeError("memory of the host can't be used by a GPU")
        self._device.activate()
        self._device.order_after(LEGACY_STREAM, self._stream)
        # torch refuses memory that may only be read.
        return {**self._interface(), "data": (self._address, False), "stream": LEGACY_STREAM}

    def array(self, dtype: npt.DTypeLike | None, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return `__array__`: a view on the host if its type is wanted, otherwise a copy.

        Raise ValueError if `copy` is False and a copy is needed.
        """
        if self._is_host:
            return np.array(_Exported(self._interface(), self._loan), dtype, copy=copy)
        if copy is False:
            raise ValueError(f"array must be a copy of the memory of {self._device.info.name}, got copy=False")
        return self._download().astype(self._dtype if dtype is None else dtype, copy=False)

    def dlpack_device(self) -> tuple[int, int]:
        """Return `__dlpack_device__`."""
        return (dlpack.CPU, 0) if self._is_host else (dlpack.CUDA, int(self._device.info.name.partition(":")[2]))

    def dlpack(
        self,
        stream: int | None,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> object:
        """Return `__dlpack__`: a capsule for the memory itself, or for a copy on the CPU that the consumer asks for.

        On a GPU, `stream` waits for the contents: None and 1 are the legacy default stream, 2 is that of each thread,
        -1 waits for nothing. Raise BufferError if this isn't possible.
        """
        place = self.dlpack_device()
        if dl_device not in (None, place, (dlpack.CPU, 0)):
            raise BufferError(f"array must be exported on its device {place} or the CPU, got {dl_device}")
        moves = dl_device is not None and dl_device != place
        if copy is False and moves:
            raise BufferError(f"array on {self._device.info.name} must be copied to the CPU, got copy=False")
        if moves or (copy and self._is_host):
            return dlpack.export(self._download(), (dlpack.CPU, 0), max_version, is_bf16=self._is_bf16)
        if copy:
            raise BufferError(f"array on {self._device.info.name} must be exported in place, got copy=True")
        if self._is_host and stream not in (None, _NO_ORDER):
            raise BufferError(f"stream must be None for an array on the CPU, got {stream!r}")
        if not self._is_host and stream != _NO_ORDER:
            if stream == 0 or (stream is not None and (not isinstance(stream, int) or stream < 0)):
                raise BufferError(f"stream must be None, -1, 1, 2 or a handle, got {stream!r}")
            self._device.activate()
            self._device.order_after(LEGACY_STREAM if stream is None else stream, self._stream)
        # Older versions have no flag for read-only arrays.
        read_only = self._read_only and max_version is not None and max_version >= (1, 0)
        array = np.asarray(_Exported({**self._interface(), "data": (self._address, read_only)}, self._loan))
        return dlpack.export(array, place, max_version, is_bf16=self._is_bf16)

    def _interface(self) -> dict[str, Any]:
        interface = {"version": 3, "shape": self._shape, "typestr": self._dtype.str, "strides": None}
        if self._dtype.fields:
            interface["descr"] = self._dtype.descr
        return {**interface, "data": (self._address, self._read_only)}

    @property
    def _address(self) -> int:
        return self._memory.pointer if prod(self._shape) else 0

    def _download(self) -> np.ndarray[Any, Any]:
        self._device.activate()
        if self._stream is not None:
            self._stream.synchronize()
        array = np.empty(self._shape, self._dtype)
        self._device.read(self._memory, array)
        return array


class _Exported:
    """What numpy keeps as the owner of an array."""

    def __init__(self, interface: dict[str, Any], loan: object) -> None:
        self.__array_interface__ = interface
        self._loan = loan
