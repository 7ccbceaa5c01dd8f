"""A kernel's argument block: one piece of memory that holds each argument at the offset where the kernel reads it.

It is created once per kernel node. Changing a scalar is a single write into it, which makes a HOT update cheap.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, Literal, TypeVar, cast

import msgspec
import numpy as np

from warploom.engine.device.slab import Piece, fresh_bytes
from warploom.engine.diagnostics import DeviceError
from warploom.engine.ptx.tree import KernelParameter
from warploom.engine.types import NAMED, from_bf16, to_bf16
from warploom.engine.types.records import record_numbers

# struct formats by PTX scalar type; the format of an untyped .b32 or .b64 depends on the value.
_FORMATS = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "s8": "b", "s16": "h", "s32": "i", "s64": "q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip
_WORD = struct.Struct("<Q")
_MOST_F32 = float(np.finfo(np.float32).max)
Key = TypeVar("Key")
_INTEGER_BY_SIZE = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FLOAT_BY_SIZE = {2: "e", 4: "f", 8: "d"}


class ArgumentError(DeviceError):
    """A value does not fit the kernel's parameter; the device itself is fine."""


class ArgumentLayout:
    """The offsets of a kernel's arguments in its block, and methods that write all values in one call.

    A recipe replaces buffers by their addresses, and packs values of certain types with one `struct` format.
    """

    __slots__ = (
        "_is_typed",
        "_recipes",
        "_write_addresses",
        "formats",
        "offsets",
        "parameters",
        "size_bytes",
        "sizes",
        "sizes_at",
        "write_plain",
        "writers",
    )

    def __init__(self, parameters: tuple[KernelParameter, ...]) -> None:
        self.parameters = parameters
        self.offsets = tuple(parameter.offset for parameter in parameters)
        self.sizes = tuple(parameter.size_bytes for parameter in parameters)
        #: Bytes of a block; at least 8, so that it has an address.
        self.size_bytes = max([8, *(offset + size for offset, size in zip(self.offsets, self.sizes, strict=True))])
        #: Offset of the buffer sizes: for every 8 bytes of a block, the size of the buffer whose address they hold.
        self.sizes_at = -(-self.size_bytes // 8) * 8
        self._recipes: dict[tuple[type, ...], _Recipe | None] = {}
        self._write_addresses = struct.Struct(f"={len(parameters)}Q").pack_into
        #: The `struct` format of each argument; None if it has no type, or a type that `struct` lacks.
        self.formats = formats = [format_of(parameter) for parameter in parameters]
        #: Functions that pack a value of each argument; they may refuse values that `write_one` accepts.
        self.writers: tuple[Callable[[Any], bytes], ...] = tuple(
            struct.Struct("<" + code).pack if code else partial(pack, parameter)
            for parameter, code in zip(parameters, formats, strict=True)
        )
        #: Packs plain numbers into memory at an offset, correctly or not at all. None unless every parameter has a
        #: type.
        self.write_plain: Callable[..., None] | None = None
        self._is_typed = all(formats)

    def pack(self, values: Sequence[object]) -> KernelArguments:
        """Return a block with these values.

        Raise ArgumentError if there are too many or too few, or if one does not fit.
        """
        if len(values) != len(self.sizes):
            raise ArgumentError(f"kernel takes {len(self.sizes)} arguments, got {len(values)}")
        piece = fresh_bytes(2 * self.sizes_at)
        write = self.write_plain
        try:
            if write is not None:
                write(piece.memory, piece.offset, *values)
        except (struct.error, OverflowError):
            write = None  # values of other types
        if write is None:
            self.write(piece, values)
        return KernelArguments(self, piece, piece.address)

    def write(self, piece: Piece, values: Sequence[object]) -> None:
        """Write all arguments. Raise ArgumentError when one does not fit."""
        kinds = tuple(map(type, values))
        try:
            recipe = self._recipes[kinds]
        except KeyError:
            recipe = self._recipes[kinds] = self._recipe(values)
        if recipe is not None and not recipe[1] and self._is_typed:
            self.write_plain = recipe[0]
        if recipe is None or not _is_written(recipe, piece, values):
            for index, value in enumerate(values):
                self.write_one(piece, index, value)
            return
        for index in recipe[1]:
            self.write_size(piece, index, _size_of(values[index]))

    def extents(self, buffers: Iterable[tuple[int, int]]) -> bytes:
        """Return the argument of `KernelArguments.limit` for buffers, given as argument index and size in bytes."""
        words = [0] * (self.sizes_at // 8)
        for index, size_bytes in buffers:
            words[self.offsets[index] // 8] = size_bytes + 1
        return struct.pack(f"<{len(words)}Q", *words)

    def write_size(self, piece: Piece, index: int, size_bytes: int | None) -> None:
        """Write the size in bytes of the buffer whose address is an argument; None if the size is unknown."""
        start = piece.offset + self.sizes_at + self.offsets[index]
        _WORD.pack_into(piece.memory, start, 0 if size_bytes is None else size_bytes + 1)

    def write_addresses(self, piece: Piece, address: int) -> None:
        """Write the addresses of all arguments of a block at `address`, 8 bytes each."""
        self._write_addresses(piece.memory, piece.offset, *[address + offset for offset in self.offsets])

    def write_one(self, piece: Piece, index: int, value: object) -> None:
        """Write one argument. Raise ArgumentError when it does not fit."""
        try:
            is_plain = type(value) is float or type(value) is int
            data = self.writers[index](value) if is_plain else pack(self.parameters[index], value)
        except (struct.error, OverflowError):
            data = pack(self.parameters[index], value)
        start = piece.offset + self.offsets[index]
        piece.memory[start : start + len(data)] = data  # `pack_into` would clear the argument before it refuses a value
        if len(data) == _WORD.size:
            self.write_size(piece, index, None if is_plain else _size_of(value))

    def _recipe(self, values: Sequence[object]) -> _Recipe | None:
        """Return the recipe for values of these types; None if they must be written one by one."""
        form, end, buffers = "<", 0, []
        for index, (parameter, value) in enumerate(zip(self.parameters, values, strict=True)):
            code: str | None
            if getattr(value, "pointer", None) is not None:
                code = "Q" if _takes_address(parameter) else None  # `pack` raises the error
                buffers.append(index)
            else:
                code = _code_of(parameter, value)
            if code is None or parameter.offset < end:
                return None
            form += "x" * (parameter.offset - end) + code
            end = parameter.offset + parameter.size_bytes
        return struct.Struct(form).pack_into, tuple(buffers)


def _size_of(value: object) -> int | None:
    """Return the bytes of a buffer; None for other objects, and for a buffer of unknown size."""
    size: int | None = getattr(value, "size_bytes", None) if hasattr(value, "pointer") else None
    return size


_Recipe = tuple[Callable[..., None], tuple[int, ...]]


def _is_written(recipe: _Recipe, piece: Piece, values: Sequence[object]) -> bool:
    """Write all arguments by a recipe. Return False if it is for other types, or if a value needs converting."""
    write, buffers = recipe
    try:
        if buffers:
            plain: list[Any] = [*values]
            for index in buffers:
                plain[index] = plain[index].pointer
            values = plain
        write(piece.memory, piece.offset, *values)
    except (AttributeError, struct.error, OverflowError):
        return False
    return True


#: Layouts by the `id` of their parameters; a kernel always has the same parameters object.
_LAYOUTS: dict[int, ArgumentLayout] = {}
_MOST_LAYOUTS = 1024


def layout_of(parameters: Sequence[KernelParameter]) -> ArgumentLayout:
    """Return the layout of a kernel's arguments, which is created once per kernel."""
    found = _LAYOUTS.get(id(parameters))
    if found is not None and found.parameters is parameters:
        return found
    made = ArgumentLayout(tuple(parameters))
    if len(_LAYOUTS) >= _MOST_LAYOUTS:
        _LAYOUTS.clear()
    _LAYOUTS[id(made.parameters)] = made
    return made


def pack_arguments(parameters: Sequence[KernelParameter], values: Sequence[object]) -> KernelArguments:
    """Return the packed arguments of a launch. Raise ArgumentError if their number is wrong or one does not fit.

    A value is a buffer (anything with `pointer`), a numpy scalar or array, a Python number, or the bytes of a struct.
    """
    if not isinstance(values, (list, tuple)):
        raise ArgumentError(f"arguments must be a list or a tuple, got {values!r}")
    return layout_of(parameters).pack(values)


class KernelArguments(msgspec.Struct, eq=False, gc=False):
    """The packed arguments of one kernel launch.

    `block` is the parameter space, laid out as the kernel declares it; its address never changes. It is followed by the
    sizes, plus 1, of the buffers whose addresses it holds; 0 means unknown. From these, a device that checks accesses
    knows which memory each pointer may reach. `version` grows with every write, so that a reader can detect new values.
    """

    layout: ArgumentLayout
    _piece: Piece
    address: int
    version: int = 0

    @property
    def block(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The bytes of all arguments, in place."""
        return self._piece.bytes[: self.layout.size_bytes]

    @property
    def memory(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The same bytes followed by the sizes of buffers, which begin at `layout.sizes_at`."""
        return self._piece.bytes

    def limit(self, sizes: bytes) -> None:
        """Set the sizes of the buffers whose addresses are arguments, as `layout.extents` returns them."""
        start = self._piece.offset + self.layout.sizes_at
        self._piece.memory[start : start + len(sizes)] = sizes

    @property
    def buffers(self) -> list[tuple[int, int]]:
        """The first address and the size of each buffer whose size is known."""
        slots = self.layout.sizes_at // 8
        words = self.memory.view(np.uint64).tolist()
        return [(first, size - 1) for first, size in zip(words[:slots], words[slots:], strict=True) if size]

    def copy_to(self, other: Piece) -> None:
        """Copy the block to the start of another piece of memory."""
        piece, target, size = self._piece, other.offset, self.layout.size_bytes
        other.memory[target : target + size] = piece.memory[piece.offset : piece.offset + size]

    def set(self, index: int, value: object) -> None:
        """Write one argument: a buffer (anything with `pointer`), a numpy scalar or a Python number."""
        self.layout.write_one(self._piece, index, value)
        self.version += 1

    def writer(
        self, index: int, written: dict[Key, None], key: Key, component: int | None = None
    ) -> Callable[[object], None]:
        """Return a fast `set` for one argument, or for a component of a vector; each call also records `key` in
        `written`.
        """
        parameter = self.layout.parameters[index]
        put: Callable[[object], None] = partial(self.set, index)
        if component is not None:
            parameter = components_of(parameter)[component]
            put = partial(self._set_component, parameter)
        code, start = format_of(parameter), self._piece.offset + parameter.offset
        if code is None or code == "e":  # memoryviews can't hold f16

            def write(value: object) -> None:
                put(value)
                written[key] = None

            return write
        cell: Any = self._piece.memory[start : start + parameter.size_bytes].cast(cast("Literal['f']", code))
        most = _MOST_F32 if code == "f" else math.inf  # a cell would store a larger number as infinity

        def write_cell(value: Any) -> None:
            try:
                is_written = -most <= value <= most
                if is_written:
                    cell[0] = value
            except (TypeError, ValueError):
                is_written = False
            if is_written:
                self.version += 1
            else:
                put(value)  # converts the value, or raises an error
            written[key] = None

        return write_cell

    def _set_component(self, component: KernelParameter, value: object) -> None:
        start, data = self._piece.offset + component.offset, pack(component, value)
        self._piece.memory[start : start + len(data)] = data
        self.version += 1


def _code_of(parameter: KernelParameter, value: object) -> str | None:
    """Return the struct format that packs numbers of this type like `pack`; None if there is none."""
    kind = _kind(parameter)
    if kind in _CHECKED:
        return None
    if isinstance(value, (float, np.floating)):
        code = _FORMATS.get(kind) or _FLOAT_BY_SIZE.get(parameter.size_bytes)
        return code if code is not None and code in "efd" else None
    if isinstance(value, (int, np.integer)):
        return _FORMATS.get(kind) or _INTEGER_BY_SIZE.get(parameter.size_bytes)
    return None


def _kind(parameter: KernelParameter) -> str:
    """Return a parameter's type as its source declares it, otherwise as in PTX; "" if unknown."""
    return parameter.declared or parameter.ptx_type or ""


def format_of(parameter: KernelParameter) -> str | None:
    """Return the `struct` format of an argument; None if it has no type, or a type that `struct` lacks."""
    return _FORMATS.get(_kind(parameter))


def _takes_address(parameter: KernelParameter) -> bool:
    return parameter.size_bytes == 8 and parameter.ptx_type != "f64"


def check_address(parameter: KernelParameter) -> None:
    """Raise ArgumentError when a parameter can't hold the address of a buffer."""
    if not _takes_address(parameter):
        wanted = "number (f64)" if parameter.ptx_type == "f64" else f"{parameter.size_bytes}-byte value"
        raise ArgumentError(f"argument {parameter.name} must be a {wanted}, got a buffer")


def check_vector(parameter: KernelParameter, dtype: str) -> None:
    """Raise ArgumentError when a parameter does not take a vector of this type."""
    if parameter.declared != dtype:
        found = parameter.declared or f"{parameter.size_bytes} bytes of a type that neither code nor manifest declares"
        raise ArgumentError(f"argument {parameter.name} must be declared as {dtype}, got {found}")


@cache
def components_of(parameter: KernelParameter) -> tuple[KernelParameter, ...]:
    """Return the components of a vector, or the numbers of a struct, as parameters at their places."""
    if numbers := record_numbers(parameter.declared):
        return tuple(
            KernelParameter(
                f"{parameter.name}+{place}", parameter.offset + place, NAMED[name].size_bytes, declared=name
            )
            for name, place in numbers
        )
    of = NAMED[parameter.declared].of
    assert of is not None
    size = of.size_bytes
    return tuple(
        KernelParameter(f"{parameter.name}.{letter}", parameter.offset + place * size, size, declared=of.__name__)
        for place, letter in enumerate("xyzw"[: parameter.size_bytes // size])
    )


def pack_vector(parameter: KernelParameter, values: Sequence[object]) -> bytes:
    """Return the bytes of a vector or a struct, given its numbers. Raise ArgumentError when one does not fit."""
    data = bytearray(parameter.size_bytes)
    for component, value in zip(components_of(parameter), values, strict=True):
        place = component.offset - parameter.offset
        data[place : place + component.size_bytes] = pack(component, value)
    return bytes(data)


def pack(parameter: KernelParameter, value: object) -> bytes:
    """Return the bytes of an argument. Raise ArgumentError when the value does not fit the parameter."""
    size = parameter.size_bytes
    pointer = getattr(value, "pointer", None)
    if pointer is not None:
        check_address(parameter)
        return struct.pack("<Q", pointer)
    if isinstance(value, (np.ndarray, np.void, bytes)):
        data = value if isinstance(value, bytes) else value.tobytes()
        if len(data) != size:
            raise ArgumentError(f"argument {parameter.name} must be {size} bytes, got {len(data)}")
        return data
    if not isinstance(value, (bool, int, float, np.generic)):
        raise ArgumentError(f"argument {parameter.name} must be a buffer or a number, got {type(value).__name__}")
    is_float, kind = isinstance(value, (float, np.floating)), _kind(parameter)
    if kind in _CHECKED:
        return _CHECKED[kind](parameter, value)
    code = _FORMATS.get(kind)
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
        raise ArgumentError(f"argument {parameter.name} must be an integer ({kind or None}), got {value!r}")
    number, end = int(value), 1 << (8 * size)
    # Without a declared type, `.u16` is any number of 16 bits, since PTX uses it for a `short` too.
    low, high = (0 if kind == parameter.declared != "" and kind[0] == "u" else -end // 2), end - 1
    if kind[:1] == "s":
        high = end // 2 - 1
    if not low <= number <= high:
        raise ArgumentError(
            f"argument {parameter.name} must fit in {parameter.declared or f'{size} bytes'}, got {number}"
        )
    return (number & (end - 1)).to_bytes(size, "little")


def _pack_boolean(parameter: KernelParameter, value: Any) -> bytes:
    if value not in (0, 1):
        raise ArgumentError(f"argument {parameter.name} must be true or false, got {value!r}")
    return bytes([int(value)])


def _pack_brain(parameter: KernelParameter, value: Any) -> bytes:
    number = to_bf16(np.array([float(value)]))
    if np.isinf(from_bf16(number)[0]) and math.isfinite(value):
        raise ArgumentError(f"argument {parameter.name} must fit in bf16, got {value!r}")
    return number.tobytes()


#: Packing functions for types that `struct` lacks or accepts too freely: it takes any number as a boolean.
_CHECKED: dict[str, Callable[[KernelParameter, Any], bytes]] = {"boolean": _pack_boolean, "bf16": _pack_brain}
