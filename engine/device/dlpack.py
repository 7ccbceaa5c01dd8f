"""Arrays of other libraries by DLPack (https://dmlc.github.io/dlpack); the structures of its C header are read in
place.

numpy's own reader accepts only arrays on the CPU.
"""

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.engine.diagnostics import DeviceError

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
#: The newest supported version of the protocol; a producer may use an older one.
VERSION = (1, 0)
_READ_ONLY = 1
_BFLOAT = 4
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}

_NAME, _USED = b"dltensor", b"used_dltensor"
_VERSIONED_NAME, _VERSIONED_USED = b"dltensor_versioned", b"used_dltensor_versioned"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def _capsule_function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _capsule_function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer_of = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _capsule_function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)


class DlpackTensor:
    """An array that a producer lends. It is returned by `release`, or when this object is collected.

    `pointer` is the address of the first element; `strides` are in bytes, or None for a C-contiguous array.
    """

    def __init__(self, capsule: object) -> None:
        kind: type[_Versioned | _Managed]
        if _is_valid(capsule, _VERSIONED_NAME):
            address, used, kind = _pointer_of(capsule, _VERSIONED_NAME), _VERSIONED_USED, _Versioned
        elif _is_valid(capsule, _NAME):
            address, used, kind = _pointer_of(capsule, _NAME), _USED, _Managed
        else:
            raise DeviceError("DLPack capsule must be an unused one, got one that was taken already or none at all")
        managed: Any = kind.from_address(address)
        _rename(capsule, used)  # renamed, the capsule no longer deletes the array
        self._finalizer = weakref.finalize(self, _delete, address, managed.deleter)
        self._finalizer.atexit = False  # the producing library may be unloaded by then
        self.read_only = False
        if kind is _Versioned:
            if managed.major != VERSION[0]:
                self.release()
                raise DeviceError(f"DLPack version must be {VERSION[0]}, got {managed.major}.{managed.minor}")
            self.read_only = bool(managed.flags & _READ_ONLY)
        tensor: _Tensor = managed.tensor
        try:
            self.dtype = _dtype(tensor)
        except DeviceError:
            self.release()
            raise
        self.pointer = (tensor.data or 0) + tensor.byte_offset
        self.device_type, self.device_id = int(tensor.device_type), int(tensor.device_id)
        self.shape = tuple(int(tensor.shape[axis]) for axis in range(tensor.ndim))
        self.strides: tuple[int, ...] | None = None
        if tensor.strides:
            self.strides = tuple(int(tensor.strides[axis]) * self.dtype.itemsize for axis in range(tensor.ndim))

    def release(self) -> None:
        """Return the array to its producer. A second call does nothing."""
        self._finalizer()


def export(
    array: np.ndarray[Any, Any], place: tuple[int, int], max_version: tuple[int, int] | None, *, is_bf16: bool = False
) -> object:
    """Return a capsule for an array whose address is one on the device `place`; the capsule keeps the array alive.

    A consumer that supports a `max_version` of 1.0 or later gets that version of the protocol, others the older one.
    numpy makes the capsule, since its deleter, unlike one in Python, may also be called after the interpreter's end.
    Raise BufferError for elements that DLPack has no type for, and for a read-only array to an older consumer.
    """
    try:
        capsule = array.__dlpack__(max_version=max_version)
    except TypeError as reason:
        raise BufferError(str(reason)) from reason
    if _is_valid(capsule, _VERSIONED_NAME):
        tensor = _Versioned.from_address(_pointer_of(capsule, _VERSIONED_NAME)).tensor
    else:
        tensor = _Managed.from_address(_pointer_of(capsule, _NAME)).tensor
    tensor.device_type, tensor.device_id = place
    if is_bf16:
        tensor.code = _BFLOAT
    return capsule


def _delete(address: int, deleter: int | None) -> None:
    if deleter:
        _DELETER(deleter)(address)


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    kind = _KINDS.get(tensor.code)
    name = f"{kind}{tensor.bits // 8}"
    if kind is None or tensor.bits % 8 or tensor.lanes != 1:
        raise DeviceError(
            f"element type of an external array must be one of numpy's, got DLPack's type {tensor.code} of "
            f"{tensor.bits} bits in {tensor.lanes} lanes; convert the array, or view it as integers of that size"
        )
    try:
        return np.dtype("?" if kind == "b" else name)
    except TypeError:
        raise DeviceError(f"element type of an external array must be one of numpy's, got {tensor.bits} bits") from None
