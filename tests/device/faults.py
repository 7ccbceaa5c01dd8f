"""Injects faults into the host device: a chosen call raises DeviceError, and each object must be released."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from warploom.engine import device as device_room
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.events import HostEvent, HostStream
from warploom.engine.device.host.graph.backend import HostGraphBackend
from warploom.engine.device.host.graph.executable import HostExecutable
from warploom.engine.device.host.memory import HostMemory, HostPinnedArray
from warploom.engine.device.host.modules.module import HostModule
from warploom.engine.diagnostics import DeviceError

_MAKES = {"allocate", "adopt", "pinned", "load_module", "create_stream", "create_event", "create_graph"}
_MAKES |= {"clone", "instantiate"}
_RELEASES = {"free", "unload", "destroy", "close"}
_DEVICE = str(Path(device_room.__file__).parent)


class SlowEvent(HostEvent):
    """An event that is reached when it is asked for the second time, like one of a device that works beside Python."""

    looks = 0

    def reach(self) -> None:
        super().reach()
        self.looks = 0

    @property
    def is_reached(self) -> bool:
        self.looks += 1
        return self.looks > 1


class GpuLike(HostDevice):
    """A host device that has memory of its own, and works beside Python."""

    def __init__(self) -> None:
        super().__init__(cores=1)
        self.info = replace(self.info, has_own_memory=True, is_asynchronous=True)

    def create_event(self, *, timed: bool = True) -> HostEvent:
        return SlowEvent()


#: The calls of each object that may fail on some device.
CALLS: dict[type, str] = {
    HostDevice: "memory_free_bytes activate allocate adopt upload pinned write read fill load_module launch capture "
    "synchronize create_stream create_event create_graph close",
    GpuLike: "create_event",
    HostMemory: "free",
    HostPinnedArray: "free",
    HostModule: "kernel unload",
    HostEvent: "elapsed_ns is_reached synchronize destroy",
    SlowEvent: "is_reached",
    HostStream: "record wait copy synchronize destroy",
    HostGraphBackend: "create_condition make remove change_order set_kernel clone instantiate destroy",
    HostExecutable: "launch upload update_kernel update_captured update_copy move_fill move_copy refresh destroy",
}


class Faults:
    """Counts the calls of all host devices while `counting`, and lets some of them fail.

    The call number `first` fails, and with `lasting` each one after it. A call that releases something does so before
    it fails, as a driver does that reports an earlier error.
    """

    TEXT = "the device was made to fail"

    def __init__(self) -> None:
        self.first, self.lasting = -1, False
        #: The place of each call: file, line and method.
        self.calls: list[tuple[str, int, str]] = []
        #: The objects that were made and not released, with the place that made them.
        self.live: dict[int, tuple[object, str]] = {}
        self._lock = threading.Lock()
        self._inside = threading.local()

    @contextmanager
    def counting(self, first: int = -1, *, lasting: bool = False) -> Iterator[None]:
        """Count from 0, and let call number `first` fail."""
        self.first, self.lasting = first, lasting
        self.calls, self.live = [], {}
        with pytest.MonkeyPatch.context() as patch:
            for kind, names in CALLS.items():
                for name in names.split():
                    call = kind.__dict__[name]
                    if isinstance(call, property):
                        assert call.fget is not None
                        patch.setattr(kind, name, property(self._watched(kind, name, call.fget)))
                    else:
                        patch.setattr(kind, name, self._watched(kind, name, call))
            yield

    def _watched(self, kind: type, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        label = f"{kind.__name__.removeprefix('Host')}.{name}"

        @functools.wraps(call)
        def watched(target: Any, *args: Any, **named: Any) -> Any:
            inside = self._inside.__dict__
            if inside.get("depth"):
                return call(target, *args, **named)
            with self._lock:
                number = len(self.calls)
                self.calls.append((*_place(), label))
            fails = number == self.first or (self.lasting and number > self.first >= 0)
            inside["depth"] = 1
            try:
                if name in _RELEASES:
                    self.live.pop(id(target), None)
                    call(target, *args, **named)
                if fails:
                    raise DeviceError(f"{self.TEXT}, at call {number}: {label}")
                if name in _RELEASES:
                    return None
                made = call(target, *args, **named)
            finally:
                inside["depth"] = 0
            if name in _MAKES:
                held = made._backend if name == "create_graph" else made
                self.live[id(held)] = held, ":".join(map(str, self.calls[number]))
            return made

        return watched


def _place() -> tuple[str, int]:
    """Return the file and line of the caller outside the device."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.startswith((_DEVICE, __file__)) or "/contextlib.py" in frame.f_code.co_filename:
        assert frame.f_back is not None
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
