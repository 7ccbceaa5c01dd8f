"""Hashes, random numbers and noise. A position and a seed give the same result on every device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce

from warploom.engine.ops.emission import Emission, OpValue
from warploom.engine.ops.functions.value import F32 as FORMAT
from warploom.engine.ops.functions.value import ScalarValue, select
from warploom.engine.ops.rules import OUT, integer, scalar, take
from warploom.engine.ops.table import OpCall, OpCode, OpSetting, OpType, Signature, register
from warploom.engine.ops.types import F32, U32
from warploom.engine.types import f32, s32

_CATEGORY = "Noise"
_AXES = "xyz"
_SEED = take("seed", "Start of the random sequence; another seed gives other numbers.", 0.0)


def _mixed(h: ScalarValue) -> ScalarValue:
    """Return a hash of a word in which every output bit depends on every input bit: lowbias32, by Chris Wellons."""
    h = (h ^ h.shifted_right(16)) * 0x7FEB352D
    h = (h ^ h.shifted_right(15)) * -0x7B935975
    return h ^ h.shifted_right(16)


def _hash(seed: ScalarValue, place: Sequence[ScalarValue]) -> ScalarValue:
    """Return the hash of a position: of the seed plus the golden ratio's bits, then of each coordinate, last first."""
    return reduce(lambda h, coordinate: _mixed(h + coordinate), reversed(place), _mixed(seed + -0x61C88647))


def _share(h: ScalarValue) -> ScalarValue:
    """Return the upper 24 bits of a hash as a number from 0 to below 1."""
    return h.shifted_right(8).to_float() * 2.0**-24


def _places(emission: Emission, code: OpCode, names: Sequence[str]) -> list[ScalarValue]:
    return [ScalarValue(emission.builder, FORMAT, code.value(name).parts[0]) for name in names]


def _hash_type(call: OpCall, *, is_random: bool) -> Signature:
    kinds = {name: integer(call, name) for name in (*_AXES, "seed")}
    return Signature(kinds, {"out": F32 if is_random else U32})


def _emit_hash(emission: Emission, code: OpCode, *, is_random: bool) -> dict[str, OpValue]:
    *place, seed = _places(emission, code, (*_AXES, "seed"))
    made = _hash(seed, place)
    return {"out": OpValue(F32, (_share(made).raw,)) if is_random else OpValue(U32, (made.raw,))}


_WHOLE = tuple(take(axis, "A whole number, such as an index.", 0.0) for axis in _AXES)
for _name, _title, _doc, _random in (
    ("hash", "Hash", "A pseudo-random u32 of three whole numbers and a seed.", False),
    ("random", "Random", "A pseudo-random number from 0 to below 1, of three whole numbers and a seed.", True),
):
    register(
        OpType(
            f"op.{_name}",
            _title,
            _CATEGORY,
            _doc,
            (*_WHOLE, _SEED),
            OUT,
            partial(_hash_type, is_random=_random),
            partial(_emit_hash, is_random=_random),
            tags=("random", "rand", "pcg"),
        )
    )

_Noise = Callable[[Emission, ScalarValue, list[ScalarValue]], ScalarValue]


