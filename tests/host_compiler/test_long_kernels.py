"""Long kernels with many suspension points: their results, and how the length of their translation grows."""

import numpy as np
import pytest

from tests.benchmarks.host_kernels.long_kernels import products, sort
from tests.fuzzing import FACTOR
from warploom.engine.device.host.modules import native
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.ptx import parse


@pytest.mark.parametrize("registers", [1, 3 if FACTOR == 1 else 9])
def test_sorts_by_shuffles_are_numpys(run, registers):
    """A bitonic network of shuffles sorts rows of a warp's width."""
    rows = np.random.default_rng(0).random((registers, 32), np.float32)
    assert np.array_equal(run(sort(registers), "sort", 1, 32, rows)[0], np.sort(rows, axis=1))


def test_addresses_are_right_after_many_products(run):
    """Each thread stores the sums of 20 products at 16 addresses that it computed before the first one."""
    found = run(products(16, 20), "products", 1, 32, np.zeros((32, 16), np.float32))[0]
    lanes, halves = np.arange(32), np.arange(32, dtype=np.uint16).view(np.float16).astype(np.float64)
    rows, columns = np.zeros((16, 16)), np.zeros((16, 8))
    for half in (0, 8):  # a register holds a pair of f16, whose second element is zero here; 15360 is 1.0
        rows[lanes // 4, lanes % 4 * 2 + half] = halves
        rows[lanes // 4 + 8, lanes % 4 * 2 + half] = 1
        columns[lanes % 4 * 2 + half, lanes // 4] = halves if not half else 1
    product = rows @ columns
    low = [product[lanes // 4 + part // 2 * 8, lanes % 4 * 2 + part % 2] for part in range(4)]
    wanted = np.stack([low[n % 4] * (20 * (n + 1) // 16) for n in range(16)], axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("kernel", [lambda size: products(8 * size, 8 * size), sort])
def test_translation_grows_with_the_lines(kernel):
    """Twice as many lines make at most about twice as much text for LLVM, not four times."""
    lengths = [
        len(translate_module(parse(kernel(size)), native.triple(), *native.cpu(), quickly=True).text)
        for size in (2, 4, 8)
    ]
    assert lengths[2] - lengths[1] < 2.4 * (lengths[1] - lengths[0]), lengths
