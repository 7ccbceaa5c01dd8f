"""Results by numpy and scipy of blocks that filter, move and measure images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import ndimage, signal

from tests.random_patches.materials import Array

Inputs, Parameters, Types = Mapping[str, Array], Mapping[str, Any], Mapping[str, str]
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
#: Larger numbers leave no digits to compare after a difference or a power.
_LARGEST = 1e4


def _of_image(
    compute: Callable[[Array, Parameters], Array], within: float = 1e-5, *, jumps: bool = False
) -> Callable[[Inputs, Parameters, Types], dict[str, Any]]:
    """Return an oracle of one image of f32 or float4; the error is a share of the largest number.

    With `jumps`, any output is accepted where inputs that are a rounding apart give others.
    """

    def oracle(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
        x = i["image"]
        if t["image"] not in ("f32", "float4") or np.abs(x).max() > _LARGEST:
            return {}
        wide = x.astype(np.float64)
        out = compute(wide, p)
        limit = within * (1 + max(np.abs(out).max(), np.abs(wide).max()))
        if not jumps:
            return {"out": out, "within": limit}
        near = [np.abs(compute(wide + step * (1 + np.abs(wide)), p) - out) for step in (2e-6, -2e-6)]
        return {"out": out, "within": np.where(np.maximum(*near) > limit, np.inf, limit)}

    return oracle


def _moved(
    places: Callable[[Inputs, Parameters], tuple[Array, Array]], edge: Callable[[Parameters], str]
) -> Callable[[Inputs, Parameters, Types], dict[str, Any]]:
    """Return an oracle of an image whose pixels are taken from places, x and y in pixels, 0 in the first one's middle.

    The GPU computes places in f32, so a result may be that of a place a little further on.
    """

    def oracle(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
        image = i["image"]
        if set(t.values()) != {"float4"} or max(np.abs(x).max() for x in i.values()) > _LARGEST:
            return {}
        wide = image.astype(np.float64)
        x, y = places(i, p)
        far = 1e-6 * (max(np.abs(x).max(), np.abs(y).max()) + max(image.shape[:2])) + 1e-5
        return {"out": sampled(wide, x, y, edge(p)), "within": 8 * far * (1 + np.abs(wide).max())}

    return oracle


def _index(places: Array, size: int, edge: str) -> tuple[Array, Array]:
    """Return the pixel of each place along an axis, and whether there is one."""
    if edge == "repeat":
        return places % size, np.ones_like(places, bool)
    if edge == "mirror":
        turn = places % (2 * size)
        return np.minimum(turn, 2 * size - 1 - turn), np.ones_like(places, bool)
    return np.clip(places, 0, size - 1), (edge == "extend") | (places >= 0) & (places < size)


def sampled(image: Array, x: Array, y: Array, edge: str) -> Array:
    """Return an image's values at places between its pixels, interpolated along both axes."""
    left, top = np.floor(x), np.floor(y)
    out = np.zeros((*x.shape, image.shape[-1]))
    for down in (0, 1):
        for right in (0, 1):
            column, has_column = _index((left + right).astype(np.int64), image.shape[1], edge)
            row, has_row = _index((top + down).astype(np.int64), image.shape[0], edge)
            weight = np.abs(1 - right - (x - left)) * np.abs(1 - down - (y - top)) * (has_column & has_row)
            out += image[row, column] * weight[..., None]
    return out


def _grid(shape: tuple[int, ...]) -> tuple[Array, Array]:
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float64)
    return x, y


def _transformed(i: Inputs, p: Parameters) -> tuple[Array, Array]:
    height, width = i["image"].shape[:2]
    x, y = _grid((height, width))
    from_x, from_y = x - (width - 1) / 2 - p["move_x"] * width, y - (height - 1) / 2 - p["move_y"] * height
    turn = np.exp(-1j * np.radians(p["angle"])) / p["scale"]
    place = (from_x + 1j * from_y) * turn
    return place.real + (width - 1) / 2, place.imag + (height - 1) / 2


def _tiled(i: Inputs, p: Parameters) -> tuple[Array, Array]:
    x, y = _grid(i["image"].shape)
    return (x + 0.5) * p["across"] - 0.5, (y + 0.5) * p["down"] - 0.5


def _remapped(i: Inputs, p: Parameters) -> tuple[Array, Array]:
    height, width = i["image"].shape[:2]
    places = i["map"].astype(np.float64)
    return places[..., 0] * width - 0.5, places[..., 1] * height - 0.5


