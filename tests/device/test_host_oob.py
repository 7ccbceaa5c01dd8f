"""fma.oob: a factor that a tensor copy filled in out of bounds makes the result zero. Values as on an H200."""

import numpy as np
import pytest

from tests.device.elements import evaluate

ONE, INFINITE = {"f16": 0x3C00, "bf16": 0x3F80}, {"f16": 0x7C00, "bf16": 0x7F80}
#: The NaN of tensor copies, with either sign.
OUTSIDE = (0x7FF7, 0xFFF7)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_only_the_nan_of_tensor_copies_counts(host, kind):
    """All bit patterns as one factor, the other being one: zero for that NaN alone, and for -1 * 1 + 1."""
    a = np.arange(1 << 16, dtype=np.uint16)
    ones = np.full_like(a, ONE[kind])
    forms = [f"fma.rn{mode}.{kind} %d, {x}, %b;" for mode in ("", ".oob") for x in ("%a, %b", "%b, %a")]
    found = evaluate(host, forms, "b16", ("b16", "b16"), a, ones)
    plain, _, first, second = (found[form] for form in forms)
    outside = np.isin(a, OUTSIDE)
    is_nan = (a & 0x7FFF) > INFINITE[kind]
    assert (first[outside] == 0).all()
    assert np.array_equal(first, second)
    assert np.array_equal(first[~is_nan], plain[~is_nan])
    assert ((first & 0x7FFF)[is_nan & ~outside] > INFINITE[kind]).all()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_each_element_for_itself_and_never_the_addend(host, kind):
    """Elements of a pair are judged apart; zero takes the place of NaN and infinity; a NaN addend stays one."""
    one, infinite, outside = ONE[kind], INFINITE[kind], OUTSIDE[0]
    a = np.array([outside | one << 16, one | outside << 16, outside | outside << 16, one | one << 16], np.uint32)
    c = np.array([infinite | one << 16, one | infinite << 16, 0x7FFF7FFF, outside | one << 16], np.uint32)
    ones = np.full_like(a, one | one << 16)
    forms = [f"fma.rn.oob{relu}.{kind}x2 %d, %a, %b, %c;" for relu in ("", ".relu")]
    two = {"f16": 0x4000, "bf16": 0x4000}[kind]
    for found in evaluate(host, forms, "b32", ("b32", "b32", "b32"), a, ones, c).values():
        assert list(found[:3]) == [two << 16, two, 0]
        assert found[3] & 0x7FFF > infinite
        assert found[3] >> 16 == two
