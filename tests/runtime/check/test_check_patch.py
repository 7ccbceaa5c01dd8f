"""A patch is checked without a device, and everything that is wrong with it is listed."""

from __future__ import annotations

import numpy as np

from engine import Patch
from engine.diagnostics import warning
from engine.patch.changes import Node, NodeAdded
from engine.runtime.check.check_patch import check_patch, has_errors
from tests.runtime.conftest import SCALE, Kernels


def test_a_right_patch_has_nothing_to_list() -> None:
    """Saxpy as the documentation shows it."""
    patch = Patch()
    x, saxpy = patch.add("io.array", data=np.ones(8, np.float32)), patch.add("math.saxpy")
    for name in ("x", "y"):
        patch.connect(x["out"], saxpy[name])
    assert check_patch(patch) == []
    assert check_patch(Patch()) == []


def test_everything_that_is_wrong_is_listed(kernels: Kernels) -> None:
    """An unknown type, a block without its file, a kernel that does not compile and an open input, each on its node."""
    kernels.write("scale.cu", SCALE.replace("factor;", "fctor;"))
    patch = Patch()
    patch.restore([NodeAdded(Node(id="gone", type="no.such"))])
    patch.add("io.load_image", node_id="load")
    patch.add("test_run.scale", node_id="scale")
    patch.add("math.saxpy", node_id="open")
    found = check_patch(patch)
    assert {d.node for d in found} == {"gone", "load", "scale", "open"}
    (compiled,) = [d for d in found if d.node == "scale" and d.line]
    assert compiled.line == 3
    assert sorted(d.port or "" for d in found if d.node == "open") == ["x", "y"]
    assert has_errors(found)
    assert not has_errors([warning("careful")])


def test_arguments_are_counted(kernels: Kernels) -> None:
    """A kernel that takes more than its block passes would not build."""
    kernels.write("count.cu", 'extern "C" __global__ void count(float* value, int n) {}')
    patch = Patch()
    patch.add("test_run.count", node_id="count")
    (problem,) = check_patch(patch)
    assert (problem.node, problem.message) == ("count", "kernel count takes 2 arguments, got 3")
