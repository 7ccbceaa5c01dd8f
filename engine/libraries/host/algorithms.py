"""Lists in order, running totals and counts, by numpy on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from warploom.engine.libraries.algorithms import Histogram, Order, Scan, Sort
from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.platforms.processor import usable_cores
from warploom.engine.types import Array

#: Elements that are converted, or added up, at once.
_PIECE = 1 << 14
#: A core gets at least as many elements, since starting a thread takes time too.
_SHARE = 1 << 17


def sort(call: Sort, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Sort whole numbers: floats are those of their bits, where negative ones come last, the smallest first."""
    x, out = arrays["x"].reshape(-1), arrays["out"]
    if x.dtype.kind != "f":
        out[...] = x
        _sort(out, _cores(x.size))
        if call.descending:
            out[...] = out[::-1]
        return
    bits, sign = x.view(f"u{x.itemsize}").copy(), 1 << 8 * x.itemsize - 1
    _sort(bits, _cores(x.size))
    infinity = int(np.array(np.inf, x.dtype).view(bits.dtype))
    ends = np.searchsorted(bits, np.array([infinity + 1, sign, sign + infinity + 1], bits.dtype))
    positive, nans, negative, negative_nans = np.split(bits, ends)
    finite = (positive[::-1], negative) if call.descending else (negative[::-1], positive)
    last = np.sort(np.concatenate([nans, negative_nans ^ sign]))  # NaN has no sign
    np.concatenate([*finite, last], out=out.view(bits.dtype))


def order(call: Order, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Sort the positions of codes, which are the same for -0 and 0, and for all NaN.

    Codes of 64 bits are sorted by their lower halves, then by their upper halves.
    """
    x, out = arrays["x"].reshape(-1), arrays["out"]

    def codes(places: slice | Array) -> Array:
        keys = x[places]
        if x.dtype.kind == "f":
            keys = keys + np.array(0, x.dtype)
            keys[np.isnan(keys)] = np.nan
        return _codes(keys, call.descending)

    if x.itemsize < 8:
        _order(codes, out)
        return
    places = np.empty_like(out)

    def follow(piece: slice) -> None:
        out[piece] = places[out[piece]]

    _order(lambda piece: codes(piece) & 0xFFFFFFFF, places)
    _order(lambda piece: codes(places[piece]) >> 32, out)
    _on_all_cores(follow, x.size)


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
    for at in range(0, x.size, _PIECE):  # a piece of f64 stays in the cache; numpy accumulates on one core at a time
        piece = given[at : at + _PIECE].astype(np.float64)
        piece[0] = add(total, piece[0])
        add.accumulate(piece, out=piece)
        out[at : at + _PIECE], total = piece, piece[-1]


def histogram(call: Histogram, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Count the numbers that have a bin."""
    x = arrays["x"].reshape(-1)
    arrays["out"][...] = np.bincount(x[x < call.bins], minlength=call.bins)


def _cores(size: int) -> int:
    """Return the number of cores that work on so many elements."""
    return max(1, min(usable_cores(), size // _SHARE))


def _pieces(size: int) -> list[slice]:
    return [slice(at, min(at + _PIECE, size)) for at in range(0, size, _PIECE)]


def _on_all_cores(work: Callable[[slice], object], size: int) -> None:
    """Do work for each piece of a list."""
    pieces, cores = _pieces(size), _cores(size)

    def run(first: int) -> None:
        with np.errstate(all="ignore"):  # each thread has its own
            for piece in pieces[first::cores]:
                work(piece)

    if cores == 1:
        run(0)
        return
    with ThreadPoolExecutor(cores) as threads:
        list(threads.map(run, range(cores)))


def _sort(codes: Array, cores: int) -> None:
    """Sort whole numbers in place: half of the cores sort those below the median."""
    if cores == 1 or codes.itemsize == 1:
        codes.sort(kind="stable" if codes.itemsize == 1 else None)  # it counts bytes
        return
    middle = codes.size * (cores // 2) // cores
    codes.partition(middle)
    with ThreadPoolExecutor(1) as thread:
        lower = thread.submit(_sort, codes[:middle], cores // 2)
        _sort(codes[middle:], cores - cores // 2)
    lower.result()


def _order(codes: Callable[[slice], Array], out: Array) -> None:
    """Store the positions of codes below 2^32 in their order: each is sorted in a word with its position below it."""
    words = np.empty(out.size, np.uint64)

    def join(piece: slice) -> None:
        words[piece] = codes(piece).astype(np.uint64) << 32 | np.arange(piece.start, piece.stop, dtype=np.uint64)

    def separate(piece: slice) -> None:
        out[piece] = words[piece].astype(np.uint32)

    _on_all_cores(join, out.size)
    _sort(words, _cores(out.size))
    _on_all_cores(separate, out.size)


def _before(x: Array, first: Any) -> Array:
    """Return a list that is moved on by one, with another first element."""
    moved = np.empty_like(x)
    moved[:1], moved[1:] = first, x[:-1]
    return moved


def _codes(x: Array, descending: bool) -> Array:
    """Return whole numbers above 0 in the order of the elements of x, the largest for NaN in both directions."""
    bits, sign = x.view(f"u{x.itemsize}"), 1 << 8 * x.itemsize - 1
    if x.dtype.kind != "f":
        codes = bits ^ sign if x.dtype.kind == "i" else bits
        return ~codes if descending else codes
    codes = bits ^ (_signs(bits) | sign)
    if descending:
        codes = ~codes
    return np.where(np.isnan(x), bits | sign, codes)


def _elements(codes: Array, dtype: np.dtype[Any], descending: bool) -> Array:
    """Return the elements that have these codes; NaN has no sign."""
    sign, plain = 1 << 8 * dtype.itemsize - 1, ~codes if descending else codes
    if dtype.kind != "f":
        return (plain ^ sign if dtype.kind == "i" else plain).view(dtype)
    bits = plain ^ (~_signs(plain) | sign)
    return np.where(codes > _codes(np.array(np.inf, dtype), False), codes ^ sign, bits).view(dtype)


def _signs(bits: Array) -> Array:
    """Return words whose bits all are the highest bit of each of these."""
    return (bits.view(f"i{bits.itemsize}") >> 8 * bits.itemsize - 1).view(bits.dtype)


FUNCTIONS = {Sort: sort, Order: order, Scan: scan, Histogram: histogram}
