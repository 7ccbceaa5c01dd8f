"""Sums of tensors have numpy's types and values, for every type of element."""

from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.tensor_ir.errors import ShapeMismatch
from warploom.tensors import Tensor


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("dtype", ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"])
def test_sums_of_whole_numbers_do_not_wrap(on: str, dtype: str, seed: int) -> None:
    """Sums are u64 or s64, over any axes; sums of 64-bit integers wrap as numpy's do."""
    rng = np.random.default_rng([seed, ord(dtype[0]), ord(dtype[-1])])
    shape = tuple(int(size) for size in rng.choice([1, 2, 3, 40, 300], int(rng.integers(1, 4))))
    if dtype == "?":
        array: Any = rng.random(shape) < 0.7
    else:
        info = np.iinfo(dtype)
        array = rng.integers(info.max // 2, info.max, shape, dtype, endpoint=True) * rng.choice(
            [1, -1 if info.min else 1]
        )
        array = array.astype(dtype)
    axes = tuple(axis - len(shape) * int(rng.integers(2)) for axis in range(len(shape)) if rng.random() < 0.6)
    x = Tensor.from_numpy(array, device=on)
    for axis in (axes, None, 0):
        found, expected = x.sum(axis=axis).numpy(), array.sum(axis=axis)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert x.sum(axis=0, keepdims=True).shape == (1, *shape[1:])


@pytest.mark.parametrize("axes", [None, (0, 2), (0, 1), (1,), (0, 1, 2)])
def test_sums_of_halves_are_rounded_once(on: str, axes: tuple[int, ...] | None) -> None:
    """Intermediate sums are f32, so that they neither overflow nor lose bits."""
    array = np.full((40, 5, 30), 3001, np.float16)
    array[20:] *= -1
    array += np.random.default_rng(1).integers(-1, 2, array.shape).astype(np.float16)
    found = Tensor.from_numpy(array, device=on).sum(axis=axes).numpy()
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, array.sum(axis=axes, dtype=np.float64).astype(np.float16))


@pytest.mark.parametrize("axes", [(0, 0), (0, -2), (1, 0, 1)])
@pytest.mark.parametrize("operation", ["sum", "mean", "max", "min"])
def test_an_axis_is_named_once(axes: tuple[int, ...], operation: str) -> None:
    """Naming an axis twice is refused, as in numpy."""
    x = Tensor.ones((2, 3), device="host")
    with pytest.raises(ShapeMismatch, match=r"axes must be different ones, got \["):
        getattr(x, operation)(axis=axes)
