"""An evaluator of op graphs in numpy, written from the ops' help: the oracle of kernels.

A value is a list of components. Each component is an array with one number per element, or a `Number` for a literal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.ops.reference_numbers import (
    BOOLEAN,
    COMPARISON,
    FLOATS,
    NUMERIC,
    VECTORS,
    WHOLE,
    WHOLE_OR_BOOLEAN,
    Array,
    Value,
)
from tests.ops.running import FRAME
from warploom.engine.ops import OPS, OpGraph, OpNode
from warploom.engine.types import NAMED, bf16, from_bf16, to_bf16

_ORDER = ("bool", "int32", "uint32", "int64", "uint64", "float32", "float64")
NUMPY = dict(zip(("boolean", "s32", "u32", "s64", "u64", "f32", "f64"), _ORDER, strict=True))


@dataclass(frozen=True)
class Number:
    """A literal number; with `is_float` it turns integers into f32."""

    value: float
    is_float: bool


@dataclass(frozen=True)
class Handle:
    """A buffer: its contents (flat, with one more axis for components), and its shape."""

    array: Array
    shape: tuple[int, ...]
    is_bf16: bool = False


Given = Value | Number


def convert(array: Array, to: str) -> Array:
    """Return numbers as another type, converted by the rules of op.convert."""
    kind = np.dtype(to)
    if kind.kind == "b":
        return array != 0
    if array.dtype.kind == "f" and kind.kind in "iu":
        info = np.iinfo(kind)
        whole = np.nan_to_num(np.trunc(array.astype(np.float64)), nan=0.0)
        result = np.zeros(array.shape, kind)
        low, high = whole <= float(info.min), whole >= float(info.max)
        fine = ~(low | high)
        result[fine] = whole[fine].astype(kind)
        result[low], result[high] = info.min, info.max
        return result
    return array.astype(kind)


def promoted(values: list[Given], size: int, at_least: str = "bool") -> list[Value]:
    """Return operands with one type and one number of components; the type is common to all of them and `at_least`."""
    strong = [v[0].dtype.name for v in values if not isinstance(v, Number)]
    weak = [("float32" if v.is_float else "int32") for v in values if isinstance(v, Number)]
    kinds = list(strong)
    if (
        not strong
        or (any(kind == "float32" for kind in weak) and not any("float" in kind for kind in strong))
        or all(kind == "bool" for kind in strong)
    ):
        kinds += weak
    kind = max([*kinds, at_least], key=_ORDER.index)
    count = max((len(v) for v in values if not isinstance(v, Number)), default=1)
    made = []
    for value in values:
        parts = [constant(value, kind, size)] if isinstance(value, Number) else [convert(p, kind) for p in value]
        made.append(parts if len(parts) == count else parts * count)
    return made


def constant(number: Number, kind: str, size: int) -> Array:
    """Return a literal number as an array."""
    if np.dtype(kind).kind in "iu":
        return np.full(size, int(number.value) & ((1 << 64) - 1), np.uint64).astype(kind)
    return np.full(size, number.value, kind)


def floats(values: list[Given], size: int) -> list[Value]:
    """Return operands as floats of one type."""
    made = promoted(values, size)
    return made if "float" in made[0][0].dtype.name else promoted(values, size, "float32")


@dataclass
class Reference:
    """Evaluates a graph over a whole domain of `shape`, outermost axis first."""

    graph: OpGraph
    inputs: Mapping[str, Array]
    shape: tuple[int, ...]
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.size = int(np.prod(self.shape))
        self.nodes = {node.id: node for node in self.graph.nodes}
        self.sources = {c.target: c.source for c in self.graph.connections}
        self.known: dict[str, Any] = {}
        self.handles: dict[str, Handle] = {}

    def outputs(self) -> dict[str, Array]:
        """Return the contents of each output that has a value, in the shape of the domain."""
        made = {}
        with np.errstate(all="ignore"):
            for node in self.graph.nodes:
                if node.type == "op.output" and f"{node.id}.value" in self.sources:
                    made[self._setting(node, "name") or node.id] = self._stored(node)
        return made

    def _stored(self, node: OpNode) -> Array:
        value = self._operand(node, "value")
        name = self._setting(node, "type")
        if name == "same":
            parts = promoted([value], self.size)[0]
        else:
            dtype = NAMED[name]
            held = (dtype.of or dtype).numpy
            if held == np.uint16 and (dtype.of or dtype) is bf16:
                parts = [to_bf16(p) for p in self._as(value, "float32", dtype.components)]
            elif held.kind == "f" and held.itemsize == 2:
                parts = [p.astype(held) for p in self._as(value, "float32", dtype.components)]
            else:
                wide = held if held.name in _ORDER else np.dtype("int64")
                parts = [p.astype(held) for p in self._as(value, wide.name, dtype.components)]
        flat = parts[0] if len(parts) == 1 else np.stack(parts, axis=-1)
        return flat.reshape(self.shape + (() if len(parts) == 1 else (len(parts),)))

    def _as(self, value: Given, kind: str, components: int = 1) -> Value:
        parts = [constant(value, kind, self.size)] if isinstance(value, Number) else [convert(p, kind) for p in value]
        return parts if len(parts) == components else parts * components

    def _setting(self, node: OpNode, name: str) -> Any:
        found = next(setting.default for setting in OPS[node.type].values if setting.name == name)
        return node.parameters.get(name, found)

    def _operand(self, node: OpNode, name: str) -> Any:
        source = self.sources.get(f"{node.id}.{name}")
        if source is not None:
            return self.value(source)
        number = self._setting(node, name)
        return Number(number, not float(number).is_integer())

    def value(self, source: str) -> Any:
        """Return the value of an op's output."""
        if source not in self.known:
            node_id, _, port = source.partition(".")
            node = self.nodes[node_id]
            for name, value in self._evaluate(node, port).items():
                self.known[f"{node_id}.{name}"] = value
        return self.known[source]

    def _evaluate(self, node: OpNode, port: str) -> Mapping[str, Any]:
        name = node.type.removeprefix("op.")
        special = getattr(self, f"_op_{name}", None)
        if special is not None:
            return special(node)  # type: ignore[no-any-return]
        operands = [self._operand(node, item.name) for item in OPS[node.type].inputs]
        return {"out": self._plain(name, operands)}

    def _plain(self, name: str, operands: list[Given]) -> Value:
        if name in VECTORS:
            return VECTORS[name](*floats(operands, self.size))
        for table, at_least in ((NUMERIC, "int32"), (WHOLE_OR_BOOLEAN, "bool"), (COMPARISON, "bool")):
            if name in table:
                return _each(table[name], promoted(operands, self.size, at_least))
        if name in ("shift_left", "shift_right", "rotate_left", "rotate_right"):
            both = promoted(operands, self.size, "int32")
            first = operands[0]
            kind = "int32" if isinstance(first, Number) else max(first[0].dtype.name, "int32", key=_ORDER.index)
            components = len(both[0])
            return _each(WHOLE[name], [self._as(operand, kind, components) for operand in operands])
        if name in WHOLE:
            return _each(WHOLE[name], promoted(operands, self.size, "int32"))
        if name in FLOATS:
            return _each(FLOATS[name], floats(operands, self.size))
        if name in BOOLEAN:
            made = promoted(operands, self.size)
            return _each(BOOLEAN[name], [[part != 0 for part in value] for value in made])
        raise NotImplementedError(name)

    def _op_constant(self, node: OpNode) -> Mapping[str, Any]:
        value, kind = self._setting(node, "value"), self._setting(node, "type")
        if kind in ("number", "float"):
            return {"out": Number(value, kind == "float" or not float(value).is_integer())}
        return {"out": [constant(Number(value, False), NUMPY[kind], self.size)]}

    def _op_parameter(self, node: OpNode) -> Mapping[str, Any]:
        name = self._setting(node, "name") or node.id
        number = self.parameters.get(name, self._setting(node, "default"))
        return {"out": [constant(Number(number, False), NUMPY[self._setting(node, "type")], self.size)]}

    def _op_frame(self, node: OpNode) -> Mapping[str, Any]:
        return {name: [np.full(self.size, FRAME[name])] for name in ("time", "index", "time_step")}

    def _op_input(self, node: OpNode) -> Mapping[str, Any]:
        name = self._setting(node, "name") or node.id
        dtype = NAMED[self._setting(node, "type")]
        array = self.inputs[name]
        shape = array.shape[:-1] if dtype.components > 1 else array.shape
        handle = Handle(array.reshape(-1, dtype.components), shape, (dtype.of or dtype) is bf16)
        made: dict[str, Any] = {"buffer": handle}
        if len(handle.array) == self.size:
            made["value"] = _widened(handle, np.arange(self.size))
        sizes = {"size": len(handle.array)}
        sizes |= dict(zip(("width", "height", "depth"), (*shape[::-1], 1, 1), strict=False))
        return made | {key: [np.full(self.size, number, np.int32)] for key, number in sizes.items()}

    def _op_index(self, node: OpNode) -> Mapping[str, Any]:
        count = np.full(self.size, self.size, np.int32)
        return {"index": [np.arange(self.size, dtype=np.int32)], "count": [count]}

    def _op_position(self, node: OpNode) -> Mapping[str, Any]:
        made = dict(self._op_index(node))
        axes = np.unravel_index(np.arange(self.size), self.shape)[::-1]
        names = zip("xyz", "uvw", ("width", "height", "depth"), axes, self.shape[::-1], strict=False)
        for axis, share, extent, place, size in names:
            made[axis] = [place.astype(np.int32)]
            made[extent] = [np.full(self.size, size, np.int32)]
            made[share] = [(place.astype(np.float32) + np.float32(0.5)) / np.float32(size)]
        return made

    _op_position3 = _op_position

    def _op_any(self, node: OpNode) -> Mapping[str, Any]:
        parts = promoted([self._operand(node, "x")], self.size)[0]
        return {"out": [np.any(np.stack([part != 0 for part in parts]), axis=0)]}

    def _op_all(self, node: OpNode) -> Mapping[str, Any]:
        parts = promoted([self._operand(node, "x")], self.size)[0]
        return {"out": [np.all(np.stack([part != 0 for part in parts]), axis=0)]}

    def _op_select(self, node: OpNode) -> Mapping[str, Any]:
        a, b = promoted([self._operand(node, "a"), self._operand(node, "b")], self.size)
        condition = [part != 0 for part in promoted([self._operand(node, "condition")], self.size)[0]]
        count = max(len(a), len(condition))
        a, b, condition = (parts if len(parts) == count else parts * count for parts in (a, b, condition))
        return {"out": [np.where(c, x, y) for c, x, y in zip(condition, a, b, strict=True)]}

    def _op_convert(self, node: OpNode) -> Mapping[str, Any]:
        value, kind = self._operand(node, "x"), NUMPY[self._setting(node, "type")]
        return {"out": self._as(value, kind, 1 if isinstance(value, Number) else len(value))}

    def _op_reinterpret(self, node: OpNode) -> Mapping[str, Any]:
        parts = promoted([self._operand(node, "x")], self.size)[0]
        kinds = {"f": "u", "i": "f", "u": "f"}
        return {"out": [p.view(f"{kinds[p.dtype.kind]}{p.dtype.itemsize}") for p in parts]}

    def _make_vector(self, node: OpNode) -> Mapping[str, Any]:
        operands = [self._operand(node, item.name) for item in OPS[node.type].inputs]
        all_written = all(isinstance(operand, Number) for operand in operands)
        return {"out": [parts[0] for parts in promoted(operands, self.size, "float32" if all_written else "bool")]}

    _op_vector2 = _op_vector3 = _op_vector4 = _make_vector

    def _op_split(self, node: OpNode) -> Mapping[str, Any]:
        parts = promoted([self._operand(node, "vector")], self.size)[0]
        return {letter: [part] for letter, part in zip("xyzw", parts, strict=False)}

    def _op_swizzle(self, node: OpNode) -> Mapping[str, Any]:
        parts = promoted([self._operand(node, "x")], self.size)[0]
        pattern = self._setting(node, "pattern")
        letters = "rgba" if set(pattern) & set("rgba") else "xyzw"
        return {"out": [parts[letters.index(letter)] for letter in pattern]}

    def _op_load(self, node: OpNode) -> Mapping[str, Any]:
        handle = self._operand(node, "buffer")
        (index,) = self._as(self._operand(node, "index"), "int32")
        place, inside = bounded(index, len(handle.array), self._setting(node, "boundary"))
        return {"out": _masked(_widened(handle, place), inside)}

    def _op_load_2d(self, node: OpNode) -> Mapping[str, Any]:
        handle = self._operand(node, "buffer")
        boundary = self._setting(node, "boundary")
        height, width = handle.shape
        (x,), (y,) = (self._as(self._operand(node, name), "int32") for name in "xy")
        (column, in_x), (row, in_y) = bounded(x, width, boundary), bounded(y, height, boundary)
        return {"out": _masked(_widened(handle, row * width + column), in_x & in_y)}

    def _op_if(self, node: OpNode) -> Mapping[str, Any]:
        """Evaluate both branches everywhere: they only compute values."""
        condition = promoted([self._operand(node, "condition")], self.size)[0][0] != 0
        made = {}
        for slot in "abcd":
            names = [name for name in (f"then_{slot}", f"else_{slot}") if f"{node.id}.{name}" in self.sources]
            if names:
                both = promoted([self._operand(node, name) for name in names], self.size)
                values = dict(zip(names, both, strict=True))
                zeros = [np.zeros_like(part) for part in both[0]]
                then, other = (values.get(f"{branch}_{slot}", zeros) for branch in ("then", "else"))
                made[slot] = [np.where(condition, x, y) for x, y in zip(then, other, strict=True)]
        return made

    def _op_for(self, node: OpNode) -> Mapping[str, Any]:
        """Iterate all elements together; those whose iterations are over keep their values."""
        kinds = {slot: promoted([self._operand(node, f"initial_{slot}")], self.size)[0] for slot in "abcd"}
        while True:
            result, kinds_now = self._turns(node, kinds)
            if all(kinds_now[slot][0].dtype == kinds[slot][0].dtype for slot in "abcd") and all(
                len(kinds_now[slot]) == len(kinds[slot]) for slot in "abcd"
            ):
                return result
            kinds = kinds_now

    def _turns(self, node: OpNode, initial: dict[str, Value]) -> tuple[dict[str, Any], dict[str, Value]]:
        """Return the values after the loop, and the initial values in the types that the loop carries."""
        (count,) = self._as(self._operand(node, "count"), "int32")
        inside = self._members(node.id)
        carried, kinds = dict(initial), dict(initial)
        index = np.zeros(self.size, np.int32)
        running = np.ones(self.size, bool)
        for turn in range(max(1, int(count.max()))):
            active = running & (turn < count)
            self.known = {key: v for key, v in self.known.items() if key.partition(".")[0] not in inside}
            self.known[f"{node.id}.index"] = [np.full(self.size, turn, np.int32)]
            self.known |= {f"{node.id}.{slot}": carried[slot] for slot in "abcd"}
            following = dict(carried)
            for slot in "abcd":
                if f"{node.id}.next_{slot}" in self.sources:
                    back, kinds[slot] = promoted([self._operand(node, f"next_{slot}"), initial[slot]], self.size)
                    both = promoted([back, carried[slot]], self.size)
                    following[slot] = [np.where(active, x, y) for x, y in zip(*both, strict=True)]
            stop = np.zeros(self.size, bool)
            if f"{node.id}.stop" in self.sources:
                stop = promoted([self._operand(node, "stop")], self.size)[0][0] != 0
            index += active.astype(np.int32)
            running &= ~(active & stop)
            carried = following
        self.known = {key: v for key, v in self.known.items() if key.partition(".")[0] not in inside}
        return {"index": [index], **carried}, kinds

    def _members(self, region: str) -> set[str]:
        """Return the nodes in a region, at any depth."""
        members = {node.id for node in self.graph.nodes if node.region.partition(".")[0] == region}
        return members.union(*(self._members(member) for member in members))


