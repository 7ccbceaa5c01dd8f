"""Arguments are packed to the bytes that kernels read."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.device.arguments import ArgumentError, pack, pack_arguments
from warploom.engine.ptx.tree import KernelParameter

LITERALS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s8": "b", "s16": "h", "s32": "i", "s64": "q"}
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}


def parameter(ptx_type: str | None, size: int) -> KernelParameter:
    return KernelParameter("value", 0, size, ptx_type)


@given(st.sampled_from(list(LITERALS)), st.data())
def test_integers_of_every_ptx_type_are_packed_as_c_stores_them(ptx_type: str, data: st.DataObject) -> None:
    """Any integer in a PTX type's range is packed to the bytes that `struct` returns."""
    size = struct.calcsize(LITERALS[ptx_type])
    low = -(1 << (8 * size - 1)) if ptx_type[0] == "s" else 0
    value = data.draw(st.integers(low, low + (1 << 8 * size) - 1))
    expected = struct.pack("<" + LITERALS[ptx_type], value)
    assert pack(parameter(ptx_type, size), value) == expected
    assert pack(parameter(None, size), value) == expected
    assert pack(parameter(f"b{8 * size}", size), value) == expected


@given(st.sampled_from(list(FLOATS)), st.floats(width=16, allow_nan=False))
def test_floats_of_every_ptx_type_are_packed_as_c_stores_them(ptx_type: str, value: float) -> None:
    """Any half-precision number, including infinities, is packed exactly into each float type."""
    size = struct.calcsize(FLOATS[ptx_type])
    assert pack(parameter(ptx_type, size), value) == struct.pack("<" + FLOATS[ptx_type], value)
    assert pack(parameter(None, size), np.float32(value)) == struct.pack("<" + FLOATS[ptx_type], value)


def test_whole_numbers_and_integers_convert_to_the_kernel_parameters_type() -> None:
    """An int becomes a float for a float parameter, and a whole float an int for an integer parameter."""
    assert pack(parameter("f32", 4), 3) == struct.pack("<f", 3.0)
    assert pack(parameter("s32", 4), 3.0) == struct.pack("<i", 3)
    assert pack(parameter("u8", 1), True) == b"\1"
    assert pack(parameter("u32", 4), -1) == b"\xff" * 4  # NVRTC types an `int` as .u32


@pytest.mark.parametrize(
    ("ptx_type", "size", "value", "message"),
    [
        ("u8", 1, 256, "argument value must fit in 1 bytes, got 256"),
        ("s8", 1, -129, "argument value must fit in 1 bytes, got -129"),
        ("u32", 4, 1 << 32, "argument value must fit in 4 bytes, got 4294967296"),
        ("u64", 8, 1 << 64, "argument value must fit in 8 bytes, got 18446744073709551616"),
        ("s32", 4, 2.5, "argument value must be an integer (s32), got 2.5"),
        ("s32", 4, float("inf"), "argument value must be an integer (s32), got inf"),
        ("s32", 4, float("nan"), "argument value must be an integer (s32), got nan"),
        ("f32", 4, 1e39, "argument value must fit in a 4-byte float, got 1e+39"),
        ("f16", 2, 70000, "argument value must fit in a 2-byte float, got 70000"),
        ("f32", 4, "2", "argument value must be a buffer or a number, got str"),
        ("f32", 4, None, "argument value must be a buffer or a number, got NoneType"),
        ("b8", 12, 1, "argument value must be 12 bytes, got 1"),
        ("b8", 12, np.zeros(2, np.float32), "argument value must be 12 bytes, got 8"),
    ],
)
def test_values_that_do_not_fit_are_refused(ptx_type: str, size: int, value: object, message: str) -> None:
    """Values that overflow, or that are of the wrong kind, are refused."""
    with pytest.raises(ArgumentError) as refused:
        pack(parameter(ptx_type, size), value)
    assert str(refused.value) == message


class FakeBuffer:
    pointer = 0x7F0011223344


def test_buffers_are_packed_by_address_and_only_into_pointers() -> None:
    """A buffer is packed as its address; a 4-byte parameter refuses a buffer."""
    assert pack(parameter("u64", 8), FakeBuffer()) == struct.pack("<Q", FakeBuffer.pointer)
    with pytest.raises(ArgumentError, match="argument value must be a 4-byte value, got a buffer"):
        pack(parameter("f32", 4), FakeBuffer())


def test_structs_are_packed_by_value() -> None:
    """An aggregate parameter takes a numpy record of its size."""
    record = np.zeros((), [("a", "<f4"), ("b", "<i4")])
    record["a"], record["b"] = 1.5, -2
    assert pack(parameter("b8", 8), record[()]) == struct.pack("<fi", 1.5, -2)


def test_argument_block_holds_each_argument_at_its_offset_and_never_moves() -> None:
    """Setting one argument changes only its bytes, and the argument block never moves."""
    parameters = [
        KernelParameter("p", 0, 8, "u64"),
        KernelParameter("n", 8, 4, "u32"),
        KernelParameter("x", 16, 8, "f64"),
    ]
    arguments = pack_arguments(parameters, [FakeBuffer(), 7, 0.25])
    address = arguments.address
    assert arguments.block.tobytes() == struct.pack("<QIxxxxd", FakeBuffer.pointer, 7, 0.25)
    arguments.set(1, 9)
    assert arguments.block.tobytes() == struct.pack("<QIxxxxd", FakeBuffer.pointer, 9, 0.25)
    assert arguments.address == address == arguments.block.ctypes.data


def test_wrong_number_of_arguments_is_refused() -> None:
    """A missing or extra argument is refused."""
    with pytest.raises(ArgumentError, match="kernel takes 1 arguments, got 2"):
        pack_arguments([parameter("u32", 4)], [1, 2])
    assert pack_arguments([], []).block.size == 8


class _Place:
    pointer = 0x7F00_1234_5678


@given(
    st.lists(st.tuples(st.sampled_from([3, -3, 2.5, 7.0, True, np.float32(1.5), _Place()]), st.booleans()), min_size=1)
)
def test_packing_does_not_depend_on_the_kinds_of_earlier_values(given_values: list[tuple[object, bool]]) -> None:
    """A block's bytes are those of `pack`, even if the kernel's earlier blocks had values of other types."""
    typed = (parameter("f32", 4), KernelParameter("next", 4, 4, "s32"), KernelParameter("last", 8, 8, "u64"))
    untyped = (parameter("b32", 4), KernelParameter("next", 4, 4, None), KernelParameter("last", 8, 8, "b64"))
    for value, has_types in given_values:
        parameters = typed if has_types else untyped
        values = [value, value, value]
        try:
            expected = b"".join(pack(p, v) for p, v in zip(parameters, values, strict=True))
        except ArgumentError:
            with pytest.raises(ArgumentError):
                pack_arguments(parameters, values)
        else:
            assert pack_arguments(parameters, values).block.tobytes() == expected
    swapped = [0.5, 1, _Place()]
    expected = b"".join(pack(p, v) for p, v in zip(typed, swapped, strict=True))
    assert pack_arguments(typed, swapped).block.tobytes() == expected
