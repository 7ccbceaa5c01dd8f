"""For each block type, the inputs that it needs, and the parameters that can't be left to chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.random_patches.materials import (
    ANY,
    COMPLEX,
    EDGES,
    FULL,
    KERNELS,
    NUMBERS,
    SIZES,
    VECTORS,
    Array,
    Materials,
    Shape,
)
from warploom.engine.inner_patches.chain import ChainPatch
from warploom.engine.ops import graph_to_json, parse_expression

#: Block types that no random patch has, with the reason.
LEFT_OUT = {
    "io.midi_out": "needs a MIDI device, and waits for one on a thread of its own",
    "value.midi_in": "needs a MIDI device, and waits for one on a thread of its own",
    "value.osc_in": "needs a UDP port, which two engines can't both have",
    "value.dmx_in": "needs a UDP port, which two engines can't both have",
    "value.gamepad": "needs a gamepad",
    "value.websocket_in": "needs a server",
    "io.websocket_out": "needs a server",
}


@dataclass(frozen=True)
class Want:
    """An input's element type and shape; with `data`, the contents too."""

    dtype: str
    shape: Shape
    data: Array | None = field(default=None, compare=False)


@dataclass
class Recipe:
    """The parameters of a block that are not left to chance, and the wants of its inputs.

    With `fed_by`, another block is placed first, and its outputs feed these inputs.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Want] = field(default_factory=dict)
    #: A block that is placed first, with its parameters, and the inputs that each of its outputs feeds.
    fed_by: tuple[str, dict[str, Any], dict[str, str]] | None = None


class Chooser:
    """Makes random choices for recipes; a patch has favourite shapes and types, so that its blocks fit together."""

    def __init__(self, seed: int, materials: Materials) -> None:
        self.chance, self.materials = random.Random(seed), materials
        self._share = self.any_of((0.0, 0.5, 0.9))
        self._shapes = {axes: self._shape(axes) for axes in (1, 2, 3)}
        self._axes = self.any_of((1, 1, 2, 2, 3))
        self._edge = self.any_of((1, 2, 3, 5, 7))
        self._favourites = [self.any_of(NUMBERS), self.any_of(COMPLEX), self.any_of(VECTORS)]

    def any_of(self, items: Sequence[Any]) -> Any:
        return self.chance.choice(items)

    def maybe(self, share: float = 0.5) -> bool:
        return self.chance.random() < share

    def dtype(self, types: Sequence[str]) -> str:
        """Return one of some element types."""
        favourites = [t for t in ("f32", *self._favourites) if t in types]
        found: str = self.any_of(favourites if favourites and self.maybe(self._share) else types)
        return found

    def shape(self, most_axes: int = 3) -> Shape:
        """Return any shape of at most some thousand elements."""
        is_favourite = self.maybe(self._share)
        axes = min(self._axes if is_favourite else self.any_of((1, 1, 1, 2, 2, 3)), most_axes)
        return self._shapes[axes] if is_favourite else self._shape(axes)

    def image(self) -> Shape:
        return self._shapes[2] if self.maybe(self._share) else self._shape(2)

    def _shape(self, axes: int) -> Shape:
        sizes = {1: SIZES, 2: EDGES, 3: (1, 2, 3, 5, 7)}[axes]
        return tuple(self.any_of(sizes) for _ in range(axes))

    def size_text(self) -> str:
        return ", ".join(map(str, self.shape()))

    def stack(self) -> Shape:
        """Return the leading axes of matrices, mostly none."""
        return () if self.maybe(0.7) else (self.any_of((1, 2, 3)),)

    def edge(self) -> int:
        return self._edge if self.maybe(self._share) else self.any_of((1, 2, 3, 5, 7))


Cook = Callable[[Chooser], Recipe]


def _alike(types: Sequence[str], *names: str, axes: int = 0, optional: Sequence[str] = ()) -> Cook:
    """Return a recipe whose inputs share one type and shape; `axes` fixes the number of dimensions."""

    def cook(c: Chooser) -> Recipe:
        shape = {0: c.shape, 1: lambda: c.shape(1), 2: c.image}[axes]()
        want = Want(c.dtype(types), shape)
        return Recipe(inputs={n: want for n in names if n not in optional or c.maybe()})

    return cook


def _sized(cook: Cook | None = None, **choices: Sequence[Any]) -> Cook:
    """Return a recipe in which some parameters are one of the given values."""

    def made(c: Chooser) -> Recipe:
        recipe = cook(c) if cook is not None else Recipe()
        recipe.parameters |= {name: c.any_of(values) for name, values in choices.items()}
        return recipe

    return made


def _shaped(c: Chooser) -> Recipe:
    return Recipe({"shape": c.size_text()})


def _reshape(c: Chooser) -> Recipe:
    shape = c.shape()
    size = int(np.prod(shape))
    texts = ["-1", "1, -1", "-1, 1", str(size)]
    texts += [f"{k}, -1" for k in (2, 3, 5, 7) if size % k == 0]
    return Recipe({"shape": c.any_of(texts)}, {"x": Want(c.dtype(ANY), shape)})


def _transpose(c: Chooser) -> Recipe:
    shape = c.shape()
    order = list(range(len(shape)))
    c.chance.shuffle(order)
    return Recipe({"order": ", ".join(map(str, order))}, {"x": Want(c.dtype(ANY), shape)})


def _slice(c: Chooser) -> Recipe:
    shape = c.shape()
    axis = c.chance.randrange(len(shape))
    size = shape[axis]
    start = c.chance.randrange(size)
    stop = c.any_of((0, 0, size, c.chance.randint(start + 1, size)))
    parameters = {"axis": c.any_of((axis, axis - len(shape))), "start": c.any_of((start, start - size)), "stop": stop}
    return Recipe({**parameters, "step": c.any_of((1, 1, 2, 3, 7))}, {"x": Want(c.dtype(ANY), shape)})


def _reinterpret(c: Chooser) -> Recipe:
    shape = c.shape()
    to = c.any_of((*NUMBERS, *COMPLEX, *VECTORS))
    return Recipe({"dtype": to}, {"x": Want(c.dtype(ANY), (*shape[:-1], shape[-1] * c.any_of((1, 2, 4, 8, 12, 16))))})


def _condition(c: Chooser) -> dict[str, Want]:
    dtype = c.any_of(("boolean", "u8", "s32", "f32", "f64", "u32", "f16"))
    return {"condition": Want(dtype, (c.any_of((1, 1, 3)),))}


def _select(c: Chooser) -> Recipe:
    recipe = _alike(ANY, "a", "b")(c)
    recipe.inputs |= _condition(c)
    return recipe


def _for(c: Chooser) -> Recipe:
    recipe = Recipe({"count": c.chance.randrange(5), "limit": c.any_of((8, 8, 2))})
    if c.maybe(0.3):
        data = np.array([c.chance.randrange(-1, 5)]).astype(c.any_of(("f4", "u4", "i4", "f8", "i1")))
        data = np.maximum(data, 0) if data.dtype.kind == "u" else data
        recipe.inputs["counts"] = Want(
            {"f": "f", "u": "u", "i": "s"}[data.dtype.kind] + str(8 * data.itemsize), (1,), data
        )
    return recipe


def _where(c: Chooser) -> Recipe:
    recipe = _alike(ANY, "a", "b")(c)
    recipe.inputs["mask"] = Want(c.dtype(ANY), recipe.inputs["a"].shape)
    return recipe


def _indices(c: Chooser, shape: Shape, size: int) -> Want:
    """Return positions along an axis of a size, and some beyond it."""
    dtype = c.dtype(NUMBERS)
    if dtype == "bf16":
        return Want(dtype, shape)
    data = np.random.default_rng(c.chance.getrandbits(32)).integers(-1, size + 1, shape)
    kinds = {"f": "f", "u": "u", "s": "i"}
    kind = "?" if dtype == "boolean" else f"{kinds[dtype[0]]}{int(dtype[1:]) // 8}"
    return Want(dtype, shape, (np.abs(data) if dtype[0] == "u" else data).astype(kind))


def _gather(c: Chooser) -> Recipe:
    shape = c.shape()
    axis = c.chance.randrange(len(shape))
    indices = _indices(c, c.shape(2), shape[axis])
    return Recipe({"axis": c.any_of((axis, axis - len(shape)))}, {"x": Want(c.dtype(ANY), shape), "indices": indices})


def _scatter(c: Chooser) -> Recipe:
    shape, dtype = c.shape(), c.dtype(ANY)
    indices = _indices(c, c.shape(1), shape[0])
    rows = Want(dtype, (*indices.shape, *shape[1:]))
    return Recipe({}, {"target": Want(dtype, shape), "indices": indices, "x": rows})


def _joined(c: Chooser) -> Recipe:
    recipe = _alike(ANY, "a", "b", "c", "d", optional=("c", "d"))(c)
    axes = len(recipe.inputs["a"].shape)
    return Recipe({"axis": c.chance.randrange(-axes, axes)}, recipe.inputs)


def _along(c: Chooser) -> Recipe:
    shape = c.shape()
    return Recipe({"axis": c.chance.randrange(-len(shape), len(shape))}, {"x": Want(c.dtype(NUMBERS), shape)})


def _sort_by_key(c: Chooser) -> Recipe:
    keys = Want(c.dtype(NUMBERS), c.shape())
    rows = (int(np.prod(keys.shape)), *c.any_of(((), (), (3,), (2, 2))))
    return Recipe(inputs={"keys": keys, "x": Want(c.dtype(ANY), rows)})


def _top_k(c: Chooser) -> Recipe:
    shape = c.shape()
    return Recipe({"k": c.chance.randint(1, int(np.prod(shape)))}, {"x": Want(c.dtype(NUMBERS), shape)})


def _compact(c: Chooser) -> Recipe:
    shape = c.shape()
    return Recipe(inputs={name: Want(c.dtype(ANY), shape) for name in ("x", "mask")})


def _reduce_by_key(c: Chooser) -> Recipe:
    shape = c.shape()
    return Recipe(inputs={name: Want(c.dtype(NUMBERS), shape) for name in ("keys", "x")})


def _wave(c: Chooser) -> Recipe:
    want = Want("f32", c.image())
    return Recipe(inputs={"heights": want, "velocities": want})


def _advected(c: Chooser) -> Recipe:
    shape = c.image()
    return Recipe(inputs={"field": Want(c.any_of(("f32", "float4")), shape), "velocity": Want("float2", shape)})


def _heat(c: Chooser) -> Recipe:
    want = Want("f32", c.image())
    names = ("field", "conductivity") if c.maybe() else ("field",)
    return Recipe({"steps": c.any_of((1, 2, 3))}, dict.fromkeys(names, want))


def _slime(c: Chooser) -> Recipe:
    height, width = c.any_of((1, 16, 31)), c.any_of((1, 17, 33))
    food = {"food": Want("f32", (height, width))} if c.maybe() else {}
    return Recipe({"width": width, "height": height, "agents": c.any_of((1, 33, 500))}, food)


def _slope(c: Chooser) -> Recipe:
    shape = c.image()
    return Recipe(inputs={"velocity": Want("float2", shape), "pressure": Want("f32", shape)})


def _fractal(c: Chooser) -> Recipe:
    size = c.any_of((16, 17, 33)), c.any_of((16, 31))
    recipe = Recipe({"steps": c.any_of((1, 3, 8))} if c.maybe() else {})
    recipe.inputs = {"points": Want("float4", size), "counts": Want("u32", size)}
    if c.maybe(0.7):
        feeding = {"height": size[0], "width": size[1]}
        recipe.fed_by = "fractal.points", feeding, {"points": "points", "counts": "counts"}
    return recipe


def _array(c: Chooser) -> Recipe:
    return Recipe({"data": Want(c.any_of([d for d in ANY if d not in VECTORS and d != "bf16"]), c.shape())})


def _external(c: Chooser) -> Recipe:
    return Recipe({"array": Want(c.any_of([d for d in NUMBERS if d != "bf16"]), c.shape())})


def _image_array(c: Chooser) -> Recipe:
    height, width = c.image()
    return Recipe({"data": Want("f32", (height, width, c.any_of((3, 4))))})


def _file(parameter: str, files: str) -> Cook:
    def cook(c: Chooser) -> Recipe:
        return Recipe({parameter: str(c.any_of(getattr(c.materials, files)))})

    return cook


def _lut(c: Chooser) -> Recipe:
    return Recipe({"file": str(c.any_of(c.materials.luts))}, {"image": Want("float4", c.image())})


def _weighted(c: Chooser) -> Recipe:
    weights = Want("f32", (c.any_of((1, 3, 5)), c.any_of((1, 3, 7))))
    return Recipe(inputs={"image": Want(c.dtype(("f32", "float4")), c.image()), "weights": weights})


def _resize(c: Chooser) -> Recipe:
    height, width = c.image()
    mode, dtype = c.any_of(("linear", "nearest", "area")), c.dtype(("f32", "float4"))
    if mode == "area":
        height, width = height + 2, width + 2
        to = c.chance.randrange(1, height), c.chance.randrange(1, width)
    else:
        to = c.image()
    return Recipe({"mode": mode, "height": to[0], "width": to[1]}, {"image": Want(dtype, (height, width))})


def _color(name: str = "image") -> Cook:
    return _alike(("float4",), name, axes=2)


def _pair(first: str, second: str) -> Cook:
    """Return a recipe of two images, often of one size."""

    def made(c: Chooser) -> Recipe:
        shape = c.image()
        return Recipe(
            inputs={first: Want("float4", shape), second: Want("float4", shape if c.maybe(0.7) else c.image())}
        )

    return made


def _expression(c: Chooser) -> str:
    """Return a random formula of x, y and sliders k and m."""

    def made(depth: int) -> str:
        if depth == 0 or c.maybe(0.15):
            return c.any_of(("x", "x", "x", "y", "k", "m", "time", "u", "i", "2", "0.5"))
        form = c.any_of(
            (
                *("({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} / {b})"),
                *("sin({a})", "abs({a})", "sqrt(abs({a}))", "min({a}, {b})", "max({a}, {b})", "-{a}", "floor({a})"),
                *("({a} if {b} > {a} else {b})", "exp(-abs({a}))", "fma({a}, {b}, {a})", "clamp({a}, 0, 1)"),
            )
        )
        return str(form.format(a=made(depth - 1), b=made(depth - 1)))

    return made(c.any_of((1, 1, 2, 2, 3)))


def _formula(c: Chooser) -> Recipe:
    text, shape = f"x + {_expression(c)}", c.shape()
    reads = ("x", "y") if "y" in text else ("x",)
    types = {name: "f32" if c.maybe(0.9) else c.any_of(("u8", "s32", "f16", "u16")) for name in reads}
    given = {"expression": text, "reads": ", ".join(f"{name}: {dtype}" for name, dtype in types.items())}
    return Recipe(given, {name: Want(dtype, shape) for name, dtype in types.items()})


def _graph(c: Chooser) -> Recipe:
    text, shape = f"x * {_expression(c)}", c.shape()
    types = dict.fromkeys(("x", "y") if "y" in text else ("x",), "f32")
    graph = graph_to_json(parse_expression(text, inputs=types))
    return Recipe({"graph": graph}, {name: Want("f32", shape) for name in types})


def _kernel(c: Chooser, name: str) -> dict[str, Want]:
    want = Want("f32", c.shape())
    return {"x": want, "y": want} if name == "mix.cu" else {"x": want}


def _kernel_file(c: Chooser) -> Recipe:
    path = c.any_of(c.materials.kernels)
    return Recipe({"file": str(path)}, _kernel(c, path.name))


def _cuda(c: Chooser) -> Recipe:
    name = c.any_of(("", *KERNELS))
    return Recipe({"code": KERNELS[name]} if name else {}, _kernel(c, name))


def _chain(c: Chooser) -> Recipe:
    size = c.edge()
    if c.maybe():
        want = Want(c.dtype(FULL), (size, size))
        return Recipe({}, {"a": want, "b": want})
    chain = ChainPatch()
    source, result = chain.add("chain.input", node_id="x"), chain.add("chain.output", node_id="spectrum")
    first = chain.add("signal.fft", node_id="first")
    chain.connect(source["value"], first["x"])
    chain.connect(first["out"], result["value"])
    if c.maybe():
        again, back = chain.add("signal.inverse_fft", node_id="again"), chain.add("chain.output", node_id="signal")
        chain.connect(first["out"], again["x"])
        chain.connect(again["out"], back["value"])
    return Recipe({"graph": chain.json()}, {"x": Want(c.dtype(COMPLEX), c.shape())})


def _square(*, positive: bool = False) -> Cook:
    def cook(c: Chooser) -> Recipe:
        return Recipe(inputs={"a": _matrix(c, positive=positive)})

    return cook


def _matrix(c: Chooser, *, positive: bool = False) -> Want:
    """Return a square matrix, mostly one that is well conditioned, or symmetric and positive definite."""
    n, dtype, stack = c.edge(), c.dtype(FULL), c.stack()
    if c.maybe(0.2):
        return Want(dtype, (*stack, n, n))
    source = np.random.default_rng(c.chance.getrandbits(32))
    data = source.normal(size=(*stack, n, n)) + (1j * source.normal(size=(*stack, n, n)) if dtype[0] == "c" else 0)
    data = data @ data.conj().swapaxes(-1, -2) + np.eye(n) if positive else data + 3 * np.eye(n)
    return Want(dtype, data.shape, data.astype({"f32": "f4", "f64": "f8", "c64": "c8", "c128": "c16"}[dtype]))


def _solve(c: Chooser) -> Recipe:
    positive = c.maybe()
    a = _matrix(c, positive=positive)
    b = Want(a.dtype, (*a.shape[:-2], a.shape[-1], c.edge()))
    return Recipe({"matrix": "positive definite" if positive else "any"}, {"a": a, "b": b})


def _solve_factored(c: Chooser) -> Recipe:
    lower = _matrix(c)
    n, data = lower.shape[-1], lower.data
    a = Want(lower.dtype, (n, n), data.reshape(-1, n, n)[0] if data is not None else None)
    given = {"lower": a, "upper": a, "order": Want("s32", (n,)), "b": Want(lower.dtype, (n, c.edge()))}
    return Recipe(inputs=given)


def _least_squares(c: Chooser) -> Recipe:
    n, dtype = c.edge(), c.dtype(FULL)
    m = n + c.any_of((0, 1, 4))
    return Recipe(inputs={"a": Want(dtype, (m, n)), "b": Want(dtype, (m, c.edge()))})


def _any_matrix(name: str, *, tall: bool = False) -> Cook:
    def cook(c: Chooser) -> Recipe:
        m, n = c.edge(), c.edge()
        return Recipe(inputs={name: Want(c.dtype(FULL), (*c.stack(), max(m, n) if tall else m, n))})

    return cook


def _gemm(c: Chooser) -> Recipe:
    m, k, n, dtype = c.edge(), c.edge(), c.edge(), c.dtype((*FULL, "f16", "bf16"))
    swap_a, swap_b, stack = c.maybe(0.3), c.maybe(0.3), c.stack()
    inputs = {
        "a": Want(dtype, (*stack, *((k, m) if swap_a else (m, k)))),
        "b": Want(dtype, (*stack, *((n, k) if swap_b else (k, n)))),
    }
    if c.maybe(0.3):
        inputs["c"] = Want(dtype, (*stack, m, n))
    real = dtype[0] != "c"
    if real and c.maybe(0.3):
        inputs["bias"] = Want(dtype, (n,))
    activation = c.any_of(("none", "relu", "gelu")) if real else "none"
    return Recipe({"transpose_a": swap_a, "transpose_b": swap_b, "activation": activation}, inputs)


def _add_matrices(c: Chooser) -> Recipe:
    m, n, dtype = c.edge(), c.edge(), c.dtype(FULL)
    swap_a, swap_b = c.maybe(0.3), c.maybe(0.3)
    inputs = {"a": Want(dtype, (n, m) if swap_a else (m, n)), "b": Want(dtype, (n, m) if swap_b else (m, n))}
    if c.maybe(0.2):
        del inputs["b"]
    return Recipe({"transpose_a": swap_a, "transpose_b": swap_b}, inputs)


def _gemv(c: Chooser) -> Recipe:
    m, n, dtype, swap = c.edge(), c.edge(), c.dtype(FULL), c.maybe(0.3)
    inputs = {"a": Want(dtype, (m, n)), "x": Want(dtype, (m if swap else n,))}
    if c.maybe(0.4):
        inputs["y"] = Want(dtype, (n if swap else m,))
    return Recipe({"transpose": swap}, inputs)


def _scaled(*names: str) -> Cook:
    def cook(c: Chooser) -> Recipe:
        dtype, shape = c.dtype(FULL), c.shape()
        return Recipe(inputs={n: Want(dtype, (1,) if n == "factor" else shape) for n in names})

    return cook


def _sparse(c: Chooser) -> Recipe:
    if c.maybe(0.3):
        height, width = c.any_of((3, 5)), c.any_of((3, 7))
        feeding = {"height": height, "width": width}
        shape = (height * width,) if c.maybe() else (height * width, c.any_of((2, 3)))
        ports = {"offsets": "offsets", "columns": "columns", "entries": "entries"}
        return Recipe({"transpose": False}, {"x": Want("f32", shape)}, ("sparse.spring_net", feeding, ports))
    m, n, dtype, swap = c.edge(), c.edge(), c.dtype(("f32", "f64")), c.maybe(0.3)
    counts = [c.chance.randint(0, n) for _ in range(m)]
    counts[0] = max(counts[0], 1)
    columns = np.concatenate([sorted(c.chance.sample(range(n), count)) for count in counts]).astype(np.int32)
    offsets = np.cumsum([0, *counts]).astype(np.int32)
    rows = m if swap else n
    return Recipe(
        {"transpose": swap, "width": n},
        {
            "offsets": Want("s32", offsets.shape, offsets),
            "columns": Want("s32", columns.shape, columns),
            "entries": Want(dtype, columns.shape),
            "x": Want(dtype, (rows,) if c.maybe() else (rows, c.any_of((2, 3)))),
        },
    )


def _compare(c: Chooser) -> Recipe:
    shape = c.shape()
    inputs = {"x": Want(c.dtype(NUMBERS), shape)}
    if c.maybe():
        inputs["y"] = Want(c.dtype(NUMBERS), shape)
    return Recipe(inputs=inputs)


def _images4(c: Chooser) -> Shape:
    return c.any_of((1, 2)), c.any_of((1, 2, 3, 4)), c.any_of((3, 5, 7)), c.any_of((4, 5, 9))


def _batch_norm(c: Chooser) -> Recipe:
    shape = _images4(c) if c.maybe(0.7) else (c.any_of((1, 3)), c.edge())
    inputs = {n: Want("f32", (shape[1],)) for n in ("mean", "variance", "scale", "bias")}
    return Recipe(inputs={"x": Want(c.dtype(("f32", "f16")), shape), **inputs})


def _convolution(c: Chooser) -> Recipe:
    dtype, shape = c.dtype(("f32", "f16")), _images4(c)
    groups = c.any_of([g for g in (1, 1, 2, 4) if shape[1] % g == 0])
    made = groups * c.any_of((1, 2, 3))
    weights = Want(dtype, (made, shape[1] // groups, c.any_of((1, 2, 3)), c.any_of((1, 2, 3))))
    inputs = {"x": Want(dtype, shape), "weights": weights}
    if c.maybe():
        inputs["bias"] = Want(dtype, (made,))
    names = [f"{what}_{axis}" for what in ("stride", "dilation") for axis in "yx"]
    parameters: dict[str, Any] = {name: c.any_of((1, 1, 1, 2)) for name in names}
    return Recipe(
        {**parameters, "groups": groups, "padding_y": c.any_of((0, 1)), "padding_x": c.any_of((0, 1, 2))}, inputs
    )


def _pool(c: Chooser) -> Recipe:
    window = {name: c.any_of((1, 2, 3)) for name in ("window_y", "window_x")}
    strides = {name: c.any_of((1, 2, 3)) for name in ("stride_y", "stride_x")}
    padding = {
        "padding_y": c.any_of((0, 0, window["window_y"] // 2)),
        "padding_x": c.any_of((0, window["window_x"] // 2)),
    }
    return Recipe({**window, **strides, **padding}, {"x": Want(c.dtype(("f32", "f16")), _images4(c))})


def _layer_norm(c: Chooser) -> Recipe:
    dtype, shape = c.dtype(NUMBERS), c.shape()
    inputs = {"x": Want(dtype, shape)}
    for name in ("scale", "bias"):
        if c.maybe():
            inputs[name] = Want(dtype, shape[-1:])
    return Recipe(inputs=inputs)


def _softmax(c: Chooser) -> Recipe:
    shape = c.shape()
    return Recipe({"axis": c.chance.randrange(-len(shape), len(shape))}, {"x": Want(c.dtype(("f32", "f16")), shape)})


def _particles(c: Chooser) -> Recipe:
    return Recipe(inputs={"particles": Want("Particle", (c.any_of((1, 7, 100)),))})


def _drawn(c: Chooser) -> Recipe:
    recipe = _particles(c)
    recipe.parameters = {"width": c.any_of((16, 17, 33)), "height": c.any_of((16, 31))}
    if c.maybe(0.3):
        recipe.inputs["count"] = Want("u32", (1,))
    return recipe


def _cloud(c: Chooser) -> Recipe:
    want = Want("float4", (c.any_of((1, 7, 100)),))
    return Recipe(inputs={name: want for name in ("points", "colors") if name == "points" or c.maybe()})


def _mesh(c: Chooser) -> Recipe:
    recipe = _cloud(c)
    count = recipe.inputs["points"].shape[0]
    corners = [[c.chance.randint(-1, count) for _ in range(3)] for _ in range(c.any_of((1, 12, 33)))]
    recipe.inputs["faces"] = Want("s32", (len(corners), 3), np.array(corners, np.int32))
    if c.maybe():
        recipe.inputs["normals"] = recipe.inputs["points"]
    return recipe


def _lines(c: Chooser) -> Recipe:
    want = Want("float4", c.any_of(((1,), (7,), (3, 5), (5, 1))))
    recipe = Recipe(inputs={name: want for name in ("points", "colors") if name == "points" or c.maybe()})
    if c.maybe(0.3):
        recipe.inputs["edges"] = Want("s32", (3, 2), np.array([[0, 1], [1, 2], [-1, 9]], np.int32))
    return recipe


def _instances(c: Chooser) -> Recipe:
    recipe = _mesh(c)
    each = Want("float4", (c.any_of((1, 7)),))
    recipe.inputs |= {n: each for n in ("places", "turns", "directions", "tints") if n == "places" or c.maybe(0.3)}
    return recipe


def _fluid(c: Chooser) -> Recipe:
    shape = c.any_of((1, 5, 31)), c.any_of((1, 7, 33))
    kinds = {"solid": "f32", "push": "float2", "start": "float2"}
    inputs = {name: Want(kind, shape) for name, kind in kinds.items() if c.maybe(0.3)}
    return Recipe({"height": shape[0], "width": shape[1], "steps": c.any_of((1, 2))}, inputs)


def _cloth(c: Chooser) -> Recipe:
    rows, columns = c.any_of((2, 5)), c.any_of((2, 3, 9))
    pinned = {"pinned": Want("f32", (rows, columns))} if c.maybe() else {}
    return Recipe({"rows": rows, "columns": columns, "steps": c.any_of((1, 2))}, pinned)


def _springs(c: Chooser) -> Recipe:
    recipe, rows = _particles(c), c.any_of((1, 9))
    edges = [[c.chance.randint(-1, 8) for _ in range(2)] for _ in range(rows)]
    recipe.inputs["edges"] = Want("s32", (rows, 2), np.array(edges, np.int32))
    return recipe


def _scattered(c: Chooser) -> Recipe:
    return Recipe(inputs={"points": Want("float4", (c.any_of((1, 7, 100)),))} if c.maybe() else {})


def _fft(types: Sequence[str]) -> Cook:
    def cook(c: Chooser) -> Recipe:
        shape = c.shape()
        return Recipe({"axes": c.chance.randint(1, len(shape))}, {"x": Want(c.dtype(types), shape)})

    return cook


def _frames(c: Chooser) -> Recipe:
    parameters = {"count": c.any_of((1, 3, 7)), "size": c.any_of((1, 5, 31)), "hop": c.any_of((1, 4, 50))}
    return Recipe({**parameters, "start": c.any_of((0, -5, 20, 10**9))}, {"x": Want("f32", c.shape(1))})


def _convolve(c: Chooser) -> Recipe:
    return Recipe(
        inputs={"image": Want("float4", c.image()), "weights": Want("float4", (c.any_of((1, 3, 4)), c.edge()))}
    )


def _blended(c: Chooser) -> Recipe:
    shape = c.image()
    mask = Want(c.any_of(("f32", "float4")), shape)
    return Recipe(inputs={"a": Want("float4", shape), "b": Want("float4", shape), "mask": mask})


def _registered(c: Chooser) -> Recipe:
    shape = c.any_of((8, 9, 33)), c.any_of((8, 31, 40))
    return Recipe(inputs={"a": Want("float4", shape), "b": Want("float4", shape)})


def _enlarged(c: Chooser) -> Recipe:
    height, width = c.image()
    small = Want(c.any_of(("f32", "float4")), (-(-height // 2), -(-width // 2)))
    return Recipe(inputs={"image": small, "like": Want(c.dtype(ANY), (height, width))})


def _fir(c: Chooser) -> Recipe:
    return Recipe(inputs={"x": Want("f32", c.shape()), "weights": Want("f32", c.shape(1))})


def _sound(c: Chooser) -> Recipe:
    return Recipe({"rate": 8000}, {"x": Want("f32", (c.any_of((1, 2)), c.any_of((200, 333))))})


def _batches(c: Chooser) -> Recipe:
    rows = c.any_of((1, 2, 5, 33))
    inputs = {name: Want(c.dtype(ANY), (rows, c.edge())) for name in ("x", "y")}
    return Recipe({"size": c.any_of((1, 3, 16))}, inputs)


def _train(c: Chooser) -> Recipe:
    rows = c.any_of((1, 3, 16))
    inputs = {"x": Want("f32", (rows, 64)), "y": Want("f32", (rows, 1))}
    return Recipe({"history": c.any_of((2, 7)), "query": False, "learning_rate": 0.01}, inputs)


def _tiles(c: Chooser) -> Recipe:
    width, rows = c.any_of((1, 2, 3)), c.any_of((1, 2, 3))
    shape = (c.any_of((1, 5, 9)), width * rows)
    return Recipe(
        {"tile_width": width, "zoom": c.any_of((1, 2, 3)), "columns": c.any_of((1, 2, 8))}, {"x": Want("f32", shape)}
    )


_IMAGE_SIZE = {"width": EDGES, "height": EDGES}
_NOTHING: Cook = lambda c: Recipe()  # noqa: E731

RECIPES: dict[str, Cook] = {
    "buffer.assign": _alike(ANY, "target", "value"),
    "buffer.concatenate": _joined,
    "buffer.constant": _shaped,
    "buffer.convert": _alike(NUMBERS, "x"),
    "buffer.copy": _alike(ANY, "x"),
    "buffer.fill": _sized(count=SIZES),
    "buffer.frame_delay": _alike(ANY, "x"),
    "buffer.gather": _gather,
    "buffer.positions": _sized(_shaped, axis=(0, 0, 0, 1)),
    "buffer.reinterpret": _reinterpret,
    "buffer.reshape": _reshape,
    "buffer.scatter": _scatter,
    "buffer.slice": _slice,
    "buffer.stack": _joined,
    "buffer.state": _shaped,
    "buffer.transpose": _transpose,
    "control.every": _sized(period=(1, 2, 3)),
    "control.for": _for,
    "control.if": lambda c: Recipe({"element": 0}, _condition(c)),
    "control.if_else": lambda c: Recipe({"element": 0}, _condition(c)),
    "control.select": _sized(_select, element=(0,)),
    "control.switch": _sized(
        lambda c: Recipe({}, {"index": next(iter(_condition(c).values()))}), element=(0,), branches=(2, 3, 5)
    ),
    "control.while": _sized(lambda c: Recipe({}, _condition(c)), element=(0,), limit=(0, 1, 2, 4)),
    "data.compact": _compact,
    "data.histogram": _sized(_alike(NUMBERS, "x"), bins=(1, 7, 300)),
    "data.load_array": _sized(_file("file", "arrays"), first_row=(0, 0, 1), most_rows=(0, 0, 2)),
    "data.load_table": _sized(_file("file", "tables"), first_row=(0, 0, 2), most_rows=(0, 0, 3)),
    "data.play_rows": _sized(_file("file", "rows"), rows=(1, 3, 50)),
    "data.reduce_by_key": _reduce_by_key,
    "data.save_array": _alike(ANY, "x"),
    "data.save_table": _alike(NUMBERS, "x", axes=2),
    "data.scan": _alike(NUMBERS, "x"),
    "data.sort": _alike(NUMBERS, "x"),
    "data.sort_by_key": _sort_by_key,
    "data.top_k": _top_k,
    "data.unique": _alike(NUMBERS, "x"),
    "field.advect": _advected,
    "field.advect_velocity": _alike(("float2",), "velocity", axes=2),
    "field.cellular_automaton": _sized(_alike(("f32",), "cells", axes=2), rule=("B3/S23", "B2/S/C3")),
    "field.divergence": _alike(("float2",), "velocity", axes=2),
    "field.drop": _alike(("f32",), "field", axes=2),
    "field.edges": _alike(("f32",), "field", axes=2),
    "field.heat": _heat,
    "field.jacobi_step": _alike(("f32",), "u", axes=2),
    "field.lattice_boltzmann": _fluid,
    "field.pressure_step": _sized(_alike(("f32",), "pressure", "divergence", axes=2), sweeps=(1, 2, 3)),
    "field.reaction_diffusion": _sized(_alike(("float2",), "field", axes=2), steps=(1, 2, 3)),
    "field.slime_mould": _slime,
    "field.subtract_gradient": _slope,
    "field.wave_step": _wave,
    "fractal.color_escape": _fractal,
    "fractal.mandelbrot_step": _fractal,
    "fractal.points": _sized(width=(16, 17, 33), height=(16, 31)),
    "geometry.cloth": _cloth,
    "geometry.instances": _instances,
    "geometry.load_mesh": _file("file", "meshes"),
    "geometry.load_points": _sized(_file("file", "clouds"), first_point=(0, 0, 2), most_points=(0, 0, 1)),
    "geometry.play_points": _sized(_file("file", "scans"), most_points=(1, 5, 50)),
    "geometry.ray_march": _sized(width=(16, 17), height=(16, 31), samples=(1, 2), steps=(1, 60)),
    "geometry.render_cloud": _sized(_cloud, width=(16, 17, 33), height=(16, 31)),
    "geometry.render_lines": _sized(_lines, width=(16, 17, 33), height=(16, 31)),
    "geometry.render_mesh": _sized(_mesh, width=(16, 17, 33), height=(16, 31), shadow_size=(16, 33)),
    "geometry.save_points": _cloud,
    "geometry.surface": _alike(("f32",), "heights", axes=2),
    "geometry.trails": _sized(_alike(("float4",), "points", axes=1), length=(2, 5)),
    "io.array": _array,
    "io.external": _external,
    "io.image_array": _image_array,
    "io.load_audio": _sized(_file("file", "sounds"), rate=(8000, 8000, 11025, 4000)),
    "io.load_image": _file("file", "images"),
    "io.save_image": _color(),
    "io.viewer": _color(),
    "image.ascii": _sized(_color(), characters=(" .#", "ab"), columns=(1, 7, 40), size=(4, 11)),
    "image.checkerboard": _sized(**_IMAGE_SIZE),
    "image.chroma_key": _color(),
    "image.chromatic_aberration": _color(),
    "image.color_ramp": _alike(("f32",), "x", axes=2),
    "image.convert_color": _color(),
    "image.convert_pixels": _color(),
    "image.crop": _sized(_color(), **_IMAGE_SIZE),
    "image.displace": _pair("image", "map"),
    "image.curves": _sized(_color(), all=("0 0, 1 1", "0 0.2, 0.5 0.3, 1 0.9"), red=("0 1, 1 0", "0.5 0.5")),
    "image.dither": _color(),
    "image.film_grain": _color(),
    "image.gaussian_blur": _color(),
    "image.glow": _color(),
    "image.gradient": _sized(**_IMAGE_SIZE),
    "image.grayscale": _color(),
    "image.invert": _color(),
    "image.kaleidoscope": _color(),
    "image.add_detail": _alike(("float4",), "image", "blurred", axes=2),
    "image.automatic_threshold": _color(),
    "image.canny": _color(),
    "image.distance_field": _alike(ANY, "mask", axes=2),
    "image.label": _alike(ANY, "mask", axes=2),
    "image.levels": _color(),
    "image.lut": _lut,
    "image.sharpen": _color(),
    "image.thin_edges": _color(),
    "image.mirror": _color(),
    "image.mix": _pair("a", "b"),
    "image.noise": _sized(**_IMAGE_SIZE),
    "image.optical_flow": _sized(_color(), levels=(1, 2, 5), steps=(1, 2)),
    "image.phase_correlation": _registered,
    "image.pixelate": _color(),
    "image.plot": _sized(_alike(("f32",), "x", axes=1), width=(16, 33, 100), height=(16, 31)),
    "image.posterize": _color(),
    "image.pyramid_blend": _sized(_blended, levels=(0, 1, 3)),
    "image.pyramid_down": _alike(("f32", "float4"), "image", axes=2),
    "image.pyramid_up": _enlarged,
    "image.radial_gradient": _sized(**_IMAGE_SIZE),
    "image.relief": _alike(("f32",), "heights", axes=2),
    "image.remap": _pair("image", "map"),
    "image.resize": _resize,
    "image.shape": _sized(**_IMAGE_SIZE),
    "image.sobel": _color(),
    "image.structural_similarity": _alike(("float4",), "a", "b", axes=2),
    "image.text": _sized(text=("Warp", "a b\n\nc", "", "ß€"), size=(4, 16, 40), margin=(0, 3), **_IMAGE_SIZE),
    "image.threshold": _color(),
    "image.tile": _color(),
    "image.tone": _color(),
    "image.transform": _color(),
    "image.vignette": _color(),
    "filter.bilateral": _sized(_color(), radius=(1, 2)),
    "filter.mean": _sized(_alike(("f32", "float4"), "image", axes=2), radius_x=(0, 1, 2, 9), radius_y=(0, 1, 3)),
    "filter.median": _alike(("f32", "float4"), "image", axes=2),
    "filter.morphology": _sized(_alike(("f32", "float4", "u8", "uchar4"), "image", axes=2), radius=(0, 1, 2, 5)),
    "filter.weighted": _weighted,
    "kernel.chain": _chain,
    "kernel.cuda": _cuda,
    "kernel.expression": _formula,
    "kernel.file": _kernel_file,
    "kernel.graph": _graph,
    "linalg.add_matrices": _add_matrices,
    "linalg.add_scaled": _scaled("x", "y", "factor"),
    "linalg.cholesky": _square(positive=True),
    "linalg.dot": _alike(FULL, "x", "y", axes=1),
    "linalg.eigen": _square(positive=True),
    "linalg.inverse": _square(),
    "linalg.least_squares": _least_squares,
    "linalg.lu": _any_matrix("a"),
    "linalg.matrix_vector": _gemv,
    "linalg.multiply": _gemm,
    "linalg.norm": _alike(FULL, "x"),
    "linalg.qr": _any_matrix("a"),
    "linalg.scale": _scaled("x", "factor"),
    "linalg.solve": _solve,
    "linalg.solve_factored": _solve_factored,
    "linalg.solve_triangular": lambda c: Recipe(inputs=_solve(c).inputs),
    "linalg.svd": _any_matrix("a"),
    "math.add": _alike(("f32",), "x", "y"),
    "math.clamp": _alike(("f32",), "x"),
    "math.combine": _alike(NUMBERS, "x", "y", "z", "w", optional=("y", "z", "w")),
    "math.component": _alike(("float2", "float3", "float4"), "x"),
    "math.compare": _compare,
    "math.map_range": _alike(("f32",), "x"),
    "math.mix": _alike(("f32",), "a", "b"),
    "math.multiply": _alike(("f32",), "x", "y"),
    "math.saxpy": _alike(("f32",), "x", "y"),
    "math.scale_offset": _alike(("f32",), "x"),
    "math.where": _where,
    "neural.batch_norm": _batch_norm,
    "neural.convolution": _convolution,
    "neural.layer_norm": _layer_norm,
    "neural.pool": _pool,
    "neural.softmax": _softmax,
    "particles.emitter": _sized(count=(1, 7, 100)),
    "particles.attract": _particles,
    "particles.collide": _particles,
    "particles.flock": _particles,
    "particles.forces": _particles,
    "particles.gravitate": _particles,
    "particles.integrate": _particles,
    "particles.kill": _particles,
    "particles.points_of": _particles,
    "particles.render_points": _drawn,
    "particles.scatter": _sized(_scattered, count=(1, 7, 100)),
    "particles.select": _sized(_particles, capacity=(1, 5, 200)),
    "particles.springs": _springs,
    "particles.sph": _sized(_particles, steps=(1, 2)),
    "random.integers": _shaped,
    "random.normal": _shaped,
    "random.uniform": _shaped,
    "reduce.along_axis": _along,
    "reduce.count": _alike(ANY, "x"),
    "reduce.largest": _alike(NUMBERS, "x"),
    "reduce.smallest": _alike(NUMBERS, "x"),
    "reduce.statistics": _alike(NUMBERS, "x"),
    "reduce.sum": _alike(NUMBERS, "x"),
    "value.from_buffer": _alike(NUMBERS, "x"),
    "signal.adsr": _sized(_alike(("f32",), "x"), rate=(1000, 48000)),
    "signal.convolve": _convolve,
    "signal.echo": _sized(_alike(("f32",), "x"), rate=(1000, 48000), longest=(0.001, 0.1)),
    "signal.fft": _fft(COMPLEX),
    "signal.fft_shift": _sized(_fft(ANY)),
    "signal.filter": _sized(_alike(("f32",), "x"), rate=(1000, 48000)),
    "signal.fir": _fir,
    "signal.frames": _frames,
    "signal.inverse_fft": _fft(COMPLEX),
    "signal.inverse_real_fft": _fft(COMPLEX),
    "signal.inverse_stft": _sized(_alike(("c64",), "x", axes=2), hop=(1, 3, 50)),
    "signal.magnitude": _alike(COMPLEX, "x"),
    "signal.oscillator": _sized(size=(16, 33, 1000), rate=(1000, 48000)),
    "signal.pitch": _sized(_sound, low=(100.0, 300.0)),
    "signal.real_fft": _fft(("f32", "f64")),
    "signal.resample": _sized(_alike(("f32",), "x"), up=(1, 2, 7), down=(1, 3, 4)),
    "signal.spectrogram": _sized(_alike(("f32",), "x", axes=2), height=(1, 7, 33)),
    "signal.window": _alike(("f32",), "x"),
    "sound.bands": _sized(_alike(("f32",), "x", axes=2), count=(1, 2, 7), rate=(1000, 48000)),
    "sound.beat": _alike(("f32",), "x"),
    "sound.onset": _alike(("f32",), "x"),
    "sparse.multiply": _sparse,
    "sparse.spring_net": _sized(height=(3, 5), width=(3, 7)),
    "tensor.accuracy": _alike(("f32",), "x", "targets", axes=2),
    "tensor.batches": _batches,
    "tensor.digits": _NOTHING,
    "tensor.train": _train,
    "tensor.weight_tiles": _tiles,
    "value.counter": _NOTHING,
    "value.envelope": _NOTHING,
    "value.expression": _sized(text=("a * sin(t)", "a + b * c - d", "a if b > 0 else c", "frame")),
    "value.gate": _NOTHING,
    "value.keyboard": _sized(key=("a", "b")),
    "value.lfo": _sized(frequency=(0.25, 7.0, -20.0)),
    "value.map": _NOTHING,
    "value.mouse": _NOTHING,
    "value.peak": _NOTHING,
    "value.ramp": _sized(duration=(0.05, 2.0)),
    "value.random": _sized(interval=(0.0, 0.03)),
    "value.slider": _NOTHING,
    "value.smooth": _sized(time=(0.0, 0.3)),
    "value.switch": _NOTHING,
    "value.time": _NOTHING,
}