def bounded(index: Array, size: int, boundary: str) -> tuple[Array, Array]:
    """Return an index moved into bounds, and whether its element counts."""
    wide = index.astype(np.int64)
    everywhere = np.ones(index.shape, bool)
    if boundary == "clamp":
        return np.clip(wide, 0, size - 1), everywhere
    if boundary == "wrap":
        return wide % size, everywhere
    if boundary == "mirror":
        turned = wide % (2 * size)
        return np.where(turned >= size, 2 * size - 1 - turned, turned), everywhere
    inside = (wide >= 0) & (wide < size)
    return np.where(inside, wide, 0), inside


def _masked(parts: Value, inside: Array) -> Value:
    return [np.where(inside, part, part.dtype.type(0)) for part in parts]


def _widened(handle: Handle, place: Array) -> Value:
    """Return elements widened as kernels read them."""
    made = []
    for part in handle.array[place].T:
        held = part.dtype
        if handle.is_bf16:
            made.append(from_bf16(np.ascontiguousarray(part)))
        elif held.name in _ORDER:
            made.append(part)
        else:
            made.append(part.astype({"f": np.float32, "u": np.uint32, "i": np.int32}[held.kind]))
    return made


def _each(emit: Callable[..., Array], operands: list[Value]) -> Value:
    return [emit(*column) for column in zip(*operands, strict=True)]


def assert_same(found: Array, expected: Array, what: str) -> None:
    """Fail unless both are equal; NaNs equal each other, and zeros must have the same sign."""
    assert found.dtype == expected.dtype, what
    assert found.shape == expected.shape, what
    is_same = found == expected
    if found.dtype.kind == "f":
        is_same &= (np.signbit(found) == np.signbit(expected)) | (found != 0)
        is_same |= np.isnan(found) & np.isnan(expected)
    if not is_same.all():
        at = np.argwhere(~is_same)[0]
        place = tuple(at)
        first = f"{found[place]!r} for {expected[place]!r} at {place}"
        raise AssertionError(f"{what}: {(~is_same).sum()} of {is_same.size} differ, the first is {first}")
