"""Reductions to one number, compared with numpy."""

import numpy as np
import pytest

from tests.blocks.running import Array, apply, apply_each, problems, run
from warploom import Patch

SIZES = [1, 2, 255, 256, 257, 1023, 1025, 70_000, 300_001]


@pytest.mark.parametrize("size", SIZES)
def test_reductions_are_numpys(size: int) -> None:
    """Reductions of any size equal numpy's in f64 within 2e-7, also with the most partial results."""
    x = np.random.default_rng(size).normal(3, 100, size).astype(np.float32)
    reductions = {"sum": np.sum, "largest": np.max, "smallest": np.min}
    found = apply_each(*((f"reduce.{block}", {"x": x}, {}) for block in reductions))
    for (block, expected), out in zip(reductions.items(), found, strict=True):
        assert out == pytest.approx(expected(x.astype(np.float64)), rel=2e-7), block


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "f2", "f8"])
def test_any_number_reduces(dtype: str) -> None:
    """Sum, largest and smallest equal numpy's for every type, with negative numbers where the type has them."""
    x = np.array([[3, -7, 0], [100, 5, 1]]).astype(dtype)
    numbers = x.astype(np.float64)
    found = apply_each(*((f"reduce.{block}", {"x": x}, {}) for block in ("sum", "largest", "smallest")))
    assert found == [np.float32(number) for number in (numbers.sum(), numbers.max(), numbers.min())]


@pytest.mark.parametrize("at", [0, 300, 1999])
def test_nan_and_infinity_are_passed_on(at: int) -> None:
    """A NaN anywhere is the result, and infinities are the largest and the smallest number."""
    x = np.linspace(-1, 1, 2000, dtype=np.float32)
    x[at] = np.nan
    for block in ("sum", "largest", "smallest"):
        assert np.isnan(apply(f"reduce.{block}", {"x": x})[0])
    x[at] = -np.inf
    assert apply("reduce.smallest", {"x": x})[0] == -np.inf
    assert apply("reduce.largest", {"x": -x})[0] == np.inf


@pytest.mark.parametrize("size", [1, 255, 257, 70_000])
def test_count_counts_what_is_not_zero(size: int) -> None:
    """Elements of every type are counted unless they are zero."""
    numbers = np.random.default_rng(size).integers(0, 3, size)
    of_types = [numbers.astype(dtype) for dtype in ("?", "u1", "i2", "u8", "f2", "f4", "f8", "c8")]
    for x, out in zip(of_types, apply_each(*(("reduce.count", {"x": x}, {}) for x in of_types)), strict=True):
        assert out.tolist() == [np.count_nonzero(x)], x.dtype


