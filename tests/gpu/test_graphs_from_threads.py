"""Several threads build, clone, update and release graphs of one device at the same time."""

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver

from tests.fuzzing import FIRST_SEED, many
from warploom.engine.device.arguments import KernelArguments, pack_arguments
from warploom.engine.device.cuda.launch import NativeLaunch
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import LaunchConfig, Module
from warploom.engine.diagnostics import DeviceError, KernelError, WarploomError

pytestmark = pytest.mark.gpu

ONE = LaunchConfig((1, 1, 1), (1, 1, 1))
NODES = 40
PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 value)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [value];
	st.global.u32 [%rd1], %r1;
	ret;
}
"""


def test_a_value_that_is_written_while_its_node_is_added_is_passed_on(
    cuda: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that is written just after the driver copied a new node's arguments takes effect."""
    module, out = cuda.load_module(PTX), cuda.allocate(4)
    kernel = module.kernel("store")
    arguments = pack_arguments(kernel.parameters, [out, np.uint32(1)])
    graph, add = cuda.create_graph(), driver.cuGraphAddKernelNode

    def late(*given: Any) -> Any:
        result = add(*given)
        arguments.set(1, np.uint32(2))
        return result

    monkeypatch.setattr(driver, "cuGraphAddKernelNode", late)
    graph.add_kernel(kernel, ONE, arguments, [])
    executable, stream, found = graph.instantiate(), cuda.create_stream(), np.zeros(1, np.uint32)
    executable.launch(stream)
    stream.synchronize()
    cuda.read(out, found)
    assert found == 2
    executable.destroy()
    graph.destroy()
    stream.destroy()
    out.free()
    module.unload()


@pytest.mark.parametrize("step", ["add", "update"])
def test_a_module_that_is_unloaded_on_the_way_is_refused(
    cuda: Device, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A module that another thread unloads between the check and the driver's call is refused."""
    first, second, out = cuda.load_module(PTX), cuda.load_module(PTX), cuda.allocate(4)
    kernel, other = first.kernel("store"), second.kernel("store")
    arguments = pack_arguments(kernel.parameters, [out, np.uint32(1)])
    graph = cuda.create_graph()
    node = graph.add_kernel(kernel, ONE, arguments, [])
    executable = graph.instantiate()
    name = "copy" if step == "add" else "set"
    take: Callable[..., Any] = getattr(NativeLaunch, name)

    def unloading(*given: Any) -> Any:
        found = take(*given)
        second.unload()
        return found

    monkeypatch.setattr(NativeLaunch, name, unloading)
    with pytest.raises(DeviceError, match=r"must be loaded|must not be used after"):
        if step == "add":
            graph.add_kernel(other, ONE, arguments, [])
        else:
            executable.update_kernel(node, other, ONE, arguments)
    executable.destroy()
    graph.destroy()
    out.free()
    first.unload()


def test_clones_are_made_changed_and_released_while_the_graph_runs_and_is_updated(cuda: Device) -> None:
    """While threads change and release clones of a graph, each launch of the graph stores the values written last."""
    module, out = cuda.load_module(PTX), cuda.allocate(4 * NODES)
    blocks = [_block(cuda, module, out.pointer + 4 * index) for index in range(NODES)]
    graph, nodes, kernel = cuda.create_graph(), [], module.kernel("store")
    for block in blocks:
        nodes.append(graph.add_kernel(kernel, ONE, block, nodes[-1:]))
    executable, stream, over, problems = (
        graph.instantiate(),
        cuda.create_stream(),
        threading.Event(),
        list[WarploomError](),
    )

    def beside(seed: int) -> None:
        chance = random.Random(seed)
        try:
            cuda.activate()
            while not over.is_set():
                loaded = cuda.load_module(PTX)
                clone = graph.clone()
                clone.set_kernel(chance.choice(nodes), loaded.kernel("store"), ONE, chance.choice(blocks))
                clone.remove(chance.choice(nodes))
                made = clone.instantiate()
                loaded.unload()
                clone.destroy()
                made.destroy()
        except (DeviceError, KernelError) as problem:
            problems.append(problem)

    threads = [threading.Thread(target=beside, args=(FIRST_SEED + number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    found = np.zeros(NODES, np.uint32)
    try:
        for turn in range(many(300)):
            values = (np.arange(NODES) + turn).astype(np.uint32)
            for block, value in zip(blocks, values, strict=True):
                block.set(1, value)
            executable.refresh(nodes)
            executable.launch(stream)
            stream.synchronize()
            cuda.read(out, found)
            assert np.array_equal(found, values)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not problems
    executable.destroy()
    graph.destroy()
    stream.destroy()
    out.free()
    module.unload()


def _block(device: Device, module: Module, address: int) -> KernelArguments:
    """Return the arguments of a kernel that stores 0 at an address."""
    return pack_arguments(module.kernel("store").parameters, [np.uint64(address), np.uint32(0)])
