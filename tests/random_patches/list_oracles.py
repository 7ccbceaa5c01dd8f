"""Results by numpy of blocks that pick, place, join, limit, sort, count and reduce elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.random_patches.materials import VECTORS, Array
from warploom.engine.types import from_bf16

Inputs, Parameters, Types = Mapping[str, Array], Mapping[str, Any], Mapping[str, str]


def numbers(array: Array, dtype: str) -> Array:
    """Return an array of numbers; bf16 is kept as 16-bit words."""
    return from_bf16(array) if dtype == "bf16" else array


def _positions(array: Array, dtype: str) -> Array:
    """Return whole numbers as s64: fractions cut off, NaN 0, and numbers that are too large the largest."""
    x = numbers(array, dtype)
    if x.dtype == np.uint64:
        return np.minimum(x, 2**63 - 1).astype(np.int64)
    if x.dtype.kind == "f":
        return np.clip(np.nan_to_num(x.astype(np.float64), nan=0), -9e18, 9e18).astype(np.int64)
    return x.astype(np.int64)


def _axes(array: Array, dtype: str) -> int:
    """Return the number of axes without that of a vector's components."""
    return array.ndim - (dtype in VECTORS)


def _where(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    mask = numbers(i["mask"], t["mask"])
    if t["mask"] == "Particle" or t["a"] == "Particle":
        return {}
    holds = (mask != 0).any(-1) if t["mask"] in VECTORS else mask != 0
    return {"out": np.where(holds[..., None] if t["a"] in VECTORS else holds, i["a"], i["b"])}


def _gather(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    x, at, axes = i["x"], _positions(i["indices"], t["indices"]), _axes(i["x"], t["x"])
    axis = p["axis"] % axes
    out = np.take(x, at, axis, mode="wrap" if p["edge"] == "wrap" else "clip")
    if p["edge"] == "zero":
        beyond = (at < 0) | (at >= x.shape[axis])
        out[(slice(None),) * axis + (beyond,)] = np.zeros((), x.dtype)
    return {"out": out}


def _scatter(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    out, at = i["target"].copy(), _positions(i["indices"], t["indices"]).reshape(-1)
    for place, row in zip(at, i["x"].reshape(-1, *out.shape[1:]), strict=True):
        if 0 <= place < len(out):
            out[place] = row
    return {"out": out}


def _joined(function: Callable[..., Array], new: int) -> Any:
    def oracle(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
        return {"out": function([i[name] for name in "abcd" if name in i], p["axis"] % (_axes(i["a"], t["a"]) + new))}

    return oracle


def _clamp(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    low, high = np.float32(p["low"]), np.float32(p["high"])
    return {"out": np.minimum(np.maximum(i["x"], low), high)}


def _map_range(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    x, (a, b, c, d) = i["x"].astype(np.float64), (float(np.float32(p[n])) for n in _ENDS)
    part = (x - a) / float(np.float32(b - a)) if np.float32(b - a) else 0 * x
    part = np.clip(part, 0, 1) if p["clamp"] else part
    return {"out": c * (1 - part) + d * part, "within": 2e-6 * (abs(c) * (1 + np.abs(part)) + np.abs(d * part))}


_ALONG: Mapping[str, Any] = {
    "sum": np.sum,
    "mean": np.mean,
    "smallest": np.min,
    "largest": np.max,
    "variance": np.var,
    "deviation": np.std,
}


def _along(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    x, axis, operation = numbers(i["x"], t["x"]).astype(np.float64), p["axis"], p["operation"]
    size = np.abs(x).max(axis=axis, keepdims=True)
    if operation in ("variance", "deviation"):
        if size.max() > 1e150:
            return {}  # a square may overflow
        x, size = x - x.take([0], axis), size / 1e6  # what rounding of f64 may leave
    out = np.atleast_1d(_ALONG[operation](x, axis=axis))
    within = 1e-6 * x.shape[axis] * np.atleast_1d(size.squeeze(axis))
    return {"out": out.astype(np.float32), "within": within + 1e-6 * np.abs(out)}


def _statistics(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    x = numbers(i["x"], t["x"]).astype(np.float64)
    return {"out": x.mean().astype(np.float32).reshape(1), "within": 1e-6 * np.abs(x).max()}


def _order(x: Array, descending: bool = False) -> Array:
    """Return the positions in a stable order, with NaN last."""
    x = x.reshape(-1)
    order = x.size - 1 - np.argsort(x[::-1], kind="stable")[::-1] if descending else np.argsort(x, kind="stable")
    return np.concatenate([order[x[order] == x[order]], np.flatnonzero(x != x)])


def _sort(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    words, x = i["x"].reshape(-1), numbers(i["x"], t["x"]).reshape(-1)
    if t["x"] == "bf16":  # its words are compared: -0 is below 0, and NaN loses its sign
        words = np.where(np.isnan(x), words & 0x7FFF, words)
        x = np.where((x == 0) & np.signbit(x), -1e-300, x.astype(np.float64))
    return {"out": words[_order(x, p["descending"])]}


def _sort_by_key(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    return {"out": i["x"][_order(numbers(i["keys"], t["keys"]), p["descending"])]}


def _top_k(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    return {"out": i["x"].reshape(-1)[_order(numbers(i["x"], t["x"]), not p["smallest"])[: p["k"]]]}


_SCANS: Mapping[str, Any] = {
    "sum": np.add,
    "product": np.multiply,
    "smallest": np.minimum,
    "largest": np.maximum,
}


def _scan(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    if t["x"] in ("f16", "bf16"):
        return {}
    x = i["x"].reshape(-1).astype(np.uint32 if t["x"] == "boolean" else i["x"].dtype)
    is_added = p["operation"] in ("sum", "product")
    wide = np.float64 if x.dtype.kind == "f" and is_added else x.dtype
    out = _SCANS[p["operation"]].accumulate(x, dtype=wide)
    if p["exclusive"]:
        low, high = (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
        first = {"sum": 0, "product": 1, "smallest": high, "largest": low}[p["operation"]]
        out = np.concatenate([np.array([first], out.dtype), out[:-1]])
    if wide is not np.float64:
        return {"out": out.astype(x.dtype)}
    size = np.maximum.accumulate(np.abs(out))  # what rounding may leave when large numbers cancel each other
    return {"out": out.astype(x.dtype), "within": 1e-6 * size + 1e-6 * np.abs(x).max()}


def _front(kept: Array, size: int, **more: Any) -> dict[str, Any]:
    """Return the result of an append buffer, with zeros behind the front."""
    out = np.zeros((size, *kept.shape[1:]), kept.dtype)
    out[: len(kept)] = kept
    return {"out": out, **more}


def _compact(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    mask = numbers(i["mask"], t["mask"])
    if "Particle" in t.values() or t["x"] in VECTORS:
        return {}
    holds = (mask != 0).any(-1) if t["mask"] in VECTORS else mask != 0
    return _front(i["x"][holds], holds.size)


def _unique(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    return {} if t["x"] == "bf16" else _front(np.unique(i["x"]), i["x"].size)


def _reduce_by_key(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    keys, x = (numbers(i[name], t[name]).reshape(-1) for name in ("keys", "x"))
    x = x.astype(np.float64)
    found, which = np.unique(keys, return_inverse=True)
    made = np.array([_ALONG[p["operation"]](x[which == k]) for k in range(len(found))])
    return _front(made.astype(np.float32), keys.size, within=1e-6 * np.abs(x).sum())


def _histogram(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    x, bins = numbers(i["x"], t["x"]).astype(np.float64), p["bins"]
    low, high = (float(np.float32(p[name])) for name in ("low", "high"))
    x = x[(x >= low) & (x <= high)]
    if not low < high:
        return {}
    places = np.minimum(np.floor((x - low) / (high - low) * bins), bins - 1)
    return {"out": np.bincount(places.astype(np.int64), minlength=bins).astype(np.uint32)}


_ENDS = ("from_low", "from_high", "to_low", "to_high")
#: Those whose sums may be of infinities, or overflow.
FINITE = {"data.reduce_by_key", "data.scan", "math.map_range", "reduce.along_axis", "reduce.statistics"}
#: Oracles by block type.
LISTS: Mapping[str, Any] = {
    "buffer.concatenate": _joined(np.concatenate, 0),
    "buffer.gather": _gather,
    "buffer.scatter": _scatter,
    "buffer.stack": _joined(np.stack, 1),
    "data.compact": _compact,
    "data.histogram": _histogram,
    "data.reduce_by_key": _reduce_by_key,
    "data.scan": _scan,
    "data.sort": _sort,
    "data.sort_by_key": _sort_by_key,
    "data.top_k": _top_k,
    "data.unique": _unique,
    "math.clamp": _clamp,
    "math.map_range": _map_range,
    "math.where": _where,
    "reduce.along_axis": _along,
    "reduce.statistics": _statistics,
}
