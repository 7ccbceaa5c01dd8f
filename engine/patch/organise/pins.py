"""Pins: an output that is to hold again what it held once, as a test of the patch.

Only how it is stored and compared is defined here; `engine.runtime.check.pins` makes pins and checks them.
"""

import math
import numbers
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import format_time, plural
from warploom.engine.patch.beside.array_files import is_file_name
from warploom.engine.types import Array

#: The most elements that the patch's file holds itself; more are in a file beside it.
MOST_INLINE = 64
#: The latest frame that a pin may be of: an hour at 60 a second.
LAST_FRAME = 216_000
_NUMBERS = re.compile(r"[<|]([iu][1248]|f[248]|b1)")
#: Numbers that JSON can't hold.
_NOT_FINITE = ("nan", "inf", "-inf")


class Pin(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """What an output held after a frame.

    An element may differ by `tolerance` plus `relative` times the expected number. Small contents are in `values`, in
    the order of C; large ones in a `file` beside the patch, whose name has the first digits of its SHA-256. `dtype` is
    numpy's text for the elements. With `budget_ms`, frames must also be as fast.
    """

    kind: ClassVar[str] = "pin"

    node: str
    port: str
    dtype: str
    shape: tuple[int, ...] = ()
    values: tuple[float | int | bool | str, ...] = ()
    file: str = ""
    frame: int = 0
    tolerance: float = 0.0
    relative: float = 0.0
    budget_ms: float | None = None
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return f"pin {self.node}.{self.port}"

    @property
    def rule(self) -> str:
        """What it asks for, as a text for people."""
        parts = [f"{self.tolerance:g}"] if self.tolerance or not self.relative else []
        parts += [f"{self.relative:.3%}"] if self.relative else []
        text = f"as pinned within {' plus '.join(parts)}, after frame {self.frame}"
        return text + (f", in {format_time(self.budget_ms * 1e6)} a frame" if self.budget_ms is not None else "")

    def inline(self) -> Array:
        """Return the contents that the patch's file holds itself."""
        return np.array([float(v) if isinstance(v, str) else v for v in self.values], self.dtype).reshape(self.shape)


def inline_values(array: Array) -> tuple[float | int | bool | str, ...] | None:
    """Return the elements of an array for `Pin.values`; None if they need a file."""
    if array.size > MOST_INLINE or not _NUMBERS.fullmatch(array.dtype.str):
        return None
    found = array.ravel().tolist()
    return tuple(str(v) if isinstance(v, float) and not math.isfinite(v) else v for v in found)


def checked_pin(pin: Pin) -> Pin:
    """Return a pin with plain numbers. Raise PatchError that names a wrong field."""
    for name, text in (("node", pin.node), ("port", pin.port), ("dtype", pin.dtype)):
        if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 2000:
            raise PatchError(f"{name} of a pin must be a text of 1 to 2000 characters, got {shown(text)}")
    if type(pin.frame) is not int or not 0 <= pin.frame <= LAST_FRAME:
        raise PatchError(f"frame of a pin must be from 0 to {LAST_FRAME}, got {shown(pin.frame)}")
    if not isinstance(pin.shape, tuple) or not all(type(side) is int and 0 <= side < 1 << 40 for side in pin.shape):
        raise PatchError(f"shape of a pin must be a list of lengths, got {shown(pin.shape)}")
    if pin.file != "" and not is_file_name(pin.file):
        raise PatchError(f"file of a pin must be NAME.DIGEST.npy in the patch's folder, got {shown(pin.file)}")
    if not pin.file:
        _check_values(pin)
    elif not isinstance(pin.values, tuple) or pin.values:
        raise PatchError("pin must have values or a file, got both")
    tolerances = {name: _positive(name, getattr(pin, name)) for name in ("tolerance", "relative")}
    budget_ms = None if pin.budget_ms is None else _positive("budget_ms", pin.budget_ms)
    return msgspec.structs.replace(pin, **tolerances, budget_ms=budget_ms)


def _check_values(pin: Pin) -> None:
    count = math.prod(pin.shape)
    if not _NUMBERS.fullmatch(pin.dtype):
        raise PatchError(f"dtype of a pin without a file must be of numbers, such as <f4, got {shown(pin.dtype)}")
    if not isinstance(pin.values, tuple) or len(pin.values) != count or count > MOST_INLINE:
        raise PatchError(f"values of a pin must be those of {shown(pin.shape)}, at most {MOST_INLINE}")
    kind = np.dtype(pin.dtype).kind
    for value in pin.values:
        fits = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float)}[kind]
        is_number = type(value) in fits and value not in (math.inf, -math.inf) and value == value
        if not is_number and not (kind == "f" and isinstance(value, str) and value in _NOT_FINITE):
            others = f", or one of {', '.join(_NOT_FINITE)}" if kind == "f" else ""
            raise PatchError(f"values of a pin must be {pin.dtype}{others}, got {shown(value)}")
    try:
        with np.errstate(over="raise"):
            pin.inline()
    except (ArithmeticError, ValueError) as problem:
        raise PatchError(f"values of a pin must be {pin.dtype}, got one that is not: {problem}") from None


def _positive(name: str, value: object) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 <= (plain := float(value)) < math.inf:
        return int(plain) if plain == int(plain) and plain < 1e15 else plain
    raise PatchError(f"{name} of a pin must be a number from 0 on, got {shown(value)}")


def difference(pin: Pin, expected: Array, found: Array) -> str:
    """Return how an output differs from what a pin expects; "" if every element is within the tolerance."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return f"expected {_kind(expected)}, found {_kind(found)}"
    texts = []
    for name, one, other in _parts("", expected, found):
        wrong, gap = _wrong(one, other, pin)
        if not wrong.any():
            continue
        place = np.unravel_index(np.argmax(np.where(wrong, gap, -1.0)), gap.shape)
        at = f" at [{', '.join(map(str, place))}]" if place else ""
        count = f"{np.count_nonzero(wrong):,} of {plural(wrong.size, 'element')}: " if wrong.size > 1 else ""
        texts.append(f"{count}expected {one[place]!s}, found {other[place]!s}{at}{f' of {name}' if name else ''}")
    return "; ".join(texts)


def _parts(name: str, one: Array, other: Array) -> Iterator[tuple[str, Array, Array]]:
    """Yield two arrays of numbers for each field of two arrays of structs."""
    if one.dtype.names is None:
        yield name, one, other
    for field in one.dtype.names or ():
        yield from _parts(f"{name}.{field}" if name else field, one[field], other[field])


def _wrong(expected: Array, found: Array, pin: Pin) -> tuple[Array, Array]:
    """Return which elements are out of the tolerance, and by how much each differs; infinitely where one is NaN."""
    if expected.dtype.kind in "biu":
        # The difference of two integers fits into 64 bits without a sign, where it wraps to the right number.
        high, low = np.maximum(expected, found), np.minimum(expected, found)
        with np.errstate(over="ignore"):
            gap = (high.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)
        return np.asarray(gap > pin.tolerance + pin.relative * abs(expected.astype(np.float64))), gap
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    one: Array = expected.astype(wide)
    other: Array = found.astype(wide)
    with np.errstate(all="ignore"):
        gap, size = abs(other - one), abs(one)
        finite = np.isfinite(one) & np.isfinite(other)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        right = same | (finite & (gap <= pin.tolerance + pin.relative * size))
    return np.asarray(~right), np.where(finite, gap, np.inf)


def _kind(array: Array) -> str:
    return f"{array.dtype} of shape {list(array.shape)}"