def test_count_takes_vectors_and_zeros() -> None:
    """Count leaves out 0 and -0, and refuses vectors at its input."""
    assert apply("reduce.count", {"x": np.array([0.0, -0.0, 0.0], np.float32)}).tolist() == [0]
    patch = Patch()
    node = patch.add("reduce.sum")
    patch.connect(patch.add("io.array", data=np.ones(3, np.complex64))["out"], node["x"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "x") and "single real numbers" in text


@pytest.mark.parametrize("dtype", ["c8", "c16", "f2", "f4", "f8"])
def test_minus_zero_is_zero_in_every_type(dtype: str) -> None:
    """Count and Select take -0 for zero in every type, also in complex numbers, but not the numbers next to it."""
    real = np.dtype(dtype).type(0).real
    tiny = np.nextafter(real, real.dtype.type(1))
    parts = np.array([0.0, -0.0, tiny, -tiny, 1.0, np.nan], real.dtype)
    x = (parts[:, None] + np.zeros(1, dtype)).reshape(-1)
    if x.dtype.kind == "c":
        x = np.array([[complex(a, b) for b in parts] for a in parts], dtype).reshape(-1)
    assert apply("reduce.count", {"x": x}).tolist() == [np.count_nonzero(x)]
    for element, number in list(enumerate(x))[::5]:
        given = {"condition": x, "a": np.ones(1), "b": np.zeros(1)}
        assert apply("control.select", given, element=element).tolist() == [bool(number)]


def test_vectors_of_zeros_do_not_count() -> None:
    """Counting vectors leaves out those whose components are all zero, of either sign."""
    data = np.array([[0, -0.0, 0, -0.0], [-0.0, 0, 0, 1e-45], [-0.0] * 4], np.float32)
    patch = Patch()
    vectors, count = patch.add("buffer.reinterpret", dtype="float4"), patch.add("reduce.count")
    patch.connect(patch.add("io.array", data=data)["out"], vectors["x"])
    patch.connect(vectors["out"], count["x"])
    assert run(patch, count["out"])[0].tolist() == [1]


ALONG = {
    "sum": np.sum,
    "mean": np.mean,
    "smallest": np.min,
    "largest": np.max,
    "variance": np.var,
    "deviation": np.std,
}


def along(x: Array, axis: int = 0) -> dict[str, Array]:
    """Return all reductions along an axis."""
    cases = [("reduce.along_axis", {"x": x}, {"axis": axis, "operation": operation}) for operation in ALONG]
    return dict(zip(ALONG, apply_each(*cases), strict=True))


def statistics(x: Array) -> dict[str, float]:
    """Return the outputs of Statistics."""
    patch = Patch()
    node = patch.add("reduce.statistics")
    patch.connect(patch.add("io.array", data=x)["out"], node["x"])
    names = ("mean", "deviation", "smallest", "largest")
    return dict(zip(names, (float(out[0]) for out in run(patch, *(node[name] for name in names))), strict=True))


def test_elements_of_each_type_are_summed_and_counted() -> None:
    """Long lines, whose loads are under way side by side, have numpy's sums and histograms for every type."""
    random = np.random.default_rng(2)
    for dtype in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "bf16", "f4", "f8"):
        x = random.integers(0 if dtype[0] in "?u" else -100, 2 if dtype == "?" else 100, (3, 9001))
        patch = Patch()
        source = patch.add("io.array", data=x.astype("f4" if dtype == "bf16" else dtype))
        if dtype == "bf16":  # which holds these numbers exactly
            convert = patch.add("buffer.convert", dtype="bf16")
            patch.connect(source["out"], convert["x"])
            source = convert
        total = patch.add("reduce.along_axis", axis=1, operation="sum")
        counts = patch.add("data.histogram", bins=3, low=-100.0, high=99.0)
        for node in (total, counts):
            patch.connect(source["out"], node["x"])
        sums, parts = run(patch, total["out"], counts["out"])
        np.testing.assert_array_equal(sums, x.sum(1), err_msg=dtype)
        np.testing.assert_array_equal(parts, np.histogram(x, 3, (-100, 99))[0], err_msg=dtype)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((1,), 0),
        ((33,), -1),
        ((1023, 3), 0),
        ((4, 500, 6), 1),
        ((5, 1, 32), -2),
        ((2, 3, 65), -1),
        ((31, 70_001), 1),
        ((2, 330_007), 1),  # from here on, lines have more than 1024 parts
        ((330_007, 2), 0),
    ],
)
def test_reductions_along_an_axis_are_numpys(shape: tuple[int, ...], axis: int) -> None:
    """All reductions along an axis equal numpy's in f64 within 2e-7, and their shape lacks the axis."""
    x = np.random.default_rng(len(shape)).normal(1000, 3, shape).astype(np.float32)
    for operation, out in along(x, axis).items():
        expected = np.atleast_1d(ALONG[operation](x.astype(np.float64), axis=axis))
        assert out.shape == expected.shape and out.dtype == np.float32
        np.testing.assert_allclose(out, expected, rtol=2e-7)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f8"])
def test_any_number_reduces_along_an_axis(dtype: str) -> None:
    """Reductions along an axis, and Statistics, equal numpy's for every type."""
    x = np.array([[3, -7, 0, 6], [100, 5, 1, 2]]).astype(dtype)
    numbers = x.astype(np.float64)
    for operation, out in along(x, 1).items():
        np.testing.assert_allclose(out, ALONG[operation](numbers, axis=1), rtol=2e-7)
    found = statistics(x)
    expected = {"mean": numbers.mean(), "deviation": numbers.std(), "smallest": numbers.min(), "largest": numbers.max()}
    assert found == pytest.approx(expected, rel=2e-7)


def test_a_nan_counts_in_its_line_only() -> None:
    """A NaN makes the results of its line NaN; infinities are extremes; -0 is below 0."""
    x = np.array([[1, np.nan, 2], [-np.inf, 5, 6], [0.0, -0.0, 0.0]], np.float32)
    found = along(x, 1)
    for operation, out in found.items():
        assert np.isnan(out[0]) and (operation in ("variance", "deviation") or not np.isnan(out[1:]).any())
    assert (found["smallest"][1], found["largest"][1], found["mean"][1]) == (-np.inf, 6, -np.inf)
    assert np.isnan(found["variance"][1]) and np.signbit(found["smallest"][2]) and not np.signbit(found["largest"][2])
    assert np.isnan(list(statistics(x[0]).values())).all()


def test_a_spread_is_exact_beside_a_large_first_element() -> None:
    """The variance of a line keeps its digits when the first element is far from all others, or all are far from 0."""
    x = np.random.default_rng(0).normal(size=1000)
    for far in (np.concatenate([[1e6], x]), np.concatenate([[-1e12], x]), x + 1e9):
        assert along(far)["variance"][0] == pytest.approx(far.var(), rel=1e-6)
        assert statistics(far)["deviation"] == pytest.approx(far.std(), rel=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_statistics_are_numpys(size: int) -> None:
    """Mean, deviation, smallest and largest equal numpy's in f64 within 2e-7 for any size."""
    x = np.random.default_rng(size).normal(1000, 3, size).astype(np.float32)
    wide = x.astype(np.float64)
    expected = {"mean": wide.mean(), "deviation": wide.std(), "smallest": wide.min(), "largest": wide.max()}
    assert statistics(x) == pytest.approx(expected, rel=2e-7)
