"""`Tensors`: the resources that the tensors of one device share, and their memory, freed with its last reference."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import Memory
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import DeviceError
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.types import TensorType


class Tensors:
    """The memory, kernels and libraries of one device that all its tensor programs share.

    Only one thread may use it at a time.
    """

    def __init__(self, device: Device | str = "auto") -> None:
        """`device` is an open device, which `close` leaves open, or the name of a device to open."""
        if not (isinstance(device, str) or hasattr(device, "activate")):
            raise InvalidOperation(f'device must be an open one or a name such as "host", got {shown(device)}')
        self._owns_device = isinstance(device, str)
        self.device = open_device(device) if isinstance(device, str) else device
        with ExitStack() as failing:
            if self._owns_device:
                failing.callback(self.device.close)
            self.device.activate()
            self.services = DeviceServices(self.device)
            failing.callback(self.services.close)
            self.stream = self.device.create_stream()
            failing.pop_all()
        self._is_closed = False

    def buffer(self, type_: TensorType, batch: int = 1, *, zeroed: bool = True) -> TensorBuffer:
        """Return memory for a tensor, with `batch` examples if it is batched.

        Memory that is not `zeroed` may still be in use by earlier launches, but is free for later ones.
        """
        layout = (*((batch,) if type_.batched else ()), *type_.stored_shape)
        size = max(prod(layout) * type_.stored_dtype.size_bytes, 1)
        return TensorBuffer(self, type_, layout, self.services.pool.acquire(size, zeroed=zeroed))

    def synchronize(self) -> None:
        """Wait until all launched work is done."""
        self.stream.synchronize()

    def close(self) -> None:
        """Free all resources on the device."""
        if self._is_closed:
            return
        self._is_closed = True
        device = [self.device.close] if self._owns_device else []
        stream = self.stream.synchronize, self.stream.destroy
        release_all(self.device.activate, *stream, self.services.close, *device)


@dataclass(frozen=True, eq=False)
class TensorBuffer:
    """The device memory of a tensor; `shape` is its shape in memory, with the batch first."""

    tensors: Tensors
    type: TensorType
    shape: tuple[int, ...]
    memory: Memory
    #: True when another library owns the memory.
    is_adopted: bool = False

    def write(self, array: np.ndarray[Any, Any]) -> None:
        """Copy an array with equally many elements into the buffer, after earlier launches."""
        found = np.ascontiguousarray(array, self.type.stored_dtype.numpy)
        if found.size != prod(self.shape):
            raise ShapeMismatch(f"array must have shape {list(self.shape)}, got {list(found.shape)}")
        self.tensors.synchronize()
        self.tensors.device.write(self.memory, found)

    def read(self) -> np.ndarray[Any, Any]:
        """Return a copy of the elements in the tensor's shape, after a batch axis if it is batched."""
        array = np.empty(self.shape, self.type.stored_dtype.numpy)
        self.tensors.synchronize()
        self.tensors.device.read(self.memory, array)
        if self.type.nnz is not None:
            return array
        return array.reshape((*self.shape[: self.type.batched], *self.type.shape))

    def free(self) -> None:
        """Free the memory; later launches may reuse it. Memory of another library must not be in use any more."""
        if self.is_adopted:
            self.memory.free()
        else:
            self.tensors.services.pool.release(self.memory)


class Storage:
    """The buffer of a node, either its own or that `of` another storage. It may be collected in any thread."""

    __slots__ = ("_of", "buffer")

    def __init__(self, buffer: TensorBuffer, of: Storage | None = None) -> None:
        self.buffer = buffer
        self._of = of

    def viewed(self, type_: TensorType) -> Storage:
        """Return the same bytes as elements of another type."""
        return Storage(replace(self.buffer, type=type_, shape=type_.stored_shape), self._of or self)

    def __del__(self) -> None:
        if self._of is not None:
            return
        with suppress(DeviceError, KeyError):  # the device was closed, and has freed everything
            self.buffer.free()
