"""Results of blocks by numpy and scipy, for any inputs in a random patch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import ndimage, signal

from tests.blocks.blends import BLENDS
from tests.random_patches.image_oracles import IMAGES, LUMINANCE, WINDOWS
from tests.random_patches.list_oracles import FINITE, LISTS
from tests.random_patches.list_oracles import numbers as _numbers
from tests.random_patches.materials import Array
from warploom.engine.types import to_bf16

#: A function of input arrays, parameter values and element types, all by name; it returns the output and its tolerance.
Oracle = Callable[[Mapping[str, Array], Mapping[str, Any], Mapping[str, str]], dict[str, Any]]


def _convert(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x, to = _numbers(i["x"], t["x"]), p["dtype"]
    if to == "boolean":
        return {"out": x != 0}
    kind = {"f": "float", "u": "uint", "s": "int", "b": ""}[to[0]]
    if to == "bf16":
        if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
            x = x.astype(np.float64)
        if x.dtype == np.float64:
            return {}  # numpy doesn't round f64 to bf16 in one step
        return {"out": to_bf16(x.astype(np.float32))} if not np.isnan(x.astype(np.float32)).any() else {}
    target = np.dtype(f"{kind}{to[1:]}")
    if target.kind == "f":
        if x.dtype.kind in "iu" and x.dtype.itemsize == 8 and target.itemsize < 8:
            x = x.astype(np.float64)
        return {"out": x.astype(target)}
    if x.dtype.kind != "f":
        return {"out": x.astype(target)}
    limits = np.iinfo(target)
    whole = np.trunc(np.where(np.isfinite(x), x, 0).astype(np.longdouble))
    whole = np.clip(whole, limits.min, limits.max).astype(target)
    whole = np.where(x == np.inf, limits.max, np.where(x == -np.inf, limits.min, whole))
    return {"out": whole.astype(target), "but": np.isnan(x)}


_COMPARISONS: Mapping[str, Any] = {
    "less": np.less,
    "less or equal": np.less_equal,
    "equal": np.equal,
    "not equal": np.not_equal,
    "greater or equal": np.greater_equal,
    "greater": np.greater,
}


def _compare(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = _numbers(i["x"], t["x"]).astype(np.float64)
    y = _numbers(i["y"], t["y"]).astype(np.float64) if "y" in i else np.float64(np.float32(p["value"]))
    return {"out": _COMPARISONS[p["operation"]](x, y)}


def _count(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = _numbers(i["x"], t["x"])
    if t["x"] == "Particle":
        return {}
    vectors = x.ndim and t["x"] in ("float2", "float3", "float4", "uchar4")
    return {"out": np.array([np.count_nonzero((x != 0).any(-1) if vectors else x)], np.uint32)}


def _extreme(of: Any) -> Oracle:
    def oracle(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
        return {"out": of(_numbers(i["x"], t["x"])).astype(np.float32).reshape(1)}

    return oracle


def _sum(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = _numbers(i["x"], t["x"]).astype(np.float64)
    return {"out": x.sum().astype(np.float32).reshape(1), "within": 1e-6 * np.abs(x).sum()}


def _select(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    holds = _numbers(i["condition"], t["condition"]).reshape(-1)[p["element"]] != 0
    return {"out": i["a"] if holds else i["b"]}


def _gemm(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    a, b = (_wide(i[n], t[n]) for n in "ab")
    a, b = a.swapaxes(-1, -2) if p["transpose_a"] else a, b.swapaxes(-1, -2) if p["transpose_b"] else b
    out, size = p["alpha"] * (a @ b), abs(p["alpha"]) * (np.abs(a) @ np.abs(b))
    if "c" in i:
        c = _wide(i["c"], t["c"])
        out, size = out + p["beta"] * c, size + np.abs(p["beta"] * c)
    if "bias" in i:
        bias = _wide(i["bias"], t["bias"])
        out, size = out + bias, size + np.abs(bias)
    if p["activation"] == "relu":
        out = np.maximum(out, 0)
    elif p["activation"] == "gelu":
        # cuBLASLt's tanh is the GPU's own, whose error is 2^-11 (PTX ISA, `tanh.approx`).
        size = size + np.abs(out) * (2.0**-11 / _epsilon(t["a"]))
        out = 0.5 * out * (1 + np.tanh(np.sqrt(2 / np.pi) * (out + 0.044715 * out**3)))
    # TF32 rounds factors to 11 bits.
    epsilon = 2.0**-10 if p.get("allow_tf32") and t["a"] in ("f32", "c64") else _epsilon(t["a"])
    return {"out": out, "within": size * epsilon}


def _wide(array: Array, dtype: str) -> Array:
    x = _numbers(array, dtype)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _epsilon(dtype: str) -> float:
    return {"f16": 2e-3, "bf16": 2e-2, "f32": 2e-6, "c64": 2e-6}.get(dtype, 1e-13)


def _gemv(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    a, x = _wide(i["a"], t["a"]), _wide(i["x"], t["x"])
    a = a.T if p["transpose"] else a
    out, size = p["alpha"] * (a @ x), abs(p["alpha"]) * (np.abs(a) @ np.abs(x))
    if "y" in i:
        y = _wide(i["y"], t["y"])
        out, size = out + p["beta"] * y, size + np.abs(p["beta"] * y)
    return {"out": out, "within": size * _epsilon(t["a"])}


def _geam(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    a = p["alpha"] * _wide(i["a"], t["a"])
    out = a.T if p["transpose_a"] else a
    size = np.abs(out)
    if "b" in i:
        b = p["beta"] * _wide(i["b"], t["b"])
        b = b.T if p["transpose_b"] else b
        out, size = out + b, size + np.abs(b)
    return {"out": out, "within": size * _epsilon(t["a"])}


def _dot(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x, y = _wide(i["x"], t["x"]), _wide(i["y"], t["y"])
    out = (x.conj() if p["conjugate"] else x) * y
    return {"out": out.sum().reshape(1), "within": np.abs(out).sum() * _epsilon(t["x"])}


def _norm(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    size = np.linalg.norm(_wide(i["x"], t["x"]).reshape(-1))
    return {"out": size.reshape(1), "within": size * _epsilon(t["x"])}


def _fft(transform: Any) -> Oracle:
    def oracle(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
        x, axes = _wide(i["x"], t["x"]), tuple(range(-p["axes"], 0))
        sizes: dict[str, Any] = {}
        if transform is np.fft.irfftn:
            half = x.shape[-1]
            sizes = {"s": [*x.shape[x.ndim - p["axes"] : -1], 2 * half - (1 if p["odd"] else 2)]}
        out = transform(x, axes=axes, norm=p["norm"], **sizes)
        total = np.abs(x).sum()
        return {"out": out, "within": 4 * total * _epsilon(t["x"])}

    return oracle


def _fft_shift(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = i["x"]
    axes = x.ndim - (t["x"] in ("float2", "float3", "float4", "uchar4"))
    shift = np.fft.ifftshift if p["back"] else np.fft.fftshift
    return {"out": shift(x, axes=tuple(range(max(0, axes - p["axes"]), axes)))}


def _magnitude(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    size = np.abs(_wide(i["x"], t["x"]))
    if p["scale"] == "decibels":
        out = np.maximum(20 * np.log10(np.maximum(size, 1e-300)), p["lowest"])
        return {"out": out, "within": 1e-4 + np.abs(out) * 1e-5}
    out = size**2 if p["scale"] == "power" else size
    return {"out": out, "within": out * 2e-6}


def _window(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = _wide(i["x"], t["x"])
    weights = signal.get_window(WINDOWS.get(p["window"], p["window"]), x.shape[-1])
    if p["unit_mean"]:
        weights = weights / weights.mean()
    return {"out": x * weights, "within": np.abs(x) * np.abs(weights).max() * 2e-6}


def _fir(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x, weights = i["x"].astype(float), i["weights"].astype(float)
    size = signal.lfilter(np.abs(weights), 1, np.abs(x))
    return {"out": signal.lfilter(weights, 1, x), "within": size * 1e-5}


def _resample(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = i["x"].astype(float)
    return {"out": signal.resample_poly(x, p["up"], p["down"], axis=-1), "within": np.abs(x).max() * 1e-5}


def _softmax(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = _wide(i["x"], t["x"])
    x = x - x.max(p["axis"], keepdims=True)
    log = x - np.log(np.exp(x).sum(p["axis"], keepdims=True))
    out = log if p["log"] else np.exp(log)
    return {"out": out, "within": (1 + np.abs(out)) * _epsilon(t["x"])}


def _layer_norm(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    if t["x"][0] not in "fb" or t["x"] == "boolean":
        return {}
    x = _wide(i["x"], t["x"])
    out = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + np.float32(p["epsilon"]))
    size = np.abs(out)
    if "scale" in i:
        scale = _wide(i["scale"], t["scale"])
        out, size = out * scale, size * np.abs(scale)
    if "bias" in i:
        bias = _wide(i["bias"], t["bias"])
        out, size = out + bias, size + np.abs(bias)
    if x.shape[-1] < 2 or p["epsilon"] < 1e-9:
        return {}
    return {"out": out, "within": size * max(_epsilon(t["x"]), 2e-6)}


def _batch_norm(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = _wide(i["x"], t["x"])
    shape = (1, -1, *([1] * (x.ndim - 2)))
    mean, variance, scale, bias = (
        i[n].astype(np.float64).reshape(shape) for n in ("mean", "variance", "scale", "bias")
    )
    if (variance < 0).any():
        return {}
    largest = max(np.abs(x - mean).max(), np.abs(scale / np.sqrt(variance + p["epsilon"])).max())
    if largest > np.finfo(np.float32).max:  # an intermediate result is infinite
        return {}
    out = (x - mean) / np.sqrt(variance + p["epsilon"]) * scale + bias
    size = (np.abs(x) + np.abs(mean)) / np.sqrt(variance + p["epsilon"]) * np.abs(scale) + np.abs(bias)
    return {"out": out, "within": size * 2 * _epsilon(t["x"])}


def _windows(x: Array, p: Mapping[str, Any], fill: float) -> Array:
    """Return the windows of [n, c, h, w], as [n, c, rows, columns, window_y, window_x]."""
    y, z = p["padding_y"], p["padding_x"]
    padded = np.pad(x, ((0, 0), (0, 0), (y, y), (z, z)), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(padded, (p["window_y"], p["window_x"]), axis=(2, 3))
    return views[:, :, :: p["stride_y"], :: p["stride_x"]]


def _pool(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = _wide(i["x"], t["x"])
    if p["mode"] == "max":
        return {"out": _windows(x, p, -np.inf).max((-1, -2)), "within": 0.0}
    counts = _windows(np.ones_like(x), p, 0).sum((-1, -2))
    size = _windows(np.abs(x), p, 0).sum((-1, -2))
    return {"out": _windows(x, p, 0).sum((-1, -2)) / counts, "within": size * _epsilon(t["x"])}


def _convolution(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x, weights = _wide(i["x"], t["x"]), _wide(i["weights"], t["weights"])
    rows, columns = ((n - 1) * p[f"dilation_{a}"] + 1 for n, a in zip(weights.shape[2:], "yx", strict=True))
    places = {**p, "window_y": rows, "window_x": columns}
    per, made = weights.shape[1], weights.shape[0] // p["groups"]
    results = []
    for taken in (lambda a: a, np.abs):
        seen = _windows(taken(x), places, 0)[..., :: p["dilation_y"], :: p["dilation_x"]]
        parts = [
            np.einsum(
                "ncyxij,ocij->noyx",
                seen[:, g * per : (g + 1) * per],
                taken(weights[g * made : (g + 1) * made]),
            )
            for g in range(p["groups"])
        ]
        out = np.concatenate(parts, 1)
        results.append(out + taken(_wide(i["bias"], t["bias"])).reshape(1, -1, 1, 1) if "bias" in i else out)
    out, size = results
    return {"out": np.maximum(out, 0) if p["relu"] else out, "within": size * 2 * _epsilon(t["x"])}


def _mean(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = i["image"].astype(np.float64)
    size = (2 * p["radius_y"] + 1, 2 * p["radius_x"] + 1, *([1] * (x.ndim - 2)))
    most = np.abs(x).max()
    return {"out": ndimage.uniform_filter(x, size, mode="nearest"), "within": most * 1e-5}


def _weighted(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x, weights = i["image"].astype(np.float64), i["weights"].astype(np.float64)
    weights = weights.reshape(*weights.shape, *([1] * (x.ndim - 2)))
    out, size = (ndimage.convolve(f(x), f(weights), mode="nearest") for f in (lambda a: a, np.abs))
    return {"out": out, "within": size * 1e-5}


def _gray(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = i["image"].astype(np.float64)
    light = x[..., :3] @ LUMINANCE
    out = x.copy()
    out[..., :3] += (light[..., None] - x[..., :3]) * p["amount"]
    return {"out": out, "within": np.abs(x).max(-1, keepdims=True) * 1e-5}


def _invert(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    x = i["image"].astype(np.float64)
    out = x.copy()
    out[..., :3] += (1 - 2 * x[..., :3]) * p["amount"]
    return {"out": out, "within": (1 + np.abs(x)) * 1e-5}


def _mix(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    a, b = i["a"].astype(np.float64), i["b"].astype(np.float64)
    rows, columns = (np.minimum(np.arange(n), m - 1) for n, m in zip(a.shape[:2], b.shape[:2], strict=True))
    b = b[rows[:, None], columns]
    if p["mode"] == "over":
        return _over(a, b, p["amount"])
    with np.errstate(all="ignore"):
        blend = np.array(BLENDS[p["mode"]](a, b), np.float64)
    if p["mode"] != "normal":
        blend[..., 3] = a[..., 3]
    size = 1 + np.abs(a) + np.abs(b) + np.abs(a * b) + np.abs(blend) + np.abs(a) ** 4 * np.abs(b)
    return {"out": a + (blend - a) * p["amount"], "within": size * 1e-5}


def _over(a: Array, b: Array, amount: float) -> dict[str, Any]:
    """Lay b on a by its alpha; where both alphas nearly cancel, any colour is accepted."""
    cover = b[..., 3:] * amount
    under = a[..., 3:] * (1 - cover)
    alpha = cover + under
    size = np.abs(cover) + np.abs(a[..., 3:]) * (1 + np.abs(cover))
    with np.errstate(all="ignore"):
        color = (b * cover + a * under) / alpha
        within = 1e-4 * (1 + np.abs(a) + np.abs(b)) * size / alpha
    within = np.where(alpha > 1e-3 * size, within, np.inf)
    within[..., 3:] = 1e-5 * size
    return {"out": np.concatenate([color[..., :3], alpha], axis=-1), "within": within}


def _jacobi(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    u = i["u"].astype(np.float64)
    out, size = u.copy(), np.abs(u)
    inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    out[1:-1, 1:-1] = inner
    return {"out": out, "within": size.max() * 1e-5}


def _accuracy(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    if np.isnan(i["x"]).any() or np.isnan(i["targets"]).any():
        return {}
    right = (i["x"].argmax(1) == i["targets"].argmax(1)).mean()
    return {"out": right.reshape(1), "within": 1e-6}


def _sparse(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    offsets, columns, entries, x = (
        i["offsets"],
        i["columns"],
        i["entries"].astype(np.float64),
        i["x"].astype(np.float64),
    )
    rows = offsets.size - 1
    width = p["width"] if p["transpose"] else x.shape[0]
    if offsets[0] or offsets[-1] != columns.size or (np.diff(offsets) < 0).any():
        return {}
    if (columns < 0).any() or (columns >= width).any():
        return {}
    matrix = np.zeros((rows, width))
    np.add.at(matrix, (np.repeat(np.arange(rows), np.diff(offsets)), columns), entries)
    matrix = matrix.T if p["transpose"] else matrix
    return {
        "out": p["alpha"] * (matrix @ x),
        "within": abs(p["alpha"]) * (np.abs(matrix) @ np.abs(x)) * _epsilon(t["x"]),
    }


def _plain(formula: Any, size: Any) -> Oracle:
    """Return an oracle of f32 elements, exact to one or two roundings."""

    def oracle(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
        wide = {name: array.astype(np.float64) for name, array in i.items()}
        return {"out": formula(wide, p), "within": size(wide, p) * 1e-6}

    return oracle


def _slice(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    vectors = t["x"] in ("float2", "float3", "float4", "uchar4")
    axes = i["x"].ndim - vectors
    cut: list[Any] = [slice(None)] * axes
    cut[p["axis"]] = slice(p["start"], p["stop"] or None, p["step"])
    return {"out": i["x"][tuple(cut)]}


def _same(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    return {"out": i["x"]}


_FORMULA: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in ("sin", "abs", "sqrt", "floor", "exp")},
    "min": np.minimum,
    "max": np.maximum,
    "clamp": np.clip,
    "fma": lambda a, b, c: a * b + c,
}


def _expression(i: Mapping[str, Array], p: Mapping[str, Any], t: Mapping[str, str]) -> dict[str, Any]:
    """Evaluate the formula in both precisions and for nearby inputs; where results differ, any output is accepted."""
    text = ast.unparse(_Chosen().visit(ast.parse(p["expression"], mode="eval")))
    if "time" in text or set(t.values()) != {"f32"}:
        return {}

    def value(dtype: Any, apart: float) -> Array:
        shape = i["x"].shape
        names = {name: (array.astype(np.float64) * (1 + apart)).astype(dtype) for name, array in i.items()}
        names |= {name: dtype(p[name]) for name in ("k", "m") if name in p}
        width = shape[-1] if shape else 1
        names["u"] = np.broadcast_to(((np.arange(width) + 0.5) / width).astype(dtype), shape)
        names["i"] = np.arange(i["x"].size).reshape(shape).astype(dtype)
        made = eval(text, {"__builtins__": {}, "where": np.where, **_FORMULA}, names)
        return np.broadcast_to(np.asarray(made, np.float64), shape)

    made = [value(np.float64, apart) for apart in (0, 4e-6, -4e-6)]
    made.append(value(np.float32, 0))
    spread = np.ptp(made, axis=0)
    is_known = spread <= 1e-3 * (1 + np.abs(made[0]))
    return {"out": made[0], "within": np.where(is_known, 4 * spread + 1e-5 * (1 + np.abs(made[0])), np.inf)}


class _Chosen(ast.NodeTransformer):
    """Replaces a conditional expression by a call of `where`, which numpy has for arrays."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Return the call."""
        self.generic_visit(node)
        return ast.Call(ast.Name("where", ast.Load()), [node.test, node.body, node.orelse], [])


