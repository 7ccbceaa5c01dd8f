"""The newest forms of PTX: arithmetic on four packed bytes, and conversions between small floats and bf16x2."""

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate

RNG = np.random.default_rng(31)
WORDS = np.concatenate(
    [np.array([0, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0x80FF017F], np.uint32), RNG.integers(0, 2**32, 91, np.uint32)]
)


@pytest.mark.parametrize("kind", ["u8x4", "s8x4", "u16x2", "s16x2"])
def test_packed_integers(host, kind):
    """Sums of packed integers wrap or saturate in each element, and minima and maxima are per element."""
    dtype = np.dtype(kind[:-2].replace("s", "i").replace("u8", "u1").replace("i8", "i1").replace("16", "2"))
    is_bytes = kind.endswith("4")
    a, b = WORDS, RNG.permutation(WORDS)
    x, y = (item.view(dtype).astype(np.int64) for item in (a, b))
    info = np.iinfo(dtype)
    expected = {f"add.{kind}": x + y, f"min.{kind}": np.minimum(x, y), f"max.{kind}": np.maximum(x, y)}
    expected[f"add.sat.{kind}"] = np.clip(x + y, info.min, info.max)
    if is_bytes:
        expected |= {f"sub.{kind}": x - y, f"sub.sat.{kind}": np.clip(x - y, info.min, info.max)}
    found = evaluate(host, [f"{opcode} %d, %a, %b;" for opcode in expected], "b32", ("b32", "b32"), a, b)
    for opcode, values in expected.items():
        assert np.array_equal(found[f"{opcode} %d, %a, %b;"], values.astype(dtype).view(np.uint32)), opcode


def test_negated_bytes_and_limited_words(host):
    """neg.s8x4 wraps at -128, and add.sat.u32 saturates at the largest word."""
    a, b = WORDS, RNG.permutation(WORDS)
    forms = ["neg.s8x4 %d, %a;", "add.sat.u32 %d, %a, %b;"]
    negated, limited = evaluate(host, forms, "b32", ("b32", "b32"), a, b).values()
    assert np.array_equal(negated.view(np.int8), -a.view(np.int8))
    assert np.array_equal(limited, np.minimum(a.astype(np.uint64) + b, 2**32 - 1))


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("kind", ["e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2"])
def test_small_floats_of_bf16_pairs(host, kind, relu):
    """bf16x2 converts to small floats like two f32 of the same values; conversions to bf16x2 and f16x2 are exact."""
    halves = RNG.integers(0, 2**16, 256).astype(np.uint16)
    halves = halves[(halves & 0x7FFF) <= 0x7F80]  # NaN payloads have several encodings
    low, high = halves[: len(halves) // 2], halves[len(halves) // 2 : len(halves) // 2 * 2]
    pairs = low | high.astype(np.uint32) << 16
    wide = [(item.astype(np.uint32) << 16).view(np.float32) for item in (high, low)]
    form = f"cvt.rn.satfinite{relu}.{kind}"
    (paired,) = evaluate(host, [f"{form}.bf16x2 %d, %a;"], "b16", ("b32",), pairs).values()
    (single,) = evaluate(host, [f"{form}.f32 %d, %a, %b;"], "b16", ("f32", "f32"), *wide).values()
    assert np.array_equal(paired, single)
    codes = np.unique(single)
    forms = [f"cvt.rn{relu}.{to}.{kind} %d, %a;" for to in ("bf16x2", "f16x2")]
    as_bf16, as_f16 = evaluate(host, forms, "b32", ("b16",), codes).values()
    low, high = ((as_bf16 << np.uint32(16)).view(np.float32), (as_bf16 & np.uint32(0xFFFF0000)).view(np.float32))
    assert np.array_equal(low, as_f16.view(np.float16)[::2].astype(np.float32))
    assert np.array_equal(high, as_f16.view(np.float16)[1::2].astype(np.float32))
