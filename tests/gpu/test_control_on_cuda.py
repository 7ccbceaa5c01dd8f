"""Regions, append buffers, delays, views and conversions on a CUDA device give numpy's results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.blocks import control_checks, signal_checks
from tests.blocks.running import run
from warploom.engine.device.device import Device
from warploom.engine.patch.document import Patch

pytestmark = pytest.mark.gpu
CHECKS = [*control_checks.CHECKS, *signal_checks.CHECKS]


@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__.removeprefix("check_") for check in CHECKS])
def test_example_computes_what_numpy_does(check: Callable[[Device | str], None], cuda: Device) -> None:
    """An example passes the host's checks on CUDA too, with the same tolerances."""
    check(cuda)


def _chain(data: Any, device: Device, *blocks: tuple[str, dict[str, Any]]) -> Any:
    patch = Patch()
    port = patch.add("io.array", data=data)["out"]
    for block, parameters in blocks:
        node = patch.add(block, **parameters)
        patch.connect(port, node["x"])
        port = node["out"]
    return run(patch, port, device=device)[0]


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "f8", "c8", "c16", "?"])
def test_copies_of_views_are_contiguous(cuda: Device, dtype: str) -> None:
    """A transposed slice of a four-axis buffer is copied to contiguous memory, for elements of 1 to 16 bytes."""
    data = (np.arange(3 * 5 * 7 * 9) % 251).reshape(3, 5, 7, 9).astype(dtype)
    views: list[tuple[str, dict[str, Any]]] = [
        ("buffer.transpose", {"order": "3, 1, 0, 2"}),
        ("buffer.slice", {"axis": 0, "start": 1, "step": 3}),
    ]
    np.testing.assert_array_equal(_chain(data, cuda, *views, ("buffer.copy", {})), data.transpose(3, 1, 0, 2)[1::3])


@pytest.mark.parametrize("dtype", ["s8", "u16", "s32", "u64", "f16", "f32", "f64", "boolean"])
def test_conversions_are_those_of_the_host(cuda: Device, host: Device, dtype: str) -> None:
    """Floats in and out of range and NaN convert to the same numbers as on the host."""
    data = np.array([0, -0.0, 1.5, -2.5, 127.9, -129, 65504, 3e9, -3e9, 1e30, -1e30, np.inf, -np.inf, np.nan])
    found, expected = (_chain(data, device, ("buffer.convert", {"dtype": dtype})) for device in (cuda, host))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [1, 255, 257, 70_000, 1_000_003])
def test_reductions_are_numpys(cuda: Device, size: int) -> None:
    """Sums, minima, maxima and counts of many elements equal numpy's."""
    x = np.random.default_rng(size).normal(3, 100, size).astype(np.float32)
    x[::3] = 0
    for block, expected in (("sum", x.astype(np.float64).sum()), ("largest", x.max()), ("smallest", x.min())):
        assert _chain(x, cuda, (f"reduce.{block}", {}))[0] == pytest.approx(expected, rel=2e-7, abs=1e-30)
    assert _chain(x, cuda, ("reduce.count", {})).tolist() == [np.count_nonzero(x)]
