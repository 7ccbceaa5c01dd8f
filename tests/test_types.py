"""Element types are laid out as C lays them out, and arguments are packed as kernels read them."""

from __future__ import annotations

import ctypes
import struct
from types import new_class
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import types
from engine.device.arguments import ArgumentError, KernelArguments, pack
from engine.ptx.signature import KernelParameter
from engine.types import (
    DType,
    Struct,
    any_type,
    dtype_of,
    element_count,
    f16,
    f32,
    f64,
    float2,
    float3,
    float4,
    s32,
    u8,
    u16,
    u32,
    u64,
    uchar4,
)

C_TYPES: dict[DType, Any] = {
    types.u8: ctypes.c_uint8,
    types.u16: ctypes.c_uint16,
    types.u32: ctypes.c_uint32,
    types.u64: ctypes.c_uint64,
    types.s8: ctypes.c_int8,
    types.s16: ctypes.c_int16,
    types.s32: ctypes.c_int32,
    types.s64: ctypes.c_int64,
    types.f32: ctypes.c_float,
    types.f64: ctypes.c_double,
}


@pytest.mark.parametrize("dtype", C_TYPES, ids=str)
def test_scalars_have_the_size_and_alignment_of_c(dtype: DType) -> None:
    """Every scalar but half precision has a C type of the same layout."""
    assert dtype.size_bytes == ctypes.sizeof(C_TYPES[dtype]) == dtype.numpy.itemsize
    assert dtype.alignment == ctypes.alignment(C_TYPES[dtype])


# CUDA C++ Programming Guide, "Built-in Vector Types": alignment in bytes.
@pytest.mark.parametrize(
    ("dtype", "size", "alignment"), [(float2, 8, 8), (float3, 12, 4), (float4, 16, 16), (uchar4, 4, 4), (f16, 2, 2)]
)
def test_vectors_have_the_layout_that_cuda_documents(dtype: DType, size: int, alignment: int) -> None:
    """A three-component vector is aligned to one component, the others to their whole size."""
    assert (dtype.size_bytes, dtype.alignment) == (size, alignment)


def test_array_of_vectors_has_one_more_axis() -> None:
    """A float4 image of 2 x 3 is an array of shape 2, 3, 4."""
    assert np.empty((2, 3), float4.numpy).shape == (2, 3, 4)


def make_struct(name: str, **fields: type) -> Any:
    """Define a struct with these fields."""
    return new_class(name, (Struct,), {}, lambda body: body.update(__annotations__=fields))


scalar_fields = st.lists(st.sampled_from(list(C_TYPES)), min_size=1, max_size=8)


@given(scalar_fields)
def test_structs_are_laid_out_as_c_lays_them_out(fields: list[DType]) -> None:
    """Size, alignment and every offset equal those of ctypes for the same fields."""
    names = [f"field_{i}" for i in range(len(fields))]
    ours = make_struct("Sample", **dict(zip(names, fields, strict=True)))
    pairs = [(n, C_TYPES[t]) for n, t in zip(names, fields, strict=True)]
    theirs = type("Sample", (ctypes.Structure,), {"_fields_": pairs})
    assert ours.size_bytes == ours.numpy.itemsize == ctypes.sizeof(theirs)
    assert ours.alignment == ctypes.alignment(theirs)
    assert [ours.numpy.fields[n][1] for n in names] == [getattr(theirs, n).offset for n in names]


class Inner(Struct):
    """Holds a vector after a byte."""

    flag: u8
    position: float4


class Outer(Struct):
    """Holds a struct after a half."""

    scale: f16
    inner: Inner
    tail: u16


def test_vectors_and_structs_inside_structs_keep_their_alignment() -> None:
    """A float4 starts at a multiple of 16, and so does a struct that holds one."""
    assert Inner.size_bytes == 32
    assert Inner.numpy.fields["position"][1] == 16  # type: ignore[index]
    assert Outer.numpy.fields["inner"][1] == 16  # type: ignore[index]
    assert (Outer.numpy.fields["tail"][1], Outer.size_bytes, Outer.alignment) == (48, 64, 16)  # type: ignore[index]


def test_struct_needs_fields_of_element_types() -> None:
    """A struct without fields, or with a field that is no element type, is refused when it is defined."""
    with pytest.raises(TypeError, match="struct Empty must declare at least one field, got none"):
        make_struct("Empty")
    with pytest.raises(TypeError, match="struct Wrong: field a must be an element type, got <class 'int'>"):
        make_struct("Wrong", a=int)
    with pytest.raises(TypeError, match="field a must be an element type, got any_type"):
        make_struct("Wrong", a=any_type)


def test_struct_types_of_one_name_and_layout_are_the_same_type() -> None:
    """A module that is loaded again gives types that connect with those of before."""
    assert make_struct("P", x=f32) == make_struct("P", x=f32)
    assert hash(make_struct("P", x=f32)) == hash(make_struct("P", x=f32))
    assert make_struct("P", x=f32) != make_struct("Q", x=f32)
    assert make_struct("P", x=f32) != make_struct("P", x=f64)
    assert make_struct("P", x=f32) != make_struct("P", y=f32)