def _cell(emission: Emission, x: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return floor(x) and the fraction x - floor(x)."""
    below = x.floor()
    return ScalarValue(x.builder, x.format, emission.scalar(below.raw, f32, s32)), x - below


def _gradient(h: ScalarValue, offsets: Sequence[ScalarValue]) -> ScalarValue:
    """Return the dot product of the offsets and a gradient, whose components are 10 bits of the hash, from -1 to 1."""
    parts = [((h.shifted_right(10 * at) & 1023).to_float() * (2 / 1023) - 1.0) * o for at, o in enumerate(offsets)]
    return reduce(lambda a, b: a + b, parts)


def _lattice(
    emission: Emission, seed: ScalarValue, place: list[ScalarValue], corner: Callable[..., ScalarValue]
) -> ScalarValue:
    """Return the corners of a position's cell blended with 6 t^5 - 15 t^4 + 10 t^3 along each axis, x first."""
    cells, offsets = zip(*(_cell(emission, x) for x in place), strict=True)
    blends = [t * t * t * (t * (t * 6.0 - 15.0) + 10.0) for t in offsets]
    values = []
    for number in range(1 << len(place)):
        bits = [number >> at & 1 for at in range(len(place))]
        corners = [cell + bit if bit else cell for cell, bit in zip(cells, bits, strict=True)]
        from_corner = [o - 1.0 if bit else o for o, bit in zip(offsets, bits, strict=True)]
        values.append(corner(_hash(seed, corners), from_corner))
    for blend in blends:
        values = [a * (1.0 - blend) + b * blend for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def _value_noise(emission: Emission, seed: ScalarValue, place: list[ScalarValue]) -> ScalarValue:
    return _lattice(emission, seed, place, lambda h, _offsets: _share(h))


def _gradient_noise(emission: Emission, seed: ScalarValue, place: list[ScalarValue]) -> ScalarValue:
    return _lattice(emission, seed, place, _gradient)


def _simplex_noise(emission: Emission, seed: ScalarValue, place: list[ScalarValue]) -> ScalarValue:
    """Return the sum over the corners of a position's simplex; Perlin, "Noise hardware", 2001."""
    count = len(place)
    skew, unskew = (math.sqrt(count + 1) - 1) / count, (1 - 1 / math.sqrt(count + 1)) / count
    shift = reduce(lambda a, b: a + b, place) * skew
    floors = [(x + shift).floor() for x in place]
    cells = [ScalarValue(x.builder, x.format, emission.scalar(x.raw, f32, s32)) for x in floors]
    back = reduce(lambda a, b: a + b, floors) * unskew
    offsets = [x - (below - back) for x, below in zip(place, floors, strict=True)]
    ranks = _ranks(offsets)
    total: ScalarValue | None = None
    for corner in range(count + 1):
        # Walk to the corners one axis at a time, beginning with the longest offset.
        steps = [select(rank < corner, 1.0, offsets[0].like(0.0)) for rank in ranks]
        whole = [ScalarValue(step.builder, step.format, emission.scalar(step.raw, f32, s32)) for step in steps]
        offset = [o - step + corner * unskew for o, step in zip(offsets, steps, strict=True)]
        squares = reduce(lambda a, b: a + b, [o * o for o in offset])
        rest = 0.5 - squares
        rest = select(rest > 0.0, rest, 0.0)
        value = _gradient(_hash(seed, [c + w for c, w in zip(cells, whole, strict=True)]), offset)
        part = rest * rest * rest * rest * value
        total = part if total is None else total + part
    assert total is not None
    # A search found the largest sums, with each gradient along its offset: 1 / 70.1 and 1 / 62.2.
    return total * (70.0 if count == 2 else 62.0)


def _ranks(offsets: list[ScalarValue]) -> list[ScalarValue]:
    """Return the number of larger offsets for each offset; among equal offsets, the first counts as larger."""
    ranks = []
    for at, own in enumerate(offsets):
        larger = [
            select(other >= own if before < at else other > own, 1.0, own.like(0.0))
            for before, other in enumerate(offsets)
            if before != at
        ]
        ranks.append(reduce(lambda a, b: a + b, larger))
    return ranks


def _noise_type(call: OpCall) -> Signature:
    names = _AXES[: int(call.settings["dimensions"])]
    for name in names:
        scalar(call, name)
    return Signature({**dict.fromkeys(names, F32), "seed": integer(call, "seed")}, {"out": F32})


def _define(name: str, title: str, doc: str, noise: _Noise, dimensions: tuple[str, ...], tags: str) -> None:
    def emit(emission: Emission, code: OpCode) -> dict[str, OpValue]:
        *place, seed = _places(emission, code, list(code.signature.inputs))
        return {"out": OpValue(F32, (noise(emission, seed, place).raw,))}

    inputs = tuple(
        take(axis, f"Position along {axis}; the lattice has a point at each whole number.", 0.0) for axis in _AXES
    )
    setting = OpSetting("dimensions", "str", "2", "Number of axes: how many of x, y and z are used.", dimensions)
    op = OpType(
        f"op.{name}", title, _CATEGORY, doc, (*inputs, _SEED), OUT, _noise_type, emit, (setting,), tuple(tags.split())
    )
    register(op)


_define(
    "value_noise",
    "Value Noise",
    "Smooth noise from 0 to 1: random numbers at the lattice points, interpolated between them. Computed in f32.",
    _value_noise,
    ("1", "2", "3"),
    "random smooth",
)
_define(
    "gradient_noise",
    "Gradient Noise",
    "Perlin's smooth noise from -1 to 1: 0 at the lattice points, with random slopes. Computed in f32.",
    _gradient_noise,
    ("1", "2", "3"),
    "random perlin smooth",
)
_define(
    "simplex_noise",
    "Simplex Noise",
    "Smooth noise from -1 to 1 on a lattice of triangles or tetrahedra, which have fewer corners. Computed in f32.",
    _simplex_noise,
    ("2", "3"),
    "random perlin smooth",
)
