"""Patches and folders for tests of sweeps."""

from pathlib import Path
from typing import Any

import numpy as np

from warploom import Patch
from warploom.engine.sweeps.results import ResultFolder
from warploom.engine.sweeps.runner import Job, Runner

X = np.arange(100, dtype=np.float32)


def saxpy_patch() -> Patch:
    """Return a patch whose output is a * x + 1, with x from 0 to 99."""
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=X)
    y = patch.add("io.array", node_id="y", data=np.ones(100, np.float32))
    saxpy = patch.add("math.saxpy", node_id="saxpy", a=3.0)
    patch.connect(x["out"], saxpy["x"])
    patch.connect(y["out"], saxpy["y"])
    return patch


def runner_in(out: Path, patch: Patch) -> Runner:
    """Return a runner in this process."""
    ResultFolder(out).create()
    return Runner(Job.of(patch, out), "host", 1)


def check_saxpy(out: Path, row: dict[str, Any]) -> None:
    """Check the output of a run of `saxpy_patch`, given its row of the table."""
    (path,) = row["outputs"]
    np.testing.assert_allclose(np.load(out / path), np.float32(row["saxpy.a"]) * X + 1, rtol=1e-6)
