"""A kernel's argument block: one piece of memory that holds every argument at the offset the kernel reads it from.

It is made once per kernel node. A changed scalar is one write into it, which is what makes a HOT update cheap.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from engine.diagnostics import DeviceError
from engine.ptx.signature import KernelParameter

# struct formats by PTX scalar type; untyped .b32 and .b64 take the format that fits the value.
_FORMATS = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "s8": "b", "s16": "h", "s32": "i", "s64": "q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip
_INTEGER_BY_SIZE = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FLOAT_BY_SIZE = {2: "e", 4: "f", 8: "d"}


class ArgumentError(DeviceError):
    """A value does not fit the kernel's parameter; the device is as well as before."""


class KernelArguments:
    """The packed arguments of one kernel launch.

    `block` is the parameter space, laid out as the kernel declares it; its address never changes.
    """

    __slots__ = ("address", "block", "parameters")

    def __init__(self, parameters: Sequence[KernelParameter], values: Sequence[object]) -> None:
        if len(values) != len(parameters):
            raise ArgumentError(f"kernel takes {len(parameters)} arguments, got {len(values)}")
        self.parameters = tuple(parameters)
        size = max((p.offset + p.size_bytes for p in parameters), default=0)
        self.block = np.zeros(max(size, 8), np.uint8)
        self.address = self.block.ctypes.data
        for index, value in enumerate(values):
            self.set(index, value)

    def set(self, index: int, value: object) -> None:
        """Write one argument: a buffer (anything with `pointer`), a numpy scalar or a Python number."""
        parameter = self.parameters[index]
        data = pack(parameter, value)
        self.block[parameter.offset : parameter.offset + parameter.size_bytes] = np.frombuffer(data, np.uint8)


def pack(parameter: KernelParameter, value: object) -> bytes:
    """Return the bytes of `value` as `parameter` takes it; ArgumentError when it does not fit."""
    size = parameter.size_bytes
    pointer = getattr(value, "pointer", None)
    if pointer is not None:
        if size != 8:
            raise ArgumentError(f"argument {parameter.name} must be a {size}-byte value, got a buffer")
        return struct.pack("<Q", pointer)
    if isinstance(value, (np.ndarray, np.void)):
        data = value.tobytes()
        if len(data) != size:
            raise ArgumentError(f"argument {parameter.name} must be {size} bytes, got {len(data)}")
        return data
    if not isinstance(value, (bool, int, float, np.generic)):
        raise ArgumentError(f"argument {parameter.name} must be a buffer or a number, got {type(value).__name__}")
    is_float = isinstance(value, (float, np.floating))
    code = _FORMATS.get(parameter.ptx_type or "")
    if code is None:
        code = (_FLOAT_BY_SIZE if is_float else _INTEGER_BY_SIZE).get(size)
    if code is None:
        raise ArgumentError(f"argument {parameter.name} must be {size} bytes, got {value!r}")
    if code in "efd":
        try:
            return struct.pack("<" + code, float(value))
        except OverflowError:
            raise ArgumentError(f"argument {parameter.name} must fit in a {size}-byte float, got {value!r}") from None
    if is_float and not float(value).is_integer():
        raise ArgumentError(f"argument {parameter.name} must be an integer ({parameter.ptx_type}), got {value!r}")
    mask = (1 << (8 * size)) - 1
    number = int(value)
    if not -(mask + 1) // 2 <= number <= mask:
        raise ArgumentError(f"argument {parameter.name} must fit in {size} bytes, got {number}")
    return (number & mask).to_bytes(size, "little")
