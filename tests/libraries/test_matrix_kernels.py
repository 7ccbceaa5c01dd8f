"""The helper kernels of the LAPACK calls against numpy, on every device."""

from typing import Any

import numpy as np
import pytest

from tests.libraries.calls import Caller
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.libraries.lapack import CODE_BITS, info_word
from warploom.engine.types import Array

TYPES = ["f4", "f8", "c8", "c16"]
PARTS = [
    lambda a: a,
    np.tril,
    np.triu,
    lambda a: np.tril(a, -1) + np.eye(*a.shape[-2:]),
    lambda a: np.eye(*a.shape[-2:]),
]


class Kernels:
    """Launches the helper kernels with arrays and numbers."""

    def __init__(self, caller: Caller) -> None:
        self._device = caller.device
        architecture = self._device.info.architecture
        self._module = self._device.load_module(
            load_image(KERNELS_FOLDER / "lapack.cu", architecture).payload(architecture)
        )

    def __call__(self, entry: str, threads: int, result: Array, *arguments: Any) -> Array:
        """Launch a kernel whose first argument is `result`, and return its contents."""
        given = [result, *arguments]
        buffers = [self._device.upload(item) if isinstance(item, np.ndarray) else item for item in given]
        self._device.launch(self._module.kernel(entry), (-(-threads // 256),), (256,), buffers)
        self._device.synchronize()
        found = np.array(buffers[0].download())
        for buffer, item in zip(buffers, given, strict=True):
            if isinstance(item, np.ndarray):
                buffer.memory.free()
        return found


@pytest.fixture(scope="module")
def kernels(caller: Caller) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(caller)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("part", range(len(PARTS)))
def test_matrices_are_copied_in_any_order(kernels: Kernels, dtype: str, part: int) -> None:
    """Matrices with gaps are copied to column order, whole or in part, with and without conjugation."""
    count, rows, columns = 3, 7, 5
    whole = np.random.default_rng(part).standard_normal((count, 2 * rows, columns + 3)).astype(dtype)
    if dtype.startswith("c"):
        whole += 1j * whole[::-1]
    source = whole[:, ::2, :columns]
    steps = (stride // whole.itemsize for stride in source.strides)
    numbers = [np.int64(step) for step in (source.size,)] + [np.int32(rows), np.int32(columns)]
    numbers += [np.int64(step) for step in (rows * columns, 1, rows, *steps)]
    target = np.full((count, columns, rows), 9, dtype)
    for conjugate in (0, 1):
        rest = [np.int32(number) for number in (TYPES.index(dtype), part, conjugate)]
        found = kernels("copy_matrices", source.size, target, whole, *numbers, *rest).swapaxes(1, 2)
        expected = np.broadcast_to(PARTS[part](source.conj() if conjugate else source), source.shape)
        assert np.array_equal(found, expected.astype(dtype))


@pytest.mark.parametrize("count", [1, 7, 1027])
def test_the_first_code_is_found(kernels: Kernels, count: int) -> None:
    """The kernel finds the first nonzero code and its matrix, and packs them as `info_word` does on the host."""
    rng = np.random.default_rng(count)
    for codes in (np.zeros(count), rng.integers(0, 3, count), np.full(count, 2**30), np.eye(1, count, count - 1)[0]):
        codes = codes.astype(np.int32)
        word = kernels("first_code", 256, np.full(1, 7, np.uint32), codes, np.int32(count), np.int32(CODE_BITS))
        assert word == info_word(codes.tolist())


@pytest.mark.parametrize("dtype", TYPES)
def test_columns_that_depend_on_others_are_found(kernels: Kernels, dtype: str) -> None:
    """The kernel reports the first diagonal element of R that is negligible beside the largest."""
    r = np.array([np.diag([3, 2, 1]), np.diag([3, 0, 0]), np.diag([1e10, 2e-9, 1e-9]), np.diag([0, 0, 0])], dtype)
    sizes = [np.int32(number) for number in (3, 3, len(r), TYPES.index(dtype))]
    assert kernels("dependent_columns", len(r), np.full(4, 9, np.int32), r, *sizes).tolist() == [0, 2, 2, 1]


def test_exchanges_become_an_order(kernels: Kernels) -> None:
    """LAPACK's row exchanges become an order of rows, and matrix addresses lie at equal distances."""
    pivots = np.array([[1, 2, 3], [3, 3, 4]], np.int64)
    sizes = [np.int32(number) for number in (4, 3, 2)]
    found = kernels("row_order", 2, np.full((2, 4), 9, np.int32), pivots, *sizes)
    assert found.tolist() == [[0, 1, 2, 3], [2, 0, 3, 1]]
    last = np.uint64(1000), np.int64(24), np.int32(3)
    assert kernels("matrix_addresses", 3, np.zeros(3, np.uint64), *last).tolist() == [1000, 1024, 1048]
