"""A patch is checked without a device, and all of its mistakes are listed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.conftest import SCALE, Kernels
from warploom import Engine, Patch
from warploom.api import Block, BlockBuilder, Out, f32, param, port
from warploom.engine.blocktypes.block import block_types
from warploom.engine.diagnostics import warning
from warploom.engine.patch.changes import Node, NodeAdded
from warploom.engine.runtime.check.check_patch import check_patch, has_errors, plan_patch
from warploom.engine.runtime.memory.graph_memory import out_of_memory_errors


def test_a_right_patch_has_nothing_to_list() -> None:
    """The Saxpy of the documentation, and an empty patch, have no diagnostics."""
    patch = Patch()
    x, saxpy = patch.add("io.array", data=np.ones(8, np.float32)), patch.add("math.saxpy")
    for name in ("x", "y"):
        patch.connect(x["out"], saxpy[name])
    assert check_patch(patch) == []
    assert check_patch(Patch()) == []


def test_everything_that_is_wrong_is_listed(kernels: Kernels) -> None:
    """An unknown type, a block without its file, a broken kernel and an open input are each reported on their node."""
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
    """A kernel with more arguments than its block passes is an error of the check."""
    kernels.write("count.cu", 'extern "C" __global__ void count(float* value, int n) {}')
    patch = Patch()
    patch.add("test_run.count", node_id="count")
    (problem,) = check_patch(patch)
    assert (problem.node, problem.message) == ("count", "kernel count takes 2 arguments, got 3")


@pytest.fixture(scope="module")
def big() -> type[Block]:
    """Define a block with a buffer of any size, which starts with zeros and keeps its contents."""

    class Big(Block, id="test_check.big"):
        """Has one large buffer."""

        out: Out[f32] = port(shape="[n]", state=True, doc="Zeros.")
        n: int = param(1, min=1, structural=True, doc="How many.")

        def describe(self, build: BlockBuilder) -> None:
            build.fill(self.out)

    return Big


@settings(max_examples=many(20))
@given(st.lists(st.integers(1, 1 << 34), min_size=1, max_size=6), st.integers(0, 1 << 38))
def test_a_shortage_of_memory_is_reported_at_the_largest_buffers(
    big: type[Block], counts: list[int], available: int
) -> None:
    """A patch that exceeds the available memory is reported at its largest buffers; one that fits isn't reported."""
    patch = Patch()
    block_types.commit({big.id: big}, [])
    nodes = {patch.add(big.id, n=count).id: count for count in counts}
    plan, _ = plan_patch(patch)
    assert plan is not None
    needed = sum(4 * n if 4 * n > 1 << 30 else max(256, 1 << (4 * n - 1).bit_length()) for n in counts)
    problems = out_of_memory_errors(plan, available, "host")
    assert bool(problems) == (needed > available)
    named = [nodes[problem.node or ""] for problem in problems]
    assert named == sorted(counts, reverse=True)[: len(named)]
    assert len(named) <= 3


def test_a_patch_that_no_device_has_the_memory_for_is_refused(big: type[Block]) -> None:
    """Check and engine refuse a patch that is too large before anything is allocated; a smaller size makes it run."""
    block_types.commit({big.id: big}, [])
    patch = Patch()
    node = patch.add(big.id, n=4)
    with Engine(patch, "host") as engine:
        engine.step()
        used = engine.core.context.services.pool.allocated_bytes
        patch.set(node, n=1 << 42)
        for found in (check_patch(patch), engine.step().diagnostics):
            (problem,) = found
            assert (problem.node, problem.port) == (node.id, "out")
            assert "all together need 16.0 TB" in problem.message
        assert engine.core.context.services.pool.allocated_bytes == used
        assert engine.read(node["out"]).size == 4
        patch.set(node, n=5)
        assert not engine.step().diagnostics
        assert engine.read(node["out"]).size == 5
