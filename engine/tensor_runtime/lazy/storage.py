"""`Storage`: the contents of a tensor on a device, whose memory goes back when nothing refers to it any more."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from engine.diagnostics import DeviceError
from engine.tensor_ir.types import TensorType
from engine.tensor_runtime.tensors import TensorBuffer


class Storage:
    """The buffer of a node, which frees it, or is that `of` another. The garbage collector ends it in any thread."""

    __slots__ = ("_of", "buffer")

    def __init__(self, buffer: TensorBuffer, of: Storage | None = None) -> None:
        self.buffer = buffer
        self._of = of

    def viewed(self, type_: TensorType) -> Storage:
        """Return the same elements as those of another type of as many bytes."""
        return Storage(replace(self.buffer, type=type_, shape=type_.stored_shape), self._of or self)

    def __del__(self) -> None:
        if self._of is not None:
            return
        with suppress(DeviceError, KeyError):  # the device was closed, which has freed everything
            self.buffer.free()