ORACLES: Mapping[str, Oracle] = {
    **LISTS,
    **IMAGES,
    "buffer.convert": _convert,
    "buffer.copy": _same,
    "buffer.slice": _slice,
    "control.select": _select,
    "field.jacobi_step": _jacobi,
    "filter.mean": _mean,
    "filter.weighted": _weighted,
    "image.grayscale": _gray,
    "image.invert": _invert,
    "image.mix": _mix,
    "kernel.expression": _expression,
    "linalg.add_matrices": _geam,
    "linalg.dot": _dot,
    "linalg.matrix_vector": _gemv,
    "linalg.multiply": _gemm,
    "linalg.norm": _norm,
    "math.add": _plain(lambda i, p: i["x"] + i["y"], lambda i, p: np.abs(i["x"]) + np.abs(i["y"])),
    "math.compare": _compare,
    "math.mix": _plain(
        lambda i, p: i["a"] + (i["b"] - i["a"]) * p["amount"],
        lambda i, p: (np.abs(i["a"]) + np.abs(i["b"])) * (1 + abs(p["amount"])),
    ),
    "math.multiply": _plain(lambda i, p: i["x"] * i["y"], lambda i, p: np.abs(i["x"] * i["y"])),
    "math.saxpy": _plain(lambda i, p: p["a"] * i["x"] + i["y"], lambda i, p: np.abs(p["a"] * i["x"]) + np.abs(i["y"])),
    "math.scale_offset": _plain(
        lambda i, p: p["scale"] * i["x"] + p["offset"], lambda i, p: np.abs(p["scale"] * i["x"]) + abs(p["offset"])
    ),
    "neural.batch_norm": _batch_norm,
    "neural.convolution": _convolution,
    "neural.layer_norm": _layer_norm,
    "neural.pool": _pool,
    "neural.softmax": _softmax,
    "reduce.count": _count,
    "reduce.largest": _extreme(np.max),
    "reduce.smallest": _extreme(np.min),
    "reduce.sum": _sum,
    "signal.fft": _fft(np.fft.fftn),
    "signal.fft_shift": _fft_shift,
    "signal.fir": _fir,
    "signal.inverse_fft": _fft(np.fft.ifftn),
    "signal.inverse_real_fft": _fft(np.fft.irfftn),
    "signal.magnitude": _magnitude,
    "signal.resample": _resample,
    "signal.real_fft": _fft(np.fft.rfftn),
    "signal.window": _window,
    "sparse.multiply": _sparse,
    "tensor.accuracy": _accuracy,
}
#: Oracles whose blocks pass NaN and infinities on as numpy does, so that all inputs count.
ANY_NUMBER = frozenset(
    {
        "buffer.convert",
        "buffer.copy",
        "buffer.slice",
        "control.select",
        "math.compare",
        "reduce.count",
        "signal.fft_shift",
    }
    | {"reduce.largest", "reduce.smallest", "tensor.accuracy"}
    | LISTS.keys() - FINITE
)


