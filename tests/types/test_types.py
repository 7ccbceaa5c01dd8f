"""Scalars, vectors and shapes: sizes, equality and names."""

import ctypes
from typing import Any

import numpy as np
import pytest

from warploom.engine import types
from warploom.engine.types import (
    NAMED,
    DType,
    bf16,
    bfloat162,
    boolean,
    c64,
    c128,
    dtype_of,
    element_count,
    f16,
    f32,
    float4,
    int4,
    u16,
    u64,
    uint4,
    ushort2,
)

C_TYPES: dict[DType, Any] = {
    types.boolean: ctypes.c_bool,
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
    """Every scalar type that C also has is laid out as in C."""
    assert dtype.size_bytes == ctypes.sizeof(C_TYPES[dtype]) == dtype.numpy.itemsize
    assert dtype.alignment == ctypes.alignment(C_TYPES[dtype])


def test_array_of_vectors_has_one_more_axis() -> None:
    """A float4 image of 2 x 3 is an array of shape 2, 3, 4."""
    assert np.empty((2, 3), float4.numpy).shape == (2, 3, 4)


def test_types_of_one_layout_and_different_names_differ() -> None:
    """bf16 is stored as uint16 but differs from u16, and signed vectors differ from unsigned ones."""
    assert bf16.numpy == u16.numpy and bf16 != u16
    assert bfloat162.numpy == ushort2.numpy and bfloat162 != ushort2
    assert int4 != uint4
    assert len(set(NAMED.values())) == len(NAMED)


def test_array_dtypes_map_to_element_types_or_are_refused_with_a_remedy() -> None:
    """All numeric dtypes of numpy, booleans too, have an element type; errors for others name the allowed dtypes."""
    for array, expected in [
        (np.zeros(3, np.float32), f32),
        (np.zeros((2, 2), np.uint64), u64),
        (np.zeros(1, bool), boolean),
        (np.zeros((), np.float16), f16),
        (np.zeros(5, np.uint16), u16),
        (np.zeros(1, np.complex64), c64),
        (np.zeros(0, np.complex128), c128),
    ]:
        assert dtype_of(array) == expected
        assert expected.numpy == array.dtype
    for array in (np.zeros(2, ">f4"), np.zeros(2, "S3"), np.zeros(2, np.clongdouble), np.zeros(2, "M8[s]")):
        with pytest.raises(TypeError, match=r"array dtype must be one of bool, uint8, .* use astype first"):
            dtype_of(array)


def test_a_scalar_shape_has_one_element() -> None:
    """The empty shape counts one element; a shape that contains a zero counts none."""
    assert (element_count(()), element_count((3, 5)), element_count((3, 0))) == (1, 15, 0)


def test_named_types_are_found_by_their_names() -> None:
    """The table of named types holds each type under its own name."""
    assert NAMED["float4"] is float4
    assert NAMED["c64"] is c64
    assert all(repr(dtype) == name for name, dtype in NAMED.items())


def test_a_block_can_name_every_type() -> None:
    """The module that block types import from has all scalar and vector types."""
    from warploom import api

    assert all(getattr(api, name) is dtype and name in api.__all__ for name, dtype in NAMED.items())