def _displaced(i: Inputs, p: Parameters) -> tuple[Array, Array]:
    x, y = _grid(i["image"].shape)
    rows, columns = (np.minimum(each, n - 1).astype(int) for each, n in zip((y, x), i["map"].shape[:2], strict=True))
    shift = (i["map"].astype(np.float64)[rows, columns] - p["middle"]) * p["amount"]
    return x + shift[..., 0], y + shift[..., 1]


def _crop(x: Array, p: Parameters) -> Array:
    rows, columns = (p[at] + np.arange(p[n]) for at, n in (("top", "height"), ("left", "width")))
    inside = [(at >= 0) & (at < n) for at, n in zip((rows, columns), x.shape[:2], strict=True)]
    taken = x[np.clip(rows, 0, x.shape[0] - 1)[:, None], np.clip(columns, 0, x.shape[1] - 1)]
    return taken * (inside[0][:, None] & inside[1])[..., None]


def _mirror(x: Array, p: Parameters) -> Array:
    rows, columns = np.arange(x.shape[0]), np.arange(x.shape[1])
    match p["mode"]:
        case "flip left and right":
            columns = columns[::-1]
        case "flip top and bottom":
            rows = rows[::-1]
        case "left half" | "right half":
            columns = (np.minimum if p["mode"] == "left half" else np.maximum)(columns, columns[::-1])
        case _:
            rows = (np.minimum if p["mode"] == "top half" else np.maximum)(rows, rows[::-1])
    return x[rows[:, None], columns]


