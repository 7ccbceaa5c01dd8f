"""Kernels read and write elements of every kind with numpy's layout."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom import open_device
from warploom.engine.device.device import Device
from warploom.engine.kernel_sources.loader import load_image
from warploom.engine.types import (
    Struct,
    bf16,
    bfloat162,
    boolean,
    c64,
    declaration,
    double3,
    fixed_array,
    from_bf16,
    half2,
    to_bf16,
)

COUNT = 257


class Mixed(Struct):
    """A struct of element types that are easily laid out wrong."""

    on: boolean
    phase: c64
    weights: bf16 = fixed_array(3)
    place: double3
    pair: half2 = fixed_array(2)


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    """The host device. Layouts come from the compiler, so one device is enough."""
    with_device = open_device("host")
    yield with_device
    with_device.close()


def launch(device: Device, folder: Path, source: str, *arrays: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Run kernel `k` over COUNT threads on these arrays, and return the arrays afterwards."""
    (folder / "k.cu").write_text(source)
    architecture = device.info.architecture
    module = device.load_module(load_image(folder / "k.cu", architecture).payload(architecture))
    buffers = [device.upload(array) for array in arrays]
    try:
        device.launch(module.kernel("k"), grid=(3,), thread_block=(128,), args=[*buffers, np.int32(COUNT)])
        device.synchronize()
        return [buffer.download() for buffer in buffers]
    finally:
        for buffer in buffers:
            buffer.free()


def kernel(parameters: str, body: str) -> str:
    """Return the source of a kernel that runs `body` for each element i."""
    head = f'extern "C" __global__ void k({parameters}, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;'
    return f"{head} if (i < n) {{ {body} }} }}"


def test_complex_numbers_multiply(device: Device, tmp_path: Path) -> None:
    """cuCmulf has the results of numpy in both the real and the imaginary part."""
    x, y = np.random.default_rng(3).normal(size=(2, COUNT, 2)).astype(np.float32).view(np.complex64)[..., 0]
    source = "#include <cuComplex.h>\n" + kernel(
        "cuFloatComplex* x, const cuFloatComplex* y", "x[i] = cuCmulf(x[i], y[i]);"
    )
    found, _ = launch(device, tmp_path, source, x, y)
    np.testing.assert_allclose(found, x * y, rtol=1e-6, atol=1e-6)


def test_booleans_are_one_byte_each(device: Device, tmp_path: Path) -> None:
    """A comparison writes 1 or 0, and a kernel reads numpy's booleans."""
    x = np.arange(COUNT) % 3 == 0
    found, less = launch(
        device, tmp_path, kernel("bool* x, bool* less", "less[i] = i < 100; x[i] = !x[i];"), x, np.zeros(COUNT, bool)
    )
    np.testing.assert_array_equal(found, ~x)
    np.testing.assert_array_equal(less, np.arange(COUNT) < 100)


def test_bf16_rounds_as_the_device_rounds(device: Device, tmp_path: Path) -> None:
    """`to_bf16` returns the same bits as `__float2bfloat16_rn`, and `from_bf16` reads them back."""
    bits = np.random.default_rng(4).integers(0, 1 << 32, COUNT, np.uint32)
    bits[:6] = [0x3F808000, 0x3F818000, 0x3F818001, 0x7F7FFFFF, 0x00008000, 0x80000001]
    x = bits.view(np.float32)
    x[np.isnan(x)] = 1
    source = "#include <cuda_bf16.h>\n" + kernel(
        "const float* x, __nv_bfloat16* y, float* z", "y[i] = __float2bfloat16_rn(x[i]); z[i] = __bfloat162float(y[i]);"
    )
    _, y, z = launch(device, tmp_path, source, x, np.zeros(COUNT, bf16.numpy), np.zeros(COUNT, np.float32))
    np.testing.assert_array_equal(to_bf16(x), y)
    np.testing.assert_array_equal(from_bf16(y), z)


def test_a_struct_that_a_kernel_includes_is_shared_field_by_field(device: Device, tmp_path: Path) -> None:
    """A kernel that includes the struct finds every field of its elements where numpy put it."""
    records = np.zeros(COUNT, Mixed.numpy)
    index = np.arange(COUNT)
    records["on"] = index % 2 == 0
    records["phase"] = index + 2j * index
    records["weights"] = to_bf16((index[:, None] % 100 + [0.0, 1.0, 2.0]).astype(np.float32))
    records["place"] = index[:, None] * [1.0, 10.0, 100.0]
    records["pair"] = (index[:, None, None] % 8 + np.array([[0, 1], [2, 3]])).astype(np.float16)
    body = (
        "const Mixed& m = x[i]; y[i] = (m.on ? 1e6 : 0.0) + m.phase.x - m.phase.y + __bfloat162float(m.weights[2]) "
        "+ m.place.z - m.place.x + __half2float(m.pair[1].y) - __half2float(m.pair[0].x);"
    )
    source = declaration(Mixed) + kernel("const Mixed* x, double* y", body)
    _, found = launch(device, tmp_path, source, records, np.zeros(COUNT))
    expected = 1e6 * (index % 2 == 0) + index - 2 * index + (index % 100 + 2) + 100 * index - index + 3
    np.testing.assert_array_equal(found, expected)


def test_a_kernel_changes_one_field_and_leaves_the_rest(device: Device, tmp_path: Path) -> None:
    """A kernel that writes one field of a struct, a pair of bf16, changes only that field's 4 bytes."""
    pairs = np.random.default_rng(5).integers(0, 1 << 14, (COUNT, 2), np.uint16)
    assert pairs.dtype.itemsize * 2 == bfloat162.size_bytes
    source = "#include <cuda_bf16.h>\n" + kernel("__nv_bfloat162* x", "if (i % 2) x[i] = __lows2bfloat162(x[i], x[i]);")
    (found,) = launch(device, tmp_path, source, pairs)
    expected = pairs.copy()
    expected[1::2, 1] = expected[1::2, 0]
    np.testing.assert_array_equal(found, expected)
