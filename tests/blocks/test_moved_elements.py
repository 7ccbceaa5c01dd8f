"""Blocks that pick, place, join and limit elements, compared with numpy."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.blocks.running import Array, apply_each, refusal, run
from warploom import Patch
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.kernel_sources.image import KERNELS_FOLDER

SIZES = (1, 31, 32, 33, 1023)
TYPES = ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16")


def some(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Return random elements with both signs, zeros, infinities and NaN where the type has them."""
    source = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    x = source.integers(-3 if kind.kind in "ifc" else 0, 4, shape).astype(kind)
    if kind.kind in "fc" and x.size > 8:
        x.reshape(-1)[:4] = (np.nan, np.inf, -np.inf, -0.0)
    return x


def assert_equal(made: Array, expected: Any) -> None:
    """Assert that two arrays have equal bits, shapes and types; NaN equals itself."""
    expected = np.asarray(expected)
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    assert made.tobytes() == expected.tobytes()


def test_where_is_numpys(device: Device) -> None:
    """Where takes a where the mask isn't 0, for elements and masks of every type and any size; NaN isn't 0."""
    pairs = [(dtype, TYPES[-1 - i], SIZES[i % len(SIZES)]) for i, dtype in enumerate(TYPES)]
    pairs += [("f4", "?", size) for size in SIZES]
    inputs = [{"mask": some(m, n), "a": some(t, n, seed=1), "b": some(t, n, seed=2)} for t, m, n in pairs]
    made = apply_each(*(("math.where", given, {}) for given in inputs), device=device)
    for out, given in zip(made, inputs, strict=True):
        assert_equal(out, np.where(given["mask"] != 0, given["a"], given["b"]))


@pytest.mark.parametrize("edge", ["clamp", "wrap", "zero"])
def test_gather_is_numpys_take(edge: str) -> None:
    """Gather takes along any axis, by indices of any type and shape, with numpy's rules beyond the ends."""
    cases = []
    for i, dtype in enumerate(TYPES):
        shape = [(7,), (1023,), (5, 7), (1, 33), (2, 3, 5)][i % 5]
        axis = (0, -1, len(shape) - 1)[i % 3]
        index = ("i8", "i1", "f4", "u1", "i4")[i % 5]
        indices = np.random.default_rng(i).integers(-2 if index[0] in "if" else 0, 9, [(1,), (33,), (3, 4)][i % 3])
        cases.append((some(dtype, *shape), indices.astype(index), axis))
    made = apply_each(*(("buffer.gather", {"x": x, "indices": at}, {"axis": k, "edge": edge}) for x, at, k in cases))
    for out, (x, at, axis) in zip(made, cases, strict=True):
        size, whole = x.shape[axis], at.astype(np.int64)
        expected = np.take(x, whole, axis, mode="wrap" if edge == "wrap" else "clip")
        if edge == "zero":
            beyond = ((whole < 0) | (whole >= size)).reshape(*at.shape, *(1,) * (x.ndim - 1 - axis % x.ndim))
            expected = np.where(beyond, np.zeros((), x.dtype), expected)
        assert_equal(out, expected)


def test_indices_that_are_no_positions() -> None:
    """A fraction is cut off, NaN is 0, and infinities and the largest numbers are beyond the ends."""
    x = np.arange(5, dtype=np.float32)
    floats = np.array([1.9, -0.9, np.nan, np.inf, -np.inf, 1e30], np.float32)
    made = apply_each(
        ("buffer.gather", {"x": x, "indices": floats}, {}),
        ("buffer.gather", {"x": x, "indices": np.array([2**64 - 1, 2**63, 3], np.uint64)}, {}),
        ("buffer.gather", {"x": x, "indices": np.array([2**64 - 1, 2**63, 3], np.uint64)}, {"edge": "zero"}),
    )
    assert [out.tolist() for out in made] == [[1, 0, 0, 4, 0, 4], [4, 4, 3], [0, 0, 3]]


def test_scatter_is_numpys_assignment() -> None:
    """Scatter writes elements and rows of every type; the last of several counts, and those outside are left out."""
    cases = []
    for i, dtype in enumerate(TYPES):
        shape = [(7,), (1023,), (5, 7), (33, 1), (4, 3, 5)][i % 5]
        indices = np.random.default_rng(i).integers(-2, shape[0] + 3, [(1,), (2000,), (3, 4)][i % 3])
        cases.append((some(dtype, *shape), indices, some(dtype, *indices.shape, *shape[1:], seed=3)))
    made = apply_each(*(("buffer.scatter", {"target": t, "indices": i, "x": x}, {}) for t, i, x in cases))
    for out, (target, indices, x) in zip(made, cases, strict=True):
        expected = target.copy()
        for at, row in zip(indices.reshape(-1), x.reshape(-1, *target.shape[1:]), strict=True):
            if 0 <= at < len(target):
                expected[at] = row
        assert_equal(out, expected)


