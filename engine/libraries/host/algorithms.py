"""Lists in order, running totals and counts, by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from warploom.engine.libraries.algorithms import Histogram, Order, Scan, Sort
from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.types import Array

#: Elements that are added up at once.
_PIECE = 1 << 14


def sort(call: Sort, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Sort codes, since numpy leaves the order of -0 and 0 open."""
    x = arrays["x"].reshape(-1)
    arrays["out"][...] = _elements(np.sort(_codes(x, call.descending)), x.dtype, call.descending)


def order(call: Order, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Sort the positions of codes, which are the same for -0 and 0, and for all NaN."""
    x = arrays["x"].reshape(-1)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x + np.array(0, x.dtype))
    arrays["out"][...] = np.argsort(_codes(x, call.descending), kind="stable")


def scan(call: Scan, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Accumulate: sums and products of floats in f64, the smallest and the largest as codes."""
    out = arrays["out"]
    x = arrays["x"].reshape(-1).astype(out.dtype, copy=False)
    if call.operation in ("smallest", "largest"):
        downwards = call.operation == "smallest"
        first = ~_codes(np.array(np.inf, x.dtype), False) if x.dtype.kind == "f" else 0
        codes = _before(_codes(x, downwards), first) if call.exclusive else _codes(x, downwards)
        out[...] = _elements(np.maximum.accumulate(codes), x.dtype, downwards)
        return
    add, first = (np.add, 0) if call.operation == "sum" else (np.multiply, 1)
    given = _before(x, first) if call.exclusive else x
    if x.dtype.kind != "f":
        add.accumulate(given, dtype=x.dtype, out=out)
        return
    total = np.float64(first)
    for at in range(0, x.size, _PIECE):  # a piece of f64 stays in the cache
        piece = given[at : at + _PIECE].astype(np.float64)
        piece[0] = add(total, piece[0])
        add.accumulate(piece, out=piece)
        out[at : at + _PIECE], total = piece, piece[-1]


def histogram(call: Histogram, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Count the numbers that have a bin."""
    x = arrays["x"].reshape(-1)
    arrays["out"][...] = np.bincount(x[x < call.bins], minlength=call.bins)


def _before(x: Array, first: Any) -> Array:
    """Return a list that is moved on by one, with another first element."""
    moved = np.empty_like(x)
    moved[0], moved[1:] = first, x[:-1]
    return moved


def _codes(x: Array, descending: bool) -> Array:
    """Return whole numbers above 0 in the order of the elements of x, the largest for NaN in both directions."""
    bits, sign = x.view(f"u{x.itemsize}"), 1 << 8 * x.itemsize - 1
    if x.dtype.kind != "f":
        codes = bits ^ sign if x.dtype.kind == "i" else bits
        return ~codes if descending else codes
    codes = np.where(bits & sign, ~bits, bits | sign)
    return np.where(np.isnan(x), bits | sign, ~codes if descending else codes)


def _elements(codes: Array, dtype: np.dtype[Any], descending: bool) -> Array:
    """Return the elements that have these codes; NaN has no sign."""
    sign, plain = 1 << 8 * dtype.itemsize - 1, ~codes if descending else codes
    if dtype.kind != "f":
        return (plain ^ sign if dtype.kind == "i" else plain).view(dtype)
    bits = np.where(plain & sign, plain ^ sign, ~plain)
    return np.where(codes > _codes(np.array(np.inf, dtype), False), codes ^ sign, bits).view(dtype)


FUNCTIONS = {Sort: sort, Order: order, Scan: scan, Histogram: histogram}
