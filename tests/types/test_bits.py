"""Values count as the same exactly when nothing can distinguish them."""

import math
import struct
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.descriptions.entries import BufferArgument, DelayEntry, ValueArgument
from warploom.engine.types.bits import bit_key, same

_NUMBERS = st.sampled_from((0.0, -0.0, 1.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, -5e-324)) | st.floats()
_VALUES = _NUMBERS | st.booleans() | st.integers(-2, 2) | st.sampled_from(("", "0.0", None))


def bytes_of(value: Any) -> bytes:
    """Return the type and the bytes that a kernel would get, as an independent identity of a value."""
    return f"{type(value).__name__} ".encode() + (
        struct.pack(">d", value) if type(value) is float else repr(value).encode()
    )


@given(_VALUES, _VALUES)
def test_scalars_are_the_same_when_their_types_and_bytes_are(a: Any, b: Any) -> None:
    """0.0 differs from -0.0, and 1 differs from 1.0 and from True. NaNs with the same bits are the same."""
    assert same(a, b) == (bytes_of(a) == bytes_of(b))
    assert same([a, {"x": b}], [a, {"x": b}])
    assert same((a,), (b,)) == same(a, b)


@given(st.lists(_NUMBERS, max_size=3), st.lists(_NUMBERS, max_size=3))
def test_arrays_are_the_same_when_their_bytes_are(a: list[float], b: list[float]) -> None:
    """Arrays differ if their element types or shapes differ, even with equal bytes."""
    x, y = np.array(a), np.array(b)
    assert same(x, y) == (x.shape == y.shape and x.tobytes() == y.tobytes())
    assert not same(x, x.astype(np.complex128))
    assert not same(x, x.reshape(1, -1))


@given(_VALUES, _VALUES)
def test_entries_are_equal_when_their_numbers_are_the_same(a: Any, b: Any) -> None:
    """Equal entries have the same hash."""
    target, source = BufferArgument("out", reads=False, writes=True), BufferArgument("x", reads=True, writes=False)
    for one, other in (
        (ValueArgument(a), ValueArgument(b)),
        (DelayEntry(target, source, a), DelayEntry(target, source, b)),
    ):
        assert (one == other, one != other) == (same(a, b), not same(a, b))
        assert not same(a, b) or hash(one) == hash(other)
    assert hash(bit_key(a)) == hash(bit_key(struct.unpack("<d", struct.pack("<d", a))[0] if type(a) is float else a))