def test_concatenate_and_stack_are_numpys() -> None:
    """Two to four parts of every type are joined along each axis, and stacked along a new one."""
    joined, stacked = [], []
    for i, dtype in enumerate(TYPES):
        rank = i % 3 + 1
        axis, count = i % rank - rank * (i % 2), (2, 3, 4)[i % 3]
        shape = [(33,), (31, 3), (2, 5, 7)][rank - 1]
        sized = [[n + k if a == axis % rank else n for a, n in enumerate(shape)] for k in range(count)]
        joined.append((axis, [some(dtype, *size, seed=k) for k, size in enumerate(sized)]))
        stacked.append((i % (rank + 1) - (rank + 1) * (i % 2), [some(dtype, *shape, seed=k) for k in range(count)]))
    for block, function, cases in (("concatenate", np.concatenate, joined), ("stack", np.stack, stacked)):
        given = [(f"buffer.{block}", dict(zip("abcd", parts, strict=False)), {"axis": k}) for k, parts in cases]
        for out, (axis, parts) in zip(apply_each(*given), cases, strict=True):
            assert_equal(out, function(parts, axis))  # type: ignore[operator]


def test_the_last_part_may_be_there_without_the_third() -> None:
    """Inputs that are not connected take no place."""
    a, b, d = some("f4", 3, 5), some("f4", 2, 5), some("f4", 4, 5)
    (out,) = apply_each(("buffer.concatenate", {"a": a, "b": b, "d": d}, {}))
    assert_equal(out, np.concatenate([a, b, d]))
    (out,) = apply_each(("buffer.stack", {"a": a, "b": a, "d": a}, {"axis": 1}))
    assert_equal(out, np.stack([a, a, a], 1))


def test_shapes_that_do_not_fit_are_refused() -> None:
    """A wrong shape or axis is an error at the block that names the shapes."""
    a, b = some("f4", 3, 5), some("f4", 3, 4)
    assert "equal except along axis 0, got a [3, 5] and b [3, 4]" in refusal("buffer.concatenate", {"a": a, "b": b})
    assert "must be equal, got a [3, 5] and b [3, 4]" in refusal("buffer.stack", {"a": a, "b": b})
    assert "one of 2 axes of x, got 2" in refusal("buffer.gather", {"x": a, "indices": np.zeros(1, "i4")}, axis=2)
    text = refusal("buffer.scatter", {"target": a, "indices": np.zeros(2, "i4"), "x": b})
    assert "[2, 5]" in text and "[3, 4]" in text
    assert "[3, 5]" in refusal("math.where", {"mask": b, "a": a, "b": a})


def test_vectors_move_whole() -> None:
    """Elements of several numbers are picked and placed as a whole."""
    data = np.arange(20, dtype=np.float32).reshape(5, 4)
    patch = Patch()
    vectors, gather = patch.add("buffer.reinterpret", dtype="float4"), patch.add("buffer.gather", edge="zero")
    patch.connect(patch.add("io.array", data=data)["out"], vectors["x"])
    patch.connect(vectors["out"], gather["x"])
    patch.connect(patch.add("io.array", data=np.array([[3], [7], [0]]))["out"], gather["indices"])
    (out,) = run(patch, gather["out"])
    assert out.reshape(3, 4).tolist() == [data[3].tolist(), [0, 0, 0, 0], data[0].tolist()]


def test_clamp_is_numpys_clip() -> None:
    """Clamp limits numbers and infinities, keeps NaN, and gives `high` if the range is empty."""
    inputs = [some("f4", size) for size in SIZES]
    made = apply_each(*(("math.clamp", {"x": x}, {"low": -1.5, "high": 2.0}) for x in inputs))
    for out, x in zip(made, inputs, strict=True):
        np.testing.assert_array_equal(out, np.clip(x, np.float32(-1.5), np.float32(2)))
    (out,) = apply_each(("math.clamp", {"x": np.array([-5, 0, 5, np.nan], np.float32)}, {"low": 3.0, "high": 1.0}))
    np.testing.assert_array_equal(out, np.float32([1, 1, 1, np.nan]))


