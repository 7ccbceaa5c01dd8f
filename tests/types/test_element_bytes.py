"""One element filled with a number has the bytes that numpy gives it."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from engine.types import NAMED, DType, element_bytes, to_bf16
from tests.types.structs import make_struct
from tests.types.test_structs import Curve, Outer


@pytest.mark.parametrize("dtype", NAMED.values(), ids=str)
@pytest.mark.parametrize("number", [0, 1, 100])
def test_every_type_can_be_filled(dtype: DType, number: int) -> None:
    """Each component of a vector is the number, and it is the real part of a complex number."""
    kind = dtype.of or dtype
    values = np.full(1 if kind is dtype else dtype.components, number, np.float32)
    expected = to_bf16(values) if kind.__name__ == "bf16" else values.astype(kind.numpy)
    assert element_bytes(dtype, number) == expected.tobytes()
    assert len(element_bytes(dtype, number)) == dtype.size_bytes


def test_structs_are_filled_field_by_field() -> None:
    """Inner structs and arrays too; padding stays 0."""
    expected = struct.pack("<e14xB15x4fH14x", 2, 2, 2, 2, 2, 2, 2)
    assert element_bytes(Outer, 2.0) == expected
    curve = np.frombuffer(element_bytes(Curve, 3.0), Curve.numpy)[0]
    assert (curve["points"] == 3).all() and (curve["grid"] == 3).all() and (curve["knots"]["flag"] == 3).all()


def test_floats_take_what_is_not_whole() -> None:
    """Infinity and NaN as well, and the largest integers are exact."""
    assert element_bytes(NAMED["float2"], 0.1) == struct.pack("<2f", 0.1, 0.1)
    assert element_bytes(NAMED["bf16"], float("inf")) == b"\x80\x7f"
    assert np.isnan(np.frombuffer(element_bytes(NAMED["f16"], float("nan")), np.float16)).all()
    assert element_bytes(NAMED["u64"], 2**64 - 1) == b"\xff" * 8
    assert element_bytes(NAMED["boolean"], 0.5) == b"\1"


@pytest.mark.parametrize(
    ("name", "number"),
    [("u8", 256), ("u8", -1), ("s16", 1.5), ("int4", float("nan")), ("u32", float("inf")), ("f16", 1e5), ("bf16", 1e39),
     ("f32", 1e39), ("c64", 1e39)],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_refused(name: str, number: float) -> None:
    """A default never becomes another number."""
    with pytest.raises(
        ValueError, match=rf"must be (a whole number from|within its range).* got {number!r}".replace("+", r"\+")
    ):
        element_bytes(NAMED[name], number)
    with pytest.raises(ValueError, match="must be"):
        element_bytes(make_struct("Holder", a=NAMED[name]), number)
