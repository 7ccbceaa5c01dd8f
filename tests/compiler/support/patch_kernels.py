"""The kernels of `patches.cu` in numpy, for the interpreter, with the kernels' arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.engine.types import Array


def _repeated(y: Array, shape: tuple[int, ...]) -> Array:
    rows, columns = np.indices(shape)
    return y[rows % y.shape[0], columns % y.shape[1]]


def _fresh(out: Array, size: int, seed: int, frame: int) -> None:
    numbers = np.arange(1, out.size + 1, dtype=np.uint64) * 2654435761 + seed * 40503 + frame * 977
    out[...] = numbers.astype(np.uint32).reshape(out.shape)


def _blend(*given: Any) -> None:
    x, y, out, a = given[0], given[3], given[8], given[11]
    out[...] = x * np.uint32(a) + _repeated(y, x.shape)


def _scale(*given: Any) -> None:
    x, a = given[0], given[5]
    x[...] = x * np.uint32(a) + np.arange(x.size, dtype=np.uint32).reshape(x.shape)


def _absorb(*given: Any) -> None:
    x, y = given[0], given[5]
    x[...] = x * np.uint32(3) + _repeated(y, x.shape)


def _mix(x: Array, work: Array, out: Array, size: int) -> None:
    work += x ^ np.uint32(0x5BD1E995)
    out[...] = x * np.uint32(7) + np.uint32(1)


def _unmix(work: Array, out: Array, size: int) -> None:
    out += work.ravel()[::-1].reshape(out.shape)


def _total(x: Array, *given: Any) -> None:
    given[-1][...] = x.sum(dtype=np.uint32)


def _is_rare(x: Array, size: int, out: Array, modulus: int) -> None:
    out[...] = int(x.sum(dtype=np.uint32)) % modulus == 0


def _count_down(x: Array) -> None:
    x.flat[0] = max(int(x.flat[0]) % 4 - 1, 0)


def _keep(x: Array, out: Array, size: int) -> None:
    out[...] = out * np.uint32(5) + x


def _choose(x: Array, size: int, out: Array, counter: Array, capacity: int, modulus: int) -> None:
    found = x.ravel()[x.ravel() % modulus == 0]
    counter[...] += found.size
    out.ravel()[: found.size] = found[: out.size]


def _count_appended(counter: Array, count: Array, capacity: int) -> None:
    count[...] = min(int(counter[0]), capacity)


def _sum_first(x: Array, count: Array, out: Array) -> None:
    out[...] = x.ravel()[: count[0, 0]].sum(dtype=np.uint32)


#: The interpreter's functions, by kernel.
KERNELS: dict[str, Callable[..., None]] = {
    "fresh": _fresh,
    "blend": _blend,
    "scale": _scale,
    "absorb": _absorb,
    "mix": _mix,
    "unmix": _unmix,
    "total": _total,
    "is_rare": _is_rare,
    "count_down": _count_down,
    "keep": _keep,
    "choose": _choose,
    "count_appended": _count_appended,
    "sum_first": _sum_first,
}