def test_interpolation_meets_both_ends() -> None:
    """Interpolate gives `a` at 0 and `b` at 1 to the last bit, and the straight line through them elsewhere."""
    a, b = some("f4", 1023), some("f4", 1023)[::-1].copy()
    a, b = (np.where(np.isfinite(each), each, 0).clip(-1e9, 1e9).astype("f4") for each in (a, b))
    for amount in (0.0, 1.0, 0.25, -2.0):
        (out,) = apply_each(("math.mix", {"a": a, "b": b}, {"amount": amount}))
        expected = a.astype(float) * (1 - amount) + b.astype(float) * amount
        within = 0 if amount in (0, 1) else 4e-7 * (np.abs(a) + np.abs(b)) * max(abs(amount), 1)
        assert (np.abs(out - expected) <= within).all()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_vectors_are_made_and_taken_apart(device: Device, count: int) -> None:
    """Combine puts numbers of any type, or its parameters, into vectors; Component takes each back, and the length."""
    given = {"x": some("f4", 33), "z": some("i2", 33)}
    patch = Patch()
    made = patch.add("math.combine", dtype=f"float{count}", y_otherwise=-2.5)
    for name, data in given.items():
        patch.connect(patch.add("io.array", data=data)["out"], made[name])
    parts = [patch.add("math.component", part=part) for part in ("x", "y", "z", "w", "length")]
    for part in parts:
        patch.connect(made["out"], part["x"])
    out, *found = run(patch, made["out"], *(part["out"] for part in parts), device=device)
    columns = [given["x"], np.full(33, -2.5), given["z"], np.ones(33)][:count]
    expected = np.stack([each.astype(np.float32) for each in columns], axis=-1)
    np.testing.assert_array_equal(out, expected)
    for at, component in enumerate(found[:4]):
        np.testing.assert_array_equal(component, expected[:, at] if at < count else np.zeros(33))
    length = np.sqrt((expected.astype(float) ** 2).sum(-1))
    np.testing.assert_allclose(found[4], np.where(length < 1e19, length, found[4]), rtol=1e-6)


def test_map_range_maps_both_ends_exactly() -> None:
    """The ends of the first range become exactly those of the second; between them it is linear."""
    x = np.array([-3, -2, -0.5, 1, 4, np.nan], np.float32)
    given = {"from_low": 1.0, "from_high": -2.0, "to_low": 0.1, "to_high": 0.7}
    clamped, free, empty = apply_each(
        ("math.map_range", {"x": x}, given),
        ("math.map_range", {"x": x}, given | {"clamp": False}),
        ("math.map_range", {"x": x}, given | {"from_high": 1.0}),
    )
    expected = np.interp(x, [-2, 1], [0.7, 0.1])
    np.testing.assert_allclose(clamped, expected, rtol=1e-6)
    assert (clamped[1], clamped[3]) == (np.float32(0.7), np.float32(0.1))
    np.testing.assert_allclose(free, 0.1 + 0.6 * (x - 1) / -3, rtol=1e-6)
    np.testing.assert_array_equal(empty, np.float32([0.1] * 5 + [np.nan]))


def test_a_gpu_chooses_elements_of_any_size(device: Device) -> None:
    """A GPU, which loads four neighbours at once, chooses as numpy does, and writes nothing beyond the end."""
    path, rng = KERNELS_FOLDER / "buffers.cu", np.random.default_rng(4)
    module = device.load_module(compile_cuda(path.read_text(), path, "sm_90", [KERNELS_FOLDER]).ptx)
    kernel = module.kernel("choose")
    for size, mask_size, count in product((1, 2, 3, 4, 8), (1, 2, 3, 4), (1, 4, 6, 514)):
        first, step = rng.integers(0, 3, 2)
        a, b = rng.integers(0, 256, (2, count, size), np.uint8)
        mask = rng.integers(0, 256, (first + count * step + 1, mask_size), np.uint8)
        mask[rng.random(len(mask)) < 0.5] = 0
        out = device.upload(np.full((count + 2, size), 77, np.uint8))
        args = [device.upload(mask), *map(np.uint32, (mask_size, first, step))]
        args += [device.upload(a), device.upload(b), out, *map(np.uint32, (size, count))]
        device.launch(kernel, (-(-count // 512), 1), (128, 1), args)
        device.synchronize()
        is_a = mask.any(1)[first + np.arange(count) * step]
        expected = np.concatenate([np.where(is_a[:, None], a, b), np.full((2, size), 77, np.uint8)])
        assert np.array_equal(out.download(), expected), f"size {size}, mask {mask_size}, count {count}, step {step}"