def _pixelate(x: Array, p: Parameters) -> Array:
    rows, columns = (np.minimum(np.arange(n) // p["size"] * p["size"] + p["size"] // 2, n - 1) for n in x.shape[:2])
    return x[rows[:, None], columns]


def _covered(old: int, new: int) -> Array:
    """Return the share of each of `old` pixels in each of `new` ones, of shape [new, old]."""
    ends = np.arange(new + 1) * old / new
    shares = np.minimum(ends[1:, None], np.arange(old) + 1) - np.maximum(ends[:-1, None], np.arange(old))
    return np.maximum(shares, 0) * new / old


def _resize(x: Array, p: Parameters) -> Array:
    size, image = (p["height"], p["width"]), x.reshape(*x.shape[:2], -1)
    column, row = _grid(size)
    x_at, y_at = (column + 0.5) * x.shape[1] / size[1], (row + 0.5) * x.shape[0] / size[0]
    if p["mode"] == "linear":
        out = sampled(image, x_at - 0.5, y_at - 0.5, "extend")
    elif p["mode"] == "nearest":
        out = image[np.floor(y_at).astype(int), np.floor(x_at).astype(int)]
    else:
        out = np.einsum("ab,bcd,ec->aed", _covered(x.shape[0], size[0]), image, _covered(x.shape[1], size[1]))
    return out.reshape(*size, *x.shape[2:])


def _of_colors(change: Callable[[Array, Parameters], Array]) -> Callable[[Array, Parameters], Array]:
    """Return a function of an image that changes red, green and blue, and keeps alpha."""
    return lambda x, p: np.concatenate([change(x[..., :3], p), x[..., 3:]], axis=-1)


def _levels(x: Array, p: Parameters) -> Array:
    width = p["high"] - p["low"]
    share = np.clip((x - p["low"]) / width, 0, 1) if width else np.full_like(x, np.nan)
    return share ** (1 / p["gamma"]) * (p["high_out"] - p["low_out"]) + p["low_out"]


def _posterize(x: Array, p: Parameters) -> Array:
    return np.round(np.clip(x, 0, 1) * (p["steps"] - 1)) / (p["steps"] - 1)


def _smooth_step(x: Array) -> Array:
    share = np.clip(x, 0, 1)
    return share * share * (3 - 2 * share)


def _threshold(x: Array, p: Parameters) -> Array:
    parts = {name: x[..., n] for n, name in enumerate(("red", "green", "blue", "alpha"))}
    parts |= {"luminance": x[..., :3] @ LUMINANCE, "largest": x[..., :3].max(-1), "smallest": x[..., :3].min(-1)}
    above = parts[p["channel"]] - p["level"]
    mask = _smooth_step(above / p["softness"] + 0.5) if p["softness"] else above >= 0
    return np.concatenate([np.repeat(mask[..., None], 3, -1), x[..., 3:]], axis=-1)


def _tone(x: Array, p: Parameters) -> Array:
    color = np.maximum((x * 2.0 ** p["exposure"] - 0.18) * p["contrast"] + 0.18, 0) ** (1 / p["gamma"])
    light = (color @ LUMINANCE)[..., None]
    return np.maximum(light + (color - light) * p["saturation"], 0)


def _chroma_key(x: Array, p: Parameters) -> Array:
    key = np.array([p["red"], p["green"], p["blue"]])
    apart = [each[..., [2, 0]] - (each @ LUMINANCE)[..., None] for each in (x[..., :3], key)]
    cover = _smooth_step((np.linalg.norm(apart[0] - apart[1], axis=-1) - p["tolerance"]) / p["softness"])
    out, most = x.copy(), int(key.argmax())
    others = np.delete(x[..., :3], most, -1).max(-1)
    out[..., most] -= np.maximum(x[..., most] - others, 0) * p["spill"]
    out[..., 3] *= cover
    return out


def _median(x: Array, p: Parameters) -> Array:
    size = (2 * p["radius"] + 1,) * 2
    if x.ndim == 2:
        return np.asarray(ndimage.median_filter(x, size, mode="nearest"))
    return _of_colors(lambda c, _: ndimage.median_filter(c, (*size, 1), mode="nearest"))(x, p)


def _morphology(x: Array, p: Parameters) -> Array:
    down, right = np.abs(np.mgrid[-p["radius"] : p["radius"] + 1, -p["radius"] : p["radius"] + 1])
    window = {
        "square": np.ones_like(down, bool),
        "disc": np.hypot(down, right) <= p["radius"] + 0.5,
        "diamond": down + right <= p["radius"],
        "cross": down * right == 0,
    }[p["shape"]]
    window = window.reshape(*window.shape, *([1] * (x.ndim - 2)))
    smallest, largest = ndimage.minimum_filter, ndimage.maximum_filter
    steps = {"erode": [smallest], "dilate": [largest], "open": [smallest, largest], "close": [largest, smallest]}
    for step in steps[p["operation"]]:
        x = step(x, footprint=window, mode="nearest")
    return x


def _bilateral(x: Array, p: Parameters) -> Array:
    radius, (height, width) = p["radius"], x.shape[:2]
    padded = np.pad(x[..., :3], ((radius, radius), (radius, radius), (0, 0)), mode="edge")
    total, weights = np.zeros_like(x[..., :3]), np.zeros((height, width, 1))
    for down in range(2 * radius + 1):
        for right in range(2 * radius + 1):
            other = padded[down : down + height, right : right + width]
            distance = ((down - radius) ** 2 + (right - radius) ** 2) / p["sigma"] ** 2
            contrast = ((other - x[..., :3]) ** 2).sum(-1, keepdims=True) / p["range"] ** 2
            weight = np.exp(-(distance + contrast) / 2)
            total, weights = total + weight * other, weights + weight
    return np.concatenate([total / weights, x[..., 3:]], axis=-1)


def _gaussian(x: Array, p: Parameters) -> Array:
    if p["sigma"] == 0:
        return x
    return np.asarray(ndimage.gaussian_filter(x, p["sigma"], mode="nearest", truncate=4, axes=(0, 1)))


def _sobel(x: Array, p: Parameters) -> Array:
    source = x if p["per_channel"] else (x @ LUMINANCE)[..., None]
    smooth, step = [1, 2, 1], [-1, 0, 1]
    slopes = [
        ndimage.correlate1d(ndimage.correlate1d(source, down, 0, mode="nearest"), right, 1, mode="nearest")
        for down, right in ((smooth, step), (step, smooth))
    ]
    return np.broadcast_to(np.hypot(*slopes) * p["strength"], x.shape)


def _pyramid_down(x: Array, p: Parameters) -> Array:
    weights = np.array([1, 4, 6, 4, 1]) / 16
    for axis in (0, 1):
        x = ndimage.correlate1d(x, weights, axis, mode="mirror")
    return x[::2, ::2]


def _distance_field(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    mask = i["mask"]
    if t["mask"] == "bf16" or mask.ndim != 2 or mask.dtype.names is not None:
        return {}
    inside = mask != 0
    apart = [ndimage.distance_transform_edt(~to) if to.any() else np.full(mask.shape, 1e30) for to in (inside, ~inside)]
    out = np.where(inside, -apart[1] if p["signed"] else 0.0, apart[0])
    return {"out": out, "within": np.abs(out) * 1e-6}


def _label(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    mask = i["mask"]
    if t["mask"] == "bf16" or mask.ndim != 2 or mask.dtype.names is not None:
        return {}
    parts, _ = ndimage.label(mask != 0, np.ones((3, 3)) if p["corners"] else None)
    _, firsts = np.unique(parts, return_index=True)  # part 0 has a first pixel too, unless all belong to parts
    numbers = firsts + 1 if parts.all() else np.concatenate([[0], firsts[1:] + 1])
    return {"out": numbers[parts - parts.min()].astype(np.uint32)}


def structural_similarity(a: Array, b: Array, *, encoded: bool, peak: float) -> Array:
    """Return the index of Wang et al. in double precision, from the windows' means, variances and covariance."""
    x, y = (image[..., :3].astype(np.float64) @ LUMINANCE for image in (a, b))
    if encoded:
        x, y = (
            np.sign(z) * np.where(np.abs(z) <= 0.0031308, 12.92 * np.abs(z), 1.055 * np.abs(z) ** (1 / 2.4) - 0.055)
            for z in (x, y)
        )
    weights = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))

    def mean(z: Array) -> Array:
        for axis in (0, 1):
            z = ndimage.correlate1d(z, weights / weights.sum(), axis, mode="nearest")
        return z

    light, contrast = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    m, n = mean(x), mean(y)
    spread = mean(x * x) - m * m + mean(y * y) - n * n
    return (
        (2 * m * n + light) * (2 * (mean(x * y) - m * n) + contrast) / ((m * m + n * n + light) * (spread + contrast))
    )


def _similarity(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    # A variance is the difference of squares, so its rounding counts where pixels are far above white.
    if max(np.abs(i[name]).max() for name in "ab") > min(4 * p["range"], _LARGEST):
        return {}
    return {"out": structural_similarity(i["a"], i["b"], encoded=p["encoded"], peak=p["range"]), "within": 2e-3}


def _frames(i: Inputs, p: Parameters, t: Types) -> dict[str, Any]:
    x = i["x"].astype(np.float64)
    at = p["start"] + np.arange(p["count"])[:, None] * p["hop"] + np.arange(p["size"])
    taken = x[at % x.size] if p["loop"] else np.where((at >= 0) & (at < x.size), x[np.clip(at, 0, x.size - 1)], 0)
    weights = signal.get_window(WINDOWS.get(p["window"], p["window"]), p["size"])
    weights = weights / weights.mean() if p["unit_mean"] else weights
    return {"out": taken * weights, "within": np.abs(x).max() * np.abs(weights).max() * 1e-5}


#: scipy's names of windows, where they are others.
WINDOWS = {"blackman-harris": "blackmanharris", "flat top": "flattop", "none": "boxcar"}
#: Oracles by block type.
IMAGES: Mapping[str, Any] = {
    "filter.bilateral": _of_image(_bilateral, 2e-4),
    "filter.median": _of_image(_median, 0.0),
    "filter.morphology": _of_image(_morphology, 0.0),
    "image.chroma_key": _of_image(_chroma_key, 1e-4),
    "image.crop": _of_image(_crop, 0.0),
    "image.displace": _moved(_displaced, lambda p: p["edge"]),
    "image.distance_field": _distance_field,
    "image.gaussian_blur": _of_image(_gaussian, 1e-3),
    "image.label": _label,
    "image.levels": _of_image(_of_colors(_levels), 1e-4, jumps=True),
    "image.mirror": _of_image(_mirror, 0.0),
    "image.pixelate": _of_image(_pixelate, 0.0),
    "image.posterize": _of_image(_of_colors(_posterize), jumps=True),
    "image.pyramid_down": _of_image(_pyramid_down),
    "image.remap": _moved(_remapped, lambda p: p["edge"]),
    "image.resize": _of_image(_resize, 1e-4, jumps=True),
    "image.sobel": _of_image(_of_colors(_sobel), 1e-4),
    "image.structural_similarity": _similarity,
    "image.threshold": _of_image(_threshold, jumps=True),
    "image.tile": _moved(_tiled, lambda p: "mirror" if p["mirrored"] else "repeat"),
    "image.tone": _of_image(_of_colors(_tone), 1e-4, jumps=True),
    "image.transform": _moved(_transformed, lambda p: p["edge"]),
    "signal.frames": _frames,
}
