"""Kinds of operands: the width of their registers, and how their bits are read as numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Bits = np.ndarray[Any, np.dtype[np.uint64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class FloatFormat:
    """An IEEE-like format: the widths of the whole number, its exponent and its mantissa, in bits."""

    bits: int
    exponent: int
    mantissa: int

    @property
    def bias(self) -> int:
        """Return the exponent's bias."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        """Return the bits of positive infinity."""
        return ((1 << self.exponent) - 1) << self.mantissa


FORMATS = {
    "f16": FloatFormat(16, 5, 10),
    "bf16": FloatFormat(16, 8, 7),
    "f32": FloatFormat(32, 8, 23),
    "f64": FloatFormat(64, 11, 52),
}


@dataclass(frozen=True)
class Kind:
    """One kind of operand: its width (1 for a predicate), a float format or "", and which sampler makes its values."""

    name: str
    bits: int
    format: str = ""
    sampler: str = "integer"

    @property
    def register(self) -> str:
        """Return the type of register for this kind; b8 values use 16-bit registers."""
        return "pred" if self.bits == 1 else f"b{max(self.bits, 16)}"

    @property
    def elements(self) -> int:
        """Return how many numbers one operand packs."""
        return self.bits // FORMATS[self.format].bits if self.format else 1


def _kinds() -> dict[str, Kind]:
    found = [Kind("pred", 1)]
    for bits in (8, 16, 32, 64):
        found += [Kind(f"{letter}{bits}", bits) for letter in "bus"]
    for name, form in FORMATS.items():
        found.append(Kind(name, form.bits, name, "float"))
    found += [Kind("f16x2", 32, "f16", "float"), Kind("bf16x2", 32, "bf16", "float")]
    found += [
        Kind("tf32", 32, "f32", "float"),
        Kind("turn", 32, "f32", "turn"),  # within +-2 pi, where the manual's bounds for sin and cos are tightest
        Kind("angle", 32, "f32", "angle"),  # within +-100 pi, where the manual still bounds their errors
        Kind("exponent", 32, "f32", "exponent"),  # where 2^x is neither zero nor infinite, and slightly beyond
        Kind("positive", 32, "f32", "positive"),
        Kind("divisor", 32, "f32", "divisor"),  # 2^-126 to 2^126 in size, where div.approx has a bound
        Kind("dividend", 32, "f32", "dividend"),  # quotients by a divisor near one stay in range
        Kind("whole", 32, "f32", "whole"),  # small integers, whose sums are exact in any order
        Kind("whole64", 64, "f64", "whole"),
        Kind("whole16x2", 32, "f16", "whole"),
        Kind("wholeb16x2", 32, "bf16", "whole"),
        Kind("whole16", 16, "f16", "whole"),
        Kind("wholeb16", 16, "bf16", "whole"),
        Kind("shift", 32, sampler="shift"),  # mostly below 70, sometimes any value
        Kind("lane", 32, sampler="lane"),  # 0 to 31
        Kind("slot", 32, sampler="slot"),  # 0 to 7
        Kind("few", 32, sampler="few"),  # 0 to 3, so that some lanes agree
        Kind("few64", 64, sampler="few"),
    ]
    return {kind.name: kind for kind in found}


KINDS = _kinds()


def split(bits: Bits, kind: Kind) -> Bits:
    """Return the packed numbers separately, shape (elements, lanes)."""
    size = FORMATS[kind.format].bits if kind.format else 64
    mask = np.uint64((1 << size) - 1)
    return np.stack([(bits >> np.uint64(size * index)) & mask for index in range(kind.elements)])


def decode(bits: Bits, name: str) -> Floats:
    """Return the values of bits in a float format, as float64."""
    with np.errstate(invalid="ignore"):  # converting a signalling NaN is not an error
        if name == "f64":
            return bits.astype(np.uint64).view(np.float64)
        if name == "f32":
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
        if name == "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)


def encode(values: Floats, name: str) -> Bits:
    """Return the bits of numbers in a float format; bf16 is truncated, other formats are rounded."""
    with np.errstate(over="ignore", under="ignore"):
        if name == "f64":
            return values.astype(np.float64).view(np.uint64)
        if name == "f16":
            return values.astype(np.float16).view(np.uint16).astype(np.uint64)
        single = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return single >> np.uint64(16) if name == "bf16" else single


def is_nan(bits: Bits, name: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which bit patterns are NaN."""
    form = FORMATS[name]
    return (bits & np.uint64((1 << (form.bits - 1)) - 1)) > np.uint64(form.infinity)
