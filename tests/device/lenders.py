"""Objects that lend their memory as other libraries do, for the tests of adopted arrays on every device."""

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Memory

_CAPSULE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Interface:
    """An object with an array interface attribute that has the given entries."""

    def __init__(self, name: str, entries: Mapping[str, object]) -> None:
        setattr(self, name, dict(entries))


class DlpackLender:
    """Lends an array by DLPack, with structs laid out as in the C header, and counts how often it is returned."""

    def __init__(
        self,
        pointer: int,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        *,
        device: tuple[int, int] = (1, 0),
        versioned: bool = True,
        flags: int = 0,
        major: int = 1,
        kind: int | None = None,
        lanes: int = 1,
    ) -> None:
        self.given_back = 0
        self.asked: list[dict[str, object]] = []
        self._device, self._versioned = device, versioned
        self._extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self._strides = (ctypes.c_int64 * max(len(shape), 1))(*(strides or ()))
        self._deleter = _DELETER(self._give_back)
        code = _KINDS[dtype.kind] if kind is None else kind
        word = np.dtype(np.uint64)
        tensor = [
            *np.array([pointer], word).tobytes(),
            *np.array([*device, len(shape)], np.int32).tobytes(),
            *np.array([code, 8 * dtype.itemsize], np.uint8).tobytes(),
            *np.array([lanes], np.uint16).tobytes(),
            *np.array([ctypes.addressof(self._extents)], word).tobytes(),
            *np.array([ctypes.addressof(self._strides) if strides else 0, 0], word).tobytes(),
        ]
        ends = np.array([0, ctypes.cast(self._deleter, ctypes.c_void_p).value], word).tobytes()
        if versioned:
            head = np.array([major, 0], np.uint32).tobytes() + ends + np.array([flags], word).tobytes()
            content = head + bytes(tensor)
        else:
            content = bytes(tensor) + ends
        self._content = ctypes.create_string_buffer(content, len(content))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: object = None, **options: object) -> object:
        if options and not self._versioned:
            raise TypeError("an older producer knows of no versions")
        self.asked.append({"stream": stream, **options})
        self._name = b"dltensor_versioned" if self._versioned else b"dltensor"
        return _CAPSULE(ctypes.addressof(self._content), self._name, None)

    def _give_back(self, address: int) -> None:
        assert address == ctypes.addressof(self._content)
        self.given_back += 1


def interface_of(
    device: Device, memory: Memory, dtype: np.dtype[Any], shape: tuple[int, ...], **more: object
) -> object:
    """Return an object that lends a device's memory by the array interface of that kind of device."""
    entries = {"version": 3, "typestr": dtype.str, "shape": shape, "data": (memory.pointer, False), "strides": None}
    name = "__array_interface__" if device.info.name == "host" else "__cuda_array_interface__"
    return Interface(name, {**entries, **more})


def dlpack_device(device: Device) -> tuple[int, int]:
    """Return DLPack's number of a device."""
    name = device.info.name
    return (1, 0) if name == "host" else (2, int(name.partition(":")[2]))
