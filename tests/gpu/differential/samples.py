"""Operand values for the forms: edge cases of each kind, random bits and ordinary numbers, determined by a seed."""

import zlib

import numpy as np

from tests.gpu.differential.form import Form
from tests.gpu.differential.kinds import FORMATS, Bits, FloatFormat, Kind, encode

# Limits of conversions to integers, and numbers halfway between two integers.
_VALUES = (
    0.5, 0.75, 1.5, 2.5, 3.5, 127.0, 127.5, 128.0, 128.5, 255.0, 255.5, 256.0, 32767.5, 32768.0, 65504.0, 65535.5,
    65536.0, 2.0**31, 2.0**31 - 128, 2.0**31 - 0.5, 2.0**32, 2.0**32 - 256, 2.0**63, 2.0**63 - 1024, 2.0**64,
    3.14159265, 1e10,
)  # fmt: skip


def inputs(form: Form, lanes: int, seed: int) -> Bits:
    """Return a form's operand values, shape (operands, lanes), in the low bits of 64.

    Forms with operands of the same kinds have the same values.
    """
    rng = np.random.default_rng([zlib.crc32(" ".join(kind.name for kind in form.inputs).encode()), seed])
    values = np.zeros((len(form.inputs), lanes), np.uint64)
    for index, kind in enumerate(form.inputs):
        values[index] = sample(kind, lanes, rng)
        if index and kind.sampler == "float" and kind == form.inputs[0]:
            _near(values, index, kind, rng)
    return values


def _near(values: Bits, index: int, kind: Kind, rng: np.random.Generator) -> None:
    """Move some lanes' operands close to the first or its negative, so that sums cancel and quotients are near one."""
    form = FORMATS[kind.format]
    chosen = rng.random(values.shape[1]) < 0.15
    change = rng.choice(
        np.array([0, 1, 2, 1 << (form.bits - 1), (1 << (form.bits - 1)) + 1], np.uint64), values.shape[1]
    )
    values[index] = np.where(chosen, values[0] ^ change, values[index])


def sample(kind: Kind, count: int, rng: np.random.Generator) -> Bits:
    """Return sample values of one kind."""
    if kind.bits == 1:
        return rng.integers(0, 2, count, np.uint64)
    small = {"lane": 32, "slot": 8, "few": 4}
    if kind.sampler in small:
        return rng.integers(0, small[kind.sampler], count, np.uint64)
    if kind.sampler == "integer":
        return _integers(kind.bits, count, rng)
    if kind.sampler == "shift":
        return np.where(rng.random(count) < 0.9, rng.integers(0, 70, count, np.uint64), _integers(32, count, rng))
    packed = np.zeros(count, np.uint64)
    for index in range(kind.elements):
        packed |= _floats(kind, count, rng) << np.uint64(index * FORMATS[kind.format].bits)
    return packed


def _integers(bits: int, count: int, rng: np.random.Generator) -> Bits:
    mask = (1 << bits) - 1
    edges = {0, 1, 2, 3, 7, 31, 32, 33, mask, mask - 1, mask - 2, mask // 3, mask // 3 * 2}
    edges |= {power + step for place in range(3, bits) for power in (1 << place,) for step in (-1, 0, 1)}
    edges |= {-value for value in edges}
    chosen = rng.choice(np.array(sorted({value & mask for value in edges}), np.uint64), count)
    anything = rng.integers(0, mask, count, np.uint64, endpoint=True)
    short = anything >> rng.integers(0, bits, count, np.uint64)
    return np.choose(rng.integers(0, 3, count), [chosen, anything, short]).astype(np.uint64)


def _edges(name: str, form: FloatFormat) -> Bits:
    step, infinity, one = 1 << form.mantissa, form.infinity, form.bias << form.mantissa
    bits = [0, 1, 2, step - 1, step, step + 1, one - 1, one, one + 1, infinity - 1, infinity, infinity + 1]
    bits += [infinity + step // 2, infinity + step - 1, one + 3 * step, one + step // 2]
    both = np.concatenate([np.array(bits, np.uint64), encode(np.array(_VALUES), name)])
    return np.unique(np.concatenate([both, both | np.uint64(1 << (form.bits - 1))]))


def _floats(kind: Kind, count: int, rng: np.random.Generator) -> Bits:
    form, name = FORMATS[kind.format], kind.format
    edges = rng.choice(_edges(name, form), count)
    if kind.sampler == "whole":
        return encode(rng.integers(-4, 5, count).astype(np.float64), name)
    if kind.sampler in ("turn", "angle", "exponent", "positive", "divisor", "dividend"):
        sign = rng.choice([1.0, -1.0], count)
        usual = {
            "turn": rng.uniform(-2 * np.pi, 2 * np.pi, count),
            "angle": rng.uniform(-2 * np.pi, 2 * np.pi, count) * rng.choice([1.0, 50.0], count),
            "exponent": rng.uniform(-151.0, 129.0, count) * rng.choice([1.0, 0.01], count),
            "divisor": sign * np.exp2(rng.uniform(-126.0, 126.0, count) * rng.choice([1.0, 0.1], count)),
            "dividend": sign * np.exp2(rng.uniform(-60.0, 60.0, count) * rng.choice([1.0, 0.1], count)),
            "positive": np.exp2(rng.uniform(-149.0, 127.9, count) * rng.choice([1.0, 0.01], count)),
        }[kind.sampler]
        chosen = rng.choice(np.array([0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001], np.uint64), count)
        return np.where(rng.random(count) < 0.1, chosen, encode(usual, name))
    anything = rng.integers(0, (1 << form.bits) - 1, count, np.uint64, endpoint=True)
    # Numbers near one, some with few digits, so that sums and products are often exact or halfway between two floats.
    spread = min(form.bias - 2, 12)
    exponent = (form.bias + rng.integers(-spread, spread + 1, count)).astype(np.uint64) << np.uint64(form.mantissa)
    cleared = rng.integers(0, form.mantissa, count, np.uint64)
    mantissa = anything & np.uint64((1 << form.mantissa) - 1) >> cleared << cleared
    usual_bits = exponent | mantissa | (anything & np.uint64(1 << (form.bits - 1)))
    return np.choose(rng.choice(4, count, p=[0.3, 0.2, 0.4, 0.1]), [edges, anything, usual_bits, edges]).astype(
        np.uint64
    )