def _dagger(x: Array) -> Array:
    return x.conj().swapaxes(-1, -2)


def _lower_half(a: Array) -> Array:
    """Return the Hermitian matrix whose lower half is given."""
    diagonal = np.einsum("...ii->...i", a).real[..., None] * np.eye(a.shape[-1])
    return np.tril(a, -1) + _dagger(np.tril(a, -1)) + diagonal


def _factored(
    block: str, i: Mapping[str, Array], p: Mapping[str, Any], o: Mapping[str, Array]
) -> list[tuple[Any, Any]]:
    """Return pairs of arrays that must be equal after a factorisation; none if the matrix is ill conditioned."""
    a = i["a"]
    match block:
        case "linalg.qr":
            return [(o["q"] @ o["r"], a), (_dagger(o["q"]) @ o["q"], np.eye(o["q"].shape[-1]))]
        case "linalg.svd":
            bases = [(_dagger(x) @ x, np.eye(x.shape[-1])) for x in (o["u"], _dagger(o["vh"]))]
            return [(o["u"] * o["s"][..., None, :] @ o["vh"], a), *bases]
        case "linalg.eigen":
            v = o["vectors"]
            return [(_lower_half(a) @ v, v * o["eigenvalues"][..., None, :]), (_dagger(v) @ v, np.eye(v.shape[-1]))]
        case "linalg.lu":
            rows = np.take_along_axis(a, o["order"][..., None], -2)
            return [(o["lower"] @ o["upper"], rows), (np.triu(o["lower"], 1), np.zeros_like(o["lower"]))]
        case "linalg.cholesky":
            whole = _lower_half(a)
            values = np.linalg.eigvalsh(whole)
            return [(o["out"] @ _dagger(o["out"]), whole)] if (values[..., 0] > 1e-2 * values[..., -1]).all() else []
    lower = block == "linalg.solve" and p["matrix"] == "positive definite"
    a = _lower_half(a) if lower else a
    if lower and not (np.linalg.eigvalsh(a)[..., 0] > 0).all():
        return []
    values = np.linalg.svd(a, compute_uv=False)
    if not (values[..., 0] < 50 * values[..., -1]).all() or (values[..., -1] < 1e-30).any():  # products may overflow
        return []
    if block == "linalg.inverse":
        return [(a @ o["out"], np.broadcast_to(np.eye(a.shape[-1]), a.shape))]
    product, b = a @ o["x"], i["b"]
    return [(product, b)] if block == "linalg.solve" else [(_dagger(a) @ product, _dagger(a) @ b)]


