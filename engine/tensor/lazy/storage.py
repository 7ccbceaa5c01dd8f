"""`Storage`: the contents of a tensor on a device, whose memory goes back when nothing refers to it any more."""

from __future__ import annotations

from contextlib import suppress

from engine.diagnostics import DeviceError
from engine.tensor.execution import TensorBuffer


class Storage:
    """Owns the buffer of one node. The garbage collector may free it at any time, in any thread."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: TensorBuffer) -> None:
        self.buffer = buffer

    def __del__(self) -> None:
        with suppress(DeviceError, KeyError):  # the device was closed, which has freed everything
            self.buffer.free()
