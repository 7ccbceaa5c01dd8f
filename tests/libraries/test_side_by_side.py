"""Independent library calls of one patch, which may overlap, return the same results as each alone."""

import numpy as np
import pytest

from tests.fuzzing import many
from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import Array


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_systems_inverses_and_factors_side_by_side(device: Device, dtype: type) -> None:
    """LAPACK calls that may overlap on a GPU give numpy's results."""
    rng = np.random.default_rng(7)
    patch = Patch()
    expected: list[tuple[PortRef, Array]] = []
    pairs: list[tuple[PortRef, PortRef, Array]] = []

    def matrix(*shape: int) -> Array:
        made = rng.standard_normal(shape) + 4 * np.eye(*shape[-2:])
        return (made + 1j * rng.standard_normal(shape) if dtype is np.complex128 else made).astype(dtype)

    for size in (1, 2, 3, 7, 17, 31, 64):
        a, sides, stack = matrix(size, size), matrix(size, 3), matrix(3, size, size)
        given = patch.add("io.array", data=a)["out"]
        for kind, wanted in (("linalg.inverse", np.linalg.inv(a)), ("linalg.solve", np.linalg.solve(a, sides))):
            for _ in range(2):
                block = patch.add(kind)
                patch.connect(given, block["a"])
                if kind == "linalg.solve":
                    patch.connect(patch.add("io.array", data=sides)["out"], block["b"])
                expected.append((block["out" if kind == "linalg.inverse" else "x"], wanted))
        several = patch.add("linalg.inverse")
        patch.connect(patch.add("io.array", data=stack)["out"], several["a"])
        expected.append((several["out"], np.linalg.inv(stack)))
        qr = patch.add("linalg.qr")
        patch.connect(given, qr["a"])
        pairs.append((qr["q"], qr["r"], a))
    rounding = 2e-4 if dtype is np.float32 else 1e-11
    with Engine(patch, device=device) as engine:
        for _ in range(many(5)):
            for _ in range(4):
                report = engine.step()
            assert not report.diagnostics
            for port, wanted in expected:
                assert np.abs(engine.read(port) - wanted).max() <= rounding * max(1, np.abs(wanted).max()), port
            for q, r, a in pairs:
                assert np.abs(engine.read(q) @ engine.read(r) - a).max() <= rounding * np.abs(a).max()
