"""Refreshing many kernel nodes of an executable in one call."""

import ctypes
import random
import struct

import numpy as np
import pytest

from tests.device.graph_support import ONE, Kernels
from warploom.engine.device.cuda.graph import many_updates
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import GraphNode


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on the test's device."""
    return Kernels(device)


@pytest.mark.parametrize("count", [1, many_updates.MANY - 1, many_updates.MANY, many_updates.MANY + 1, 300])
def test_all_nodes_of_a_refresh_have_their_new_values(kernels: Kernels, count: int) -> None:
    """After a refresh of some nodes, a launch uses their new values, in the order of the nodes."""
    draw, out, graph = random.Random(count), kernels.number(0, np.uint32), kernels.device.create_graph()
    values = [draw.randrange(1000) for _ in range(count)]
    blocks = [kernels.arguments("mix", out, np.uint32(value)) for value in values]
    nodes: list[GraphNode] = []
    for block in blocks:
        nodes.append(graph.add_kernel(kernels.module.kernel("mix"), ONE, block, nodes[-1:]))
    executable = graph.instantiate()
    expected = 0
    for chosen in ([], range(count), draw.sample(range(count), (count + 1) // 2), range(count)):
        for index in chosen:
            values[index] = draw.randrange(1000)
            blocks[index].set(1, np.uint32(values[index]))
        executable.refresh([nodes[index] for index in chosen])
        for value in values:
            expected = (31 * expected + value) % 2**32
        assert kernels.run(executable, out) == [expected]
    executable.destroy()
    graph.destroy()


@pytest.mark.parametrize("wrong", [None, 0, 2, 4])
def test_the_native_loop_calls_for_each_row_up_to_the_first_error(wrong: int | None) -> None:
    """The native loop calls the driver for each row in order, up to the first error, whose code it returns."""
    called = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
    def note(executable: int, node: int, launch: int) -> int:
        called.append((executable, node, launch))
        return 700 if len(called) - 1 == wrong else 0

    rows = [(10 + index, 2**63 + index) for index in range(5)]
    address = ctypes.cast(note, ctypes.c_void_p).value
    assert address is not None
    packed = b"".join(struct.pack("=2Q", *row) for row in rows)
    code = many_updates.native_loop()(address, 7, packed, len(rows))
    assert code == (0 if wrong is None else 700)
    assert called == [(7, *row) for row in rows[: 5 if wrong is None else wrong + 1]]
