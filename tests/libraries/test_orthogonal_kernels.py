"""The kernels of singular values and of orthonormal columns, on every device."""

from typing import Any

import numpy as np
import pytest

from engine.device.protocol import Module
from engine.kernel_sources.image import KERNELS_FOLDER
from engine.kernel_sources.loader import load_image
from engine.kernel_sources.sources import CudaFile, CudaOptions
from engine.types import DType, c64
from tests.libraries.calls import Caller
from tests.libraries.test_lapack import ROUNDING, adjoint, degenerate, numbers, orthonormal, wide

Array = np.ndarray[Any, Any]
#: A type as `kernels/orthogonal.cu` names it; `test_lapack.py` has all four on a GPU.
ELEMENTS = {c64: "ComplexElements<float>"}
#: Sizes with an odd and an even number of columns, and threads of fewer and of more warps than pairs of columns.
SIZES = [(1, 1, 64), (7, 7, 64), (12, 5, 96), (17, 16, 256)]


class Kernels:
    """Launches the kernels with matrices, one thread block for each."""

    def __init__(self, caller: Caller) -> None:
        self._device = caller.device
        self._modules: dict[DType, Module] = {}

    def __call__(self, entry: str, dtype: DType, threads: int, arrays: list[Array], *sizes: int) -> list[Array]:
        """Launch a kernel for as many matrices as the last size says, and return the arrays."""
        module = self._modules.get(dtype) or self._load(dtype)
        buffers = [self._device.upload(array) for array in arrays]
        grid = (max(sizes[-1] - 1, 1),)  # one thread block takes two matrices
        self._device.launch(module.kernel(entry), grid, (threads,), [*buffers, *map(np.int32, sizes)])
        self._device.synchronize()
        results = [np.array(buffer.download()) for buffer in buffers]
        for buffer in buffers:
            buffer.free()
        return results

    def _load(self, dtype: DType) -> Module:
        architecture = self._device.info.architecture
        options = CudaOptions(defines={"ELEMENTS": ELEMENTS[dtype]})
        image = load_image(CudaFile(str(KERNELS_FOLDER / "orthogonal.cu"), options=options), architecture)
        self._modules[dtype] = self._device.load_module(image.payload(architecture))
        return self._modules[dtype]


@pytest.fixture(scope="module")
def kernels(caller: Caller) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(caller)


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize(("m", "n", "threads"), SIZES)
def test_any_matrix_has_singular_values(kernels: Kernels, dtype: DType, m: int, n: int, threads: int) -> None:
    """Vectors are orthonormal and multiply back, and values are numpy's, also where values are equal or vanish."""
    a = np.stack([numbers((m, n), dtype), *degenerate(m, n, dtype).values()])
    count, empty = len(a), np.full((len(a), n, m), np.nan, dtype.numpy)
    square = np.full((count, n, n), np.nan, dtype.numpy)
    given = [a.swapaxes(1, 2).copy(), square, empty, empty[:, :, 0].real.copy(), square.copy(), np.full(count, 9, "i4")]
    _, _, u, s, v, codes = kernels("singular_values", dtype, threads, given, m, n, count)
    u, v = u.swapaxes(1, 2), v.swapaxes(1, 2)
    scale = np.maximum(np.abs(a).max((1, 2)), np.finfo(dtype.numpy).tiny)[:, None]
    assert not codes.any() and orthonormal(u, dtype) and orthonormal(v, dtype)
    product = wide(u) * (s / scale)[:, None, :] @ adjoint(wide(v))
    assert np.abs(product - wide(a) / scale[..., None]).max() < ROUNDING[dtype]
    values = np.linalg.svd(wide(a) / scale[..., None], compute_uv=False)
    assert np.abs(s / scale - values).max() < ROUNDING[dtype]


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_what_is_not_finite_is_reported(kernels: Kernels, dtype: DType) -> None:
    """A matrix with NaN or infinity has a code, and values of NaN; the matrix beside it has none."""
    a = np.stack([numbers((3, 3), dtype)] * 3)
    a[0, 2, 1], a[1, 1, 2] = np.nan, np.inf
    given = [a, a.copy(), a.copy(), a[0].real.copy(), a.copy(), np.full(3, 9, "i4")]
    *_, s, _, codes = kernels("singular_values", dtype, 64, given, 3, 3, 3)
    assert codes.tolist() == [1, 1, 0] and np.isnan(s[:2]).all() and np.isfinite(s[2]).all()


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_columns_become_orthogonal(kernels: Kernels, dtype: DType) -> None:
    """Columns that lean to each other span the same space afterwards; orthogonal ones are the same bits."""
    basis = np.linalg.qr(wide(np.stack([numbers((9, 9), dtype)] * 3)))[0]
    leaning = basis.copy()
    leaning[1:, :, 4] += 0.2 * basis[1:, :, 2] - 0.1 * basis[1:, :, 3]
    leaning /= np.linalg.norm(leaning, axis=1, keepdims=True)
    given = leaning.astype(dtype.numpy).swapaxes(1, 2).copy()
    (found,) = kernels("orthonormalize", dtype, 64, [given], 9, 3)
    assert np.array_equal(found[0], given[0]) and orthonormal(found.swapaxes(1, 2), dtype)
    assert np.abs(found.swapaxes(1, 2) - basis).max() < ROUNDING[dtype]
