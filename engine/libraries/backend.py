"""`Libraries`: the libraries that run the calls of one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Issue, Memory
from warploom.engine.libraries.call import BoundCall, LibraryCall
from warploom.engine.types.layout import Layout


class Libraries(Protocol):
    """The libraries of one device, with their handles and plans. Any thread may use them, after `activate`."""

    def workspace_bytes(self, call: LibraryCall, layouts: Mapping[str, Layout]) -> int:
        """Return the bytes of scratch memory that a call needs. Raise LibraryError if it can't be done."""
        ...

    def bind(self, calls: Sequence[BoundCall], workspace: Memory) -> Issue:
        """Return a function that makes the calls one after another on a stream, to be captured.

        `workspace` is scratch memory that is large enough for each call. Raise LibraryError if one can't be done.
        """
        ...

    def close(self) -> None:
        """Free handles and plans; captured work must not run afterwards."""
        ...


def open_libraries(device: Device) -> Libraries:
    """Return the libraries for a device. Each library is loaded on first use."""
    if device.info.name == "host":
        from warploom.engine.libraries.host.backend import HostLibraries

        return HostLibraries()
    from warploom.engine.libraries.cuda.backend import CudaLibraries

    return CudaLibraries(device)