FACTORS = frozenset(
    f"linalg.{name}" for name in ("qr", "svd", "eigen", "lu", "cholesky", "inverse", "solve", "least_squares")
)


def badly_factored(
    block: str, inputs: Mapping[str, Array], parameters: Mapping[str, Any], outputs: Mapping[str, Array]
) -> str | None:
    """Return in words what is wrong with a factorisation or solution; None if nothing is."""
    a = inputs["a"]
    epsilon = float(np.finfo(a.dtype).eps)
    wide = {n: x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for n, x in inputs.items()}
    if any(not (np.abs(x) < 1e15).all() for x in wide.values()):
        return None
    with np.errstate(all="ignore"):
        scale = max(float(np.abs(x).max()) for x in wide.values())
        if scale < 1e-15:
            return None
        for number, (found, expected) in enumerate(_factored(block, wide, parameters, outputs)):
            most = max(float(np.abs(expected).max()), scale if block != "linalg.inverse" else 1.0)
            error = float(np.abs(found - expected).max())
            if not error <= 2000 * epsilon * max(a.shape[-2:]) * most:
                return f"equation {number} is off by {error} at a scale of {most}, given a {a.dtype}{list(a.shape)}"
    return None


def wrong(
    block: str,
    inputs: Mapping[str, Array],
    types: Mapping[str, str],
    parameters: Mapping[str, Any],
    out: Array,
    dtype: str,
) -> str | None:
    """Return in words how a block's output differs from the right one; None if it doesn't, or if that is unknown."""
    finite = all(
        np.isfinite(_numbers(a, types[n])).all()
        for n, a in inputs.items()
        if a.dtype.kind in "fcu" and a.dtype.names is None
    )
    if block not in ANY_NUMBER and not finite:
        return None
    with np.errstate(all="ignore"):
        told = ORACLES[block](inputs, parameters, types)
        if "out" not in told:
            return None
        expected = np.asarray(told["out"])
        if expected.shape != out.shape:
            return f"shape {list(out.shape)} for {list(expected.shape)}"
        found = _numbers(out, dtype)
        if "within" not in told:
            same = (found == expected) | ((found != found) & (expected != expected))
            if dtype == "bf16":
                same = out == expected
            bad = ~same & ~told.get("but", np.zeros((), bool))
        else:
            limits = np.finfo(found.dtype) if dtype != "bf16" else np.finfo(np.float32)
            expected = expected.astype(np.complex128 if expected.dtype.kind == "c" else np.float64)
            # Intermediate results that overflow, such as a sum that is then divided, are not compared.
            kept = np.abs(expected) + told["within"] / _epsilon(dtype) < float(limits.max)
            tiny = 4 * float(limits.tiny if dtype not in ("f16",) else limits.smallest_subnormal)
            error = np.abs(found.astype(expected.dtype) - expected)
            bad = (
                ~(
                    error
                    <= told["within"] + np.abs(expected) * float(limits.eps if dtype != "bf16" else 2**-7) * 2 + tiny
                )
                & kept
            )
    if not bad.any():
        return None
    at = tuple(int(axis[0]) for axis in np.nonzero(np.broadcast_to(bad, out.shape)))
    given = {name: (types[name], list(a.shape)) for name, a in inputs.items()}
    return f"{found[at]} for {expected[at]} at {list(at)} of {list(out.shape)}, given {given}, {dict(parameters)}"