def test_array_dtypes_map_to_element_types_or_are_refused_with_a_remedy() -> None:
    """Numpy's numeric dtypes have an element type; others name what is allowed."""
    assert dtype_of(np.zeros(3, np.float32)) == f32
    assert dtype_of(np.zeros((2, 2), np.uint64)) == u64
    for array in (np.zeros(2, np.complex64), np.zeros(2, bool), np.zeros(2, ">f4")):
        with pytest.raises(TypeError, match=r"array dtype must be one of .* use astype first"):
            dtype_of(array)


def test_a_scalar_shape_has_one_element() -> None:
    """The empty shape counts one element, a shape with a zero none."""
    assert (element_count(()), element_count((3, 5)), element_count((3, 0))) == (1, 15, 0)


# Arguments

LITERALS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s8": "b", "s16": "h", "s32": "i", "s64": "q"}
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}


def parameter(ptx_type: str | None, size: int) -> KernelParameter:
    return KernelParameter("value", 0, size, ptx_type)


@given(st.sampled_from(list(LITERALS)), st.data())
def test_integers_of_every_ptx_type_are_packed_as_c_stores_them(ptx_type: str, data: st.DataObject) -> None:
    """Any number in the type's range gives the bytes that `struct` gives."""
    size = struct.calcsize(LITERALS[ptx_type])
    low = -(1 << (8 * size - 1)) if ptx_type[0] == "s" else 0
    value = data.draw(st.integers(low, low + (1 << 8 * size) - 1))
    expected = struct.pack("<" + LITERALS[ptx_type], value)
    assert pack(parameter(ptx_type, size), value) == expected
    assert pack(parameter(None, size), value) == expected
    assert pack(parameter(f"b{8 * size}", size), value) == expected


@given(st.sampled_from(list(FLOATS)), st.floats(width=16, allow_nan=False))
def test_floats_of_every_ptx_type_are_packed_as_c_stores_them(ptx_type: str, value: float) -> None:
    """Any half-precision number, infinities included, survives in each float type."""
    size = struct.calcsize(FLOATS[ptx_type])
    assert pack(parameter(ptx_type, size), value) == struct.pack("<" + FLOATS[ptx_type], value)
    assert pack(parameter(None, size), np.float32(value)) == struct.pack("<" + FLOATS[ptx_type], value)


def test_whole_numbers_and_integers_convert_to_the_kernel_parameters_type() -> None:
    """An int given to a float parameter becomes that float, a whole float given to an integer that integer."""
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
    """Overflow and wrong kinds never reach the kernel as other bits."""
    with pytest.raises(ArgumentError) as refused:
        pack(parameter(ptx_type, size), value)
    assert str(refused.value) == message


class FakeBuffer:
    pointer = 0x7F0011223344


def test_buffers_are_packed_by_address_and_only_into_pointers() -> None:
    """A buffer gives its address; a 4-byte parameter cannot take one."""
    assert pack(parameter("u64", 8), FakeBuffer()) == struct.pack("<Q", FakeBuffer.pointer)
    with pytest.raises(ArgumentError, match="argument value must be a 4-byte value, got a buffer"):
        pack(parameter("f32", 4), FakeBuffer())


def test_structs_are_packed_by_value() -> None:
    """An aggregate parameter takes a numpy record of its size."""
    record = np.zeros((), [("a", "<f4"), ("b", "<i4")])
    record["a"], record["b"] = 1.5, -2
    assert pack(parameter("b8", 8), record[()]) == struct.pack("<fi", 1.5, -2)


def test_argument_block_holds_each_argument_at_its_offset_and_never_moves() -> None:
    """Setting one argument changes its bytes alone, in the same memory."""
    parameters = [
        KernelParameter("p", 0, 8, "u64"),
        KernelParameter("n", 8, 4, "u32"),
        KernelParameter("x", 16, 8, "f64"),
    ]
    arguments = KernelArguments(parameters, [FakeBuffer(), 7, 0.25])
    address = arguments.address
    assert arguments.block.tobytes() == struct.pack("<QIxxxxd", FakeBuffer.pointer, 7, 0.25)
    arguments.set(1, 9)
    assert arguments.block.tobytes() == struct.pack("<QIxxxxd", FakeBuffer.pointer, 9, 0.25)
    assert arguments.address == address == arguments.block.ctypes.data


def test_wrong_number_of_arguments_is_refused() -> None:
    """A kernel is never launched with an argument missing or left over."""
    with pytest.raises(ArgumentError, match="kernel takes 1 arguments, got 2"):
        KernelArguments([parameter("u32", 4)], [1, 2])
    assert KernelArguments([], []).block.size == 8


def test_named_types_are_found_by_their_names() -> None:
    """The table of types by name holds each under the name that CUDA gives it."""
    assert types.NAMED["float4"] is float4
    assert types.NAMED["s32"] is s32
    assert types.NAMED["u32"] is u32
