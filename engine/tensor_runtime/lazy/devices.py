"""The devices that compute lazy tensors. Each is opened at its first use, and stays open."""

from __future__ import annotations

import atexit
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from warploom.engine.device.external import describe_external
from warploom.engine.device.open import open_device
from warploom.engine.device.releasing import release_all
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.program import Program
from warploom.engine.tensor_runtime.tensors import Storage, TensorBuffer, Tensors
from warploom.engine.types import DType, dtype_of

#: The number of compiled programs that a device keeps. A program of a single operation takes about 0.2 MB.
KEPT_PROGRAMS = 1024
#: The number of longer segments that are remembered as computed before.
KEPT_MEETINGS = 4096

_opening = threading.Lock()
_open: dict[str, LazyDevice] = {}


class LazyDevice:
    """A device, and the programs that were compiled for it, by their structure.

    Hold the `lock` while you use `tensors` or `programs`: one device may compute graphs of several threads.
    """

    def __init__(self, name: str) -> None:
        self._device = open_device(name)
        self.name = self._device.info.name
        try:
            self.tensors = Tensors(self._device)
        except BaseException:
            self._device.close()
            raise
        self.lock = threading.RLock()
        self._programs: OrderedDict[Hashable, Program] = OrderedDict()
        self._seen: OrderedDict[Hashable, None] = OrderedDict()
        self._met: OrderedDict[int, None] = OrderedDict()

    def program(self, structure: Hashable) -> Program | None:
        """Return the program that is kept for a structure, if any."""
        found = self._programs.get(structure)
        if found is not None:
            self._programs.move_to_end(structure)
        return found

    def keep(self, structure: Hashable, program: Program, general: Hashable) -> None:
        """Keep a program, and remember its more `general` structure. The least recently used programs are dropped."""
        self._programs[structure] = program
        self._seen[general] = None
        if len(self._programs) > KEPT_PROGRAMS:
            _, oldest = self._programs.popitem(last=False)
            oldest.close()
        if len(self._seen) > KEPT_PROGRAMS:
            self._seen.popitem(last=False)

    def forget_programs(self) -> bool:
        """Free the memory of all programs. Return whether there were any."""
        programs = list(self._programs.values())
        self._programs.clear()
        release_all(*(program.close for program in programs))
        return bool(programs)

    def has_seen(self, general: Hashable) -> bool:
        """Return whether a program with this more general structure was kept."""
        return general in self._seen

    def meet(self, structure: Hashable) -> bool:
        """Return whether a structure, or another one with the same hash, was met before."""
        number = hash(structure)
        is_known = number in self._met
        self._met[number] = None
        self._met.move_to_end(number)
        if len(self._met) > KEPT_MEETINGS:
            self._met.popitem(last=False)
        return is_known

    def buffer(self, type_: TensorType) -> Storage:
        """Return memory for a tensor, with undefined contents. Raise DeviceError when there is not enough."""
        return Storage(self.tensors.buffer(type_, zeroed=False))

    @property
    def used_bytes(self) -> int:
        """The bytes of device memory in use by tensors and programs, in units of the allocator."""
        return self.tensors.services.pool.used_bytes

    def close(self) -> None:
        """Free all resources on the device."""
        with self.lock:
            release_all(self._device.activate, self.forget_programs, self.tensors.close, self._device.close)


def lazy_device(name: str = "auto") -> LazyDevice:
    """Return a device by name; "auto" is the first GPU, or else the host. Raise DeviceError when it can't be used."""
    with _opening:
        found = _open.get(name)
        if found is None:
            opened = LazyDevice(name)
            found = _open.setdefault(opened.name, opened)
            if found is not opened:  # "auto" and "cuda" are other names for an open device
                opened.close()
            _open[name] = found
        return found


def adopted(array: object, device: str) -> tuple[LazyDevice, Storage]:
    """Return memory that another library owns, on its device.

    Raise a DeviceError with the reason if it can't be used.
    """
    external = describe_external(array)
    where = lazy_device(_place(external.device, device))
    if external.strides is not None:
        raise InvalidOperation(
            f"array must be C-contiguous to be used in place, got strides {external.strides}; copy it first"
        )
    type_ = TensorType(external.shape, element_type(external.dtype))
    with where.lock:
        where.tensors.device.activate()
        # A tensor's contents never change, so an array that may only be read, such as JAX's, will do.
        memory = where.tensors.device.adopt(replace(external, read_only=False))
    return where, Storage(TensorBuffer(where.tensors, type_, type_.stored_shape, memory, is_adopted=True))


def element_type(dtype: np.dtype[Any]) -> DType:
    """Return the element type of an array. Raise InvalidOperation when there is none."""
    try:
        return dtype_of(np.empty(0, dtype))
    except TypeError as problem:
        raise InvalidOperation(str(problem)) from None


def _place(on: str, device: str) -> str:
    """Return the device to use for an array in the memory of `on`: the requested device, if any."""
    if device != "auto":
        return device
    return "host" if on == "cpu" else "cuda:0" if on == "cuda" else on


@atexit.register
def close_devices() -> None:
    """Free all device memory of lazy tensors; the next tensor opens a device again."""
    with _opening:
        for device in set(_open.values()):
            device.close()
        _open.clear()
