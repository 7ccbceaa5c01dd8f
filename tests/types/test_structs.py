"""Structs are laid out as C lays them out, fixed arrays and inherited fields included."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.types.structs import fields_of, make_struct, struct_of
from tests.types.test_types import C_TYPES
from warploom.engine import types
from warploom.engine.types import (
    DType,
    Struct,
    any_type,
    f16,
    f32,
    f64,
    field_offset,
    fixed_array,
    float2,
    float3,
    float4,
    layout_text,
    u8,
    u16,
    uchar4,
)


@given(fields_of(list(C_TYPES)))
def test_structs_are_laid_out_as_c_lays_them_out(fields: list[tuple[DType, tuple[int, ...]]]) -> None:
    """Size, alignment and every offset equal those of a ctypes structure with the same fields."""
    ours = struct_of("Sample", fields)
    pairs = []
    for name, (dtype, dims) in zip(ours.fields, fields, strict=True):
        c_type = C_TYPES[dtype]
        for dim in reversed(dims):
            c_type *= dim
        pairs.append((name, c_type))
    theirs = type("Sample", (ctypes.Structure,), {"_fields_": pairs})
    assert ours.size_bytes == ours.numpy.itemsize == ctypes.sizeof(theirs)
    assert ours.alignment == ctypes.alignment(theirs)
    assert [field_offset(ours, name) for name, _ in pairs] == [getattr(theirs, name).offset for name, _ in pairs]


class Inner(Struct):
    """Holds a vector after a byte."""

    flag: u8
    position: float4


class Outer(Struct):
    """Holds a struct after a half."""

    scale: f16
    inner: Inner
    tail: u16


class Curve(Struct):
    """Holds arrays of vectors and of structs."""

    points: float3 = fixed_array(5)
    knots: Inner = fixed_array(2)
    grid: f32 = fixed_array(2, 3)


class Named(Curve):
    """Adds a field to those of a curve."""

    number: u16


def test_vectors_and_structs_inside_structs_keep_their_alignment() -> None:
    """A float4 starts at a multiple of 16, and so does a struct that holds one."""
    assert Inner.size_bytes == 32
    assert field_offset(Inner, "position") == 16
    assert field_offset(Outer, "inner") == 16
    assert (field_offset(Outer, "tail"), Outer.size_bytes, Outer.alignment) == (48, 64, 16)


def test_fixed_arrays_are_axes_of_the_field_in_numpy() -> None:
    """An array of five float3 is read as 5 x 3 numbers, and an array of structs as records."""
    curves = np.zeros(4, Curve.numpy)
    assert curves["points"].shape == (4, 5, 3)
    assert curves["knots"]["position"].shape == (4, 2, 4)
    assert curves["grid"].shape == (4, 2, 3)
    assert (field_offset(Curve, "knots"), field_offset(Curve, "grid"), Curve.size_bytes) == (64, 128, 160)
    assert (str(Curve.fields["grid"]), Curve.fields["grid"].components) == ("f32[2][3]", 6)


def test_a_subclass_has_the_inherited_fields_first() -> None:
    """Inherited fields come first, arrays included; the base class does not change."""
    assert list(Named.fields) == ["points", "knots", "grid", "number"]
    assert Named.fields["grid"] == Curve.fields["grid"]
    assert field_offset(Named, "number") == 152
    assert list(Curve.fields) == ["points", "knots", "grid"]


def test_struct_needs_fields_of_element_types() -> None:
    """A struct without fields, or with a field that is no element type, is refused when it is defined."""
    with pytest.raises(TypeError, match="struct Empty must declare at least one field, got none"):
        make_struct("Empty")
    with pytest.raises(TypeError, match="struct Wrong: field a must be an element type, got <class 'int'>"):
        make_struct("Wrong", a=int)
    with pytest.raises(TypeError, match="field a must be an element type, got any_type"):
        make_struct("Wrong", a=any_type)
    with pytest.raises(TypeError, match="struct Wrong: field a must have no value but fixed_array, got 3"):
        make_struct("Wrong", {"a": 3}, a=f32)


@pytest.mark.parametrize("dims", [(), (0,), (2, -1), (2.5,)])
def test_a_fixed_array_has_sizes_from_one(dims: tuple[int, ...]) -> None:
    """No size, a size of 0 and a fractional size are refused."""
    with pytest.raises(TypeError, match="a fixed array's sizes must be whole numbers from 1, got"):
        fixed_array(*dims)


def test_struct_types_of_one_name_and_layout_are_the_same_type() -> None:
    """A module that is loaded again defines types that still connect with the previous ones."""
    assert make_struct("P", x=f32) == make_struct("P", x=f32)
    assert hash(make_struct("P", x=f32)) == hash(make_struct("P", x=f32))
    assert make_struct("P", x=f32) != make_struct("Q", x=f32)
    assert make_struct("P", x=f32) != make_struct("P", x=f64)
    assert make_struct("P", x=f32) != make_struct("P", y=f32)
    assert make_struct("P", {"x": fixed_array(2)}, x=f32) != make_struct("P", {"x": fixed_array(3)}, x=f32)


def test_only_structs_have_fields_with_offsets() -> None:
    """Asking a vector for a field's offset, or a struct for a field that it lacks, raises KeyError."""
    for dtype, name in ((float4, "x"), (Inner, "y")):
        with pytest.raises(KeyError, match=name):
            field_offset(dtype, name)


class Spark(Struct):
    """The example of the room's README."""

    position: float3
    colour: uchar4
    history: float2 = fixed_array(8)


def test_the_readme_shows_the_layout_that_its_struct_has() -> None:
    """The comment in the README's example is the output of `layout_text`."""
    readme = (Path(types.__file__).parent / "README.md").read_text()
    assert f"# {layout_text(Spark)}\n" in readme
    assert f"static_assert(sizeof(Spark) == {Spark.size_bytes}" in readme
