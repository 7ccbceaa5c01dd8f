"""Blocks that change one buffer in place run in their order, and what reads between them sees what it should."""

from itertools import permutations

import numpy as np
import pytest

from warploom import Engine, Patch

CHANGE = """extern "C" __global__ void change(float* x /* inout */, float factor, float offset, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] = x[i] * factor + offset;
}"""
NUMBERS = {"a": (2.0, 1.0), "b": (3.0, -4.0), "c": (-1.0, 7.0)}
DATA = np.arange(33, dtype=np.float32)


@pytest.fixture
def changing() -> Patch:
    """Three blocks that change one buffer in place, a reader of the buffer, and one of each block's result."""
    patch = Patch()
    data = patch.add("io.array", data=DATA)
    shared = patch.add("buffer.copy", node_id="shared")
    patch.connect(data["out"], shared["x"])
    for name, (factor, offset) in NUMBERS.items():
        node = patch.add("kernel.cuda", node_id=name, code=CHANGE)
        patch.set(node, factor=factor, offset=offset)
        patch.connect(shared["out"], node["x"])
    for source in (shared["out"], *(patch[name]["x_out"] for name in NUMBERS)):
        reader = patch.add("math.saxpy", node_id=f"read_{source.node}", a=0.0)
        patch.connect(data["out"], reader["x"])
        patch.connect(source, reader["y"])
    patch.connect(data["out"], patch.add("buffer.copy", node_id="aside")["x"])
    return patch


def test_orders_decide_who_changes_a_buffer_first(changing: Patch) -> None:
    """Whatever the order, each block changes what the one before it has made; without orders they are refused."""
    patch = changing
    with Engine(patch, device="host") as engine:
        assert "only one block may change shared.out in place" in engine.step().diagnostics[0].message
        for names in permutations("abc"):
            # The first order goes by way of a block that touches none of the memory.
            for first, then in ((names[0], "aside"), ("aside", names[1]), names[1:]):
                patch.order(first, then)
            assert engine.step().diagnostics == ()
            wanted = DATA.copy()
            np.testing.assert_array_equal(engine.read(patch["read_shared"]["out"]), wanted)
            for name in names:
                wanted = wanted * NUMBERS[name][0] + NUMBERS[name][1]
                np.testing.assert_array_equal(engine.read(patch[f"read_{name}"]["out"]), wanted)
            for first, then in patch.orders:
                patch.remove_order(first, then)
        patch.order("a", "c")
        assert "only one block may change" in engine.step().diagnostics[0].message
