"""The kernels of singular values and of orthonormal columns, on every device."""

import numpy as np
import pytest

from tests.libraries.calls import Caller
from tests.libraries.test_lapack import ROUNDING, adjoint, degenerate, numbers, orthonormal, wide
from warploom.engine.device.protocol import Module
from warploom.engine.kernel_sources.image import KERNELS_FOLDER
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.kernel_sources.sources import CudaFile, CudaOptions
from warploom.engine.types import Array, DType, c64, dtype_of

#: A type and its name in `kernels/orthogonal.cu`; `test_lapack.py` tests all four types on a GPU.
ELEMENTS = {c64: "ComplexElements<float>"}
#: Sizes with an odd and an even number of columns, and threads of fewer and of more warps than pairs of columns.
SIZES = [(1, 1, 64), (7, 7, 64), (12, 5, 96), (17, 16, 256)]


class Kernels:
    """Launches the kernels with matrices, one thread block for each."""

    def __init__(self, caller: Caller) -> None:
        self._device = caller.device
        self._modules: dict[DType, Module] = {}

    def __call__(self, entry: str, dtype: DType, threads: int, arrays: list[Array], *sizes: int) -> list[Array]:
        """Launch a kernel for as many matrices as the last size gives, and return the arrays."""
        module = self._modules.get(dtype) or self._load(dtype)
        buffers = [self._device.upload(array) for array in arrays]
        grid = (max(sizes[-1] - 1, 1),)  # one thread block processes two matrices
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
    """From any orthonormal columns, vectors are orthonormal and multiply back; values are numpy's, equal ones too."""
    a = np.stack([numbers((m, n), dtype), *degenerate(m, n, dtype).values()])
    guess = np.linalg.qr(wide(numbers((n, n), dtype)))[0]
    scaled, scales = kernels("scale_matrices", dtype, threads, [by_columns(a), scales_of(a)], m, n, 0, len(a))
    u, s, v, codes = decompose(kernels, threads, scaled.swapaxes(1, 2), np.broadcast_to(guess, (len(a), n, n)), scales)
    scale = np.maximum(np.abs(a).max((1, 2)), np.finfo(dtype.numpy).tiny)[:, None]
    assert not codes.any() and orthonormal(u, dtype) and orthonormal(v, dtype)
    product = wide(u) * (s / scale)[:, None, :] @ adjoint(wide(v))
    assert np.abs(product - wide(a) / scale[..., None]).max() < ROUNDING[dtype]
    values = np.linalg.svd(wide(a) / scale[..., None], compute_uv=False)
    assert np.abs(s / scale - values).max() < ROUNDING[dtype]


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize("n", [1, 7, 16])
def test_any_hermitian_matrix_has_eigenvalues(kernels: Kernels, dtype: DType, n: int) -> None:
    """From any orthonormal columns, eigenvalues are numpy's and vectors belong to them; the upper half is not read."""
    a = np.stack([numbers((n, n), dtype), *degenerate(n, n, dtype).values()])
    lower = np.tril(wide(a), -1)
    h = lower + adjoint(lower) + np.real(a * np.eye(n))
    given = by_columns(a + np.triu(np.full((n, n), np.nan), 1).astype(dtype.numpy))
    scaled, scales = kernels("scale_matrices", dtype, 64, [given, scales_of(a)], n, n, 1, len(a))
    guess = np.broadcast_to(np.linalg.qr(wide(numbers((n, n), dtype)))[0], h.shape)
    _, s, v, codes = decompose(kernels, 64, scaled.swapaxes(1, 2), guess, scales)
    scale = np.maximum(np.abs(h).max((1, 2)), np.finfo(dtype.numpy).tiny)[:, None]
    values, h = wide(s) / scale, h / scale[..., None]
    assert not codes.any() and orthonormal(v, dtype)
    assert np.abs(values - np.linalg.eigvalsh(h)).max() < n * ROUNDING[dtype]
    assert np.abs(h @ wide(v) - wide(v) * values[:, None, :]).max() < n * ROUNDING[dtype]


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize("is_hermitian", [0, 1])
def test_what_is_not_finite_is_reported(kernels: Kernels, dtype: DType, is_hermitian: int) -> None:
    """A matrix with NaN or infinity has a code and only NaN as result; the matrix beside it is unaffected."""
    a = np.stack([numbers((3, 3), dtype)] * 3)
    a[0, 2, 1], a[1, 2, 1] = np.nan, np.inf
    scaled, scales = kernels("scale_matrices", dtype, 64, [by_columns(a), scales_of(a)], 3, 3, is_hermitian, 3)
    assert np.isfinite(scaled).all()
    *found, codes = decompose(kernels, 64, scaled.swapaxes(1, 2), np.stack([np.eye(3)] * 3), scales)
    assert codes.tolist() == [1, 1, 0]
    assert all(np.isnan(array[:2]).all() and np.isfinite(array[2]).all() for array in found)


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_columns_become_orthogonal(kernels: Kernels, dtype: DType) -> None:
    """Nearly orthonormal columns become orthonormal and span the same space; orthonormal ones keep their bits."""
    basis = np.linalg.qr(wide(np.stack([numbers((9, 9), dtype)] * 3)))[0]
    leaning = basis.copy()
    leaning[1:, :, 4] += 0.2 * basis[1:, :, 2] - 0.1 * basis[1:, :, 3]
    leaning[1:, :, 0] *= 7
    given = by_columns(leaning.astype(dtype.numpy))
    (found,) = kernels("orthonormalize", dtype, 64, [given], 9, 3)
    assert np.array_equal(found[0], given[0]) and orthonormal(found.swapaxes(1, 2), dtype)
    assert np.abs(found.swapaxes(1, 2) - basis).max() < ROUNDING[dtype]


@pytest.mark.parametrize("dtype", ELEMENTS)
@pytest.mark.parametrize("n", [1, 7, 17])
def test_any_columns_become_orthonormal(kernels: Kernels, dtype: DType, n: int) -> None:
    """Columns that are zero, equal, not finite, or very long or short become orthonormal."""
    given = np.stack([numbers((n, n), dtype), *degenerate(n, n, dtype).values(), np.full((n, n), np.nan, dtype.numpy)])
    given[0, :, n // 2] = np.inf
    (found,) = kernels("orthonormalize", dtype, 96, [by_columns(given)], n, len(given))
    assert orthonormal(found.swapaxes(1, 2), dtype)


def by_columns(matrices: Array) -> Array:
    """Return matrices stored column by column."""
    return matrices.swapaxes(1, 2).copy()


def scales_of(a: Array) -> Array:
    """Return an empty array for two scales of each matrix."""
    return np.full((len(a), 2), np.nan, a.real.dtype)


def decompose(kernels: Kernels, threads: int, scaled: Array, guess: Array, scales: Array) -> list[Array]:
    """Return u, s, v and the codes of matrices that are scaled, beginning with the columns of `guess`."""
    (count, m, n), dtype = scaled.shape, dtype_of(scaled)
    product = by_columns((wide(scaled) @ wide(guess)).astype(dtype.numpy))
    w, u, v = (np.full((count, n, rows), np.nan, dtype.numpy) for rows in (n, m, n))
    w[...] = guess.swapaxes(1, 2)
    given = [product, w, u, u[:, :, 0].real.copy(), v, scales, np.full(count, 9, "i4")]
    _, _, u, s, v, _, codes = kernels("singular_values", dtype, threads, given, m, n, count)
    return [u.swapaxes(1, 2), s, v.swapaxes(1, 2), codes]
